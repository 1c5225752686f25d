defmodule JidoCode.Tools.Command.Result do
  @moduledoc false
  # How a command ended.
  #
  #   * `status` - `:exited`, `:signaled` (by a signal that was not ours), `:timeout`, or `:stopped` on request. Only
  #     `:exited` means that the command came to its own end; a program ended by a timeout may still report exit code 0
  #   * `exit_code` - of the last pipeline's last command; 128 + signal as a shell tells it; `nil` on timeout and stop
  #   * `signal` - `"SIGSEGV"` and the like, or `nil`
  #   * `stdout`, `stderr` - `JidoCode.Tools.Command.Output`
  #   * `channel` - the same of the third stream, with `:channel`
  #   * `stages` - every command that was run, in order: `program`, `exit_code`, `signal`, `error` (why it did not start)
  #   * `duration_ms`
  #   * `confinement` - what was in force, see `JidoCode.Tools.Command.Confinement`
  #   * `limits` - for each limit asked for, whom it holds for, or why it was not applied
  #   * `put_back` - sentences on what controls git, was changed by the command, and is again as it was
  #   * `appeared` - sentences on repositories of git that the command left in the project
  #   * `emptied` - where its temporary folder held too much: a sentence that says so
  #   * `processes_left` - 0: a command some process of which could not be killed has no result, but the error that says so

  alias JidoCode.Tools.Command.{Confinement, Output}
  alias JidoCode.Tools.Shortened

  @enforce_keys [:status, :exit_code, :signal, :stdout, :stderr, :stages, :duration_ms, :confinement, :limits]
  defstruct @enforce_keys ++ [channel: nil, put_back: [], appeared: [], emptied: nil, processes_left: 0]

  @type stage :: %{
          program: String.t(),
          exit_code: 0..255 | nil,
          signal: String.t() | nil,
          error: String.t() | nil
        }

  @type t :: %__MODULE__{
          status: :exited | :signaled | :timeout | :stopped,
          exit_code: 0..255 | nil,
          signal: String.t() | nil,
          stdout: Output.t(),
          stderr: Output.t(),
          channel: Output.t() | nil,
          stages: [stage()],
          duration_ms: non_neg_integer(),
          confinement: Confinement.t(),
          limits: %{String.t() => String.t()},
          put_back: [String.t()],
          appeared: [String.t()],
          emptied: String.t() | nil,
          processes_left: non_neg_integer()
        }

  # Of the output so far, when time ran out.
  @last_characters 4_000

  @doc """
  What a tool answers of it: `"stderr"`, `"exit_code"`, `"confinement"`, standard output under the given name, and a `"note"` when
  a signal ended it.
  """
  @spec report(t(), String.t()) :: %{String.t() => term()}
  def report(%__MODULE__{} = result, stdout \\ "stdout") do
    report = %{
      stdout => Output.text(result.stdout),
      "stderr" => Output.text(result.stderr),
      "exit_code" => result.exit_code,
      "confinement" => result.confinement
    }

    ended = if result.signal, do: ["Ended by #{result.signal}."], else: []

    case ended ++ Enum.map(result.put_back ++ result.appeared ++ List.wrap(result.emptied), &(&1 <> ".")) do
      [] -> report
      notes -> Map.put(report, "note", Enum.join(notes, " "))
    end
  end

  @doc "What a tool answers when time ran out: the `opening` of the sentence, and the last of what was printed."
  @spec timed_out(t(), String.t(), pos_integer()) :: {:timeout, String.t()}
  def timed_out(%__MODULE__{} = result, opening, timeout) do
    output = Output.text(result.stdout) <> Output.text(result.stderr)

    {:timeout,
     "#{opening} ended after #{timeout} ms. Its last output:\n#{Shortened.ending(output, @last_characters)}"}
  end

  @statuses %{"exited" => :exited, "signaled" => :signaled, "timeout" => :timeout, "stopped" => :stopped}

  @doc false
  @spec from_report(map(), boolean()) :: {:ok, t()} | {:error, JidoCode.Tools.Command.reason()}
  def from_report(%{"failure" => text}, _single?) when is_binary(text), do: {:error, {:confinement, text}}

  def from_report(%{"stages" => [%{"error" => text}]}, true) when is_binary(text),
    do: {:error, {:not_started, text}}

  # Whatever it printed and whatever it ended with: this command is not over.
  def from_report(%{"processes_left" => left}, _single?) when left > 0,
    do: {:error, {:runner, "the command could not be ended: #{left} of its processes are left"}}

  def from_report(report, _single?) do
    stages = Enum.map(report["stages"], &stage/1)
    status = Map.fetch!(@statuses, report["status"])
    own_end? = status in [:exited, :signaled]
    last = List.last(stages)

    {:ok,
     %__MODULE__{
       status: status,
       exit_code: if(own_end?, do: report["exit_code"]),
       signal: last && last.signal,
       stdout: Output.from_report(report["stdout"]),
       stderr: Output.from_report(report["stderr"]),
       channel: Output.from_report(report["channel"]),
       stages: stages,
       duration_ms: report["duration"],
       confinement: report["confinement"],
       limits: report["limits"],
       put_back: report["put_back"],
       appeared: report["appeared"],
       emptied: report["emptied"] && to_string(report["emptied"]),
       processes_left: report["processes_left"]
     }}
  end

  defp stage(%{"program" => program, "exit_code" => exit_code, "signal" => signal, "error" => error}),
    do: %{program: program, exit_code: exit_code, signal: signal, error: error}
end
