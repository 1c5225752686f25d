# What looking takes, beside plain Elixir that asks the same of the same things in the same run.
#
#     MIX_ENV=prod mix run bench/looking.exs
#
# The plain forms have no limits, no ownership, no redaction, and copy what they read. Medians of five rounds; compare the
# ratios: absolute times are this machine's.

defmodule Bench.Looking do
  alias JidoCode.Tools.Handlers.Elixir.{EtsInspect, ProcessState, SupervisorTree}
  alias JidoCode.Tools.SecureExecutor

  defmodule Server do
    use GenServer
    def start_link(state), do: GenServer.start_link(__MODULE__, state)
    @impl true
    def init(state), do: {:ok, state}
  end

  @context %{project_namespaces: :all, session_id: "bench", granted_tier: :privileged}

  def main do
    limits = Map.new(["get_process_state", "inspect_supervisor", "ets_inspect"], &{&1, {100_000, 1_000}})
    Application.put_env(:jido_code_tools, :tool_rate_limits, limits)
    Application.stop(:jido_code_tools)
    {:ok, _} = Application.ensure_all_started(:jido_code_tools)

    children = for n <- 1..50, do: %{id: {:child, n}, start: {Server, :start_link, [%{n: n}]}}
    {:ok, _} = Supervisor.start_link(children, strategy: :one_for_one, name: :bench_supervisor)
    for n <- 1..20, do: :ets.new(:"bench_table_#{n}", [:named_table, :public])

    # A process is asked three times in a row only, so there is one for each few rounds.
    servers =
      for n <- 1..400 do
        {:ok, pid} = Server.start_link(%{orders: Enum.map(1..50, &%{id: &1, customer: "c#{&1}"})})
        Process.register(pid, :"bench_server_#{n}")
        ":bench_server_#{n}"
      end

    {:ok, next} = Agent.start_link(fn -> Stream.cycle(servers) |> Enum.take(1_200) end)
    server = fn -> Agent.get_and_update(next, fn [first | rest] -> {first, rest ++ [first]} end) end

    compare("inspect_supervisor of 50", &tree/0, &plain_tree/0)
    compare("ets_inspect list", &list/0, &plain_list/0)
    compare("get_process_state", fn -> state(server.()) end, fn -> plain_state(server.()) end)
    at_eight()
  end

  defp tree, do: {:ok, _} = SupervisorTree.execute(%{"supervisor" => ":bench_supervisor"}, @context)

  # Ids, kinds, whether each is alive, and its name, as text.
  defp plain_tree do
    for {id, pid, type, modules} <- Supervisor.which_children(:bench_supervisor) do
      info = Process.info(pid, [:registered_name, :status, :message_queue_len, :memory])
      "#{inspect(id)} #{type} #{inspect(modules)} #{inspect(pid)} #{inspect(info)}"
    end
    |> Enum.join("\n")
  end

  defp list, do: {:ok, _} = EtsInspect.execute(%{"operation" => "list"}, @context)

  defp plain_list do
    for table <- :ets.all(), info = :ets.info(table), is_list(info), info[:named_table] do
      owner = Process.info(info[:owner], [:registered_name, :initial_call, :dictionary])

      %{
        "name" => inspect(info[:name]),
        "size" => info[:size],
        "memory" => info[:memory],
        "owner" => inspect(owner[:registered_name])
      }
    end
  end

  defp state(name), do: {:ok, _} = ProcessState.execute(%{"process" => name}, @context)

  defp plain_state(":" <> name) do
    pid = name |> String.to_existing_atom() |> Process.whereis()
    {inspect(:sys.get_state(pid), pretty: true, limit: :infinity), Process.info(pid)}
  end

  defp compare(what, ours, plain) do
    [ours, plain] = for fun <- [ours, plain], do: median(fun)

    IO.puts(
      "#{String.pad_trailing(what, 28)} #{ours} us, plain #{plain} us, ratio #{Float.round(ours / plain, 2)}"
    )
  end

  defp median(fun) do
    for _ <- 1..20, do: fun.()

    times =
      for _ <- 1..5 do
        {us, _} = :timer.tc(fn -> for _ <- 1..40, do: fun.() end)
        div(us, 40)
      end

    times |> Enum.sort() |> Enum.at(2)
  end

  # Eight callers by the whole pipeline.
  defp at_eight do
    call = fn ->
      SecureExecutor.call("inspect_supervisor", %{"supervisor" => ":bench_supervisor"}, @context)
    end

    times =
      1..8
      |> Task.async_stream(
        fn _ ->
          for _ <- 1..50, do: call |> :timer.tc() |> elem(0)
        end,
        timeout: 120_000
      )
      |> Enum.flat_map(&elem(&1, 1))
      |> Enum.sort()

    p = fn share -> Enum.at(times, trunc(length(times) * share)) end
    IO.puts("pipeline, 8 callers           p50 #{p.(0.5)} us, p99 #{p.(0.99)} us, max #{List.last(times)} us")
  end
end

Bench.Looking.main()
