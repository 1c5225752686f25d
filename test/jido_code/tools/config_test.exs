defmodule JidoCode.Tools.ConfigTest do
  # The application environment is the whole VM's.
  use ExUnit.Case, async: false

  alias JidoCode.Tools.Config
  alias JidoCode.Tools.Security.{AuditLogger, Core, Middleware, OutputSanitizer, Permissions}

  # Runs `fun` with keys of `config :jido_code` set.
  defp with_env(keys, fun) do
    before = Application.get_all_env(:jido_code)

    try do
      Application.put_all_env([{:jido_code, keys}])
      fun.()
    after
      for {key, _value} <- keys, do: Application.delete_env(:jido_code, key)
      Application.put_all_env([{:jido_code, before}])
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

  test "the defaults are valid" do
    assert %{unknown_tier: :privileged, audit_capacity: 10_000, tool_tiers: [], rules: []} = Config.load!()
  end

  test "a wrong value stops the start with a message that names key and shape" do
    for {key, value, expected} <- [
          {:unknown_tool_tier, :root, ":read_only, :write, :execute, :privileged"},
          {:unknown_tool_tier, "read_only", "one of"},
          {:tool_tiers, %{"t" => :root}, "one of"},
          {:tool_tiers, %{t: :write}, "strings"},
          {:tool_tiers, [:t], "a map"},
          {:rate_limits, %{read_only: 5}, "{count, window_ms}"},
          {:rate_limits, %{"t" => {1, 0}}, "{count, window_ms}"},
          {:rate_limits, %{root: {1, 1}}, "one of"},
          {:rate_limits, 7, "a map"},
          {:audit_buffer_size, 0, "a positive integer"},
          {:audit_buffer_size, "10", "a positive integer"},
          {:audit_buffer_size, 1_000_000_000, "up to 1000000"},
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
        error = assert_raise ArgumentError, fn -> Config.load!() end
        assert error.message =~ "config :jido_code, #{inspect(key)} takes"
        assert error.message =~ expected
      end)
    end
  end

  test "a key that is too short is not shown" do
    with_env([audit_key: "hunter2"], fn ->
      error = assert_raise ArgumentError, fn -> Config.load!() end
      assert error.message =~ ":audit_key"
      refute error.message =~ "hunter2"
    end)
  end

  test "what only the core can judge stops the start as well" do
    for {key, value} <- [
          redaction_rules: [%{name: "broken", pattern: "(", replacement: "[X]"}],
          redaction_rules: [%{name: "Bad Name", pattern: "abc", replacement: "[X]"}],
          rate_limits: %{read_only: {1_000_000_000, 1_000}}
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
        rate_limits: %{"my_tool" => {2, 1_000}, execute: {1, 500}}
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

    with_env([audit_buffer_size: 3, rate_limits: %{read_only: {1_000_000_000, 1_000}}], fn ->
      assert_raise ArgumentError, fn -> Core.reload(core) end
      assert AuditLogger.buffer_size(core: core) == 10_000
    end)
  end
end
