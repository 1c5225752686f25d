defmodule JidoCode.Tools.Command do
  @moduledoc """
  Runs OS commands that always end, in bounded memory, confined as far as the kernel can.

      iex> {:ok, result} = JidoCode.Tools.Command.run(["printf", "hello"])
      iex> {result.status, result.exit_code, result.stdout.head}
      {:exited, 0, "hello"}

  `run/2` waits for the end; `start/2` returns at once, and `read/3`, `await/2` and `stop/1` go on from there.

  ## What to run

  Either one command as a list of strings, or a *plan*: what a shell line with pipes and connectors says, run without
  a shell.

      [
        {:then, [["grep", "-c", "def", "lib/a.ex"]]},
        {:and, [["cat", "a"], %{argv: ["sort"], redirect: [{1, :write, "sorted"}, {2, :same, 1}]}]},
        {:or, [["echo", "failed"]]}
      ]

  Each element is a pipeline with how it follows the one before: `:then` (`;`), `:and` (`&&`), `:or` (`||`). A stage is
  an argument list, or a map with `:argv`, `:env` (variables of this stage alone) and `:redirect`, a list of
  `{descriptor, :read | :write | :append, path}` and `{descriptor, :same, other}` (as `2>&1`), applied in order.
  Standard input is `/dev/null` unless redirected. Relative paths start at `:cd`.

  ## What always holds

    * Every process that the command started is gone when the answer comes: after a normal end as after a timeout,
      double forks and `setsid` included. The same happens when the calling process, or the whole BEAM, is killed.
      Leftover processes are asked to end (SIGTERM), given `:grace`, and killed.
    * Output is kept as head and tail within `:keep`, standard output and standard error apart. A command that writes
      ten gigabytes costs these few kilobytes. The text is valid UTF-8; a byte that is not shows as `\\xNN`.
    * No shell, no inherited descriptor, no core dump, no privileges gained by set-user-id programs.
    * The environment is built from an allowlist; see `JidoCode.Tools.Command.Environment`.

  Where there are no namespaces one hole is known: when the runner's two processes are both killed by SIGKILL in the same
  moment, only the direct children of the command die with them.

  ## Options

    * `:cd` - folder to start in; default the current one
    * `:env` - variables to add, `%{"NAME" => "value"}`; `nil` removes one
    * `:timeout` - milliseconds, or `:infinity`; default 120,000
    * `:grace` - milliseconds between SIGTERM and SIGKILL, at most 10,000; default 2,000
    * `:keep` - `{head, tail}` in bytes for each stream, or `[stdout: {head, tail}, stderr: {head, tail}]`; default
      15,000 each
    * `:channel` - bytes to keep of a third stream, for what a program of ours reports apart from its printed output. The
      variable `JIDO_CHANNEL` names its descriptor to the command. Default nil, no such stream
    * `:write` - folders and files that the command may write, or `:all`; default `[]`, which is the command's private
      temporary folder (`TMPDIR`) alone. Redirections keep to it, too
    * `:read` - folders and files that it may read and execute beside the system, the toolchain (where the programs of
      `PATH` lie, version managers in home folders included), `:cd` and what it may write; `:all` for everything; default
      `[]`
    * `:sockets` - sockets of services, or their folders, that it may reach when it has network, beside those of databases
    * `:temporary` - a folder to be its `/tmp`, for commands that share one; default a place of its own, in memory where there are
      namespaces. `config :jido_code_tools, command_temp_bytes:` bounds both; a command that writes more to a folder on a disk is
      ended, and the folder emptied
    * `:network` - `:none` (local sockets only), `{:ports, [port]}` (TCP to and on these; no name resolution over the
      network), `:all`; default `:none`
    * `:confinement` - `:best_effort`, `:required` to refuse to run where this machine lacks a part of it,
      `:without_namespaces`, or `:off`; default `:best_effort`. What applied is in the result, either way
    * `:limits` - a keyword list over the defaults below; `nil` lifts one

  | limit | default | holds for |
  |---|---|---|
  | `:cpu_seconds` | none | each process |
  | `:memory_bytes` | 4 GiB of private writable memory | each process |
  | `:open_files` | 4,096 | each process |
  | `:file_bytes` | 2 GiB | each file |
  | `:processes` | 2,048, threads included | the tree by a pids cgroup; else the user, but root is exempt: the result says which |

  `config :jido_code_tools, command_limits: [...]` changes these defaults, `command_temp_dir:` the place of the temporary
  folders, and `command_runner:` the path of the runner program.

  ## Errors

    * `{:invalid, text}` - the command or an option can't be passed on
    * `{:not_started, text}` - the one command was not found or can't be executed. In a plan this is not an error: as in a
      shell the stage has exit code 127 or 126, the text is on standard error, and the plan goes on
    * `{:locked, text}` - another Mix process holds the project's build
    * `{:confinement, text}` - `:required` can't be met, or putting it on failed; nothing (more) was run
    * `{:runner, text}` - the runner program is missing or broke down

  An unknown option raises `ArgumentError`.
  """

  alias JidoCode.Tools.Command.{Confinement, Fence, Options, Result, Server}
  alias JidoCode.Tools.Shortened

  @type stage ::
          [String.t(), ...]
          | %{
              required(:argv) => [String.t(), ...],
              optional(:env) => Enumerable.t(),
              optional(:redirect) => [redirect()]
            }
  @type redirect ::
          {0..2, :read | :write | :append, Path.t()} | {0..2, :same, 0..2}
  @type plan :: [{:then | :and | :or, [stage(), ...]}, ...] | {:line, String.t()}
  @type reason ::
          {:invalid | :not_started | :confinement | :locked | :runner, String.t()}

  @typedoc "A started command."
  @type t :: pid()

  @typedoc "Text that came after a position; `dropped` bytes before it are no longer kept."
  @type slice :: %{text: String.t(), next: non_neg_integer(), dropped: non_neg_integer()}

  @doc """
  Runs to the end. The calling process gets no message but the answer, and its death ends the command.
  """
  @spec run([String.t(), ...] | plan(), keyword()) :: {:ok, Result.t()} | {:error, reason()}
  def run(command, options \\ []) do
    with {:ok, pid} <- start(command, Keyword.put(options, :owner, self())) do
      answer = await(pid, :infinity)
      close(pid)
      answer
    end
  end

  @doc "A command as a supervisor's child, from `{command, options}` as `start/2` takes them; it ends with the supervisor."
  @spec child_spec({[String.t(), ...] | plan(), keyword()}) :: Supervisor.child_spec()
  def child_spec({_command, _options} = started), do: Server.child_spec(started)

  @doc """
  Starts a command and returns its process once the first of its pipelines runs.

  Takes the options of `run/2` and `:owner`, the process with which the command ends (default: the caller). The process
  lives on after the command's end, so that output can still be read: end it with `close/1`. To run it under a
  supervisor of your own, use `{JidoCode.Tools.Command, {command, options}}` as child.
  """
  @spec start([String.t(), ...] | plan(), keyword()) :: {:ok, t()} | {:error, reason()}
  def start(command, options \\ []) do
    {owner, options} = Keyword.pop(options, :owner, self())

    with {:ok, spec} <- Options.spec(command, options),
         {:ok, pid} <- GenServer.start(Server, {spec, owner}) do
      case Server.await_start(pid) do
        :ok ->
          {:ok, pid}

        {:error, reason} ->
          close(pid)
          {:error, reason}
      end
    end
  end

  @doc """
  Waits up to `timeout` milliseconds for the end.
  """
  @spec await(t(), timeout()) :: {:ok, Result.t()} | {:error, :running | reason()}
  def await(command, timeout \\ :infinity), do: Server.await(command, timeout)

  @doc """
  Text of both streams from two positions on (0 at first, then each slice's `next`), at most `:limit` bytes each; with three
  positions, of the channel too.

  What was kept is `:keep`; for a command that is read as it runs, `keep: {0, bytes}` makes a ring.
  """
  @spec read(t(), positions, limit: pos_integer()) ::
          {:ok, %{stdout: slice(), stderr: slice(), channel: slice()}} | {:error, reason()}
        when positions:
               {non_neg_integer(), non_neg_integer()}
               | {non_neg_integer(), non_neg_integer(), non_neg_integer()}
  def read(command, positions, options \\ []) when tuple_size(positions) in [2, 3] do
    options = Keyword.validate!(options, limit: Shortened.answer())
    Server.read(command, positions, options[:limit])
  end

  # Between two looks at a command that is watched.
  @watch_ms 500

  @doc """
  Waits for the end, and about twice a second calls `look` with what both streams brought since the last time, and with `acc`.

  `{:cont, acc}` goes on; `{:halt, answer}` ends the command, and `answer` is the function's. A command that prints faster than
  `:keep` holds is seen with gaps.
  """
  @spec watch(
          t(),
          acc,
          (%{stdout: String.t(), stderr: String.t(), channel: String.t()}, acc ->
             {:cont, acc} | {:halt, answer})
        ) ::
          {:ok, Result.t()} | {:error, reason()} | answer
        when acc: term(), answer: term()
  def watch(command, acc, look), do: watch(command, {0, 0, 0}, acc, look)

  defp watch(command, positions, acc, look) do
    with {:error, :running} <- await(command, @watch_ms),
         {:ok, %{stdout: stdout, stderr: stderr, channel: channel}} <- read(command, positions) do
      case look.(%{stdout: stdout.text, stderr: stderr.text, channel: channel.text}, acc) do
        {:cont, acc} ->
          watch(command, {stdout.next, stderr.next, channel.next}, acc, look)

        {:halt, answer} ->
          stop(command)
          answer
      end
    end
  end

  @doc """
  `:running`, or how it ended.
  """
  @spec status(t()) :: :running | {:ok, Result.t()} | {:error, reason()}
  def status(command) do
    case await(command, 0) do
      {:error, :running} -> :running
      answer -> answer
    end
  end

  @doc """
  What confines the command, as in its result; known as soon as it runs.

  | key | |
  |---|---|
  | `"fence"` | `"whole"` (namespaces, Landlock and seccomp), `"partial"`, `"landlock"` (no namespaces), `"none"`, or `"off"` where a person chose that |
  | `"filesystem"` | `"namespaces and landlock"`, `"namespaces"`, `"landlock"`, `"unrestricted"` (nothing was asked for) or `"not applied"` (this machine has neither) |
  | `"reads_restricted"` | whether reading is confined, too |
  | `"network"`, `"network_mode"` | what enforces the mode, and the mode: `"all"`, `"none"` or a list of ports |
  | `"signals"`, `"privileges"` | whether it may reach processes outside, and what it lost of its starter's rights |
  | `"landlock_abi"` | the version that the kernel speaks, 0 for none |
  | `"missing"` | what was asked for and can't be had on this kernel, in words |
  """
  @spec confinement(t()) :: Confinement.t() | nil
  def confinement(command), do: Server.confinement(command)

  @doc """
  Ends the command with its whole tree and waits for that.
  """
  @spec stop(t()) :: {:ok, Result.t()} | {:error, reason()}
  def stop(command), do: Server.stop(command)

  @doc """
  Forgets the command; one that still runs ends.
  """
  @spec close(t()) :: :ok
  def close(command), do: Server.close(command)

  @doc """
  What keeps commands in on this machine: `:whole`, `:partial` (no Landlock or no seccomp beside the namespaces), or `:none` (no
  namespaces, or `command_confinement: :off`). The first call runs a command to find out.
  """
  @spec fence() :: :whole | :partial | :none
  def fence, do: Fence.state(fn -> run(["true"], timeout: 20_000) end)

  @doc """
  What a tool answers of a command that it ran: the report with standard output under the name `:stdout`, or an error. When time ran
  out, `:timed_out` opens the sentence and `:timeout` is how many milliseconds there were.
  """
  @spec answer({:ok, Result.t()} | {:error, reason()}, keyword()) ::
          {:ok, map()} | {:error, String.t() | {:timeout, String.t()}}
  def answer({:ok, %Result{status: :timeout} = result}, words),
    do: {:error, Result.timed_out(result, words[:timed_out], words[:timeout])}

  def answer({:ok, %Result{} = result}, words), do: {:ok, Result.report(result, words[:stdout])}
  def answer({:error, reason}, _words), do: {:error, explain(reason)}

  @doc """
  A reason as a sentence.
  """
  @spec explain(reason()) :: String.t()
  def explain({:invalid, text}), do: "The command can't be run: #{text}"
  def explain({:not_started, text}), do: text
  def explain({:locked, text}), do: text
  def explain({:confinement, text}), do: "The command can't be confined as required: #{text}"
  def explain({:runner, text}), do: "The command runner failed: #{text}"
end
