defmodule JidoCode.Tools.Introspection.BoundedTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Introspection.Bounded

  # Tells the test its pid, then waits for ever.
  defp stuck(test) do
    fn ->
      send(test, {:worker, self()})
      Process.sleep(:infinity)
    end
  end

  defp assert_gone(pid) do
    monitor = Process.monitor(pid)
    assert_receive {:DOWN, ^monitor, :process, ^pid, _reason}
  end

  defp mailbox, do: self() |> Process.info(:messages) |> elem(1)

  test "gives the value" do
    assert Bounded.run(fn -> {:some, "value"} end, timeout: 1_000) == {:ok, {:some, "value"}}
    assert mailbox() == []
  end

  test "ends what takes too long" do
    assert Bounded.run(stuck(self()), timeout: 20) == {:error, :timeout}
    assert_received {:worker, worker}
    assert_gone(worker)
    assert mailbox() == []
  end

  test "ends what grows too large, and the caller lives" do
    grow = fn -> Enum.reduce(1..10_000_000, [], &[&1 | &2]) |> length() end
    assert Bounded.run(grow, timeout: 10_000, heap_words: 100_000) == {:error, :too_large}
    assert mailbox() == []
  end

  test "a crash is an answer, not a crash, and quotes nothing" do
    for {fun, kind} <- [
          {fn -> raise "hunter2" end, :error},
          {fn -> throw("hunter2") end, :throw},
          {fn -> exit("hunter2") end, :exit}
        ] do
      assert {:error, {:crashed, reason}} = Bounded.run(fun, timeout: 1_000)
      assert {:shutdown, {^kind, _}} = reason
      refute inspect(reason) =~ "hunter2"
    end

    assert mailbox() == []
  end

  test "nothing outlives the caller" do
    test = self()
    caller = spawn(fn -> Bounded.run(stuck(test), timeout: 60_000) end)
    assert_receive {:worker, worker}
    Process.exit(caller, :kill)
    assert_gone(worker)
  end

  test "nor the watcher between them" do
    test = self()
    caller = spawn(fn -> send(test, {:answer, Bounded.run(stuck(test), timeout: 60_000)}) end)
    assert_receive {:worker, worker}
    {:monitors, [process: watcher]} = Process.info(caller, :monitors)
    Process.exit(watcher, :kill)
    assert_gone(worker)
    assert_receive {:answer, {:error, {:crashed, :killed}}}
  end

  test "leaves the caller's own messages, links and monitors alone" do
    send(self(), {:DOWN, make_ref(), :process, self(), :stray})
    send(self(), :mine)
    before = Process.info(self(), [:links, :monitors, :monitored_by])

    for _ <- 1..200 do
      assert Bounded.run(fn -> :ok end, timeout: 1_000) == {:ok, :ok}
      Bounded.run(fn -> :ok end, timeout: 0)
    end

    assert [{:DOWN, _, :process, _, :stray}, :mine] = mailbox()
    assert Process.info(self(), [:links, :monitors])[:links] == before[:links]
    assert Process.info(self(), [:links, :monitors])[:monitors] == before[:monitors]
  end
end
