defmodule JidoCode.Tools.Handlers.Elixir.EtsInspect do
  @moduledoc """
  The `ets_inspect` tool: the project's named ETS tables, looked at without changing them.

  Every result has `"operation"`, `"result"` and `"count"`:

  | Operation | `"result"` | `"count"` | Further keys |
  |---|---|---|---|
  | `list` | a map for each table: `name`, `type`, `size` (rows), `memory` (words), `memory_bytes`, `protection`, `owner` | tables | `unnamed`: tables of the project that have no name, and are not listed; `truncated` |
  | `info` | everything `:ets.info/1` says, and `memory_bytes` | rows | `table` |
  | `lookup` | the rows under the key, each as text | rows under the key | `table`, `key`, `truncated` |
  | `sample` | some rows, each as text | rows shown | `table`, `total_size`, `truncated` |

  and a `"note"` when something was cut or could not be read.

  A table is the project's when its owner is (`JidoCode.Tools.Introspection.Ownership`). Rows are read from public tables,
  and from a protected one only for its owner, as a table's owner meant it. A row is copied whole out of a table, and nothing
  tells its size before, so each is read in a process of its own with a limit on its heap. Of a bag, all rows of a key are
  copied together; a key with many megabytes of rows is counted only.

  Errors contain `not found`, `blocked`, `private`, `protected` with `owner`, `Atom key does not exist`, or what is wrong
  with an argument.
  """

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.{Definitions, Operation, Render}
  alias JidoCode.Tools.Introspection.{Bounded, Literal, Names, Observer, Ownership}

  @default_limit 10
  @max_limit 100
  @max_listed 100
  @max_tables 10_000

  @deadline_ms 10_000
  @row_ms 3_000

  # 40 MB: a row of ten megabytes is copied once into the process and once more when its memory is collected.
  @row_heap_words 5_000_000

  # When the average row is larger than this, none is copied at all.
  @max_average_row 16_000_000

  # A key comes back in the answer.
  @max_key_bytes 2_000

  # Of all rows together, and of one row at least.
  @max_bytes 25_000
  @min_row_bytes 200

  @deleted "The table was deleted while it was read."

  # Rows of one key of a bag come all together.
  @max_bag_bytes 8_000_000

  # The arities that rows of a bag may have, since a pattern must name its own.
  @bag_arities 12

  @impl true
  def security_properties, do: %{tier: :privileged, timeout_ms: 15_000}

  @doc "Runs the tool; see the module's documentation for the results."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context) do
    Operation.run(
      %{
        definition: definition(args),
        event: [:jido_code, :elixir, :ets_inspect],
        label: {:argument, "operation"},
        at_node: true
      },
      args,
      context,
      &inspect_tables/2
    )
  end

  # What an operation needs beyond the schema, which can't say that a parameter is required for some operations only.
  defp definition(args) do
    required =
      case args do
        %{"operation" => "lookup"} -> ["table", "key"]
        %{"operation" => operation} when operation in ["info", "sample"] -> ["table"]
        _other -> []
      end

    Map.update!(Definitions.Elixir.ets_inspect(), :parameters, fn parameters ->
      Enum.map(parameters, &if(&1.name in required, do: %{&1 | required: true}, else: &1))
    end)
  end

  defp inspect_tables(args, context) do
    caller = self()
    deadline = now() + @deadline_ms

    case Bounded.run(fn -> run(args, context, caller, deadline) end, timeout: @deadline_ms + 500) do
      {:ok, answer} -> answer
      {:error, :timeout} -> {:error, {:timeout, "The tables could not be read in time"}}
      {:error, _failure} -> {:error, "The tables could not be read: too much data"}
    end
  end

  defp now, do: System.monotonic_time(:millisecond)

  defp run(%{"operation" => "list"}, context, _caller, _deadline), do: list(Ownership.scope(context))

  defp run(%{"operation" => operation, "table" => name} = args, context, caller, deadline) do
    with {:ok, table} <- find(name, Ownership.scope(context)) do
      case operation do
        "info" -> info(table, name)
        "lookup" -> with :ok <- readable(table, name, caller), do: lookup(table, args, deadline)
        "sample" -> with :ok <- readable(table, name, caller), do: sample(table, args, deadline)
      end
    end
  end

  defp find(name, scope) do
    cond do
      Names.blank?(name) ->
        {:error, "Invalid table: it is blank or too long"}

      Names.identifier?(name) ->
        {:error, "Reference-based tables are not supported; only named tables can be looked at"}

      Ownership.blocked_table?(name) ->
        {:error, Ownership.explain(:blocked, "Table", name)}

      true ->
        name |> Names.atoms() |> Enum.find(&(:ets.info(&1, :owner) != :undefined)) |> check(name, scope)
    end
  end

  defp check(nil, name, _scope), do: {:error, not_found(name)}

  defp check(table, name, scope) do
    with owner when is_pid(owner) <- :ets.info(table, :owner),
         {:ok, process} <- Observer.look(owner),
         :ok <- Ownership.check(process, scope) do
      {:ok, table}
    else
      {:error, refusal} -> {:error, Ownership.explain(refusal, "Table", name)}
      _gone -> {:error, not_found(name)}
    end
  end

  defp not_found(name), do: "Table not found: #{name}"

  defp readable(table, name, caller) do
    case {:ets.info(table, :protection), :ets.info(table, :owner)} do
      {:public, _owner} ->
        :ok

      {:protected, ^caller} ->
        :ok

      {:protected, _owner} ->
        {:error, "Table #{name} is protected: its rows are shown to its owner only; info is available"}

      {:private, _owner} ->
        {:error, "Table #{name} is private: its rows can't be read by other processes; info is available"}

      {:undefined, _owner} ->
        {:error, not_found(name)}
    end
  end

  defp list(scope) do
    {tables, more} = Enum.split(:ets.all(), @max_tables)

    {found, _owners} =
      Enum.flat_map_reduce(tables, %{}, fn table, owners ->
        case :ets.info(table) do
          :undefined ->
            {[], owners}

          info ->
            {ours?, owners} = owned(info[:owner], owners, scope)
            if ours? and not Ownership.blocked_table?(info[:name]), do: {[info], owners}, else: {[], owners}
        end
      end)

    {named, unnamed} = Enum.split_with(found, & &1[:named_table])
    shown = named |> Enum.sort_by(& &1[:name]) |> Enum.take(@max_listed) |> Enum.map(&summary/1) |> fit()

    {:ok,
     %{
       "operation" => "list",
       "result" => shown,
       "count" => length(named),
       "unnamed" => length(unnamed),
       "truncated" => more != [] or length(named) > length(shown)
     }}
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

  # A process often owns many tables.
  defp owned(owner, owners, scope) do
    case owners do
      %{^owner => ours?} ->
        {ours?, owners}

      %{} ->
        ours? = ours?(owner, scope)
        {ours?, Map.put(owners, owner, ours?)}
    end
  end

  defp ours?(owner, scope) do
    case Observer.look(owner) do
      {:ok, process} -> Ownership.check(process, scope) == :ok
      :dead -> false
    end
  end

  defp summary(info) do
    %{
      "name" => Names.typed(info[:name]),
      "type" => Atom.to_string(info[:type]),
      "size" => info[:size],
      "memory" => info[:memory],
      "memory_bytes" => bytes(info[:memory]),
      "protection" => Atom.to_string(info[:protection]),
      "owner" => owner(info[:owner])
    }
  end

  defp owner(pid) do
    case Process.info(pid, :registered_name) do
      {:registered_name, name} when is_atom(name) -> Names.show(name)
      _unregistered -> inspect(pid)
    end
  end

  defp bytes(words), do: words * :erlang.system_info(:wordsize)

  defp info(table, name) do
    case :ets.info(table) do
      :undefined ->
        {:error, not_found(name)}

      info ->
        result = for {key, value} <- info, into: %{}, do: {Atom.to_string(key), plain(value)}

        {:ok,
         %{
           "operation" => "info",
           "table" => name,
           "result" => Map.put(result, "memory_bytes", bytes(info[:memory])),
           "count" => info[:size]
         }}
    end
  end

  defp plain(value) when is_number(value) or is_boolean(value), do: value
  defp plain(value) when is_atom(value), do: Atom.to_string(value)
  defp plain(value), do: value |> Render.render(max_bytes: 200) |> elem(0)

  defp lookup(_table, %{"key" => text}, _deadline) when byte_size(text) > @max_key_bytes do
    {:error, "Invalid key: longer than #{@max_key_bytes} bytes"}
  end

  defp lookup(table, %{"table" => name, "key" => text} = args, deadline) do
    case Literal.keys(text) do
      {:ok, keys} ->
        limit = limit(args)
        {rows, count, notes} = first_hit(table, keys, limit, deadline)
        truncated = count > length(rows)

        {:ok,
         %{
           "operation" => "lookup",
           "table" => name,
           "key" => text,
           "result" => rows,
           "count" => count,
           "truncated" => truncated
         }
         |> note(notes)}

      {:error, :unknown_atom} ->
        {:error,
         "Atom key does not exist: #{text} names an atom that is unknown on this node, so no row has it"}

      {:error, :syntax} ->
        {:error,
         "Invalid key: #{text} is no literal; write 42, :name, \"text\", {:user, 1}, or plain text for a string"}
    end
  end

  defp first_hit(table, [key | other_keys], limit, deadline) do
    case rows(table, key, limit, @max_bytes, deadline) do
      {[], 0, []} when other_keys != [] -> first_hit(table, other_keys, limit, deadline)
      found -> found
    end
  end

  defp limit(%{"limit" => limit}) when limit > 0, do: min(limit, @max_limit)
  defp limit(_args), do: @default_limit

  defp sample(table, %{"table" => name} = args, deadline) do
    size = :ets.info(table, :size)
    {rows, notes} = keys(table, limit(args), deadline)

    {:ok,
     %{
       "operation" => "sample",
       "table" => name,
       "result" => rows,
       "count" => length(rows),
       "total_size" => if(is_integer(size), do: size, else: 0),
       "truncated" => is_integer(size) and size > length(rows)
     }
     |> note(notes)}
  end

  # Walks over keys. The table is fixed meanwhile, or the key after one that was deleted could not be found. This process
  # ends with the call, and the fix with it.
  defp keys(table, limit, deadline) do
    fixed =
      step(fn ->
        :ets.safe_fixtable(table, true)
        :ets.first(table)
      end)

    walk(table, fixed, limit, @max_bytes, deadline, [], [])
  end

  defp walk(table, {:ok, key}, left, bytes, deadline, rows, notes)
       when left > 0 and key != :"$end_of_table" do
    if now() < deadline do
      {new, _count, new_notes} = rows(table, key, left, share(bytes, left), deadline)
      used = new |> Enum.map(&byte_size/1) |> Enum.sum()
      next = step(fn -> :ets.next(table, key) end)

      walk(
        table,
        next,
        left - length(new),
        bytes - used,
        deadline,
        Enum.reverse(new, rows),
        notes ++ new_notes
      )
    else
      {Enum.reverse(rows), notes ++ ["Time ran out while rows were read."]}
    end
  end

  defp walk(_table, :deleted, _left, _bytes, _deadline, rows, notes),
    do: {Enum.reverse(rows), notes ++ [@deleted]}

  defp walk(_table, _end, _left, _bytes, _deadline, rows, notes), do: {Enum.reverse(rows), notes}

  # The table may go at any moment, or be made private.
  defp step(fun) do
    {:ok, fun.()}
  rescue
    ArgumentError -> :deleted
  end

  # Rows that take little leave more for those after them.
  defp share(bytes, left), do: max(div(bytes, left), @min_row_bytes)

  # The rows of one key as text, how many the key has, and notes.
  defp rows(table, key, limit, bytes, deadline) do
    timeout = deadline |> Kernel.-(now()) |> max(1) |> min(@row_ms)

    if too_large?(table) do
      {[], 0, ["Rows are too large to be read: on average #{average_row(table)} bytes."]}
    else
      case Bounded.run(fn -> read(table, key, limit, bytes) end, timeout: timeout, heap_words: @row_heap_words) do
        {:ok, rows} -> rows
        {:error, :too_large} -> {[], 1, ["A row was left out: it is too large to be copied."]}
        {:error, :timeout} -> {[], 1, ["A row was left out: reading it took too long."]}
        {:error, _failure} -> {[], 0, ["A row could not be read."]}
      end
    end
  end

  defp too_large?(table), do: average_row(table) > @max_average_row

  defp average_row(table) do
    case {:ets.info(table, :memory), :ets.info(table, :size)} do
      {memory, size} when is_integer(memory) and is_integer(size) and size > 0 -> div(bytes(memory), size)
      _empty_or_gone -> 0
    end
  end

  defp read(table, key, limit, bytes) do
    case :ets.info(table, :type) do
      type when type in [:set, :ordered_set] ->
        rows = table |> :ets.lookup(key) |> Enum.map(&text(&1, bytes))
        {rows, length(rows), []}

      _bag ->
        read_bag(table, key, limit, bytes)
    end
  rescue
    ArgumentError -> {[], 0, [@deleted]}
  end

  # A pattern with the key in its place visits the rows of that key only. A limit would not bound the work: ETS keeps the
  # rest of the key's rows, copied, in the continuation. So they are counted first, which copies nothing.
  defp read_bag(table, key, limit, bytes) do
    position = :ets.info(table, :keypos)

    if pattern?(key, 0) do
      {[], 0, ["A key that looks like a match pattern can't be read from a bag."]}
    else
      same = [{:"=:=", {:element, position, :"$_"}, {:const, key}}]

      heads =
        for arity <- position..(position + @bag_arities) do
          put_elem(:erlang.make_tuple(arity, :_), position - 1, key)
        end

      count = :ets.select_count(table, Enum.map(heads, &{&1, same, [true]}))

      if count * average_row(table) > @max_bag_bytes do
        {[], count, ["A key has #{count} rows; ETS would copy all of them to show some, so none is shown."]}
      else
        rows = table |> :ets.select(Enum.map(heads, &{&1, same, [:"$_"]})) |> Enum.take(limit)
        {Enum.map(rows, &text(&1, share(bytes, length(rows)))), count, []}
      end
    end
  end

  defp text(row, bytes), do: row |> Render.render(max_bytes: bytes) |> elem(0)

  # Such atoms mean something else in a pattern, and a map there matches larger maps. A deep key isn't searched to its end.
  defp pattern?(_term, depth) when depth > 20, do: true
  defp pattern?(:_, _depth), do: true
  defp pattern?(atom, _depth) when is_atom(atom), do: match?("$" <> _, Atom.to_string(atom))
  defp pattern?(map, _depth) when is_map(map), do: true
  defp pattern?(tuple, depth) when is_tuple(tuple), do: tuple |> Tuple.to_list() |> pattern?(depth + 1)
  defp pattern?([head | tail], depth), do: pattern?(head, depth + 1) or pattern?(tail, depth)
  defp pattern?(_scalar, _depth), do: false

  defp note(result, []), do: result
  defp note(result, notes), do: Map.put(result, "note", notes |> Enum.uniq() |> Enum.join(" "))
end
