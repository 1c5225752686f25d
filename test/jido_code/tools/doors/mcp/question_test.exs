defmodule JidoCode.Tools.Doors.MCP.QuestionTest do
  @moduledoc false
  # What a person reads before saying yes is true of the tool.
  use ExUnit.Case, async: true

  alias JidoCode.Tools.{Call, Definition}
  alias JidoCode.Tools.Doors.MCP.{Consent, Question, Tools}
  alias JidoCode.Tools.Security.OutputSanitizer
  alias JidoCode.Tools.Test.{Generate, MixProject}

  @harmless "runs no command and writes nothing"

  setup_all do
    %{root: MixProject.new!()}
  end

  defp question(root, name, args) do
    {:ok, text} = Question.build(Tools.call(name, args, %{session_id: "asked", project_root: root}))
    text
  end

  test "only of tools that look it says that they write nothing", %{root: root} do
    for {name, args} <- [
          {"get_process_state", %{"process" => "Sample.Server"}},
          {"ets_inspect", %{"operation" => "list"}},
          {"trace_calls", %{"reference" => "Sample.add/2"}},
          {"bash_output", %{"shell_id" => "a"}}
        ],
        do: assert(question(root, name, args) =~ @harmless)

    for {name, args} <- [
          {"restart_project", %{}},
          {"kill_shell", %{"shell_id" => "a"}},
          {"bash_execute", %{"command" => "ls"}}
        ],
        do: refute(question(root, name, args) =~ @harmless)
  end

  test "a restart compiles and starts the project, with all that may do", %{root: root} do
    text = question(root, "restart_project", %{})
    assert text =~ "end the project's VM, compile the project, and start it anew"
    assert text =~ "It may write the project and the caches of its build tools; network: all; confined"
    assert question(root, "kill_shell", %{"shell_id" => "a"}) =~ "It ends that background shell"
  end

  test "nobody is asked about what nobody reads, whatever its characters stand on", %{root: root} do
    args = %{"reference" => "e" <> String.duplicate("\u0301", 2_000)}

    assert Question.build(Tools.call("trace_calls", args, %{session_id: "asked", project_root: root})) ==
             :none
  end

  test "a test run is shown as the line that runs", %{root: root} do
    args = %{"path" => Path.join(root, "test/green_test.exs"), "line" => 5, "tag" => "slow", "seed" => 0}

    assert question(root, "run_exunit", args) =~
             "  MIX_ENV=test mix test test/green_test.exs:5 --only slow --seed 0\n"

    context = %{session_id: "asked", project_root: root}
    assert {:error, why} = Question.build(Tools.call("run_exunit", %{"path" => "../a_test.exs"}, context))
    assert why =~ "outside of the project"
  end

  test "is redacted by the session's earlier outputs", %{root: root} do
    session = "asked-#{System.unique_integer([:positive])}"
    {value, _random} = Generate.token(Generate.new(7), 24)
    OutputSanitizer.redact(~s(api_token: "#{value}"), session: session, emit_telemetry: false)
    args = %{"command" => "echo #{value}"}
    call = Tools.call("bash_execute", args, %{session_id: session, project_root: root})
    denied = %{call | status: :blocked, reason: {:permission_denied, %{}}}
    assert %{"question" => asked} = Consent.question(denied, %{})
    assert asked =~ "echo [REDACTED" and asked =~ "Redacted: 1 value"
    refute asked =~ value
  end

  defmodule Orders do
    def definition,
      do: %{name: "orders", description: "Lists orders.", tier: :privileged, hints: :looks, parameters: []}
  end

  test "of a tool of somebody else's it says no more than the tool declares", %{root: root} do
    ask = fn definition ->
      call = %Call{
        name: "orders",
        tool: definition,
        handler: Orders,
        args: %{},
        context: %{project_root: root}
      }

      {:ok, text} = Question.build(call)
      refute text =~ @harmless
      text
    end

    looks = Definition.of(Orders)
    assert ask.(looks) =~ "It declares that it changes nothing."
    runs = Definition.complete(%{Orders.definition() | hints: :runs}, Orders)
    assert ask.(runs) =~ "It may run commands, and change what it reaches."
    # What a project's VM offers is the project's code, whatever it declares.
    assert ask.(Map.put(looks, :offered, "digest")) =~ "It may write the project"
  end
end
