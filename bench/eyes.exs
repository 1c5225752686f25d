# What the always-on parts cost, and what the tools that look take beside plain means, each pair in one run.
#
#     MIX_ENV=prod mix run --no-start bench/eyes.exs
#
# Tracing is measured where the runtime has trace sessions (OTP 27).

defmodule Bench.Eyes do
  alias JidoCode.Tools.Handlers.Elixir.{FindCallers, SourceLocation, SystemOverview}
  alias JidoCode.Tools.Introspection.CallTrace
  alias JidoCode.Tools.SecureExecutor
  require Logger

  @context %{project_namespaces: :all}

  def busy(n), do: n + 1

  def main do
    Logger.configure(level: :info)
    Application.put_env(:jido_code_tools, :tool_rate_limits, %{read_only: {100_000, 1_000}})
    log()
    audit()
    look()
    tracing()
  end

  # One log call at a time, which the console's handler does not see.
  defp log do
    {:ok, _} = Application.ensure_all_started(:jido_code_tools)
    for %{id: id} <- :logger.get_handler_config(), not ring?(id), do: :logger.remove_handler(id)

    call = fn ->
      :logger.error(
        "a line of a hundred characters or so, as an application logs it now and then, number ~p",
        [17]
      )
    end

    show("a log call with the ring", samples(call, 20_000))
    rings = for %{id: id} = config <- :logger.get_handler_config(), ring?(id), do: config
    for %{id: id} <- rings, do: :logger.remove_handler(id)
    show("a log call without it", samples(call, 20_000))
    for config <- rings, do: :logger.add_handler(config.id, config.module, Map.drop(config, [:id, :module]))
  end

  defp ring?(id), do: id == :jido_code_tools_log_ring

  defp audit do
    for {name, env} <- [
          {"a call, trail in memory", []},
          {"a call, trail as a file", [audit_file: file(), audit_key: String.duplicate("k", 32)]},
          {"a call, file with sync each",
           [audit_file: file(), audit_key: String.duplicate("k", 32), audit_file_sync: :each]}
        ] do
      Application.stop(:jido_code_tools)

      for key <- [:audit_file, :audit_key, :audit_file_sync],
          do: Application.delete_env(:jido_code_tools, key)

      Application.put_all_env(jido_code_tools: env)
      {:ok, _} = Application.ensure_all_started(:jido_code_tools)

      call = fn ->
        SecureExecutor.call("fetch_elixir_docs", %{"module" => "no name"}, %{session_id: "bench"})
      end

      for _ <- 1..200, do: call.()
      show(name, samples(call, 2_000))
      if env[:audit_file], do: File.rm(env[:audit_file])
    end

    for key <- [:audit_file, :audit_key, :audit_file_sync], do: Application.delete_env(:jido_code_tools, key)
    Application.stop(:jido_code_tools)
    {:ok, _} = Application.ensure_all_started(:jido_code_tools)
  end

  defp file, do: Path.join(System.tmp_dir!(), "bench-audit-#{System.unique_integer([:positive])}.jsonl")

  defp look do
    show("system_overview", samples(fn -> {:ok, _} = SystemOverview.execute(%{}, @context) end, 5))
    show("plain: the same figures", samples(&plain_overview/0, 5))
    here = Map.put(@context, :project_root, File.cwd!())
    function = %{"reference" => "JidoCode.Tools.Introspection.Bounded.run/2"}
    show("get_source_location", samples(fn -> {:ok, _} = SourceLocation.execute(function, here) end, 20))
    show("find_callers", samples(fn -> {:ok, _} = FindCallers.execute(function, here) end, 5))
  end

  # As a person would in a shell; all processes, tables and ports.
  defp plain_overview do
    :erlang.system_flag(:scheduler_wall_time, true)
    before = :erlang.statistics(:scheduler_wall_time)
    Process.sleep(1_000)
    later = :erlang.statistics(:scheduler_wall_time)
    :erlang.system_flag(:scheduler_wall_time, false)

    {before, later, :erlang.memory(), :erlang.statistics(:run_queue_lengths_all),
     :application.which_applications(),
     Process.list() |> Enum.map(&{Process.info(&1, :memory), &1}) |> Enum.sort() |> Enum.take(-5),
     Process.list() |> Enum.map(&{Process.info(&1, :message_queue_len), &1}) |> Enum.sort() |> Enum.take(-5),
     :ets.all() |> Enum.map(&{:ets.info(&1, :memory), &1}) |> Enum.sort() |> Enum.take(-5),
     Enum.map(:erlang.ports(), &:erlang.port_info/1)}
  end

  # A process that calls 100,000 times a second, and how many calls it makes while a hundred of them are traced.
  defp tracing do
    if CallTrace.available?() do
      caller = spawn_link(fn -> paced(System.monotonic_time(:microsecond), 0) end)
      Process.sleep(300)
      before = rate(caller)

      traced =
        for _ <- 1..10 do
          parent = self()
          spawn_link(fn -> send(parent, {:rate, rate(caller)}) end)

          {:ok, trace} =
            CallTrace.run({__MODULE__, :busy, 1}, %{count: 100, timeout_ms: 2_000, arguments?: true})

          receive do: ({:rate, rate} -> {rate, trace.took_ms})
        end

      {rates, took} = Enum.unzip(traced)
      after_it = rate(caller)

      IO.puts(
        "calls a second: #{before} before, #{inspect(Enum.sort(rates))} in seconds with a trace of 100 calls (#{inspect(took)} ms), #{after_it} after"
      )
    else
      IO.puts("tracing: OTP #{System.otp_release()} has no trace sessions")
    end
  end

  defp paced(started, count) do
    Enum.each(1..100, fn n -> __MODULE__.busy(n) end)
    due = started + div((count + 100) * 1_000_000, 100_000)
    wait(due)

    receive do
      {:count, from} -> send(from, {:count, count + 100})
    after
      0 -> :ok
    end

    paced(started, count + 100)
  end

  defp wait(due), do: if(System.monotonic_time(:microsecond) < due, do: wait(due))

  defp rate(caller) do
    first = count(caller)
    Process.sleep(1_000)
    count(caller) - first
  end

  defp count(caller) do
    send(caller, {:count, self()})

    receive do
      {:count, count} -> count
    end
  end

  defp samples(fun, rounds) do
    for _ <- 1..rounds do
      started = System.monotonic_time(:nanosecond)
      fun.()
      System.monotonic_time(:nanosecond) - started
    end
    |> Enum.sort()
  end

  defp show(name, sorted) do
    at = fn part ->
      Float.round(Enum.at(sorted, min(trunc(length(sorted) * part), length(sorted) - 1)) / 1_000, 1)
    end

    IO.puts("#{String.pad_trailing(name, 32)} median #{at.(0.5)} us, p99 #{at.(0.99)} us (#{length(sorted)})")
  end
end

Bench.Eyes.main()
