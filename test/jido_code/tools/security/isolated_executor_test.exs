defmodule JidoCode.Tools.Security.IsolatedExecutorTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Security.{IsolatedExecutor, Native}
  alias JidoCode.Tools.Telemetry
  alias JidoCode.Tools.Test.{Events, Processes, Runs}

  @event [:jido_code, :security, :isolation]

  defp isolated(fun, opts \\ []) do
    IsolatedExecutor.execute_isolated(Runs, %{"run" => fn _context -> fun.() end}, %{}, opts)
  end

  # Tells the test which processes there are, and makes them observable.
  defp introduce(test, name), do: send(test, {:process, name, self()})

  defp monitor_of(name) do
    assert_receive {:process, ^name, pid}, 5_000
    Process.monitor(pid)
  end

  defp assert_ended(monitor), do: assert_receive({:DOWN, ^monitor, :process, _pid, _reason}, 5_000)

  defp mailbox, do: self() |> Process.info(:messages) |> elem(1)

  # A small term that takes 2^40 cells when it is copied.
  defp bomb(levels \\ 40), do: Enum.reduce(1..levels, [], fn _level, inner -> [inner | inner] end)

  defp megabytes(number), do: <<0>> |> :binary.copy(1_000) |> :binary.copy(1_000 * number)

  # The largest that the whole VM may have grown to while a test's own data was refused.
  defp assert_memory_bounded(fun) do
    before = :erlang.memory(:total)
    result = fun.()
    assert :erlang.memory(:total) - before < 300_000_000
    result
  end

  describe "what a handler does, and what its caller gets" do
    test "ok and error tuples are passed on, whatever they hold" do
      assert isolated(fn -> {:ok, %{"a" => 1}} end) == {:ok, %{"a" => 1}}
      assert isolated(fn -> {:error, "no"} end) == {:error, "no"}
      assert isolated(fn -> {:error, {:any, :reason}} end) == {:error, {:any, :reason}}
    end

    test "the handler sees its arguments and context" do
      run = fn context -> {:ok, {context, self()}} end
      args = %{"run" => run, "other" => 1}

      assert {:ok, {%{session_id: "s"}, worker}} =
               IsolatedExecutor.execute_isolated(Runs, args, %{session_id: "s"})

      assert worker != self()
    end

    test "any other value is an error that doesn't repeat it" do
      for {value, kind} <- [
            {:ok, :ok},
            {nil, nil},
            {{:ok, 1, 2}, {:tuple, 3}},
            {{:maybe, "a secret"}, {:tuple, 2}},
            {%{ok: 1}, :map},
            {[ok: 1], :list},
            {"a secret", :binary},
            {7, :number},
            {&self/0, :function},
            {self(), :other}
          ] do
        assert isolated(fn -> value end) == {:error, {:crashed, {:bad_return, kind}}}
      end
    end

    test "raise, error, throw and exit" do
      assert {:error, {:crashed, {:exception, %ArgumentError{message: "m"}, [_ | _]}}} =
               isolated(fn -> raise ArgumentError, "m" end)

      assert {:error, {:crashed, {:exception, %ErlangError{original: :odd}, _stack}}} =
               isolated(fn -> :erlang.error(:odd) end)

      assert isolated(fn -> throw(:ball) end) == {:error, {:crashed, {:throw, :ball}}}
      assert isolated(fn -> exit(:tired) end) == {:error, {:crashed, {:exit, :tired}}}
      assert isolated(fn -> exit(:normal) end) == {:error, {:crashed, {:exit, :normal}}}
      assert isolated(fn -> exit(:shutdown) end) == {:error, {:crashed, {:exit, :shutdown}}}
    end

    test "a module that is none, or has no execute/2" do
      assert {:error, {:crashed, {:exception, %UndefinedFunctionError{}, _stack}}} =
               IsolatedExecutor.execute_isolated(:no_such_module, %{}, %{})
    end

    test "it is killed" do
      assert isolated(fn -> Process.exit(self(), :kill) end) == {:error, {:killed, :max_heap_size}}
    end

    test "it ends by another's exit signal, quiet ones included, at once" do
      for reason <- [:shutdown, {:shutdown, :peer}, :noproc] do
        {micros, result} =
          :timer.tc(fn ->
            isolated(fn ->
              spawn_link(fn -> exit(reason) end)
              Process.sleep(:infinity)
            end)
          end)

        assert result == {:error, {:crashed, reason}}
        assert micros < 2_000_000
      end
    end

    test "unknown options and values out of range are the programmer's mistakes" do
      for opts <- [[timeout: 0], [timeout: :infinity], [max_heap_size: -1], [grace: 1.5]] do
        assert_raise ArgumentError, ~r/positive integer/, fn -> isolated(fn -> {:ok, 1} end, opts) end
      end

      assert_raise ArgumentError, ~r/unknown option :time_out/, fn ->
        isolated(fn -> {:ok, 1} end, time_out: 1)
      end
    end
  end

  describe "time" do
    test "a handler over its time is ended" do
      test = self()

      result =
        isolated(
          fn ->
            introduce(test, :worker)
            Process.sleep(:infinity)
          end,
          timeout: 50
        )

      assert result == {:error, :timeout}
      assert_ended(monitor_of(:worker))
    end

    test "a handler that computes without end is ended too" do
      spin = fn spin -> spin.(spin) end
      assert isolated(fn -> spin.(spin) end, timeout: 50) == {:error, :timeout}
    end

    test "it is asked first: within the grace time it may clean up" do
      test = self()

      assert isolated(
               fn ->
                 Process.flag(:trap_exit, true)

                 receive do
                   {:EXIT, _keeper, :shutdown} -> send(test, :cleaned_up)
                 end

                 exit(:shutdown)
               end,
               timeout: 30,
               grace: 5_000
             ) in [{:error, :timeout}, {:error, {:crashed, {:exit, :shutdown}}}]

      assert_receive :cleaned_up
    end

    test "one that ignores the question is killed when the grace time is over" do
      test = self()

      ignores = fn ignores ->
        receive do
          _message -> ignores.(ignores)
        end
      end

      {micros, result} =
        :timer.tc(fn ->
          isolated(
            fn ->
              Process.flag(:trap_exit, true)
              introduce(test, :worker)
              ignores.(ignores)
            end,
            timeout: 30,
            grace: 50
          )
        end)

      assert result == {:error, :timeout}
      assert micros in 80_000..3_000_000
      assert_ended(monitor_of(:worker))
    end
  end

  describe "the caller's mailbox" do
    test "a :DOWN that lies there already is not taken for the worker's" do
      stray = {:DOWN, make_ref(), :process, self(), :killed}
      send(self(), stray)
      send(self(), {make_ref(), :ok, {:ok, "forged"}})
      assert isolated(fn -> {:ok, "true"} end) == {:ok, "true"}
      assert [^stray, {_ref, :ok, {:ok, "forged"}}] = mailbox()
    end

    test "nothing is left behind by late answers" do
      test = self()

      for _ <- 1..30 do
        isolated(
          fn ->
            Process.flag(:trap_exit, true)
            introduce(test, :worker)

            receive do
              {:EXIT, _keeper, :shutdown} -> {:ok, "late"}
            end
          end,
          timeout: 20,
          grace: 1
        )
      end

      # By now all that could have been sent has been: workers and keepers have ended.
      for pid <- Task.Supervisor.children(JidoCode.Tools.TaskSupervisor) do
        monitor = Process.monitor(pid)
        assert_receive {:DOWN, ^monitor, _, _, _}, 35_000
      end

      # A worker that was killed before its first line introduced nobody; one at least got that far.
      assert {[_ | _], []} = Enum.split_with(mailbox(), &match?({:process, :worker, _pid}, &1))
    end

    test "a flag of the caller makes no difference" do
      Process.flag(:trap_exit, true)
      assert isolated(fn -> exit(:odd) end) == {:error, {:crashed, {:exit, :odd}}}
      assert isolated(fn -> {:ok, 1} end) == {:ok, 1}
      assert mailbox() == []
    end
  end

  describe "memory" do
    test "a heap over its limit" do
      grow = fn grow, list -> grow.(grow, [list | list]) end
      fill = fn -> grow.(grow, []) end
      assert isolated(fill, max_heap_size: 100_000) == {:error, {:killed, :max_heap_size}}
    end

    test "a binary that the heap limit does not see" do
      assert_memory_bounded(fn ->
        assert isolated(fn -> {:ok, megabytes(200)} end) ==
                 {:error, {:killed, :max_heap_size}}
      end)
    end

    test "many binaries that are held, not returned" do
      hold = fn ->
        held = for _ <- 1..100, do: megabytes(1)
        Process.sleep(:infinity)
        {:ok, held}
      end

      assert isolated(hold, timeout: 20_000) == {:error, {:killed, :max_heap_size}}
    end

    test "whatever the node's flags count as heap" do
      Processes.count_shared_binaries()

      hold = fn ->
        held = megabytes(40)
        :erlang.garbage_collect()
        {:ok, byte_size(held)}
      end

      assert isolated(hold) == {:ok, 40_000_000}
      assert isolated(fn -> {:ok, megabytes(100)} end) == {:error, {:killed, :max_heap_size}}
    end

    test "binaries that are garbage are no reason" do
      churn = fn ->
        for _ <- 1..100, do: megabytes(2)
        {:ok, "done"}
      end

      assert isolated(churn) == {:ok, "done"}
    end

    test "a result that would unfold when it is copied" do
      assert_memory_bounded(fn ->
        assert isolated(fn -> {:ok, bomb()} end) == {:error, {:killed, :max_heap_size}}
        assert isolated(fn -> {:error, bomb()} end) == {:error, {:killed, :max_heap_size}}
      end)
    end

    test "arguments that would unfold when they are copied" do
      assert_memory_bounded(fn ->
        args = %{"run" => fn _context -> {:ok, "ran"} end, "bomb" => bomb()}
        assert IsolatedExecutor.execute_isolated(Runs, args, %{}) == {:error, {:killed, :max_heap_size}}
      end)
    end

    test "a failure that would unfold when it is copied" do
      assert_memory_bounded(fn ->
        assert isolated(fn -> throw(bomb()) end) == {:error, {:crashed, {:throw, :too_large}}}
        assert isolated(fn -> exit(bomb()) end) == {:error, {:crashed, {:exit, :too_large}}}

        # The stack trace holds the arguments that no clause took.
        assert {:error, {:crashed, {:exception, %RuntimeError{message: message}, []}}} =
                 isolated(fn -> Keyword.get(bomb(), 1) end)

        assert message =~ "FunctionClauseError, too large"
      end)
    end

    test "a failure that holds a large binary" do
      assert isolated(fn -> throw(megabytes(100)) end) ==
               {:error, {:crashed, {:throw, :too_large}}}
    end

    test "the clock goes on while the worker can't answer how much it holds" do
      # Holds more than it may, within one native call of some seconds that no signal interrupts.
      stuck = fn ->
        held = megabytes(100)
        within? = Native.term_within_dirty(bomb(29), 1_000_000_000_000)
        {:ok, {within?, held}}
      end

      {micros, result} = :timer.tc(fn -> isolated(stuck, timeout: 1_000, grace: 50) end)
      # Killed, if it was looked at before the call.
      assert result in [{:error, :timeout}, {:error, {:killed, :max_heap_size}}]
      assert micros < 2_000_000
    end
  end

  describe "processes that the handler starts" do
    # Every way to start one, each told to the test by name.
    defp start_all(test) do
      wait = fn name ->
        fn ->
          introduce(test, name)
          Process.sleep(:infinity)
        end
      end

      spawn(wait.(:unlinked))
      spawn_link(wait.(:linked))

      spawn(fn ->
        spawn(fn ->
          introduce(test, :parent_is_gone)
          spawn(wait.(:grandchild))
          Process.sleep(:infinity)
        end)
      end)

      Task.async(wait.(:task))

      {:ok, agent} = Agent.start(fn -> :state end)
      send(test, {:process, :agent, agent})

      spawn(fn ->
        Process.flag(:trap_exit, true)
        wait.(:trapping).()
      end)

      [:unlinked, :linked, :parent_is_gone, :grandchild, :task, :agent, :trapping]
    end

    test "are gone after a timeout" do
      test = self()

      assert isolated(
               fn ->
                 send(test, {:names, start_all(test)})
                 Process.sleep(:infinity)
               end,
               timeout: 300
             ) == {:error, :timeout}

      assert_receive {:names, names}
      for name <- names, do: assert_ended(monitor_of(name))
    end

    test "are gone after a crash" do
      test = self()

      assert {:error, {:crashed, {:throw, :ball}}} =
               isolated(fn ->
                 names = start_all(test)
                 send(test, {:names, names})
                 # All have started, so that none can be missed by luck.
                 for _ <- names, do: receive(do: (:go -> :ok), after: (10 -> :ok))
                 throw(:ball)
               end)

      assert_receive {:names, names}
      for name <- names, do: assert_ended(monitor_of(name))
    end

    test "are gone when the caller is killed, and so is the worker" do
      test = self()

      caller =
        spawn(fn ->
          isolated(fn ->
            introduce(test, :worker)
            send(test, {:names, start_all(test)})
            Process.sleep(:infinity)
          end)
        end)

      assert_receive {:names, names}, 5_000
      monitors = for name <- [:worker | names], do: monitor_of(name)
      Process.exit(caller, :kill)
      for monitor <- monitors, do: assert_ended(monitor)
    end

    test "linked ones end with an answered call" do
      test = self()

      assert isolated(fn ->
               send(test, {:process, :linked, spawn_link(fn -> Process.sleep(:infinity) end)})
               {:ok, 1}
             end) == {:ok, 1}

      assert_ended(monitor_of(:linked))
    end

    test "are gone even when the handler kills the process that would end them" do
      test = self()

      assert isolated(fn ->
               Process.flag(:trap_exit, true)
               introduce(test, :worker)
               send(test, {:names, start_all(test)})
               Process.exit(Process.group_leader(), :kill)
               Process.sleep(:infinity)
             end) == {:error, {:crashed, :killed}}

      assert_receive {:names, names}
      for name <- [:worker | names], do: assert_ended(monitor_of(name))
    end
  end

  describe "the handler's surroundings" do
    test "what it prints goes where the caller's output goes" do
      assert ExUnit.CaptureIO.capture_io(fn ->
               assert isolated(fn ->
                        IO.puts("from the worker")
                        spawn_link(fn -> IO.puts("from its child") end)
                        Process.sleep(50)
                        {:ok, IO.gets("")}
                      end) == {:ok, :eof}
             end) =~ ~r/from the worker\nfrom its child/
    end

    test "it knows its callers, as a Task does" do
      assert {:ok, [caller | _rest]} = isolated(fn -> {:ok, Process.get(:"$callers")} end)
      assert caller == self()
    end

    test "messages to the keeper and false exits hurt nobody but the call" do
      assert isolated(fn ->
               send(Process.group_leader(), :nonsense)
               send(Process.group_leader(), {:DOWN, make_ref(), :process, self(), :normal})
               {:ok, 1}
             end) == {:ok, 1}
    end

    test "an isolated call within an isolated call" do
      assert isolated(fn -> isolated(fn -> {:ok, "inner"} end) end) == {:ok, "inner"}

      test = self()

      assert isolated(
               fn ->
                 isolated(fn ->
                   introduce(test, :inner)
                   Process.sleep(:infinity)
                 end)
               end,
               timeout: 100
             ) == {:error, :timeout}

      assert_ended(monitor_of(:inner))
    end
  end

  describe "the supervisor" do
    test "is not there" do
      assert isolated(fn -> {:ok, 1} end, supervisor: :nobody) ==
               {:error, {:crashed, :supervisor_not_running}}

      refute IsolatedExecutor.supervisor_available?(:nobody)
      assert IsolatedExecutor.supervisor_available?()
    end

    test "stops while a handler runs: the handler is ended, the caller told" do
      {:ok, supervisor} = Task.Supervisor.start_link()
      test = self()

      call =
        Task.async(fn ->
          isolated(
            fn ->
              introduce(test, :worker)
              Process.sleep(:infinity)
            end,
            supervisor: supervisor
          )
        end)

      worker = monitor_of(:worker)
      Supervisor.stop(supervisor)
      assert_ended(worker)
      assert {:error, {:crashed, _reason}} = Task.await(call)
    end

    test "is killed while a handler runs" do
      supervisor = start_supervised!(Task.Supervisor)
      test = self()

      call =
        Task.async(fn ->
          isolated(
            fn ->
              introduce(test, :worker)
              Process.sleep(:infinity)
            end,
            supervisor: supervisor
          )
        end)

      worker = monitor_of(:worker)
      Process.exit(supervisor, :kill)
      assert_ended(worker)
      assert {:error, {:crashed, _reason}} = Task.await(call)
    end
  end

  describe "telemetry" do
    test "one event a call, with the documented keys" do
      {measurement_keys, metadata_keys} = Telemetry.events()[@event]

      for {run, opts, outcome, reason} <- [
            {fn -> {:ok, 1} end, [], :ok, nil},
            {fn -> {:error, "own"} end, [], :ok, nil},
            {fn -> Process.sleep(:infinity) end, [timeout: 20], :timeout, nil},
            {fn -> Process.exit(self(), :kill) end, [], :killed, :max_heap_size},
            {fn -> raise "no" end, [], :crashed, :crashed},
            {fn -> :nonsense end, [], :crashed, :crashed},
            {fn -> {:ok, 1} end, [supervisor: :nobody], :crashed, :crashed}
          ] do
        Events.record([@event])
        isolated(run, opts)
        assert_received {:event, @event, measurements, metadata}
        assert Enum.sort(Map.keys(measurements)) == Enum.sort(measurement_keys)
        assert Enum.sort(Map.keys(metadata)) == Enum.sort(metadata_keys)
        assert metadata == %{handler: Runs, result: outcome, reason: reason}
        assert measurements.duration >= 0
        # Recorded once more by each round before.
        flush_events()
      end
    end

    defp flush_events do
      receive do
        {:event, _, _, _} -> flush_events()
      after
        0 -> :ok
      end
    end
  end

  test "callers side by side each get their own answer" do
    1..200
    |> Task.async_stream(fn n -> {n, isolated(fn -> {:ok, n} end)} end, max_concurrency: 32)
    |> Enum.each(fn {:ok, {n, result}} -> assert result == {:ok, n} end)
  end
end
