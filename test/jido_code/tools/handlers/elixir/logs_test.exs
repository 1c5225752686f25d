defmodule JidoCode.Tools.Handlers.Elixir.LogsTest do
  # The ring holds what the whole VM logs, so each test looks for a text of its own; and another test fills it.
  use ExUnit.Case, async: false

  import ExUnit.CaptureLog
  import JidoCode.Tools.Test.CommandProcesses, only: [eventually: 1]

  require Logger

  alias JidoCode.Tools.SecureExecutor
  alias JidoCode.Tools.Answers
  alias JidoCode.Tools.Handlers.Elixir.Logs

  setup do
    {:ok, mark: "logs-#{System.unique_integer([:positive])}"}
  end

  defp read!(args) do
    assert {:ok, result} = Logs.execute(args, %{})
    result
  end

  defp texts(result), do: Enum.map(result["events"], & &1["text"])

  test "finds a crash that just happened, by one call", %{mark: mark} do
    capture_log(fn ->
      {pid, monitor} = spawn_monitor(fn -> raise mark end)
      assert_receive {:DOWN, ^monitor, :process, ^pid, _reason}
      # What the emulator reports itself comes by the logger's own process.
      eventually(fn -> read!(%{"text" => mark})["events"] != [] end)
    end)

    assert [%{"level" => "error", "text" => text} | _rest] =
             read!(%{"text" => mark, "level" => "error"})["events"]

    assert text =~ "RuntimeError"
  end

  test "shows newest last, by level, text, regex and process", %{mark: mark} do
    capture_log(fn ->
      Logger.info("one #{mark}")
      Logger.error("two #{mark}")
    end)

    assert texts(read!(%{"text" => mark})) == ["one #{mark}", "two #{mark}"]
    assert texts(read!(%{"text" => mark, "level" => "warning"})) == ["two #{mark}"]
    assert texts(read!(%{"regex" => "^one #{mark}$"})) == ["one #{mark}"]
    assert texts(read!(%{"text" => mark, "process" => inspect(self())})) == ["one #{mark}", "two #{mark}"]
    assert texts(read!(%{"text" => mark, "process" => "#PID<0.0.0>"})) == []
    assert texts(read!(%{"text" => mark, "limit" => 1})) == ["two #{mark}"]
  end

  test "goes on where an earlier answer ended", %{mark: mark} do
    capture_log(fn -> Logger.error("old #{mark}") end)
    %{"follow_up" => number} = read!(%{})
    capture_log(fn -> Logger.error("new #{mark}") end)
    assert texts(read!(%{"text" => mark, "follow_up" => number})) == ["new #{mark}"]
  end

  test "whoever follows gets all, a part at a time, the oldest first", %{mark: mark} do
    %{"follow_up" => number} = read!(%{})
    capture_log(fn -> for n <- 1..5, do: Logger.error("#{n} #{mark}") end)
    follow = &read!(%{"text" => mark, "limit" => 2, "follow_up" => &1})

    first = follow.(number)
    assert texts(first) == ["1 #{mark}", "2 #{mark}"]
    assert first["note"] =~ "newer ones: call again with this follow_up"
    second = follow.(first["follow_up"])
    assert texts(second) == ["3 #{mark}", "4 #{mark}"]
    third = follow.(second["follow_up"])
    assert texts(third) == ["5 #{mark}"]
    refute third["note"]
    assert texts(follow.(third["follow_up"])) == []
  end

  test "what is left out for its length is the oldest, counted as it is written", %{mark: mark} do
    %{"follow_up" => number} = read!(%{})
    # Most of it is what the lines are moved by.
    capture_log(fn -> for n <- 1..12, do: Logger.error("#{n} #{mark}\n" <> String.duplicate("a\n", 1_500)) end)

    latest = read!(%{"text" => mark})
    written = Answers.text("get_logs", latest)
    assert latest["note"] =~ "older events are left out for their length"
    assert List.last(texts(latest)) =~ "12 #{mark}"
    assert written =~ "follow_up: #{latest["follow_up"]}\n#{latest["note"]}"
    refute written =~ "cut here"

    # Whoever follows gets them all.
    all =
      Stream.unfold(number, fn number ->
        found = read!(%{"text" => mark, "follow_up" => number})
        if found["events"] != [], do: {texts(found), found["follow_up"]}
      end)

    assert all |> Enum.concat() |> Enum.map(&hd(String.split(&1))) == for(n <- 1..12, do: "#{n}")
  end

  test "takes a time or an age", %{mark: mark} do
    capture_log(fn -> Logger.error(mark) end)
    assert texts(read!(%{"text" => mark, "since" => "5m"})) == [mark]
    assert texts(read!(%{"text" => mark, "since" => "2999-01-01T00:00:00Z"})) == []
    assert {:error, "Invalid since: write 30s" <> _} = Logs.execute(%{"since" => "yesterday"}, %{})
  end

  test "refuses a regex that is none, and a careless one ends", %{mark: mark} do
    assert {:error, "Invalid regex: " <> _} = Logs.execute(%{"regex" => "("}, %{})
    capture_log(fn -> Logger.error(mark <> String.duplicate("a", 5_000)) end)
    assert %{"events" => []} = read!(%{"text" => mark, "regex" => "(a+)+$b"})
  end

  test "says where each event came from", %{mark: mark} do
    capture_log(fn -> Logger.error(mark) end)
    assert [%{"where" => where, "time" => time}] = read!(%{"text" => mark})["events"]
    assert where =~ "LogsTest" and where =~ "test/jido_code/tools/handlers/elixir/logs_test.exs:"
    assert {:ok, _time, 0} = DateTime.from_iso8601(time)
  end

  test "needs the tier, and what it shows is redacted", %{mark: mark} do
    capture_log(fn -> Logger.error("#{mark} ghp_9xQ2vL7mT4kB8nR3wY6cF1hJ5sD0gZpA2eUi") end)
    assert {:error, "Permission denied" <> _} = SecureExecutor.call("get_logs", %{}, %{session_id: mark})

    context = %{session_id: mark, granted_tier: :privileged}
    assert {:ok, result} = SecureExecutor.call("get_logs", %{"text" => mark}, context)
    refute inspect(result) =~ "9xQ2vL7mT4kB8nR3"
    assert Answers.text("get_logs", result) =~ "[error]"
  end

  test "bounds the answer and says what was left out", %{mark: mark} do
    capture_log(fn -> for n <- 1..30, do: Logger.error("#{mark} #{n} #{String.duplicate("x", 3_000)}") end)
    result = read!(%{"text" => mark})
    assert String.length(Answers.text("get_logs", result)) <= 30_000
    assert List.last(texts(result)) =~ "#{mark} 30 "
    assert result["note"] =~ "older events are left out for their length"
  end
end
