defmodule JidoCode.Tools.ConsoleTest do
  use ExUnit.Case, async: true

  import ExUnit.CaptureIO

  alias JidoCode.Tools.Doors.Console

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
