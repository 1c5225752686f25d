defmodule JidoCode.Tools.Introspection.Overview do
  @moduledoc false
  # Figures of a whole node: each by functions that every Erlang node has, so that it may be another one. Nothing is switched on that
  # stays on: measuring the schedulers ends with the process that began it.

  alias JidoCode.Tools.Introspection.{At, Facts, Names, Ownership}

  @most_tables 20_000
  @most_ports 20_000
  @shown 5
  @max_applications 60
  @max_port_name 60

  @kinds [:total, :processes, :binary, :ets, :code, :atom, :system]

  @doc "Versions, uptime and what it runs on."
  @spec system(node()) :: map()
  def system(node) do
    info = &At.call(node, :erlang, :system_info, [&1])
    {uptime_ms, _since_last} = At.call(node, :erlang, :statistics, [:wall_clock])

    %{
      "node" => Atom.to_string(node),
      # The word otp alone is a name of secrets.
      "erlang" => to_string(info.(:otp_release)),
      "erts" => to_string(info.(:version)),
      "elixir" => elixir(node),
      "architecture" => to_string(info.(:system_architecture)),
      "schedulers" => info.(:schedulers_online),
      "dirty_io_schedulers" => info.(:dirty_io_schedulers),
      "uptime_s" => div(uptime_ms, 1_000)
    }
  end

  defp elixir(node) do
    case At.call(node, :application, :get_key, [:elixir, :vsn]) do
      {:ok, version} -> to_string(version)
      :undefined -> nil
    end
  end

  @doc "Bytes by kind."
  @spec memory(node()) :: %{String.t() => non_neg_integer()}
  def memory(node) do
    memory = At.call(node, :erlang, :memory, [])
    for kind <- @kinds, into: %{}, do: {Atom.to_string(kind), memory[kind]}
  end

  @doc "What is limited, how much of it is used, and the part of that in percent."
  @spec limits(node()) :: [map()]
  def limits(node) do
    for {name, used, limit} <- [
          {"processes", :process_count, :process_limit},
          {"ports", :port_count, :port_limit},
          {"atoms", :atom_count, :atom_limit},
          {"tables", :ets_count, :ets_limit}
        ] do
      used = At.call(node, :erlang, :system_info, [used])
      limit = At.call(node, :erlang, :system_info, [limit])
      %{"name" => name, "used" => used, "limit" => limit, "percent" => Float.round(used / limit * 100, 1)}
    end
  end

  @doc "The run queues, the dirty ones last."
  @spec run_queues(node()) :: [non_neg_integer()]
  def run_queues(node), do: At.call(node, :erlang, :statistics, [:run_queue_lengths_all])

  @doc """
  How busy each scheduler was during a second, in percent; nil where it can't be measured.

  The runtime stops measuring when the process that asked for it has ended, however it ended.
  """
  @spec schedulers(node()) :: [%{String.t() => term()}] | nil
  def schedulers(node) when node == node() do
    :erlang.system_flag(:scheduler_wall_time, true)
    before = :erlang.statistics(:scheduler_wall_time)
    Process.sleep(1_000)
    later = :erlang.statistics(:scheduler_wall_time)
    :erlang.system_flag(:scheduler_wall_time, false)

    normal = :erlang.system_info(:schedulers)

    for {{id, active, total}, {id, active_later, total_later}} <-
          Enum.zip(Enum.sort(before), Enum.sort(later)),
        id <= :erlang.system_info(:schedulers_online) or id > normal do
      kind = if id > normal, do: "dirty cpu", else: "normal"
      scheduler(id, kind, (active_later - active) / max(total_later - total, 1))
    end
  end

  # Over there a process of its own would be needed; this one comes with Erlang's tools, and switches off again.
  def schedulers(node) do
    for {kind, id, use, _text} <- At.call(node, :scheduler, :utilization, [1], 5_000),
        kind in [:normal, :cpu],
        do: scheduler(id, if(kind == :cpu, do: "dirty cpu", else: "normal"), use)
  rescue
    # Erlang's tools are not on that node.
    UndefinedFunctionError -> nil
    ErlangError -> nil
  end

  defp scheduler(id, kind, use), do: %{"id" => id, "kind" => kind, "percent" => Float.round(use * 100, 1)}

  @doc "The largest tables of the project, and how much all tables hold together."
  @spec tables(Ownership.scope()) :: map()
  def tables(%{node: node} = scope) do
    tables = node |> At.call(:ets, :all, []) |> Enum.take(@most_tables)
    bytes = At.call(node, :erlang, :system_info, [:wordsize])
    sizes = for {table, words} <- infos(node, tables, :memory), is_integer(words), do: {table, words * bytes}

    largest =
      sizes
      |> Enum.sort_by(&elem(&1, 1), :desc)
      |> Stream.filter(fn {table, _size} -> own_table?(table, scope) end)
      |> Enum.take(@shown)

    %{
      "count" => length(tables),
      "largest" => for({table, size} <- largest, table = table(node, table, size), do: table)
    }
  end

  defp infos(node, things, item) when node == node(),
    do: for(thing <- things, do: {thing, :ets.info(thing, item)})

  defp infos(node, things, item),
    do:
      Enum.zip(
        things,
        At.call(node, :lists, :zipwith, [&:ets.info/2, things, List.duplicate(item, length(things))])
      )

  defp own_table?(table, scope) do
    case At.call(scope.node, :ets, :info, [table, :owner]) do
      owner when is_pid(owner) -> Ownership.check_pid(owner, scope) == :ok
      :undefined -> false
    end
  end

  defp table(node, table, size) do
    name = At.call(node, :ets, :info, [table, :name])
    owner = At.call(node, :ets, :info, [table, :owner])

    if is_pid(owner) do
      %{
        "name" => Names.typed(name),
        "memory" => size,
        "rows" => At.call(node, :ets, :info, [table, :size]),
        "owner" => Facts.show(owner)
      }
    end
  end

  @doc "The project's ports with the most traffic, and those sockets of Erlang's module `socket`, which are none."
  @spec ports(Ownership.scope()) :: map()
  def ports(%{node: node} = scope) do
    ports = node |> At.call(:erlang, :ports, []) |> Enum.take(@most_ports)
    sockets = node |> sockets() |> Enum.take(@most_ports)

    found =
      for(port <- ports, info = info(node, port), do: {port, info}) ++
        for(socket <- sockets, info = socket(node, socket), do: {socket, info})

    busiest =
      found
      |> Enum.sort_by(fn {_port, info} -> info[:input] + info[:output] end, :desc)
      |> Stream.filter(fn {_port, info} -> Ownership.check_pid(info[:connected], scope) == :ok end)
      |> Enum.take(@shown)

    %{
      "count" => length(ports) + length(sockets),
      "busiest" => for({port, info} <- busiest, do: port(node, port, info))
    }
  end

  # A runtime can be built without them.
  defp sockets(node) do
    At.call(node, :socket, :which_sockets, [])
  rescue
    _none in [UndefinedFunctionError, ErlangError, ArgumentError] -> []
  end

  # In the words of a port. One may have been closed meanwhile.
  defp socket(node, socket) do
    case At.call(node, :socket, :info, [socket]) do
      %{owner: owner, counters: %{read_byte: received, write_byte: sent}} = info when is_pid(owner) ->
        [name: "socket #{info[:domain]} #{info[:type]}", connected: owner, input: received, output: sent]

      _closed ->
        nil
    end
  rescue
    _closed in [ErlangError, ArgumentError] -> nil
  end

  defp info(node, port) do
    case At.call(node, :erlang, :port_info, [port]) do
      :undefined -> nil
      info -> info
    end
  end

  defp port(node, port, info) do
    %{
      "name" => info[:name] |> to_string() |> String.slice(0, @max_port_name),
      "received" => info[:input],
      "sent" => info[:output],
      "process" => Facts.show(info[:connected])
    }
    |> put("peer", peer(node, port, info[:name]))
  end

  # Only a socket has one.
  defp peer(node, socket, "socket " <> _kind) do
    case At.call(node, :socket, :peername, [socket]) do
      {:ok, %{addr: address, port: number}} when is_tuple(address) -> "#{:inet.ntoa(address)}:#{number}"
      _none -> nil
    end
  end

  defp peer(node, port, name) when name in [~c"tcp_inet", ~c"udp_inet", ~c"sctp_inet"] do
    case At.call(node, :inet, :peername, [port]) do
      {:ok, {address, number}} when is_tuple(address) -> "#{:inet.ntoa(address)}:#{number}"
      _none -> nil
    end
  end

  defp peer(_node, _port, _name), do: nil

  defp put(map, _key, nil), do: map
  defp put(map, key, value), do: Map.put(map, key, value)

  @doc "The running applications with their versions; of the project's also the supervisor at the top, as inspect_supervisor takes it."
  @spec applications(Ownership.scope()) :: [map()]
  def applications(%{node: node} = scope) do
    for {application, _description, version} <-
          node |> At.call(:application, :which_applications, [5_000]) |> Enum.take(@max_applications) do
      %{"name" => Atom.to_string(application), "version" => to_string(version)}
      |> put("supervisor", top(node, application, scope))
    end
  end

  # The application's master is OTP's and answers; one that is stopping may not, within the time of the whole.
  defp top(node, application, scope) do
    with master when is_pid(master) <- At.call(node, :application_controller, :get_master, [application]),
         {top, _module} when is_pid(top) <- At.call(node, :application_master, :get_child, [master]),
         :ok <- Ownership.check_pid(top, scope) do
      Facts.show(top)
    else
      _library_or_foreign -> nil
    end
  end
end
