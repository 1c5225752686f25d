defmodule JidoCode.Tools.ConsoleTest do
  use ExUnit.Case, async: true

  doctest JidoCode.Tools.Doors.Console

  import ExUnit.CaptureIO

  alias JidoCode.Tools.Doors.Console

  defp text(term), do: term |> Console.format() |> IO.iodata_to_binary()

  test "short values first, then blocks, each in the order of its names" do
    result = %{
      "z" => 1,
      "tree" => "a\n  b",
      "a" => nil,
      "list" => [],
      "map" => %{},
      "nested" => %{"y" => true}
    }

    assert text(result) == """
           a: -
           list: none
           map: none
           z: 1
           nested:
             y: true
           tree:
             a
               b
           """
  end

  test "lists of values, maps and lists" do
    assert text([1, "two", nil]) == "- 1\n- two\n- -\n"
    assert text([%{"a" => 1, "b" => 2}, [3, [4]]]) == "- a: 1\n  b: 2\n- - 3\n  - - 4\n"
  end

  test "text that ends its lines doesn't end in empty ones" do
    assert text(%{"out" => "one\n\ntwo\n"}) == "out:\n  one\n\n  two\n"
  end

  test "quietly: what the function and what it starts print goes to standard error" do
    assert capture_io(:stderr, fn ->
             assert capture_io(fn ->
                      result =
                        Console.quietly(fn ->
                          IO.puts("to the side")
                          Task.await(Task.async(fn -> IO.puts("and from a task") end))
                          :result
                        end)

                      assert result == :result
                      IO.puts("to the front")
                    end) == "to the front\n"
           end) =~ "to the side\nand from a task\n"
  end

  test "quietly: the group leader comes back after a failure" do
    leader = Process.group_leader()
    assert_raise RuntimeError, fn -> Console.quietly(fn -> raise "x" end) end
    assert Process.group_leader() == leader
  end
end
