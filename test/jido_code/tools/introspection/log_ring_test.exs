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
    LogRing.newest()
    |> LogRing.preceding(0)
    |> Stream.filter(&String.contains?(&1.text, mark))
    |> Enum.take(limit)
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
    number = LogRing.newest()
    capture_log(fn -> Logger.error("new #{mark}") end)
    newest = LogRing.newest()

    for events <- [LogRing.preceding(newest, number), LogRing.following(number, newest)],
        do: assert(["new " <> ^mark] = for(%{text: text} <- events, text =~ mark, do: text))
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
    [row] = :ets.tab2list(LogRing) |> Enum.filter(&match?({_, _, {_, _, {:later, {_, [^part]}}}}, &1))
    {_number, _weight, {_level, _origin, {:later, {_format, [kept]}}}} = row
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

  test "whatever a report's own words do, the handler stays", %{mark: mark} do
    words = [
      fn _ -> raise mark end,
      fn _ -> throw(mark) end,
      fn _ -> exit(mark) end,
      fn _ -> :nonsense end,
      fn _ -> {"~p ~p", [1]} end,
      fn _, _ -> throw(mark) end,
      fn _, _ -> make_ref() end
    ]

    for callback <- words do
      number = LogRing.newest()
      assert :ok = log({:report, %{a: 1}}, %{report_cb: callback})
      assert [%{text: "(this event can't be written as text)"}] = after_number(number)
    end

    number = LogRing.newest()
    assert :ok = log({[1 | 2], []})
    assert [%{text: "(this event can't be written as text)"}] = after_number(number)
  end

  test "odd metadata is left out, and the event is there", %{mark: mark} do
    odd = [
      %{time: 10 ** 25},
      %{time: "x"},
      %{mfa: :foo},
      %{mfa: {"a", 1, :x}},
      %{mfa: {IO, :puts, [mark]}},
      %{file: %{a: 1}, line: 3},
      %{file: [1 | 2], line: 3},
      %{file: [mark], line: 3},
      %{file: <<255>>, line: 3},
      %{file: "f", line: {1}},
      %{application: "str"},
      %{pid: "x"}
    ]

    for meta <- odd do
      number = LogRing.newest()
      log({:string, mark}, meta)
      assert [%{text: ^mark, mfa: nil, place: nil, application: nil} = event] = after_number(number)
      assert {:ok, _time} = DateTime.from_unix(event.time_us, :microsecond)
      assert event.pid in [self(), nil]
    end
  end

  test "keeps and weighs a copy of a file's name, if it is short", %{mark: mark} do
    name = "/" <> String.duplicate("d", 900)
    large = :binary.copy(name, 1_000)
    number = LogRing.newest()
    log({:string, mark}, %{file: binary_part(large, 0, 901), line: 1})
    log({:string, mark}, %{file: String.to_charlist(name), line: 1})
    log({:string, mark}, %{file: large, line: 1})
    log({:string, mark}, %{file: String.to_charlist(large), line: 1})

    assert [{^name, 1}, {^name, 1}, nil, nil] = Enum.map(after_number(number), & &1.place)

    for {_number, weight, {_level, origin, ^mark}} <- :ets.tab2list(LogRing) do
      {file, bytes} = with {file, 1} <- elem(origin, 4), do: {file, byte_size(file)}, else: (nil -> {"", 0})
      assert weight > byte_size(mark) + bytes
      assert :binary.referenced_byte_size(file) < 2_000
    end
  end

  test "bytes that are not UTF-8 are replaced", %{mark: mark} do
    for {message, text} <- [
          {{:string, <<mark::binary, 255, " text">>}, "#{mark}\uFFFD text"},
          {{:string, [mark, [[<<"a", 255>>], "b"], 0xD800, <<255>>]}, "#{mark}a\uFFFDb\uFFFD\uFFFD"},
          {{:string, <<mark::binary, 0xC3>>}, "#{mark}\uFFFD"},
          {{"~ts ~s", [mark, <<"half ", 255>>]}, mark}
        ] do
      log(message)
      assert [%{text: found} | _] = found(mark, 1)
      assert String.valid?(found)
      assert String.starts_with?(found, text)
    end

    log({:string, mark <> :binary.copy(<<255>>, 1_000_000)})
    assert [%{text: found} | _] = found(mark, 1)
    assert String.valid?(found) and byte_size(found) < 9_000
  end

  test "a handler that somebody removed is put back, and that is said", %{mark: mark} do
    assert LogRing.ensure() == :kept
    :ok = :logger.remove_handler(:jido_code_tools_log_ring)
    assert LogRing.ensure() == :put_back
    assert LogRing.ensure() == :kept
    capture_log(fn -> Logger.error("again #{mark}") end)
    assert [_event] = found(mark)
  end

  test "no event appears below a number that was read", %{mark: mark} do
    # As a writer that took its number and was stopped before it put the row.
    counters = :persistent_term.get({LogRing, :counters})
    taken = :atomics.add_get(counters, 1, 1)
    log({:string, mark})
    assert LogRing.newest() > taken
    refute :ets.insert_new(LogRing, {taken, 10, {:error, nil, mark}})
    assert [_event] = found(mark)
    assert LogRing.oldest()
  end

  test "whoever follows many writers gets each event once", %{mark: mark} do
    number = LogRing.newest()

    writers =
      for writer <- 1..4, do: Task.async(fn -> for n <- 1..200, do: log({"~ts ~p ~p", [mark, writer, n]}) end)

    read = follow(number, mark, 800, MapSet.new())
    Task.await_many(writers, 60_000)
    assert MapSet.size(read) == 800
  end

  # Ends when all were seen; one that was skipped would never be.
  defp follow(number, mark, missing, read) when missing > 0 do
    newest = LogRing.newest()
    texts = for %{text: text} <- LogRing.following(number, newest), text =~ mark, do: text
    refute Enum.any?(texts, &(&1 in read))
    follow(newest, mark, missing - length(texts), MapSet.union(read, MapSet.new(texts)))
  end

  defp follow(_number, _mark, 0, read), do: read

  defp after_number(number),
    do: number |> LogRing.following(LogRing.newest()) |> Enum.filter(&(&1.level == :alert))

  # Past the VM's logger, whose own handler would print four thousand events, or be removed.
  defp log(message, meta \\ %{}) do
    usual = %{time: System.os_time(:microsecond), pid: self(), gl: Process.group_leader()}
    LogRing.log(%{level: :alert, msg: message, meta: Map.merge(usual, meta)}, %{})
  end
end
