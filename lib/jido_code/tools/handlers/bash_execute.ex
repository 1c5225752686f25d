defmodule JidoCode.Tools.Handlers.BashExecute do
  @moduledoc false
  # The `bash_execute` tool: a command line, without a shell.
  #
  # The result has these keys:
  #
  #   * `"stdout"`, `"stderr"` - head and tail, 30,000 characters together; a line says what was cut
  #   * `"exit_code"` - of the last command; one that fails is a normal answer
  #   * `"confinement"` - what the kernel held the commands to, and what of it is missing on this machine
  #   * `"note"` - only when there is something to say, such as the signal that ended the command
  #
  # `JidoCode.Tools.Security.CommandPolicy` decides what may run. Everything that was started is gone when the answer comes.
  #
  # `timeout` is 120 seconds by default and at most 600. A line that is ended by it is an error that carries its output so far.

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.{Answers, Command, Deadline, Operation, Project}
  alias JidoCode.Tools.Project.Foreground

  @default_timeout 120_000
  @max_timeout 600_000
  @keep [stdout: {10_000, 10_000}, stderr: {4_500, 4_500}]

  @impl true
  def definition do
    %{
      name: "bash_execute",
      title: "Run a command line",
      summary: "a command line, read by a shell parser and run without a shell",
      tier: :execute,
      hints: :runs,
      text: &Answers.Command.text/1,
      event: {:shell, :bash_execute},
      label: {:argument, "command"},
      description:
        "Run a command line in the project and get stdout, stderr and the exit code. Commands can be joined by |, &&, || " <>
          "and ;, with redirections to files inside the project. No shell runs it: no substitutions, loops or background " <>
          "jobs. Allowed are text and file tools (cat, head, tail, ls, wc, sort, uniq, diff, cut, grep, rg, find, cp, mv, " <>
          "mkdir, rm, touch, ...), git (local subcommands), mix, rebar3, cargo, npm, make, and elixir, erl, node, python3 to " <>
          "run a file of the project; where commands run in a fence also sed, awk, jq, xargs, tee, find -exec, subshells, " <>
          "here-documents, cd, export and $?. Paths stay inside the project. For tests prefer run_exunit, to search prefer " <>
          "grep_search, for servers and long jobs use bash_background.",
      parameters: [
        %{
          name: "command",
          type: :string,
          required: true,
          description: "The command line, e.g. \"git status --short | head -20\"."
        },
        %{
          name: "description",
          type: :string,
          required: false,
          description: "What the command does, in 5 to 10 words."
        },
        %{
          name: "timeout",
          type: :integer,
          required: false,
          default: @default_timeout,
          minimum: 1,
          maximum: @max_timeout,
          beyond: :cut,
          description: "Time limit in milliseconds (default #{@default_timeout}, maximum #{@max_timeout})."
        },
        %{
          name: "working_directory",
          type: :string,
          required: false,
          description: "Folder inside the project to run in (default: the project's root)."
        }
      ]
    }
  end

  @doc "Runs the tool; see the module's documentation for the result."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context), do: Operation.run(Operation.of(__MODULE__), args, context, &run/2)

  defp run(%{"command" => line} = args, context) do
    deadline = Deadline.new(args["timeout"], @default_timeout, @max_timeout)

    with {:ok, judged} <-
           Project.Line.prepare("bash_execute", line, args["working_directory"], context, deadline) do
      judged.plan
      |> Foreground.run([timeout: Deadline.left(deadline), keep: @keep] ++ judged.options, context)
      |> Command.answer(
        stdout: "stdout",
        timed_out: "The command timed out: it was",
        timeout: deadline.timeout
      )
    end
  end
end
