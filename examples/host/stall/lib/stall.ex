defmodule Stall do
  @moduledoc "A market stall."

  @doc "What these weights cost, in cents."
  @spec cost([{atom(), number()}]) :: integer()
  def cost(weights) do
    Enum.reduce(weights, 0, fn {fruit, kilos}, sum -> sum + round(price(fruit) * kilos) end)
  end

  @doc "Cents a kilo."
  @spec price(atom()) :: integer()
  def price(fruit) do
    [{^fruit, cents}] = :ets.lookup(:stall_prices, fruit)
    cents
  end
end

defmodule Stall.Till do
  @moduledoc "Counts the money, and can be told to say it."
  use GenServer

  def start_link(key), do: GenServer.start_link(__MODULE__, key, name: __MODULE__)

  @impl true
  def init(key) do
    :ets.new(:stall_prices, [:named_table, :public])
    :ets.insert(:stall_prices, apple: 250, plum: 420)
    {:ok, %{cents: 1250, api_key: key}}
  end
end

defmodule Stall.Application do
  @moduledoc false
  use Application

  @impl true
  def start(_type, _args) do
    key = Application.get_env(:stall, :api_key, "none")
    Supervisor.start_link([{Stall.Till, key}], strategy: :one_for_one, name: Stall.Supervisor)
  end
end
