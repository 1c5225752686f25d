defmodule JidoCode.Tools.Definitions.BashExecute do
  @moduledoc false
  # The `bash_execute` tool as a host takes it; see `JidoCode.Tools.Definitions.Elixir` for the shape.

  alias JidoCode.Tools.Definition
  alias JidoCode.Tools.Handlers

  @doc "The tool, in a list."
  @spec all() :: [map()]
  def all, do: [bash_execute()]

  @doc "Runs a command line."
  @spec bash_execute() :: map()
  def bash_execute, do: Handlers.BashExecute |> Definition.of() |> Definition.for_host()
end
