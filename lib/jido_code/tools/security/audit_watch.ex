defmodule JidoCode.Tools.Security.AuditWatch do
  @moduledoc false
  # Sees to it that a call whose caller is killed has an entry of its end, and that what is written to the audit file reaches the
  # disk.
  #
  # A caller tells of its call before anything of it runs, and of its end after that is recorded. Killed in between, it leaves the
  # end to this process; the native log takes the first of two.

  use GenServer

  alias JidoCode.Tools.Config
  alias JidoCode.Tools.Security.AuditLogger

  require Logger

  @spec start_link(term()) :: GenServer.on_start()
  def start_link(_options), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)

  @doc "This process's call has begun with the entry `id`."
  @spec open(pos_integer(), map()) :: :ok
  def open(id, about), do: GenServer.cast(__MODULE__, {:open, id, self(), about})

  @doc "It has ended."
  @spec close(pos_integer()) :: :ok
  def close(id), do: GenServer.cast(__MODULE__, {:close, id})

  @doc "Returns when all that was sent before has been seen, ends of callers included."
  @spec settle() :: :ok
  def settle, do: GenServer.call(__MODULE__, :settle)

  @impl true
  def init(nil) do
    {:ok, schedule(%{calls: %{}, monitors: %{}})}
  end

  @impl true
  def handle_cast({:open, id, caller, about}, state) do
    monitor = Process.monitor(caller)

    {:noreply,
     %{
       state
       | calls: Map.put(state.calls, id, {monitor, caller, about}),
         monitors: Map.put(state.monitors, monitor, id)
     }}
  end

  def handle_cast({:close, id}, state) do
    case Map.pop(state.calls, id) do
      {{monitor, _caller, _about}, calls} ->
        Process.demonitor(monitor, [:flush])
        {:noreply, %{state | calls: calls, monitors: Map.delete(state.monitors, monitor)}}

      {nil, _calls} ->
        {:noreply, state}
    end
  end

  @impl true
  def handle_call(:settle, _from, state),
    do: {:reply, :ok, state.calls |> Map.values() |> Enum.reduce(state, &await_end/2)}

  @impl true
  def handle_info({:DOWN, monitor, :process, _caller, _reason}, state), do: {:noreply, ended(state, monitor)}

  def handle_info(:sync, state) do
    with {:error, text} <- AuditLogger.sync(),
         do: Logger.error("[AuditLogger] the audit file could not be flushed to disk: #{text}")

    {:noreply, schedule(state)}
  end

  def handle_info(_message, state), do: {:noreply, state}

  # The end of a caller that is dead by now may still be on its way, behind what was sent since.
  defp await_end({monitor, caller, _about}, state) do
    if Process.alive?(caller) do
      state
    else
      receive do
        {:DOWN, ^monitor, :process, ^caller, _reason} -> ended(state, monitor)
      end
    end
  end

  defp ended(state, monitor) do
    {id, monitors} = Map.pop!(state.monitors, monitor)
    {{^monitor, _caller, about}, calls} = Map.pop!(state.calls, id)
    AuditLogger.abandon(id, about)
    %{state | calls: calls, monitors: monitors}
  end

  defp schedule(state) do
    with {:every, ms} <- Config.get(:audit_file_sync),
         true <- Config.get(:audit_file) != nil,
         do: Process.send_after(self(), :sync, ms)

    state
  end
end
