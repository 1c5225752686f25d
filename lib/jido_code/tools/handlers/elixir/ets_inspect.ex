defmodule JidoCode.Tools.Handlers.Elixir.EtsInspect do
  @moduledoc false
  # The `ets_inspect` tool: the project's named ETS tables, Mnesia's among them, looked at without changing them.
  #
  # Every result has `"operation"`, `"result"` and `"count"`:
  #
  # | Operation | `"result"` | `"count"` | Further keys |
  # |---|---|---|---|
  # | `list` | a map for each table: `name`, `type`, `size` (rows), `memory` (words), `memory_bytes`, `protection`, `owner`; `storage` of Mnesia's | tables | `unnamed`: tables of the project that have no name, and are not listed; `hidden`: how many others are not, by reason; `truncated` |
  # | `info` | everything `:ets.info/1` says, and `memory_bytes`; what Mnesia says of its own | rows | `table` |
  # | `lookup` | the rows under the key, each as text | rows under the key | `table`, `key`, `truncated` |
  # | `sample` | some rows, each as text | rows shown | `table`, `total_size`, `truncated` |
  #
  # and a `"note"` when something was hidden, cut or could not be read.
  #
  # A table is the project's when its owner is (`JidoCode.Tools.Introspection.Ownership`), and Mnesia's are, but for its schema. Rows
  # are read from public tables. Those of a protected table are shown to its owner only, as it meant them, by the host's seam and a bare
  # handler; the library's own doors, where a person sits at the other end, read them too. A row is copied whole out of a table, and
  # nothing tells its size before, so each is read in a process of its own with a limit on its heap. Of a bag, all rows of a key are
  # copied together; a key with many megabytes of rows is counted only. The room is shared among the rows that are there: small ones
  # are shown whole. Records have the names of their fields where debug information or Mnesia tells them.
  #
  # Errors contain `not found`, `blocked`, `private`, `protected` with `owner`, `Atom key does not exist`, or what is wrong
  # with an argument.

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.{Answers, Operation, Render}
  alias JidoCode.Tools.Introspection.{At, Bounded, Facts, Literal, Ownership, Reach, Records, Rows, Tables}
  alias JidoCode.Tools.Render.{Derived, Struct}

  @default_limit 10
  @max_limit 100
  @max_listed 100
  @deadline_ms 10_000
  @row_ms 3_000
  # The way to another node and back.
  @way_ms 1_000

  # Terms that the excerpts of all rows together may have.
  @max_nodes 20_000

  # When the average row is larger than this, none is copied at all.
  @max_average_row 16_000_000

  # A key comes back in the answer.
  @max_key_bytes 2_000

  # Of all rows together, and of one row at least.
  @max_bytes 25_000
  @min_row_bytes 200

  @deleted "The table was deleted while it was read."

  # Of what is told of tables that are not listed.
  @max_applications 8

  @impl true
  def definition do
    %{
      name: "ets_inspect",
      title: "Look at ETS tables",
      summary: "the project's tables: list, info, lookup, sample",
      tier: :privileged,
      hints: :looks,
      text: &Answers.Tables.text/1,
      event: {:elixir, :ets_inspect},
      label: {:argument, "operation"},
      at_node: true,
      timeout_ms: 15_000,
      description:
        "Look into the project's named ETS tables without changing them. list: all tables; info: one table's " <>
          "properties (memory in words, and in bytes as memory_bytes); lookup: the rows of one key; sample: a few " <>
          "rows. Mnesia's tables are among them. Rows of private tables can't be read, those of protected ones unless the " <>
          "host shows public tables only. Sensitive fields are hidden, large rows are cut.",
      parameters: [
        %{
          name: "operation",
          type: :string,
          required: true,
          enum: ["list", "info", "lookup", "sample"],
          description: "What to do. lookup also needs key; info, lookup and sample need table."
        },
        %{
          name: "table",
          type: :string,
          required: false,
          description: "Table name, e.g. \"my_cache\" or \"MyApp.Cache\"."
        },
        %{
          name: "key",
          type: :string,
          required: false,
          description:
            "Key for lookup, written as an Elixir literal: 42, 1.5, :name, MyApp.Mod, \"text\", true, " <>
              "{:user, 1}, [1, 2], #PID<0.1.2>, or as Erlang's: {resource, <<\"/\">>}. Plain text without quotes is a string."
        },
        %{
          name: "limit",
          type: :integer,
          required: false,
          default: @default_limit,
          minimum: 1,
          maximum: @max_limit,
          beyond: :cut,
          description:
            "Most rows to return for lookup and sample (default #{@default_limit}, maximum #{@max_limit})."
        }
      ]
    }
  end

  @doc "Runs the tool; see the module's documentation for the results."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context), do: Operation.run(operation(args), args, context, &inspect_tables/2)

  # What an operation needs beyond the schema, which can't say that a parameter is required for some operations only.
  defp operation(args) do
    required =
      case args do
        %{"operation" => "lookup"} -> ["table", "key"]
        %{"operation" => operation} when operation in ["info", "sample"] -> ["table"]
        _other -> []
      end

    update_in(Operation.of(__MODULE__).definition.parameters, fn parameters ->
      Enum.map(parameters, &if(&1.name in required, do: %{&1 | required: true}, else: &1))
    end)
  end

  defp inspect_tables(args, context) do
    call = %{
      caller: self(),
      deadline: now() + @deadline_ms,
      reach: Reach.of(context),
      scope: Ownership.scope(context)
    }

    words = %{
      timeout: "The tables could not be read in time",
      too_large: "The tables could not be read: too much data"
    }

    Bounded.answer(fn -> run(args, call) end, words, timeout: @deadline_ms + 500)
  end

  defp now, do: System.monotonic_time(:millisecond)

  defp run(%{"operation" => "list"}, call), do: list(call)

  defp run(%{"operation" => operation, "table" => name} = args, call) do
    with {:ok, table} <- Tables.find(name, call.scope, call.reach.node) do
      case operation do
        "info" -> info(table, name)
        "lookup" -> with :ok <- readable(table, name, call), do: lookup(table, args, call)
        "sample" -> with :ok <- readable(table, name, call), do: sample(table, args, call)
      end
    end
  end

  defp readable(%{table: nil}, name, _call) do
    {:error, "Table #{name} is kept on disk only: its rows are not read; info is available"}
  end

  defp readable(_table, name, %{reach: %{states?: false}}) do
    {:error,
     "Rows of #{name} were not read: the node lacks the modules that are needed to read them. A person can allow " <>
       "lending them while calls run: --consent-load. info is available"}
  end

  # Mnesia's own processes keep its tables; who may read them is not said there.
  defp readable(%{kind: kind}, _name, _call) when kind != :ets, do: :ok

  defp readable(%{table: table, node: node}, name, %{caller: caller, reach: %{wide?: wide?}}) do
    case {Tables.ets(node, table, :protection), Tables.ets(node, table, :owner)} do
      {:public, _owner} ->
        :ok

      {:protected, owner} when wide? or owner == caller ->
        :ok

      {:protected, _owner} ->
        {:error, "Table #{name} is protected: its rows are shown to its owner only; info is available"}

      {:private, _owner} ->
        {:error, "Table #{name} is private: its rows can't be read by other processes; info is available"}

      {:undefined, _owner} ->
        {:error, Tables.not_found(name)}
    end
  end

  defp list(call) do
    listing = Tables.list(call.scope, call.reach.node)
    shown = listing.tables |> Enum.sort_by(& &1["name"]) |> Enum.take(@max_listed) |> fit()
    left = length(listing.tables) - length(shown)
    foreign = listing.foreign |> Map.values() |> Enum.sum()

    {:ok,
     %{
       "operation" => "list",
       "result" => shown,
       "count" => length(listing.tables),
       "unnamed" => listing.unnamed,
       "hidden" => %{
         "system" => listing.system,
         "other_applications" => foreign,
         "not_looked_at" => listing.unseen
       },
       "truncated" => left > 0 or listing.unseen > 0
     }
     |> note(unlisted(listing, left))}
  end

  # Names may have 255 characters.
  defp fit(tables) do
    {shown, _bytes} =
      Enum.flat_map_reduce(tables, @max_bytes, fn table, left ->
        left = left - byte_size(table["name"]) - byte_size(table["owner"]) - 40
        if left > 0, do: {[table], left}, else: {:halt, left}
      end)

    shown
  end

  defp unlisted(listing, left) do
    reasons = [
      {left, "for lack of space"},
      {listing.unnamed, "of the project without a name"},
      {listing.system, "of Erlang, Elixir and JidoCode"},
      {listing.unseen, "not looked at, since there are so many"}
    ]

    texts = for({count, why} <- reasons, count > 0, do: "#{count} #{why}") ++ others(listing.foreign)
    if texts == [], do: [], else: ["Not listed: #{Enum.join(texts, "; ")}."]
  end

  defp others(foreign) when foreign == %{}, do: []

  defp others(foreign) do
    apps =
      for {app, _count} <- foreign |> Enum.sort_by(&(-elem(&1, 1))) |> Enum.take(@max_applications),
          do: if(app, do: Atom.to_string(app), else: "no application")

    count = foreign |> Map.values() |> Enum.sum()

    [
      "#{count} that are not part of the project (#{Enum.join(apps, ", ")}; " <>
        "`config :jido_code_tools, project_namespaces: [...]` says which are)"
    ]
  end

  defp info(%{table: nil} = table, name), do: mnesia_info(table, name, %{})

  defp info(%{table: ets, node: node} = table, name) do
    case At.call(node, :ets, :info, [ets]) do
      :undefined ->
        {:error, Tables.not_found(name)}

      info ->
        result = for {key, value} <- info, into: %{}, do: {Atom.to_string(key), plain(value)}
        result = Map.put(result, "memory_bytes", Tables.bytes(info[:memory], node))

        if table.kind == :ets,
          do: {:ok, %{"operation" => "info", "table" => name, "result" => result, "count" => info[:size]}},
          else: mnesia_info(table, name, result)
    end
  end

  # What Mnesia says of a table beside what ETS does.
  @mnesia_items [
                  :storage_type,
                  :type,
                  :size,
                  :memory,
                  :attributes,
                  :record_name,
                  :index,
                  :access_mode,
                  :load_order
                ] ++
                  [:ram_copies, :disc_copies, :disc_only_copies]

  defp mnesia_info(%{name: table, node: node}, name, result) do
    said =
      for item <- @mnesia_items,
          into: %{},
          do: {Atom.to_string(item), plain(At.call(node, :mnesia, :table_info, [table, item]))}

    {:ok,
     %{"operation" => "info", "table" => name, "result" => Map.merge(result, said), "count" => said["size"]}}
  end

  defp plain(value) when is_number(value) or is_boolean(value), do: value
  defp plain(value) when is_atom(value), do: Atom.to_string(value)
  defp plain(value) when is_pid(value), do: Facts.show_pid(value)
  defp plain(value), do: value |> Render.render(max_bytes: 200) |> elem(0)

  defp lookup(_table, %{"key" => text}, _call) when byte_size(text) > @max_key_bytes do
    {:error, "Invalid key: longer than #{@max_key_bytes} bytes"}
  end

  defp lookup(table, %{"table" => name, "key" => text} = args, call) do
    case Literal.keys(text, node: table.node) do
      {:ok, keys} ->
        limit = args["limit"]
        {rows, count, notes} = first_hit(table, keys, limit, call)

        {:ok,
         %{
           "operation" => "lookup",
           "table" => name,
           "key" => text,
           "result" => texts(rows, table),
           "count" => count,
           "truncated" => count > length(rows)
         }
         |> note(notes)}

      {:error, :unknown_atom} ->
        {:error,
         "Atom key does not exist: #{text} names an atom that is unknown on this node, so no row has it"}

      {:error, :syntax} ->
        {:error,
         "Invalid key: #{text} is not a literal; write 42, :name, \"text\", {:user, 1}, <<\"bytes\">>, #PID<0.1.2>, or plain " <>
           "text for a string"}
    end
  end

  defp first_hit(table, [key | other_keys], limit, call) do
    case rows(table, key, limit, @max_nodes, call) do
      {[], 0, []} when other_keys != [] -> first_hit(table, other_keys, limit, call)
      found -> found
    end
  end

  defp sample(%{table: ets, node: node} = table, %{"table" => name} = args, call) do
    size = Tables.ets(node, ets, :size)
    {rows, notes} = some(table, args["limit"], call)

    {:ok,
     %{
       "operation" => "sample",
       "table" => name,
       "result" => texts(rows, table),
       "count" => length(rows),
       "total_size" => if(is_integer(size), do: size, else: 0),
       "truncated" => is_integer(size) and size > length(rows)
     }
     |> note(notes)}
  end

  defp some(%{table: ets, node: node} = table, limit, call) do
    case At.call(node, Rows, :keys, [ets, limit, left_ms(call)], left_ms(call) + @way_ms) do
      {:ok, keys} ->
        walk(keys, table, limit, Map.put(call, :nodes, div(@max_nodes, length(keys) + 1)), [], [])

      :gone ->
        {[], [@deleted]}

      _failed ->
        {[], ["The keys could not be read: they are too large, or reading them took too long."]}
    end
  end

  defp walk([key | keys], table, left, call, rows, notes) when left > 0 do
    if now() < call.deadline do
      {new, _count, new_notes} = rows(table, key, left, call.nodes, call)
      walk(keys, table, left - length(new), call, Enum.reverse(new, rows), notes ++ new_notes)
    else
      {Enum.reverse(rows), notes ++ ["Time ran out while rows were read."]}
    end
  end

  defp walk(_keys, _table, _left, _call, rows, notes), do: {Enum.reverse(rows), notes}

  defp left_ms(call), do: (call.deadline - now()) |> max(1) |> min(@row_ms)

  # The rows of one key as excerpts, how many the key has, and notes.
  defp rows(%{table: ets, node: node} = table, key, limit, nodes, call) do
    average = average_row(table)

    if average > @max_average_row do
      {[], 0, ["Rows are too large to be read: on average #{average} bytes."]}
    else
      case At.call(node, Rows, :read, [ets, key, limit, nodes, left_ms(call)], left_ms(call) + @way_ms) do
        {:ok, rows, count} -> {rows, count, []}
        :too_large -> {[], 1, ["A row was left out: it is too large to be copied."]}
        :timeout -> {[], 1, ["A row was left out: reading it took too long."]}
        :pattern -> {[], 0, ["A key that looks like a match pattern can't be read from a bag."]}
        :gone -> {[], 0, [@deleted]}
        {:uncopied, count} -> {[], count, [uncopied(count)]}
      end
    end
  end

  defp uncopied(count),
    do: "A key has #{count} rows; ETS would copy all of them to show some, so none is shown."

  defp average_row(%{table: ets, node: node}) do
    case {Tables.ets(node, ets, :memory), Tables.ets(node, ets, :size)} do
      {memory, size} when is_integer(memory) and is_integer(size) and size > 0 -> div(memory * 8, size)
      _empty_or_gone -> 0
    end
  end

  # First each gets an equal share; what small rows leave goes to those that were cut.
  defp texts([], _table), do: []

  defp texts(rows, table) do
    options = options(table)
    share = max(div(@max_bytes, length(rows)), @min_row_bytes)
    written = Enum.map(rows, &text(&1, share, options))
    cut = Enum.count(written, fn {_text, whole?} -> not whole? end)
    used = written |> Enum.map(fn {text, _whole?} -> byte_size(text) end) |> Enum.sum()
    larger = if cut > 0, do: share + div(max(@max_bytes - used, 0), cut), else: share

    for {row, {text, whole?}} <- Enum.zip(rows, written) do
      if whole? or larger < share + @min_row_bytes, do: text, else: row |> text(larger, options) |> elem(0)
    end
  end

  defp text(row, bytes, options) do
    {text, summary} = Render.render(row, [max_bytes: bytes] ++ options)
    {text, not summary.truncated}
  end

  defp options(%{node: node} = table) do
    known = if table.owner, do: Records.of([table.owner.module, table.name], node), else: %{}
    inspected = if node == node(), do: &Struct.inspected/1, else: &Derived.inspected(&1, node)
    [inspected: inspected, records: Records.reader(Map.merge(known, table.records))]
  end

  defp note(result, []), do: result
  defp note(result, notes), do: Map.put(result, "note", notes |> Enum.uniq() |> Enum.join(" "))
end
