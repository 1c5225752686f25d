defmodule JidoCode.Tools.ConfigTest do
  # The application environment is the whole VM's.
  use ExUnit.Case, async: false

  import ExUnit.CaptureLog

  alias JidoCode.Tools.{Config, SecureExecutor}
  alias JidoCode.Tools.Doors.SessionOptions
  alias JidoCode.Tools.Config.{Table, Type}
  alias JidoCode.Tools.Security.{AuditLogger, Core, Middleware, OutputSanitizer, Permissions}

  # Runs `fun` with keys of `config :jido_code_tools` set, or of another application.
  defp with_env(app \\ :jido_code_tools, keys, fun) do
    before = Application.get_all_env(app)

    try do
      Application.put_all_env([{app, keys}])
      fun.()
    after
      for {key, _value} <- keys, do: Application.delete_env(app, key)
      Application.put_all_env([{app, before}])
    end
  end

  # What a library that starts with these keys would decide.
  defp decided(keys, fun) do
    with_env(keys, fn ->
      core = Core.default()
      :persistent_term.put(Core, Core.new())

      try do
        fun.()
      after
        :persistent_term.put(Core, core)
      end
    end)
  end

  test "every row is complete, and its default is what it takes" do
    for row <- Table.rows() do
      assert row.default == nil or Type.check(row.type, row.default) == :ok
      assert Config.get(row.key) == row.default or Application.get_env(:jido_code_tools, row.key) != nil
      assert row.doc != "" and row.shown != ""
    end

    keys = Enum.map(Table.rows(), & &1.key)
    assert keys == Enum.uniq(keys)
    assert Config.check!() == :ok
  end

  # Each of them is not a value of any key but the ones that say so by taking it.
  @nonsense [:nonsense, "yes", "", 0, -1, 1.5, [1], [{1, 2}], %{1 => 2}, {:a, :b}, [:a | :b], <<255>>, %URI{}]

  test "every key refuses what it does not take, at start" do
    for row <- Table.rows() do
      wrong = Enum.filter(@nonsense, &(Type.check(row.type, &1) != :ok))
      assert length(wrong) >= 6, "#{row.key} takes nearly everything"

      for value <- wrong do
        with_env([{row.key, value}], fn ->
          error = assert_raise ArgumentError, fn -> Core.new() end
          assert error.message =~ "config :jido_code_tools, #{inspect(row.key)} takes "
        end)
      end
    end
  end

  test "the application does not start with a wrong value" do
    code = """
    Application.load(:jido_code_tools)
    Application.put_env(:jido_code_tools, :git_network, "yes")
    {:error, {:jido_code_tools, {:bad_return, {_mfa, {:EXIT, {error, _stack}}}}}} = Application.ensure_all_started(:jido_code_tools)
    IO.puts(Exception.message(error))
    """

    paths = Enum.flat_map(:code.get_path(), &["-pa", to_string(&1)])
    {output, 0} = System.cmd("elixir", paths ++ ["-e", code], stderr_to_stdout: true)
    assert output =~ ~s(config :jido_code_tools, :git_network takes true or false, got: "yes")
  end

  test "a key that does not exist is refused, with the one that was meant" do
    with_env([redaction_feilds: ["iban"]], fn ->
      error = assert_raise ArgumentError, fn -> Core.new() end
      assert error.message =~ "no key :redaction_feilds. Did you mean :redaction_fields?"
    end)
  end

  test "the options of a session are those of the command line" do
    row = Table.fetch!(:session_options)
    {:keyword, types} = row.type
    assert Keyword.keys(types) == Keyword.keys(SessionOptions.switches())
  end

  describe "under config :jido_code" do
    test "the keys that JidoCode has as well are read, the library's own place first" do
      with_env(:jido_code, [project_namespaces: ["Host"], unknown_tool_tier: :write], fn ->
        assert Config.get(:project_namespaces) == ["Host"]

        with_env([project_namespaces: ["Own"]], fn ->
          assert Config.get(:project_namespaces) == ["Own"]
          assert Config.get(:unknown_tool_tier) == :write
        end)
      end)
    end

    test "no other key is, and a warning says where it belongs" do
      with_env(
        :jido_code,
        [tool_tiers: %{"mix_task" => :read_only}, git_push: true, rate_limits: :theirs],
        fn ->
          log =
            capture_log(fn ->
              Core.new()
              assert Config.get(:git_push) == false
              assert Permissions.get_tool_tier("mix_task") == :execute
            end)

          assert log =~ ":tool_tiers, :git_push"
          assert log =~ "move them to config :jido_code_tools"
          refute log =~ "rate_limits"
        end
      )
    end

    test "a foreign value gives the strictest one, and one warning" do
      for row <- Table.rows(), row.host? do
        foreign = [resume: [limit: 5, window_seconds: 60, of: make_ref()]]

        log =
          capture_log(fn ->
            with_env(:jido_code, [{row.key, foreign}], fn ->
              assert Core.new()
              assert Config.get(row.key) == row.strict
              assert Config.get(row.key) == row.strict
            end)
          end)

        assert [_before, _after] = String.split(log, "config :jido_code, #{inspect(row.key)} takes ")
      end
    end

    test "what is unclear about the host's checks makes both check" do
      with_env(:jido_code, [security_middleware: "yes"], fn ->
        assert Middleware.enabled?()
        tool = %{name: "grep", handler: JidoCode.Tools.Test.Runs}
        context = %{granted_tier: nil, session_id: "unclear"}
        run = fn _context -> {:ok, 1} end
        assert {:error, "Permission denied" <> _} = SecureExecutor.run(tool, %{"run" => run}, context)
      end)
    end
  end

  test "another size of the audit log holds from the next call on" do
    for _ <- 1..10, do: AuditLogger.log_invocation("size", "t", :ok, 1)

    with_env(:jido_code, [audit_buffer_size: 3], fn ->
      AuditLogger.log_invocation("size", "t", :ok, 1)
      assert AuditLogger.count() == 3
      assert AuditLogger.buffer_size() == 3
    end)

    assert AuditLogger.buffer_size() == 10_000
  end

  test "a wrong value stops the start with a message that names key and shape" do
    for {key, value, expected} <- [
          {:unknown_tool_tier, :root, ":read_only, :write, :execute, :privileged"},
          {:unknown_tool_tier, "read_only", "one of"},
          {:tool_tiers, %{"t" => :root}, "one of"},
          {:tool_tiers, %{t: :write}, "strings"},
          {:tool_tiers, [:t], "a map"},
          {:tool_rate_limits, %{read_only: 5}, "{count, window_ms}"},
          {:tool_rate_limits, %{"t" => {1, 0}}, "{count, window_ms}"},
          {:tool_rate_limits, %{root: {1, 1}}, "one of"},
          {:tool_rate_limits, 7, "a map"},
          {:audit_buffer_size, 0, "a positive integer"},
          {:audit_buffer_size, "10", "a positive integer"},
          {:audit_buffer_size, 1_000_000_000, "up to 1_000_000"},
          {:session_idle_ms, -1, "a positive integer"},
          {:max_heap_words, :infinity, "a positive integer"},
          {:max_binary_bytes, 0, "a positive integer"},
          {:known_secrets_refresh_ms, 0, "a positive integer"},
          {:redaction_rules, %{}, "a list"},
          {:redaction_rules, [%{name: "n"}], ":pattern"},
          {:redaction_rules, [:rule], ":pattern"},
          {:redaction_fields, "field", "a list"},
          {:redaction_fields, [nil], "names"},
          {:redaction_fields, [""], "names"}
        ] do
      with_env([{key, value}], fn ->
        error = assert_raise ArgumentError, fn -> Config.check!() end
        assert error.message =~ "config :jido_code_tools, #{inspect(key)} takes"
        assert error.message =~ expected
      end)
    end
  end

  test "a key that is too short is not shown" do
    with_env([audit_key: "hunter2"], fn ->
      error = assert_raise ArgumentError, fn -> Config.check!() end
      assert error.message =~ ":audit_key"
      refute error.message =~ "hunter2"
    end)
  end

  test "what only the core can judge stops the start as well" do
    for {key, value} <- [
          redaction_rules: [%{name: "broken", pattern: "(", replacement: "[X]"}],
          redaction_rules: [%{name: "Bad Name", pattern: "abc", replacement: "[X]"}],
          tool_rate_limits: %{read_only: {1_000_000_000, 1_000}}
        ] do
      with_env([{key, value}], fn ->
        error = assert_raise_any(fn -> Core.new() end)
        assert Exception.message(error) =~ ~r/config :jido_code|does not start/
      end)
    end
  end

  defp assert_raise_any(fun) do
    fun.()
    flunk("expected a failure")
  rescue
    error in [ArgumentError, RuntimeError] -> error
  end

  test "tiers and rates of the configuration are what is decided by" do
    decided(
      [
        tool_tiers: %{"my_tool" => :write, "grep" => :privileged},
        tool_rate_limits: %{"my_tool" => {2, 1_000}, execute: {1, 500}}
      ],
      fn ->
        assert Permissions.get_tool_tier("my_tool") == :write
        assert Permissions.get_tool_tier("grep") == :privileged
        assert Permissions.get_tool_tier("find_files") == :read_only
        assert Permissions.default_rate_limit(:execute) == {1, 500}

        context = %{session_id: "config", granted_tier: :privileged}
        assert for(_ <- 1..2, do: Middleware.run_checks("my_tool", %{}, context)) == [:ok, :ok]

        assert {:error, {:rate_limited, %{limit: 2, window_ms: 1_000}}} =
                 Middleware.run_checks("my_tool", %{}, context)

        assert Middleware.run_checks("mix_task", %{}, context) == :ok
        assert {:error, {:rate_limited, %{limit: 1}}} = Middleware.run_checks("mix_task", %{}, context)
      end
    )
  end

  test "unknown_tool_tier relaxes, at once, and a wrong one denies" do
    context = %{session_id: "config-unknown"}

    with_env([unknown_tool_tier: :read_only], fn ->
      assert Permissions.get_tool_tier("foreign") == :read_only
      assert Middleware.run_checks("foreign", %{}, context) == :ok
    end)

    with_env([unknown_tool_tier: :everybody], fn ->
      assert {:error, {:permission_denied, %{required_tier: :privileged}}} =
               Middleware.run_checks("foreign", %{}, context)
    end)
  end

  test "a change of the configuration reaches a running library" do
    with_env([tool_tiers: %{"my_tool" => :write}], fn ->
      assert Permissions.get_tool_tier("my_tool") == :privileged
      assert JidoCode.Tools.Application.config_change([], [], []) == :ok
      assert Permissions.get_tool_tier("my_tool") == :write
    end)

    JidoCode.Tools.Application.config_change([], [], [])
    assert Permissions.get_tool_tier("my_tool") == :privileged
  end

  test "redaction rules and fields" do
    rules = [%{name: "badge", pattern: "BADGE-[0-9]{6}", replacement: "[REDACTED_BADGE]"}]

    decided([redaction_rules: rules, redaction_fields: [:shoe_size, "hat-size"]], fn ->
      assert OutputSanitizer.sanitize("no BADGE-123456 here") == "no [REDACTED_BADGE] here"
      assert OutputSanitizer.sanitize(%{shoe_size: "forty-two and a half"}) == %{shoe_size: "[REDACTED]"}
    end)
  end

  test "a configured audit key makes hashes comparable across starts" do
    args = %{"task" => "test"}

    hashes =
      for key <- ["0123456789abcdef", "0123456789abcdef", "0123456789abcdeX"] do
        with_env([audit_key: key], fn -> AuditLogger.hash_args(args, core: Core.new()) end)
      end

    assert [same, same, other] = hashes
    assert other != same
  end

  test "the audit log's size is read at the start and by a reload" do
    core = Core.new()
    log = fn -> AuditLogger.log_invocation("s", "t", :ok, 1, core: core) end
    for _ <- 1..10, do: log.()

    with_env([audit_buffer_size: 3], fn ->
      assert AuditLogger.buffer_size(core: Core.new()) == 3
      assert AuditLogger.buffer_size(core: core) == 10_000
      assert Core.reload(core) == :ok
      assert AuditLogger.buffer_size(core: core) == 3
      assert AuditLogger.count(core: core) == 3
    end)

    Core.reload(core)
    for _ <- 1..10, do: log.()
    assert AuditLogger.count(core: core) == 13
  end

  test "a reload that fails changes nothing" do
    core = Core.new()

    with_env([audit_buffer_size: 3, tool_rate_limits: %{read_only: {1_000_000_000, 1_000}}], fn ->
      assert_raise ArgumentError, fn -> Core.reload(core) end
      assert AuditLogger.buffer_size(core: core) == 10_000
    end)
  end
end
