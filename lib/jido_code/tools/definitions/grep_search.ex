defmodule JidoCode.Tools.Definitions.GrepSearch do
  @moduledoc false
  # The `grep_search` tool as a host takes it; see `JidoCode.Tools.Definitions.Elixir` for the shape.

  alias JidoCode.Tools.Definition
  alias JidoCode.Tools.Handlers

  @doc "The tool, in a list."
  @spec all() :: [map()]
  def all, do: [grep_search()]

  @doc "Searches file contents."
  @spec grep_search() :: map()
  def grep_search, do: Handlers.GrepSearch |> Definition.of() |> Definition.for_host()
end
