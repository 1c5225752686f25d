defmodule JidoCode.Tools.Introspection.Callers do
  @moduledoc false
  # Who uses a module or function: the debug information of all compiled modules is looked through.
  #
  # Most modules are passed over after a search for the name's bytes; the others are read one by one, each in a process of its own
  # with bounded memory, so that one file that somebody wrote to be large costs its own answer only.

  alias JidoCode.Tools.Introspection.{BeamFile, Bounded, DebugInfo, ExternalTerm, Names, Reference, Uses}

  @module_ms 3_000
  @heap_words 40_000_000

  @typedoc "`beam` is the file of the module that uses it."
  @type found :: %{info: DebugInfo.t(), beam: Path.t(), uses: [Uses.t()]}

  @type t :: %{found: [found()], searched: non_neg_integer(), total: non_neg_integer(), unread: [String.t()]}

  @doc "The compiled modules' files, those of Erlang and Elixir themselves with `all?`; of several for one module the one that is loaded."
  @spec files(boolean()) :: [Path.t()]
  def files(all?) do
    folders = for folder <- :code.get_path(), do: folder |> :unicode.characters_to_binary() |> Path.expand()

    files =
      for folder <- Enum.uniq(folders),
          Path.basename(folder) != "consolidated",
          all? or not (toolchain?(folder) or lent?(folder)),
          {:ok, names} <- [File.ls(folder)],
          name <- Enum.sort(names),
          Path.extname(name) == ".beam",
          do: {name, folder}

    for {name, folder} <- Enum.uniq_by(files, &elem(&1, 0)), do: Path.join(folder, name)
  end

  defp toolchain?(folder) do
    roots = [:code.root_dir(), :code.lib_dir(:elixir), :code.lib_dir(:kernel)]

    Enum.any?(roots, fn root ->
      is_list(root) and String.starts_with?(folder, above(Path.expand(to_string(root))) <> "/")
    end)
  end

  # This library where the project does not have it: what the MCP server runs lies outside of any project.
  defp lent?(folder) do
    case :code.lib_dir(:jido_code_tools) do
      {:error, :bad_name} ->
        false

      own ->
        folder == Path.expand("ebin", to_string(own)) and not String.starts_with?(folder, File.cwd!() <> "/")
    end
  end

  # Elixir's applications lie beside one another.
  defp above(root), do: if(Path.basename(root) == "elixir", do: Path.dirname(root), else: root)

  @doc "Looks through the files until `deadline` (monotonic milliseconds). With `macro?` the name need not stand in them."
  @spec search([Path.t()], Reference.t(), boolean(), integer()) :: t()
  def search(files, reference, macro?, deadline) do
    names =
      if macro? or reference.name == nil, do: [reference.module], else: [reference.module, reference.name]

    Enum.reduce_while(files, %{found: [], searched: 0, total: length(files), unread: []}, fn file, state ->
      if System.monotonic_time(:millisecond) < deadline,
        do: {:cont, add(look(file, names, reference), file, state)},
        else: {:halt, state}
    end)
    |> Map.update!(:found, &Enum.reverse/1)
  end

  defp add(result, file, state) do
    state = %{state | searched: state.searched + 1}

    case result do
      {:ok, %{uses: []}} -> state
      {:ok, found} -> %{state | found: [found | state.found]}
      :passed_over -> state
      :unread -> %{state | unread: [Path.basename(file, ".beam") | state.unread]}
    end
  end

  defp look(file, names, reference) do
    case Bounded.run(fn -> read(file, names, reference) end, timeout: @module_ms, heap_words: @heap_words) do
      {:ok, result} -> result
      {:error, _failure} -> :unread
    end
  end

  defp read(file, names, reference) do
    with {:ok, beam} <- BeamFile.read(file),
         {:ok, chunks} <- BeamFile.chunks(beam),
         {:ok, body} <- DebugInfo.body(chunks) do
      name = Path.basename(file, ".beam")

      if Enum.any?(names, &(:binary.match(body, &1) == :nomatch)) do
        :passed_over
      else
        with {:ok, info} <- DebugInfo.read(name, chunks),
             {:ok, uses} <- DebugInfo.formed(fn -> {:ok, wanted(info, name, reference)} end) do
          {:ok, %{info: slim(info), beam: file, uses: uses}}
        else
          {:error, _unreadable} -> :unread
        end
      end
    else
      _unreadable -> :unread
    end
  end

  # What the code is made of stays here.
  defp slim(info), do: %{info | definitions: [], types: []}

  defp wanted(info, name, reference) do
    target = target(reference)
    own? = name == reference.module

    info
    |> Uses.all(term(name))
    |> Enum.filter(&uses?(&1, target, own?))
    |> Kernel.++(implementations(info, target, reference))
    |> strongest()
  end

  # As the names of a file are read.
  defp term(name) do
    case Names.existing(name) do
      {:ok, atom} -> atom
      :error -> {:unknown_atom, name}
    end
  end

  defp target(reference) do
    %{
      module: term(reference.module),
      name: reference.name && term(reference.name),
      arity: reference.arity,
      kind: reference.kind
    }
  end

  defp uses?(%{module: module}, %{module: other}, _own?) when module != other, do: false
  # In its own module it is no news that it is named.
  defp uses?(use, %{name: nil} = target, own?), do: not own? and kind?(use.kind, target.kind)
  defp uses?(%{kind: :type} = use, %{kind: :type} = target, _own?), do: same?(use, target)
  defp uses?(_use, %{kind: kind}, _own?) when kind in [:type, :callback, :struct], do: false
  defp uses?(%{kind: :macro}, _target, own?), do: not own?

  defp uses?(%{kind: kind} = use, target, _own?) when kind in [:call, :capture, :apply],
    do: same?(use, target)

  defp uses?(_use, _target, _own?), do: false

  defp kind?(kind, :struct), do: kind == :struct
  defp kind?(kind, :type), do: kind == :type
  defp kind?(_kind, _any), do: true

  defp same?(use, target) do
    use.name == target.name and (target.arity == nil or use.arity == nil or use.arity == target.arity)
  end

  # A behaviour's callback or a protocol's function is found where it is implemented.
  defp implementations(_info, %{name: nil}, _reference), do: []
  defp implementations(_info, %{kind: kind}, _reference) when kind in [:type, :struct], do: []

  defp implementations(info, target, _reference) do
    if target.module in info.behaviours or match?({protocol, _for} when protocol == target.module, info.impl) do
      for definition <- info.definitions,
          definition.name == target.name and definition.kind in [:def, :defmacro, :function],
          # What `use` of the behaviour itself puts in place is no implementation of anybody's.
          definition.macro != target.module,
          target.arity == nil or definition.arity == target.arity do
        %{
          kind: :implements,
          module: target.module,
          name: target.name,
          arity: definition.arity,
          line: definition.site,
          from: {definition.name, definition.arity},
          file: definition.file
        }
      end
    else
      []
    end
  end

  # What is called is named as well; one line tells it once.
  defp strongest(uses) do
    uses = Enum.uniq(uses)

    said =
      for %{kind: kind} = use when kind not in [:refers, :macro] <- uses,
          into: MapSet.new(),
          do: {use.line, use.from}

    Enum.reject(uses, &(&1.kind == :refers and {&1.line, &1.from} in said))
  end

  @doc "What a definition, or a whole module, uses."
  @spec used(DebugInfo.t(), Reference.t()) :: {:ok, [Uses.t()]} | {:error, :malformed}
  def used(info, reference), do: DebugInfo.formed(fn -> {:ok, used_by(info, reference)} end)

  defp used_by(info, reference) do
    target = target(reference)

    for use <- Uses.all(info, target.module),
        reference.name == nil or from?(use.from, target),
        use.kind in [:call, :capture, :apply, :message, :struct, :macro, :implements],
        not operator?(use),
        do: use
  end

  defp from?({name, arity}, target),
    do: name == target.name and (target.arity == nil or arity == target.arity)

  defp from?(nil, _target), do: false

  # Sums and comparisons are no calls to anybody who reads.
  defp operator?(%{module: :erlang, name: name}),
    do: not (to_string(ExternalTerm.name(name)) =~ ~r/\A[a-z]\w+\z/) or name in [:andalso, :orelse]

  defp operator?(%{kind: :macro, module: module}), do: module == Kernel
  defp operator?(_use), do: false
end
