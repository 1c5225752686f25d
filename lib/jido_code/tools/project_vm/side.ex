defmodule JidoCode.Tools.ProjectVM.Side do
  @moduledoc false
  # The end of the channel in the project's VM: it answers questions about this VM, and decides nothing.
  #
  # | from | message | meaning |
  # |---|---|---|
  # | project | `%{"type" => "starting", "doing" => text}` | what it does on its way |
  # | project | `%{"type" => "compiled"}` | another VM may compile the project now |
  # | project | `%{"type" => "restrict", "secrets" => [text]}` | values to redact |
  # | project | `%{"type" => "tools", "tools" => [definition]}` | its own tools (`JidoCode.Tools.ProjectVM.Offer`), whenever they change |
  # | project | `%{"type" => "ready", "otp" => release}` | it answers |
  # | project | `%{"type" => "failed", "why" => text}` | it can't, and ends |
  # | tools | `{:ask, id, handler, args, context, timeout}` | run a handler that looks at this VM |
  # | tools | `{:tool, id, tool, args, context}` | run a tool of its own: `%{name:, digest:, write?:}` |
  # | tools | `{:cancel, id}` | no answer is wanted any more |
  # | project | `%{"type" => "answer", "id" => id, "ok" => result}` | or "error" with a text, or "failure" with a word |
  #
  # Until `ready` nothing here uses the native core: compiling the project may compile this library again, and native code is
  # loaded once.

  use GenServer, restart: :temporary

  alias JidoCode.Tools.Catalog
  alias JidoCode.Tools.Introspection.Freshness
  alias JidoCode.Tools.ProjectVM.{Offer, OwnTools, Wire}
  alias JidoCode.Tools.Remote.Service
  alias JidoCode.Tools.Security.{KnownSecrets, OutputSanitizer}

  # How often it looks whether its own tools are still the same: a term that nobody changes is compared in no time.
  @look_ms 1_000

  @doc "Connects. The process lives as long as the channel."
  @spec start(Path.t()) :: {:ok, pid()} | {:error, String.t()}
  def start(socket) do
    case GenServer.start(__MODULE__, socket) do
      {:ok, side} -> {:ok, side}
      {:error, reason} -> {:error, "no server listens at #{socket}: #{:inet.format_error(reason)}"}
    end
  end

  @spec starting(pid(), String.t()) :: :ok
  def starting(side, doing), do: tell(side, %{"type" => "starting", "doing" => doing})

  @spec compiled(pid()) :: :ok
  def compiled(side), do: tell(side, %{"type" => "compiled"})

  @doc "Answers from now on. The library runs in this VM, and knows what of it is secret."
  @spec ready(pid()) :: :ok
  def ready(side) do
    tell(side, %{"type" => "restrict", "secrets" => KnownSecrets.values()})
    GenServer.cast(side, :offer)
    tell(side, %{"type" => "ready", "otp" => System.otp_release()})
  end

  @spec failed(pid(), String.t()) :: :ok
  def failed(side, why) do
    tell(side, %{"type" => "failed", "why" => text(why)})
    GenServer.stop(side)
  end

  @doc """
  Answers one question and ends: in a VM that only reads what lies compiled, since the project does not run. The question is an
  argument and the answer goes to standard output, both in Base64.
  """
  @spec answer_once() :: :ok
  def answer_once do
    [question] = System.argv()
    {handler, args, context} = question |> Base.decode64!() |> :erlang.binary_to_term()

    answer =
      case handler.execute(args, context) do
        {:ok, result} -> %{"ok" => Wire.plain(result)}
        {:error, why} -> %{"error" => text(why)}
      end

    {:ok, frame} = Wire.encode_bounded(answer)
    IO.binwrite(Base.encode64(frame))
  end

  defp tell(side, message), do: GenServer.cast(side, {:send, message})

  defp text(why), do: if(is_binary(why) and String.valid?(why), do: why, else: inspect(why))

  @impl true
  def init(path) do
    Process.flag(:trap_exit, true)

    case :gen_tcp.connect({:local, path}, 0, [active: true] ++ Wire.socket_options()) do
      {:ok, socket} -> {:ok, %{socket: socket, asked: %{}, tools: nil}}
      {:error, reason} -> {:stop, reason}
    end
  end

  @impl true
  def handle_cast({:send, message}, state) do
    transmit(state, message)
    {:noreply, state}
  end

  def handle_cast(:offer, state), do: {:noreply, offer(state)}

  @impl true
  def handle_info(:look, state), do: {:noreply, offer(state)}

  def handle_info({:tcp, _socket, frame}, state) do
    # From the VM that started this one, and holds all power over it.
    {:noreply, handle(:erlang.binary_to_term(frame), state)}
  end

  def handle_info({:tcp_closed, _socket}, state), do: {:stop, :normal, state}
  def handle_info({:tcp_error, _socket, reason}, state), do: {:stop, {:shutdown, reason}, state}

  def handle_info({:answer, id, answer}, state) do
    if is_map_key(state.asked, id), do: transmit(state, Map.merge(answer, %{"type" => "answer", "id" => id}))
    {:noreply, %{state | asked: Map.delete(state.asked, id)}}
  end

  def handle_info({:EXIT, pid, _reason}, state) do
    case Enum.find(state.asked, fn {_id, worker} -> worker == pid end) do
      nil -> {:noreply, state}
      {id, _pid} -> handle_info({:answer, id, %{"failure" => "crashed"}}, state)
    end
  end

  def handle_info(_message, state), do: {:noreply, state}

  defp handle({:ask, id, handler, args, context, timeout}, state) do
    side = self()
    pid = spawn_link(fn -> send(side, {:answer, id, answer(handler, args, context, timeout)}) end)
    %{state | asked: Map.put(state.asked, id, pid)}
  end

  defp handle({:tool, id, tool, args, context}, state) do
    side = self()
    pid = spawn_link(fn -> send(side, {:answer, id, OwnTools.call(tool, args, context)}) end)
    %{state | asked: Map.put(state.asked, id, pid)}
  end

  defp handle({:cancel, id}, state) do
    case Map.pop(state.asked, id) do
      {nil, _asked} ->
        state

      {pid, asked} ->
        Process.exit(pid, :kill)
        %{state | asked: asked}
    end
  end

  defp offer(state) do
    Process.send_after(self(), :look, @look_ms)
    tools = Catalog.declared()
    if tools !== state.tools, do: transmit(state, %{"type" => "tools", "tools" => Offer.write(tools)})
    %{state | tools: tools}
  end

  defp answer(handler, args, context, timeout) do
    options = %{owner: self(), timeout: timeout, redactor: OutputSanitizer}

    case Service.run(handler, args, context, options) do
      {:ok, {:ok, result}} -> %{"ok" => result |> Freshness.note() |> Wire.plain()}
      {:ok, {:error, why}} -> %{"error" => why |> text() |> Freshness.note()}
      {:error, :timeout} -> %{"failure" => "timeout"}
      {:error, _failure} -> %{"failure" => "crashed"}
    end
  end

  defp transmit(state, message) do
    case Wire.encode_bounded(message) do
      {:ok, frame} -> :gen_tcp.send(state.socket, frame)
      :too_large -> transmit(state, %{"type" => "answer", "id" => message["id"], "failure" => "too_large"})
    end
  end
end
