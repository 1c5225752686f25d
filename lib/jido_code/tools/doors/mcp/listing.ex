defmodule JidoCode.Tools.Doors.MCP.Listing do
  @moduledoc false
  # What the MCP server offers, as data.
  #
  # The launcher answers `initialize` and `tools/list` before any VM runs, so this is written to a file beside it when the
  # library is compiled. It is the same for every connection: what a session may not do is said when it tries. A project's own tools
  # come after these, once its VM has offered them.

  alias JidoCode.Tools.Definition
  alias JidoCode.Tools.Doors.MCP.Tools

  @instructions """
  Tools that work inside one running Elixir project: its Mix tasks and tests, its processes, supervisors and ETS tables, its \
  documentation, its code, and commands in its folder. Prefer them to a shell: results are short and bounded, known secrets are \
  redacted, and nothing that a call starts outlives it. All paths are relative to the project. Searches, commands, tests and \
  documentation work while the project does not compile. The project's own tools, if it has any, are listed last while it runs. \
  A denied call says what is allowed.\
  """

  @doc """
  The listing; `version` is the library's.

      iex> listing = JidoCode.Tools.Doors.MCP.Listing.build("1.0.0")
      iex> Map.keys(listing)
      ["instructions", "tiers", "tools", "version"]
      iex> Enum.find(listing["tools"], &(&1["name"] == "grep_search"))["annotations"]
      %{"readOnlyHint" => true, "destructiveHint" => false, "idempotentHint" => true, "openWorldHint" => false}
  """
  @spec build(String.t()) :: %{String.t() => term()}
  def build(version) do
    %{
      "version" => version,
      "instructions" => @instructions,
      "tools" => Enum.map(Tools.all(), &tool/1),
      "tiers" => Map.new(Tools.all(), &{&1.name, Atom.to_string(&1.tier)})
    }
  end

  @doc "One tool, as clients are told of it."
  @spec tool(Definition.t()) :: %{String.t() => term()}
  def tool(definition) do
    %{
      "name" => definition.name,
      "title" => definition.title,
      "description" => definition.description,
      "inputSchema" => Definition.schema(definition),
      "annotations" => Definition.annotations(definition)
    }
  end
end
