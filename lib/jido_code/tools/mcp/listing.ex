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

  alias JidoCode.Tools.Catalog

  # Clients decide by these whether to ask a person first, and whether a lost call may be made again.
  @looks %{
    "readOnlyHint" => true,
    "destructiveHint" => false,
    "idempotentHint" => true,
    "openWorldHint" => false
  }
  # The project's code runs, with all that it does: files, databases, the network.
  @runs %{
    "readOnlyHint" => false,
    "destructiveHint" => true,
    "idempotentHint" => false,
    "openWorldHint" => true
  }

  @tools %{
    "mix_task" => {"Run a Mix task", @runs},
    "run_exunit" => {"Run tests", @runs},
    "get_process_state" => {"Look at a process", @looks},
    "inspect_supervisor" => {"Look at a supervision tree", @looks},
    "ets_inspect" => {"Look at ETS tables", @looks},
    "fetch_elixir_docs" => {"Read documentation", @looks},
    "grep_search" => {"Search the code", @looks},
    "bash_execute" => {"Run a command line", @runs},
    "bash_background" => {"Start a command line in the background", @runs},
    # Not idempotent: a read moves the cursor, and what it returned is not returned again.
    "bash_output" => {"Read a background command's output", %{@looks | "idempotentHint" => false}},
    "kill_shell" =>
      {"End a background command",
       %{
         "readOnlyHint" => false,
         "destructiveHint" => true,
         "idempotentHint" => true,
         "openWorldHint" => false
       }}
  }

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
      "tools" => Enum.map(Catalog.all(), &tool/1)
    }
  end

  defp tool(definition) do
    {title, annotations} = Map.fetch!(@tools, definition.name)

    %{
      "name" => definition.name,
      "title" => title,
      "description" => definition.description,
      "inputSchema" => Catalog.schema(definition),
      "annotations" => annotations
    }
  end
end
