defmodule JidoCode.Tools.Introspection.LogRingTest do
  # The ring holds what the whole VM logs, so tests look for texts of their own; and one of them fills it.
  use ExUnit.Case, async: false

  import ExUnit.CaptureLog

  require Logger

  alias JidoCode.Tools.Introspection.LogRing

  setup do
    {:ok, mark: "mark-#{System.unique_integer([:positive])}"}
  end

  defp found(mark, limit \\ 50) do
    {events, _newest} = LogRing.events(0, limit, &String.contains?(&1.text, mark))
    events
  end

  test "keeps what was logged, newest first, with level, process and place", %{mark: mark} do
    capture_log(fn ->
      Logger.warning("first #{mark}")
      Logger.error("second #{mark}")
    end)

    assert [second, first] = found(mark)
    assert %{level: :error, text: "second " <> ^mark} = second
    assert %{level: :warning, pid: pid, mfa: {__MODULE__, _function, 1}, place: {file, line}} = first
    assert pid == self()
    assert String.ends_with?(file, "log_ring_test.exs") and line > 0
    assert second.number > first.number
  end

  test "goes on from a number", %{mark: mark} do
    capture_log(fn -> Logger.error("old #{mark}") end)
    {_events, newest} = LogRing.events(0, 1, fn _event -> true end)
    capture_log(fn -> Logger.error("new #{mark}") end)
    {events, _newest} = LogRing.events(newest, 50, &String.contains?(&1.text, mark))
    assert [%{text: "new " <> _mark}] = events
  end

  test "a crash is readable: what, where, and the state it had", %{mark: mark} do
    capture_log(fn ->
      {:ok, agent} = Agent.start(fn -> mark end)
      monitor = Process.monitor(agent)
      catch_exit(Agent.get(agent, fn _state -> raise "on purpose" end))
      assert_receive {:DOWN, ^monitor, :process, ^agent, _reason}
    end)

    assert [event | _rest] = found(mark)
    assert event.level == :error
    assert event.text =~ "on purpose"
    assert event.text =~ "log_ring_test.exs"
  end

  test "an event's text is bounded and stays whole UTF-8", %{mark: mark} do
    capture_log(fn -> Logger.error([mark, String.duplicate("ä", 50_000)]) end)
    assert [%{text: text}] = found(mark)
    assert byte_size(text) < 9_000
    assert String.valid?(text)
    assert text =~ "more bytes"
  end

  test "what can't be written as text is no reason to fail", %{mark: mark} do
    # Straight to the ring: another handler would be removed for the first of these.
    log({String.to_charlist("~s " <> mark), []})
    log({:report, %{report: mark, value: make_ref()}})

    assert [%{text: text}] = found(mark)
    assert text =~ "report"
  end

  test "formats and reports say the same whether they are kept small or written at once", %{mark: mark} do
    large = String.duplicate("y", 600)
    many = Enum.to_list(1..2_000)

    for {message, text} <- [
          {{~c"~ts ~p ~w ~ts", [mark, {:a, %{b: [1.5]}}, ~c"ä", "ü"]},
           ~s(#{mark} {a,\#{b => [1.5]}} [228] ü)},
          {{"~ts ~p", [mark, self()]}, "#{mark} #{:erlang.pid_to_list(self())}"},
          {{"~ts ~ts", [mark, large]}, "#{mark} #{large}"},
          {{"~ts ~w", [mark, many]}, "#{mark} [1,2,3"},
          {{"~ts ~w", [mark, [1 | 2]]}, "#{mark} [1|2]"},
          {{"~ts ~w", [mark, Integer.pow(7, 3_000)]}, "#{mark} #{Integer.pow(7, 3_000)}"},
          {{:report, [name: mark]}, "[{name,<<\"#{mark}\">>}]"},
          {{:report, %{name: mark, large: large}}, "name => "}
        ] do
      log(message)
      assert [%{text: found} | _] = found(mark, 1)
      assert found =~ String.slice(text, 0, 2_000)
    end
  end

  test "a small message holds nothing large alive", %{mark: mark} do
    large = :binary.copy(mark <> String.duplicate("z", 100), 10_000)
    part = binary_part(large, 0, byte_size(mark))
    log({"~ts", [part]})
    [row] = :ets.tab2list(LogRing) |> Enum.filter(&match?({_, _, _, _, _, {:later, {_, [^part]}}, _}, &1))
    {:later, {_format, [kept]}} = elem(row, 5)
    assert :binary.referenced_byte_size(kept) < 1_000
  end

  test "holds a bounded number of events and bytes, also with many writers", %{mark: mark} do
    text = String.duplicate("x", 4_000)

    1..8
    |> Task.async_stream(fn _writer -> for _n <- 1..500, do: log({:string, mark <> text}) end, timeout: 60_000)
    |> Stream.run()

    events = found(mark, 10_000)
    assert events != []
    bytes = events |> Enum.map(&byte_size(&1.text)) |> Enum.sum()
    assert bytes <= 4_100_000
    assert length(events) <= 2_000
    assert :ets.info(LogRing, :size) <= 2_000
  end

  test "holds a bounded number of bytes of messages that are not written yet" do
    arguments = [List.duplicate("0123456789", 70)]
    for number <- 1..5_000, do: log({"~p ~p", [number, arguments]})
    assert :ets.info(LogRing, :size) <= 2_000
    assert :ets.info(LogRing, :memory) * :erlang.system_info(:wordsize) < 20_000_000
  end

  # Past the VM's logger, whose own handler would print four thousand events.
  defp log(message) do
    meta = %{time: System.os_time(:microsecond), pid: self(), gl: Process.group_leader()}
    LogRing.log(%{level: :error, msg: message, meta: meta}, %{})
  end
end
