defmodule JidoCode.Tools.Handlers.Elixir.SystemOverview do
  @moduledoc false
  # The `system_overview` tool: what a first look at a running system needs. The result has these keys, each a part of it:
  #
  #   "system", "memory" (bytes), "limits", "schedulers" (use over a second, null where it can't be measured), "run_queues",
  #   "mailboxes" and "processes" (the project's with the most messages and memory), "tables", "ports", "applications"
  #   "note"       only when there is something to say
  #
  # A part that can't be had is left out and named in the note; the others are there.

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.{Answers, Operation}
  alias JidoCode.Tools.Introspection.{At, Bounded, Facts, Freshness, Overview, Ownership, Ranking, Reach}

  @part_ms 2_500
  @schedulers_ms 6_000
  @ranking_ms 700
  @heap_words 24_000_000
  @shown 5

  @impl true
  def definition do
    %{
      name: "system_overview",
      title: "Look at the whole system",
      summary:
        "memory, limits, schedulers, run queues, largest mailboxes and tables, ports, applications and versions of a node",
      tier: :privileged,
      hints: :looks,
      text: &Answers.Overview.text/1,
      event: {:elixir, :system_overview},
      label: "overview",
      at_node: true,
      timeout_ms: 15_000,
      description:
        "Show the state of the running system at a glance: versions, uptime, memory by kind, limits and how near they are, how busy " <>
          "each scheduler was during one second, run queues, the largest mailboxes, processes and tables, ports with their traffic, " <>
          "and the applications with their top supervisors, which inspect_supervisor takes. The first thing to call on a system " <>
          "that is not known, or slow. list_processes, ets_inspect and get_logs go further."
    }
  end

  @doc "Runs the tool."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context), do: Operation.run(Operation.of(__MODULE__), args, context, &look/2)

  defp look(_args, context) do
    node = Reach.of(context).node
    scope = Ownership.scope(context)
    # It takes a second, in which the others are asked.
    schedulers = Task.async(fn -> run(fn -> Overview.schedulers(node) end, @schedulers_ms) end)

    parts = [
      {"system", fn -> Overview.system(node) end},
      {"memory", fn -> Overview.memory(node) end},
      {"limits", fn -> Overview.limits(node) end},
      {"run_queues", fn -> Overview.run_queues(node) end},
      {"mailboxes", fn -> ranked(:mailbox, scope) end},
      {"processes", fn -> ranked(:memory, scope) end},
      {"tables", fn -> Overview.tables(scope) end},
      {"ports", fn -> Overview.ports(scope) end},
      {"applications", fn -> Overview.applications(scope) end}
    ]

    results = for {name, part} <- parts, do: {name, part |> run(@part_ms) |> settled()}
    results = results ++ [{"schedulers", schedulers |> Task.await(@schedulers_ms + 1_000) |> settled()}]
    {:ok, answer(results, node)}
  end

  defp run(part, timeout), do: Bounded.run(part, timeout: timeout, heap_words: @heap_words)

  defp settled({:ok, value}), do: {:ok, value}

  defp settled({:error, failure}) do
    At.raise_lost(failure)
    :error
  end

  defp ranked(figure, scope) do
    question = %{
      node: scope.node,
      figure: figure,
      window_ms: 0,
      most: @shown,
      items: [],
      keep?: fn _pid, _info -> true end,
      own?: &(Ownership.check_pid(&1, scope) == :ok)
    }

    with {:ok, ranking} <- Ranking.run(question, @ranking_ms) do
      for {pid, value} <- ranking.top,
          do: %{"process" => Facts.show(pid), "pid" => Facts.show_pid(pid), "value" => value}
    else
      {:error, {:too_many, _total}} -> []
    end
  end

  defp answer(results, node) do
    missing = for {name, :error} <- results, do: name
    result = for {name, {:ok, value}} <- results, into: %{}, do: {name, value}

    notes = [
      missing != [] && "Not available in time: #{Enum.join(missing, ", ")}.",
      node == node() && Freshness.text(Freshness.stale()),
      result["schedulers"] == nil && "schedulers" not in missing &&
        "The schedulers' use can't be measured on that node: that needs runtime_tools on the node."
    ]

    case Enum.filter(notes, &is_binary/1) do
      [] -> result
      notes -> Map.put(result, "note", Enum.join(notes, " "))
    end
  end
end
