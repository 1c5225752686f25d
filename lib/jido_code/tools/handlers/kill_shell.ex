defmodule JidoCode.Tools.Handlers.KillShell do
  @moduledoc false
  # The `kill_shell` tool: ends a background command with its whole process tree.
  #
  # The result has the keys `"killed"` (false when it had already finished) and `"message"`. The shell is forgotten either way.

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.{Answers, Operation, Shells, Shortened}

  @impl true
  def definition do
    %{
      name: "kill_shell",
      title: "End a background command",
      summary: "ends a background command with everything that it started",
      tier: :execute,
      hints: %{read_only: false, destructive: true, idempotent: true, open_world: false},
      text: &Answers.Shell.text/1,
      event: {:shell, :kill_shell},
      label: {:argument, "shell_id"},
      description: "End a background command with everything it started, and forget its output.",
      parameters: [
        %{name: "shell_id", type: :string, required: true, description: "The id that bash_background gave."}
      ]
    }
  end

  @doc "Runs the tool; see the module's documentation for the result."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context), do: Operation.run(Operation.of(__MODULE__), args, context, &kill/2)

  defp kill(%{"shell_id" => id}, context) do
    case Shells.kill(context[:session_id], id) do
      :ok ->
        {:ok,
         %{"killed" => true, "message" => "The shell and everything that it had started were terminated"}}

      :already_finished ->
        {:ok, %{"killed" => false, "message" => "The shell had already finished"}}

      {:error, :not_found} ->
        {:error, "Shell not found: #{Shortened.label(id, 100)}. It may have expired."}
    end
  end
end
