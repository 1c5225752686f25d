defmodule JidoCode.Tools.Handlers.BashBackground do
  @moduledoc """
  The `bash_background` tool: a command line that goes on after the answer.

  The result has the keys `"shell_id"` and `"description"`. The command belongs to the context's `:session_id`: no other session
  can see it, and it ends with it.
  """

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.{Command, Definitions, Operation, Project, Shells}

  @impl true
  def security_properties, do: %{tier: :execute, timeout_ms: 30_000}

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

    with {:ok, {plan, options}} <- Project.Line.prepare("bash_background", line, nil, context) do
      case Shells.start(session, plan, options, %{line: line, description: description}) do
        {:ok, id} -> {:ok, %{"shell_id" => id, "description" => description}}
        {:error, {:too_many, text}} -> {:error, text}
        {:error, reason} -> {:error, Command.explain(reason)}
      end
    end
  end

  defp start(_args, _context), do: {:error, "bash_background requires a session context: a session_id"}
end
