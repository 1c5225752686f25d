defmodule JidoCode.Tools.Handlers.BashBackground do
  @moduledoc false
  # The `bash_background` tool: a command line that goes on after the answer.
  #
  # The result has the keys `"shell_id"`, `"description"`, and `"confinement"` as in `bash_execute`. The command belongs to the context's `:session_id`: no other session
  # can see it, and it ends with it.

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.{Answers, Command, Deadline, Operation, Project, Shells, Shortened}
  alias JidoCode.Tools.Command.Confinement
  alias JidoCode.Tools.Config.Table

  # What holds where a person has configured nothing else.
  @shells Table.fetch!(:background_shells).shown
  @lives Table.fetch!(:background_timeout_ms).shown
  @kept Table.fetch!(:background_keep_ms).shown

  # For judging the line and starting the command, not for the command.
  @timeout 30_000

  @impl true
  def definition do
    %{
      name: "bash_background",
      title: "Start a command line in the background",
      summary: "a command line that goes on after the answer",
      limits: "#{@shells} per session, #{@lives}; configurable",
      tier: :execute,
      hints: :runs,
      text: &Answers.Shell.text/1,
      event: {:shell, :bash_background},
      label: {:argument, "command"},
      timeout_ms: @timeout,
      description:
        "Start a command line in the background and get a shell_id at once. The same commands are allowed as in " <>
          "bash_execute. Read its output with bash_output, end it with kill_shell. It lives as long as this session, at most " <>
          "#{@lives}; #{@kept} after its end its output is gone. A person may have configured other times.",
      parameters: [
        %{name: "command", type: :string, required: true, description: "The command line to run."},
        %{
          name: "description",
          type: :string,
          required: false,
          description: "What it is for, to tell it from others."
        }
      ]
    }
  end

  @doc "Runs the tool; see the module's documentation for the result."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context), do: Operation.run(Operation.of(__MODULE__), args, context, &start/2)

  defp start(%{"command" => line} = args, %{session_id: session} = context) when is_binary(session) do
    description = args["description"] || Shortened.label(line, 80)

    deadline = Deadline.new(nil, @timeout, @timeout)

    with {:ok, judged} <- Project.Line.prepare("bash_background", line, nil, context, deadline) do
      case Shells.start(session, judged.plan, judged.options, %{line: line, description: description}) do
        {:ok, id, confinement} ->
          Confinement.tell(context, confinement)
          {:ok, %{"shell_id" => id, "description" => description, "confinement" => confinement}}

        {:error, {:too_many, text}} ->
          {:error, text}

        {:error, reason} ->
          {:error, Command.explain(reason)}
      end
    end
  end

  defp start(_args, _context), do: {:error, "bash_background requires a session context: a session_id"}
end
