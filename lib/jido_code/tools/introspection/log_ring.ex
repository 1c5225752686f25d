defmodule JidoCode.Tools.Introspection.LogRing do
  @moduledoc false
  # The last events of this VM's own logger, kept by a handler of ours.
  #
  # A logger calls its handlers in the process that logs, so this writes one row and no message. Who writes takes a number, puts
  # the row, and drops the oldest rows while there are too many or they hold too much. Each number is dropped by one process, and
  # a row that comes after its number was dropped is taken back by the process that wrote it.
  #
  # A number may be taken and its row not be there yet. Whoever reads up to that number closes it by a row without an event, and
  # the writer, which finds it closed, takes another: so no event ever appears below a number that was already read.
  #
  #   row:      {number, bytes, event}, or {number, 0, nil} for a closed one
  #   counters: 1 newest number, 2 highest number that was dropped, 3 bytes of all rows

  use GenServer

  alias JidoCode.Tools.Introspection.{LogMessage, LogOrigin}

  @table __MODULE__
  @handler :jido_code_tools_log_ring
  @counters {__MODULE__, :counters}

  @newest 1
  @dropped 2
  @bytes 3

  @max_events 2_000
  @max_bytes 4_000_000

  @type event :: %{
          number: pos_integer(),
          level: :logger.level(),
          time_us: integer(),
          pid: pid() | nil,
          names: [atom()],
          mfa: mfa() | nil,
          place: {String.t(), pos_integer()} | nil,
          application: atom() | nil,
          text: String.t()
        }

  @doc "Starts the owner of the table, which adds the handler and takes it away again."
  @spec start_link(keyword()) :: GenServer.on_start()
  def start_link(_options), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)

  @impl true
  def init(nil) do
    Process.flag(:trap_exit, true)
    :ets.new(@table, [:named_table, :ordered_set, :public, write_concurrency: true])
    :persistent_term.put(@counters, :atomics.new(3, signed: true))
    # One that a killed predecessor left behind.
    :logger.remove_handler(@handler)
    :ok = add_handler()
    {:ok, nil}
  end

  @impl true
  def terminate(_reason, nil), do: :logger.remove_handler(@handler)

  defp add_handler, do: :logger.add_handler(@handler, __MODULE__, %{level: :all, filter_default: :log})

  @doc "Called by the logger, in the process that logs."
  @spec log(:logger.log_event(), :logger.handler_config()) :: :ok
  def log(%{level: level, msg: message, meta: meta}, _config) do
    {message, weight} = LogMessage.keep(message, level, meta)
    {origin, bytes} = LogOrigin.keep(meta)
    put(:persistent_term.get(@counters), weight + bytes, {level, origin, message})
  catch
    # The table goes with its owner; a log call must not fail for that, and the logger would remove a handler that does.
    _kind, _reason -> :ok
  end

  defp put(counters, weight, event) do
    number = :atomics.add_get(counters, @newest, 1)

    if :ets.insert_new(@table, {number, weight, event}) do
      :atomics.add(counters, @bytes, weight)
      if number <= :atomics.get(counters, @dropped), do: drop(counters, number)
      trim(counters, number)
    else
      put(counters, weight, event)
    end
  end

  defp trim(counters, newest) do
    dropped = :atomics.get(counters, @dropped)

    if dropped < newest and
         (newest - dropped > @max_events or :atomics.get(counters, @bytes) > @max_bytes) do
      drop(counters, :atomics.add_get(counters, @dropped, 1))
      trim(counters, newest)
    else
      :ok
    end
  end

  defp drop(counters, number) do
    case :ets.take(@table, number) do
      [{_number, weight, _event}] -> :atomics.sub(counters, @bytes, weight)
      [] -> :ok
    end
  end

  @doc """
  Whether this node keeps its log. A handler that was removed is put back (`:put_back`): what was logged without it is lost.
  """
  @spec ensure() :: :kept | :put_back | :none
  def ensure do
    cond do
      :ets.whereis(@table) == :undefined -> :none
      @handler in :logger.get_handler_ids() -> :kept
      true -> with {:error, {:already_exist, _id}} <- add_handler(), do: :kept, else: (_added -> :put_back)
    end
  end

  @doc "The oldest event that is still kept."
  @spec oldest() :: event() | nil
  def oldest, do: 0 |> following(newest()) |> Enum.at(0)

  @doc "The newest number: no event with it or a lower one will still be put in."
  @spec newest() :: non_neg_integer()
  def newest do
    counters = :persistent_term.get(@counters)
    newest = :atomics.get(counters, @newest)
    Enum.each((:atomics.get(counters, @dropped) + 1)..newest//1, &close(counters, &1))
    newest
  end

  defp close(counters, number) do
    if not :ets.member(@table, number) and :ets.insert_new(@table, {number, 0, nil}) and
         number <= :atomics.get(counters, @dropped),
       do: :ets.delete(@table, number)
  end

  @doc "The events with numbers above `after_number` up to `newest`, the newest first, each read when it is asked for."
  @spec preceding(non_neg_integer(), non_neg_integer()) :: Enumerable.t()
  def preceding(newest, after_number),
    do: walk(newest + 1, &:ets.prev(@table, &1), &(&1 > after_number))

  @doc "The same events, the oldest first."
  @spec following(non_neg_integer(), non_neg_integer()) :: Enumerable.t()
  def following(after_number, newest),
    do: walk(after_number, &:ets.next(@table, &1), &(&1 <= newest))

  defp walk(start, step, within?) do
    start
    |> step.()
    |> Stream.iterate(step)
    |> Stream.take_while(&(is_integer(&1) and within?.(&1)))
    |> Stream.flat_map(&:ets.lookup(@table, &1))
    |> Stream.flat_map(&event/1)
  end

  defp event({_number, 0, nil}), do: []

  defp event({number, _weight, {level, origin, message}}),
    do: [
      origin |> LogOrigin.read() |> Map.merge(%{number: number, level: level, text: LogMessage.text(message)})
    ]
end
