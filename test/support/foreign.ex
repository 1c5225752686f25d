defmodule JidoCode.Tools.Test.ForeignLoop do
  @moduledoc """
  A behaviour whose servers look like GenServers from outside and are none, as RabbitMQ's gen_server2 is: the same callbacks, the
  same `$initial_call`, a loop of its own, and a system message ends them.
  """

  @callback init(term()) :: {:ok, term()}

  @doc "Starts a server of `module`. With `hibernate: true` it waits hibernating."
  def start_link(module, argument, options \\ []) do
    :proc_lib.start_link(__MODULE__, :init_it, [module, argument, options])
  end

  @doc false
  def init_it(module, argument, options) do
    # What gen makes of it.
    Process.put(:"$initial_call", {module, :init, 1})
    if name = options[:name], do: Process.register(self(), name)
    {:ok, state} = module.init(argument)
    :proc_lib.init_ack({:ok, self()})
    next(module, state, options[:hibernate] == true)
  end

  def next(module, state, true), do: :proc_lib.hibernate(__MODULE__, :process_next_msg, [module, state, true])
  def next(module, state, false), do: process_next_msg(module, state, false)

  def process_next_msg(module, state, hibernate?) do
    receive do
      {:system, _from, _request} -> exit(:killed_by_a_system_message)
      {:work, from} -> module.work(from, state)
      _other -> next(module, state, hibernate?)
    end
  end

  # By these such a module takes part in :sys, each in its own way.
  def system_continue(_parent, _debug, state), do: state
  def system_terminate(reason, _parent, _debug, _state), do: exit(reason)
  def system_code_change(state, _module, _old, _extra), do: {:ok, state}
end

defmodule JidoCode.Tools.Test.ForeignServer do
  @moduledoc false
  @behaviour JidoCode.Tools.Test.ForeignLoop

  @impl true
  def init(state), do: {:ok, state}

  # Callbacks like a GenServer's.
  def handle_call(_request, _from, state), do: {:reply, state, state}
  def handle_cast(_request, state), do: {:noreply, state}

  @doc "Works until it gets `:go_on`."
  def work(from, state) do
    send(from, :working)

    receive do
      :go_on -> JidoCode.Tools.Test.ForeignLoop.next(__MODULE__, state, false)
    end
  end
end

defmodule JidoCode.Tools.Test.Ticker do
  @moduledoc "A GenServer that ticks when nobody wrote to it for a while."
  use GenServer

  def start_link({name, test, every_ms}),
    do: GenServer.start_link(__MODULE__, {test, every_ms}, name: name)

  @impl true
  def init({_test, every_ms} = state), do: {:ok, state, every_ms}

  @impl true
  def handle_info(:timeout, {test, every_ms} = state) do
    send(test, :tick)
    {:noreply, state, every_ms}
  end
end

defmodule GenStage do
  @moduledoc """
  Of the library of that name as much as matters here: it is the callback module of its consumers' processes, and has a
  format_status that passes on theirs.
  """
  use GenServer

  defstruct [:mod, :state, :type, consumers: %{}, producers: %{}]

  def start_link(module, argument, options \\ []),
    do: GenServer.start_link(__MODULE__, {module, argument}, options)

  @impl true
  def init({module, argument}) do
    {type, state} = module.init(argument)
    {:ok, %GenStage{mod: module, state: state, type: type}}
  end

  @impl true
  def format_status(_reason, [_dictionary, %{mod: mod, state: state}]),
    do: [data: [{~c"State", state}, {~c"Stage", mod}]]
end

defmodule JidoCode.Tools.Test.Consumer do
  @moduledoc false
  def init(state), do: {:consumer, state}
end

defmodule JidoCode.Tools.Test.HidingConsumer do
  @moduledoc false
  def init(state), do: {:consumer, state}
  def format_status(_reason, _state), do: []
end
