defmodule JidoCode.Tools.Definitions.GrepSearch do
  @moduledoc """
  The `grep_search` tool as data; see `JidoCode.Tools.Definitions.Elixir` for the shape.
  """

  alias JidoCode.Tools.Handlers

  @doc "The tool, in a list."
  @spec all() :: [map()]
  def all, do: [grep_search()]

  @doc "Searches file contents."
  @spec grep_search() :: map()
  def grep_search do
    %{
      name: "grep_search",
      description:
        "Search file contents in the project with a regex, as ripgrep does (no program is started). Hidden, git-ignored " <>
          "and binary files are left out; name a file or directory as path to search it although it is ignored. Results " <>
          "are the first ones in path order, up to 30,000 characters, with totals. The regex syntax is Rust's: no " <>
          "look-around, no backreferences; escape literal braces and brackets, as in %\\{ or foo\\(.",
      handler: Handlers.GrepSearch,
      parameters: [
        %{
          name: "pattern",
          type: :string,
          required: true,
          description: "Regex pattern, e.g. \"def \\\\w+_total\" or \"TODO|FIXME\"."
        },
        %{
          name: "path",
          type: :string,
          required: false,
          default: ".",
          description:
            "Directory or file to search, relative to the project root (default: the whole project)."
        },
        %{
          name: "output_mode",
          type: :string,
          required: false,
          enum: ["content", "files_with_matches", "count"],
          default: "content",
          description:
            "content: matching lines with line numbers, grouped by file (default). files_with_matches: only the paths. " <>
              "count: matching lines per file (matches per file when multiline)."
        },
        %{
          name: "context_before",
          type: :integer,
          required: false,
          minimum: 0,
          description: "Lines shown before each match (-B), at most 50; content mode only."
        },
        %{
          name: "context_after",
          type: :integer,
          required: false,
          minimum: 0,
          description: "Lines shown after each match (-A), at most 50; content mode only."
        },
        %{
          name: "context",
          type: :integer,
          required: false,
          minimum: 0,
          description:
            "Lines shown before and after each match (-C), at most 50; context_before and context_after override it."
        },
        %{
          name: "file_type",
          type: :string,
          required: false,
          description: "Only files of this type: a ripgrep type name (elixir, js, rust) or an extension (ex)."
        },
        %{
          name: "case_insensitive",
          type: :boolean,
          required: false,
          default: false,
          description: "Letters match whatever their case (-i)."
        },
        %{
          name: "multiline",
          type: :boolean,
          required: false,
          default: false,
          description:
            "The pattern may span lines and . matches line ends too (-U --multiline-dotall); write (?-s) to turn that off."
        },
        %{
          name: "head_limit",
          type: :integer,
          required: false,
          minimum: 1,
          description:
            "Max results: matches in content mode, files in the other modes (default: as many as fit)."
        }
      ]
    }
  end
end
