defmodule JidoCode.Tools.Sessions do
  @moduledoc false
  # When a session ends, everything the library keeps for it goes: its tier, its consents, its rate windows, its background
  # shells, its temporary folder and the secret values that its outputs gave away. Audit entries stay.
  #
  # A session needs no announcement: it begins with its first call. It ends
  #
  #   * by `JidoCode.Tools.SecureExecutor.end_session/1`,
  #   * when a process given to `own/2` goes down,
  #   * after `config :jido_code_tools, session_idle_ms:` (default one hour) without a call.

  use GenServer

  alias JidoCode.Tools.Security.{Core, Native, OutputSanitizer, Permissions, RateLimiter}
  alias JidoCode.Tools.{Shells, Temporary}

  # How often expired rate windows are dropped and idle sessions looked for.
  @sweep_ms 30_000

  @doc false
  @spec start_link(keyword()) :: GenServer.on_start()
  def start_link(_opts), do: GenServer.start_link(__MODULE__, [], name: __MODULE__)

  @doc "Ends the session when `owner` goes down."
  @spec own(String.t(), pid()) :: :ok
  def own(session_id, owner) when is_binary(session_id) and is_pid(owner) do
    GenServer.call(__MODULE__, {:own, session_id, owner})
  end

  @doc "Ends the session now."
  @spec finish(String.t()) :: :ok
  def finish(session_id) when is_binary(session_id), do: GenServer.call(__MODULE__, {:finish, session_id})

  @impl true
  def init([]) do
    schedule()
    {:ok, %{}}
  end

  # State: monitor of an owner to the session it owns.
  @impl true
  def handle_call({:own, session_id, owner}, _from, owned) do
    {:reply, :ok, Map.put(owned, Process.monitor(owner), session_id)}
  end

  def handle_call({:finish, session_id}, _from, owned) do
    clear(session_id)
    {monitors, owned} = Enum.split_with(owned, fn {_monitor, id} -> id == session_id end)
    for {monitor, _id} <- monitors, do: Process.demonitor(monitor, [:flush])
    {:reply, :ok, Map.new(owned)}
  end

  @impl true
  def handle_info({:DOWN, monitor, :process, _owner, _reason}, owned) do
    case Map.pop(owned, monitor) do
      {nil, owned} ->
        {:noreply, owned}

      {session_id, owned} ->
        clear(session_id)
        {:noreply, owned}
    end
  end

  def handle_info(:sweep, owned) do
    # All of them only give memory back: what is expired counts for nothing from the moment it expires.
    Native.rate_sweep(Core.default())
    Native.grant_expire(Core.default())
    Native.sanitizer_expire(Core.default())
    schedule()
    {:noreply, owned}
  end

  def handle_info(_message, owned), do: {:noreply, owned}

  defp schedule, do: Process.send_after(self(), :sweep, @sweep_ms)

  defp clear(session_id) do
    Permissions.clear_session(session_id)
    RateLimiter.clear_session(session_id)
    Shells.end_session(session_id)
    Temporary.end_session(session_id)
    # Last, since a shell that ends may still say something.
    OutputSanitizer.forget(session_id)
  end
end
