defmodule JidoCode.Integration.ToolsSecurityTest do
  # The host's switch is the whole VM's.
  use ExUnit.Case, async: false

  alias JidoCode.Tools.SecureExecutor
  alias JidoCode.Tools.Security.{AuditLogger, Middleware, Permissions, RateLimiter}
  alias JidoCode.Tools.Test.{Events, Generate, Host}

  setup do
    session = "integration-#{System.unique_integer([:positive])}"
    on_exit(fn -> SecureExecutor.end_session(session) end)

    %{session: session, context: %{session_id: session, project_root: File.cwd!()}}
  end

  defp switch_on do
    Application.put_env(:jido_code, :security_middleware, true)
    on_exit(fn -> Application.delete_env(:jido_code, :security_middleware) end)
  end

  defp secret do
    {token, _random} = Generate.token(Generate.new(System.unique_integer([:positive])), 34)
    "ghp" <> "_" <> token <> "7q"
  end

  # The three ways a host may take.
  @seams [executor: false, middleware: true, both: true]

  defp options(seam, context) do
    if @seams[seam], do: switch_on()
    base = [context: context]
    if seam == :middleware, do: base, else: [{:executor, &SecureExecutor.run/3} | base]
  end

  for seam <- [:executor, :middleware, :both] do
    describe "through the host by #{seam}" do
      @describetag seam: seam

      setup %{seam: seam, context: context} do
        %{options: options(seam, context)}
      end

      test "what is allowed answers", %{options: options} do
        args = %{"module" => "Enum", "function" => "sum", "arity" => 1}
        assert {:ok, %{"module" => "Enum"}} = Host.execute("fetch_elixir_docs", args, options)
      end

      test "tiers block, and the trail says so", %{options: options, session: session} do
        for {name, args} <- [
              {"ets_inspect", %{"operation" => "list"}},
              {"runs", %{"run" => fn _ -> flunk("ran") end}}
            ] do
          assert {:error, _text} = Host.execute(name, args, options)
        end

        assert [%{status: :blocked, tool: "runs"}, %{status: :blocked, tool: "ets_inspect"}] =
                 AuditLogger.get_audit_log(session)
      end

      test "grants and consents open, for as long as the session lasts", %{
        options: options,
        session: session
      } do
        call = fn -> Host.execute("ets_inspect", %{"operation" => "list"}, options) end
        assert {:error, _} = call.()
        {:ok, _} = Permissions.record_consent(session, "ets_inspect")
        assert {:ok, %{"result" => _}} = call.()
        SecureExecutor.end_session(session)
        assert {:error, _} = call.()
        {:ok, :privileged} = Permissions.grant_tier(session, :privileged)
        assert {:ok, _} = call.()
      end

      test "a call takes one rate slot, and rapid calls are limited", %{
        options: options,
        session: session
      } do
        {:ok, :privileged} = Permissions.grant_tier(session, :privileged)

        results = for _ <- 1..8, do: Host.execute("ets_inspect", %{"operation" => "list"}, options)

        assert Enum.count(results, &match?({:ok, _}, &1)) == 5
        assert RateLimiter.get_count(session, "ets_inspect", 60_000) == 5
      end

      test "secrets don't come out", %{options: options, session: session} do
        {:ok, :privileged} = Permissions.grant_tier(session, :privileged)
        secret = secret()

        args = %{
          "run" => fn _ ->
            {:ok, %{"output" => "token=#{secret}", "password" => secret, "list" => [%{"a" => secret}]}}
          end
        }

        assert {:ok, result} = Host.execute("runs", args, options)
        refute inspect(result) =~ secret
        assert %{"password" => "[REDACTED]"} = result

        args = %{"run" => fn _ -> {:error, "can't use #{secret}"} end}
        assert {:error, reason} = Host.execute("runs", args, options)
        refute inspect(reason) =~ secret
      end

      test "one check event a call", %{context: context, seam: seam} do
        test = self()
        id = make_ref()
        event = [:jido_code, :security, :middleware_check]
        session = context.session_id

        handle = fn _event, _measurements, metadata, _config ->
          if metadata.session_id == session, do: send(test, {:check, metadata.tool})
        end

        :telemetry.attach(id, event, handle, nil)
        on_exit(fn -> :telemetry.detach(id) end)
        Host.execute("fetch_elixir_docs", %{"module" => "Enum"}, options(seam, context))
        assert_received {:check, "fetch_elixir_docs"}
        refute_received {:check, _tool}
      end
    end
  end

  describe "what the pipeline adds to the host's own" do
    setup %{context: context} do
      %{options: [context: Map.put(context, :granted_tier, :privileged), executor: &SecureExecutor.run/3]}
    end

    test "a handler that fails in any way is an answer, not the caller's end", %{
      options: options
    } do
      for run <- [
            fn _ -> raise "x" end,
            fn _ -> throw(:x) end,
            fn _ -> exit(:x) end,
            fn _ -> Process.exit(self(), :kill) end,
            fn _ -> :nonsense end
          ] do
        Permissions.grant_tier(options[:context].session_id, :privileged)
        RateLimiter.clear_session(options[:context].session_id)
        assert {:error, text} = Host.execute("runs", %{"run" => run}, options)
        assert is_binary(text)
      end
    end

    test "the host's own timeout ends the handler and what it started", %{options: options} do
      test = self()

      run = fn _ ->
        send(test, {:processes, [self(), spawn(fn -> Process.sleep(:infinity) end)]})
        Process.sleep(:infinity)
      end

      assert Host.execute("runs", %{"run" => run}, [timeout: 300] ++ options) ==
               {:error, :timeout}

      assert_received {:processes, processes}

      for pid <- processes do
        monitor = Process.monitor(pid)
        assert_receive {:DOWN, ^monitor, :process, ^pid, _reason}, 5_000
      end
    end

    test "every outcome is in the trail, with the hash of its real arguments", %{
      options: options,
      session: session
    } do
      calls = [
        {%{"run" => fn _ -> {:ok, 1} end}, :ok},
        {%{"run" => fn _ -> {:error, "no"} end}, :error},
        {%{"run" => fn _ -> raise "x" end}, :crashed},
        {%{"run" => fn _ -> Process.sleep(:infinity) end, "timeout" => 20}, :timeout},
        {%{"run" => fn _ -> {:ok, 1} end, "validate" => fn _ -> {:error, "no"} end}, :blocked}
      ]

      for {args, _status} <- calls, do: Host.execute("declared", args, options)
      entries = AuditLogger.get_audit_log(session, order: :asc)
      assert Enum.map(entries, & &1.status) == Enum.map(calls, &elem(&1, 1))

      assert Enum.map(entries, & &1.args_hash) ==
               Enum.map(calls, &AuditLogger.hash_args(Host.arguments(elem(&1, 0))))

      assert {:ok, _} = AuditLogger.verify()
    end
  end

  describe "the doors that the host's switch does not concern" do
    test "call/3 always checks", %{context: context, session: session} do
      switch_on()
      assert Middleware.enabled?()

      assert {:error, "Permission denied" <> _} =
               SecureExecutor.call("ets_inspect", %{"operation" => "list"}, context)

      assert RateLimiter.get_count(session, "ets_inspect", 60_000) == 1
    end

    test "an operation's event comes from the handler, whoever calls it", %{context: context} do
      event = [:jido_code, :elixir, :fetch_docs]
      Events.record([event])
      SecureExecutor.call("fetch_elixir_docs", %{"module" => "Enum"}, context)

      assert_received {:event, ^event, %{duration: _, exit_code: 0},
                       %{task: "Enum", status: :ok, session_id: session}}

      assert session == context.session_id
    end
  end

  describe "modules of the host" do
    test "none is defined here: two definitions would break its release" do
      {:ok, modules} = :application.get_key(:jido_code_tools, :modules)

      owned =
        ~w(Application Tools Tools.Executor Tools.Tool Tools.Param Tools.Registry Tools.Result Tools.HandlerHelpers
        Tools.Security Tools.Manager Tools.Bridge Tools.BackgroundShell Tools.Display Tools.Definitions.Search
        Tools.Definitions.Shell Tools.Definitions.FileSystem Tools.Handlers.Search Tools.Handlers.Shell
        Tools.Handlers.FileSystem)

      for name <- owned, do: refute(Module.concat(JidoCode, name) in modules, name)
      refute Enum.any?(modules, &String.starts_with?(inspect(&1), "JidoCode.Session"))
    end
  end
end
