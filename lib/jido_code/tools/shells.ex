defmodule JidoCode.Tools.Shells do
  @moduledoc false
  # The background commands of all sessions.
  #
  # A shell belongs to the session that started it: for any other it does not exist. Ids can't be guessed. It ends by `kill/2`,
  # with its session, after its time (`config :jido_code_tools, background_timeout_ms:`), and with this process. Its output is kept
  # for a while after its end (`background_keep_ms:`). A session has no more shells than `background_shells:` says, and all
  # sessions together have a limit as well. Of each stream the last part can be read.

  use GenServer

  alias JidoCode.Tools.{Command, Config, Shortened, Telemetry, Temporary}

  # Of all sessions together: each shell is a runner of its own and holds up to twice @keep.
  @overall 64

  # Bytes of each stream that wait to be read; the oldest go first.
  @keep 262_144

  @type id :: String.t()
  @type shell :: %{command: Command.t(), cursor: {non_neg_integer(), non_neg_integer()}}

  @doc false
  @spec start_link(keyword()) :: GenServer.on_start()
  def start_link(_opts), do: GenServer.start_link(__MODULE__, [], name: __MODULE__)

  @doc "Starts a plan for a session; `about` has `:line` and `:description`. Answers its id and what confines it."
  @spec start(String.t(), Command.plan(), keyword(), %{line: String.t(), description: String.t()}) ::
          {:ok, id(), Command.Confinement.t() | nil} | {:error, {:too_many, String.t()} | Command.reason()}
  def start(session, plan, options, about) do
    GenServer.call(__MODULE__, {:start, session, plan, options, about}, :infinity)
  end

  @doc "A session's shell."
  @spec fetch(String.t() | nil, id()) :: {:ok, shell()} | {:error, :not_found}
  def fetch(session, id), do: GenServer.call(__MODULE__, {:fetch, session, id})

  @doc "Notes up to where a shell's output was read."
  @spec advance(String.t() | nil, id(), {non_neg_integer(), non_neg_integer()}) :: :ok
  def advance(session, id, cursor), do: GenServer.call(__MODULE__, {:advance, session, id, cursor})

  @doc "Ends a shell and forgets it. Returns when nothing of it is left."
  @spec kill(String.t() | nil, id()) :: :ok | :already_finished | {:error, :not_found}
  def kill(session, id) do
    with {:ok, shell} <- GenServer.call(__MODULE__, {:take, session, id}) do
      running? = Command.status(shell.command) == :running
      if running?, do: Command.stop(shell.command)
      Command.close(shell.command)

      if running? do
        Telemetry.execute([:jido_code, :shell, :background_kill], %{}, %{shell_id: id, session_id: session})
        :ok
      else
        :already_finished
      end
    end
  end

  @doc "Ends all shells of a session."
  @spec end_session(String.t()) :: :ok
  def end_session(session), do: GenServer.call(__MODULE__, {:end_session, session}, :infinity)

  @impl true
  def init([]), do: {:ok, %{}}

  # State: id to %{session, about, command (nil until started), cursor}.
  @impl true
  def handle_call({:start, session, plan, options, about}, from, shells) do
    own = Enum.count(shells, fn {_id, shell} -> shell.session == session end)
    most = Config.get(:background_shells)

    cond do
      own >= most ->
        {:reply,
         {:error,
          {:too_many, "This session has #{own} background shells, #{most} are allowed. Kill one first."}},
         shells}

      map_size(shells) >= @overall ->
        {:reply, {:error, {:too_many, "#{@overall} background shells exist; that is the maximum."}}, shells}

      true ->
        # The place is taken before the command starts, so that no number of calls at once gets past the limit.
        id = Base.url_encode64(:crypto.strong_rand_bytes(16), padding: false)
        shell = %{session: session, about: about, command: nil, cursor: {0, 0}}
        start_beside(id, shell, plan, options, from)
        {:noreply, Map.put(shells, id, shell)}
    end
  end

  def handle_call({:fetch, session, id}, _from, shells) do
    {:reply, find(shells, session, id), shells}
  end

  def handle_call({:advance, session, id, cursor}, _from, shells) do
    case find(shells, session, id) do
      {:ok, shell} -> {:reply, :ok, Map.put(shells, id, %{shell | cursor: cursor})}
      {:error, :not_found} -> {:reply, :ok, shells}
    end
  end

  def handle_call({:take, session, id}, _from, shells) do
    case find(shells, session, id) do
      {:ok, shell} -> {:reply, {:ok, shell}, Map.delete(shells, id)}
      error -> {:reply, error, shells}
    end
  end

  def handle_call({:end_session, session}, _from, shells) do
    {ended, others} = Enum.split_with(shells, fn {_id, shell} -> shell.session == session end)
    for {_id, %{command: command}} <- ended, command != nil, do: Command.close(command)
    {:reply, :ok, Map.new(others)}
  end

  @impl true
  def handle_info({:started, id, from, {:ok, command, confinement}}, shells) do
    case shells do
      %{^id => shell} ->
        watch(id, command)

        Telemetry.execute([:jido_code, :shell, :background_start], %{}, %{
          shell_id: id,
          command: Shortened.label(shell.about.line, 100),
          session_id: shell.session
        })

        GenServer.reply(from, {:ok, id, confinement})
        {:noreply, Map.put(shells, id, %{shell | command: command})}

      _shells ->
        # Its session ended meanwhile.
        Command.close(command)
        GenServer.reply(from, {:error, {:runner, "the session has ended"}})
        {:noreply, shells}
    end
  end

  def handle_info({:started, id, from, error}, shells) do
    GenServer.reply(from, error)
    {:noreply, Map.delete(shells, id)}
  end

  def handle_info({:ended, id, answer}, shells) do
    case shells do
      %{^id => shell} ->
        {status, exit_code} = ending(answer)

        Telemetry.execute([:jido_code, :shell, :background_complete], %{exit_code: exit_code}, %{
          shell_id: id,
          status: status,
          session_id: shell.session
        })

        Process.send_after(self(), {:expired, id}, Config.get(:background_keep_ms))
        {:noreply, shells}

      _shells ->
        {:noreply, shells}
    end
  end

  def handle_info({:expired, id}, shells) do
    case Map.pop(shells, id) do
      {%{command: command}, shells} when command != nil ->
        Command.close(command)
        {:noreply, shells}

      {_other, shells} ->
        {:noreply, shells}
    end
  end

  def handle_info(_message, shells), do: {:noreply, shells}

  defp find(shells, session, id) do
    case shells do
      %{^id => %{session: ^session, command: command} = shell} when command != nil -> {:ok, shell}
      _shells -> {:error, :not_found}
    end
  end

  # A process of its own starts the command, so that this one stays free, and so that a caller that is killed meanwhile leaves
  # nothing that no session knows of.
  defp start_beside(id, shell, plan, options, from) do
    shells = self()

    limits = [
      timeout: Config.get(:background_timeout_ms),
      keep: {0, @keep},
      owner: shells
    ]

    spawn_link(fn ->
      answer =
        try do
          with {:ok, temporary} <- Temporary.options(%{session_id: shell.session}),
               {:ok, command} <- Command.start(plan, limits ++ temporary ++ options),
               do: {:ok, command, Command.confinement(command)}
        catch
          _kind, _reason -> {:error, {:runner, "the command can't be started"}}
        end

      send(shells, {:started, id, from, answer})
    end)
  end

  # A process of its own waits for the end, so that this one stays free; both end together.
  defp watch(id, command) do
    shells = self()

    spawn_link(fn ->
      answer =
        try do
          Command.await(command, :infinity)
        catch
          :exit, _reason -> {:error, :closed}
        end

      send(shells, {:ended, id, answer})
    end)
  end

  defp ending({:ok, %{status: :exited, exit_code: 0}}), do: {:completed, 0}
  defp ending({:ok, %{exit_code: code}}) when is_integer(code), do: {:failed, code}
  defp ending(_other), do: {:failed, 1}
end
