defmodule JidoCode.Tools.Introspection.Outline do
  @moduledoc false
  # A supervision tree as text and as data, as much of it as fits into a result; nearer levels first.
  #
  # The tree is a map of opened supervisors: path => %{children, count, strategy}, or :left_out. A path is the list of
  # positions from the root, innermost first. A child that stands for several equal ones has `count` above 1.

  # Tree and children together, with room for the rest of the result.
  @max_characters 26_000

  @type child :: %{
          id: String.t(),
          name: String.t() | nil,
          type: String.t(),
          modules: [String.t()],
          pid: String.t(),
          status: String.t(),
          count: pos_integer()
        }

  @type opened :: %{
          [non_neg_integer()] =>
            %{children: [child()], count: non_neg_integer(), strategy: map() | nil} | :left_out
        }

  @type t :: %{
          tree: String.t(),
          children: [map()],
          left_out: non_neg_integer(),
          more: non_neg_integer(),
          cut?: boolean()
        }

  @doc "The text below `title`, the data, how many children are in neither, and whether for want of room."
  @spec write(opened(), String.t()) :: t()
  def write(opened, title) do
    {shown, cut?} = fit(opened)
    %{strategy: strategy} = Map.fetch!(opened, [])

    %{
      tree: Enum.join([title <> intensity(strategy) | lines([], opened, shown, "")], "\n"),
      children: nested([], opened, shown),
      left_out: left_out(opened, shown),
      more: missing([], opened, shown),
      cut?: cut?
    }
  end

  @doc "A supervisor's strategy as text: `one_for_one, 3 restarts in 5 s`."
  @spec strategy(map() | nil) :: String.t() | nil
  def strategy(nil), do: nil

  def strategy(%{strategy: strategy, restarts: restarts, seconds: seconds}),
    do: "#{strategy}, #{restarts} restarts in #{seconds} s"

  defp intensity(nil), do: ""
  defp intensity(strategy), do: "  (#{strategy(strategy)})"

  # How many children of each opened supervisor fit into the result, nearer levels first.
  defp fit(opened) do
    {shown, left} =
      opened
      |> Enum.reject(&match?({_path, :left_out}, &1))
      |> Enum.sort_by(fn {path, _node} -> {length(path), Enum.reverse(path)} end)
      |> Enum.map_reduce(@max_characters, fn {path, node}, left ->
        {count, left} = fit_children(node.children, length(path), left, 0)
        {{path, count}, left}
      end)

    {Map.new(shown), left <= 0}
  end

  defp fit_children([child | rest], depth, left, count) do
    case left - characters(child, depth) do
      left when left > 0 -> fit_children(rest, depth, left, count + 1)
      _over -> {count, 0}
    end
  end

  defp fit_children([], _depth, left, count), do: {count, left}

  # In the list, and as a line of the tree; a line about children that are missing may follow.
  defp characters(child, depth) do
    label = String.length(child.id) + String.length(child.name || "")
    modules = child.modules |> Enum.map(&String.length/1) |> Enum.sum()
    2 * (label + modules) + String.length(child.type <> child.pid <> child.status) + 4 * depth + 130
  end

  # Every supervisor that was opened counts all its children; those below a child that is not shown are not shown either.
  defp left_out(opened, shown) do
    for {path, %{count: _count}} <- opened, reached?(path, shown), reduce: 0 do
      sum -> sum + missing(path, opened, shown)
    end
  end

  defp missing(path, opened, shown) do
    %{children: children, count: count} = Map.fetch!(opened, path)
    visible = children |> Enum.take(Map.fetch!(shown, path)) |> Enum.map(& &1.count) |> Enum.sum()
    max(count - visible, 0)
  end

  defp reached?([], _shown), do: true
  defp reached?([index | path], shown), do: index < Map.get(shown, path, 0) and reached?(path, shown)

  defp nested(path, opened, shown) do
    %{children: children} = Map.fetch!(opened, path)

    for {child, index} <- children |> Enum.take(Map.fetch!(shown, path)) |> Enum.with_index() do
      plain =
        %{
          "id" => child.id,
          "type" => child.type,
          "modules" => child.modules,
          "pid" => child.pid,
          "status" => child.status
        }
        |> put("name", child.name)
        |> put("count", child.count > 1 && child.count)

      below = [index | path]

      if is_map_key(shown, below) do
        plain
        |> put("strategy", strategy(opened[below].strategy))
        |> Map.put("children", nested(below, opened, shown))
        |> put("more", some(missing(below, opened, shown)))
      else
        plain
      end
    end
  end

  defp some(0), do: nil
  defp some(number), do: number

  defp put(map, _key, absent) when absent in [nil, false], do: map
  defp put(map, key, value), do: Map.put(map, key, value)

  defp lines(path, opened, shown, prefix) do
    %{children: children} = Map.fetch!(opened, path)
    visible = Enum.take(children, Map.fetch!(shown, path))
    missing = missing(path, opened, shown)
    last = length(visible) - 1

    child_lines =
      for {child, index} <- Enum.with_index(visible) do
        last? = index == last and missing == 0
        branch = if last?, do: "└── ", else: "├── "
        below = [index | path]
        strategy = if is_map_key(shown, below), do: intensity(opened[below].strategy), else: ""
        line = prefix <> branch <> label(child) <> strategy

        if is_map_key(shown, below),
          do: [line | lines(below, opened, shown, prefix <> if(last?, do: "    ", else: "│   "))],
          else: [line]
      end

    Enum.concat(child_lines) ++ if(missing > 0, do: ["#{prefix}└── ... #{missing} more"], else: [])
  end

  defp label(%{count: count} = child) when count > 1,
    do: "#{mark(child.type)} #{count} x #{kind(child)} #{symbol(child.status)}"

  # Children of one kind have no ids of their own: what they are is told by their module.
  defp label(%{pid: pid, id: id} = child) when id in [":undefined", pid],
    do: "#{mark(child.type)} #{kind(child)}#{called(child)} #{symbol(child.status)}"

  defp label(child), do: "#{mark(child.type)} #{child.id}#{called(child)} #{symbol(child.status)}"

  defp kind(%{modules: ["Elixir." <> module | _]}), do: module
  defp kind(%{modules: [module | _], id: id, pid: pid}) when id in [":undefined", pid], do: module
  defp kind(child), do: child.id

  defp called(%{name: nil, id: id, pid: pid}) when id in [":undefined", pid], do: " " <> pid
  defp called(%{name: nil}), do: ""
  defp called(%{name: name}), do: " (#{name})"

  defp mark("supervisor"), do: "[S]"
  defp mark("worker"), do: "[W]"

  defp symbol("running"), do: "●"
  defp symbol("dead"), do: "○"
  defp symbol("restarting"), do: "↻"
  defp symbol("not_started"), do: "◌"
  defp symbol(_unknown), do: "?"
end
