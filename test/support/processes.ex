defmodule JidoCode.Tools.Test.Processes do
  @moduledoc false
  # Processes of every kind, to look at.

  defmodule Server do
    @moduledoc false
    use GenServer

    def start_link({name, state}), do: GenServer.start_link(__MODULE__, state, name: name)

    @doc "Keeps the server busy until it gets `:go_on`; returns when it is."
    def block(server) do
      GenServer.cast(server, {:block, self()})

      receive do
        :blocked -> :ok
      end
    end

    @impl true
    def init(state), do: {:ok, state}

    @impl true
    def handle_call(:state, _from, state), do: {:reply, state, state}
    def handle_call(:hibernate, _from, state), do: {:reply, :ok, state, :hibernate}

    @impl true
    def handle_cast({:block, from}, state) do
      send(from, :blocked)

      receive do
        :go_on -> {:noreply, state}
      end
    end
  end

  defmodule Hiding do
    @moduledoc false
    use GenServer

    def start_link({name, state}), do: GenServer.start_link(__MODULE__, state, name: name)

    @impl true
    def init(state), do: {:ok, state}

    @impl true
    def format_status(_reason, [_dictionary, state]), do: [data: [{~c"State", Map.delete(state, :inner)}]]
  end

  defmodule Statem do
    @moduledoc false
    @behaviour :gen_statem

    def start_link({name, data}), do: :gen_statem.start_link({:local, name}, __MODULE__, data, [])

    def child_spec(argument), do: %{id: __MODULE__, start: {__MODULE__, :start_link, [argument]}}

    @impl true
    def callback_mode, do: :handle_event_function

    @impl true
    def init(data), do: {:ok, :waiting, data}

    @impl true
    def handle_event({:call, from}, :state, state, data),
      do: {:keep_state_and_data, {:reply, from, {state, data}}}
  end

  defmodule Handler do
    @moduledoc false
    @behaviour :gen_event

    @impl true
    def init(state), do: {:ok, state}
    @impl true
    def handle_event(_event, state), do: {:ok, state}
    @impl true
    def handle_call(:state, state), do: {:ok, state, state}
  end

  @doc "A plain process that keeps what it is sent."
  def start_plain(name) do
    pid =
      spawn_link(fn ->
        receive do
          :stop -> :ok
        end
      end)

    Process.register(pid, name)
    pid
  end

  @doc "What must not change when a process is looked at."
  def trace(pid) do
    {Process.info(pid, [:messages, :current_function, :status, :links, :monitors, :dictionary]),
     Process.alive?(pid)}
  end

  @doc "Waits until the process is seen waiting in the given function, as `{module, function}`."
  def await_in(pid, place), do: await_any(pid, [place], 1_000)

  # Where a process hibernates: OTP's servers have a function of their own for it from OTP 28 on.
  @asleep [{:erlang, :hibernate}, {:gen_server, :loop_hibernate}, {:gen_statem, :loop_hibernate}]

  @doc "Waits until a process hibernates."
  def await_hibernating(pid), do: await_any(pid, @asleep, 1_000)

  @doc "Whether a server that hibernates keeps its stack, by which an Agent is known, as from OTP 28 on."
  def hibernating_keeps_the_stack?, do: function_exported?(:erlang, :hibernate, 0)

  @doc "Waits until a server or supervisor waits for its next message. From OTP 27 on, a supervisor hibernates meanwhile."
  def await_ready(pid), do: await_any(pid, [{:gen_server, :loop} | @asleep], 1_000)

  defp await_any(pid, places, tries) do
    with [current_function: {module, function, _arity}, status: :waiting] <-
           Process.info(pid, [:current_function, :status]),
         true <- {module, function} in places do
      :ok
    else
      _other when tries > 0 -> :erlang.yield() && await_any(pid, places, tries - 1)
      other -> raise "never in #{inspect(places)}: #{inspect(other)}"
    end
  end

  @doc """
  Starts a process of each kind and lets it hibernate: `{kind, pid}`. The kinds are those that still can be told apart, and
  `:agent`, `:task`, `:proc_lib` and `:plain`, which can't.
  """
  def start_hibernating do
    asleep = [hibernate_after: 0]
    {:ok, server} = GenServer.start_link(Server, %{a: 1}, asleep)
    {:ok, statem} = :gen_statem.start_link(Statem, %{a: 1}, asleep)
    {:ok, supervisor} = DynamicSupervisor.start_link([strategy: :one_for_one] ++ asleep)
    {:ok, events} = :gen_event.start_link(asleep)
    {:ok, agent} = Agent.start_link(fn -> %{a: 1} end, asleep)
    {:ok, task} = Task.start_link(fn -> :proc_lib.hibernate(__MODULE__, :woken, []) end)

    processes = [
      genserver: server,
      gen_statem: statem,
      supervisor: supervisor,
      gen_event: events,
      agent: agent,
      task: task,
      proc_lib: :proc_lib.spawn_link(:proc_lib, :hibernate, [__MODULE__, :woken, []]),
      plain: spawn_link(:erlang, :hibernate, [__MODULE__, :woken, []])
    ]

    for {_kind, pid} <- processes, do: await_hibernating(pid)
    processes
  end

  @doc false
  def woken, do: exit(:woken)

  @doc """
  Makes the node count shared binaries as heap, until the test ends. Before OTP 27 this says nothing, and changes nothing.
  """
  def count_shared_binaries do
    {:max_heap_size, flags} = Process.info(self(), :max_heap_size)
    old = :erlang.system_flag(:max_heap_size, Map.put(flags, :include_shared_binaries, true))
    ExUnit.Callbacks.on_exit(fn -> :erlang.system_flag(:max_heap_size, old) end)
    :ok
  end

  @doc "A name that no other test uses."
  def unique(prefix), do: :"#{prefix}_#{System.unique_integer([:positive])}"
end

defmodule JidoCode.Tools.Test.Memory do
  @moduledoc false
  # How much the VM's memory grows at most while something runs.

  @doc "`{value, bytes}`: what `fun` returned, and the peak of the VM's memory over what it was before."
  def peak(fun) do
    for pid <- Process.list(), do: :erlang.garbage_collect(pid)
    before = :erlang.memory(:total)
    sampler = spawn_link(fn -> sample(before) end)
    value = fun.()
    send(sampler, {:stop, self()})

    receive do
      {^sampler, peak} -> {value, peak - before}
    end
  end

  defp sample(peak) do
    receive do
      {:stop, from} -> send(from, {self(), max(peak, :erlang.memory(:total))})
    after
      1 -> sample(max(peak, :erlang.memory(:total)))
    end
  end
end
