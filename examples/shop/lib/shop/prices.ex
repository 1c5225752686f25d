defmodule Shop.Prices do
  @moduledoc "Prices in cents, in an agent."

  use Agent

  @doc false
  def start_link(_opts) do
    Agent.start_link(fn -> %{"tea" => 450, "coffee" => 690, "cups" => 1200, "spoons" => 150} end,
      name: __MODULE__
    )
  end

  @doc """
  An item's price.

      iex> Shop.Prices.of("tea")
      450
  """
  @spec of(Shop.Inventory.item()) :: pos_integer() | nil
  def of(item), do: Agent.get(__MODULE__, &Map.get(&1, item))
end
