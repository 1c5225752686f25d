defmodule JidoCode.Tools.Handlers.Elixir.SupervisorTree do
  @moduledoc false
  # The `inspect_supervisor` tool: a supervisor of the project and what is below it.
  #
  # The result has these keys:
  #
  #   * `"tree"` - text, a line for each child, or for several equal ones: `[W] 50 x Demo.Counter ●`
  #   * `"children"` - a list of maps, see below
  #   * `"supervisor_info"` - `name` (as typed), `status`, `message_queue_len`, `memory` (bytes), `reductions`, `strategy` (with the
  #     restart intensity)
  #   * `"children_count"` - how many children the supervisor has, before any limit
  #   * `"truncated"` - whether children were left out anywhere, and `"left_out"`, only then: how many, as the tree's lines say; `"more"`, of
  #     the supervisor itself
  #   * `"note"` - only when something was cut, could not be opened, or was seen in another way than by asking
  #
  # A child has `"id"`, `"type"` (`"worker"` or `"supervisor"`), `"modules"`, `"pid"` (or `"undefined"`, `"restarting"`),
  # `"status"` (`"running"`, `"dead"`, `"restarting"`, `"not_started"`, `"unknown"`), `"name"` where it is registered under another
  # name than its id, `"count"` where it stands for equal ones, and `"strategy"`, `"children"` and `"more"` (how many are left out) when it is
  # a supervisor that was descended into. Of equal ones the first is shown.
  #
  # In the text `[S]` is a supervisor, `[W]` a worker; ● running, ○ dead, ↻ restarting, ◌ not started.
  #
  # `JidoCode.Tools.Introspection.Supervision` says how a supervisor is asked. RabbitMQ's supervisor2 and ranch's ranch_conns_sup
  # answer as OTP's do; a child that is called a supervisor and is none of these is not opened, and the note says so.
  #
  # Limits: 50 lines of each supervisor, 5 levels, 200 lines in all, nearer levels first, 10 seconds. No text is
  # longer than fits a result of 30,000 characters.

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.{Answers, Operation, Render}

  alias JidoCode.Tools.Introspection.{
    At,
    Bounded,
    Facts,
    Names,
    Observer,
    Outline,
    Ownership,
    Reach,
    Supervision,
    Target
  }

  @default_depth 2
  @max_depth 5
  @max_children 50
  @max_nodes 200
  # So many equal ones are a group.
  @min_group 3
  @max_notes 4

  @deadline_ms 10_000
  @heap_words 4_000_000

  @impl true
  def definition do
    %{
      name: "inspect_supervisor",
      title: "Look at a supervision tree",
      summary: "a supervision tree with kinds and states",
      limits: "50 children a level",
      tier: :privileged,
      hints: :looks,
      text: &Answers.Tree.text/1,
      event: {:elixir, :supervisor_tree},
      label: {:argument, "supervisor"},
      at_node: true,
      timeout_ms: 15_000,
      description:
        "Show a supervisor of the project and what it supervises, as a tree and as data: ids, types, pids, which " <>
          "children run, restart or are missing. At most 50 children of each supervisor are listed. Start here to " <>
          "find the names of processes, then use get_process_state.",
      parameters: [
        %{
          name: "supervisor",
          type: :string,
          required: true,
          description:
            "Registered name of the supervisor, e.g. \"MyApp.Supervisor\", or its pid, unless the host takes names only."
        },
        %{
          name: "depth",
          type: :integer,
          required: false,
          default: @default_depth,
          minimum: 1,
          maximum: @max_depth,
          beyond: :cut,
          description:
            "How many levels to descend (default #{@default_depth}, maximum #{@max_depth}); 1 lists direct children."
        }
      ]
    }
  end

  @doc "Runs the tool; see the module's documentation for the result."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context),
    do: Operation.run(Operation.of(__MODULE__), args, context, &inspect_supervisor/2)

  defp inspect_supervisor(%{"supervisor" => name, "depth" => depth}, context) do
    reach = Reach.of(context)

    with {:ok, pid} <- Target.find(name, "Supervisor", "supervisor name", reach) do
      look = fn -> look(pid, name, depth, context) end

      words = %{
        timeout: "Supervisor #{name} could not be inspected in time",
        too_large: "Supervisor #{name} can't be inspected: too much data about its children"
      }

      Bounded.answer(look, words, timeout: @deadline_ms + 500, heap_words: @heap_words)
    end
  end

  defp look(pid, name, depth, context) do
    call = %{deadline: now() + @deadline_ms, strategy?: Reach.of(context).states?}

    with {:ok, process} <- Observer.look(pid),
         :ok <- Ownership.check(process, Ownership.scope(context)) do
      if Observer.supervisor?(process) do
        {:ok, process |> walk(depth, call) |> result(process, name)}
      else
        {:error,
         "Invalid supervisor name: #{name} is not a supervisor; use get_process_state for other processes"}
      end
    else
      :dead -> {:error, Target.not_found("Supervisor", name)}
      {:error, refusal} -> {:error, Ownership.explain(refusal, "Supervisor", name)}
    end
  end

  # Breadth first, so that what the limits cut is what is furthest from the root.
  defp walk(root, depth, call), do: open([{[], root, depth}], [], %{}, @max_nodes, call)

  defp open([], [], opened, _left, _call), do: opened
  defp open([], next_level, opened, left, call), do: open(Enum.reverse(next_level), [], opened, left, call)

  defp open([{path, supervisor, depth} | level], next_level, opened, left, call) do
    if left > 0 and now() < call.deadline do
      found = Supervision.open(supervisor, call.deadline, call.strategy?)
      node = node(supervisor.pid)

      children =
        found.children |> grouped() |> Enum.take(min(@max_children, left)) |> Enum.map(&describe(&1, node))

      opened = Map.put(opened, path, %{found | children: children})

      below =
        for {%{observed: %Observer{} = child}, index} <- Enum.with_index(children),
            depth > 1 and Observer.supervisor?(child),
            do: {[index | path], child, depth - 1}

      open(level, Enum.reverse(below) ++ next_level, opened, left - length(children), call)
    else
      open(level, next_level, Map.put(opened, path, :left_out), left, call)
    end
  end

  defp now, do: System.monotonic_time(:millisecond)

  # Children that nothing tells apart, as one with their number: {child, count}. Each stands where its first one does.
  defp grouped(children) do
    counts = Enum.frequencies_by(children, &kind/1)

    children
    |> Enum.reduce({[], MapSet.new()}, fn child, {kept, seen} ->
      kind = kind(child)
      count = if kind == nil, do: 1, else: counts[kind]

      cond do
        count < @min_group -> {[{child, 1} | kept], seen}
        kind in seen -> {kept, seen}
        true -> {[{child, count} | kept], MapSet.put(seen, kind)}
      end
    end)
    |> elem(0)
    |> Enum.reverse()
  end

  # Of a child with an id of its own there is no second; ranch gives them their pid.
  defp kind({id, pid, type, modules}) when is_pid(pid) and id in [:undefined, pid], do: {type, modules}
  defp kind({:linked, %Observer{name: nil} = child}), do: {Observer.supervisor?(child), child.module}
  defp kind(_of_its_own), do: nil

  defp describe({{:linked, child}, count}, _node) do
    id = if child.name, do: Names.show(child.name), else: "(unknown)"
    modules = if child.module, do: [Atom.to_string(child.module)], else: []
    type = if Observer.supervisor?(child), do: "supervisor", else: "worker"

    %{
      id: id,
      name: nil,
      type: type,
      modules: modules,
      pid: Facts.show_pid(child.pid),
      status: "running",
      count: count,
      observed: child
    }
  end

  defp describe({{id, pid, type, modules}, count}, node) do
    {status, name, observed} = status(pid, type, node)
    shown = id(id)
    name = name && Names.show(name)

    %{
      id: shown,
      name: if(count == 1 and name != shown, do: name),
      type: if(type == :supervisor, do: "supervisor", else: "worker"),
      modules: modules(modules),
      pid: if(is_pid(pid), do: Facts.show_pid(pid), else: Atom.to_string(pid)),
      status: status,
      count: count,
      observed: observed
    }
  end

  defp status(:undefined, _type, _node), do: {"not_started", nil, nil}
  defp status(:restarting, _type, _node), do: {"restarting", nil, nil}
  defp status(pid, _type, node) when node(pid) != node, do: {"unknown", nil, nil}

  defp status(pid, :supervisor, _node) do
    case Observer.look(pid) do
      {:ok, process} -> {"running", process.name, process}
      :dead -> {"dead", nil, nil}
    end
  end

  # Of a worker nothing more is to be known.
  defp status(pid, _worker, node) do
    case At.call(node, :erlang, :process_info, [pid, :registered_name]) do
      {:registered_name, name} -> {"running", name, nil}
      [] -> {"running", nil, nil}
      :undefined -> {"dead", nil, nil}
    end
  end

  # An id may be any term, so it may hold secrets and have any size.
  defp id(id) when is_atom(id), do: Names.show(id)
  defp id(id) when is_pid(id), do: Facts.show_pid(id)
  defp id(id), do: id |> Render.render(max_bytes: 160) |> elem(0) |> String.replace(~r/\s+/, " ")

  defp modules(modules) when is_list(modules), do: for(module <- Enum.take(modules, 5), do: to_string(module))
  defp modules(_dynamic), do: ["dynamic"]

  defp result(opened, process, name) do
    root = Map.fetch!(opened, [])
    outline = Outline.write(opened, name)
    notes = notes(opened, outline.cut?)

    info = %{
      "name" => name,
      "status" => Atom.to_string(process.status),
      "message_queue_len" => process.message_queue_len,
      "memory" => process.memory,
      "reductions" => process.reductions
    }

    %{
      "tree" => outline.tree,
      "children" => outline.children,
      "supervisor_info" => put(info, "strategy", Outline.strategy(root.strategy)),
      "children_count" => root.count,
      "truncated" => outline.left_out > 0
    }
    |> put("left_out", outline.left_out > 0 && outline.left_out)
    |> put("more", outline.more > 0 && outline.more)
    |> put("note", notes != [] && Enum.join(notes, " "))
  end

  defp put(map, _key, absent) when absent in [nil, false], do: map
  defp put(map, key, value), do: Map.put(map, key, value)

  defp notes(opened, cut?) do
    found = for {_path, %{note: note}} <- nearer_first(opened), note != nil, do: note
    notes = Enum.take(found ++ unopened(opened), @max_notes)

    if cut? or :left_out in Map.values(opened),
      do: notes ++ ["The tree is larger than what is shown; give a supervisor further down to see more."],
      else: notes
  end

  defp nearer_first(opened), do: Enum.sort_by(opened, fn {path, _found} -> length(path) end)

  defp unopened(opened) do
    for {_path, %{children: children}} <- nearer_first(opened),
        %{type: "supervisor", observed: %Observer{} = child} <- children,
        not Observer.supervisor?(child) do
      "#{Supervision.label(child)} is declared as a supervisor but was not opened: it runs in #{Observer.behaviour_name(child)}, " <>
        "which is not known to answer."
    end
  end
end
