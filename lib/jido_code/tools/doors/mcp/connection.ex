defmodule JidoCode.Tools.Doors.MCP.Connection do
  @moduledoc false
  # The end of the channel to the launcher (`native/mcp_launcher`), which owns the MCP client's stdin and stdout, in the VM that
  # runs the tools.
  #
  #     client ── jido_mcp ── socket ── Connection ── a process for each call: SecureExecutor
  #                                         │
  #                                         └── one session: limits, grants, shells
  #
  # A connection is a session. It begins when the launcher has started this VM and ends with the channel, whatever ended it:
  # then all calls end with their OS processes, and the session with its background shells.
  #
  # ## Messages
  #
  # JSON objects, each behind its length in four bytes, big-endian.
  #
  # | from | message | meaning |
  # |---|---|---|
  # | VM | `{"type": "starting", "doing": text}` | what it does on its way |
  # | VM | `{"type": "ready"}` | it takes calls |
  # | VM | `{"type": "failed", "why": text}` | it can't, and ends |
  # | launcher | `{"type": "call", "id": n, "name": text, "arguments": {}, "ask": bool, "said": word}` | run a tool; see below |
  # | launcher | `{"type": "asked", "name": text, "arguments": {}}` | the client has the question; see below |
  # | launcher | `{"type": "dropped"}` | it has it no more |
  # | launcher | `{"type": "cancel", "id": n}` | end that call; no answer |
  # | VM | `{"type": "tools", "tools": []}` | the project's own tools, listed after the library's; whenever they change |
  # | VM | `{"type": "progress", "id": n, "text": text}` | what a call does |
  # | VM | `{"type": "lock"}` | let no other server compile this project |
  # | launcher | `{"type": "locked"}` | none will |
  # | VM | `{"type": "unlock"}` | another may |
  # | VM | `{"type": "answer", "id": n, "text": text, "structured": {} or null, "error": bool, "question": text}` | its end |
  #
  # ## Consent in the conversation
  #
  # A call that was denied for its tier or for want of consent is answered with a question (`JidoCode.Tools.Doors.MCP.Question`) when the
  # launcher can ask the person at the client (`"ask": true`). The launcher then makes the same call again with what was said:
  # `"once"`, `"session"` (the tool is granted as long as the session lives, not its tier), `"no"`, `"unanswered"`. Each of these is
  # an entry of the audit trail. The same call made again right after a no is a no, and nobody is asked.
  #
  # What was said may never come: in the newer era the client itself brings it, in the older one it may cancel the call that waits for
  # it. So the launcher tells that the client has the question. One that was dropped, that gave way to another or is open when the
  # session ends is an entry as well, `unanswered`.

  use GenServer, restart: :temporary

  alias JidoCode.Tools.{JSON, SecureExecutor}
  alias JidoCode.Tools.Doors.MCP.{Answer, Consent, Listing, Tools}
  alias JidoCode.Tools.Security.{AuditWatch, OutputSanitizer, RedactionNote}

  @doc "Connects to the launcher's socket. The process lives as long as the channel."
  @spec start(Path.t()) :: {:ok, pid()} | {:error, String.t()}
  def start(socket) do
    case GenServer.start(__MODULE__, socket) do
      {:ok, connection} -> {:ok, connection}
      {:error, reason} -> {:error, "no launcher listens at #{socket}: #{:inet.format_error(reason)}"}
    end
  end

  @doc "Tells what the VM does before it is ready."
  @spec starting(pid(), String.t()) :: :ok
  def starting(connection, doing), do: cast(connection, %{"type" => "starting", "doing" => doing})

  @doc "Takes calls from now on, each with `context`. The session is named by its `:session_id`."
  @spec ready(pid(), map()) :: :ok
  def ready(connection, %{session_id: session} = context) when is_binary(session),
    do: GenServer.call(connection, {:ready, context})

  @doc """
  Tells why there will be no calls, and closes the channel. A model reads it, and it may be an exception of the project's: it is
  redacted and shortened like the text of any failure.
  """
  @spec failed(pid(), String.t()) :: :ok
  def failed(connection, why) do
    {why, note} = OutputSanitizer.redact(why, emit_telemetry: false)
    %{"text" => text} = why |> utf8() |> Answer.failure()
    cast(connection, %{"type" => "failed", "why" => RedactionNote.add(text, note)})
    GenServer.stop(connection)
  end

  # JSON takes nothing else.
  defp utf8(text), do: if(String.valid?(text), do: text, else: inspect(text, binaries: :as_strings))

  defp cast(connection, message), do: GenServer.cast(connection, {:send, message})

  @impl true
  def init(path) do
    Process.flag(:trap_exit, true)

    case :gen_tcp.connect({:local, path}, 0, [:binary, packet: 4, active: true, send_timeout: 30_000]) do
      {:ok, socket} ->
        {:ok, %{socket: socket, context: nil, calls: %{}, lockers: [], offered: [], consent: Consent.new()}}

      {:error, reason} ->
        {:stop, reason}
    end
  end

  @impl true
  def handle_call({:ready, context}, _from, state) do
    SecureExecutor.own_session(context.session_id, self())
    transmit(state, %{"type" => "ready"})
    {:reply, :ok, %{state | context: context}}
  end

  @impl true
  def handle_cast({:send, message}, state) do
    transmit(state, message)
    {:noreply, state}
  end

  # By the keeper of the project's VM, which has read them with care.
  def handle_cast({:offered, definitions}, state) do
    transmit(state, %{"type" => "tools", "tools" => Enum.map(definitions, &Listing.tool/1)})
    {:noreply, %{state | offered: definitions}}
  end

  # One keeper of a project's VM asks, once at a time.
  def handle_cast({:lock, keeper}, state) do
    transmit(state, %{"type" => "lock"})
    {:noreply, %{state | lockers: state.lockers ++ [keeper]}}
  end

  def handle_cast(:unlock, state) do
    transmit(state, %{"type" => "unlock"})
    {:noreply, state}
  end

  @impl true
  def handle_info({:tcp, _socket, frame}, state) do
    case JSON.decode(frame) do
      {:ok, message} -> {:noreply, handle(message, state)}
      # The launcher wrote it with the same care: something is very wrong.
      {:error, problem} -> {:stop, {:shutdown, problem}, state}
    end
  end

  def handle_info({:tcp_closed, _socket}, state), do: {:stop, :normal, state}
  def handle_info({:tcp_error, _socket, reason}, state), do: {:stop, {:shutdown, reason}, state}

  def handle_info({:progress, id, text}, state) do
    if is_map_key(state.calls, id),
      do: transmit(state, %{"type" => "progress", "id" => id, "text" => text})

    {:noreply, state}
  end

  def handle_info({:answer, id, answer}, state), do: {:noreply, answer(state, id, answer)}

  def handle_info({:EXIT, pid, _reason}, state) do
    case Enum.find(state.calls, fn {_id, call} -> call.pid == pid end) do
      # Its answer has come before.
      nil -> {:noreply, state}
      {id, _call} -> {:noreply, answer(state, id, Answer.failure("The call ended without an answer"))}
    end
  end

  def handle_info(_message, state), do: {:noreply, state}

  @impl true
  def terminate(_reason, state) do
    for {id, _call} <- state.calls, do: cancel(id, state)
    if state.context, do: Consent.close(state.consent, state.context)
    if state.context, do: SecureExecutor.end_session(state.context.session_id)
    :gen_tcp.close(state.socket)
  end

  defp handle(
         %{"type" => "call", "id" => id, "name" => name, "arguments" => args} = message,
         %{context: %{}} = state
       )
       when is_integer(id) and is_binary(name) and is_map(args) do
    connection = self()
    context = Map.put(state.context, :progress, &send(connection, {:progress, id, &1}))
    {consent, context, spoken} = Consent.take(state.consent, message["said"], name, args, context)
    call = Tools.call(name, args, context, state.offered)
    ask? = message["ask"] == true and not Consent.refused?(consent, name, args)
    # Linked, so that it ends with the connection even when that is killed.
    pid = spawn_link(fn -> run(connection, id, call, ask?, spoken) end)
    %{state | calls: Map.put(state.calls, id, %{pid: pid}), consent: consent}
  end

  defp handle(%{"type" => "asked", "name" => name, "arguments" => args}, %{context: %{}} = state)
       when is_binary(name) and is_map(args),
       do: %{state | consent: Consent.asked(state.consent, name, args, state.context)}

  defp handle(%{"type" => "dropped"}, %{context: %{}} = state),
    do: %{state | consent: Consent.close(state.consent, state.context)}

  # Before it was ready nothing was asked.
  defp handle(%{"type" => type}, state) when type in ["asked", "dropped"], do: state

  defp handle(%{"type" => "cancel", "id" => id}, state) when is_map_key(state.calls, id),
    do: cancel(id, state)

  defp handle(%{"type" => "locked"}, %{lockers: [keeper | rest]} = state) do
    send(keeper, :locked)
    %{state | lockers: rest}
  end

  # Its answer has crossed the cancellation.
  defp handle(%{"type" => "cancel"}, state), do: state

  defp run(connection, id, call, ask?, spoken) do
    call = SecureExecutor.execute(call)
    answer = Answer.build(call, structured: call.context[:structured], spoken: spoken)
    send(connection, {:answer, id, if(ask?, do: Consent.question(call, answer), else: answer)})
  end

  defp answer(state, id, answer) do
    case Map.pop(state.calls, id) do
      {nil, _calls} ->
        state

      {_call, calls} ->
        transmit(state, Map.merge(answer, %{"type" => "answer", "id" => id}))
        %{state | calls: calls}
    end
  end

  # Killing the process that waits for the result ends the worker, and by that every OS process of the call.
  defp cancel(id, state) do
    {%{pid: pid}, calls} = Map.pop!(state.calls, id)
    monitor = Process.monitor(pid)
    Process.exit(pid, :kill)

    receive do
      {:DOWN, ^monitor, :process, ^pid, _reason} -> :ok
    end

    # All that it sent came before its end; a call without an answer gets its entry from the watcher of callers.
    receive do
      {:answer, ^id, _answer} -> :ok
    after
      0 -> AuditWatch.settle()
    end

    %{state | calls: calls}
  end

  defp transmit(state, message) do
    case JSON.encode(message) do
      # A channel that is closed is noticed by its own message.
      {:ok, json} -> :gen_tcp.send(state.socket, json)
      {:error, _problem} -> unwritable(state, message)
    end
  end

  # A call gets its one answer; what is only news is not worth ending anything for.
  defp unwritable(state, %{"type" => "answer", "id" => id}) do
    failure = Answer.failure("The result can't be written as JSON")
    transmit(state, Map.merge(failure, %{"type" => "answer", "id" => id}))
  end

  defp unwritable(_state, _news), do: :ok
end
