defmodule JidoCode.Tools.Introspection.Rows do
  @moduledoc false
  # Rows of a table as excerpts (`JidoCode.Tools.Introspection.Excerpt`), read where the table is.
  #
  # A row is copied whole out of its table and nothing tells its size before, so it is read in a process whose heap is
  # limited. Like the excerpts, this is lent to nodes and calls functions of OTP only.

  alias JidoCode.Tools.Introspection.Excerpt

  # 40 MB: a row of ten megabytes is copied once into the process and once more when its memory is collected.
  @heap_words 5_000_000

  # ETS copies all rows of a bag's key to show some.
  @max_bag_bytes 8_000_000

  # The arities that rows of a bag may have, since a pattern must name its own.
  @bag_arities 12

  @type answer ::
          {:ok, [Excerpt.t()], non_neg_integer()}
          | {:uncopied, pos_integer()}
          | :pattern
          | :gone
          | :too_large
          | :timeout

  @doc """
  The rows under a key, and how many there are.

  `{:uncopied, count}` when a bag has too many under that key to copy them, `:pattern` when the key means something else to a
  bag, `:gone` when the table went or became private, `:too_large` when the rows don't fit into 40 MB.
  """
  @spec read(:ets.table(), term(), pos_integer(), pos_integer(), pos_integer()) :: answer()
  def read(table, key, limit, budget, timeout),
    do: limited(fn -> excerpts(table, key, limit, budget) end, timeout)

  @doc "The first `limit` keys, without copying a row."
  @spec keys(:ets.table(), pos_integer(), pos_integer()) :: {:ok, [term()]} | :gone | :too_large | :timeout
  def keys(table, limit, timeout), do: limited(fn -> first_keys(table, limit) end, timeout)

  # A walk by keys copies keys only, where a pattern would copy the rows. The table is fixed meanwhile, or the key after one
  # that was deleted could not be found; the fix ends with this process.
  defp first_keys(table, limit) do
    :ets.safe_fixtable(table, true)
    {:ok, walk(table, :ets.first(table), limit, [])}
  catch
    # The table went, or was made private.
    :error, _reason -> :gone
  end

  defp walk(_table, :"$end_of_table", _left, keys), do: :lists.reverse(keys)
  defp walk(_table, _key, 0, keys), do: :lists.reverse(keys)
  defp walk(table, key, left, keys), do: walk(table, :ets.next(table, key), left - 1, [key | keys])

  defp limited(work, timeout) do
    options = [:monitor, {:max_heap_size, heap_limit()}, {:fullsweep_after, 0}]
    {pid, monitor} = :erlang.spawn_opt(fn -> :erlang.exit({__MODULE__, work.()}) end, options)

    receive do
      {:DOWN, ^monitor, :process, ^pid, {__MODULE__, answer}} -> answer
      {:DOWN, ^monitor, :process, ^pid, _killed} -> :too_large
    after
      timeout ->
        :erlang.exit(pid, :kill)
        :erlang.demonitor(monitor, [:flush])
        :timeout
    end
  end

  defp heap_limit do
    # Releases up to 26 take the last key and ignore it.
    :maps.from_list([
      {:size, @heap_words},
      {:kill, true},
      {:error_logger, false},
      {:include_shared_binaries, false}
    ])
  end

  defp excerpts(table, key, limit, budget) do
    case rows(table, key) do
      rows when is_list(rows) ->
        shown = :lists.sublist(rows, limit)
        share = :erlang.div(budget, :erlang.max(length(shown), 1))
        {:ok, :lists.map(fn row -> Excerpt.take(row, share) end, shown), length(rows)}

      unread ->
        unread
    end
  catch
    :error, _reason -> :gone
  end

  defp rows(table, key) do
    if :ets.info(table, :type) in [:set, :ordered_set], do: :ets.lookup(table, key), else: of_bag(table, key)
  end

  # A pattern with the key in its place visits the rows of that key only, and counting copies nothing. A limit would not bound
  # the work: ETS keeps the rest of the key's rows, copied, in the continuation.
  defp of_bag(table, key) do
    position = :ets.info(table, :keypos)

    if pattern?(key, 0) do
      :pattern
    else
      same = [{:"=:=", {:element, position, :"$_"}, {:const, key}}]

      heads =
        :lists.map(
          fn arity -> :erlang.setelement(position, :erlang.make_tuple(arity, :_), key) end,
          :lists.seq(position, position + @bag_arities)
        )

      count = :ets.select_count(table, :lists.map(fn head -> {head, same, [true]} end, heads))

      if count * average_row(table) > @max_bag_bytes,
        do: {:uncopied, count},
        else: :ets.select(table, :lists.map(fn head -> {head, same, [:"$_"]} end, heads))
    end
  end

  defp average_row(table) do
    words = :ets.info(table, :memory)
    :erlang.div(words * :erlang.system_info(:wordsize), :erlang.max(:ets.info(table, :size), 1))
  end

  # Such atoms mean something else in a pattern, and a map there matches larger maps. A deep key isn't searched to its end.
  defp pattern?(_term, depth) when depth > 20, do: true
  defp pattern?(:_, _depth), do: true

  defp pattern?(atom, _depth) when is_atom(atom),
    do: match?("$" <> _, :erlang.atom_to_binary(atom))

  defp pattern?(map, _depth) when is_map(map), do: true
  defp pattern?(tuple, depth) when is_tuple(tuple), do: pattern?(:erlang.tuple_to_list(tuple), depth + 1)
  defp pattern?([head | tail], depth), do: pattern?(head, depth + 1) or pattern?(tail, depth)
  defp pattern?(_scalar, _depth), do: false
end
