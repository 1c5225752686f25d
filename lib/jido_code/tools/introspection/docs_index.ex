defmodule JidoCode.Tools.Introspection.DocsIndex do
  @moduledoc false
  # What was read about modules, kept by the identity of the files it was read from: a file that changed is read again.
  #
  # A table that every caller reads and writes. What is kept is bounded by count; the modules that were read first go first.
  # Without the table, as on a node that borrows this module, nothing is kept.

  use GenServer

  alias JidoCode.Tools.PlainFile

  @table __MODULE__
  @max_modules 64
  # Of text and terms. A module that is larger than most is worth reading again.
  @max_words 500_000

  @type key :: {Path.t(), [PlainFile.identity() | nil | integer()]}

  @spec start_link(term()) :: GenServer.on_start()
  def start_link(_options), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)

  @impl true
  def init(nil) do
    :ets.new(@table, [:named_table, :public, read_concurrency: true])
    {:ok, nil}
  end

  @doc "What is kept of a module, or what `read` says of it, which is then kept. A key with nil in it is no identity."
  @spec fetch(key() | nil, (() -> {:ok, value} | error)) :: {:ok, value} | error
        when value: term(), error: term()
  def fetch(nil, read), do: read.()

  def fetch(key, read) do
    case lookup(key) do
      {:ok, value} ->
        {:ok, value}

      :error ->
        with {:ok, value} <- read.() do
          keep(key, value)
          {:ok, value}
        end
    end
  end

  @doc "The text of one spec or type of a module, written at its first use."
  @spec text(key() | nil, term(), (() -> text)) :: text when text: term()
  def text(nil, _name, write), do: write.()

  def text(key, name, write) do
    {:ok, text} = fetch({key, name}, fn -> {:ok, write.()} end)
    text
  end

  defp lookup(key) do
    case :ets.lookup(@table, key) do
      [{^key, _order, value}] -> {:ok, value}
      [] -> :error
    end
  rescue
    ArgumentError -> :error
  end

  defp keep(key, value) do
    if :erts_debug.flat_size(value) <= @max_words do
      :ets.insert(@table, {key, System.monotonic_time(), value})
      make_room()
    end
  rescue
    ArgumentError -> false
  end

  defp make_room do
    modules =
      :ets.select(@table, [{{{:"$1", :"$2"}, :"$3", :_}, [{:is_list, :"$2"}], [{{:"$3", :"$1", :"$2"}}]}])

    for {_order, path, files} <- modules |> Enum.sort() |> Enum.drop(-@max_modules) do
      :ets.delete(@table, {path, files})
      :ets.match_delete(@table, {{{path, files}, :_}, :_, :_})
    end
  end
end
