defmodule JidoCode.Tools.Handlers.BashBackground do
  @moduledoc """
  The `bash_background` tool: a command line that goes on after the answer.

  The result has the keys `"shell_id"`, `"description"`, and `"confinement"` as in `bash_execute`. The command belongs to the context's `:session_id`: no other session
  can see it, and it ends with it.
  """

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.{Command, Deadline, Definitions, Operation, Project, Shells}
  alias JidoCode.Tools.Command.Confinement

  # For judging the line and starting the command, not for the command.
  @timeout 30_000

  @impl true
  def security_properties, do: %{tier: :execute, timeout_ms: @timeout}

  @doc "Runs the tool; see the module's documentation for the result."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context) do
    Operation.run(
      %{
        definition: Definitions.BashBackground.bash_background(),
        event: [:jido_code, :shell, :bash_background],
        label: {:argument, "command"}
      },
      args,
      context,
      &start/2
    )
  end

  defp start(%{"command" => line} = args, %{session_id: session} = context) when is_binary(session) do
    description = args["description"] || String.slice(line, 0, 80)

    deadline = Deadline.new(nil, @timeout, @timeout)

    with {:ok, {plan, options}} <- Project.Line.prepare("bash_background", line, nil, context, deadline) do
      case Shells.start(session, plan, options, %{line: line, description: description}) do
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
