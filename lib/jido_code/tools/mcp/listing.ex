defmodule JidoCode.Tools.MCP.Listing do
  @moduledoc """
  What the MCP server offers, as data.

  The launcher answers `initialize` and `tools/list` before any VM runs, so this is written to a file beside it when the
  library is compiled. It is the same for every connection: what a session may not do is said when it tries.

      iex> listing = JidoCode.Tools.MCP.Listing.build("1.0.0")
      iex> Map.keys(listing)
      ["instructions", "tools", "version"]
      iex> Enum.find(listing["tools"], &(&1["name"] == "grep_search"))["annotations"]
      %{"readOnlyHint" => true, "destructiveHint" => false, "idempotentHint" => true, "openWorldHint" => false}
  """

  alias JidoCode.Tools.{Catalog, Definition}

  @instructions """
  Tools that work inside one running Elixir project: its Mix tasks and tests, its processes, supervisors and ETS tables, its \
  documentation, its code, and commands in its folder. Prefer them to a shell: their results are structured, bounded and \
  without secrets. All paths are relative to the project. A denied call says what is allowed; only a person can allow more.\
  """

  @doc "The listing; `version` is the library's."
  @spec build(String.t()) :: %{String.t() => term()}
  def build(version) do
    %{
      "version" => version,
      "instructions" => @instructions,
      "tools" => Enum.map(Catalog.own(), &tool/1)
    }
  end

  defp tool(definition) do
    %{
      "name" => definition.name,
      "title" => definition.title,
      "description" => definition.description,
      "inputSchema" => Definition.schema(definition),
      "annotations" => Definition.annotations(definition)
    }
  end
end
