defmodule JidoCode.Tools.LuaBridge.Luerl do
  @moduledoc false
  # The one place that knows Luerl, which is the application's own and may be absent.
  #
  # Luerl has had two interfaces in its module `luerl`: the older one (0.4 to 1.2) sets and reads by `set_table1/3` and
  # `get_table1/2`, the newer one by `set_table_keys/3` and `get_table_keys/2`. All have `encode/2` and `decode/2`, and the same
  # state behind them. Calls go through apply, because the module may be absent when this file is compiled.

  alias JidoCode.Tools.Host

  @type state :: term()
  @type function2 :: (args :: [term()], state() -> {results :: [term()], state()})

  @spec available?() :: boolean()
  def available? do
    Host.has?(:luerl) and interface() != :unknown
  end

  @doc "What a path of global tables leads to, as Luerl itself has it; nil where there is nothing."
  @spec get(state(), [String.t()]) :: term()
  def get(state, path) do
    case interface() do
      :newer ->
        {:ok, value, _state} = apply(:luerl, :get_table_keys, [path, state])
        value

      :older ->
        {value, _state} = apply(:luerl, :get_table1, [path, state])
        value
    end
  end

  @doc "Puts an empty table at a path."
  @spec put_table(state(), [String.t()]) :: state()
  def put_table(state, path) do
    {table, state} = apply(:luerl, :encode, [[], state])
    put(state, path, table)
  end

  @doc "Puts an Elixir function of decoded arguments and plain results at a path."
  @spec put_function(state(), [String.t()], function2()) :: state()
  def put_function(state, path, function) do
    # A function is encoded as a pair of a tag, which differs between versions, and a function of Luerl's own values. That one
    # would raise in the middle of the script for a table that contains itself, so it is replaced by one that answers.
    {{tag, encoded}, state} = apply(:luerl, :encode, [function, state])
    true = is_function(encoded, 2)
    put(state, path, {tag, around(function)})
  end

  defp around(function) do
    fn args, state ->
      {results, state} =
        case decode(args, state) do
          {:ok, args} -> function.(args, state)
          :error -> {[nil, "the arguments must be plain values: no table that contains itself"], state}
        end

      apply(:luerl, :encode_list, [results, state])
    end
  end

  defp decode(args, state) do
    {:ok, apply(:luerl, :decode_list, [args, state])}
  rescue
    _error -> :error
  end

  defp put(state, path, value) do
    case interface() do
      :newer ->
        # A middle element, where there is one, is an empty list of results.
        case apply(:luerl, :set_table_keys, [path, value, state]) do
          {:ok, state} -> state
          {:ok, _results, state} -> state
        end

      :older ->
        apply(:luerl, :set_table1, [path, value, state])
    end
  end

  defp interface do
    cond do
      function_exported?(:luerl, :set_table_keys, 3) -> :newer
      function_exported?(:luerl, :set_table1, 3) -> :older
      true -> :unknown
    end
  end
end
