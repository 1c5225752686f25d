defmodule SomeProject.Application do
  @moduledoc false
  # A project's application, as the introspection tools would find one on a user's node.
  use Application

  @name :some_project

  @doc "Loads and starts it, as if it had been installed."
  def start do
    specification =
      {:application, @name,
       [
         description: ~c"test",
         vsn: ~c"1",
         modules: [SomeProject.Application, SomeProject.Worker, OddlyNamed.Worker],
         registered: [],
         applications: [:kernel, :stdlib],
         mod: {__MODULE__, []}
       ]}

    with :ok <- :application.load(specification), do: :application.start(@name)
  end

  @doc "Stops and unloads it."
  def stop do
    :application.stop(@name)
    :application.unload(@name)
  end

  @impl true
  def start(_type, _arguments) do
    children = [{SomeProject.Worker, :some_worker}, {Registry, keys: :unique, name: :some_registry}]
    Supervisor.start_link(children, strategy: :one_for_one, name: SomeProject.Supervisor)
  end
end

defmodule SomeProject.Worker do
  @moduledoc false
  use GenServer

  def start_link(name), do: GenServer.start_link(__MODULE__, name, name: name)

  @impl true
  def init(name) do
    table = :ets.new(:"#{name}_table", [:named_table, :public])
    :ets.insert(table, {:k, 1})
    {:ok, %{name: name, badge_number: "17"}}
  end
end

defmodule OddlyNamed.Worker do
  @moduledoc false
  # Belongs to the application, though its name doesn't say so.
  use GenServer

  def start_link(name), do: GenServer.start_link(__MODULE__, name, name: name)

  @impl true
  def init(name), do: {:ok, name}
end
