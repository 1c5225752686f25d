defmodule JidoCode.SeamsTest do
  # The switch is the whole VM's.
  use ExUnit.Case, async: false

  import JidoCode.Everything, only: [all: 2, call: 3, call: 4, pipe!: 1, session!: 1]

  alias JidoCode.Session
  alias JidoCode.Tools.{Catalog, Registry, SecureExecutor, Tool}
  alias JidoCode.Tools.Behaviours.SecureHandler
  alias JidoCode.Tools.Security.{AuditLogger, Permissions, RateLimiter}

  defmodule Consenting do
    @moduledoc false
    use SecureHandler
    @impl true
    def security_properties, do: %{tier: :read_only, requires_consent: true}
    def execute(_args, _context), do: {:ok, %{"done" => true}}
  end

  setup context do
    root = Path.expand("stall")
    session = session!(root)
    on_exit(fn -> SecureExecutor.end_session(session) end)

    if context[:seam] in [:symbols, :both] do
      Application.put_env(:jido_code, :security_middleware, true)
      on_exit(fn -> Application.put_env(:jido_code, :security_middleware, false) end)
    end

    opts = if context[:seam] in [:executor, :both], do: [executor: &SecureExecutor.run/3], else: []
    %{session: session, opts: opts, root: root}
  end

  defp trail(session),
    do: for(entry <- AuditLogger.get_audit_log(session, order: :asc), do: {entry.tool, entry.status})

  defp checks(session, name) do
    seen = :ets.lookup(:events, [:jido_code, :security, :middleware_check])
    Enum.count(seen, &match?({_event, _measurements, %{session_id: ^session, tool: ^name}}, &1))
  end

  defp traces?(tool), do: tool != "trace_calls" or System.otp_release() >= "27"

  # A value that no test before can have made known, and that looks like nothing but a token.
  defp token, do: "ghp" <> "_" <> Base.encode16(:crypto.strong_rand_bytes(18), case: :lower)

  for seam <- [:executor, :symbols, :both] do
    describe "by #{seam}" do
      @describetag seam: seam

      test "all tools answer", %{session: session, opts: opts, seam: seam} do
        {:ok, :privileged} = Permissions.grant_tier(session, :privileged)
        names = session |> all(opts) |> Enum.map(&elem(&1, 0))
        assert names -- Catalog.names() == []

        # Checked once, by whichever of the two makes the checks: each check takes a rate slot.
        for name <- names, do: assert({name, checks(session, name)} == {name, 1})

        # The host's own Executor writes down what it blocks, and that alone; the grant is the library's entry.
        calls =
          if seam == :symbols, do: [], else: Enum.map(names, &{&1, if(traces?(&1), do: :ok, else: :error)})

        assert Enum.sort(trail(session)) ==
                 Enum.sort([{"privileged", :granted}, {"trace_calls", :consented} | calls])
      end

      test "a session without grants reads, and no more; the trail says so", %{session: session, opts: opts} do
        for {name, args} <- [
              {"mix_task", %{"task" => "compile"}},
              {"run_exunit", %{}},
              {"get_process_state", %{"process" => "Stall.Till"}},
              {"inspect_supervisor", %{"supervisor" => "Stall.Supervisor"}},
              {"ets_inspect", %{"operation" => "list"}},
              {"bash_execute", %{"command" => "ls"}},
              {"bash_background", %{"command" => "ls"}},
              {"kill_shell", %{"shell_id" => "x"}},
              {"run_command", %{"command" => "say"}}
            ] do
          assert {:error, "Permission denied" <> _} = call(name, args, session, opts)
          assert {^name, :blocked} = List.last(trail(session))
        end

        assert {:ok, _found} = call("grep_search", %{"pattern" => "def"}, session, opts)
        assert {:ok, _docs} = call("fetch_elixir_docs", %{"module" => "Stall"}, session, opts)
      end

      test "grants and consents open, until the session ends", %{session: session, opts: opts, root: root} do
        table = %{"operation" => "lookup", "table" => "stall_prices", "key" => ":apple"}
        assert {:error, "Permission denied" <> _} = call("ets_inspect", table, session, opts)

        # Consent opens one tool whatever its tier; a tier opens all tools up to it.
        {:ok, _consents} = Permissions.record_consent(session, "ets_inspect")
        assert {:ok, %{"result" => [_row]}} = call("ets_inspect", table, session, opts)
        assert {:error, "Permission denied" <> _} = call("bash_execute", %{"command" => "pwd"}, session, opts)
        {:ok, :execute} = Permissions.grant_tier(session, :execute)
        assert {:ok, %{"exit_code" => 0}} = call("bash_execute", %{"command" => "pwd"}, session, opts)

        Session.Manager.stop(session)
        {:ok, _pid} = Session.Manager.start(session, root)
        assert {:error, "Permission denied" <> _} = call("ets_inspect", table, session, opts)
        assert {:error, "Permission denied" <> _} = call("bash_execute", %{"command" => "pwd"}, session, opts)
      end

      test "a handler that wants consent waits for it, at any tier", %{session: session, opts: opts} do
        tool = Tool.new!(%{name: "consenting", description: "Wants consent.", handler: Consenting})
        :ok = Registry.register(tool)
        on_exit(fn -> Registry.unregister("consenting") end)
        {:ok, :privileged} = Permissions.grant_tier(session, :privileged)

        assert {:error, "Consent required" <> _} = call("consenting", %{}, session, opts)
        {:ok, _consents} = Permissions.record_consent(session, "consenting")
        assert {:ok, %{"done" => true}} = call("consenting", %{}, session, opts)
      end

      test "rapid calls are limited, each counted once", %{session: session, opts: opts} do
        {:ok, :privileged} = Permissions.grant_tier(session, :privileged)
        args = %{"process" => "Stall.Till"}
        results = for _call <- 1..8, do: elem(call("get_process_state", args, session, opts), 0)
        assert results == List.duplicate(:ok, 5) ++ List.duplicate(:error, 3)
        assert RateLimiter.get_count(session, "get_process_state", 60_000) == 5
      end

      test "no secret comes out, of the host's own tools either", %{session: session, opts: opts} do
        {:ok, :execute} = Permissions.grant_tier(session, :execute)
        token = token()

        assert {:ok, said} =
                 call("run_command", %{"command" => "say", "args" => ["my token", token]}, session, opts)

        assert said =~ "REDACTED"
        refute said =~ token

        assert {:ok, %{"stdout" => said}} =
                 call("bash_execute", %{"command" => "echo #{token}"}, session, opts)

        assert said =~ "REDACTED"
        refute said =~ token
      end

      test "all refuse what is not the project's", %{session: session, opts: opts} do
        {:ok, :privileged} = Permissions.grant_tier(session, :privileged)

        for {name, args, why} <- [
              {"get_process_state", %{"process" => "JidoCode.Supervisor"}, "blocked"},
              {"inspect_supervisor", %{"supervisor" => "kernel_sup"}, "blocked"},
              {"grep_search", %{"pattern" => "x", "path" => "../.."}, "outside"},
              {"bash_execute", %{"command" => "cat /etc/passwd"}, "outside project"},
              {"mix_task", %{"task" => "release"}, "blocked"},
              {"run_exunit", %{"path" => "../other_test.exs"}, "Path traversal"}
            ] do
          assert {:error, text} = call(name, args, session, opts)
          assert text =~ why, inspect({name, text})
        end
      end
    end
  end

  describe "a handler that crashes" do
    setup %{session: session} do
      {:ok, :execute} = Permissions.grant_tier(session, :execute)
      :ok
    end

    @tag seam: :executor
    test "is an answer with the pipeline, and the Executor's caller lives", %{session: session, opts: opts} do
      assert {:error, text} = call("run_command", %{"command" => "crash"}, session, opts)
      assert text =~ "run_command crashed: ** (RuntimeError) the host's handler fails"
      assert trail(session) == [{"execute", :granted}, {"run_command", :crashed}]
    end

    @tag seam: :symbols
    test "of the host's takes the caller along without it", %{session: session} do
      {caller, monitor} = spawn_monitor(fn -> call("run_command", %{"command" => "crash"}, session) end)
      assert_receive {:DOWN, ^monitor, :process, ^caller, {%RuntimeError{}, _stacktrace}}, 5_000
    end
  end

  describe "time and ends" do
    @describetag seam: :executor

    setup %{session: session, root: root} do
      {:ok, :execute} = Permissions.grant_tier(session, :execute)
      gate = pipe!(root)
      on_exit(fn -> File.rm(gate) end)
      %{gate: gate}
    end

    test "the Executor's own time ends a command with its processes", %{
      session: session,
      opts: opts,
      gate: gate
    } do
      assert {:timeout, _text} =
               call("bash_execute", %{"command" => "cat #{gate}"}, session, [timeout: 1_000] ++ opts)

      gone!(gate)
    end

    test "a tool's own time, asked for by the model, ends it before", %{
      session: session,
      opts: opts,
      gate: gate
    } do
      args = %{"command" => "cat #{gate}", "timeout" => 500}
      assert {:error, text} = call("bash_execute", args, session, opts)
      assert text =~ "timed out"
      gone!(gate)
    end

    test "a session whose process is killed leaves no command behind", %{
      session: session,
      opts: opts,
      gate: gate
    } do
      assert {:ok, %{"shell_id" => _id}} =
               call("bash_background", %{"command" => "cat #{gate}"}, session, opts)

      true = eventually(fn -> processes(gate) != [] end)
      [{manager, _value}] = Elixir.Registry.lookup(JidoCode.SessionProcessRegistry, session)
      Process.exit(manager, :kill)
      gone!(gate)
    end
  end

  defp gone!(mark), do: assert(eventually(fn -> processes(mark) == [] end))

  defp processes(mark) do
    for pid <- File.ls!("/proc"),
        pid =~ ~r/\A[0-9]+\z/,
        {:ok, line} <- [File.read("/proc/#{pid}/cmdline")],
        String.starts_with?(line, ["cat", "/bin/cat", "/usr/bin/cat"]) and line =~ mark,
        do: pid
  end

  # For the system's processes, which send no message.
  defp eventually(check, deadline \\ System.monotonic_time(:millisecond) + 20_000) do
    cond do
      check.() ->
        true

      System.monotonic_time(:millisecond) > deadline ->
        false

      true ->
        Process.sleep(20)
        eventually(check, deadline)
    end
  end
end
