defmodule Shop.Payments do
  @moduledoc """
  Charges cards, and keeps in its state what it should not show: the key of a payment service.
  """

  use GenServer

  defmodule Account do
    @moduledoc "An account with the payment service."
    defstruct [:owner, :iban, :password]
  end

  @doc "The key from the environment, or one made up for the day."
  @spec configured_key() :: String.t()
  def configured_key do
    System.get_env("SHOP_PAYMENT_API_KEY") || Base.url_encode64(:crypto.strong_rand_bytes(24))
  end

  @doc false
  def start_link(opts), do: GenServer.start_link(__MODULE__, opts, name: __MODULE__)

  @doc "Charges an amount in cents; returns the receipt's number."
  @spec charge(String.t(), pos_integer()) :: {:ok, pos_integer()}
  def charge(customer, cents), do: GenServer.call(__MODULE__, {:charge, customer, cents})

  @impl true
  def init(opts) do
    key = Keyword.fetch!(opts, :api_key)
    :ets.new(:shop_receipts, [:named_table, :public, :ordered_set])

    :ets.insert(
      :shop_receipts,
      {1, %{customer: "ada", cents: 1250, headers: [{"authorization", "Bearer " <> key}]}}
    )

    account = %Account{
      owner: "Shop Ltd",
      iban: "DE02120300000000202051",
      password: "tea-and-" <> binary_part(key, 0, 6)
    }

    {:ok,
     %{
       api_key: key,
       endpoint: "https://shop:#{key}@pay.example/v1",
       account: account,
       next_receipt: 2
     }}
  end

  @impl true
  def handle_call({:charge, customer, cents}, _from, state) do
    :ets.insert(
      :shop_receipts,
      {state.next_receipt, %{customer: customer, cents: cents, headers: []}}
    )

    {:reply, {:ok, state.next_receipt}, %{state | next_receipt: state.next_receipt + 1}}
  end
end
