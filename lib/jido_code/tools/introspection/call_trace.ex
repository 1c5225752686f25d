defmodule JidoCode.Tools.Introspection.CallTrace do
  @moduledoc false
  # Calls of one function as they happen, by a trace session of OTP 27: apart from whatever else traces the node, and gone with the
  # process that holds it, however that ends.
  #
  # The tracer is the process that calls `run/2`. It looks at each event at once and keeps text only, so that nothing large stays
  # with it. Traced is only until the wanted number of calls began; then the function is let go, and only the ends of these calls are
  # waited for. A function that is called faster than the tracer reads is let go at once: `rate` below.
  #
  # Seeing a call's end costs the traced process a frame on its stack, a tail call too; with the number of calls that is bounded.

  alias JidoCode.Tools.Render

  # Events that may wait for the tracer, and calls within the first moment.
  @most_waiting 2_000
  @look_every 50
  @first_ms 100
  @most_first 1_000
  # For the ends of calls, after the last of them began.
  @ends_ms 2_000
  @max_bytes 700

  @type call :: %{
          pid: pid(),
          at_ns: integer(),
          arguments: [String.t()] | nil,
          ended: {:returned, String.t()} | {:raised, String.t()} | nil,
          took_ns: non_neg_integer() | nil
        }

  @type t :: %{calls: [call()], stopped: :count | :time | {:rate, pos_integer()}, took_ms: non_neg_integer()}

  @type options :: %{count: pos_integer(), timeout_ms: pos_integer(), arguments?: boolean()}

  @doc "Whether this runtime has trace sessions."
  @spec available?() :: boolean()
  def available?, do: Code.ensure_loaded?(:trace) and function_exported?(:trace, :session_create, 3)

  @doc "The calls of a function, an arity of `:_` meaning all of its name."
  @spec run({module(), atom(), arity() | :_}, options()) :: {:ok, t()} | {:error, :no_function}
  def run(function, options) do
    session = trace(:session_create, [__MODULE__, self(), []])

    try do
      case trace(:function, [session, function, [{:_, [], [{:exception_trace}]}], [:local]]) do
        0 ->
          {:error, :no_function}

        _matched ->
          flags = [:call, :monotonic_timestamp] ++ if(options.arguments?, do: [], else: [:arity])
          trace(:process, [session, :all, true, flags])
          {:ok, follow(session, function, options)}
      end
    after
      trace(:session_destroy, [session])
    end
  end

  # The types of earlier releases don't know the module.
  defp trace(function, arguments), do: apply(:trace, function, arguments)

  defp follow(session, function, options) do
    now = now()

    state = %{
      session: session,
      function: function,
      started: now,
      deadline: now + options.timeout_ms,
      left: options.count,
      events: 0,
      open: %{},
      calls: []
    }

    state = receive_events(state)
    calls = state.calls ++ Enum.concat(Map.values(state.open))
    %{calls: Enum.sort_by(calls, & &1.at_ns), stopped: state.stopped, took_ms: now() - state.started}
  end

  defp receive_events(state) do
    receive do
      event when elem(event, 0) == :trace_ts -> event |> take(state) |> go_on()
    after
      max(state.deadline - now(), 0) -> Map.put_new(state, :stopped, :time)
    end
  end

  defp go_on(%{left: 0, open: open} = state) when open == %{}, do: state

  defp go_on(state) do
    cond do
      rate = too_fast(state) -> Map.put(state, :stopped, {:rate, rate})
      now() > state.deadline -> Map.put_new(state, :stopped, :time)
      true -> receive_events(state)
    end
  end

  # Calls a second, when that is too many.
  defp too_fast(%{left: 0}), do: nil

  defp too_fast(%{events: events} = state) do
    took = max(now() - state.started, 1)
    waiting = if rem(events, @look_every) == 0, do: waiting(), else: 0

    if waiting > @most_waiting or (took <= @first_ms and events > @most_first),
      do: div((events + waiting) * 500, took) |> max(1)
  end

  defp waiting do
    {:message_queue_len, waiting} = Process.info(self(), :message_queue_len)
    waiting
  end

  # After the last call that is wanted, others may be on their way.
  defp take({:trace_ts, _pid, :call, _call, _at}, %{left: 0} = state), do: state

  defp take({:trace_ts, pid, :call, {_module, _function, arguments}, at}, state) do
    call = %{
      pid: pid,
      at_ns: at,
      arguments: if(is_list(arguments), do: Enum.map(arguments, &text/1)),
      ended: nil,
      took_ns: nil
    }

    state = %{
      state
      | events: state.events + 1,
        left: state.left - 1,
        open: Map.update(state.open, pid, [call], &[call | &1])
    }

    if state.left == 0, do: let_go(state), else: state
  end

  defp take({:trace_ts, pid, :return_from, _function, value, at}, state),
    do: ended(state, pid, at, fn -> {:returned, text(value)} end)

  defp take({:trace_ts, pid, :exception_from, _function, {class, value}, at}, state),
    do: ended(state, pid, at, fn -> {:raised, "#{class}: #{text(value)}"} end)

  defp take(_other, state), do: state

  # The last call that began in a process is the first to end.
  defp ended(state, pid, at, how) do
    case state.open do
      %{^pid => [call | outer]} ->
        call = %{call | ended: how.(), took_ns: max(at - call.at_ns, 0)}
        open = if outer == [], do: Map.delete(state.open, pid), else: Map.put(state.open, pid, outer)
        %{state | events: state.events + 1, open: open, calls: [call | state.calls]}

      %{} ->
        state
    end
  end

  defp let_go(state) do
    trace(:function, [state.session, state.function, false, [:local]])
    Map.merge(state, %{stopped: :count, deadline: min(state.deadline, now() + @ends_ms)})
  end

  defp text(term), do: term |> Render.render(max_bytes: @max_bytes) |> elem(0)

  defp now, do: System.monotonic_time(:millisecond)
end
