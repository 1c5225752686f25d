defmodule Shop.Tools.LowStock do
  @moduledoc """
  A tool of the shop's own, for agents: what is running out.
  """

  use JidoCode.Tools.Behaviours.SecureHandler

  @impl true
  def definition do
    %{
      name: "low_stock",
      title: "What is running out",
      description: "List the items of which at most this many are left, the scarcest first.",
      tier: :read_only,
      hints: :looks,
      parameters: [
        %{
          name: "at_most",
          type: :integer,
          required: false,
          default: 20,
          minimum: 0,
          maximum: 1_000,
          description: "Items with this many left, or fewer (default: 20)"
        }
      ]
    }
  end

  @doc "Runs the tool. The pipeline has checked the arguments by the definition, and filled in the default."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(%{"at_most" => at_most}, _context),
    do: {:ok, %{"items" => Shop.Inventory.scarce(at_most)}}
end
