defmodule JidoCode.Tools.Introspection.Excerpt do
  @moduledoc false
  # A bounded excerpt of any term: what `JidoCode.Tools.Render` would show of it, and how much there is beside that.
  #
  # A term can't be sent as it is: sharing is lost on the way, so that three kilobytes become hundreds of megabytes. This
  # runs where the term is, in the process that holds it, and costs what its budget allows. It is also what a node
  # borrows that does not have this library: it therefore calls nothing but functions of OTP, and never fails.
  #
  # What was left out is told by tuples that begin with `:"$jido_excerpt"`:
  #
  #   {mark, :more, count}                 the tail of a list: so many elements more
  #   {mark, :tuple, elements, left}       the head of a tuple
  #   {mark, :map, pairs, left}            some pairs of a map, or all if one of its keys was cut
  #   {mark, :binary, head, bytes}         the head of a binary or bitstring
  #   {mark, :integer, bytes}              a number too long to be written
  #   {mark, :fun, module, name, arity, type}   a function without its environment
  #   {mark, :cut, kind}                   a map, list or tuple of which nothing fits
  #
  # A state that holds such a tuple by itself is shown wrongly, and redacted like any other.

  import Bitwise, only: [<<<: 2]

  @mark :"$jido_excerpt"

  # Renderings show 5,000 terms at most; what they cut has to be cut by them, so there is more here.
  @budget 20_000
  @max_items 5_000
  @max_depth 42
  @max_binary 4_200
  @max_steps 1_000_000
  @max_sorted 100
  @max_sorted_key 128
  @max_shares 4
  @min_share 40
  @big 1 <<< 1_024

  @type t :: term()

  @spec mark() :: atom()
  def mark, do: @mark

  @doc "The excerpt of a term. A `budget` counts terms, and 64 bytes of a binary as one."
  @spec take(term(), pos_integer()) :: t()
  def take(term, budget \\ @budget), do: :erlang.element(1, walk(term, 0, budget))

  @doc """
  For `:sys.replace_state/3`, which calls it in the process that is looked at: throws what it finds, so that the state
  stays as it was.
  """
  @spec throw_state(term()) :: no_return()
  def throw_state(state), do: throw({@mark, :state, take(state)})

  @doc "Like `throw_state/1`, of a supervisor's state: its strategy and restart intensity, or nil where they can't be told."
  @spec throw_strategy(term()) :: no_return()
  def throw_strategy(%{strategy: strategy, max_restarts: restarts, max_seconds: seconds})
      when is_atom(strategy) and is_integer(restarts) and is_integer(seconds),
      do: throw({@mark, :strategy, {strategy, restarts, seconds}})

  # The record of supervisor, and of supervisor2, which was made from it.
  def throw_strategy(state)
      when is_tuple(state) and tuple_size(state) > 6 and :erlang.element(1, state) == :state and
             is_atom(:erlang.element(3, state)) and is_integer(:erlang.element(6, state)) and
             is_integer(:erlang.element(7, state)) do
    throw(
      {@mark, :strategy, {:erlang.element(3, state), :erlang.element(6, state), :erlang.element(7, state)}}
    )
  end

  def throw_strategy(_other), do: throw({@mark, :strategy, nil})

  # Every clause answers {excerpt, what is left of the budget}.
  defp walk(term, depth, left) when is_map(term), do: map(term, depth, left - 1)
  defp walk([], _depth, left), do: {[], left - 1}
  defp walk(term, depth, left) when is_list(term), do: container(term, :list, depth, left - 1)
  defp walk(term, depth, left) when is_tuple(term), do: container(term, :tuple, depth, left - 1)
  defp walk(term, _depth, left) when is_bitstring(term), do: bits(term, left - 1)

  defp walk(term, _depth, left) when is_integer(term) and (term >= @big or term <= -@big),
    do: {{@mark, :integer, :erts_debug.flat_size(term) * 8}, left - 1}

  defp walk(term, _depth, left) when is_function(term), do: {function(term), left - 1}
  defp walk(scalar, _depth, left), do: {scalar, left - 1}

  defp container(_term, kind, depth, left) when left <= 0 or depth >= @max_depth,
    do: {{@mark, :cut, kind}, left}

  defp container(list, :list, depth, left), do: list(list, depth, left, @max_items, [])

  defp container(tuple, :tuple, depth, left) do
    {elements, rest, left} = elements(tuple, 1, depth, left, [])
    if rest == 0, do: {:erlang.list_to_tuple(elements), left}, else: {{@mark, :tuple, elements, rest}, left}
  end

  defp list([], _depth, left, _items, taken), do: {:lists.reverse(taken), left}

  defp list([_ | _] = rest, _depth, left, items, taken) when left <= 0 or items <= 0,
    do: {:lists.reverse(taken, {@mark, :more, count(rest, 0)}), left}

  defp list([head | rest], depth, left, items, taken) do
    share = share(left, waiting(rest))
    {excerpt, unused} = walk(head, depth + 1, share)
    list(rest, depth, left - (share - unused), items - 1, [excerpt | taken])
  end

  defp list(tail, depth, left, _items, taken) do
    {excerpt, left} = walk(tail, depth + 1, left)
    {:lists.reverse(taken, excerpt), left}
  end

  defp elements(tuple, index, _depth, left, taken) when index > tuple_size(tuple),
    do: {:lists.reverse(taken), 0, left}

  defp elements(tuple, index, _depth, left, taken) when left <= 0 or index > @max_items,
    do: {:lists.reverse(taken), tuple_size(tuple) - index + 1, left}

  defp elements(tuple, index, depth, left, taken) do
    share = share(left, tuple_size(tuple) - index)
    {excerpt, unused} = walk(:erlang.element(index, tuple), depth + 1, share)
    elements(tuple, index + 1, depth, left - (share - unused), [excerpt | taken])
  end

  defp map(_map, depth, left) when left <= 0 or depth >= @max_depth, do: {{@mark, :cut, :map}, left}

  defp map(map, depth, left) do
    {pairs, whole?, left} =
      case small(map) do
        {:ok, pairs} -> pairs(pairs, map_size(map), depth, left, {[], true})
        :error -> pairs(:maps.iterator(map), :erlang.min(map_size(map), @max_items), depth, left, {[], true})
      end

    rest = map_size(map) - length(pairs)

    if whole? and rest == 0,
      do: {:maps.from_list(pairs), left},
      else: {{@mark, :map, pairs, rest}, left}
  end

  # In the order in which they will be shown, so that the same are cut. The name of a struct comes first.
  defp small(map) when map_size(map) > @max_sorted, do: :error

  defp small(map) do
    pairs = :maps.to_list(map)

    if :lists.all(fn {key, _value} -> cheap_key?(key) end, pairs),
      do: {:ok, named_first(:lists.keysort(1, pairs))},
      else: {:ok, named_first(pairs)}
  end

  defp named_first(pairs) do
    case :lists.keytake(:__struct__, 1, pairs) do
      {:value, pair, others} -> [pair | others]
      false -> pairs
    end
  end

  # Comparing two large terms that begin alike would cost their size.
  defp cheap_key?(key), do: is_atom(key) or (is_binary(key) and byte_size(key) <= @max_sorted_key)

  # `waiting` counts down: to the last pair, or to the most that are taken.
  defp pairs(source, waiting, depth, left, {taken, whole?}) when left > 0 and waiting > 0 do
    case next(source) do
      {key, value, source} ->
        share = share(left, waiting - 1)
        for_key = :erlang.div(share, 2)
        {key_excerpt, key_unused} = walk(key, depth + 1, for_key)
        {excerpt, unused} = walk(value, depth + 1, share - for_key + key_unused)
        taken = {[{key_excerpt, excerpt} | taken], whole? and simple?(key)}
        pairs(source, waiting - 1, depth, left - (share - unused), taken)

      :none ->
        {:lists.reverse(taken), whole?, left}
    end
  end

  defp pairs(_source, _waiting, _depth, left, {taken, whole?}), do: {:lists.reverse(taken), whole?, left}

  defp next([{key, value} | rest]), do: {key, value, rest}
  defp next([]), do: :none
  defp next(iterator), do: :maps.next(iterator)

  # Kept as it is, and so still another key than the others.
  defp simple?(key) when is_atom(key) or is_float(key) or is_pid(key) or is_reference(key), do: true
  defp simple?(key) when is_integer(key), do: key < @big and key > -@big
  defp simple?(key) when is_binary(key), do: byte_size(key) <= @max_sorted_key
  defp simple?(_key), do: false

  # While others wait, one may use a part only: a large first element would else leave the others unseen.
  defp share(left, 0), do: left

  defp share(left, waiting) do
    part = :erlang.div(left, :erlang.min(waiting + 1, @max_shares))
    :erlang.min(:erlang.max(part, @min_share), left)
  end

  defp waiting([_, _, _ | _]), do: 3
  defp waiting([_, _ | _]), do: 2
  defp waiting([_ | _]), do: 1
  defp waiting(_end), do: 0

  defp count([_ | rest], count) when count < @max_steps, do: count(rest, count + 1)
  defp count([], count), do: count
  defp count(_improper_or_longer, count), do: count + 1

  defp bits(bits, left) when byte_size(bits) <= 64, do: {copy(bits), left}

  defp bits(bits, left) do
    shown = :erlang.min(@max_binary, :erlang.max(left, 1) * 64)
    size = byte_size(bits)

    if size <= shown do
      {copy(bits), left - :erlang.div(size, 64)}
    else
      {head, _rest} = :erlang.split_binary(bits, shown)
      {{@mark, :binary, copy(head), size}, left - :erlang.div(shown, 64)}
    end
  end

  # A part of a binary would keep the whole alive.
  defp copy(binary) when is_binary(binary), do: :binary.copy(binary)
  defp copy(bits), do: bits

  defp function(function) do
    {:module, module} = :erlang.fun_info(function, :module)
    {:name, name} = :erlang.fun_info(function, :name)
    {:arity, arity} = :erlang.fun_info(function, :arity)
    {:type, type} = :erlang.fun_info(function, :type)
    {@mark, :fun, module, name, arity, type}
  end
end
