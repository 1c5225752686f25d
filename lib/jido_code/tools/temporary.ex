defmodule JidoCode.Tools.Temporary do
  @moduledoc false
  # The temporary folders that outlive a command: each session's `/tmp`, and the folders of sockets.
  #
  # A runner program keeps each (`--hold`), and removes it when its port closes: when the session ends or has not used it for
  # `config :jido_code_tools, session_idle_ms:`, when this process ends, and when the VM is killed. What is left where the program
  # is killed as well is removed by the next one. In a session's folder, with namespaces, lies a file system in memory of
  # `command_temp_bytes:` that only commands of that session reach.
  #
  # At most 64 sessions have a folder at one time: past that the one that was not used for the longest goes.

  use GenServer

  alias JidoCode.Tools.Command.Runner
  alias JidoCode.Tools.Config

  @most 64
  @sweep_ms 30_000

  @typedoc "A folder for the option `:temporary` of `JidoCode.Tools.Command`: its path, and who keeps it in memory, if it is."
  @type place :: %{folder: Path.t(), holder: {pos_integer(), pos_integer(), pos_integer()} | nil}

  @doc false
  @spec start_link(keyword()) :: GenServer.on_start()
  def start_link(_opts), do: GenServer.start_link(__MODULE__, [], name: __MODULE__)

  @doc "The options for a command of a call's session, which may have none."
  @spec options(map()) :: {:ok, keyword()} | {:error, {:runner, String.t()}}
  def options(%{session_id: session}) when is_binary(session) do
    with {:ok, place} <- call({:session, session}), do: {:ok, [temporary: place]}
  end

  def options(_context), do: {:ok, []}

  @doc "A folder that goes with the calling process. One file in it can be a socket: its path is short."
  @spec claim() :: {:ok, Path.t()} | {:error, {:runner, String.t()}}
  def claim do
    with {:ok, place} <- call({:claim, self()}), do: {:ok, place.folder}
  end

  @doc "Gives a claimed folder back."
  @spec release(Path.t()) :: :ok
  def release(folder), do: GenServer.cast(__MODULE__, {:release, folder})

  @doc "Ends a session's folder; with a command that still runs it goes when that ends."
  @spec end_session(String.t()) :: :ok
  def end_session(session), do: GenServer.call(__MODULE__, {:end, session})

  defp call(request) do
    GenServer.call(__MODULE__, request, 30_000)
  catch
    :exit, _reason -> {:error, {:runner, "no temporary folder can be made"}}
  end

  # State: key to %{port, folder, holder, ready?, waiting, used, monitor}. The key is a session's id, or a reference.
  @impl true
  def init([]) do
    Process.flag(:trap_exit, true)
    schedule()
    {:ok, %{}}
  end

  @impl true
  def handle_call({:session, session}, from, held) do
    case held do
      %{^session => entry} -> {:noreply, Map.put(held, session, answer(entry, from))}
      _none -> open(session, Config.get(:command_temp_bytes), nil, from, make_room(held))
    end
  end

  def handle_call({:claim, owner}, from, held), do: open(make_ref(), nil, Process.monitor(owner), from, held)
  def handle_call({:end, session}, _from, held), do: {:reply, :ok, close(held, session)}

  @impl true
  def handle_cast({:release, folder}, held), do: {:noreply, close_where(held, &(&1.folder == folder))}

  @impl true
  def handle_info({port, {:data, data}}, held) when is_port(port) do
    case Enum.find(held, fn {_key, entry} -> entry.port == port end) do
      {key, entry} ->
        # The runner's map has binary keys; :safe makes that sure.
        {:noreply, told(:erlang.binary_to_term(data, [:safe]), key, entry, held)}

      nil ->
        {:noreply, held}
    end
  end

  def handle_info({port, {:exit_status, _status}}, held) when is_port(port), do: {:noreply, gone(held, port)}
  def handle_info({:EXIT, port, _reason}, held) when is_port(port), do: {:noreply, gone(held, port)}

  def handle_info({:DOWN, monitor, :process, _owner, _reason}, held),
    do: {:noreply, close_where(held, &(&1.monitor == monitor))}

  def handle_info(:sweep, held) do
    schedule()
    oldest = now() - Config.get(:session_idle_ms)
    {:noreply, close_where(held, &(&1.monitor == nil and &1.used < oldest))}
  end

  def handle_info(_message, held), do: {:noreply, held}

  defp told(%{"event" => "held", "holder" => holder}, key, entry, held) do
    entry = %{entry | ready?: true, holder: holder}
    for from <- entry.waiting, do: GenServer.reply(from, {:ok, place(entry)})
    Map.put(held, key, %{entry | waiting: []})
  end

  defp told(%{"event" => "failed", "why" => why}, key, entry, held) do
    Runner.close(entry.port)
    refuse(entry, why)
    Map.delete(held, key)
  end

  defp schedule, do: Process.send_after(self(), :sweep, @sweep_ms)
  defp now, do: System.monotonic_time(:millisecond)

  defp open(key, bytes, monitor, from, held) do
    folder = folder(monitor)

    case Runner.open(["--hold", folder, if(bytes, do: Integer.to_string(bytes), else: "none")]) do
      {:ok, port} ->
        entry = %{
          port: port,
          folder: folder,
          holder: nil,
          ready?: false,
          waiting: [from],
          used: now(),
          monitor: monitor
        }

        {:noreply, Map.put(held, key, entry)}

      {:error, text} ->
        {:reply, {:error, {:runner, text}}, held}
    end
  end

  # A socket's path is short on every system.
  defp folder(nil), do: Runner.temporary_folder()

  defp folder(_monitor) do
    folder = Runner.temporary_folder()
    if byte_size(folder) > 90, do: Path.join("/tmp", Path.basename(folder)), else: folder
  end

  defp answer(%{ready?: true} = entry, from) do
    GenServer.reply(from, {:ok, place(entry)})
    %{entry | used: now()}
  end

  defp answer(entry, from), do: %{entry | waiting: [from | entry.waiting], used: now()}

  defp place(entry), do: %{folder: entry.folder, holder: entry.holder}

  defp make_room(held) do
    sessions = for {key, entry} <- held, is_binary(key), do: {entry.used, key}

    if length(sessions) >= @most,
      do: sessions |> Enum.min() |> then(fn {_used, key} -> close(held, key) end),
      else: held
  end

  defp close_where(held, chosen?) do
    for {key, entry} <- held, chosen?.(entry), reduce: held, do: (held -> close(held, key))
  end

  defp close(held, key) do
    {entry, held} = Map.pop(held, key)

    if entry do
      Runner.close(entry.port)
      refuse(entry, "the session has ended")
    end

    held
  end

  defp gone(held, port) do
    {gone, held} = Enum.split_with(held, fn {_key, entry} -> entry.port == port end)
    for {_key, entry} <- gone, do: refuse(entry, "the folder #{entry.folder} can't be made or kept")
    Map.new(held)
  end

  defp refuse(entry, why) do
    if entry.monitor, do: Process.demonitor(entry.monitor, [:flush])
    for from <- entry.waiting, do: GenServer.reply(from, {:error, {:runner, why}})
  end
end
