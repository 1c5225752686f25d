# The project that is looked at: what is JidoCode's own is shown to nobody.
defmodule Golden.Till do
  use GenServer
  def start_link(state), do: GenServer.start_link(__MODULE__, state, name: __MODULE__)

  @impl true
  def init(state) do
    :ets.new(:golden_till, [:named_table, :public, :ordered_set])
    :ets.insert(:golden_till, for(n <- 1..12, do: {n, %{cents: 100 * n}}))
    {:ok, state}
  end
end

defmodule Golden.Top do
  use Supervisor
  def start_link(state), do: Supervisor.start_link(__MODULE__, state, name: __MODULE__)

  @impl true
  def init(state) do
    children = [
      {Golden.Till, state},
      {DynamicSupervisor, name: Golden.Carts},
      {Task.Supervisor, name: Golden.Tasks}
    ]

    Supervisor.init(children, strategy: :one_for_one)
  end
end

defmodule JidoCode.Tools.GoldenAnswersTest do
  # Whole answers as models get them, compared with test/fixtures/answers. What differs from run to run stands there as N.
  # ANSWERS=write mix test test/jido_code/tools/golden_answers_test.exs writes them anew; read what changed before you commit it.
  use ExUnit.Case, async: true

  alias JidoCode.Tools.{Answers, SecureExecutor}
  alias JidoCode.Tools.Doors.MCP.Answer
  alias JidoCode.Tools.Test.MixProject

  @moduletag timeout: 180_000
  @folder Path.expand("../../fixtures/answers", __DIR__)

  setup_all do
    %{root: MixProject.new!()}
  end

  defp answer(tool, args, root, more \\ %{}) do
    context =
      Map.merge(
        %{
          session_id: "golden-#{System.unique_integer()}",
          granted_tier: :privileged,
          project_root: root,
          project_namespaces: ["Golden"]
        },
        more
      )

    call = tool |> SecureExecutor.new(args, context) |> SecureExecutor.execute()

    case call.result do
      {:ok, result} -> Answers.text(call.tool, result)
      {:error, text} -> "error: " <> text <> "\n"
    end
  end

  defp golden(name, text) do
    path = Path.join(@folder, name <> ".txt")
    text = plain(text)
    if System.get_env("ANSWERS") == "write", do: File.write!(path, text)
    assert text == File.read!(path)
  end

  defp plain(text) do
    for {pattern, shown} <- [
          {~r/#PID<[\d.]+>/, "#PID<N>"},
          {~r/\b[\d.]+ s\b/, "N s"},
          {~r/\bseed \d+/, "seed N"},
          {~r/\b[\d.]+ (?:B|kB|MB)\b/, "N bytes"},
          {~r/(documented\.ex|golden_answers_test\.exs):\d+/, "\\1:N"},
          {~r/\b\d+ (?=compiled modules|modules|processes|reductions)/, "N "},
          {~r/gen_server\.loop\/\d/, "gen_server.loop/N"},
          {~r/\d{4}-\d\d-\d\dT[\d:.]+Z/, "TIME"},
          {~r/\bfollow_up: \d+/, "follow_up: N"},
          {~r/\b(shell_id: |Shell )\S+/, "\\1ID"},
          {~r/^Not confined as asked: .*\n/m, ""}
        ],
        reduce: text do
      text -> Regex.replace(pattern, text, shown)
    end
  end

  test "a process, its supervisor, its table", %{root: root} do
    state = %{open: true, api_key: "abcdef", drawer: [%{coin: 50, count: 3}, %{coin: 20, count: 1}]}
    start_supervised!({Golden.Top, state})

    golden("get_process_state", answer("get_process_state", %{"process" => "Golden.Till"}, root))
    golden("inspect_supervisor", answer("inspect_supervisor", %{"supervisor" => "Golden.Top"}, root))

    golden(
      "get_process_state.unread",
      answer("get_process_state", %{"process" => "Golden.Top"}, root) |> String.replace(~r/\nparent.*/s, "\n")
    )

    for {operation, args} <- [info: %{}, lookup: %{"key" => "3"}, sample: %{"limit" => 2}] do
      args = Map.merge(%{"operation" => to_string(operation), "table" => "golden_till"}, args)
      golden("ets_inspect.#{operation}", answer("ets_inspect", args, root))
    end

    list = answer("ets_inspect", %{"operation" => "list"}, root)
    # The tables of tests beside this one.
    golden("ets_inspect.list", String.replace(list, ~r/^Not listed: .*\n/m, ""))
    golden("ets_inspect.none", answer("ets_inspect", %{"operation" => "info", "table" => "no_such"}, root))
  end

  test "all processes", %{root: root} do
    start_supervised!({Golden.Top, %{open: true}})
    text = answer("list_processes", %{"module" => "Golden.Till", "sort_by" => "memory"}, root)
    golden("list_processes", text)
  end

  @tag :capture_log
  test "the log", %{root: root} do
    require Logger
    Logger.error("golden: the till is closed")
    golden("get_logs", answer("get_logs", %{"text" => "golden: the till"}, root))
    golden("get_logs.none", answer("get_logs", %{"text" => "golden: nothing"}, root))
  end

  test "where something is written, and who uses it" do
    ours = "JidoCode.Tools.Test.Documented"

    for {name, tool, args} <- [
          {"get_source_location.function", "get_source_location", %{"reference" => ours <> ".add/3"}},
          {"get_source_location.missing", "get_source_location", %{"reference" => ours <> ".ad"}},
          {"find_callers", "find_callers", %{"reference" => "JidoCode.Tools.Shortened.ending/2"}},
          {"find_callers.calls", "find_callers",
           %{"reference" => "JidoCode.Tools.Test.Calling.to_pay/1", "direction" => "calls"}},
          {"find_callers.none", "find_callers", %{"reference" => ours <> ".add/3"}}
        ],
        do: golden(name, tool |> answer(args, File.cwd!()) |> String.replace(~r/^\d+: /m, "N: "))
  end

  test "a shell", %{root: root} do
    session = %{session_id: "golden-#{System.unique_integer()}"}
    begun = answer("bash_background", %{"command" => "sleep 600"}, root, session)
    golden("bash_background", begun)
    [_all, id] = Regex.run(~r/shell_id: (\S+)/, begun)
    golden("bash_output", answer("bash_output", %{"shell_id" => id}, root, session))
    golden("kill_shell", answer("kill_shell", %{"shell_id" => id}, root, session))
  end

  # Both tell of one moment of a whole VM, so what they found stands here; the tools' own tests find it.
  test "a system at a glance, and a function's calls" do
    golden("system_overview", Answers.text("system_overview", overview()))

    trace = %{
      "calls" => [
        %{
          "process" => "Shop.Payments #PID<0.519.0>",
          "after_ms" => 0.0,
          "arguments" => ["%Shop.Order{id: 7, cents: 1250}", "[card: \"[REDACTED]\"]"],
          "result" => "{:ok, :paid}",
          "took_us" => 812.4
        },
        %{
          "process" => "#PID<0.711.0>",
          "after_ms" => 31.5,
          "arguments" => ["nil", "[]"],
          "exception" => "error: :badarg",
          "took_us" => 20.1
        },
        %{
          "process" => "#PID<0.712.0>",
          "after_ms" => 988.0,
          "arguments" => ["%Shop.Order{id: 8, cents: 90}", "[]"]
        }
      ],
      "stopped" => "time",
      "took_ms" => 1_000,
      "note" => "Redacted: 1 value (secret)."
    }

    golden("trace_calls", Answers.text("trace_calls", trace))
  end

  defp overview do
    %{
      "system" => %{
        "erlang" => "27",
        "erts" => "15.2",
        "elixir" => "1.18.3",
        "node" => "shop@localhost",
        "schedulers" => 2,
        "uptime_s" => 7_300,
        "architecture" => "x86_64-pc-linux-gnu"
      },
      "memory" => %{
        "total" => 61_500_000,
        "processes" => 12_250_000,
        "binary" => 9_100_000,
        "ets" => 1_400_000
      },
      "limits" => [
        %{"name" => "processes", "used" => 131, "limit" => 1_048_576, "percent" => 0.0},
        %{"name" => "atoms", "used" => 995_000, "limit" => 1_048_576, "percent" => 94.9}
      ],
      "schedulers" => [
        %{"id" => 1, "kind" => "normal", "percent" => 71.2},
        %{"id" => 2, "kind" => "normal", "percent" => 3.0},
        %{"id" => 3, "kind" => "dirty cpu", "percent" => 55.0}
      ],
      "run_queues" => [4, 0, 1],
      "mailboxes" => [%{"process" => "Shop.Courier", "pid" => "#PID<0.520.0>", "value" => 40_112}],
      "processes" => [%{"process" => "#PID<0.711.0>", "pid" => "#PID<0.711.0>", "value" => 9_400_000}],
      "tables" => %{
        "count" => 38,
        "largest" => [
          %{"name" => ":shop_prices", "memory" => 1_100_000, "rows" => 12_000, "owner" => "Shop.Prices"}
        ]
      },
      "ports" => %{
        "count" => 3,
        "busiest" => [
          %{
            "name" => "tcp_inet",
            "peer" => "127.0.0.1:5432",
            "received" => 4_500_000,
            "sent" => 90_000,
            "process" => "#PID<0.560.0>"
          }
        ]
      },
      "applications" => [
        %{"name" => "shop", "version" => "0.1.0", "supervisor" => "Shop.Supervisor"},
        %{"name" => "logger", "version" => "1.18.3"},
        %{"name" => "kernel", "version" => "10.2"}
      ],
      "note" => "1 module is older than its compiled code: Shop.Prices."
    }
  end

  test "documentation" do
    ours = "JidoCode.Tools.Test.Documented"

    for {name, module} <- [
          {"module", ours},
          {"function", ours <> ".add/3"},
          {"callback", "c:" <> ours <> ".begin/1"},
          {"type", "t:" <> ours <> ".id/0"},
          {"missing", ours <> ".ad"}
        ],
        do:
          golden("fetch_elixir_docs.#{name}", answer("fetch_elixir_docs", %{"module" => module}, File.cwd!()))
  end

  test "a denial, to a host and to an MCP client", %{root: root} do
    read_only = %{granted_tier: :read_only}
    golden("denied", answer("bash_execute", %{"command" => "ls"}, root, read_only))

    context = Map.merge(read_only, %{session_id: "golden-#{System.unique_integer()}", project_root: root})
    call = "run_exunit" |> SecureExecutor.new(%{}, context) |> SecureExecutor.execute()
    golden("denied.mcp", Answer.build(call, [])["text"])
  end

  # No VM is restarted here: where one is, its answer is compared with this file as well.
  test "a restart" do
    golden(
      "restart_project",
      Answers.text("restart_project", %{"result" => "The project was restarted and is running."})
    )
  end

  test "a search", %{root: root} do
    args = %{"pattern" => "def \\w+", "path" => "lib"}
    golden("grep_search.content", answer("grep_search", args, root))
    golden("grep_search.count", answer("grep_search", Map.put(args, "output_mode", "count"), root))
    golden("grep_search.none", answer("grep_search", %{"pattern" => "no such text", "path" => "lib"}, root))
  end

  test "test runs and commands", %{root: root} do
    golden("run_exunit.green", answer("run_exunit", %{"path" => "test/green_test.exs"}, root))
    # A line of one test: of two, either may be the slower one.
    line = MixProject.line(root, "test/green_test.exs", "is zero")
    slowest = %{"path" => "test/green_test.exs", "line" => line, "slowest" => 5}
    golden("run_exunit.slowest", answer("run_exunit", slowest, root))
    line = MixProject.line(root, "test/red_test.exs", "%{sum: 4}")
    golden("run_exunit.red", answer("run_exunit", %{"path" => "test/red_test.exs", "line" => line}, root))
    golden("run_exunit.refused", answer("run_exunit", %{"path" => "lib/sample.ex"}, root))
    golden("bash_execute", answer("bash_execute", %{"command" => "ls test"}, root))
    golden("bash_execute.failed", answer("bash_execute", %{"command" => "ls nowhere"}, root))
    golden("mix_task", answer("mix_task", %{"task" => "compile"}, root))

    compile = %{
      "output" => "Compiling 2 files (.ex)\n",
      "stderr" =>
        "\n== Compilation error in file lib/cart.ex ==\n** (CompileError) lib/cart.ex:7: undefined function total/1 " <>
          "(expected Shop.Cart to define such a function or for it to be imported, but none are available)\n\n",
      "exit_code" => 1
    }

    # In the words of one Elixir.
    golden("mix_task.compile_error", Answers.text("mix_task", compile))
    golden("mix_task.refused", answer("mix_task", %{"task" => "ecto.drop"}, root))
  end
end
