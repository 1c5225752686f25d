defmodule JidoCode.Tools.Definitions.BashBackground do
  @moduledoc false
  # The `bash_background` tool as a host takes it; see `JidoCode.Tools.Definitions.Elixir` for the shape.

  alias JidoCode.Tools.Definition
  alias JidoCode.Tools.Handlers

  @doc "The tool, in a list."
  @spec all() :: [map()]
  def all, do: [bash_background()]

  @doc "Starts a command line in the background."
  @spec bash_background() :: map()
  def bash_background, do: Handlers.BashBackground |> Definition.of() |> Definition.for_host()
end
