defmodule JidoCode.Tools.Test.CommandPrograms do
  @moduledoc """
  Small programs that misbehave, as arguments for `JidoCode.Tools.Command`.

  They need a POSIX shell and Perl's base modules, which every Debian has. Each ends by itself after 100 seconds, so
  that a runner under repair does not fill the machine.
  """

  @doc "Ignores the request to end, and so do its children."
  @spec ignores_term() :: [String.t()]
  def ignores_term, do: ["sh", "-c", "trap '' TERM HUP INT; echo ready; sleep 100 & sleep 100"]

  @doc "Forks a tree of some width and depth, and waits."
  @spec forks() :: [String.t()]
  def forks do
    perl("""
    for my $level (1 .. 3) { for (1 .. 2) { last if fork() == 0 } }
    $| = 1; print "ready\\n"; sleep 100;
    """)
  end

  @doc "Leaves by a double fork into a session of its own, ignoring the request to end; the leader waits."
  @spec escapes() :: [String.t()]
  def escapes, do: perl(daemon("sleep 100") <> ~s[$| = 1; print "ready\\n"; sleep 100;])

  @doc "As `escapes/0`, but the leader ends at once and the escapee holds standard output open."
  @spec leaves_daemon() :: [String.t()]
  def leaves_daemon, do: perl(daemon("sleep 100") <> ~s(print "done\\n"; exit 0;))

  @doc "Writes without end, and writes on when nobody reads."
  @spec floods() :: [String.t()]
  def floods do
    perl("""
    $SIG{TERM} = $SIG{PIPE} = 'IGNORE';
    my ($end, $text) = (time + 100, "x" x 65536);
    $| = 1; print "ready\\n"; print $text while time < $end;
    """)
  end

  @doc "Perl as an argument list."
  @spec perl(String.t()) :: [String.t()]
  def perl(script), do: ["perl", "-e", script]

  defp daemon(script) do
    """
    use POSIX ();
    if (fork() == 0) {
      POSIX::setsid();
      if (fork() == 0) { $SIG{TERM} = 'IGNORE'; $SIG{HUP} = 'IGNORE'; POSIX::setsid(); #{script}; exit 0; }
      exit 0;
    }
    wait();
    """
  end
end
