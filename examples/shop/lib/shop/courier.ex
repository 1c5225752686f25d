defmodule Shop.Courier do
  @moduledoc "Brings parcels: a state machine that is `:waiting` or `:riding`."

  @behaviour :gen_statem

  @doc false
  def child_spec(opts), do: %{id: __MODULE__, start: {__MODULE__, :start_link, [opts]}}

  @doc false
  def start_link(opts), do: :gen_statem.start_link({:local, __MODULE__}, __MODULE__, opts, [])

  @doc "Hands over a parcel. The courier leaves when the bag is full."
  @spec hand_over(term()) :: :ok | :gone
  def hand_over(parcel), do: :gen_statem.call(__MODULE__, {:hand_over, parcel})

  @impl true
  def callback_mode, do: :state_functions

  @impl true
  def init(opts), do: {:ok, :waiting, %{capacity: Keyword.fetch!(opts, :capacity), bag: []}}

  @doc false
  def waiting({:call, from}, {:hand_over, parcel}, %{bag: bag, capacity: capacity} = data) do
    data = %{data | bag: [parcel | bag]}
    next = if length(data.bag) >= capacity, do: :riding, else: :waiting
    {:next_state, next, data, {:reply, from, :ok}}
  end

  @doc false
  def riding({:call, from}, {:hand_over, _parcel}, _data),
    do: {:keep_state_and_data, {:reply, from, :gone}}
end
