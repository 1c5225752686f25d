defmodule JidoCode.Integration.ToolsPhase5Test do
  # The host's switch is the whole VM's.
  use ExUnit.Case, async: false

  alias JidoCode.Tools.{Catalog, Definitions, SecureExecutor}
  alias JidoCode.Tools.Security.AuditLogger
  alias JidoCode.Tools.Test.{Events, MixProject, Processes, Seams}
  alias JidoCode.Tools.Test.Processes.Server

  @moduletag timeout: 180_000

  setup_all do
    %{root: MixProject.new!()}
  end

  # A supervisor with a server below it, and a table: what the introspection tools look at.
  setup %{root: root} do
    session = "phase5-#{System.unique_integer([:positive])}"
    on_exit(fn -> SecureExecutor.end_session(session) end)

    {supervisor, server} = {Processes.unique(:supervisor), Processes.unique(:server)}

    children = [
      Supervisor.child_spec({Server, {server, %{stock: 3, password: "velvet-otter-basin"}}}, id: :stock)
    ]

    start_supervised!(%{
      id: supervisor,
      type: :supervisor,
      start: {Supervisor, :start_link, [children, [strategy: :one_for_one, name: supervisor]]}
    })

    table = :ets.new(Processes.unique(:prices), [:named_table, :public])
    :ets.insert(table, {"tea", 250})

    context = %{
      session_id: session,
      project_root: root,
      granted_tier: :privileged,
      project_namespaces: :all
    }

    %{context: context, session: session, server: server, supervisor: supervisor, table: table}
  end

  for seam <- Seams.all() do
    describe "by #{seam}" do
      @describetag seam: seam

      setup %{seam: seam} do
        Seams.prepare(seam)
      end

      test "all six tools answer, each with its event",
           %{seam: seam, context: context, session: session} = test do
        Events.record(for operation <- operations(), do: [:jido_code, :elixir, operation])
        call = fn name, args -> Seams.call(seam, name, args, context) end

        assert {:ok, %{"exit_code" => 0, "output" => output}} =
                 call.("mix_task", %{"task" => "compile", "args" => ["--force"]})

        assert output =~ "Compiling 1 file (.ex)"

        assert {:ok, %{"passed" => false, "summary" => summary, "failures" => failures}} =
                 call.("run_exunit", %{"path" => "test/red_test.exs"})

        assert %{"total" => 4, "failed" => 4} = summary
        assert Enum.find(failures, &(&1["test"] == "compares"))["diff"] =~ "%{sum: 4}"

        assert {:ok, %{"state" => state, "type" => "genserver"}} =
                 call.("get_process_state", %{"process" => inspect(test.server)})

        assert state =~ "stock: 3"
        refute state =~ "velvet"

        assert {:ok, %{"tree" => tree, "children_count" => 1}} =
                 call.("inspect_supervisor", %{"supervisor" => inspect(test.supervisor)})

        assert tree =~ "stock"

        assert {:ok, %{"count" => 1, "result" => [row]}} =
                 call.("ets_inspect", %{
                   "operation" => "lookup",
                   "table" => inspect(test.table),
                   "key" => "\"tea\""
                 })

        assert inspect(row) =~ "250"

        assert {:ok, %{"docs" => [%{"name" => "map"}]}} =
                 call.("fetch_elixir_docs", %{"module" => "Enum", "function" => "map", "arity" => 2})

        for operation <- operations() do
          assert_received {:event, [:jido_code, :elixir, ^operation], %{duration: _, exit_code: _},
                           %{session_id: ^session, status: :ok}}
        end
      end

      test "all refuse what is not the project's", %{seam: seam, context: context} do
        for {name, args, why} <- [
              {"mix_task", %{"task" => "release"}, "Mix task is blocked: release"},
              {"mix_task", %{"task" => "compile", "env" => "prod"}, "prod"},
              {"mix_task", %{"task" => "format", "args" => ["../x.ex"]}, "Path traversal not allowed"},
              {"run_exunit", %{"path" => "../other/test/x_test.exs"}, "Path traversal not allowed"},
              {"get_process_state", %{"process" => "kernel_sup"}, "Process is blocked"},
              {"inspect_supervisor", %{"supervisor" => ":kernel_sup"}, "blocked"},
              {"ets_inspect", %{"operation" => "info", "table" => "ac_tab"}, "blocked"},
              {"fetch_elixir_docs", %{"module" => "No.Such.Module"}, "Module not found"},
              {"fetch_elixir_docs", %{}, "Missing required parameter: module"}
            ] do
          assert {:error, text} = Seams.call(seam, name, args, context)
          # Of a missing argument the host speaks first, in its own words.
          assert String.downcase(text) =~ String.downcase(why), inspect({name, args, text})
        end
      end

      test "none but the documentation is open to a session without grants", %{seam: seam, context: context} do
        context = Map.delete(context, :granted_tier)

        for %{name: name} = definition <- Definitions.Elixir.all(), name != "fetch_elixir_docs" do
          args =
            for parameter <- definition.parameters, parameter.required, into: %{}, do: {parameter.name, "x"}

          assert {:error, text} = Seams.call(seam, name, args, context)
          assert text =~ ~r/permission.denied/i, inspect({name, text})
        end

        assert {:ok, _docs} = Seams.call(seam, "fetch_elixir_docs", %{"module" => "Enum"}, context)
      end
    end
  end

  test "mix_task runs the tests too", %{context: context} do
    args = %{"task" => "test", "args" => ["test/green_test.exs"], "env" => "test"}
    assert {:ok, %{"exit_code" => 0, "output" => output}} = SecureExecutor.call("mix_task", args, context)
    # In the words of either Elixir.
    assert output =~ ~r/5 tests, 0 failures|2 passed, 1 skipped, 2 excluded/
  end

  test "a project's own module is documented, a table of it is listed", %{context: context, table: table} do
    assert {:ok, %{"moduledoc" => "A module to read about." <> _}} =
             SecureExecutor.call(
               "fetch_elixir_docs",
               %{"module" => "JidoCode.Tools.Test.Documented"},
               context
             )

    assert {:ok, %{"result" => tables}} =
             SecureExecutor.call("ets_inspect", %{"operation" => "list"}, context)

    assert Atom.to_string(table) in Enum.map(tables, & &1["name"])
  end

  test "a call of the pipeline is ended by the time it was given, and audited so", %{
    context: context,
    session: session
  } do
    root = MixProject.new!(%{"mix.exs" => "Process.sleep(:infinity)"})
    context = %{context | project_root: root}

    assert {:error, text} =
             SecureExecutor.call("mix_task", %{"task" => "compile", "timeout" => 1_000}, context)

    # The tool says so itself, or on a slow machine the pipeline, a little later.
    assert [%{tool: "mix_task", status: status}] = AuditLogger.get_audit_log(session)

    assert {status, text =~ "did not load within 1000 ms", text =~ "timed out"} in [
             {:error, true, false},
             {:timeout, false, true}
           ]
  end

  test "tools that evaluate or reload code do not exist" do
    for name <- ["iex_eval", "reload_module", "eval", "elixir_eval"] do
      assert {:error, "Unknown tool: " <> _} =
               SecureExecutor.call(name, %{"code" => "1"}, %{granted_tier: :privileged})

      refute name in Catalog.names()
    end

    properties = Enum.flat_map(Definitions.Elixir.all(), & &1.parameters)
    refute Enum.any?(properties, &(&1.name in ["code", "pattern", "pid"]))
  end

  defp operations, do: [:mix_task, :run_exunit, :process_state, :supervisor_tree, :ets_inspect, :fetch_docs]
end
