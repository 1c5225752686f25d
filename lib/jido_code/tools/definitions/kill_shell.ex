defmodule JidoCode.Tools.Definitions.KillShell do
  @moduledoc """
  The `kill_shell` tool as data.
  """

  alias JidoCode.Tools.Handlers

  @doc "The definition in a list, as all definition modules have it."
  @spec all() :: [map()]
  def all, do: [kill_shell()]

  @doc "Ends a background command."
  @spec kill_shell() :: map()
  def kill_shell do
    %{
      name: "kill_shell",
      description: "End a background command with everything it started, and forget its output.",
      handler: Handlers.KillShell,
      parameters: [
        %{name: "shell_id", type: :string, required: true, description: "The id that bash_background gave."}
      ]
    }
  end
end
