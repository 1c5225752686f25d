defmodule JidoCode.Tools.Security.IsolatedExecutor do
  @moduledoc """
  Runs a handler in a process of its own, within a time, a heap and a shared-binary limit, so that whatever it does the
  caller lives and gets a clear answer.

  Two processes take part, both below `JidoCode.Tools.TaskSupervisor`:

      caller ──job──► keeper ──spawns──► worker: handler.execute(args, context)
         ▲              │ clock, memory, caller's death      │
         └──────────────┴───────────── one reply ────────────┘

  The keeper is the worker's group leader, so every process that the handler spawns, however it does it, carries the
  keeper's mark. When the worker ends without answering, all processes that carry the mark are killed. When the caller dies, the
  worker is ended too: no work goes on for an answer that nobody awaits.

  Replies come through a process alias that is closed afterwards: a stray `:DOWN` or a late answer in the caller's mailbox
  is neither mistaken for the worker's nor left behind.

  ## Options

    * `:timeout` - milliseconds, default 30,000. At the end of it the worker is asked to stop (exit `:shutdown`), has
      `:grace` to answer or to clean up, and is then killed
    * `:grace` - milliseconds, default 500
    * `:max_heap_size` - words (8 bytes), default as that of the key `:max_heap_words`, see `JidoCode.Tools.Config`
    * `:max_binary_size` - bytes of binaries outside the heap, which the VM's heap limit does not count; default as that of
      `:max_binary_bytes`. Watched while the worker runs and checked before its answer is taken
    * `:supervisor` - a `Task.Supervisor`, default `JidoCode.Tools.TaskSupervisor`

  ## Results

  | what happened | result |
  |---|---|
  | `{:ok, _}` or `{:error, _}` returned | that value |
  | anything else returned | `{:error, {:crashed, {:bad_return, kind}}}`, where `kind` names the shape, not the value |
  | raised, threw, exited | `{:error, {:crashed, {:exception, struct, stacktrace}}}`, `{:crashed, {:throw, value}}`, `{:crashed, {:exit, reason}}` |
  | out of time | `{:error, :timeout}` |
  | over a memory limit (also by the arguments alone), or killed | `{:error, {:killed, :max_heap_size}}` |
  | no supervisor | `{:error, {:crashed, :supervisor_not_running}}` |
  """

  alias JidoCode.Tools.{Deadline, Telemetry}
  alias JidoCode.Tools.Config.Table
  alias JidoCode.Tools.Security.IsolatedExecutor.{Admission, Keeper}

  @type result ::
          {:ok, term()}
          | {:error, term()}
          | {:error, :timeout}
          | {:error, {:killed, :max_heap_size}}
          | {:error, {:crashed, term()}}

  @defaults %{
    timeout: Deadline.default_ms(),
    grace: 500,
    max_heap_size: Table.fetch!(:max_heap_words).default,
    max_binary_size: Table.fetch!(:max_binary_bytes).default,
    supervisor: JidoCode.Tools.TaskSupervisor
  }

  @doc "Whether the task supervisor runs."
  @spec supervisor_available?(Supervisor.supervisor()) :: boolean()
  def supervisor_available?(supervisor \\ @defaults.supervisor) do
    is_pid(GenServer.whereis(supervisor))
  end

  @doc """
  Runs `handler.execute(args, context)` isolated. Emits `[:jido_code, :security, :isolation]` once.

  Raises `ArgumentError` for an unknown option or a value out of its range; nothing else.
  """
  @spec execute_isolated(module(), map(), map(), keyword()) :: result()
  def execute_isolated(handler, args, context, opts \\ []) do
    run(handler, {args, context}, fn -> handler.execute(args, context) end, opts)
  end

  @doc """
  Runs `fun` isolated as the work of `handler` on `input`. `execute_isolated/4` is this with the handler's `execute/2`; the
  pipeline runs the handler's own checks and the redaction of its output in the same worker.

  `input` is what `fun` holds of unknown size: copying it into the worker must not take more than the worker may have.
  """
  @spec run(module(), term(), (() -> term()), keyword()) :: result()
  def run(handler, input, fun, opts \\ []) when is_function(fun, 0) do
    limits = limits(opts)
    start = System.monotonic_time()

    {outcome, result} =
      if Admission.within_heap?(input, limits.max_heap_size),
        do: supervised(fun, limits),
        else: Admission.over_limit()

    emit(handler, outcome, System.monotonic_time() - start)
    result
  end

  defp limits(opts) do
    Enum.reduce(opts, @defaults, fn
      {:supervisor, supervisor}, limits ->
        %{limits | supervisor: supervisor}

      {key, value}, limits
      when key in [:timeout, :grace, :max_heap_size, :max_binary_size] and is_integer(value) and value > 0 ->
        Map.replace!(limits, key, value)

      {key, value}, limits when is_map_key(limits, key) ->
        raise ArgumentError, "expected #{inspect(key)} to be a positive integer, got: #{inspect(value)}"

      {key, _value}, _limits ->
        raise ArgumentError,
              "unknown option #{inspect(key)}, the options are: #{Enum.map_join(Map.keys(@defaults), ", ", &inspect/1)}"
    end)
  end

  defp supervised(fun, limits) do
    reply_to = :erlang.alias([:explicit_unalias])

    try do
      case start_keeper(limits, reply_to) do
        {:ok, keeper} ->
          monitor = Process.monitor(keeper)
          send(keeper, {reply_to, :job, fun, callers(), Process.group_leader()})
          await(reply_to, keeper, monitor)

        :error ->
          {:crashed, {:error, {:crashed, :supervisor_not_running}}}
      end
    after
      :erlang.unalias(reply_to)
      flush(reply_to)
    end
  end

  defp start_keeper(limits, reply_to) do
    Task.Supervisor.start_child(limits.supervisor, Keeper, :run, [self(), reply_to, limits])
    |> case do
      {:ok, keeper} -> {:ok, keeper}
      _other -> :error
    end
  catch
    :exit, _reason -> :error
  end

  defp await(reply_to, keeper, monitor) do
    receive do
      {^reply_to, outcome, result} ->
        Process.demonitor(monitor, [:flush])
        {outcome, result}

      {:DOWN, ^monitor, :process, _keeper, :normal} ->
        # It saw the worker end after its answer. The answer came from another process, whose messages have no order with
        # the keeper's end: it may still be on its way.
        receive do
          {^reply_to, outcome, result} -> {outcome, result}
        after
          100 -> {:crashed, {:error, {:crashed, :normal}}}
        end

      {:DOWN, ^monitor, :process, _keeper, reason} ->
        # Killed, perhaps by the handler: what it would have ended is ended here.
        Keeper.sweep(keeper)
        {:crashed, {:error, {:crashed, reason}}}
    end
  end

  defp flush(reply_to) do
    receive do
      {^reply_to, _outcome, _result} -> flush(reply_to)
    after
      0 -> :ok
    end
  end

  defp callers, do: [self() | Process.get(:"$callers", [])]

  defp emit(handler, outcome, duration) do
    Telemetry.execute(
      [:jido_code, :security, :isolation],
      %{duration: System.convert_time_unit(duration, :native, :microsecond)},
      %{handler: handler, result: outcome, reason: reason(outcome)}
    )
  end

  defp reason(:killed), do: :max_heap_size
  defp reason(:crashed), do: :crashed
  defp reason(_outcome), do: nil
end
