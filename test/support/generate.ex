defmodule JidoCode.Tools.Test.Generate do
  @moduledoc """
  Values from a seed: a test that tries many inputs says which seed failed, and does so again.

  Every function takes the state and returns it with the value, so that a run depends on nothing but its seed.
  """

  @type state :: :rand.state()

  @spec new(integer()) :: state()
  def new(seed), do: :rand.seed_s(:exsss, {seed, 271, 828})

  @spec integer(state(), Range.t()) :: {integer(), state()}
  def integer(state, first..last//_) do
    {number, state} = :rand.uniform_s(last - first + 1, state)
    {first + number - 1, state}
  end

  @spec member(state(), [term()]) :: {term(), state()}
  def member(state, list) do
    {index, state} = integer(state, 0..(length(list) - 1))
    {Enum.at(list, index), state}
  end

  @spec list(state(), non_neg_integer(), (state() -> {value, state()})) :: {[value], state()}
        when value: term()
  def list(state, 0, _value), do: {[], state}

  def list(state, length, value) do
    Enum.map_reduce(1..length, state, fn _, state -> value.(state) end)
  end

  @spec string(state(), non_neg_integer(), [char()]) :: {String.t(), state()}
  def string(state, length, alphabet) do
    {chars, state} = list(state, length, &member(&1, alphabet))
    {List.to_string(chars), state}
  end

  @doc "Letters and digits in which no word can be read."
  @spec token(state(), non_neg_integer()) :: {String.t(), state()}
  def token(state, length), do: string(state, length, Enum.concat([?a..?z, ?A..?Z, ?0..?9]))

  @doc "Any term of ordinary data, nested a few levels, without a secret in it."
  @spec term(state(), non_neg_integer()) :: {term(), state()}
  def term(state, depth) do
    kinds = [:integer, :float, :atom, :binary, :bytes, :charlist, :pid, :empty]
    kinds = if depth > 0, do: kinds ++ [:list, :keyword, :tuple, :map, :improper, :struct], else: kinds
    {kind, state} = member(state, kinds)
    value(kind, state, depth)
  end

  defp value(:integer, state, _depth), do: integer(state, -1_000_000..1_000_000)

  defp value(:float, state, _depth) do
    {number, state} = integer(state, -1000..1000)
    {number / 8, state}
  end

  defp value(:atom, state, _depth), do: member(state, [:ok, :error, nil, true, :undefined, Enum])
  defp value(:binary, state, _depth), do: string(state, 5, [?a, ?e, ?n, ?r, ?\s, ?ü])
  defp value(:bytes, state, _depth), do: member(state, [<<0, 255>>, <<1::3>>, ""])
  defp value(:charlist, state, _depth), do: member(state, [~c"some words", [1, 2, 3], [955, 966]])
  defp value(:pid, state, _depth), do: {self(), state}
  defp value(:empty, state, _depth), do: member(state, [[], {}, %{}])
  defp value(:list, state, depth), do: some(state, depth)

  defp value(:keyword, state, depth) do
    {values, state} = some(state, depth)
    {Enum.zip([:alpha, :beta, :gamma], values), state}
  end

  defp value(:tuple, state, depth) do
    {values, state} = some(state, depth)
    {List.to_tuple(values), state}
  end

  defp value(:map, state, depth) do
    {values, state} = some(state, depth)
    {["one", :two, 3, {:four}] |> Enum.zip(values) |> Map.new(), state}
  end

  defp value(:improper, state, depth) do
    {head, state} = term(state, depth - 1)
    {[head | :tail], state}
  end

  defp value(:struct, state, _depth), do: member(state, [~D[2026-01-02], 1..3, MapSet.new([:a])])

  defp some(state, depth) do
    {length, state} = integer(state, 0..4)
    list(state, length, &term(&1, depth - 1))
  end
end
