defmodule JidoCode.Tools.Handlers.RestartProject do
  @moduledoc false
  # The `restart_project` tool of the MCP server: ends the project's VM, compiles the project, and starts it anew.
  #
  # The result has the key `"result"`, a sentence. What looks at the running system meanwhile waits for it; commands and background
  # shells run beside the project's VM and go on. The error is why the project does not start, in the compiler's words.

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.ProjectVM
  alias JidoCode.Tools.Operation

  @impl true
  def definition do
    %{
      name: "restart_project",
      title: "Restart the project",
      summary: "ends the project's VM, compiles the project and starts it anew (MCP only)",
      tier: :execute,
      timeout_ms: 10_000,
      hints: %{read_only: false, destructive: true, idempotent: true, open_world: true},
      event: {:elixir, :restart_project},
      label: "restart",
      launcher?: true,
      description:
        "End the project's VM, compile the project and start it anew, so that the code that runs is the code that is " <>
          "written. State in its processes and tables is lost. Calls that look at the running system wait for it; " <>
          "commands and background shells go on.",
      parameters: []
    }
  end

  @doc "Runs the tool; see the module's documentation for the result."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context), do: Operation.run(Operation.of(__MODULE__), args, context, &restart/2)

  defp restart(_args, %{node: %ProjectVM{} = vm} = context) do
    with {:ok, text} <- ProjectVM.restart(vm, context), do: {:ok, %{"result" => text}}
  end

  defp restart(_args, _context) do
    {:error, "There is no project's VM to restart: this session looks at a node"}
  end
end
