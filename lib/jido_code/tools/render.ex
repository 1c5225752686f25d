defmodule JidoCode.Tools.Render do
  @moduledoc """
  Any term as text, within a budget of bytes and nodes.

  `Kernel.inspect/2` can't be used on the state of a running system: its limits do not bound its output (ordinary nested
  maps give megabytes, a small term with shared parts gives hundreds), it runs the `Inspect` implementations of the
  project, and it shows secrets. This renderer

    * costs what its budget allows, whatever the term: a list is not measured, a map not copied, of a binary only
      the head is looked at, a shared part is walked as often as the budget lasts and no more;
    * says what it left out: `[1, 2, ... 4,998 more]`;
    * hides what stands under a sensitive name (`password`, `api_key`, and what the configuration adds) as `"[REDACTED]"`: in maps, structs and
      keyword lists, in tuples that begin with a name (`{:token, "..."}`) or have it before the value
      (`{:setting, :api_key, "..."}`), and where the name is part of a key (`{{:tenant, :api_key}, "..."}`);
    * never runs code of the project: structs are written from their fields, and a struct whose module brings its own
      `Inspect` implementation (derived ones included) is shown by name only, since it may have asked to hide
      something;
    * never follows the environment of a function;
    * never fails. It may therefore run inside another process.

  The text reads like `inspect(term, pretty: true)` and is whole UTF-8.

      iex> {text, _summary} = JidoCode.Tools.Render.render(%{user: "ada", password: "hunter2", roles: [:admin]})
      iex> text
      ~S(%{password: "[REDACTED]", roles: [:admin], user: "ada"})

      iex> JidoCode.Tools.Render.render(Enum.to_list(1..10_000), max_bytes: 100)
      {"[1, 2, 3, 4, 5, 6, 7, 8, ... 9,992 more]", %{truncated: true, redacted: 0, hidden: []}}

  Options:

    * `:max_bytes` - the text's size at most (default 24,000; at least 100)
    * `:max_nodes` - how many terms are visited at most (default 5,000)
    * `:max_depth` - how deep containers are opened (default 40)
    * `:inspected` - `module -> {:only, fields} | :all | :hidden`: what the `Inspect` implementation of a struct's module
      lets be seen, for structs of another node
    * `:records` - `{tag, size} -> fields | nil`: the names of a record's fields, for tuples that begin with its tag

  A term may also be an excerpt of one, as the introspection tools take it of a large state: what it left out is written as left out.
  """

  alias JidoCode.Tools.Introspection.Excerpt
  alias JidoCode.Tools.Render.{Layout, SensitiveName, Struct, Text}

  @type summary :: %{truncated: boolean(), redacted: non_neg_integer(), hidden: [module()]}

  @max_bytes 24_000
  @min_bytes 100
  @max_nodes 5_000
  @max_depth 40

  # Elements that may be looked at without being shown: to count what is left, to tell a charlist from a list.
  @max_steps 1_000_000
  @max_charlist 4_096
  @max_scan 64

  # Maps up to this size are shown in the order of their keys; sorting a large one would cost its size.
  @max_sorted 100
  @max_sorted_key 128

  # Room for "... more than 1,000,000 more".
  @marker 32

  # The least that an element needs to be worth showing: a name and three dots.
  @min_item 12

  # While other elements wait, one may use a quarter of its container's budget at most, if that is more than a line; a
  # large first element would else leave the others unseen.
  @max_shares 4
  @min_share 60

  @redacted ~s("[REDACTED]")

  # What an excerpt says that it left out.
  @mark Excerpt.mark()

  @doc """
  Renders a term. The summary says whether anything was cut, how many values were hidden, and which structs were shown
  by name only.
  """
  @spec render(term(), keyword()) :: {String.t(), summary()}
  def render(term, options \\ []) do
    max_bytes = max(Keyword.get(options, :max_bytes, @max_bytes), @min_bytes)

    walk = %{
      nodes: Keyword.get(options, :max_nodes, @max_nodes),
      steps: @max_steps,
      max_depth: Keyword.get(options, :max_depth, @max_depth),
      extra: SensitiveName.configured(),
      inspected: Keyword.get(options, :inspected, &Struct.inspected/1),
      records: Keyword.get(options, :records, fn _tuple -> nil end),
      truncated: false,
      redacted: 0,
      hidden: []
    }

    {node, _left, walk} = walk(term, 0, max_bytes, walk)
    {Layout.to_text(node), Map.take(walk, [:truncated, :redacted, :hidden])}
  catch
    # Nothing of the term is shown rather than a part that was perhaps not yet redacted.
    _kind, _reason -> {"#Unreadable<>", %{truncated: true, redacted: 0, hidden: []}}
  end

  # Turns `term` into a layout node that takes at most `bytes`, wherever lines are broken. Returns what is left of them.
  defp walk(term, depth, bytes, walk) do
    walk = %{walk | nodes: walk.nodes - 1}

    cond do
      is_map(term) -> map(term, depth, bytes, walk)
      is_list(term) -> list(term, depth, bytes, walk)
      is_tuple(term) -> tuple(term, depth, bytes, walk)
      true -> leaf(Text.scalar(term, bytes), bytes, walk)
    end
  end

  defp tuple({@mark, :tuple, elements, left}, depth, bytes, walk),
    do: container("{", {:tuple, List.to_tuple(elements), 0, left}, "}", depth, bytes, walk)

  defp tuple({@mark, :map, pairs, left}, depth, bytes, walk), do: cut_map(pairs, left, depth, bytes, walk)
  defp tuple({@mark, :cut, :map}, _depth, bytes, walk), do: leaf({"%{...}", false}, bytes, walk)
  defp tuple({@mark, :cut, :list}, _depth, bytes, walk), do: leaf({"[...]", false}, bytes, walk)
  defp tuple({@mark, :cut, :tuple}, _depth, bytes, walk), do: leaf({"{...}", false}, bytes, walk)

  defp tuple({@mark, kind, _, _, _, _} = cut, _depth, bytes, walk) when kind == :fun,
    do: leaf(Text.excerpt(cut, bytes), bytes, walk)

  defp tuple({@mark, :binary, _, _} = cut, _depth, bytes, walk),
    do: leaf(Text.excerpt(cut, bytes), bytes, walk)

  defp tuple({@mark, :integer, _} = cut, _depth, bytes, walk), do: leaf(Text.excerpt(cut, bytes), bytes, walk)

  defp tuple(tuple, depth, bytes, walk) do
    case record(tuple, walk) do
      nil ->
        container("{", {:tuple, tuple, 0, 0}, "}", depth, bytes, walk)

      {tag, fields} ->
        [_tag | values] = Tuple.to_list(tuple)
        pairs = {:pairs, Enum.zip(fields, values), length(fields), true, nil, 0}
        container("#" <> Text.name(tag) <> "{", pairs, "}", depth, bytes, walk)
    end
  end

  defp record(tuple, walk) when tuple_size(tuple) > 1 and is_atom(elem(tuple, 0)) do
    with fields when is_list(fields) <- walk.records.({elem(tuple, 0), tuple_size(tuple)}),
         do: {elem(tuple, 0), fields}
  end

  defp record(_tuple, _walk), do: nil

  defp leaf({text, complete?}, bytes, walk) do
    {text, complete?} = if byte_size(text) > bytes, do: {"...", false}, else: {text, complete?}
    {Layout.leaf(text), bytes - byte_size(text), cut(walk, not complete?)}
  end

  defp cut(walk, cut?), do: %{walk | truncated: walk.truncated or cut?}

  defp map(%{__struct__: module} = struct, depth, bytes, walk) when is_atom(module) do
    case Struct.view(struct, walk.inspected) do
      {:text, text} -> leaf({text, true}, bytes, walk)
      {:hidden, text} -> leaf({text, true}, bytes, hide(walk, module))
      {:fields, open, fields} -> container(open, map_source(fields), "}", depth, bytes, walk)
      {:some, open, fields} -> container(open, open_source(map_source(fields), nil), "}", depth, bytes, walk)
      {:keys, open, map, close} -> container(open, keys_source(map), close, depth, bytes, walk)
    end
  end

  defp map(map, depth, bytes, walk), do: container("%{", map_source(map), "}", depth, bytes, walk)

  # Pairs of a map of which some were left out, or whose keys were cut, so that two may have become equal.
  defp cut_map([{:__struct__, module} | _fields] = pairs, left, depth, bytes, walk) when is_atom(module) do
    case Struct.view(Map.new(pairs), walk.inspected) do
      {:hidden, text} ->
        leaf({text, true}, bytes, hide(walk, module))

      {kind, open, fields} when kind in [:fields, :some] ->
        more = if kind == :some, do: nil, else: left
        container(open, open_source(map_source(fields), more), "}", depth, bytes, walk)

      # Only a whole one is text or a set.
      _other ->
        leaf({"%" <> Text.name(module) <> "{...}", false}, bytes, walk)
    end
  end

  defp cut_map(pairs, left, depth, bytes, walk) do
    keyword? = Enum.all?(pairs, fn {key, _value} -> keyword_key?(key) end)
    container("%{", {:pairs, pairs, length(pairs), keyword?, named(pairs), left}, "}", depth, bytes, walk)
  end

  defp hide(%{hidden: hidden} = walk, module) do
    if module in hidden or length(hidden) > 9, do: walk, else: %{walk | hidden: [module | hidden]}
  end

  defp list([], _depth, bytes, walk), do: leaf({"[]", true}, bytes, walk)

  defp list(list, depth, bytes, walk) do
    {charlist?, seen} = charlist?(list, 0, min(@max_charlist, walk.steps))
    walk = %{walk | steps: walk.steps - seen}

    if charlist? do
      leaf(Text.charlist(list, bytes), bytes, walk)
    else
      container("[", {:list, list, keyword?(list, @max_scan)}, "]", depth, bytes, walk)
    end
  end

  defp charlist?(_list, seen, seen), do: {seen > 0, seen}
  defp charlist?([], seen, _most), do: {true, seen}

  defp charlist?([char | rest], seen, most) when char in ?\s..?~ or char in ?\a..?\r or char == ?\e do
    charlist?(rest, seen + 1, most)
  end

  defp charlist?(_other, seen, _most), do: {false, seen}

  defp keyword?(_list, 0), do: true
  defp keyword?([], _left), do: true
  defp keyword?([{key, _value} | rest], left), do: keyword_key?(key) and keyword?(rest, left - 1)
  defp keyword?(_other, _left), do: false

  defp keyword_key?(key), do: is_atom(key) and not match?("Elixir." <> _, Atom.to_string(key))

  # A container's elements come from a source, which knows what is next and how much is left:
  #
  #   {:list, list, keyword?}
  #   {:tuple, tuple, index, more}
  #   {:pairs, pairs, left, keyword?, named, more}   named: what the value of a name-and-value map stands under
  #   {:map, iterator, left, keyword?}
  #   {:keys, iterator, left}
  #
  # `more` is how many there are beside these; nil when their number is not told.

  defp keys_source(map), do: {:keys, :maps.iterator(map), map_size(map)}

  defp map_source(map) when map_size(map) <= @max_sorted do
    pairs = :maps.to_list(map)
    keyword? = Enum.all?(pairs, fn {key, _value} -> keyword_key?(key) end)
    sortable? = Enum.all?(pairs, fn {key, _value} -> cheap_key?(key) end)
    pairs = if sortable?, do: List.keysort(pairs, 0), else: pairs
    {:pairs, pairs, map_size(map), keyword?, named(map), 0}
  end

  defp map_source(map) do
    iterator = :maps.iterator(map)
    {:map, iterator, map_size(map), keyword_keys?(iterator, @max_scan)}
  end

  defp open_source({:pairs, pairs, left, keyword?, named, _more}, more),
    do: {:pairs, pairs, left, keyword?, named, more}

  # Structs with so many fields are not made.
  defp open_source(source, _more), do: source

  # Comparing two large terms that begin alike would cost their size.
  defp cheap_key?(key), do: is_atom(key) or (is_binary(key) and byte_size(key) <= @max_sorted_key)

  defp keyword_keys?(_iterator, 0), do: true

  defp keyword_keys?(iterator, left) do
    case :maps.next(iterator) do
      {key, _value, next} -> keyword_key?(key) and keyword_keys?(next, left - 1)
      :none -> true
    end
  end

  # In %{name: "password", value: "..."} the value stands under what the name says.
  defp named(pairs) when is_list(pairs), do: pairs |> Map.new() |> named()
  defp named(%{name: name, value: _}), do: name
  defp named(%{key: name, value: _}), do: name
  defp named(%{"name" => name, "value" => _}), do: name
  defp named(%{"key" => name, "value" => _}), do: name
  defp named(_map), do: nil

  defp next({:list, [{key, value} | rest], true}) when is_atom(key) do
    {:item, {:keyword, key}, [key], value, {:list, rest, true}}
  end

  defp next({:list, [value | rest], keyword?}), do: {:item, :none, [], value, {:list, rest, keyword?}}
  defp next({:list, [], _keyword?}), do: :done
  defp next({:list, {@mark, :more, _count}, _keyword?}), do: :more
  defp next({:list, tail, _keyword?}), do: {:tail, tail}

  defp next({:tuple, tuple, index, more}) when index < tuple_size(tuple) do
    {:item, :none, names_before(tuple, index), elem(tuple, index), {:tuple, tuple, index + 1, more}}
  end

  defp next({:tuple, _tuple, _index, more}), do: if(more == 0, do: :done, else: :more)

  defp next({:pairs, [{key, value} | rest], left, keyword?, named, more}) do
    names = if key in [:value, "value"], do: [named | names(key)], else: names(key)
    {:item, key_style(key, keyword?), names, value, {:pairs, rest, left - 1, keyword?, named, more}}
  end

  defp next({:pairs, [], _left, _keyword?, _named, more}), do: if(more == 0, do: :done, else: :more)

  defp next({:map, iterator, left, keyword?}) do
    case :maps.next(iterator) do
      {key, value, next} ->
        {:item, key_style(key, keyword?), names(key), value, {:map, next, left - 1, keyword?}}

      :none ->
        :done
    end
  end

  defp next({:keys, iterator, left}) do
    case :maps.next(iterator) do
      {key, _value, next} -> {:item, :none, [], key, {:keys, next, left - 1}}
      :none -> :done
    end
  end

  # What an element of a tuple stands under: the first element, and the atom before it.
  defp names_before(_tuple, 0), do: []
  defp names_before(tuple, 1), do: names(elem(tuple, 0))

  defp names_before(tuple, index) do
    before = elem(tuple, index - 1)
    if is_atom(before), do: [before | names(elem(tuple, 0))], else: names(elem(tuple, 0))
  end

  # A key of several parts is as sensitive as any of them.
  defp names({_, _} = key), do: Tuple.to_list(key)
  defp names({_, _, _} = key), do: Tuple.to_list(key)
  defp names({_, _, _, _} = key), do: Tuple.to_list(key)
  defp names(key), do: [key]

  defp key_style(key, true) when is_atom(key), do: {:keyword, key}
  # Only a record's fields are named by strings where all is a keyword.
  defp key_style(key, true) when is_binary(key), do: {:keyword, key}
  defp key_style(key, _keyword?), do: {:arrow, key}

  defp shares({:list, [_, _, _, _ | _], _keyword?}), do: @max_shares
  defp shares({:list, [_, _, _ | _], _keyword?}), do: 3
  defp shares({:list, [_, _ | _], _keyword?}), do: 2
  defp shares({:list, _list, _keyword?}), do: 1
  defp shares({:tuple, tuple, index, _more}), do: shares_of(tuple_size(tuple) - index)
  defp shares({:pairs, _pairs, left, _keyword?, _named, _more}), do: shares_of(left)
  defp shares({:map, _iterator, left, _keyword?}), do: shares_of(left)
  defp shares({:keys, _iterator, left}), do: shares_of(left)

  defp shares_of(left), do: left |> max(1) |> min(@max_shares)

  defp left({:list, list, _keyword?}, walk) do
    {count, all?} = count(list, 0, walk.steps)
    {if(all?, do: "", else: "more than ") <> Text.number(count), %{walk | steps: walk.steps - count}}
  end

  defp left({:tuple, tuple, index, more}, walk), do: {Text.number(tuple_size(tuple) - index + more), walk}
  # Fields that were not to be seen have no number.
  defp left({:pairs, [], _left, _keyword?, _named, nil}, walk), do: {"", walk}

  defp left({:pairs, _pairs, left, _keyword?, _named, more}, walk),
    do: {Text.number(left + (more || 0)), walk}

  defp left({:map, _iterator, left, _keyword?}, walk), do: {Text.number(left), walk}
  defp left({:keys, _iterator, left}, walk), do: {Text.number(left), walk}

  defp count([_ | rest], count, most) when count < most, do: count(rest, count + 1, most)
  defp count([_ | _], count, _most), do: {count, false}
  # An excerpt counts to a million, too.
  defp count({@mark, :more, more}, count, _most), do: {count + more, more < @max_steps}
  defp count([], count, _most), do: {count, true}
  defp count(_tail, count, _most), do: {count + 1, true}

  defp container(open, source, close, depth, bytes, walk) do
    # The closing line is indented, and there must be room for the marker should elements not fit.
    frame = byte_size(open) + byte_size(close) + 2 * depth + 1
    reserve = @marker + line(depth + 1)

    cond do
      next(source) == :done ->
        leaf({open <> close, true}, bytes, walk)

      walk.nodes <= 0 or depth >= walk.max_depth or bytes < frame + reserve ->
        leaf({open <> "..." <> close, false}, bytes, walk)

      true ->
        {items, left, walk, cut?} = items(source, depth + 1, bytes - frame - reserve, walk, [])
        left = if cut?, do: left, else: left + reserve
        {Layout.group(open, items, close), left, walk}
    end
  end

  # What an element costs beside its own text, should it get a line of its own: indentation, separator, line break.
  defp line(depth), do: 2 * depth + 3

  defp items(source, depth, bytes, walk, items) do
    case next(source) do
      :done ->
        {Enum.reverse(items), bytes, walk, false}

      :more ->
        cut(source, bytes, walk, items)

      _more when walk.nodes <= 0 ->
        cut(source, bytes, walk, items)

      {:tail, term} when bytes - 2 * depth >= @min_item ->
        {node, left, walk} = walk(term, depth, bytes - line(depth), walk)
        {Enum.reverse([{" |", "", node} | items]), left, walk, false}

      {:item, key, names, value, rest} ->
        bytes = bytes - line(depth)

        if bytes >= @min_item do
          share = max(div(bytes, shares(source)), min(bytes, @min_share))
          {item, used, walk} = item(key, names, value, depth, share, walk)
          items(rest, depth, bytes - used, walk, [item | items])
        else
          cut(source, bytes, walk, items)
        end

      {:tail, _term} ->
        cut(source, bytes, walk, items)
    end
  end

  defp item(key, names, value, depth, share, walk) do
    {prefix, walk} = prefix(key, depth, div(share, 2), walk)
    {node, left, walk} = value(names, value, depth, share - byte_size(prefix), walk)
    # What fits on the line that it begins costs no indentation of its own.
    used = Layout.bytes_on_line(node, 2 * depth + String.length(prefix)) || share - byte_size(prefix) - left
    {{",", prefix, node}, byte_size(prefix) + used, walk}
  end

  defp cut(source, bytes, walk, items) do
    {left, walk} = left(source, walk)
    marker = Layout.leaf(if(left == "", do: "...", else: "... #{left} more"))
    # What its author hides is not cut.
    {Enum.reverse([{",", "", marker} | items]), bytes, cut(walk, left != ""), true}
  end

  defp prefix(:none, _depth, _bytes, walk), do: {"", walk}

  defp prefix({:keyword, key}, _depth, bytes, walk) do
    {text, complete?} = Text.key(key, bytes - 1)
    {text <> " ", cut(walk, not complete?)}
  end

  defp prefix({:arrow, key}, depth, bytes, walk) do
    {node, _left, walk} = walk(key, depth, bytes - 4, walk)
    {Layout.to_line(node) <> " => ", walk}
  end

  defp value(names, value, depth, bytes, walk) do
    if Enum.any?(names, &SensitiveName.secret?(&1, value, walk.extra)) do
      leaf({@redacted, true}, bytes, %{walk | redacted: walk.redacted + 1})
    else
      walk(value, depth, bytes, walk)
    end
  end
end
