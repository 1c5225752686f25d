defmodule JidoCode.Tools.Handlers.Elixir.FindCallers do
  @moduledoc false
  # The `find_callers` tool: who uses a module or function, or what it uses. The result has these keys:
  #
  #   "uses"       each with "file", "line", "kind" (see `JidoCode.Tools.Introspection.Uses`), "from" (the function that uses it),
  #                and where the source is here "text" (the line); with direction calls also "what"
  #   "total"      how many there are; more than are shown are counted
  #   "modules"    how many were looked through
  #   "note"       only when there is something to say

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.Introspection.{Bounded, Callers, Compiled, ExternalTerm, Reference, Source, Uses}

  alias JidoCode.Tools.{Answers, Operation, Shortened, Visible, Workspace}

  @search_ms 8_000
  @timeout_ms 10_000
  @heap_words 40_000_000
  @max_text 160
  @max_characters 26_000
  @max_unread 5

  @impl true
  def definition do
    %{
      name: "find_callers",
      title: "Find callers",
      summary:
        "who calls, captures, implements or names a module or function, or what it calls, from compiled code",
      tier: :read_only,
      hints: :looks,
      text: &Answers.Callers.text/1,
      event: {:elixir, :find_callers},
      label: {:argument, "reference"},
      at_node: :compiled,
      timeout_ms: 12_000,
      description:
        "List who uses a module or function of the project, its dependencies or a library: calls, captures, apply with literal " <>
          "arguments, implementations of behaviours and protocols, structs, types, and processes called by the module's name; with " <>
          "file, line and the calling function. Exact where a search for the name is not: aliases, imports and pipes are resolved, " <>
          "comments and strings are not callers. direction calls lists what it uses itself. Looks at compiled code, so compile " <>
          "first; names that are computed at run time are not found, nor calls that are made while a module compiles (as in its " <>
          "attributes), nor are mix.exs and scripts.",
      parameters: [
        %{
          name: "reference",
          type: :string,
          required: true,
          description:
            "MyApp.Cart, MyApp.Cart.add/2, MyApp.Cart.add, :lists.map/2; %MyApp.Cart{} for a struct, t:MyApp.Cart.t/0 for a type, " <>
              "c:GenServer.init/1 for implementations of a callback"
        },
        %{
          name: "direction",
          type: :string,
          required: false,
          enum: ~w(callers calls),
          default: "callers",
          description: "callers: who uses it; calls: what it uses (default: callers)"
        },
        %{
          name: "everywhere",
          type: :boolean,
          required: false,
          default: false,
          description: "Also in the code of Elixir and Erlang themselves (default: false)"
        },
        %{
          name: "limit",
          type: :integer,
          required: false,
          default: 100,
          minimum: 1,
          maximum: 500,
          beyond: :cut,
          description: "How many uses at most (default: 100, max: 500)"
        }
      ]
    }
  end

  @doc "Runs the tool."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context), do: Operation.run(Operation.of(__MODULE__), args, context, &find/2)

  defp find(args, context) do
    with {:ok, reference} <- Reference.read(args["reference"]),
         {:ok, root} <- Workspace.root(context) do
      words = %{
        timeout: "Searching the compiled modules took too long",
        too_large: "The compiled modules can't be searched: too much data"
      }

      look = fn -> look(args, reference, root) end
      Bounded.answer(look, words, timeout: @timeout_ms, heap_words: @heap_words)
    end
  end

  defp look(%{"direction" => "calls"} = args, reference, root) do
    with {:ok, %{info: info} = compiled} <- Compiled.read(reference.module),
         {:ok, used} <- Callers.used(info, reference) do
      found = Map.put(compiled, :uses, used)
      {uses, _sources} = show(found, &Map.put(&1, "what", Uses.show(&2)), root, %{})

      if used == [] and reference.name != nil and not defined?(info, reference),
        do:
          {:error,
           "#{Reference.show(reference)} is not defined in #{Reference.show_module(reference.module)}"},
        else: {:ok, answer(uses, 1, args, [])}
    else
      {:error, :malformed} -> {:error, Compiled.malformed(reference.module)}
      error -> error
    end
  end

  defp look(args, reference, root) do
    files = Callers.files(args["everywhere"])
    macro? = macro?(reference)
    search = Callers.search(files, reference, macro?, System.monotonic_time(:millisecond) + @search_ms)

    {uses, _sources} =
      Enum.flat_map_reduce(search.found, %{}, fn found, sources ->
        show(
          %{found | uses: meant(found.uses, reference, macro?)},
          fn shown, _use -> shown end,
          root,
          sources
        )
      end)

    uses = if macro?, do: Enum.filter(uses, &names?(&1, reference.name)), else: uses
    {:ok, answer(Enum.sort_by(uses, &order/1), search.searched, args, notes(search, uses, reference, files))}
  end

  # Which macro made a piece of code is not kept: it is one of the module's, and the line names it.
  defp meant(uses, %{name: nil}, _macro?), do: uses
  defp meant(uses, _reference, true), do: uses
  defp meant(uses, _reference, false), do: Enum.reject(uses, &(&1.kind == :macro))

  defp names?(%{"kind" => "macro", "text" => text}, name), do: String.contains?(text, name)
  defp names?(_use, _name), do: true

  defp macro?(%{name: nil}), do: false

  defp macro?(reference) do
    case Compiled.read(reference.module) do
      {:ok, %{info: info}} ->
        Enum.any?(info.definitions, &(&1.kind == :defmacro and ExternalTerm.name(&1.name) == reference.name))

      {:error, _unreadable} ->
        false
    end
  end

  defp defined?(info, reference) do
    Enum.any?(info.definitions, fn definition ->
      ExternalTerm.name(definition.name) == reference.name and reference.arity in [nil, definition.arity]
    end)
  end

  # The uses of a module, with the lines of its sources, which are read once.
  defp show(found, decorate, root, sources) do
    Enum.map_reduce(found.uses, sources, fn use, sources ->
      key = {found.beam, use.file}
      sources = Map.put_new_lazy(sources, key, fn -> Source.find(found.info, use.file, found.beam, root) end)
      source = sources[key]

      shown = %{
        "file" => source.shown,
        "line" => use.line,
        "kind" => Atom.to_string(use.kind),
        "from" => from(found.info, use.from)
      }

      text = Source.line(source, use.line)

      shown =
        if text, do: Map.put(shown, "text", text |> String.trim() |> Shortened.label(@max_text)), else: shown

      {decorate.(shown, use), sources}
    end)
  end

  defp from(info, nil), do: Reference.show_module(info.module)

  defp from(info, {name, arity}),
    do: Visible.escape("#{Reference.show_module(info.module)}.#{ExternalTerm.name(name)}/#{arity}")

  # The project's own first, then its dependencies, then what lies elsewhere.
  defp order(%{"file" => file} = use), do: {distance(file), file, use["line"]}

  defp distance("deps/" <> _path), do: 1
  defp distance("/" <> _path), do: 2
  defp distance(_own), do: 0

  defp answer(uses, modules, args, notes) do
    uses = Enum.uniq(uses)
    shown = uses |> Enum.take(args["limit"]) |> fit(@max_characters)
    left = length(uses) - length(shown)

    notes =
      notes ++ if(left > 0, do: ["#{left} more are not shown: give a function, or its arity."], else: [])

    result = %{"uses" => shown, "total" => length(uses), "modules" => modules}
    if notes == [], do: result, else: Map.put(result, "note", Enum.join(notes, " "))
  end

  defp fit(uses, room) do
    {shown, _room} =
      Enum.reduce_while(uses, {[], room}, fn use, {shown, room} ->
        size = use |> Map.values() |> Enum.map(&String.length("#{&1}")) |> Enum.sum() |> Kernel.+(20)
        if size > room, do: {:halt, {shown, room}}, else: {:cont, {[use | shown], room - size}}
      end)

    Enum.reverse(shown)
  end

  defp notes(search, uses, reference, files) do
    Enum.reject(
      [
        if(uses == [], do: nobody(reference, search)),
        if(files == [], do: "No compiled modules of the project are on this VM's path: compile it first."),
        if(search.searched < search.total,
          do: "Time was up after #{search.searched} of #{search.total} modules."
        ),
        unread(search.unread)
      ],
      &is_nil/1
    )
  end

  defp nobody(reference, search) do
    "No use of #{Reference.show(reference)} was found in #{search.searched} compiled modules. Names that are computed at run time, " <>
      "calls made while a module compiles, configuration, templates that are not compiled, and tests are not searched."
  end

  defp unread([]), do: nil

  defp unread(names) do
    {shown, rest} = names |> Enum.reverse() |> Enum.split(@max_unread)

    "Not searched, for lack of debug information that can be read: #{Enum.map_join(shown, ", ", &Reference.show_module/1)}" <>
      if(rest == [], do: ".", else: " and #{length(rest)} more.")
  end
end
