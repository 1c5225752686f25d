defmodule JidoCode.Tools.Security.IsolatedExecutor.Keeper do
  @moduledoc false
  # The process beside an isolated worker: its clock, its memory limit, its group leader and its executioner.
  #
  # Races, and why they are harmless:
  #   1. The worker answers while the clock runs out. Both send to the caller's alias; the caller takes the first and closes
  #      the alias, so the second is dropped.
  #   2. The worker is killed between answering and ending. The answer was sent first; messages of one process keep their order.
  #   3. A process spawned by the handler spawns another while the sweep runs. The sweep repeats until it finds none.
  #   4. The handler kills this process. The worker is linked, but it may trap exits: the caller then sweeps in its place.

  alias JidoCode.Tools.Introspection.Bounded
  alias JidoCode.Tools.Security.IsolatedExecutor.Admission

  # How often the worker's binaries are looked at. Short calls end before the first look.
  @poll_ms 20

  @spec run(pid(), reference(), map()) :: :ok
  def run(caller, reply_to, limits) do
    Process.flag(:trap_exit, true)
    caller_monitor = Process.monitor(caller)

    receive do
      {^reply_to, :job, fun, callers, group_leader} ->
        {worker, monitor} = spawn_worker(fun, callers, reply_to, limits)

        watch(%{
          worker: worker,
          monitor: monitor,
          caller_monitor: caller_monitor,
          group_leader: group_leader,
          reply_to: reply_to,
          limits: limits,
          deadline: now() + limits.timeout,
          probe: nil
        })

      {:DOWN, ^caller_monitor, :process, _caller, _reason} ->
        :ok
    end
  end

  # Linked, so that the worker ends even when the keeper itself is killed.
  defp spawn_worker(fun, callers, reply_to, limits) do
    keeper = self()

    :erlang.spawn_opt(
      fn ->
        Process.group_leader(self(), keeper)
        Process.put(:"$callers", callers)

        case call(fun, limits) do
          {:ok, result} -> send(reply_to, {reply_to, :ok, result})
          # By way of the keeper, which sweeps before it passes the failure on.
          failure -> send(keeper, {:failed, self(), failure})
        end

        # Not :normal, so that processes linked to the worker end with it; and with a reason that nobody else can give.
        exit({:shutdown, reply_to})
      end,
      [:link, :monitor, max_heap_size: Bounded.heap_limit(limits.max_heap_size)]
    )
  end

  defp call(fun, limits) do
    Admission.admit(fun.(), limits)
  catch
    :error, reason ->
      exception = Exception.normalize(:error, reason, __STACKTRACE__)
      Admission.admit_failure({:exception, exception, __STACKTRACE__}, limits)

    :throw, value ->
      Admission.admit_failure({:throw, value}, limits)

    :exit, reason ->
      Admission.admit_failure({:exit, reason}, limits)
  end

  defp watch(state) do
    %{worker: worker, monitor: monitor, caller_monitor: caller_monitor, probe: probe, reply_to: reply_to} =
      state

    receive do
      {:failed, ^worker, failure} ->
        sweep(self())
        answer(state, failure)

      {:DOWN, ^monitor, :process, ^worker, {:shutdown, ^reply_to}} ->
        :ok

      {:DOWN, ^monitor, :process, ^worker, reason} ->
        sweep(self())
        answer(state, died(reason))

      {:DOWN, ^caller_monitor, :process, _caller, _reason} ->
        stop(state)

      {:io_request, _from, _reply_as, _request} = request ->
        # The reply goes from the real group leader to the one who asked.
        send(state.group_leader, request)
        watch(state)

      {:DOWN, ^probe, :process, _pid, {:within?, false}} ->
        kill(state)
        sweep(self())
        answer(state, {:killed, {:error, {:killed, :max_heap_size}}})

      {:DOWN, ^probe, :process, _pid, _reason} ->
        watch(%{state | probe: nil})

      {:EXIT, ^worker, _reason} ->
        watch(state)

      {:EXIT, _supervisor, _reason} ->
        stop(state)
        answer(state, {:crashed, {:error, {:crashed, :shutdown}}})

      _other ->
        watch(state)
    after
      poll_time(state.deadline) -> poll(state)
    end
  end

  defp poll(state) do
    cond do
      now() >= state.deadline ->
        stop(state)
        answer(state, {:timeout, {:error, :timeout}})

      # The worker is looked at only when the whole VM holds that much.
      state.probe == nil and :erlang.memory(:binary) > state.limits.max_binary_size ->
        watch(%{state | probe: probe(state)})

      true ->
        watch(state)
    end
  end

  # In a process of its own: the worker answers such questions itself, and can't while it is inside a native function. The
  # clock must go on meanwhile.
  defp probe(%{worker: worker, limits: %{max_binary_size: limit}}) do
    {_pid, monitor} = spawn_monitor(fn -> exit({:within?, Admission.binaries_within?(worker, limit)}) end)
    monitor
  end

  defp poll_time(deadline), do: deadline |> Kernel.-(now()) |> max(0) |> min(@poll_ms)

  # Asks the worker to stop, gives it the grace time, then kills; and sweeps, as it did not end by answering.
  defp stop(state) do
    Process.exit(state.worker, :shutdown)
    await_end(state, now() + state.limits.grace)
    kill(state)
    sweep(self())
  end

  defp await_end(%{worker: worker, monitor: monitor} = state, deadline) do
    receive do
      {:DOWN, ^monitor, :process, ^worker, _reason} ->
        :ok

      {:io_request, _from, _reply_as, _request} = request ->
        send(state.group_leader, request)
        await_end(state, deadline)
    after
      max(deadline - now(), 0) -> :timeout
    end
  end

  defp kill(%{worker: worker}), do: Process.exit(worker, :kill)

  @doc false
  # Ends everything that was spawned by the worker, or by what it spawned: it all has the keeper as its group leader.
  @spec sweep(pid()) :: :ok
  def sweep(keeper) do
    marked =
      for pid <- Process.list(),
          pid != keeper,
          Process.info(pid, :group_leader) == {:group_leader, keeper},
          do: pid

    if marked != [] do
      monitors = for pid <- marked, do: kill_and_monitor(pid)
      for monitor <- monitors, do: await_down(monitor)
      sweep(keeper)
    end

    :ok
  end

  defp kill_and_monitor(pid) do
    Process.exit(pid, :kill)
    Process.monitor(pid)
  end

  defp await_down(monitor) do
    receive do
      {:DOWN, ^monitor, :process, _pid, _reason} -> :ok
    end
  end

  defp answer(%{reply_to: reply_to}, {outcome, result}) do
    send(reply_to, {reply_to, outcome, result})
    :ok
  end

  defp died(:killed), do: {:killed, {:error, {:killed, :max_heap_size}}}
  defp died(reason), do: {:crashed, {:error, {:crashed, reason}}}

  defp now, do: System.monotonic_time(:millisecond)
end
