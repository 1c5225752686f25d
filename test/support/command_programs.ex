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

  @doc """
  Aims at every process of the runner that it can see, and at one number: limits, priorities, SIGSTOP and SIGKILL. Then leaves a
  child by a double fork, prints `end` and exits with 7.
  """
  @spec attacks(String.t()) :: [String.t()]
  def attacks(pid) do
    script = """
    import os, resource, signal
    def runner(pid):
        try: return b"jido_command_runner" in open(f"/proc/{pid}/cmdline", "rb").read()
        except OSError: return False
    own = {os.getpid(), os.getppid(), 0}
    seen = {int(name) for name in os.listdir("/proc") if name.isdigit()}
    for pid in ({pid for pid in seen if runner(pid)} | {#{pid}}) - own:
        for attempt in (lambda: resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1)),
                        lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, 0)),
                        lambda: resource.prlimit(pid, resource.RLIMIT_DATA, (0, 0)),
                        lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
                        lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)),
                        lambda: os.kill(pid, signal.SIGSTOP),
                        lambda: os.kill(pid, signal.SIGKILL)):
            try: attempt()
            except OSError: pass
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            import time; time.sleep(100)
        os._exit(0)
    os.wait()
    print("end")
    raise SystemExit(7)
    """

    ["/usr/bin/python3", "-c", script]
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
