defmodule JidoCode.Tools.Definitions.BashOutput do
  @moduledoc false
  # The `bash_output` tool as a host takes it; see `JidoCode.Tools.Definitions.Elixir` for the shape.

  alias JidoCode.Tools.Definition
  alias JidoCode.Tools.Handlers

  @doc "The tool, in a list."
  @spec all() :: [map()]
  def all, do: [bash_output()]

  @doc "Reads a background command's output."
  @spec bash_output() :: map()
  def bash_output, do: Handlers.BashOutput |> Definition.of() |> Definition.for_host()
end
