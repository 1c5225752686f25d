defmodule Shop.Application do
  @moduledoc false

  use Application

  @impl true
  def start(_type, _args) do
    children = [
      Shop.Inventory,
      {Registry, keys: :unique, name: Shop.CartRegistry},
      {DynamicSupervisor, name: Shop.CartSupervisor, strategy: :one_for_one},
      {Shop.Payments, api_key: Shop.Payments.configured_key()},
      Shop.Prices,
      {Shop.Courier, capacity: 3}
    ]

    with {:ok, supervisor} <-
           Supervisor.start_link(children, strategy: :one_for_one, name: Shop.Supervisor) do
      for customer <- ~w(ada grace), do: {:ok, _cart} = Shop.Cart.open(customer)
      :ok = Shop.Cart.add("ada", "tea", 2)
      {:ok, supervisor}
    end
  end
end
