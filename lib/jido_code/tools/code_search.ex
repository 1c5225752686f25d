defmodule JidoCode.Tools.CodeSearch do
  @moduledoc false
  # Regex search over the files of a project, done by ripgrep's engine inside the native core.
  #
  #     {:ok, report} = CodeSearch.run(root, "def \\w+_total", path: "lib", context_after: 2)
  #     IO.puts(report.text)
  #
  # The search runs on threads of its own: no scheduler waits for it. It ends with its caller, with `cancel/1`, or when its
  # time is up. `run/3` is `start/3` and `await/1` in one.
  #
  # ## Options
  #
  #   * `:path` - directory or file to search, relative to the root or absolute inside it (default `"."`)
  #   * `:output_mode` - `:content` (lines with their numbers under their file, the default), `:files_with_matches`, or
  #     `:count` (matching lines per file; matches per file with `:multiline`)
  #   * `:context_before`, `:context_after` - lines shown around a match (default 0)
  #   * `:file_type` - a type name of ripgrep's (`"elixir"`) or a file name extension (`"ex"`)
  #   * `:glob` - a glob as `.gitignore` spells them, from the root (`"lib/**/*.ex"`, `"!*_test.exs"`); it narrows what is searched
  #   * `:case_insensitive` - letters match whatever their case (default false)
  #   * `:multiline` - matches may span lines, `.` matches a line's end (default false)
  #   * `:head_limit` - most results shown: matches for `:content`, else files (default: as many as fit)
  #   * `:budget` - most characters of text (default: those of a result)
  #   * `:timeout` - milliseconds (default 30,000)
  #
  # Files are chosen as ripgrep chooses them: hidden and ignored ones are left out unless `:path` names them, links are not
  # followed, binary files are left where they turn out to be binary. The git excludes file of the machine's user is not read.
  #
  # ## Report
  #
  # A map with `:text`; `:shown` and `:total` results; `:files_matched` and `:files_searched`; `:lines_cut` (lines longer than
  # 500 bytes, cut around their first match); `:cut`, which is nil when everything is shown, else `:head_limit` or `:budget`;
  # `:timed_out`, true when the totals stop at what had been searched by then; and the counts of what was not searched:
  # `:binary` files, files that are `:too_large` (one line, or with `:multiline` the file, over 4 MiB), `:unreadable` ones,
  # and directories with `:unsafe_rules` (an ignore file that is not a small regular file). Results are the first ones in path
  # order, the same on every run.

  alias JidoCode.Tools.Security.Native
  alias JidoCode.Tools.Shortened

  @default_timeout 30_000

  # The search keeps its own time. This guards against a core that does not.
  @grace 5_000

  @max_shown 200

  @enforce_keys [:reference, :handle, :timeout]
  defstruct [:reference, :handle, :timeout]

  @typedoc "A search that was started; only the process that started it can wait for it."
  @opaque t :: %__MODULE__{reference: reference(), handle: reference(), timeout: non_neg_integer()}

  @type option ::
          {:path, String.t()}
          | {:output_mode, :content | :files_with_matches | :count}
          | {:context_before, non_neg_integer()}
          | {:context_after, non_neg_integer()}
          | {:file_type, String.t() | nil}
          | {:glob, String.t() | nil}
          | {:case_insensitive, boolean()}
          | {:multiline, boolean()}
          | {:head_limit, pos_integer() | nil}
          | {:budget, pos_integer()}
          | {:timeout, non_neg_integer()}

  @type report :: %{
          text: String.t(),
          shown: non_neg_integer(),
          total: non_neg_integer(),
          files_matched: non_neg_integer(),
          files_searched: non_neg_integer(),
          lines_cut: non_neg_integer(),
          cut: nil | :head_limit | :budget,
          timed_out: boolean(),
          binary: non_neg_integer(),
          too_large: non_neg_integer(),
          unreadable: non_neg_integer(),
          unsafe_rules: non_neg_integer()
        }

  @type reason ::
          {:pattern, fault :: atom(), detail :: String.t(), position :: pos_integer() | nil}
          | {:glob, detail :: String.t()}
          | {:unknown_file_type, similar :: [String.t()]}
          | {:timeout, files_searched :: non_neg_integer()}
          | :root
          | :not_found
          | :outside
          | :not_searchable
          | :unreadable
          | :unsafe_rules
          | :cancelled
          | :busy
          | :internal

  @doc "Searches and waits for the report."
  @spec run(String.t(), String.t(), [option()]) :: {:ok, report()} | {:error, reason()}
  def run(root, pattern, options \\ []) do
    with {:ok, search} <- start(root, pattern, options), do: await(search)
  end

  @doc "Starts a search."
  @spec start(String.t(), String.t(), [option()]) :: {:ok, t()} | {:error, :busy | :internal}
  def start(root, pattern, options \\ []) do
    options =
      Keyword.validate!(options,
        path: ".",
        output_mode: :content,
        context_before: 0,
        context_after: 0,
        file_type: nil,
        glob: nil,
        case_insensitive: false,
        multiline: false,
        head_limit: nil,
        budget: Shortened.answer(),
        timeout: @default_timeout
      )

    {timeout, options} = Keyword.pop!(options, :timeout)
    request = Map.merge(Map.new(options), %{root: root, pattern: pattern, timeout_ms: timeout})
    reference = make_ref()

    with {:ok, handle} <- start_native(reference, request) do
      {:ok, %__MODULE__{reference: reference, handle: handle, timeout: timeout}}
    end
  end

  @doc "Waits for the report of a search that this process started."
  @spec await(t()) :: {:ok, report()} | {:error, reason()}
  def await(%__MODULE__{reference: reference} = search) do
    receive do
      {:jido_code_search, ^reference, result} -> result
    after
      search.timeout + @grace ->
        cancel(search)
        {:error, :internal}
    end
  end

  @doc """
  Ends a search. Its message is taken out of the caller's mailbox.
  """
  @spec cancel(t()) :: :ok
  def cancel(%__MODULE__{reference: reference} = search) do
    :ok = Native.search_cancel(search.handle)

    # A search sends exactly one message, a cancelled one at once; leaving before it arrives would leave it behind.
    receive do
      {:jido_code_search, ^reference, _result} -> :ok
    after
      @grace -> :ok
    end
  end

  @doc """
  The text of an error. `about` has the call's `:path`, `:glob` and `:file_type`.

      iex> JidoCode.Tools.CodeSearch.explain(:not_found, %{path: "lib/nothing"})
      "Path not found in the project: lib/nothing"
      iex> JidoCode.Tools.CodeSearch.explain({:pattern, :nothing_to_repeat, "repetition operator missing expression", 1}, %{})
      "Invalid regex at character 1: repetition operator missing expression. To find *, + or ? themselves, escape them: \\\\*, \\\\+, \\\\?. " <>
        "In a regex `.*` stands for any text; a glob's `*` alone has no meaning."
  """
  @spec explain(reason(), map()) :: String.t()
  def explain(reason, about \\ %{})

  def explain({:pattern, fault, detail, position}, _about) do
    place = if position, do: " at character #{position}", else: ""
    "Invalid regex#{place}: #{detail}." <> hint(fault)
  end

  def explain({:glob, detail}, about) do
    "Invalid glob: #{shown(about[:glob])}: #{detail}. Write it as in .gitignore, from the project's root: *.ex, lib/**/*.ex, " <>
      "*.{ex,exs}, or !*_test.exs to leave files out"
  end

  def explain({:unknown_file_type, similar}, about) do
    similar = if similar == [], do: "", else: " Similar: #{Enum.join(similar, ", ")}."

    "Unknown file_type: #{shown(about[:file_type])}.#{similar} It takes a ripgrep type name such as elixir, erlang, " <>
      "rust, js or md, or a file name extension such as ex."
  end

  def explain({:timeout, files_searched}, _about) do
    "Search timed out: nothing found in the #{files_searched} files searched by then. Narrow the path or the file_type."
  end

  def explain(:root, _about), do: "The project's root is not a directory"
  def explain(:not_found, about), do: "Path not found in the project: #{shown(about[:path])}"

  def explain(:outside, about) do
    "Security error: path is outside the project boundary: #{shown(about[:path])}"
  end

  def explain(:not_searchable, about) do
    "Path is neither a directory nor a regular file: #{shown(about[:path])}"
  end

  def explain(:unreadable, about), do: "Path cannot be read: #{shown(about[:path])}"

  def explain(:unsafe_rules, about) do
    "An ignore file in #{shown(about[:path])} is not a regular file of at most 64 KiB, so it is not searched"
  end

  def explain(:cancelled, _about), do: "The search was cancelled"
  def explain(:busy, _about), do: "Too many searches are running; try again shortly"
  def explain(:internal, _about), do: "The search failed inside the native core"

  defp start_native(reference, request) do
    Native.search_start(reference, request)
  rescue
    error in ErlangError ->
      # Anything else than a core that is not loaded is a value of the wrong type in the request.
      if error.original == :nif_not_loaded,
        do: {:error, :internal},
        else: raise(ArgumentError, "invalid search options: #{inspect(error.original)}")
  end

  defp hint(:look_around) do
    " Look-ahead and look-behind don't exist in this engine: search for the text without them, or for each side on its own."
  end

  defp hint(:backreference),
    do: " Backreferences don't exist in this engine: write the repeated text out."

  defp hint(:brace), do: " To find braces themselves, escape them: %\\{name: or \\{:ok."
  defp hint(:unbalanced), do: " To find brackets themselves, escape them: \\( \\) \\[ \\]."

  defp hint(:nothing_to_repeat) do
    " To find *, + or ? themselves, escape them: \\*, \\+, \\?. In a regex `.*` stands for any text; a glob's `*` alone " <>
      "has no meaning."
  end

  defp hint(:line_end), do: " Set multiline to true for patterns that span lines."

  defp hint(:too_big),
    do: " Use smaller repetition counts, or [a-z0-9_] instead of \\w, which covers all of Unicode."

  defp hint(_fault), do: ""

  defp shown(nil), do: "."
  defp shown(text), do: Shortened.label(text, @max_shown)
end
