defmodule JidoCode.Tools.Test.Calling do
  @moduledoc "A module that calls others, and itself."

  @doc "What is to be paid, in whole units."
  @spec to_pay([integer()]) :: integer()
  def to_pay(prices) do
    cents = Enum.sum(prices)
    whole(cents)
  end

  defp whole(cents), do: div(cents, 100)
end
