defmodule JidoCode.Tools.Handlers.Elixir.FetchDocs do
  @moduledoc false
  # The `fetch_elixir_docs` tool: documentation of the modules that the project can load, in the versions it uses.
  #
  # The result has these keys:
  #
  #   * `"module"` - its name as Elixir writes it
  #   * `"function"` - only when one was asked for
  #   * `"source"` - the module's file, from the project's folder where it lies there; null where it is not known
  #   * `"moduledoc"` - Markdown, or null; only its beginning when a function is asked for
  #   * `"docs"` - a list, see below
  #   * `"specs"` - a list of `name`, `arity`, `specs` (list of text, without `@spec`), and `kind` for callbacks
  #   * `"types"` - a list of `name`, `arity`, `type` (text)
  #   * `"behaviours"`, `"struct"` (its fields), `"implementations"` (of a protocol) - only of a module that has them, without `function`
  #   * `"note"` - only when something was cut or is missing
  #
  # An entry of `"docs"` has `name`, `arity`, `kind` (`function`, `macro`, `callback`, `macrocallback`, `type`), `signature`,
  # `doc` and `deprecated` (each may be null), and where they apply `since`, `line`, `defaults` (how many arguments may be left out)
  # and `doc_size`.
  #
  # Without `function` this is an index: `doc` is the first sentence and `doc_size` the length of the whole text in
  # characters; what the author hid is not in it. With `function` it is the whole text of all functions, macros, callbacks and types
  # of that name, which may come with `module` (`Enum.map/2`, `c:GenServer.init/1`); `arity` also finds a function that takes more arguments when the others have defaults.
  #
  # A module without documentation is not an error: `moduledoc` and `doc` are null, functions come from its exports. Erlang
  # modules are found the same way; on OTP 25 and 26 their documentation may not be installed.
  #
  # Errors contain `Module not found` or `Function not found`, and name what may have been meant.

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.{Answers, Operation, Shortened}
  alias JidoCode.Tools.Introspection.{Bounded, Docs, ModuleFacts, Modules, Reference}
  alias JidoCode.Tools.Render.Text

  @timeout_ms 10_000
  @heap_words 8_000_000

  # Characters of each part at most. What one part leaves, the ones after it may use; together they leave room for the rest of
  # a result of 30,000.
  @index_budget [docs: 13_000, specs: 5_000, types: 3_000, moduledoc: 7_000]
  @detail_budget [docs: 19_000, specs: 5_000, types: 3_000, moduledoc: 1_000]

  @max_name_bytes 1_020

  # A name as similar as this may be what was meant.
  @similar 0.75

  @impl true
  def definition do
    %{
      name: "fetch_elixir_docs",
      title: "Read documentation",
      summary:
        "documentation, specs, types and callbacks of Elixir and Erlang modules; a whole module gives an index first",
      tier: :read_only,
      hints: :looks,
      text: &Answers.Docs.text/1,
      event: {:elixir, :fetch_docs},
      label: {:argument, "module"},
      at_node: :files,
      timeout_ms: 15_000,
      description:
        "Read the documentation, types and specs of an Elixir or Erlang module that the project can load: its own, " <>
          "its dependencies', the standard library's. With a module only: its description and an index of all " <>
          "functions and types, one line each. With function (and arity): the full text, signatures and specs. " <>
          "This is the documentation of the versions in use; prefer it to memory and to searching source files.",
      parameters: [
        %{
          name: "module",
          type: :string,
          required: true,
          description:
            "Module name, e.g. \"Enum\", \"MyApp.Worker\" or \":lists\"; or with a function, \"Enum.map/2\", a callback, " <>
              "\"c:GenServer.init/1\", or a type, \"t:String.t/0\"."
        },
        %{
          name: "function",
          type: :string,
          required: false,
          description: "Function, macro, type or callback name, e.g. \"map\" or \"map/2\"."
        },
        %{
          name: "arity",
          type: :integer,
          required: false,
          minimum: 0,
          description: "Number of arguments; ignored without function."
        },
        %{
          name: "include_callbacks",
          type: :boolean,
          required: false,
          default: false,
          description: "Also list the callbacks that a behaviour asks for (default false)."
        }
      ]
    }
  end

  @doc "Runs the tool; see the module's documentation for the result."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context), do: Operation.run(Operation.of(__MODULE__), args, context, &fetch/2)

  defp fetch(%{"function" => function}, _context) when byte_size(function) > @max_name_bytes do
    {:error, "Invalid function: longer than any name can be"}
  end

  defp fetch(%{"module" => module} = args, context) do
    work = fn -> with {:ok, wanted} <- wanted(args), do: answer(wanted, context) end

    words = %{
      timeout: "Reading the documentation of #{module} took too long",
      too_large: "The documentation of #{module} can't be read: it is too large"
    }

    Bounded.answer(work, words, timeout: @timeout_ms, heap_words: @heap_words)
  end

  # What was asked for, in whichever of the two parameters the function's name stands.
  defp wanted(%{"module" => module} = args) do
    {module, named} =
      case Reference.parse(module) do
        {:ok, %{kind: :struct} = reference} -> {Modules.show(reference.module), %{}}
        {:ok, reference} -> {Modules.show(reference.module), Map.from_struct(reference)}
        :error -> {module, %{}}
      end

    {function, arity} = function(args["function"])

    wanted = %{
      module: module,
      function: function || named[:name],
      arity: args["arity"] || arity || named[:arity],
      kinds: kinds(named[:kind], function || named[:name], args["include_callbacks"])
    }

    if function && named[:name] not in [nil, function],
      do:
        {:error,
         "Invalid function: #{args["module"]} names #{named[:name]} and function names #{function}; give one"},
      else: {:ok, wanted}
  end

  # "map", "map/2"; "/" and "//2" are the operator.
  defp function(nil), do: {nil, nil}

  defp function(text) do
    case Regex.run(~r"\A(?:[ct]:)?(.+?)/(\d{1,3})\z"su, String.trim(text)) do
      [_all, name, arity] -> {name, String.to_integer(arity)}
      nil -> {text |> String.trim() |> String.replace(~r/\A[ct]:(?=.)/, ""), nil}
    end
  end

  defp answer(wanted, context) do
    case Docs.fetch(wanted.module) do
      {:ok, docs} -> found(docs, %{wanted | module: Modules.show(docs.name)}, context)
      {:error, reason} -> {:error, explain(reason, wanted.module)}
    end
  end

  defp explain(:not_a_name, module) do
    "Module not found: #{Shortened.label(module, 100)} is not a module name; write \"MyApp.Worker\" or \":lists\""
  end

  defp explain(:not_found, module) do
    meant =
      case Modules.similar(if(String.starts_with?(module, ":"), do: module, else: "Elixir." <> module)) do
        [] -> "is the project compiled?"
        similar -> "did you mean #{Enum.join(similar, ", ")}?"
      end

    "Module not found: #{module} is not loaded, and no file for it is on the code path; #{meant}"
  end

  defp explain(:unreadable, module), do: "The documentation of #{module} can't be read: its file is damaged"

  defp found(docs, wanted, context) do
    entries = Enum.filter(docs.entries, &wanted?(&1, wanted))
    result = result(docs, entries, wanted, context)

    if wanted.function && entries == [] && result["types"] == [] && result["specs"] == [],
      do: {:error, not_found(docs, wanted)},
      else: {:ok, result}
  end

  defp result(docs, entries, %{function: function, arity: arity} = wanted, context) do
    arities = Enum.flat_map(entries, &Enum.to_list((&1.arity - &1.defaults)..&1.arity))

    {budget, shown_entries} =
      if function,
        do: {@detail_budget, details(entries, @detail_budget[:docs])},
        else: {@index_budget, index(entries)}

    types = if function && "type" not in wanted.kinds, do: [], else: types(docs.types, function, arity)

    {shown_docs, left} = fit(shown_entries, budget[:docs])
    {shown_specs, left} = fit(declared(docs, wanted, arities), budget[:specs] + left)
    {shown_types, left} = fit(types, budget[:types] + left)
    {moduledoc, moduledoc_cut?} = cut(docs.moduledoc, budget[:moduledoc] + if(function, do: 0, else: left))

    %{
      "module" => wanted.module,
      "moduledoc" => moduledoc,
      "docs" => shown_docs.items,
      "specs" => shown_specs.items,
      "types" => shown_types.items,
      "source" => source(docs.facts.source, context)
    }
    |> put(function != nil, "function", function)
    |> about(docs, function)
    |> noted([
      undocumented_note(docs),
      left_out_note(shown_docs.left, "documented entries"),
      left_out_note(shown_specs.left, "specs"),
      left_out_note(shown_types.left, "types"),
      function == nil && moduledoc_cut? && "The module's description was cut.",
      function == nil && entries != [] && "This is an index; give function (and arity) for the whole text."
    ])
  end

  defp declared(docs, %{function: function, arity: arity, kinds: kinds}, arities) do
    specs = if "function" in kinds, do: specs(docs.specs, function, arity, arities, nil), else: []

    callbacks =
      if "callback" in kinds, do: specs(docs.callbacks, function, arity, arities, "callback"), else: []

    specs ++ callbacks
  end

  defp undocumented_note(%{documented: true}), do: nil

  defp undocumented_note(_docs) do
    "The compiled module holds no documentation (a release drops it unless strip_beams keeps \"Docs\"); its functions " <>
      "are taken from its exports."
  end

  defp about(result, _docs, function) when function != nil, do: result

  defp about(result, %{facts: facts} = docs, _function) do
    implementations = if facts.protocol?, do: ModuleFacts.implementations(docs.name), else: []

    result
    |> put(facts.behaviours != [], "behaviours", facts.behaviours)
    |> put(facts.struct != [], "struct", facts.struct)
    |> put(implementations != [], "implementations", implementations)
  end

  defp noted(result, notes) do
    case Enum.filter(notes, &is_binary/1) do
      [] -> result
      notes -> Map.put(result, "note", Enum.join(notes, " "))
    end
  end

  # Where it was when it was compiled: below the project it is found there, and elsewhere the folders of the machine that compiled
  # it tell nobody anything.
  defp source(nil, _context), do: nil

  defp source(path, context) do
    relative = Path.relative_to(path, context[:project_root] || File.cwd!())

    if Path.type(relative) == :relative,
      do: relative,
      else: Regex.replace(~r"\A.*/([^/]+/(?:lib|src)/)"su, path, "\\1")
  end

  @functions ["function", "macro"]
  @callbacks ["callback", "macrocallback"]

  defp kinds(:callback, _function, _include), do: @callbacks
  defp kinds(:type, _function, _include), do: ["type"]
  defp kinds(_any, function, _include) when function != nil, do: ["type" | @functions ++ @callbacks]
  defp kinds(_any, nil, true), do: @functions ++ @callbacks
  defp kinds(_any, nil, _no), do: @functions

  defp wanted?(entry, %{function: nil, kinds: kinds}) do
    Atom.to_string(entry.kind) in kinds and entry.doc != :hidden
  end

  defp wanted?(entry, %{function: function, arity: arity, kinds: kinds}) do
    entry.name == function and Atom.to_string(entry.kind) in kinds and
      (arity == nil or arity in (entry.arity - entry.defaults)..entry.arity)
  end

  defp index(entries) do
    Stream.map(entries, fn entry ->
      shown = plain(entry, entry.summary)

      if entry.summary == entry.doc,
        do: shown,
        else: Map.put(shown, "doc_size", entry.length)
    end)
  end

  # Each of several gets its part of the budget; what is shorter than its part leaves more to the others.
  defp details(entries, budget) do
    {entries, _left} =
      entries
      |> Enum.sort_by(&size/1)
      |> Enum.map_reduce({budget, length(entries)}, fn entry, {left, waiting} ->
        {doc, _cut?} = entry.doc |> visible() |> cut(max(div(left, waiting) - 300, 200))
        shown = entry |> plain(doc) |> put(entry.line != nil, "line", entry.line)
        {shown, {left - characters(shown), waiting - 1}}
      end)

    Enum.sort_by(entries, & &1["arity"])
  end

  defp size(%{doc: doc}) when is_binary(doc), do: byte_size(doc)
  defp size(_entry), do: 0

  defp visible(:hidden), do: nil
  defp visible(doc), do: doc

  defp plain(entry, doc) do
    %{
      "name" => entry.name,
      "arity" => entry.arity,
      "kind" => Atom.to_string(entry.kind),
      "signature" => entry.signature,
      "doc" => doc,
      "deprecated" => entry.deprecated
    }
    |> put(entry.since != nil, "since", entry.since)
    |> put(entry.defaults > 0, "defaults", entry.defaults)
  end

  defp put(map, condition, key, value), do: if(condition, do: Map.put(map, key, value), else: map)

  defp specs(specs, function, arity, arities, kind) do
    for {name, spec_arity, write} <- specs,
        function == nil or name == function,
        arity == nil or function == nil or spec_arity == arity or spec_arity in arities do
      fn ->
        spec = %{"name" => name, "arity" => spec_arity, "specs" => write.()}
        if kind, do: Map.put(spec, "kind", kind), else: spec
      end
    end
  end

  defp types(types, function, arity) do
    for {name, type_arity, write} <- types,
        function == nil or (name == function and (arity == nil or arity == type_arity)) do
      fn -> %{"name" => name, "arity" => type_arity, "type" => hd(write.())} end
    end
  end

  # As many items as fit, in order; one that is too large is left out and those after it still have their chance. Items may be
  # functions that make them, since writing out a spec is work.
  defp fit(items, budget) do
    {shown, left_out, budget} =
      Enum.reduce(items, {[], 0, budget}, fn item, {shown, left_out, budget} ->
        if budget < 20 do
          {shown, left_out + 1, budget}
        else
          item = if is_function(item), do: item.(), else: item
          cost = characters(item)

          if cost <= budget,
            do: {[item | shown], left_out, budget - cost},
            else: {shown, left_out + 1, budget}
        end
      end)

    {%{items: Enum.reverse(shown), left: left_out}, budget}
  end

  defp characters(term) when is_map(term),
    do: Enum.reduce(term, 0, fn {_key, value}, sum -> sum + characters(value) end)

  defp characters(term) when is_list(term), do: Enum.reduce(term, 0, &(characters(&1) + &2))
  defp characters(term) when is_binary(term), do: String.length(term)
  defp characters(_term), do: 0

  defp cut(nil, _characters), do: {nil, false}

  defp cut(text, characters) do
    shown = Shortened.block(text, characters)
    {shown, shown != text}
  end

  defp left_out_note(0, _what), do: nil

  defp left_out_note(count, what),
    do: "#{Text.number(count)} #{what} were left out; ask for them by function."

  defp not_found(docs, %{module: module, function: function, arity: arity}) do
    name = if arity, do: "#{function}/#{arity}", else: function
    others = for entry <- docs.entries, entry.name == function, do: "#{entry.kind} #{name(entry)}"

    similar =
      docs.entries
      |> Enum.filter(&(&1.doc != :hidden and String.jaro_distance(&1.name, function) >= @similar))
      |> Enum.sort_by(&String.jaro_distance(&1.name, function), :desc)

    case {others, similar} do
      {[], []} ->
        "Function not found: #{module} has no #{name}; without function it gives an index"

      {[], similar} ->
        "Function not found: #{module} has no #{name}; did you mean #{listed(Enum.map(similar, &name/1))}?"

      {others, _similar} ->
        "Function not found: #{module} has no #{name}, but #{listed(others)}"
    end
  end

  defp name(entry), do: "#{entry.name}/#{entry.arity}"
  defp listed(names), do: names |> Enum.uniq() |> Enum.take(5) |> Enum.join(", ")
end
