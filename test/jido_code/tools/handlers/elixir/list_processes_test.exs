defmodule JidoCode.Tools.Handlers.Elixir.ListProcessesTest do
  # Figures of the whole VM.
  use ExUnit.Case, async: false

  import JidoCode.Tools.Test.CommandProcesses, only: [eventually: 1]

  alias JidoCode.Tools.Answers
  alias JidoCode.Tools.Handlers.Elixir.{ListProcesses, ProcessState}
  alias JidoCode.Tools.Introspection.Ranking
  alias JidoCode.Tools.{Remote, SecureExecutor}
  alias JidoCode.Tools.Test.{Peers, Processes}

  doctest JidoCode.Tools.Introspection.Reference
  doctest JidoCode.Tools.Answers.Processes

  # The tests' own processes belong to no application of the project.
  @scope %{project_namespaces: :all}

  defp list!(args) do
    assert {:ok, result} = ListProcesses.execute(args, @scope)
    result
  end

  defp found(result, pid), do: Enum.find(result["processes"], &(&1["pid"] == inspect(pid)))

  defp waiting(fun \\ fn -> :ok end) do
    test = self()

    pid =
      spawn_link(fn ->
        kept = fun.()
        send(test, {:ready, self()})
        wait(kept)
      end)

    assert_receive {:ready, ^pid}, 5_000
    pid
  end

  defp wait(kept) do
    receive do
      :work -> work(kept)
      :end -> kept
    end
  end

  defp work(kept) do
    receive do
      :end -> kept
    after
      0 ->
        Enum.sum(1..1_000)
        work(kept)
    end
  end

  test "the largest first, unregistered ones too, with what get_process_state takes" do
    big = waiting(fn -> Enum.to_list(1..3_000_000) end)
    result = list!(%{})
    assert [%{"pid" => pid, "memory" => memory, "figure" => memory} = first | _] = result["processes"]
    assert pid == inspect(big) and memory > 24_000_000
    assert first["status"] == "waiting"
    assert first["at"] =~ "ListProcessesTest.wait/1"
    assert hd(first["stack"]) =~ "list_processes_test.exs:"
    assert first["parent"] == inspect(self())
    figures = Enum.map(result["processes"], & &1["figure"])
    assert figures == Enum.sort(figures, :desc)

    assert {:ok, %{"process_info" => %{"pid" => ^pid}}} =
             ProcessState.execute(%{"process" => pid}, Map.put(@scope, :wide_reach, true))
  end

  test "by mailbox, and no message of it is read or lost" do
    full = waiting()
    for n <- 1..500, do: send(full, {:stray, n})
    assert %{"figure" => 500, "message_queue_len" => 500} = found(list!(%{"sort_by" => "mailbox"}), full)
    assert {:message_queue_len, 500} = Process.info(full, :message_queue_len)
  end

  test "by the work of the last moment, not by that of a whole life" do
    old = waiting(fn -> Enum.sum(Stream.take(Stream.cycle([1]), 3_000_000)) end)
    busy = waiting()
    send(busy, :work)
    result = list!(%{"sort_by" => "reductions", "window" => 200})
    assert result["window"] == 200
    assert %{"figure" => figure, "status" => status} = found(result, busy)
    assert figure > 10_000 and status in ["running", "runnable"]
    # Its last steps to where it waits may fall into the window; what it did before does not count.
    assert match?(nil, found(result, old)) or found(result, old)["figure"] < 10_000
  end

  test "by growth over a window" do
    grower = waiting(fn -> :ok end)
    for n <- 1..100_000, do: send(grower, n)
    # It grows for as long as this test runs, however long the look takes.
    spawn_link(fn -> Enum.each(Stream.interval(5), fn _n -> for m <- 1..20, do: send(grower, m) end) end)
    assert %{"figure" => grown} = found(list!(%{"sort_by" => "mailbox", "window" => 300}), grower)
    assert grown in 1..50_000
  end

  test "by the binaries that a process holds on to, which its own memory does not show" do
    holder = waiting(fn -> for n <- 1..20, do: :binary.copy(<<n>>, 2_000_000) end)
    assert %{"figure" => bytes, "memory" => memory} = found(list!(%{"sort_by" => "binary_memory"}), holder)
    assert bytes in 40_000_000..44_000_000 and memory < 1_000_000
  end

  test "filters: application, module, status, and where it waits" do
    server = start_supervised!({Processes.Server, {nil, %{}}} |> named())
    Processes.Server.block(server)
    caller = waiting(fn -> spawn(fn -> catch_exit(GenServer.call(server, :state, :infinity)) end) end)

    assert %{"supervisor" => _, "what" => what} =
             found(list!(%{"module" => inspect(Processes.Server)}), server)

    assert what =~ "Processes.Server.init/1 (genserver)"
    refute found(list!(%{"module" => inspect(Processes.Server)}), caller)

    assert found(list!(%{"status" => "waiting", "limit" => 100}), server)
    refute found(list!(%{"status" => "runnable", "limit" => 100}), server)

    waits = fn -> list!(%{"waits_in" => "GenServer.call/3", "limit" => 100})["processes"] end
    eventually(fn -> Enum.any?(waits.(), &(&1["parent"] == inspect(caller))) end)
    refute Enum.any?(waits.(), &(&1["pid"] == inspect(server)))

    assert {:error, "Application not found: no_such_app" <> _} =
             ListProcesses.execute(%{"application" => "no_such_app"}, @scope)

    assert {:error, "Module not found" <> _} = ListProcesses.execute(%{"module" => "No.Such.Module9"}, @scope)

    for key <- ["application", "module"] do
      given = "zzz\n\e[1m\u202E" <> String.duplicate("z", 300)
      assert {:error, message} = ListProcesses.execute(%{key => given}, @scope)
      assert message =~ "zzz\\n\\u{1B}[1m\\u{202E}zzz"
      refute message =~ ~r/[\n\e\x{202E}]/u
      assert String.length(message) < 250
    end

    assert {:error, "Invalid waits_in" <> _} = ListProcesses.execute(%{"waits_in" => "a b"}, @scope)

    assert %{"processes" => [], "note" => "No process matches."} =
             list!(%{"waits_in" => "Enum.no_such_fun_x"})
  end

  defp named({module, {_name, state}}), do: {module, {:"list_#{System.unique_integer([:positive])}", state}}

  test "only the project's are shown; that others are larger is said" do
    big = waiting(fn -> Enum.to_list(1..3_000_000) end)
    assert {:ok, result} = ListProcesses.execute(%{"limit" => 3}, %{project_namespaces: ["Nobody.At.All"]})
    assert result["processes"] == []
    assert result["note"] =~ "Not shown, since they are not the project's: #{inspect(big)} ("
  end

  test "needs the tier; names and labels are redacted; its text is short" do
    context = %{session_id: "list-#{System.unique_integer([:positive])}", project_namespaces: :all}
    assert {:error, "Permission denied" <> _} = SecureExecutor.call("list_processes", %{}, context)

    assert {:ok, result} =
             SecureExecutor.call(
               "list_processes",
               %{"limit" => 900},
               Map.put(context, :granted_tier, :privileged)
             )

    assert result["note"] =~ "applied: limit 100"
    text = Answers.text("list_processes", result)
    assert text =~ "By memory; "
    assert String.length(text) < 30_000
  end

  test "a process that is stuck in native code costs little time, and the others are shown" do
    true = :erts_debug.set_internal_state(:available_internal_state, true) in [true, false]
    big = waiting(fn -> Enum.to_list(1..2_000_000) end)
    # Holds its scheduler for three seconds.
    stuck = spawn(fn -> :erts_debug.set_internal_state(:sleep, 3_000) end)
    {time_us, {:ok, ranking}} = :timer.tc(fn -> Ranking.run(question(), 2_500) end)
    Process.exit(stuck, :kill)

    if :erlang.system_info(:schedulers_online) > 1 do
      assert time_us < 3_500_000
      assert {^big, _bytes} = hd(ranking.top)
    end
  end

  test "what the time does not suffice for is not looked at" do
    for _ <- 1..2_000, do: waiting()
    assert {:ok, %{seen: 0, top: []}} = Ranking.run(question(), 0)
    assert {:ok, %{seen: seen, total: total}} = Ranking.run(question(), 5_000)
    assert seen in (total - 50)..(total + 50)
  end

  defp question do
    %{
      node: node(),
      figure: :memory,
      window_ms: 0,
      most: 5,
      items: [],
      keep?: fn _, _ -> true end,
      own?: fn _ -> true end
    }
  end

  describe "another node" do
    setup do
      on_exit(&Peers.leave/0)
    end

    defp remote!(peer, args) do
      {:ok, remote} = Remote.new(peer.name, cookie: Peers.cookie())

      context = %{
        session_id: "list-#{System.unique_integer([:positive])}",
        granted_tier: :privileged,
        node: remote
      }

      assert {:ok, result} = SecureExecutor.call("list_processes", args, context)
      result
    end

    test "without the library is listed from here, with its own pids" do
      peer = Peers.start!()
      result = remote!(peer, %{"application" => "till"})
      assert result["node"] == peer.name

      assert %{"pid" => "#PID<0." <> _, "supervisor" => "Till.Supervisor"} =
               row = Enum.find(result["processes"], &(&1["name"] == "Till.Drawer"))

      assert row["what"] =~ "Till.Drawer.init/1"

      assert %{"figure" => _} =
               hd(
                 remote!(peer, %{"sort_by" => "reductions", "window" => 50, "module" => "Till.Drawer"})[
                   "processes"
                 ] ++ [%{"figure" => 0}]
               )
    end

    test "of Erlang alone, too" do
      peer = Peers.start!(elixir: false, app: false)
      assert %{"processes" => [], "note" => note} = remote!(peer, %{})
      assert note =~ "not the project's"
    end
  end
end
