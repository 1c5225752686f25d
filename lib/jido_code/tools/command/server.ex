defmodule JidoCode.Tools.Command.Server do
  @moduledoc false
  # The process that owns a command's port.
  #
  # A process of its own, even for a call that waits: the caller's mailbox stays clean, a port that breaks down can't
  # take the caller with it, and the caller's death is seen by a monitor. Closing the port is what ends the command, and
  # the VM does it whenever this process ends, however it does.
  #
  # As a child of a supervisor: `{JidoCode.Tools.Command.Server, {command, options}}`, never restarted. Its functions are
  # those of `JidoCode.Tools.Command`.

  use GenServer, restart: :temporary

  alias JidoCode.Tools.Command.{Fence, Options, Output, Result, Runner}

  @streams [stdout: "stdout", stderr: "stderr", channel: "channel"]

  # Past the runner's own timeout, grace and patience with what can't be killed, it is taken for broken.
  @slack 15_000
  # The result is there; the guard still removes the temporary folder.
  @clean_up 10_000

  @doc false
  @spec start_link({term(), keyword()}) :: GenServer.on_start()
  def start_link({command, options}) do
    {owner, options} = Keyword.pop(options, :owner)

    with {:ok, spec} <- Options.spec(command, options),
         do: GenServer.start_link(__MODULE__, {spec, owner})
  end

  @doc false
  @spec await_start(pid()) :: :ok | {:error, JidoCode.Tools.Command.reason()}
  def await_start(pid), do: call(pid, :await_start)

  @doc false
  @spec await(pid(), timeout()) :: {:ok, Result.t()} | {:error, :running | JidoCode.Tools.Command.reason()}
  def await(pid, timeout), do: call(pid, {:await, timeout})

  @doc false
  @spec read(pid(), tuple(), pos_integer()) :: {:ok, map()} | {:error, term()}
  def read(pid, positions, limit), do: call(pid, {:read, positions, limit})

  @doc false
  @spec confinement(pid()) :: map() | nil
  def confinement(pid) do
    case call(pid, :confinement) do
      {:error, _gone} -> nil
      confinement -> confinement
    end
  end

  @doc false
  @spec stop(pid()) :: {:ok, Result.t()} | {:error, JidoCode.Tools.Command.reason()}
  def stop(pid), do: call(pid, :stop)

  @doc false
  @spec close(pid()) :: :ok
  def close(pid) do
    GenServer.stop(pid, :normal)
  catch
    :exit, _already_gone -> :ok
  end

  # The server answers every call in bounded time, and a call ends with the server.
  defp call(pid, request) do
    GenServer.call(pid, request, :infinity)
  catch
    :exit, _reason -> {:error, {:runner, "the process that owned the command is gone"}}
  end

  @impl true
  def init({spec, owner}) do
    Process.flag(:trap_exit, true)
    if owner, do: Process.monitor(owner)

    state = %{
      port: nil,
      spec: spec,
      owner: owner,
      # :starting, :running, {:ending, answer} until the runner has gone, {:over, answer}
      phase: :starting,
      # As the runner tells it, at the start or, when no command could be started, at the end.
      confinement: nil,
      # [{from, request, timer}], for the start and the end
      waiting: [],
      # read id => {from, positions, limit}
      reads: %{},
      next_read: 1,
      deadline: nil
    }

    case open(spec) do
      {:ok, port} ->
        limit = spec.request.timeout + spec.request.grace + @slack
        {:ok, %{state | port: port, deadline: send_after(self(), :overdue, limit)}}

      {:error, reason} ->
        {:ok, %{state | phase: {:over, {:error, reason}}}}
    end
  end

  @impl true
  def handle_call(:await_start, _from, %{phase: :running} = state), do: {:reply, :ok, state}

  def handle_call(:await_start, _from, %{phase: {:over, answer}} = state),
    do: {:reply, started(answer), state}

  def handle_call(:await_start, from, state), do: {:noreply, wait(state, from, :start, :infinity)}

  def handle_call({:await, _timeout}, _from, %{phase: {:over, answer}} = state), do: {:reply, answer, state}
  def handle_call({:await, 0}, _from, state), do: {:reply, {:error, :running}, state}
  def handle_call({:await, timeout}, from, state), do: {:noreply, wait(state, from, :end, timeout)}

  def handle_call(:confinement, _from, state), do: {:reply, state.confinement, state}

  def handle_call(:stop, _from, %{phase: {:over, answer}} = state), do: {:reply, answer, state}

  def handle_call(:stop, from, state) do
    tell(state.port, :stop)
    {:noreply, wait(state, from, :end, :infinity)}
  end

  def handle_call({:read, positions, limit}, from, state) do
    case state do
      %{phase: phase} when phase in [:starting, :running] ->
        id = state.next_read
        {stdout, stderr, channel} = three(positions)
        tell(state.port, {id, stdout, stderr, channel, limit})
        reads = Map.put(state.reads, id, {from, positions, limit})
        {:noreply, %{state | next_read: id + 1, reads: reads}}

      %{phase: {_ending, answer}} ->
        {:reply, read_result(answer, positions, limit), state}
    end
  end

  @impl true
  def handle_info({port, {:data, data}}, %{port: port} = state) do
    # The runner's maps have binary keys and three atoms that exist; :safe makes that sure.
    {:noreply, event(:erlang.binary_to_term(data, [:safe]), state)}
  end

  # The last message of a port with this option: nothing of the command is left.
  def handle_info({port, {:exit_status, status}}, %{port: port} = state) do
    answer =
      case state.phase do
        {:ending, answer} -> answer
        _unfinished -> {:error, {:runner, "it ended with status #{status} before the command did"}}
      end

    {:noreply, over(state, answer)}
  end

  def handle_info({:EXIT, port, reason}, %{port: port} = state) do
    case state.phase do
      # A write to a runner that had just ended closes the port without a status.
      {:ending, answer} -> {:noreply, over(state, answer)}
      {:over, _answer} -> {:noreply, state}
      _unfinished -> {:noreply, over(state, {:error, {:runner, "its port closed: #{inspect(reason)}"}})}
    end
  end

  def handle_info(:overdue, state) do
    case state.phase do
      {:over, _answer} ->
        {:noreply, state}

      {:ending, answer} ->
        Runner.close(state.port)
        {:noreply, over(state, answer)}

      _unfinished ->
        Runner.close(state.port)
        {:noreply, over(state, {:error, {:runner, "it did not end the command in time"}})}
    end
  end

  def handle_info({:waited, from}, state) do
    case List.keytake(state.waiting, from, 0) do
      {_waiter, waiting} ->
        GenServer.reply(from, {:error, :running})
        {:noreply, %{state | waiting: waiting}}

      nil ->
        {:noreply, state}
    end
  end

  def handle_info({:DOWN, _monitor, :process, owner, _reason}, %{owner: owner} = state) do
    {:stop, :normal, state}
  end

  # A parent's exit ends this process by `terminate`; others are links of nobody's concern here.
  def handle_info(_message, state), do: {:noreply, state}

  defp event(%{"event" => "started"} = report, %{phase: :starting} = state) do
    state = %{state | phase: :running, confinement: report["confinement"]}
    reply_waiting(state, :start, :ok)
  end

  defp event(%{"event" => "read", "id" => id} = answer, state) do
    case Map.pop(state.reads, id) do
      {{from, _positions, _limit}, reads} ->
        slices = for {key, name} <- @streams, into: %{}, do: {key, slice(answer[name])}
        GenServer.reply(from, {:ok, slices})
        %{state | reads: reads}

      {nil, _reads} ->
        state
    end
  end

  defp event(%{"event" => "done"} = report, state) do
    ending(
      %{state | confinement: report["confinement"]},
      Result.from_report(report, state.spec.single?)
    )
  end

  defp event(%{"event" => "refused", "kind" => kind, "message" => text}, state) do
    reason =
      case kind do
        "confinement" -> confinement_refused(text)
        "bad_spec" -> {:invalid, text}
        _system -> {:runner, text}
      end

    ending(state, {:error, reason})
  end

  defp confinement_refused(text) do
    Fence.forget()
    {:confinement, text}
  end

  # Reads that crossed with the report are answered from it; the answer to all others waits for the runner's end, so
  # that nothing of the command is left when it comes.
  defp ending(state, answer) do
    for {_id, {from, positions, limit}} <- state.reads,
        do: GenServer.reply(from, read_result(answer, positions, limit))

    cancel(state.deadline)
    # It waits for this: a question that found it gone would close the port before the report is read.
    tell(state.port, :taken)
    %{state | phase: {:ending, answer}, reads: %{}, deadline: send_after(self(), :overdue, @clean_up)}
  end

  defp over(state, answer) do
    cancel(state.deadline)

    for {_id, {from, positions, limit}} <- state.reads,
        do: GenServer.reply(from, read_result(answer, positions, limit))

    %{state | phase: {:over, answer}, reads: %{}, deadline: nil}
    |> reply_waiting(:start, started(answer))
    |> reply_waiting(:end, answer)
  end

  # A command that was started and is already over was started.
  defp started({:ok, _result}), do: :ok
  defp started({:error, reason}), do: {:error, reason}

  defp read_result({:ok, result}, positions, limit) do
    {stdout, stderr, channel} = three(positions)

    {:ok,
     %{
       stdout: Output.slice(result.stdout, stdout, limit),
       stderr: Output.slice(result.stderr, stderr, limit),
       channel: Output.slice(result.channel, channel, limit)
     }}
  end

  defp read_result({:error, reason}, _positions, _limit), do: {:error, reason}

  defp three({stdout, stderr}), do: {stdout, stderr, 0}
  defp three({_stdout, _stderr, _channel} = positions), do: positions

  defp slice(%{"text" => text, "next" => next, "dropped" => dropped}),
    do: %{text: text, next: next, dropped: dropped}

  defp wait(state, from, for_what, timeout) do
    timer = if timeout != :infinity, do: send_after(self(), {:waited, from}, timeout)
    %{state | waiting: [{from, for_what, timer} | state.waiting]}
  end

  defp reply_waiting(state, for_what, answer) do
    {ready, waiting} = Enum.split_with(state.waiting, &(elem(&1, 1) == for_what))

    for {from, _for_what, timer} <- ready do
      cancel(timer)
      GenServer.reply(from, answer)
    end

    %{state | waiting: waiting}
  end

  # Longer than timers are sure to take (49 days) is for ever.
  defp send_after(pid, message, time) when time <= 4_294_967_295, do: Process.send_after(pid, message, time)
  defp send_after(_pid, _message, _time), do: nil

  defp cancel(nil), do: :ok
  defp cancel(timer), do: Process.cancel_timer(timer)

  defp open(spec) do
    case Runner.open(spec.executable, [spec.scratch]) do
      {:ok, port} ->
        tell(port, spec.request)
        {:ok, port}

      {:error, text} ->
        {:error, {:runner, text}}
    end
  end

  # A port that has just closed raises; its exit message tells the rest.
  defp tell(port, term) do
    Port.command(port, :erlang.term_to_binary(term))
    :ok
  rescue
    ArgumentError -> :ok
  end
end
