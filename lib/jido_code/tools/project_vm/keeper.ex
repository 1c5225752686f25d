defmodule JidoCode.Tools.ProjectVM.Keeper do
  @moduledoc false
  # Owns the project's VM: starts it in the fence, asks it, starts it again by a question after it ended, and ends it.
  #
  #     down ──question──► locking ──► starting ──ready──► ready
  #      ▲                     │            │                │
  #      └── questions are answered why ◄───┴────────────────┘   it ended
  #
  # What the VM sends is untrusted: see `JidoCode.Tools.ProjectVM.Wire`. A VM that ends for no reason it gave is started again later
  # each time, so that it can't be made to start once a second.

  use GenServer, restart: :temporary

  alias JidoCode.Tools.Progress
  alias JidoCode.Tools.ProjectVM.{Offer, Run, Wire}
  alias JidoCode.Tools.Security.OutputSanitizer
  alias JidoCode.Tools.Shortened

  require Logger

  @tick_ms 1_000
  # The handler over there keeps the time; the way there and back takes some more.
  @way_ms 1_000
  @first_pause_ms 1_000
  @longest_pause_ms 60_000
  # After this time a VM has proved that it can run.
  @proved_ms 60_000
  @restart_grace_ms 5_000
  @max_secrets 1_000
  @max_secret_bytes 4_096

  @spec start(Path.t(), keyword()) :: GenServer.on_start()
  def start(root, opts), do: GenServer.start_link(__MODULE__, {root, opts})

  @spec ready?(pid()) :: boolean()
  def ready?(keeper), do: safely(keeper, :ready?, false)

  @spec starting?(pid()) :: boolean()
  def starting?(keeper), do: safely(keeper, :starting?, false)

  @doc "The release of OTP that the project's VM says it runs on; nil while it does not run."
  @spec otp_release(pid()) :: pos_integer() | nil
  def otp_release(keeper), do: safely(keeper, :otp_release, nil)

  @doc "In a few words, what the project does now."
  @spec state_text(pid()) :: String.t()
  def state_text(keeper), do: safely(keeper, :state_text, "the server is ending")

  @spec ask(pid(), map()) :: {:ok, map()} | {:error, String.t() | {:timeout, String.t()}}
  def ask(keeper, question), do: safely(keeper, {:ask, question}, {:error, "The server is ending"})

  @spec restart(pid(), pos_integer(), term()) :: {:ok, String.t()} | {:error, String.t()}
  def restart(keeper, patience, progress),
    do:
      safely(keeper, {:restart, %{patience: patience, progress: progress}}, {:error, "The server is ending"})

  @spec stop(pid(), non_neg_integer()) :: :ok
  def stop(keeper, grace), do: safely(keeper, {:stop, grace}, :ok)

  defp safely(keeper, request, otherwise) do
    GenServer.call(keeper, request, :infinity)
  catch
    :exit, _reason -> otherwise
  end

  @impl true
  def init({root, opts}) do
    Process.flag(:trap_exit, true)
    :timer.send_interval(@tick_ms, :tick)

    state = %{
      root: root,
      opts: opts,
      connection: opts[:connection],
      # :down, :locking, :starting, :ready, :ending
      phase: :down,
      vm: nil,
      locked?: false,
      doing: "",
      # Why, in its words, and what was redacted in them.
      failed: nil,
      ready_at: nil,
      otp: nil,
      # What is to be told of the last end: {why, unexplained?}
      ended: nil,
      pause: 0,
      not_before: nil,
      # Questions by number: those that wait for the VM, and those that it has.
      waiting: %{},
      asked: %{},
      restarting: [],
      # The project's own tools: what it sent and nobody has read yet, and what was read last, with what was refused.
      offer: nil,
      tools: {[], []}
    }

    {:ok, begin(state)}
  end

  @impl true
  def handle_call(:ready?, _from, state), do: {:reply, state.phase == :ready, state}
  def handle_call(:starting?, _from, state), do: {:reply, state.phase != :down, state}
  def handle_call(:otp_release, _from, state), do: {:reply, if(state.phase == :ready, do: state.otp), state}
  def handle_call(:state_text, _from, state), do: {:reply, describe(state), state}

  def handle_call({:ask, question}, {pid, _tag} = from, state) do
    id = System.unique_integer([:positive])
    timer = Process.send_after(self(), {:impatient, id}, question.patience)
    entry = Map.merge(question, %{from: from, timer: timer, monitor: Process.monitor(pid)})
    state = put_in(state.waiting[id], entry)

    cond do
      state.phase == :ready -> {:noreply, send_waiting(state)}
      state.phase != :down -> {:noreply, state}
      pause = paused(state) -> {:noreply, refuse_waiting(state, paused_text(state, pause))}
      true -> {:noreply, begin(state)}
    end
  end

  def handle_call({:restart, request}, from, state) do
    timer = Process.send_after(self(), {:impatient_restart, from}, request.patience)
    state = %{state | restarting: [Map.merge(request, %{from: from, timer: timer}) | state.restarting]}
    {:noreply, finish(%{state | pause: 0, not_before: nil}, @restart_grace_ms)}
  end

  def handle_call({:stop, grace}, from, state) do
    if state.vm, do: Run.stop(state.vm, grace)
    GenServer.reply(from, :ok)
    {:stop, :normal, state}
  end

  @impl true
  def handle_info(:locked, %{phase: :locking} = state) do
    state = %{state | locked?: true}

    case Run.start(state.root, state.opts) do
      {:ok, vm} -> {:noreply, %{state | phase: :starting, vm: vm, doing: "starting Mix"}}
      {:error, why} -> {:noreply, ended(state, why, true)}
    end
  end

  # It was wanted by a start that is over.
  def handle_info(:locked, state), do: {:noreply, unlock(%{state | locked?: true})}

  def handle_info({:connected, socket}, %{vm: %{}} = state),
    do: {:noreply, %{state | vm: Run.connected(state.vm, socket)}}

  def handle_info({:tcp, socket, frame}, %{vm: %{socket: socket}} = state) do
    :inet.setopts(socket, active: :once)

    case Wire.decode(frame) do
      {:ok, message} -> {:noreply, hear(message, state)}
      :error -> {:noreply, broken(state)}
    end
  end

  def handle_info({:tcp_closed, socket}, %{vm: %{socket: socket}} = state), do: {:noreply, hung_up(state)}
  def handle_info({:tcp_error, socket, _why}, %{vm: %{socket: socket}} = state), do: {:noreply, broken(state)}

  def handle_info({:printed, vm, text}, %{vm: %{id: vm}} = state),
    do: {:noreply, %{state | vm: Run.printed(state.vm, text)}}

  def handle_info({:over, vm, how}, %{vm: %{id: vm}} = state) do
    {{why, note}, explained?} =
      cond do
        state.phase == :ending -> {{"It was ended", nil}, true}
        state.failed -> {state.failed, true}
        true -> {{"It ended unexpectedly (#{how})", nil}, false}
      end

    {:noreply, ended(state, Run.last_words(state.vm, why, note), explained?)}
  end

  def handle_info({:impatient, id}, state) do
    case Map.pop(state.waiting, id) do
      {nil, _waiting} ->
        {:noreply, state}

      {entry, waiting} ->
        seconds = div(entry.patience, 1_000)
        why = "The project is still starting, after #{seconds} s (#{doing(state)}). Call again in a while."
        reply(entry, {:error, why})
        {:noreply, %{state | waiting: waiting}}
    end
  end

  def handle_info({:impatient_restart, from}, state) do
    {late, rest} = Enum.split_with(state.restarting, &(&1.from == from))

    for entry <- late,
        do:
          GenServer.reply(
            from,
            {:error, "Still working (#{doing(state)}), after #{div(entry.patience, 1_000)} s."}
          )

    {:noreply, %{state | restarting: rest}}
  end

  def handle_info({:overdue, id}, state) do
    case Map.pop(state.asked, id) do
      {nil, _asked} ->
        {:noreply, state}

      {entry, asked} ->
        Run.tell(state.vm, {:cancel, id})
        reply(entry, {:error, {:timeout, "The project's VM did not answer in time: it is busy or stopped"}})
        {:noreply, %{state | asked: asked}}
    end
  end

  # Who asked is gone: by a cancellation, or by the pipeline's own time limit.
  def handle_info({:DOWN, monitor, :process, _pid, _reason}, state) do
    for {id, %{monitor: ^monitor}} <- state.asked, do: Run.tell(state.vm, {:cancel, id})
    mine? = fn {_id, entry} -> entry.monitor == monitor end
    {:noreply, %{state | waiting: Map.reject(state.waiting, mine?), asked: Map.reject(state.asked, mine?)}}
  end

  def handle_info(:tick, state) do
    if state.phase in [:locking, :starting, :ending] do
      for entry <- Map.values(state.waiting) ++ state.restarting, is_function(entry.progress, 1) do
        Progress.report(%{progress: entry.progress}, doing(state))
      end
    end

    {:noreply, if(state.phase == :ready, do: read_offer(state), else: state)}
  end

  def handle_info(_message, state), do: {:noreply, state}

  @impl true
  def terminate(_reason, state), do: if(state.vm, do: Run.stop(state.vm, 0))

  # Once a tick, however often it sends them.
  defp read_offer(%{offer: nil} = state), do: state
  defp read_offer(state), do: offered(%{state | offer: nil}, Offer.read(state.offer))

  defp offered(%{tools: tools} = state, tools), do: state

  defp offered(state, {tools, refused}) do
    for why <- refused, do: Logger.warning(why)
    if state.connection, do: GenServer.cast(state.connection, {:offered, tools})
    %{state | tools: {tools, refused}}
  end

  defp begin(state) do
    if state.connection, do: GenServer.cast(state.connection, {:lock, self()}), else: send(self(), :locked)

    %{
      state
      | phase: :locking,
        failed: nil,
        offer: nil,
        doing: "waiting for another server that compiles the project"
    }
  end

  defp hear(%{"type" => "starting", "doing" => doing}, state) when is_binary(doing),
    do: %{state | doing: doing |> redacted() |> elem(0)}

  defp hear(%{"type" => "compiled"}, state), do: unlock(state)

  defp hear(%{"type" => "restrict", "secrets" => secrets}, state) when is_list(secrets) do
    for secret <- Enum.take(secrets, @max_secrets),
        is_binary(secret),
        byte_size(secret) <= @max_secret_bytes do
      OutputSanitizer.register_secret(secret)
    end

    state
  end

  defp hear(%{"type" => "tools", "tools" => tools}, state) when is_list(tools), do: %{state | offer: tools}

  defp hear(%{"type" => "ready"} = message, %{phase: :starting} = state) do
    for entry <- state.restarting do
      Process.cancel_timer(entry.timer)
      GenServer.reply(entry.from, {:ok, "The project was restarted and is running."})
    end

    %{unlock(state) | phase: :ready, ready_at: now(), otp: release(message["otp"]), restarting: []}
    |> read_offer()
    |> send_waiting()
  end

  defp hear(%{"type" => "failed", "why" => why}, state) when is_binary(why),
    do: %{state | failed: redacted(why)}

  defp hear(%{"type" => "answer", "id" => id} = message, state) do
    case Map.pop(state.asked, id) do
      {nil, _asked} ->
        state

      {entry, asked} ->
        reply(entry, with_news(answer(message), state.ended))
        %{state | asked: asked, ended: nil}
    end
  end

  defp hear(_nonsense, state), do: state

  defp answer(%{"ok" => %{} = result}), do: {:ok, result}
  defp answer(%{"error" => why}) when is_binary(why), do: {:error, why}
  defp answer(%{"failure" => "timeout"}), do: {:error, {:timeout, "The project's VM did not answer in time"}}

  defp answer(%{"failure" => "too_large"}),
    do: {:error, "The answer of the project's VM is too large. Ask for less."}

  defp answer(_other), do: {:error, "The project's VM failed to answer the call"}

  defp release(<<ten, one>>) when ten in ?0..?9 and one in ?0..?9, do: (ten - ?0) * 10 + one - ?0
  defp release(_other), do: nil

  # An end that nobody was told of is told with the first answer after it.
  defp with_news({:ok, result}, {why, false}) do
    news = "The project's VM was started again: #{why}"
    {:ok, Map.update(result, "note", news, &if(is_binary(&1), do: &1 <> " " <> news, else: news))}
  end

  defp with_news(answer, _told), do: answer

  defp send_waiting(state) do
    for {id, entry} <- state.waiting do
      Process.cancel_timer(entry.timer)
      Run.tell(state.vm, message(id, entry))
    end

    asked =
      Map.new(state.waiting, fn {id, entry} ->
        {id, %{entry | timer: Process.send_after(self(), {:overdue, id}, entry.timeout + @way_ms)}}
      end)

    %{state | waiting: %{}, asked: Map.merge(state.asked, asked)}
  end

  defp message(id, %{tool: tool} = entry), do: {:tool, id, tool, entry.args, entry.context}
  defp message(id, entry), do: {:ask, id, entry.handler, entry.args, entry.context, entry.timeout}

  # Frames that make no sense: nothing it says can be used.
  defp broken(state) do
    Run.stop(state.vm, 0)
    %{state | failed: state.failed || {"It sent something that is not one of the server's messages", nil}}
  end

  # It ends itself, or should have.
  defp hung_up(state) do
    Run.stop_soon(state.vm, @restart_grace_ms)
    %{state | vm: %{state.vm | socket: nil}}
  end

  defp finish(%{phase: :down} = state, _grace), do: begin(state)
  defp finish(%{phase: phase} = state, _grace) when phase in [:locking, :ending], do: state

  defp finish(state, grace) do
    Run.stop_soon(state.vm, grace)
    %{state | phase: :ending, doing: "ending the project's VM"}
  end

  defp ended(state, why, explained?) do
    if state.vm, do: Run.clean(state.vm)
    told? = state.waiting != %{} or state.asked != %{}
    {waiting, restarting} = {state.waiting, state.restarting}
    was = state.phase
    text = "The project is not running. #{why}"
    for {_id, entry} <- state.asked, do: reply(entry, {:error, text})

    state =
      unlock(%{state | phase: :down, vm: nil, asked: %{}, ended: if(told?, do: nil, else: {why, explained?})})

    state = if explained?, do: %{state | pause: 0, not_before: nil}, else: pause(state)

    # Of a project that ran, the next call of any tool starts it again; one that does not start offers nothing.
    state = if was == :starting, do: offered(state, {[], []}), else: state

    # What was asked while it ended by request waits for the next one.
    if was == :ending and (waiting != %{} or restarting != []) do
      begin(%{state | ended: nil})
    else
      for entry <- restarting, do: GenServer.reply(entry.from, {:error, text})
      refuse_waiting(%{state | restarting: []}, text)
    end
  end

  defp pause(state) do
    proved? = state.ready_at != nil and now() - state.ready_at > @proved_ms
    pause = if state.pause == 0 or proved?, do: @first_pause_ms, else: min(state.pause * 2, @longest_pause_ms)
    %{state | pause: pause, not_before: now() + pause, ready_at: nil}
  end

  # Milliseconds until it may be started again, or nil.
  defp paused(%{not_before: nil}), do: nil
  defp paused(%{not_before: time}), do: if(time > now(), do: time - now())

  defp paused_text(state, pause) do
    {why, _explained?} = state.ended || {"It ended unexpectedly more than once", false}
    "The project is not running. #{why}\nA call in #{div(pause, 1_000) + 1} s or later starts it again."
  end

  defp refuse_waiting(state, why) do
    for {_id, entry} <- state.waiting, do: reply(entry, {:error, why})
    %{state | waiting: %{}}
  end

  defp reply(entry, answer) do
    Process.cancel_timer(entry.timer)
    Process.demonitor(entry.monitor, [:flush])
    GenServer.reply(entry.from, answer)
  end

  defp unlock(%{locked?: true} = state) do
    if state.connection, do: GenServer.cast(state.connection, :unlock)
    %{state | locked?: false}
  end

  defp unlock(state), do: state

  defp describe(%{phase: :ready}), do: "the project runs"
  defp describe(%{phase: :down}), do: "the project is not running"
  defp describe(_state), do: "the project is starting"

  defp doing(state) do
    case state.vm && Run.last_line(state.vm) do
      line when line in [nil, ""] -> state.doing
      line -> "#{state.doing}: #{line}"
    end
  end

  # Text of the project's VM, with the note on what was redacted in it.
  defp redacted(text) do
    {clean, note} = OutputSanitizer.redact(text, emit_telemetry: false)
    {Shortened.block(clean, 4_000), note}
  end

  defp now, do: System.monotonic_time(:millisecond)
end
