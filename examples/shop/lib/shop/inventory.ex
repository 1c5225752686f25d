defmodule Shop.Inventory do
  @moduledoc """
  What is in stock, in the public table `:shop_stock`: `{item, count}`.

      iex> Shop.Inventory.count("tea")
      {:ok, 40}
      iex> Shop.Inventory.count("gold")
      {:error, :unknown_item}
  """

  use GenServer

  @stock [{"tea", 40}, {"coffee", 25}, {"cups", 12}, {"spoons", 60}]

  @typedoc "An item's name."
  @type item :: String.t()

  @doc false
  def start_link(_opts), do: GenServer.start_link(__MODULE__, [], name: __MODULE__)

  @doc "How many of an item are left."
  @spec count(item()) :: {:ok, non_neg_integer()} | {:error, :unknown_item}
  def count(item) do
    case :ets.lookup(:shop_stock, item) do
      [{^item, count}] -> {:ok, count}
      [] -> {:error, :unknown_item}
    end
  end

  @doc """
  The items of which at most `count` are left, the scarcest first.

      iex> Shop.Inventory.scarce(12)
      [%{"item" => "cups", "left" => 12}]
  """
  @spec scarce(non_neg_integer()) :: [%{String.t() => term()}]
  def scarce(count) do
    rows = Enum.filter(:ets.tab2list(:shop_stock), fn {_item, left} -> left <= count end)
    for {item, left} <- Enum.sort_by(rows, &elem(&1, 1)), do: %{"item" => item, "left" => left}
  end

  @doc """
  Takes items out of stock.

  Taking more than there are changes nothing.
  """
  @spec take(item(), pos_integer()) :: :ok | {:error, :unknown_item | :too_few}
  def take(item, amount \\ 1) when is_integer(amount) and amount > 0 do
    GenServer.call(__MODULE__, {:take, item, amount})
  end

  @doc "Use `count/1`."
  @deprecated "use count/1"
  @spec stock(item()) :: non_neg_integer()
  def stock(item), do: item |> count() |> elem(1)

  @impl true
  def init([]) do
    table = :ets.new(:shop_stock, [:named_table, :public, read_concurrency: true])
    :ets.insert(table, @stock)
    {:ok, %{table: table, taken: 0}}
  end

  @impl true
  def handle_call({:take, item, amount}, _from, state) do
    case count(item) do
      {:ok, count} when count >= amount ->
        :ets.insert(state.table, {item, count - amount})
        {:reply, :ok, %{state | taken: state.taken + amount}}

      {:ok, _count} ->
        {:reply, {:error, :too_few}, state}

      error ->
        {:reply, error, state}
    end
  end
end
