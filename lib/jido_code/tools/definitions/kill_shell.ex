defmodule JidoCode.Tools.Definitions.KillShell do
  @moduledoc false
  # The `kill_shell` tool as a host takes it; see `JidoCode.Tools.Definitions.Elixir` for the shape.

  alias JidoCode.Tools.Definition
  alias JidoCode.Tools.Handlers

  @doc "The tool, in a list."
  @spec all() :: [map()]
  def all, do: [kill_shell()]

  @doc "Ends a background command."
  @spec kill_shell() :: map()
  def kill_shell, do: Handlers.KillShell |> Definition.of() |> Definition.for_host()
end
