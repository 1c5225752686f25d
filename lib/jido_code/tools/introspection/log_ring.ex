defmodule JidoCode.Tools.Introspection.LogRing do
  @moduledoc false
  # The last events of this VM's own logger, kept by a handler of ours.
  #
  # A logger calls its handlers in the process that logs, so this writes one row and no message. Who writes takes a number, puts
  # the row, and drops the oldest rows while there are too many or they hold too much. Each number is dropped by one process, and
  # a row that comes after its number was dropped is taken back by the process that wrote it.
  #
  #   counters: 1 newest number, 2 highest number that was dropped, 3 bytes of all messages

  use GenServer

  alias JidoCode.Tools.Introspection.LogMessage

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
          pid: pid(),
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
    :ok = :logger.add_handler(@handler, __MODULE__, %{level: :all, filter_default: :log})
    {:ok, nil}
  end

  @impl true
  def terminate(_reason, nil), do: :logger.remove_handler(@handler)

  @doc "Called by the logger, in the process that logs."
  @spec log(:logger.log_event(), :logger.handler_config()) :: :ok
  def log(%{level: level, msg: message, meta: meta}, _config) do
    counters = :persistent_term.get(@counters)
    {message, weight} = LogMessage.keep(message, level, meta)
    number = :atomics.add_get(counters, @newest, 1)
    :ets.insert(@table, {number, level, meta[:time], meta[:pid], place(meta), message, weight})
    :atomics.add(counters, @bytes, weight)
    if number <= :atomics.get(counters, @dropped), do: drop(counters, number)
    trim(counters, number)
  rescue
    # The table goes with its owner; a log call must not fail for that, and the logger would remove a handler that does.
    ArgumentError -> :ok
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
      [row] -> :atomics.sub(counters, @bytes, elem(row, 6))
      [] -> :ok
    end
  end

  defp place(meta), do: {meta[:mfa], meta[:file], meta[:line], meta[:application]}

  @doc "Whether this node keeps its log."
  @spec kept?() :: boolean()
  def kept?, do: :ets.whereis(@table) != :undefined

  @doc "The oldest event that is still kept."
  @spec oldest() :: event() | nil
  def oldest do
    with number when is_integer(number) <- :ets.first(@table),
         [row] <- :ets.lookup(@table, number) do
      event(row)
    else
      _none -> nil
    end
  end

  @doc """
  The events with a number above `after_number` for which `keep?` is true, newest first, at most `limit`; and the newest number
  there is, to go on from.
  """
  @spec events(non_neg_integer(), pos_integer(), (event() -> boolean())) :: {[event()], non_neg_integer()}
  def events(after_number, limit, keep?) do
    newest = :atomics.get(:persistent_term.get(@counters), @newest)

    events =
      newest
      |> Stream.iterate(&before/1)
      |> Stream.take_while(&(&1 > after_number))
      |> Stream.flat_map(&:ets.lookup(@table, &1))
      |> Stream.map(&event/1)
      |> Stream.filter(keep?)
      |> Enum.take(limit)

    {events, newest}
  end

  @doc "As `events/3`, but the oldest of them, oldest first: for whoever wants all, a part at a time."
  @spec following(non_neg_integer(), pos_integer(), (event() -> boolean())) :: {[event()], non_neg_integer()}
  def following(after_number, limit, keep?) do
    newest = :atomics.get(:persistent_term.get(@counters), @newest)

    events =
      :ets.next(@table, after_number)
      |> Stream.iterate(&:ets.next(@table, &1))
      |> Stream.take_while(&(is_integer(&1) and &1 <= newest))
      |> Stream.flat_map(&:ets.lookup(@table, &1))
      |> Stream.map(&event/1)
      |> Stream.filter(keep?)
      |> Enum.take(limit)

    {events, newest}
  end

  # Numbers may be missing: dropped, or not written yet.
  defp before(number) do
    case :ets.prev(@table, number) do
      :"$end_of_table" -> 0
      before -> before
    end
  end

  defp event({number, level, time, pid, {mfa, file, line, application}, message, _weight}) do
    %{
      number: number,
      level: level,
      time_us: time,
      pid: pid,
      mfa: mfa,
      place: if(file && line, do: {to_string(file), line}),
      application: application,
      text: LogMessage.text(message)
    }
  end
end
