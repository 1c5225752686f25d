defmodule JidoCode.Tools do
  @moduledoc "Which tools the agent has."

  alias JidoCode.Tools.{Definitions, Registry, Tool}

  @doc "Registers all tools. A name that is taken stays with who has it."
  @spec register_all() :: :ok
  def register_all do
    # The library's tools come first: bash_background, bash_output and kill_shell are names of the host's, too.
    for tool <- Enum.map(JidoCode.Tools.Catalog.all(), &Tool.new!/1) ++ Definitions.Shell.all() do
      case Registry.register(tool) do
        :ok -> :ok
        {:error, :already_registered} -> :ok
      end
    end

    :ok
  end
end
