defmodule JidoCode.Tools.Handlers.Elixir.SourceLocation do
  @moduledoc false
  # The `get_source_location` tool: where something is written, with the lines themselves. The result has these keys:
  #
  #   "reference"  as it was understood
  #   "locations"  each with "what" (`def add/2`), "file", "line", "source" (numbered lines, null where the file is not here), and
  #                where they apply "clauses" (their lines), "generated_by" (the macro's module), "written" (file, line and source in
  #                that macro)
  #   "definitions", for a module alone: a line each
  #   "note"       only when there is something to say
  #
  # Read from the module's file and its source; nothing is loaded, compiled or run.

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.Introspection.{Bounded, Compiled, ExternalTerm, Reference, Source}
  alias JidoCode.Tools.{Answers, Operation, Visible, Workspace}

  @timeout_ms 8_000
  @heap_words 24_000_000

  @max_locations 20
  @max_lines 150
  @max_characters 24_000
  @max_outline 200
  @module_lines 12
  @site_lines 8

  @impl true
  def definition do
    %{
      name: "get_source_location",
      title: "Find a definition",
      summary: "where a module, function, macro, callback, type or struct is written, with the lines",
      tier: :read_only,
      hints: :looks,
      text: &Answers.Source.text/1,
      event: {:elixir, :get_source_location},
      label: {:argument, "reference"},
      at_node: :files,
      timeout_ms: 10_000,
      description:
        "Show where something is defined, as file and line, with its source lines: all clauses of a function, of the project, its " <>
          "dependencies, Elixir and Erlang. Exact, where a search for the name finds calls and comments too. Code that a macro " <>
          "generated is shown where the macro is used and where it is written. A module alone gives its place and a list of its " <>
          "definitions. The module must be compiled.",
      parameters: [
        %{
          name: "reference",
          type: :string,
          required: true,
          description:
            "MyApp.Cart, MyApp.Cart.add, MyApp.Cart.add/2, :lists.map/2; a callback c:GenServer.init/1, a type t:Enum.t/0, " <>
              "a struct %MyApp.Cart{}"
        }
      ]
    }
  end

  @doc "Runs the tool."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context), do: Operation.run(Operation.of(__MODULE__), args, context, &locate/2)

  defp locate(%{"reference" => text}, context) do
    with {:ok, reference} <- Reference.read(text),
         {:ok, root} <- Workspace.root(context) do
      words = %{
        timeout: "Reading #{Reference.show(reference)} took too long",
        too_large: "#{Reference.show(reference)} can't be read: its file is too large"
      }

      Bounded.answer(fn -> look(reference, root) end, words, timeout: @timeout_ms, heap_words: @heap_words)
    end
  end

  defp look(reference, root) do
    with {:ok, module} <- Compiled.read(reference.module) do
      module = Map.put(module, :root, root)
      answer(reference, module, wanted(reference, module.info))
    end
  end

  # What is meant, as `{kind, entries}`.
  defp wanted(%{kind: :struct}, info), do: {:struct, named(info.definitions, "__struct__", 0)}
  defp wanted(%{name: nil}, info), do: {:module, info}

  defp wanted(%{kind: :callback} = wanted, info),
    do: {:types, typed(info, wanted, [:callback, :macrocallback])}

  defp wanted(%{kind: :type} = wanted, info), do: {:types, typed(info, wanted, [:type])}

  defp wanted(wanted, info) do
    with [] <- named(info.definitions, wanted.name, wanted.arity) do
      {:types, typed(info, wanted, [:callback, :macrocallback, :type])}
    else
      definitions -> {:definitions, definitions}
    end
  end

  defp named(definitions, name, arity) do
    found =
      for definition <- definitions,
          ExternalTerm.name(definition.name) == name,
          arity == nil or definition.arity == arity,
          do: definition

    Enum.sort_by(found, &{&1.site, &1.arity})
  end

  defp typed(info, wanted, kinds) do
    for type <- info.types,
        type.kind in kinds and type.name == wanted.name,
        wanted.arity == nil or type.arity == wanted.arity,
        do: type
  end

  defp answer(reference, module, {:module, info}) do
    source = Source.find(info, nil, module.beam, module.root)
    line = info.line || 1
    last = min(Source.last_line(source, line, info.backend, 10_000), line + @module_lines - 1)

    {:ok,
     %{
       "reference" => Reference.show(reference),
       "locations" => [location(module_word(info), source, line, [line..last//1])],
       "definitions" => outline(info)
     }
     |> noted(source.lines == nil && absent())}
  end

  defp answer(reference, module, {_kind, []}), do: {:error, unknown(reference, module.info)}

  defp answer(reference, module, {kind, entries}) do
    {shown, rest} = Enum.split(entries, @max_locations)
    locations = shown |> Enum.map(&place(kind, &1, module)) |> merged() |> within(@max_characters)

    {:ok,
     %{"reference" => Reference.show(reference), "locations" => locations}
     |> noted(
       Enum.any?(locations, &(&1["source"] == nil or match?(%{"written" => %{"source" => nil}}, &1))) &&
         absent()
     )
     |> noted(rest != [] && "#{length(rest)} more definitions have this name: give the arity.")}
  end

  defp noted(result, note) when note in [nil, false], do: result
  defp noted(result, note), do: Map.update(result, "note", note, &(&1 <> " " <> note))

  defp absent do
    "Where no lines are shown, the source is not here, or may not be read; file and line are the compiler's."
  end

  defp module_word(%{impl: {protocol, for}}),
    do: "defimpl #{show_name(protocol)}, for: #{show_name(for)}"

  defp module_word(%{backend: :erlang, module: module}), do: "-module(#{module})"
  defp module_word(%{module: module}), do: "defmodule #{Reference.show_module(module)}"

  defp show_name(name), do: name |> ExternalTerm.name() |> to_string() |> Reference.show_module()

  # A mistyped name is answered with what there is.
  defp unknown(reference, info) do
    names =
      info.definitions
      |> Enum.reject(& &1.macro)
      |> Enum.map(&ExternalTerm.name(&1.name))
      |> Enum.uniq()

    near =
      names
      |> Enum.filter(&(reference.name != nil and String.jaro_distance(&1, reference.name) > 0.75))
      |> Enum.sort_by(&String.jaro_distance(&1, reference.name), :desc)
      |> Enum.take(5)

    arities = for definition <- named(info.definitions, reference.name || "", nil), do: "/#{definition.arity}"

    hint =
      cond do
        arities != [] -> ". It exists as #{Enum.join(Enum.uniq(arities), ", ")}"
        near != [] -> ". Similar names: #{Enum.map_join(near, ", ", &Visible.escape/1)}"
        true -> ""
      end

    "#{Reference.show(reference)} is not defined in #{Reference.show_module(reference.module)}" <> hint
  end

  defp place(:struct, definition, module) do
    source = own_source(definition, module)
    what = "defstruct of #{Reference.show_module(module.info.module)}"
    location(what, source, definition.site, spans(source, [definition.site], module.info.backend, @max_lines))
  end

  defp place(:types, type, module) do
    source = Source.find(module.info, nil, module.beam, module.root)

    location(
      "#{type.kind} #{type.name}/#{type.arity}",
      source,
      type.line,
      spans(source, [type.line], module.info.backend, 30)
    )
  end

  defp place(:definitions, %{macro: nil} = definition, module) do
    source = own_source(definition, module)
    lines = for {line, _clause} <- definition.clauses, line > 0, uniq: true, do: line
    lines = if lines == [], do: [definition.site], else: lines
    clauses = if length(lines) > 1, do: %{"clauses" => lines}, else: %{}

    location(what(definition), source, hd(lines), spans(source, lines, module.info.backend, @max_lines))
    |> Map.merge(clauses)
  end

  # Where the macro is used, and where what it made is written.
  defp place(:definitions, definition, module) do
    source = own_source(definition, module)
    macro = ExternalTerm.name(definition.macro)

    what(definition)
    |> location(source, definition.site, spans(source, [definition.site], module.info.backend, @site_lines))
    |> Map.put("generated_by", "a macro of #{Reference.show_module(macro)}")
    |> Map.merge(written(definition.written, macro, module.root))
  end

  defp own_source(definition, module), do: Source.find(module.info, definition.file, module.beam, module.root)

  defp written(nil, _macro, _root), do: %{}

  defp written({file, line}, macro, root) do
    case Compiled.read(macro) do
      {:ok, made} ->
        source = Source.find(made.info, file, made.beam, root)

        %{
          "written" =>
            location("in the macro", source, line, spans(source, [line], :elixir, 60)) |> Map.delete("what")
        }

      {:error, _unreadable} ->
        %{"written" => %{"file" => Visible.escape(file), "line" => line, "source" => nil}}
    end
  end

  defp what(%{kind: :function} = definition), do: "#{ExternalTerm.name(definition.name)}/#{definition.arity}"
  defp what(definition), do: "#{definition.kind} #{ExternalTerm.name(definition.name)}/#{definition.arity}"

  defp location(what, source, line, spans) do
    %{
      "what" => Visible.escape(what),
      "file" => source.shown,
      "line" => line,
      "source" => numbered(source, spans)
    }
  end

  # In Erlang the clauses of a function are one form.
  defp spans(source, [first | _] = lines, :erlang, most) do
    last = Source.last_line(source, Enum.max(lines), :erlang, most)
    [first..max(last, first)//1]
  end

  defp spans(source, lines, :elixir, most),
    do: for(line <- lines, do: line..Source.last_line(source, line, :elixir, most)//1)

  defp numbered(%Source{lines: nil}, _spans), do: nil

  defp numbered(source, spans) do
    numbers = spans |> Enum.flat_map(&Enum.to_list/1) |> Enum.uniq() |> Enum.sort()
    {shown, rest} = Enum.split(numbers, @max_lines)
    width = shown |> List.last(1) |> Integer.to_string() |> String.length()

    lines =
      shown
      |> Enum.zip([nil | shown])
      |> Enum.flat_map(fn {number, before} ->
        text = "#{String.pad_leading("#{number}", width)}: #{Source.line(source, number)}"
        if before != nil and number > before + 1, do: ["...", text], else: [text]
      end)

    Enum.join(lines, "\n") <> if(rest == [], do: "", else: "\n... #{length(rest)} more lines")
  end

  # Definitions made in one place, as by a loop, are one location.
  defp merged(locations) do
    locations
    |> Enum.chunk_by(&Map.delete(&1, "what"))
    |> Enum.map(fn [first | rest] ->
      Map.put(first, "what", Enum.map_join([first | rest], ", ", & &1["what"]))
    end)
  end

  defp within(locations, room) do
    {locations, _room} =
      Enum.map_reduce(locations, room, fn location, room ->
        size = String.length(location["source"] || "") + String.length(location["written"]["source"] || "")

        if size > room,
          do: {location |> Map.delete("written") |> Map.put("source", "(left out: too long)"), room},
          else: {location, room - size}
      end)

    locations
  end

  defp outline(info) do
    own = info.definitions |> Enum.reject(& &1.macro) |> Enum.sort_by(&{&1.site, &1.arity})
    generated = for %{macro: macro} when macro != nil <- info.definitions, do: show_name(macro)
    {shown, rest} = Enum.split(own, @max_outline)

    for(definition <- shown, do: Visible.escape("#{definition.site}: #{what(definition)}")) ++
      if(rest == [], do: [], else: ["... #{length(rest)} more"]) ++
      for {macro, count} <- Enum.sort(Enum.frequencies(generated)),
          do: "#{count} generated by a macro of #{macro}"
  end
end
