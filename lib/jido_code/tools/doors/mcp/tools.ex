defmodule JidoCode.Tools.Doors.MCP.Tools do
  @moduledoc false
  # The tools of the MCP server: the library's, with those that only the server has, and while the project runs those that its VM
  # offers.

  alias JidoCode.Tools.{Call, Catalog, Definition, SecureExecutor}
  alias JidoCode.Tools.ProjectVM.Tool

  @doc "All definitions of the library's, in a stable order."
  @spec all() :: [Definition.t()]
  def all, do: Catalog.own()

  @spec names() :: [String.t()]
  def names, do: Enum.map(all(), & &1.name)

  @doc "A call for `JidoCode.Tools.SecureExecutor.execute/1`; `offered` are the project's own tools."
  @spec call(String.t(), map(), map(), [Definition.t()]) :: Call.t()
  def call(name, args, context, offered \\ []) do
    # No offered tool has the name of one of the library's.
    case Enum.find(offered ++ all(), &((Definition.offered?(&1) or &1.launcher?) and &1.name == name)) do
      nil ->
        SecureExecutor.new(name, args, context)

      %{launcher?: true} = definition ->
        %Call{name: name, tool: definition, handler: definition.handler, args: args, context: context}

      definition ->
        Tool.call(definition, args, context)
    end
  end
end
