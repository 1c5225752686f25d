defmodule :supervisor2 do
  @moduledoc """
  RabbitMQ's supervisor as it looks from outside: a gen_server that says so, whose init is its own, and which answers a
  supervisor's questions.
  """
  @behaviour :gen_server

  def start_link(name), do: :gen_server.start_link({:local, name}, __MODULE__, [], [])

  @impl true
  def init([]), do: {:ok, spawn_link(fn -> Process.sleep(:infinity) end)}

  @impl true
  def handle_call(:count_children, _from, child),
    do: {:reply, [specs: 1, active: 1, supervisors: 0, workers: 1], child}

  def handle_call(:which_children, _from, child), do: {:reply, [{:one, child, :worker, [:one]}], child}

  @impl true
  def handle_cast(_request, child), do: {:noreply, child}
end

defmodule :ranch_conns_sup do
  @moduledoc "Ranch's supervisor of connections as it looks from outside: a loop of its own."

  def start_link(name), do: :proc_lib.start_link(__MODULE__, :init, [name, 2, 3, 4, 5, 6, 7])

  def init(name, _2, _3, _4, _5, _6, _7) do
    Process.register(self(), name)
    child = spawn_link(fn -> Process.sleep(:infinity) end)
    :proc_lib.init_ack({:ok, self()})
    loop(child)
  end

  def loop(child) do
    receive do
      {:"$gen_call", from, :count_children} ->
        :gen.reply(from, specs: 1, active: 1, supervisors: 0, workers: 1)
        loop(child)

      {:"$gen_call", from, :which_children} ->
        :gen.reply(from, [{child, child, :worker, [:protocol]}])
        loop(child)

      {:system, _from, _request} ->
        exit(:asked_by_a_system_message)
    end
  end

  def system_continue(_parent, _debug, state), do: state
end
