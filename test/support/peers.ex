defmodule JidoCode.Tools.Test.Peers do
  @moduledoc """
  Other Erlang nodes on this machine, with the library or without it, that run a small application `:till` to look at. They are
  controlled over their standard input, so that this VM needs no name for it.
  """

  alias JidoCode.Tools.Test.CommandProcesses

  @cookie "peers-cookie-Zq8vT3xL"

  @secret "till-9fK2mQ7xW4vB8nR3"

  # Till.Stuck never becomes idle. The pin stands under no telling name, so only the node itself can know it for a secret.
  @source """
  defmodule Till.Drawer do
    use GenServer
    def start_link(state), do: GenServer.start_link(__MODULE__, state, name: __MODULE__)
    @impl true
    def init(state), do: {:ok, state}
  end

  defmodule Till.Stuck do
    use GenServer
    def start_link(_), do: GenServer.start_link(__MODULE__, [], name: __MODULE__)
    @impl true
    def init(state), do: {:ok, state, {:continue, :wait}}
    @impl true
    def handle_continue(:wait, state) do
      receive do
        :go_on -> {:noreply, state}
      end
    end
  end

  defmodule Till.Prices do
    use GenServer
    def start_link(_), do: GenServer.start_link(__MODULE__, [], name: __MODULE__)
    @impl true
    def init(state) do
      :ets.new(:till_prices, [:named_table, :public])
      :ets.insert(:till_prices, [{:bread, 3}, {:api_key, "sesame"}])
      {:ok, state}
    end
  end

  defmodule Till.Application do
    use Application
    @impl true
    def start(_type, state) do
      children = [{Till.Prices, []}, {Till.Drawer, state}, {Till.Stuck, []}]
      Supervisor.start_link(children, strategy: :one_for_one, name: Till.Supervisor)
    end
  end
  """

  @modules [Till.Application, Till.Drawer, Till.Prices, Till.Stuck]

  @type t :: %{control: pid(), node: node(), name: String.t(), os_pid: String.t()}

  @doc "The cookie of all peers."
  @spec cookie() :: String.t()
  def cookie, do: @cookie

  @doc "A value that a peer with the library knows to be secret, since it is in its application's environment."
  @spec secret() :: String.t()
  def secret, do: @secret

  @doc """
  Starts a node, which is stopped when the test ends, or in `setup_all` when all have. Options: `:library` (false, `:loaded` or `:started`), `:app` (default
  true), whether `:till` runs there, and `:elixir` (default true).
  """
  @spec start!(keyword()) :: t()
  def start!(opts \\ []) do
    # Harmless when it runs already.
    System.cmd("epmd", ["-daemon"])

    library = Keyword.get(opts, :library, false)
    elixir? = Keyword.get(opts, :elixir, true)
    apps = if(elixir?, do: [:elixir, :logger], else: []) ++ if(library, do: [:jido_code_tools], else: [])
    paths = Enum.flat_map(apps, &[~c"-pa", :filename.join(:code.lib_dir(&1), ~c"ebin")])
    name = "peer-#{System.pid()}-#{System.unique_integer([:positive])}"

    {:ok, control, node} =
      :peer.start(%{
        name: to_charlist(name),
        host: ~c"127.0.0.1",
        longnames: true,
        connection: :standard_io,
        # What a peer has to say of the connections that tests refuse it is no news.
        args: [~c"-setcookie", to_charlist(@cookie), ~c"-kernel", ~c"logger_level", ~c"none" | paths]
      })

    ExUnit.Callbacks.on_exit(fn -> stop(%{control: control}) end)
    peer = %{control: control, node: node, name: Atom.to_string(node), os_pid: nil}

    if elixir? do
      {:ok, _started} = on(peer, :application, :ensure_all_started, [:logger])
      :ok = on(peer, Code, :put_compiler_option, [:ignore_module_conflict, true])
    end

    if Keyword.get(opts, :app, true), do: run_till(peer)
    # Last, since it collects what the applications' environments hold.
    if library == :started, do: {:ok, _} = on(peer, :application, :ensure_all_started, [:jido_code_tools])
    %{peer | os_pid: List.to_string(on(peer, :os, :getpid, []))}
  end

  defp run_till(peer) do
    on(peer, Code, :compile_string, [@source])
    state = %{coins: 12, password: "hunter2", pin: @secret}

    :ok =
      on(peer, :application, :load, [
        {:application, :till,
         vsn: ~c"1",
         modules: @modules,
         registered: [],
         applications: [:kernel, :stdlib],
         env: [api_secret: @secret],
         mod: {Till.Application, state}}
      ])

    :ok = on(peer, :application, :start, [:till])
  end

  @doc "Calls a function on a peer, by its standard input."
  @spec on(t(), module(), atom(), [term()]) :: term()
  def on(peer, module, function, args), do: :peer.call(peer.control, module, function, args, 30_000)

  @spec stop(%{:control => pid(), optional(any()) => any()}) :: :ok
  def stop(%{control: control}) do
    if Process.alive?(control), do: :peer.stop(control)
    :ok
  catch
    :exit, _reason -> :ok
  end

  @doc "Takes this VM's name away, if it has one: the test's connections end."
  @spec leave() :: :ok
  def leave do
    if Node.alive?(), do: :ok = :net_kernel.stop()
    # The runtime gives the name up a moment after its process is gone.
    CommandProcesses.eventually(fn -> not Node.alive?() end)
    :ok
  end
end
