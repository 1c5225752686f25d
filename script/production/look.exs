# The looking half of script/production_nodes: every registered name, 200 pids, all supervisors and all tables of each node,
# by the pipeline; and what each node says of itself before and after. Exits with 1 when something was changed.
defmodule ProductionNodes do
  alias JidoCode.Tools.Introspection.Observer
  alias JidoCode.Tools.{Remote, SecureExecutor}
  alias JidoCode.Tools.Remote.Loader

  @pids 200
  @tools ["get_process_state", "inspect_supervisor", "ets_inspect"]

  def main([work]) do
    Application.put_env(:jido_code_tools, :tool_rate_limits, Map.new(@tools, &{&1, {100_000, 60_000}}))
    Application.put_env(:jido_code_tools, :node_linger_ms, 3_000)
    {:ok, _started} = Application.ensure_all_started(:jido_code_tools)

    changed =
      for {name, logs, declared} <- [
            {"broker@localhost", "rabbit/log", "declared"},
            {"ejabberd@localhost", "ejabberd/log", nil}
          ] do
        visit(name, Path.join(work, logs), declared && Path.join(work, declared))
      end

    if Enum.any?(changed), do: exit({:shutdown, 1})
  end

  defp visit(name, logs, declared) do
    IO.puts("\n== #{name}")
    {:ok, remote} = Remote.new(name, consent_load: true)
    await(remote, 120)
    # Everybody has connected, and the first flood is over.
    Process.sleep(15_000)

    control = snapshot(remote.node)
    Process.sleep(10_000)
    before = snapshot(remote.node)
    quiet = compare(control, before)
    lines = log_lines(logs)
    started = System.system_time(:millisecond)

    counts = ask(remote)
    ended = System.system_time(:millisecond)

    lent =
      for module <- Loader.modules(), :erpc.call(remote.node, :erlang, :module_loaded, [module]), do: module

    Remote.release(remote)
    Process.sleep(5_000)

    later = snapshot(remote.node)
    loud = compare(before, later)
    new_lines = log_lines(logs) -- lines

    report(counts, ended - started)
    IO.puts("10 s without asking: #{inspect(quiet)}")
    IO.puts("#{div(later.at - before.at, 1_000)} s with asking: #{inspect(loud)}")

    IO.puts(
      "modules lent: #{length(lent)}; left: #{inspect(later.modules -- before.modules)}; " <>
        "atoms: +#{later.atoms - before.atoms}"
    )

    IO.puts("longest mailbox: #{before.longest} before, #{later.longest} after")
    IO.puts("new lines in the log: #{length(new_lines)}")
    Enum.each(Enum.take(new_lines, 10), &IO.puts("  " <> &1))
    slow? = declared != nil and declarations(declared, started, ended)
    left? = Enum.any?(Loader.modules(), &(&1 in later.modules))

    gone? = loud.stable_ended > 0 or loud.restarted > 0 or loud.names_gone > 0
    Enum.any?([gone?, left?, bad?(new_lines), slow?])
  end

  defp bad?(lines), do: Enum.any?(lines, &(&1 =~ ~r/error|crash|terminat|warning/i))

  defp await(_remote, 0), do: raise("the node does not start")

  defp await(remote, tries) do
    unless Remote.connect(remote) == :ok and started?(remote.node) do
      Process.sleep(1_000)
      await(remote, tries - 1)
    end
  end

  defp started?(node) do
    apps = :erpc.call(node, :application, :which_applications, [])
    Enum.any?(apps, &(elem(&1, 0) in [:rabbit, :ejabberd]))
  end

  # Everything that must not change, of every process.
  defp snapshot(node) do
    pids = :erpc.call(node, :erlang, :processes, [])
    items = [:registered_name, :links, :monitors, :message_queue_len, :reductions]

    infos =
      for pid <- pids,
          info = :erpc.call(node, :erlang, :process_info, [pid, items]),
          is_list(info),
          do: {pid, info}

    %{
      at: System.system_time(:millisecond),
      processes: Map.new(infos),
      names:
        for({pid, info} <- infos, name = info[:registered_name], is_atom(name), into: %{}, do: {name, pid}),
      longest: infos |> Enum.map(fn {_pid, info} -> info[:message_queue_len] end) |> Enum.max(),
      modules: for({module, _file} <- :erpc.call(node, :code, :all_loaded, []), do: module),
      atoms: :erpc.call(node, :erlang, :system_info, [:atom_count])
    }
  end

  # Short-lived processes (of a queue that is declared and deleted) come and go with the load: what has links to something
  # older than itself and lived through the first pause does not.
  defp compare(one, two) do
    stay = for {pid, info} <- one.processes, two.processes[pid], do: {info, two.processes[pid]}
    ended = for {pid, info} <- one.processes, not is_map_key(two.processes, pid), do: info

    %{
      processes: map_size(two.processes),
      ended: length(ended),
      stable_ended: Enum.count(ended, &is_atom(&1[:registered_name] || [])),
      restarted: Enum.count(one.names, fn {name, pid} -> Map.get(two.names, name, pid) != pid end),
      names_gone: Enum.count(one.names, fn {name, _pid} -> not is_map_key(two.names, name) end),
      links_changed: Enum.count(stay, fn {a, b} -> Enum.sort(a[:links]) != Enum.sort(b[:links]) end),
      monitors_changed: Enum.count(stay, fn {a, b} -> Enum.sort(a[:monitors]) != Enum.sort(b[:monitors]) end)
    }
  end

  defp ask(remote) do
    node = remote.node
    names = for name <- :erpc.call(node, :erlang, :registered, []), do: Macro.inspect_atom(:literal, name)
    pids = :erpc.call(node, :erlang, :processes, [])

    unnamed =
      Enum.reject(
        pids,
        &match?({:registered_name, _}, :erpc.call(node, :erlang, :process_info, [&1, :registered_name]))
      )

    supervisors =
      for pid <- pids, {:ok, process} <- [Observer.look(pid)], Observer.supervisor?(process), do: text(pid)

    chosen = unnamed |> Enum.take_random(@pids) |> Enum.map(&text/1)
    {:ok, list} = call(remote, "ets_inspect", %{"operation" => "list"})
    tables = Enum.map(list["result"], & &1["name"])

    %{
      "get_process_state of #{length(names)} names" => tally(names, &state(remote, &1)),
      "get_process_state of #{length(chosen)} pids" => tally(chosen, &state(remote, &1)),
      "inspect_supervisor of #{length(supervisors)}" =>
        tally(supervisors, &call(remote, "inspect_supervisor", %{"supervisor" => &1})),
      "ets_inspect list" => %{(list["note"] || "no note") => list["count"]},
      "ets_inspect sample of #{length(tables)}" =>
        tally(tables, &call(remote, "ets_inspect", %{"operation" => "sample", "table" => &1})),
      "ets_inspect info of #{length(tables)}" =>
        tally(tables, &call(remote, "ets_inspect", %{"operation" => "info", "table" => &1}))
    }
  end

  defp state(remote, process),
    do: call(remote, "get_process_state", %{"process" => process, "timeout" => 500})

  defp text(pid), do: String.replace(inspect(pid), ~r/<\d+\./, "<0.")

  defp call(remote, tool, args),
    do: SecureExecutor.call(tool, args, %{session_id: "production", granted_tier: :privileged, node: remote})

  defp tally(things, look), do: things |> Enum.map(&outcome(look.(&1))) |> Enum.frequencies()

  defp outcome({:ok, %{"state" => state}}) when is_binary(state), do: "state read"
  defp outcome({:ok, %{"state" => nil, "note" => note}}), do: note |> String.split(". ") |> hd() |> general()
  defp outcome({:ok, %{"tree" => _}}), do: "opened"
  defp outcome({:ok, %{"operation" => operation}}), do: "#{operation} read"
  defp outcome({:error, text}), do: "error: " <> general(text)

  # Without what stands there for this one only.
  defp general(text) do
    text
    |> String.replace(~r/security: \S+ /, "security: X ")
    |> String.replace(~r/(Table|Process|of|blocked:) \S+ (is|was|ended|did)/, "\\1 X \\2")
    |> String.slice(0, 110)
  end

  defp report(counts, ms) do
    IO.puts("asked within #{ms} ms")

    for {what, outcomes} <- Enum.sort(counts) do
      IO.puts(what)
      for {outcome, count} <- Enum.sort_by(outcomes, &(-elem(&1, 1))), do: IO.puts("  #{count}  #{outcome}")
    end
  end

  defp log_lines(folder) do
    for file <- Path.wildcard(folder <> "/*.log"),
        line <- file |> File.read!() |> String.split("\n", trim: true),
        do: line
  end

  # Whether declaring queues became slow: before, during, after.
  defp declarations(file, started, ended) do
    times =
      for line <- File.stream!(file),
          [at, us] <- [String.split(line)],
          do: {String.to_integer(at), String.to_integer(us)}

    parts = [
      before: Enum.filter(times, fn {at, _us} -> at < started and at > started - 10_000 end),
      during: Enum.filter(times, fn {at, _us} -> at in started..ended end),
      later: Enum.filter(times, fn {at, _us} -> at > ended end)
    ]

    [before, during, later] = for {name, part} <- parts, do: percentiles(name, Enum.map(part, &elem(&1, 1)))
    during.count == 0 or later.count == 0 or during.p99 > 20 * max(before.p99, 10_000)
  end

  defp percentiles(name, []), do: IO.puts("queue declarations #{name}: none") && %{count: 0, p99: 0}

  defp percentiles(name, times) do
    sorted = Enum.sort(times)
    at = fn share -> Enum.at(sorted, min(trunc(length(sorted) * share), length(sorted) - 1)) end

    IO.puts(
      "queue declarations #{name}: #{length(times)}, p50 #{at.(0.5)} us, p99 #{at.(0.99)} us, max #{List.last(sorted)} us"
    )

    %{count: length(times), p99: at.(0.99)}
  end
end

ProductionNodes.main(System.argv())
