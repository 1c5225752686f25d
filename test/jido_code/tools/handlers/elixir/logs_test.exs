defmodule JidoCode.Tools.Handlers.Elixir.LogsTest do
  # The ring holds what the whole VM logs, so each test looks for a text of its own; and another test fills it.
  use ExUnit.Case, async: false

  import ExUnit.CaptureLog
  import JidoCode.Tools.Test.CommandProcesses, only: [eventually: 1]

  require Logger

  alias JidoCode.Tools.SecureExecutor
  alias JidoCode.Tools.Answers
  alias JidoCode.Tools.Handlers.Elixir.Logs
  alias JidoCode.Tools.Introspection.LogRing

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

  test "refuses a regex that is none, or that has no bound", %{mark: mark} do
    assert Logs.execute(%{"regex" => "("}, %{}) == {:error, "Invalid regex: unclosed group"}

    assert {:error, "Invalid regex: it has more than" <> _} = regex_error(String.duplicate("a|", 600))

    assert {:error, "Invalid regex: " <> _} = regex_error(<<255>>)
    assert {:error, "Invalid regex: it repeats too much" <> _} = regex_error("(a{1,1000}){1,1000}")
    # Sixty groups that call each other, of which other engines never come back.
    mutual = Enum.map_join(1..60, &"(?<n#{&1}>(?&n#{rem(&1, 60) + 1})(?&n1)|a)")
    assert {:error, "Invalid regex: " <> _} = regex_error(mutual)
    assert {:error, "Invalid regex: " <> _} = regex_error(Enum.map_join(1..10, &"(?<n#{&1}>(?&n1)|a)"))

    capture_log(fn -> Logger.error(mark <> String.duplicate("a", 5_000)) end)
    assert %{"events" => []} = read!(%{"text" => mark, "regex" => "(a+)+$b"})
  end

  defp regex_error(source), do: Logs.execute(%{"regex" => source}, %{})

  test "a regex is tried to the end of every text", %{mark: mark} do
    long = String.duplicate("lorem ipsum dolor sit amet, ", 250)
    capture_log(fn -> for n <- 1..600, do: Logger.error("#{mark}-#{n}") end)
    capture_log(fn -> Logger.error("#{mark}\n#{long} key=42") end)

    for regex <- ["\\w+=\\d+$", "(\\w+\\W*)+=\\d+", "^#{mark}$", "(?s)#{mark}.*key"],
        do: assert([_event] = texts(read!(%{"text" => mark, "regex" => regex})))

    assert texts(read!(%{"regex" => "^#{mark}-7$"})) == ["#{mark}-7"]
  end

  test "a process is found by its name after it ended", %{mark: mark} do
    name = :"#{mark}_worker"
    test = self()

    capture_log(fn ->
      {pid, monitor} =
        spawn_monitor(fn ->
          Process.register(self(), name)
          Logger.error(mark)
          send(test, :logged)
        end)

      assert_receive :logged
      assert_receive {:DOWN, ^monitor, :process, ^pid, _reason}
    end)

    # Its successor has logged nothing.
    Process.register(self(), name)

    for typed <- [inspect(name), "#{name}", "'#{name}'"],
        do: assert(texts(read!(%{"process" => typed})) == [mark])

    assert %{"events" => [], "note" => note} =
             read!(%{"process" => inspect(name), "text" => "nothing has this"})

    refute note =~ "No process is registered"
    assert read!(%{"process" => mark <> "_none"})["note"] =~ "No process is registered as #{mark}_none"
    # However long it is and whatever it holds.
    note = read!(%{"process" => "none\e[2J" <> String.duplicate("x", 50_000)})["note"]
    assert note =~ ~S(No process is registered as none\u{1B}[2Jxxx)
    assert String.length(note) < 600
  end

  defmodule Unnamed do
    use GenServer
    @impl true
    def init(nil), do: {:ok, nil}
    @impl true
    def handle_cast(mark, nil), do: exit(mark)
  end

  test "the crash of a server without a name is found by its module", %{mark: mark} do
    capture_log(fn ->
      {:ok, pid} = GenServer.start(Unnamed, nil)
      monitor = Process.monitor(pid)
      GenServer.cast(pid, mark)
      assert_receive {:DOWN, ^monitor, :process, ^pid, _reason}
    end)

    for typed <- [inspect(Unnamed), "#{Unnamed}"],
        do: assert([_crash | _] = texts(read!(%{"text" => mark, "process" => typed})))

    assert read!(%{"text" => mark, "process" => inspect(__MODULE__)})["events"] == []
  end

  test "a number from an earlier start of the system is no end", %{mark: mark} do
    capture_log(fn -> Logger.error(mark) end)
    result = read!(%{"text" => mark, "follow_up" => 10 ** 12})
    assert texts(result) == [mark]
    assert result["note"] =~ "follow_up 1000000000000 is of an earlier start of this system"
    assert result["follow_up"] < 10 ** 12
  end

  test "says when the log was not kept for a while" do
    :ok = :logger.remove_handler(:jido_code_tools_log_ring)
    assert read!(%{})["note"] =~ "had been removed and is back now"
    refute (read!(%{})["note"] || "") =~ "removed"
  end

  test "an event with odd metadata or bytes is shown, and so are the others", %{mark: mark} do
    for meta <- [
          %{time: 10 ** 25},
          %{mfa: {"a", 1, :x}},
          %{file: [1 | 2], line: 3},
          %{application: "a"},
          %{pid: "x"}
        ],
        do: LogRing.log(%{level: :error, msg: {:string, <<mark::binary, 255>>}, meta: meta}, %{})

    assert [text, text, text, text, text] = texts(read!(%{"text" => mark}))
    assert text == mark <> "\uFFFD"
    context = %{session_id: mark, granted_tier: :privileged}
    assert {:ok, %{"events" => [_ | _]}} = SecureExecutor.call("get_logs", %{"text" => mark}, context)
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
