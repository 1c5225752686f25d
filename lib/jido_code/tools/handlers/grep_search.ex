defmodule JidoCode.Tools.Handlers.GrepSearch do
  @moduledoc false
  # The `grep_search` tool: a regex search over the project's files.
  #
  # The result has these keys:
  #
  #   * `"result"` - the listing as text. In content mode each file's path stands above its lines, `12:` before a matching
  #     line and `11-` before a context line, `--` between lines that don't follow each other; in the other modes a line is
  #     `path` or `path:count`
  #   * `"count"` - results in the listing: matches in content mode, else files
  #   * `"total"` - results found in all
  #   * `"files"` - files with a match
  #   * `"files_searched"` - files that were read
  #   * `"truncated"` - whether the listing leaves results out
  #   * `"note"` - only when there is something to say: what was left out, cut, skipped or not searched, and how to get at it
  #
  # A line longer than 500 bytes is cut around its first match, with the bytes left out on each side in brackets; bytes that
  # are not UTF-8 and control characters are shown as `\xNN`. The text fields together stay within 30,000 characters.
  #
  # Time is up after 30 seconds. What was found by then is returned with a note; if that is nothing, it is an error.
  #
  # Errors begin with `Invalid regex`, `Invalid glob`, `Unknown file_type`, `Path not found`, `Security error` (the path leads outside the
  # project's boundary) or `Search timed out`.

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.{Answers, CodeSearch, Operation, Shortened, Workspace}

  @timeout_ms 30_000

  # The search ends before the call's own limit, so that a partial answer still gets out.
  @margin_ms 750

  # Text fields together: the listing and the note.
  @max_characters Shortened.answer()
  @note_characters 1_000

  @max_context 50
  @max_results 10_000

  @output_modes %{
    "content" => :content,
    "files_with_matches" => :files_with_matches,
    "count" => :count
  }

  @impl true
  def definition do
    %{
      name: "grep_search",
      title: "Search the code",
      summary: "regex search as ripgrep does it, in process",
      limits: "30 s",
      tier: :read_only,
      hints: :looks,
      text: &Answers.Search.text/1,
      event: {:search, :grep_search},
      label: {:argument, "path"},
      timeout_ms: @timeout_ms,
      description:
        "Search file contents in the project with a regex, as ripgrep does (no program is started). Hidden, git-ignored " <>
          "and binary files are left out; name a file or directory as path to search it although it is ignored. Results " <>
          "are the first ones in path order, up to 30,000 characters, with totals. The regex syntax is Rust's: no " <>
          "look-around, no backreferences; escape literal braces and brackets, as in %\\{ or foo\\(.",
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
          maximum: @max_context,
          beyond: :cut,
          description: "Lines shown before each match (-B), at most #{@max_context}; content mode only."
        },
        %{
          name: "context_after",
          type: :integer,
          required: false,
          minimum: 0,
          maximum: @max_context,
          beyond: :cut,
          description: "Lines shown after each match (-A), at most #{@max_context}; content mode only."
        },
        %{
          name: "context",
          type: :integer,
          required: false,
          minimum: 0,
          maximum: @max_context,
          beyond: :cut,
          description:
            "Lines shown before and after each match (-C), at most #{@max_context}; context_before and context_after override it."
        },
        %{
          name: "file_type",
          type: :string,
          required: false,
          description: "Only files of this type: a ripgrep type name (elixir, js, rust) or an extension (ex)."
        },
        %{
          name: "glob",
          type: :string,
          required: false,
          description:
            "Only files whose path matches, spelled as in .gitignore from the project's root: *.ex, lib/**/*.{ex,exs}; " <>
              "!*_test.exs leaves files out."
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
          maximum: @max_results,
          beyond: :cut,
          description:
            "Max results: matches in content mode, files in the other modes (default: as many as fit)."
        }
      ]
    }
  end

  @doc "Runs the tool; see the module's documentation for the result."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context), do: Operation.run(Operation.of(__MODULE__), args, context, &search/2)

  defp search(args, context) do
    options =
      [
        output_mode: Map.fetch!(@output_modes, args["output_mode"]),
        file_type: args["file_type"],
        glob: args["glob"],
        case_insensitive: args["case_insensitive"],
        multiline: args["multiline"],
        budget: @max_characters - @note_characters,
        timeout: @timeout_ms - @margin_ms
      ] ++ limits(args)

    with {:ok, root} <- root(context),
         {:ok, place} <- place(root, args["path"]),
         {:ok, report} <- CodeSearch.run(root, args["pattern"], [path: place] ++ options) do
      answer(report, args)
    else
      {:error, {:timeout, _files} = reason} -> {:error, {:timeout, CodeSearch.explain(reason)}}
      {:error, why} when is_binary(why) -> {:error, why}
      {:error, reason} -> {:error, CodeSearch.explain(reason, about(args))}
    end
  end

  defp root(context) do
    with {:error, reason} <- Workspace.root(context) do
      {:error, "The project to search is not known: #{reason}"}
    end
  end

  # A way that comes back to the project from a link outside is refused, as it is for commands: it would tell what lies there. What
  # else is wrong with a path the search says.
  defp place(root, path) do
    case Workspace.resolve(root, path) do
      {:ok, %{relative: ""}} -> {:ok, "."}
      {:ok, %{relative: relative}} -> {:ok, relative}
      {:error, {:outside, _text}} -> {:error, :outside}
      {:error, {_kind, _text}} -> {:ok, path}
    end
  end

  defp about(args), do: %{path: args["path"], file_type: args["file_type"], glob: args["glob"]}

  defp limits(args) do
    [
      context_before: args["context_before"] || args["context"] || 0,
      context_after: args["context_after"] || args["context"] || 0,
      head_limit: args["head_limit"]
    ]
  end

  defp answer(report, args) do
    result = %{
      "result" => report.text,
      "count" => report.shown,
      "total" => report.total,
      "files" => report.files_matched,
      "files_searched" => report.files_searched,
      "truncated" => report.cut != nil or report.timed_out
    }

    result =
      case notes(report, args) do
        [] -> result
        notes -> Map.put(result, "note", Enum.join(notes, " "))
      end

    {if(report.timed_out, do: :timeout, else: :ok), result}
  end

  defp notes(report, args) do
    Enum.reject(
      [
        if(report.timed_out,
          do: "Time ran out: only the files searched by then count, so results are incomplete."
        ),
        cut(report, args["output_mode"]),
        if(report.lines_cut > 0, do: "Long lines cut around their first match: #{report.lines_cut}."),
        if(report.total == 0, do: nothing(report)),
        skipped(report)
      ],
      &is_nil/1
    )
  end

  defp cut(%{cut: nil}, _mode), do: nil

  defp cut(%{cut: why, shown: shown, total: total}, mode) do
    unit = if mode == "content", do: "matches", else: "files"
    shown = "Shown: the first #{shown} of #{total} #{unit} in path order"

    case why do
      :head_limit ->
        shown <> " (head_limit)."

      :budget ->
        shown <>
          " (#{@max_characters} characters). Narrow the pattern, path, glob or file_type, or use another output_mode."
    end
  end

  defp nothing(%{files_searched: 0}) do
    "No file was searched: none has the type or matches the glob, or all are hidden or ignored. Name an ignored file or directory as path to search it."
  end

  defp nothing(_report) do
    "No match. Hidden and ignored files were not searched; name one, or its directory, as path to search it."
  end

  defp skipped(report) do
    binary = if report.total == 0, do: report.binary, else: 0

    kinds = [
      {binary, "binary files"},
      {report.too_large, "files that need over 4 MiB at once (a long line, or multiline on a large file)"},
      {report.unreadable, "unreadable files or directories"},
      {report.unsafe_rules, "directories whose ignore files are not small regular files"}
    ]

    case for {count, kind} <- kinds, count > 0, do: "#{count} #{kind}" do
      [] -> nil
      listed -> "Not searched: #{Enum.join(listed, ", ")}."
    end
  end
end
