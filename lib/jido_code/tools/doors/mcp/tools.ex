defmodule JidoCode.Tools.Doors.MCP.Tools do
  @moduledoc false
  # The tools of the MCP server: the library's, with those that only the server has.

  alias JidoCode.Tools.{Call, Catalog, Definition, SecureExecutor}

  @doc "All definitions, in a stable order."
  @spec all() :: [Definition.t()]
  def all, do: Catalog.own()

  @spec names() :: [String.t()]
  def names, do: Enum.map(all(), & &1.name)

  @doc "A call for `JidoCode.Tools.SecureExecutor.execute/1`."
  @spec call(String.t(), map(), map()) :: Call.t()
  def call(name, args, context) do
    case Enum.find(all(), &(&1.launcher? and &1.name == name)) do
      nil ->
        SecureExecutor.new(name, args, context)

      definition ->
        %Call{name: name, tool: definition, handler: definition.handler, args: args, context: context}
    end
  end
end
