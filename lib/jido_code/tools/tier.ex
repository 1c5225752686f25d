defmodule JidoCode.Tools.Tier do
  @moduledoc false
  # The four tiers, below everything that reads them; `JidoCode.Tools.Behaviours.SecureHandler` says what each is for.

  @tiers [:read_only, :write, :execute, :privileged]

  @doc "All of them, from the least to the most powerful."
  @spec all() :: [atom(), ...]
  def all, do: @tiers

  @doc "Whether a term is one of them."
  @spec valid?(term()) :: boolean()
  def valid?(term), do: term in @tiers
end
