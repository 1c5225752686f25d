defmodule JidoCode.Tools.DeadlineTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Deadline

  doctest Deadline

  test "what is not a time is the default" do
    for asked <- [nil, 0, -1, 1.5, "1", []], do: assert(Deadline.new(asked, 7, 9).timeout == 7)
    assert Deadline.new(8, 7, 9).timeout == 8
  end

  test "a time that is over leaves the least that can be given" do
    assert Deadline.left(%Deadline{timeout: 5, at: System.monotonic_time(:millisecond) - 1_000}) == 1
  end
end
