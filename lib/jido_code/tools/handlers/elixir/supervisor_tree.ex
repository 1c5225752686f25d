defmodule JidoCode.Tools.Handlers.Elixir.SupervisorTree do
  @moduledoc """
  The `inspect_supervisor` tool: a supervisor of the project and what is below it.

  The result has these keys:

    * `"tree"` - text, a line for each child
    * `"children"` - a list of maps, see below
    * `"supervisor_info"` - `name` (as typed), `status`, `message_queue_len`, `memory` (bytes), `reductions`
    * `"children_count"` - how many children the supervisor has, before any limit
    * `"truncated"` - whether children of the supervisor itself were left out
    * `"note"` - only when something was cut or seen in another way than by asking

  A child has `"id"`, `"type"` (`"worker"` or `"supervisor"`), `"modules"`, `"pid"` (or `"undefined"`, `"restarting"`),
  `"status"` (`"running"`, `"dead"`, `"restarting"`, `"not_started"`, `"unknown"`), and `"children"` when it is a
  supervisor that was descended into.

  In the text `[S]` is a supervisor, `[W]` a worker; ● running, ○ dead, ↻ restarting, ◌ not started.

  Only a process that is seen to be an idle supervisor is asked for its children, after it has counted them; one that
  hibernates, as supervisors do of themselves since OTP 27, is woken by that. One with more than 1,000 children is not
  asked for the list, which would be large on both sides; a sample is taken from its links. A busy one, too, is seen by
  its links.

  Limits: 50 children of each supervisor, 5 levels, 200 children in all, nearer levels first, 10 seconds. No text is
  longer than fits a result of 30,000 characters.
  """

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.{Definitions, Operation, Render}
  alias JidoCode.Tools.Introspection.{Bounded, Names, Observer, Ownership, Reach}

  @default_depth 2
  @max_depth 5
  @max_children 50
  @max_nodes 200
  @max_listed 1_000

  # How many links are looked at in search of children.
  @max_links 500

  @deadline_ms 10_000
  # One that is starting or restarting a child is often idle soon.
  @patience_ms 100
  @pause_ms 5
  # One supervisor that became busy at the wrong moment must not use up the time of the others.
  @call_ms 1_000
  @heap_words 4_000_000

  # Tree and children together, with room for the rest of the result.
  @max_characters 28_000

  @impl true
  def security_properties, do: %{tier: :privileged, timeout_ms: 15_000}

  @doc "Runs the tool; see the module's documentation for the result."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context) do
    Operation.run(
      %{
        definition: Definitions.Elixir.inspect_supervisor(),
        event: [:jido_code, :elixir, :supervisor_tree],
        label: {:argument, "supervisor"},
        at_node: true
      },
      args,
      context,
      &inspect_supervisor/2
    )
  end

  defp inspect_supervisor(%{"supervisor" => name, "depth" => depth}, context) do
    depth = if depth > 0, do: min(depth, @max_depth), else: @default_depth

    with {:ok, pid} <- Names.find_process(name, "Supervisor", "supervisor name", Reach.of(context)) do
      look = fn -> look(pid, name, depth, context) end

      case Bounded.run(look, timeout: @deadline_ms + 500, heap_words: @heap_words) do
        {:ok, answer} ->
          answer

        {:error, :timeout} ->
          {:error, {:timeout, "Supervisor #{name} did not let itself be looked at in time"}}

        {:error, _failure} ->
          {:error, "Supervisor #{name} can't be looked at: too much data about its children"}
      end
    end
  end

  defp look(pid, name, depth, context) do
    deadline = System.monotonic_time(:millisecond) + @deadline_ms

    with {:ok, process} <- Observer.look(pid),
         :ok <- Ownership.check(process, Ownership.scope(context)) do
      if Observer.supervisor?(process) do
        {:ok, process |> walk(depth, deadline) |> result(process, name)}
      else
        {:error,
         "Invalid supervisor name: #{name} is not a supervisor; use get_process_state for other processes"}
      end
    else
      :dead -> {:error, Names.not_found("Supervisor", name)}
      {:error, refusal} -> {:error, Ownership.explain(refusal, "Supervisor", name)}
    end
  end

  # Breadth first, so that what the limits cut is what is furthest from the root. Answers with every supervisor that was
  # opened: path to {children, count, notes}, where a path is the list of positions from the root, innermost first.
  defp walk(root, depth, deadline) do
    open([{[], root, depth}], [], %{}, @max_nodes, deadline)
  end

  defp open([], [], opened, _left, _deadline), do: opened

  defp open([], next_level, opened, left, deadline),
    do: open(Enum.reverse(next_level), [], opened, left, deadline)

  defp open([{path, supervisor, depth} | level], next_level, opened, left, deadline) do
    if left > 0 and now() < deadline do
      {children, count, note} = children(supervisor, deadline)
      children = children |> Enum.take(min(@max_children, left)) |> Enum.map(&describe/1)
      opened = Map.put(opened, path, %{children: children, count: count, note: note})

      below =
        for {%{observed: %Observer{} = child}, index} <- Enum.with_index(children),
            depth > 1 and Observer.supervisor?(child),
            do: {[index | path], child, depth - 1}

      open(level, Enum.reverse(below) ++ next_level, opened, left - length(children), deadline)
    else
      open(level, next_level, Map.put(opened, path, :left_out), left, deadline)
    end
  end

  defp now, do: System.monotonic_time(:millisecond)

  # The children as {id, pid, type, modules}, how many there are, and what is to be said about it.
  defp children(%Observer{behaviour: :supervisor_bridge}, _deadline), do: {[], 0, nil}

  defp children(supervisor, deadline) do
    supervisor = await_ready(supervisor, min(deadline, now() + @patience_ms))

    if Observer.ready?(supervisor) do
      asked(supervisor, deadline)
    else
      by_links(supervisor, "is #{supervisor.activity}")
    end
  end

  defp await_ready(%Observer{activity: :busy} = supervisor, deadline) do
    Process.sleep(@pause_ms)

    case Observer.look(supervisor.pid) do
      {:ok, supervisor} -> if now() < deadline, do: await_ready(supervisor, deadline), else: supervisor
      :dead -> supervisor
    end
  end

  defp await_ready(supervisor, _deadline), do: supervisor

  defp asked(supervisor, deadline) do
    case ask(supervisor.pid, :count_children, deadline) do
      {:ok, counts} ->
        count = count(counts)
        if count > @max_listed, do: sample(supervisor, count), else: list(supervisor, count, deadline)

      {:error, why} ->
        by_links(supervisor, "did not answer (#{why})")
    end
  end

  defp list(supervisor, count, deadline) do
    case ask(supervisor.pid, :which_children, deadline) do
      {:ok, children} -> {in_order(children), max(count, length(children)), nil}
      {:error, why} -> by_links(supervisor, "did not answer (#{why})")
    end
  end

  # Supervisors answer in the reverse order of starting.
  defp in_order(children), do: Enum.reverse(children)

  # A supervisor of one kind of children counts one specification, others count one for each child.
  defp count(counts) do
    counts = Map.new(counts)
    max(Map.get(counts, :specs, 0), Map.get(counts, :supervisors, 0) + Map.get(counts, :workers, 0))
  end

  defp ask(pid, question, deadline) do
    {:ok, GenServer.call(pid, question, deadline |> Kernel.-(now()) |> max(0) |> min(@call_ms))}
  catch
    :exit, {:timeout, _call} -> {:error, "it is busy"}
    :exit, _reason -> {:error, "it is gone"}
  end

  defp sample(supervisor, count) do
    children = linked_children(supervisor)

    {children, count,
     "#{label(supervisor)} has #{count} children; a sample of #{length(children)} was taken by its links."}
  end

  defp by_links(supervisor, why) do
    children = linked_children(supervisor)

    note =
      "#{label(supervisor)} #{why}, so its children were found by its links; ids are not known, " <>
        "and children that are not running or not started through OTP are missing."

    {children, length(children), note}
  end

  # A child is linked to its supervisor and names it as its parent.
  defp linked_children(supervisor) do
    case Process.info(supervisor.pid, :links) do
      {:links, links} ->
        links
        |> Stream.filter(&(is_pid(&1) and node(&1) == node()))
        |> Stream.take(@max_links)
        |> Stream.flat_map(&linked_child(&1, supervisor))
        |> Enum.take(@max_children)

      nil ->
        []
    end
  end

  defp linked_child(pid, supervisor) do
    case Observer.look(pid) do
      {:ok, %Observer{parent: parent} = child}
      when parent != nil and parent in [supervisor.pid, supervisor.name] ->
        [{:linked, child}]

      _other ->
        []
    end
  end

  defp label(%Observer{name: nil, pid: pid}), do: inspect(pid)
  defp label(%Observer{name: name}), do: Names.show(name)

  defp describe({:linked, child}) do
    id = if child.name, do: Names.show(child.name), else: "(unknown)"
    modules = if child.module, do: [Atom.to_string(child.module)], else: []
    type = if Observer.supervisor?(child), do: "supervisor", else: "worker"
    %{id: id, type: type, modules: modules, pid: inspect(child.pid), status: "running", observed: child}
  end

  defp describe({id, pid, type, modules}) do
    {status, observed} = status(pid)

    %{
      id: id(id),
      type: if(type == :supervisor, do: "supervisor", else: "worker"),
      modules: modules(modules),
      pid: if(is_pid(pid), do: inspect(pid), else: Atom.to_string(pid)),
      status: status,
      observed: observed
    }
  end

  defp status(:undefined), do: {"not_started", nil}
  defp status(:restarting), do: {"restarting", nil}
  defp status(pid) when node(pid) != node(), do: {"unknown", nil}

  defp status(pid) do
    case Observer.look(pid) do
      {:ok, process} -> {"running", process}
      :dead -> {"dead", nil}
    end
  end

  # An id may be any term, so it may hold secrets and have any size.
  defp id(id) when is_atom(id), do: Names.show(id)
  defp id(id), do: id |> Render.render(max_bytes: 160) |> elem(0) |> String.replace(~r/\s+/, " ")

  defp modules(modules) when is_list(modules), do: for(module <- Enum.take(modules, 5), do: to_string(module))
  defp modules(_dynamic), do: ["dynamic"]

  # The opened supervisors become nested children and lines, as many as the characters allow. Depth is five at most.
  defp result(opened, process, name) do
    root = Map.fetch!(opened, [])
    {shown, cut?} = fit(opened)
    children = nested([], opened, shown)
    lines = lines([], opened, shown, "")

    notes =
      for(
        {_path, %{note: note}} when note != nil <- Enum.sort_by(opened, fn {path, _} -> length(path) end),
        do: note
      )
      |> Enum.take(3)

    notes = if cut? or :left_out in Map.values(opened), do: notes ++ [limits_note()], else: notes

    result = %{
      "tree" => Enum.join([name | lines], "\n"),
      "children" => children,
      "supervisor_info" => %{
        "name" => name,
        "status" => Atom.to_string(process.status),
        "message_queue_len" => process.message_queue_len,
        "memory" => process.memory,
        "reductions" => process.reductions
      },
      "children_count" => root.count,
      "truncated" => length(children) < root.count
    }

    if notes == [], do: result, else: Map.put(result, "note", Enum.join(notes, " "))
  end

  defp limits_note do
    "The tree is larger than what is shown; give a supervisor further down to see more."
  end

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
    id = String.length(child.id)
    modules = child.modules |> Enum.map(&String.length/1) |> Enum.sum()
    id + modules + String.length(child.type <> child.pid <> child.status) + id + 4 * depth + 70
  end

  defp nested(path, opened, shown) do
    %{children: children} = Map.fetch!(opened, path)

    for {child, index} <- children |> Enum.take(Map.fetch!(shown, path)) |> Enum.with_index() do
      plain = %{
        "id" => child.id,
        "type" => child.type,
        "modules" => child.modules,
        "pid" => child.pid,
        "status" => child.status
      }

      if is_map_key(shown, [index | path]) do
        Map.put(plain, "children", nested([index | path], opened, shown))
      else
        plain
      end
    end
  end

  defp lines(path, opened, shown, prefix) do
    %{children: children, count: count} = Map.fetch!(opened, path)
    visible = Enum.take(children, Map.fetch!(shown, path))
    missing = max(count - length(visible), 0)
    last = length(visible) - 1

    child_lines =
      for {child, index} <- Enum.with_index(visible) do
        last? = index == last and missing == 0

        line = [
          prefix,
          if(last?, do: "└── ", else: "├── "),
          mark(child.type),
          " ",
          child.id,
          " ",
          symbol(child.status)
        ]

        below = [index | path]

        if is_map_key(shown, below) do
          [
            IO.iodata_to_binary(line)
            | lines(below, opened, shown, prefix <> if(last?, do: "    ", else: "│   "))
          ]
        else
          [IO.iodata_to_binary(line)]
        end
      end

    Enum.concat(child_lines) ++ if(missing > 0, do: ["#{prefix}└── ... #{missing} more"], else: [])
  end

  defp mark("supervisor"), do: "[S]"
  defp mark("worker"), do: "[W]"

  defp symbol("running"), do: "●"
  defp symbol("dead"), do: "○"
  defp symbol("restarting"), do: "↻"
  defp symbol("not_started"), do: "◌"
  defp symbol(_unknown), do: "?"
end
