defmodule JidoCode.Tools.Security.CoreTest do
  # What happens without the native core: it is taken away from the whole VM and given back.
  use ExUnit.Case, async: false

  alias JidoCode.Tools.SecureExecutor

  alias JidoCode.Tools.Security.{
    AuditLogger,
    Core,
    IsolatedExecutor,
    Middleware,
    OutputSanitizer,
    Permissions,
    RateLimiter
  }

  alias JidoCode.Tools.Test.{Events, Runs}

  setup do
    core = Core.default()
    on_exit(fn -> :persistent_term.put(Core, core) end)
    Core.stop()
    :ok
  end

  test "nobody is let through" do
    context = %{granted_tier: :privileged, consented_tools: ["grep"]}
    assert {:error, {:not_running, %{tool: "grep"}}} = Middleware.run_checks("grep", %{}, context)
    assert {:error, _} = RateLimiter.check_rate("s", "t", 1, 1_000)
    assert_raise ArgumentError, fn -> Permissions.get_tool_tier("grep") end
    assert_raise ArgumentError, fn -> Permissions.grant_tier("s", :privileged) end
  end

  test "a call is denied, and its handler does not run" do
    test = self()
    run = fn _context -> send(test, :ran) && {:ok, 1} end
    tool = %{name: "grep", handler: Runs}

    for context <- [%{}, %{granted_tier: :privileged, consented_tools: ["grep"]}] do
      assert {:error, "grep is refused, as every tool is: the security core" <> _} =
               SecureExecutor.run(tool, %{"run" => run}, context)
    end

    assert {:error, "ets_inspect is refused" <> _} =
             SecureExecutor.call("ets_inspect", %{"operation" => "list"}, %{granted_tier: :privileged})

    refute_received :ran
  end

  test "when the checks are the host's, a call that can't be audited gives no result" do
    put_env(:security_middleware, true)
    tool = %{name: "grep", handler: Runs}

    assert {:error, text} =
             SecureExecutor.run(tool, %{"run" => fn _context -> {:ok, "a secret result"} end}, %{})

    refute text =~ "a secret result"
    assert text =~ "audit log"
  end

  test "the refusal is an event like any other" do
    event = [:jido_code, :security, :middleware_check]
    Events.record([event])
    Middleware.run_checks("grep", %{}, %{})
    assert_received {:event, ^event, _, %{result: :blocked, reason: :not_running}}
  end

  test "nothing is passed through unsearched" do
    assert OutputSanitizer.sanitize("text") =~ "[REDACTED"
    assert {:ok, "[REDACTED" <> _} = OutputSanitizer.sanitize({:ok, %{"any" => "thing"}})
    assert OutputSanitizer.contains_sensitive?(1)
  end

  test "isolation still isolates, and says nothing of its own" do
    assert IsolatedExecutor.execute_isolated(Runs, %{"run" => fn _ -> raise "x" end}, %{}) |> elem(0) ==
             :error
  end

  test "an audit entry is not silently lost" do
    assert_raise ArgumentError, fn -> AuditLogger.log_invocation("s", "t", :ok, 1) end
    assert_raise ArgumentError, fn -> AuditLogger.verify() end
  end

  defp put_env(key, value) do
    Application.put_env(:jido_code, key, value)
    on_exit(fn -> Application.delete_env(:jido_code, key) end)
  end
end
