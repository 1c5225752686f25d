defmodule Shop.Cart do
  @moduledoc """
  One customer's cart, a process under `Shop.CartSupervisor`, found through `Shop.CartRegistry`.
  """

  use GenServer, restart: :temporary

  @doc "Opens a cart."
  @spec open(String.t()) :: DynamicSupervisor.on_start_child()
  def open(customer),
    do: DynamicSupervisor.start_child(Shop.CartSupervisor, {__MODULE__, customer})

  @doc "Puts items into a cart, taking them out of stock."
  @spec add(String.t(), Shop.Inventory.item(), pos_integer()) :: :ok | {:error, atom()}
  def add(customer, item, amount), do: GenServer.call(via(customer), {:add, item, amount})

  @doc "What is in a cart."
  @spec items(String.t()) :: %{Shop.Inventory.item() => pos_integer()}
  def items(customer), do: GenServer.call(via(customer), :items)

  @doc false
  def start_link(customer), do: GenServer.start_link(__MODULE__, customer, name: via(customer))

  defp via(customer), do: {:via, Registry, {Shop.CartRegistry, customer}}

  @impl true
  def init(customer), do: {:ok, %{customer: customer, items: %{}}}

  @impl true
  def handle_call({:add, item, amount}, _from, cart) do
    case Shop.Inventory.take(item, amount) do
      :ok -> {:reply, :ok, %{cart | items: Map.update(cart.items, item, amount, &(&1 + amount))}}
      error -> {:reply, error, cart}
    end
  end

  def handle_call(:items, _from, cart), do: {:reply, cart.items, cart}
end
