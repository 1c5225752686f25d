defmodule JidoCode.Tools.Answers.Tree do
  @moduledoc false
  # A supervision tree, a line for each child. That a worker runs is not said; a module only where the id is another name.

  import JidoCode.Tools.Answers.Words

  @doc """
  The text of `inspect_supervisor`.

      iex> carts = %{"id" => "Carts", "type" => "supervisor", "pid" => "#PID<0.3.0>", "status" => "running", "more" => 7,
      ...>   "modules" => ["Elixir.DynamicSupervisor"], "strategy" => "one_for_one, 3 restarts in 5 s", "children" => [
      ...>     %{"id" => ":undefined", "type" => "worker", "pid" => "#PID<0.4.0>", "status" => "running", "modules" => ["Elixir.Cart"]}]}
      iex> prices = %{"id" => "Prices", "type" => "worker", "pid" => "restarting", "status" => "restarting", "modules" => ["Elixir.Prices"]}
      iex> info = %{"name" => "Shop", "strategy" => "one_for_all, 3 restarts in 5 s", "message_queue_len" => 0}
      iex> JidoCode.Tools.Answers.Tree.text(%{"children" => [carts, prices], "supervisor_info" => info, "children_count" => 2})
      "Shop: one_for_all, 3 restarts in 5 s; 2 children\\n" <>
        "  Carts #PID<0.3.0>, DynamicSupervisor, supervisor: one_for_one, 3 restarts in 5 s\\n" <>
        "    Cart #PID<0.4.0>\\n" <>
        "    ... 7 more\\n" <>
        "  Prices: restarting\\n"
  """
  @spec text(%{String.t() => term()}) :: String.t()
  def text(%{"supervisor_info" => info, "children" => children} = report) do
    paragraphs(
      [root(info, report["children_count"]) | lines(children, report["more"], 1)] ++ [report["note"]]
    )
  end

  defp root(info, children) do
    about =
      facts(
        [
          info["strategy"],
          count(children, "child", "children"),
          info["message_queue_len"] not in [0, nil] && "#{count(info["message_queue_len"], "message")} queued"
        ],
        "; "
      )

    "#{info["name"]}: #{about}"
  end

  defp lines(children, more, depth) do
    pad = String.duplicate("  ", depth)

    Enum.flat_map(children, fn child ->
      [pad <> line(child) | lines(child["children"] || [], child["more"], depth + 1)]
    end) ++ if(more, do: [pad <> "... #{more} more"], else: [])
  end

  defp line(child) do
    module = module(child["modules"])
    name = if child["id"] in [":undefined", child["pid"]], do: module || child["id"], else: child["id"]
    count = if child["count"], do: "#{child["count"]} x "

    about = [
      facts([name, pid(child)], " "),
      child["name"] && "named #{child["name"]}",
      module != name && module
    ]

    "#{count}#{facts(about)}#{kind(child)}#{status(child)}"
  end

  # Of a group the first is shown, whose pid says nothing of the others.
  defp pid(%{"count" => _many}), do: nil
  defp pid(%{"pid" => "#" <> _ = pid}), do: pid
  defp pid(_none), do: nil

  defp kind(%{"type" => "supervisor", "strategy" => strategy}), do: ", supervisor: #{strategy}"
  defp kind(%{"type" => "supervisor"}), do: ", supervisor"
  defp kind(_worker), do: ""

  defp status(%{"status" => "running"}), do: ""
  defp status(%{"status" => status}), do: ": " <> String.replace(status, "_", " ")

  defp module(["Elixir." <> module]), do: module
  defp module(["dynamic"]), do: nil
  defp module([module]), do: ":" <> module
  defp module(_several), do: nil
end
