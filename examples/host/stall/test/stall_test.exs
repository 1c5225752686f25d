defmodule StallTest do
  use ExUnit.Case

  test "weighs" do
    assert Stall.cost(apple: 2, plum: 0.5) == 710
  end

  test "has no pears" do
    assert Stall.price(:pear) == 0
  end
end
