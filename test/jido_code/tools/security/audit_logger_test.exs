defmodule JidoCode.Tools.Security.AuditLoggerTest do
  use ExUnit.Case, async: true

  import Bitwise
  import ExUnit.CaptureLog

  doctest JidoCode.Tools.Security.AuditLogger

  alias JidoCode.Tools.Security.{AuditLogger, Core, Native}
  alias JidoCode.Tools.Test.{Events, Generate}

  setup do
    %{core: Core.new(clock: :manual)}
  end

  defp log(core, session, opts \\ []) do
    {tool, opts} = Keyword.pop(opts, :tool, "grep")
    {status, opts} = Keyword.pop(opts, :status, :ok)
    AuditLogger.log_invocation(session, tool, status, 5, [core: core, emit_telemetry: false] ++ opts)
  end

  # The ring's capacity is the configuration's; by the native function it can be another.
  defp resize(core, capacity) do
    :ok = Native.audit_resize(core, capacity)
    core
  end

  describe "entries" do
    test "say who did what, how it went, how long it took" do
      core = Core.new()
      before = DateTime.utc_now()

      assert AuditLogger.log_invocation("s", "mix_task", :timeout, 1_204,
               core: core,
               args: %{"task" => "test"}
             ) == 1

      assert [entry] = AuditLogger.get_audit_log("s", core: core)

      assert %{
               id: 1,
               session_id: "s",
               tool: "mix_task",
               status: :timeout,
               duration_us: 1_204,
               args_hash: hash
             } = entry

      assert hash =~ ~r/\A[0-9a-f]{32}\z/
      assert hash == AuditLogger.hash_args(%{"task" => "test"}, core: core)
      assert %DateTime{time_zone: "Etc/UTC", microsecond: {_, 6}} = entry.timestamp
      assert DateTime.diff(entry.timestamp, before) in 0..60
      assert entry.digest =~ ~r/\A[0-9a-f]{64}\z/
    end

    test "arguments that would unfold without end have no hash, and their entry stands", %{core: core} do
      args = %{"bomb" => Enum.reduce(1..40, [], fn _level, inner -> [inner | inner] end)}
      assert is_integer(log(core, "s", args: args))
      assert [%{args_hash: nil}] = entries(core, "s", [])

      assert_raise ArgumentError, "the arguments are too large to be hashed", fn ->
        AuditLogger.hash_args(args, core: core)
      end
    end

    test "more of them than a normal scheduler turns into terms at once", %{core: core} do
      for _ <- 1..101, do: log(core, "s")
      assert core |> entries("s", limit: 100) |> length() == 100
      assert core |> entries("s", limit: 101) |> Enum.map(& &1.id) == Enum.to_list(101..1//-1)
    end

    test "every status is kept", %{core: core} do
      statuses = [:ok, :error, :blocked, :timeout, :crashed, :cancelled]
      for status <- statuses, do: log(core, "s", status: status, log_blocked: false)
      assert core |> entries("s", order: :asc) |> Enum.map(& &1.status) == statuses
      assert_raise FunctionClauseError, fn -> log(core, "s", status: :fine) end
    end

    test "say what confined the call's commands, under the chain like the rest", %{core: core} do
      text = "filesystem landlock, network none by seccomp, signals landlock"
      log(core, "s", confinement: text)
      {:ok, %{head: confined}} = AuditLogger.verify(core: core)

      other = Core.new(clock: :manual)
      log(other, "s")
      {:ok, %{head: free}} = AuditLogger.verify(core: other)
      assert confined != free

      long = String.duplicate("ä", 10_000)
      log(core, "s", confinement: long)
      log(core, "s", args: %{"large" => Enum.to_list(1..100_000)}, confinement: text)

      assert [%{confinement: ^text}, %{confinement: cut}, %{confinement: ^text}] = entries(core, "s", [])
      assert String.starts_with?(cut, "äää") and byte_size(cut) <= 512 and String.valid?(cut)
      assert [%{confinement: nil}] = entries(other, "s", [])
      assert {:ok, %{entries: 3}} = AuditLogger.verify(core: core)
    end

    test "without a session they belong to nobody's in particular, without arguments they have no hash", %{
      core: core
    } do
      log(core, nil)
      assert [%{session_id: "__global__", args_hash: nil}] = AuditLogger.get_audit_log(core: core)
    end

    test "names of any bytes and length are stored bounded", %{core: core} do
      for name <- ["", <<0, 255>>, String.duplicate("x", 100_000)] do
        log(core, name, tool: name)
        assert [entry] = AuditLogger.get_audit_log(name, core: core, limit: 1)
        assert byte_size(entry.session_id) <= 300
        assert byte_size(entry.tool) <= 300
      end
    end

    defp entries(core, session, opts), do: AuditLogger.get_audit_log(session, [core: core] ++ opts)
  end

  describe "queries" do
    test "by session, order and limit", %{core: core} do
      for session <- ["a", "b", "a", "b", "a"], do: log(core, session)
      ids = fn entries -> Enum.map(entries, & &1.id) end

      assert ids.(AuditLogger.get_audit_log(core: core)) == [5, 4, 3, 2, 1]
      assert ids.(AuditLogger.get_audit_log(core: core, order: :asc, limit: 2)) == [1, 2]
      assert ids.(entries(core, "a", [])) == [5, 3, 1]
      assert ids.(entries(core, "a", limit: 1)) == [5]
      assert ids.(entries(core, "b", order: :asc)) == [2, 4]
      assert entries(core, "c", []) == []
      assert entries(core, "a", limit: 0) == []
      assert AuditLogger.count(core: core) == 5
    end

    test "a thousand at most, unless asked for more", %{core: core} do
      for _ <- 1..1_100, do: log(core, "s")
      assert length(AuditLogger.get_audit_log("s", core: core)) == 1_000
      assert length(entries(core, "s", limit: 5_000)) == 1_100
    end

    test "wrong options are the programmer's mistakes", %{core: core} do
      assert_raise ArgumentError, ~r/:limit/, fn -> entries(core, "s", limit: -1) end
      assert_raise ArgumentError, ~r/:order/, fn -> entries(core, "s", order: :newest) end
    end
  end

  describe "the ring" do
    test "never holds more than its capacity, and the newest", %{core: core} do
      resize(core, 10)

      for n <- 1..25 do
        assert log(core, "s") == n
        assert AuditLogger.count(core: core) == min(n, 10)
      end

      assert core |> entries(nil, order: :asc) |> Enum.map(& &1.id) == Enum.to_list(16..25)
    end

    test "under concurrent writers: never above capacity, ids one after the other, the chain holds", %{
      core: core
    } do
      writers = 16
      each = 400
      capacity = 100
      resize(core, capacity)

      watcher =
        Task.async(fn ->
          watch = fn watch, most ->
            receive do
              :stop -> most
            after
              0 ->
                assert {:ok, _} = AuditLogger.verify(core: core)
                watch.(watch, max(most, length(AuditLogger.get_audit_log(core: core, limit: 10_000))))
            end
          end

          watch.(watch, 0)
        end)

      ids =
        1..writers
        |> Enum.map(fn w -> Task.async(fn -> for _ <- 1..each, do: log(core, "w#{w}") end) end)
        |> Task.await_many(60_000)

      send(watcher.pid, :stop)
      assert Task.await(watcher, 60_000) <= capacity

      # Each writer's ids rise; together they are all numbers, each once.
      for own <- ids, do: assert(own == Enum.sort(own))
      assert ids |> List.flatten() |> Enum.sort() == Enum.to_list(1..(writers * each))
      assert AuditLogger.count(core: core) == capacity

      newest = Enum.to_list((writers * each - capacity + 1)..(writers * each))
      assert core |> entries(nil, order: :asc) |> Enum.map(& &1.id) == newest
      assert {:ok, %{entries: ^capacity}} = AuditLogger.verify(core: core)
    end

    test "shrinks and grows with the configuration's capacity", %{core: core} do
      for _ <- 1..20, do: log(core, "s")
      assert core |> resize(5) |> entries(nil, order: :asc) |> Enum.map(& &1.id) == Enum.to_list(16..20)
      assert AuditLogger.count(core: core) == 5
      resize(core, 7)
      assert AuditLogger.buffer_size(core: core) == 7
      for _ <- 1..3, do: log(core, "s")
      assert core |> entries(nil, order: :asc) |> Enum.map(& &1.id) == Enum.to_list(17..23)
      assert {:ok, _} = AuditLogger.verify(core: core)
    end

    test "belongs to nobody's process" do
      session = "audit-owner-#{System.unique_integer()}"
      {pid, monitor} = spawn_monitor(fn -> AuditLogger.log_invocation(session, "t", :ok, 1) end)
      assert_receive {:DOWN, ^monitor, :process, ^pid, :normal}
      assert [%{tool: "t"}] = AuditLogger.get_audit_log(session)
      AuditLogger.clear_session(session)
    end
  end

  describe "the chain" do
    test "its head moves with each entry; its anchor with each overwritten one", %{core: core} do
      assert {:ok, %{entries: 0, anchor: start, head: start}} = AuditLogger.verify(core: core)
      core |> resize(2) |> log("s")
      assert {:ok, %{entries: 1, anchor: ^start, head: first}} = AuditLogger.verify(core: core)
      log(core, "s")
      log(core, "s")
      assert {:ok, %{entries: 2, anchor: ^first, head: head}} = AuditLogger.verify(core: core)
      assert [%{digest: ^head} | _] = AuditLogger.get_audit_log(core: core)
    end

    test "clearing a session blanks its entries and keeps the chain", %{core: core} do
      for session <- ["a", "b", "a"], do: log(core, session)
      {:ok, %{head: head}} = AuditLogger.verify(core: core)
      assert AuditLogger.clear_session("a", core: core) == :ok
      assert AuditLogger.clear_session("unknown", core: core) == :ok
      assert entries(core, "a", []) == []
      assert [%{id: 2, session_id: "b"}] = Enum.filter(entries(core, nil, []), & &1.session_id)
      assert {:ok, %{entries: 3, head: ^head}} = AuditLogger.verify(core: core)
      assert log(core, "a") == 4
      assert {:ok, %{entries: 4}} = AuditLogger.verify(core: core)
    end

    test "starts anew when all is cleared", %{core: core} do
      for _ <- 1..3, do: log(core, "s")
      {:ok, %{head: head}} = AuditLogger.verify(core: core)
      assert AuditLogger.clear_all(core: core) == :ok
      assert AuditLogger.count(core: core) == 0
      assert {:ok, %{head: other}} = AuditLogger.verify(core: core)
      assert other != head
      assert log(core, "s") == 1
    end
  end

  describe "hashes of arguments" do
    test "don't depend on the order of keys, at any depth", %{core: core} do
      for seed <- 1..30 do
        random = Generate.new(seed)
        {values, _random} = Generate.list(random, 60, &Generate.integer(&1, 0..9))
        pairs = values |> Enum.with_index() |> Enum.map(fn {value, index} -> {"key#{index}", value} end)
        # Beyond 32 keys a map is a tree, whose order is by hash.
        left = Map.new(pairs)
        right = Map.new(Enum.reverse(pairs))
        assert hash(core, %{"a" => left, "b" => [left]}) == hash(core, %{"b" => [right], "a" => right})
      end
    end

    test "differ for different arguments, types included", %{core: core} do
      args = [
        %{},
        %{"a" => 1},
        %{"a" => 1.0},
        %{"a" => "1"},
        %{"a" => :"1"},
        %{"a" => ~c"1"},
        %{"a" => [1]},
        %{"a" => {1}},
        %{"a" => [1, 2]},
        %{"a" => [[1], 2]},
        %{"a" => [1 | 2]},
        %{"a" => <<1::1>>},
        %{"a" => <<1::2>>},
        %{"a" => 1 <<< 80},
        %{"a" => %{"b" => 1}},
        %{"a" => %{}, "b" => 1},
        %{a: 1},
        %{1 => "a"},
        %{"ab" => "c"},
        %{"a" => "bc"}
      ]

      hashes = Enum.map(args, &hash(core, &1))
      assert Enum.uniq(hashes) == hashes
    end

    test "are keyed: of no use to one who tries all small arguments", %{core: core} do
      args = %{"path" => "/etc/passwd"}
      hash = hash(core, args)

      for plain <- [:erlang.term_to_binary(args), inspect(args), ~s({"path":"/etc/passwd"})],
          algorithm <- [:sha256, :sha, :md5] do
        refute String.starts_with?(Base.encode16(:crypto.hash(algorithm, plain), case: :lower), hash)
      end

      # Another start, another key.
      assert hash(Core.new(), args) != hash
    end

    test "large arguments are hashed, those that unfold without end are not", %{core: core} do
      large = %{"text" => String.duplicate("x", 5_000_000), "list" => Enum.to_list(1..50_000)}
      assert hash(core, large) == hash(core, large)
      log(core, "s", args: large)
      assert [%{args_hash: hash}] = entries(core, "s", limit: 1)
      assert hash == hash(core, large)

      bomb = %{"a" => Enum.reduce(1..40, [], fn _, inner -> [inner | inner] end)}
      log(core, "s", args: bomb)
      assert [%{args_hash: nil}] = entries(core, "s", limit: 1)
      assert_raise ArgumentError, fn -> hash(core, bomb) end
    end

    test "nil has none, and what is not a map is the programmer's mistake", %{core: core} do
      assert AuditLogger.hash_args(nil) == nil
      assert_raise FunctionClauseError, fn -> hash(core, [1]) end
    end

    defp hash(core, args), do: AuditLogger.hash_args(args, core: core)
  end

  describe "who is told" do
    test "the log, of blocked calls only", %{core: core} do
      text = capture_log(fn -> log(core, "the-session", tool: "the_tool", status: :blocked) end)
      assert text =~ "[AuditLogger] Blocked invocation"
      assert text =~ "the-session"
      assert text =~ "the_tool"

      assert capture_log(fn ->
               for status <- [:ok, :error, :timeout, :crashed, :cancelled], do: log(core, "s", status: status)
               log(core, "s", status: :blocked, log_blocked: false)
             end) == ""
    end

    test "telemetry, of every call", %{core: core} do
      event = [:jido_code, :security, :audit]
      Events.record([event])
      id = AuditLogger.log_invocation("s", "t", :error, 7, core: core)
      assert_received {:event, ^event, %{duration_us: 7} = measurements, metadata}
      assert map_size(measurements) == 1
      assert metadata == %{session_id: "s", tool: "t", status: :error, entry_id: id}

      log(core, "s")
      refute_received {:event, _, _, _}
    end
  end
end
