defmodule JidoCode.Integration.ToolsPhase2Test do
  # The host's switch is the whole VM's.
  use ExUnit.Case, async: false

  import JidoCode.Tools.Test.CommandProcesses, only: [eventually: 1]

  alias JidoCode.Tools.SecureExecutor
  alias JidoCode.Tools.Command.Confinement
  alias JidoCode.Tools.Security.{AuditLogger, Permissions}
  alias JidoCode.Tools.Test.{Events, Generate, MixProject, Seams, Tree}

  @moduletag timeout: 180_000

  setup do
    session = "phase2-#{System.unique_integer([:positive])}"
    on_exit(fn -> SecureExecutor.end_session(session) end)
    root = MixProject.new!()
    gate = Tree.pipe!(root, "gate")
    %{root: root, gate: gate, session: session, context: %{session_id: session, project_root: root}}
  end

  for seam <- Seams.all() do
    describe "by #{seam}" do
      @describetag seam: seam

      setup %{seam: seam, context: context, session: session} do
        Seams.prepare(seam)
        {:ok, :execute} = Permissions.grant_tier(session, :execute)
        %{call: fn name, args -> Seams.call(seam, name, args, context) end}
      end

      test "search and commands answer, each with its event", %{call: call, session: session} do
        Events.record([[:jido_code, :search, :grep_search], [:jido_code, :shell, :bash_execute]])

        assert {:ok, %{"result" => "lib/sample.ex\n5:  def sum(" <> _, "count" => 1}} =
                 call.("grep_search", %{"pattern" => "def sum"})

        assert {:ok, %{"stdout" => "1\n", "exit_code" => 0, "stderr" => ""}} =
                 call.("bash_execute", %{"command" => "grep -c 'def sum' lib/sample.ex | sort"})

        assert_received {:event, [:jido_code, :search, :grep_search], %{result_count: 1},
                         %{session_id: ^session, status: :ok}}

        assert_received {:event, [:jido_code, :shell, :bash_execute], %{exit_code: 0},
                         %{session_id: ^session, status: :ok}}
      end

      test "a background command lives on from call to call", %{call: call, gate: gate} do
        line = "cat lib/sample.ex; cat #{gate}; echo end"
        assert {:ok, %{"shell_id" => id}} = call.("bash_background", %{"command" => line})

        assert %{"output" => "defmodule Sample" <> _, "status" => "running"} =
                 eventually(fn ->
                   args = %{"shell_id" => id, "block" => false, "cursor" => "0:0"}
                   assert {:ok, result} = call.("bash_output", args)
                   if result["output"] != "", do: result
                 end)

        Tree.let_through(gate)

        assert {:ok, %{"output" => "end\n", "status" => "completed", "exit_code" => 0}} =
                 call.("bash_output", %{"shell_id" => id})

        assert {:ok, %{"killed" => false}} = call.("kill_shell", %{"shell_id" => id})
        assert {:error, "Shell not found" <> _} = call.("bash_output", %{"shell_id" => id})
      end

      test "kill_shell ends one that runs", %{call: call, gate: gate} do
        assert {:ok, %{"shell_id" => id}} = call.("bash_background", %{"command" => "cat #{gate}"})
        assert {:ok, %{"killed" => true}} = call.("kill_shell", %{"shell_id" => id})
        assert {:error, "Shell not found" <> _} = call.("kill_shell", %{"shell_id" => id})
      end

      test "all refuse to leave the project", %{call: call} do
        for {name, args, why} <- [
              {"grep_search", %{"pattern" => "root", "path" => "../.."}, "outside"},
              {"grep_search", %{"pattern" => "root", "path" => "/etc"}, "outside"},
              {"bash_execute", %{"command" => "cat /etc/passwd"}, "outside project"},
              {"bash_execute", %{"command" => "ls", "working_directory" => ".."}, "inside the project"},
              {"bash_execute", %{"command" => "bash -c ls"}, "Shell interpreters are blocked"},
              {"bash_background", %{"command" => "cat ../../etc/passwd"}, "Path traversal not allowed"},
              {"bash_background", %{"command" => "sh -c ls"}, "Shell interpreters are blocked"}
            ] do
          assert {:error, text} = call.(name, args)
          assert text =~ why, inspect({name, args, text})
        end
      end

      test "secrets in files and output don't come out", %{call: call, root: root} do
        {token, _random} = Generate.token(Generate.new(System.unique_integer([:positive])), 34)
        token = "ghp" <> "_" <> token <> "7q"
        File.write!(Path.join(root, "settings"), "token: #{token}\n")

        for {name, args} <- [
              {"grep_search", %{"pattern" => "token"}},
              {"bash_execute", %{"command" => "cat settings"}},
              {"bash_execute", %{"command" => "cat settings gone"}}
            ] do
          assert {:ok, result} = call.(name, args)
          assert inspect(result) =~ "REDACTED"
          refute inspect(result) =~ token
        end
      end
    end
  end

  test "only searching and reading are open to a session without grants", %{
    context: context,
    session: session
  } do
    for {name, args} <- [
          {"bash_execute", %{"command" => "ls"}},
          {"bash_background", %{"command" => "ls"}},
          {"kill_shell", %{"shell_id" => "any"}}
        ] do
      assert {:error, "Permission denied" <> _} = SecureExecutor.call(name, args, context)
    end

    assert {:ok, _result} = SecureExecutor.call("grep_search", %{"pattern" => "sum"}, context)

    assert {:error, "Shell not found" <> _} =
             SecureExecutor.call("bash_output", %{"shell_id" => "any"}, context)

    # Consent opens one tool, the tier stays.
    {:ok, _consents} = Permissions.record_consent(session, "bash_execute")
    assert {:ok, %{"exit_code" => 0}} = SecureExecutor.call("bash_execute", %{"command" => "ls"}, context)

    assert {:error, "Permission denied" <> _} =
             SecureExecutor.call("bash_background", %{"command" => "ls"}, context)

    assert AuditLogger.get_audit_log(session, order: :asc) |> Enum.map(& &1.status) ==
             [:blocked, :blocked, :blocked, :ok, :error, :consented, :ok, :blocked]
  end

  test "the audit trail says what confined the commands, of those that were stopped and those that go on, too",
       %{
         context: context,
         session: session,
         gate: gate
       } do
    context = Map.put(context, :granted_tier, :execute)

    for {name, args} <- [
          {"bash_execute", %{"command" => "ls"}},
          {"bash_execute", %{"command" => "cat #{gate}", "timeout" => 1_000}},
          {"bash_background", %{"command" => "cat #{gate}"}},
          {"bash_execute", %{"command" => "bash -c ls"}},
          {"grep_search", %{"pattern" => "sum"}}
        ],
        do: SecureExecutor.call(name, args, context)

    assert [text, text, text, nil, nil] =
             AuditLogger.get_audit_log(session, order: :asc) |> Enum.map(& &1.confinement)

    {:ok, %{"confinement" => confinement}} =
      SecureExecutor.call("bash_execute", %{"command" => "ls"}, context)

    assert Confinement.summary(confinement) == text
    assert text =~ "network none"
    assert {:ok, _} = AuditLogger.verify()
  end

  test "shells end with the process that owns their session", %{
    context: context,
    session: session,
    gate: gate
  } do
    context = Map.put(context, :granted_tier, :execute)
    owner = spawn(fn -> receive(do: (:end -> :ok)) end)
    SecureExecutor.own_session(session, owner)

    assert {:ok, %{"shell_id" => id}} =
             SecureExecutor.call("bash_background", %{"command" => "cat #{gate}"}, context)

    send(owner, :end)

    eventually(fn ->
      args = %{"shell_id" => id, "block" => false}
      match?({:error, "Shell not found" <> _}, SecureExecutor.call("bash_output", args, context))
    end)
  end

  test "a call's time is kept by the tool, and what it had is told", %{context: context, gate: gate} do
    context = Map.put(context, :granted_tier, :execute)
    args = %{"command" => "echo begun; cat #{gate}", "timeout" => 1_500}

    assert {:error, text} = SecureExecutor.call("bash_execute", args, context)
    assert text =~ "timed out: it was ended after 1500 ms"
    assert text =~ "begun"
  end
end
