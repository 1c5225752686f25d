defmodule Shop.Tools.LowStockTest do
  use ExUnit.Case

  alias JidoCode.Tools.SecureExecutor

  setup do
    {:ok, context: %{session_id: "low-stock-#{System.unique_integer([:positive])}"}}
  end

  test "is called like the library's own tools", %{context: context} do
    assert {:ok, %{"items" => [%{"item" => _, "left" => _} | _rest]}} =
             SecureExecutor.call("low_stock", %{"at_most" => 1_000}, context)
  end

  test "refuses what its definition does not allow", %{context: context} do
    assert {:error, text} = SecureExecutor.call("low_stock", %{"at_most" => -1}, context)
    assert text =~ "at_most"
  end
end
