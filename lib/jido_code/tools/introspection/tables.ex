defmodule JidoCode.Tools.Introspection.Tables do
  @moduledoc false
  # The tables of a node and whose they are: ETS tables, and Mnesia's, which are ETS tables too where they are in memory.
  #
  # An ETS table belongs to the process that owns it. Mnesia owns its tables itself, so there the process says nothing: all but
  # its own schema were made by somebody else's code, and are the project's unless namespaces are listed and none fits.

  alias JidoCode.Tools.Introspection.{At, Facts, Names, Observer, Ownership}

  @max_tables 10_000

  @typedoc """
  `kind` is `:ets` or Mnesia's storage type. `table` is what ETS takes for it, nil for one that is on disk only. `records`
  are the field names that Mnesia knows.
  """
  @type t :: %{
          kind: atom(),
          name: atom(),
          table: :ets.table() | nil,
          node: node(),
          owner: Observer.t() | nil,
          records: %{{atom(), pos_integer()} => [String.t()]}
        }

  @type listing :: %{
          tables: [map()],
          unnamed: non_neg_integer(),
          system: non_neg_integer(),
          foreign: %{(atom() | nil) => pos_integer()},
          unseen: non_neg_integer()
        }

  @doc "The table of that name, if it may be looked at; the error is a text."
  @spec find(String.t(), Ownership.scope(), node()) :: {:ok, t()} | {:error, String.t()}
  def find(text, scope, node) do
    cond do
      Names.blank?(text) ->
        {:error, "Invalid table: it is blank or too long"}

      Names.identifier?(text) ->
        {:error, "Reference-based tables are not supported; only named tables can be looked at"}

      Ownership.blocked_table?(text) ->
        {:error, Ownership.explain(:blocked, "Table", text)}

      true ->
        named(Names.atoms(text, node), text, scope, node)
    end
  end

  defp named(names, text, scope, node) do
    mnesia = mnesia(node)

    cond do
      name = Enum.find(names, &(&1 in mnesia)) -> mnesia_table(name, text, scope, node)
      name = Enum.find(names, &is_pid(ets(node, &1, :owner))) -> ets_table(name, text, scope, node)
      true -> {:error, not_found(text)}
    end
  end

  defp mnesia_table(name, text, scope, node) do
    if Ownership.namespace?(name, scope) do
      storage = At.call(node, :mnesia, :table_info, [name, :storage_type])
      in_memory? = storage in [:ram_copies, :disc_copies] and is_pid(ets(node, name, :owner))
      table = if in_memory?, do: name

      {:ok,
       %{kind: storage, name: name, table: table, node: node, owner: nil, records: attributes(name, node)}}
    else
      {:error, Ownership.explain({:foreign, :mnesia}, "Table", text)}
    end
  end

  defp ets_table(name, text, scope, node) do
    with owner when is_pid(owner) <- ets(node, name, :owner),
         {:ok, process} <- Observer.look(owner),
         :ok <- Ownership.check(process, scope) do
      {:ok, %{kind: :ets, name: name, table: name, node: node, owner: process, records: %{}}}
    else
      {:error, refusal} -> {:error, Ownership.explain(refusal, "Table", text)}
      _gone -> {:error, not_found(text)}
    end
  end

  defp attributes(name, node) do
    fields = At.call(node, :mnesia, :table_info, [name, :attributes])
    tag = At.call(node, :mnesia, :table_info, [name, :record_name])
    %{{tag, length(fields) + 1} => Enum.map(fields, &Atom.to_string/1)}
  end

  @spec not_found(String.t()) :: String.t()
  def not_found(text), do: "Table not found: #{text}"

  @doc "`:ets.info/2` on a node."
  @spec ets(node(), :ets.table(), atom()) :: term()
  def ets(node, table, item), do: At.call(node, :ets, :info, [table, item])

  # Mnesia's tables but its schema. Asking whether it runs starts nothing.
  defp mnesia(node) do
    if is_pid(At.call(node, :erlang, :whereis, [:mnesia_sup])),
      do: At.call(node, :mnesia, :system_info, [:tables]) -- [:schema],
      else: []
  catch
    # It is starting or stopping.
    :exit, _reason -> []
  end

  @doc "The project's tables that have names, and how many others there are, by what they are."
  @spec list(Ownership.scope(), node()) :: listing()
  def list(scope, node) do
    mnesia = mnesia(node)
    {tables, unseen} = Enum.split(At.call(node, :ets, :all, []), @max_tables)
    empty = %{tables: [], unnamed: 0, system: 0, foreign: %{}, unseen: length(unseen)}

    {listing, _owners} =
      Enum.reduce(tables -- mnesia, {empty, %{}}, fn table, {listing, owners} ->
        case ets(node, table, :owner) do
          owner when is_pid(owner) ->
            {verdict, owners} = judged(owner, owners, scope)
            {add(listing, table, verdict, node), owners}

          :undefined ->
            {listing, owners}
        end
      end)

    {ours, foreign} = Enum.split_with(mnesia, &Ownership.namespace?(&1, scope))

    listing
    |> Map.update!(:tables, &(Enum.map(ours, fn name -> mnesia_summary(name, node) end) ++ &1))
    |> count_foreign(:mnesia, length(foreign))
  end

  defp add(listing, table, :ok, node) do
    case At.call(node, :ets, :info, [table]) do
      :undefined ->
        listing

      info ->
        if info[:named_table],
          do: add_named(listing, info, node),
          else: %{listing | unnamed: listing.unnamed + 1}
    end
  end

  defp add(listing, _table, {:error, {:foreign, app}}, _node), do: count_foreign(listing, app, 1)
  defp add(listing, _table, {:error, _blocked}, _node), do: %{listing | system: listing.system + 1}

  defp add_named(listing, info, node) do
    if Ownership.blocked_table?(info[:name]),
      do: %{listing | system: listing.system + 1},
      else: %{listing | tables: [summary(info, node) | listing.tables]}
  end

  defp count_foreign(listing, _app, 0), do: listing

  defp count_foreign(listing, app, count),
    do: update_in(listing.foreign, &Map.update(&1, app, count, fn n -> n + count end))

  # A process often owns many tables.
  defp judged(owner, owners, scope) do
    case owners do
      %{^owner => verdict} ->
        {verdict, owners}

      %{} ->
        verdict = Ownership.check_pid(owner, scope)
        {verdict, Map.put(owners, owner, verdict)}
    end
  end

  defp summary(info, node) do
    %{
      "name" => Names.typed(info[:name]),
      "type" => Atom.to_string(info[:type]),
      "size" => info[:size],
      "memory" => info[:memory],
      "memory_bytes" => bytes(info[:memory], node),
      "protection" => Atom.to_string(info[:protection]),
      "owner" => Facts.show(info[:owner])
    }
  end

  defp mnesia_summary(name, node) do
    [type, size, memory, storage] =
      for item <- [:type, :size, :memory, :storage_type],
          do: At.call(node, :mnesia, :table_info, [name, item])

    # Of a table on disk only, the memory is the file's size in bytes.
    bytes = if storage == :disc_only_copies, do: memory, else: bytes(memory, node)

    %{
      "name" => Names.typed(name),
      "type" => Atom.to_string(type),
      "size" => size,
      "memory" => memory,
      "memory_bytes" => bytes,
      "protection" => "mnesia",
      "storage" => Atom.to_string(storage),
      "owner" => "mnesia"
    }
  end

  @doc "Words of the node as bytes."
  @spec bytes(non_neg_integer(), node()) :: non_neg_integer()
  def bytes(words, node), do: words * At.call(node, :erlang, :system_info, [:wordsize])
end
