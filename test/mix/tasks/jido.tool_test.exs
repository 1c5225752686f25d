defmodule Mix.Tasks.Jido.ToolTest do
  # Standard output, the current folder and the loggers are the whole VM's.
  use ExUnit.Case, async: false

  import ExUnit.CaptureIO

  alias JidoCode.Tools.Catalog
  alias JidoCode.Tools.JSON
  alias JidoCode.Tools.Test.{CommandProcesses, Peers}
  alias Mix.Tasks.Jido.Tool

  @docs ~s({"module": "Enum", "function": "sum", "arity": 1})

  # In this VM: what was printed, and the exit status that mix would give.
  defp run(argv, input \\ "") do
    test = self()

    errors =
      capture_io(:stderr, fn ->
        output =
          capture_io(input, fn ->
            status =
              try do
                Tool.run(argv)
                0
              catch
                :exit, {:shutdown, status} -> status
              end

            send(test, {:status, status})
          end)

        send(test, {:output, output})
      end)

    assert_received {:status, status}
    assert_received {:output, output}
    {status, output, errors}
  end

  defp lines(output) do
    for line <- String.split(output, "\n", trim: true) do
      assert {:ok, decoded} = JSON.decode(line)
      decoded
    end
  end

  describe "list" do
    test "names, descriptions and parameters of every tool" do
      {0, output, _errors} = run(["list"])

      for definition <- Catalog.all() do
        assert output =~ ~r/^#{definition.name}$/m
        assert output =~ definition.description

        for parameter <- definition.parameters,
            do: assert(output =~ "    #{parameter.name} (#{parameter.type}, ")
      end
    end

    test "schemas as JSON" do
      {0, output, _errors} = run(["list", "--json"])
      listed = lines(output)
      assert Enum.map(listed, & &1["name"]) == Catalog.names()
      for tool <- listed, do: assert(%{"inputSchema" => %{"type" => "object"}, "description" => _} = tool)
    end
  end

  describe "call" do
    test "prints the result and succeeds" do
      {0, output, _errors} = run(["call", "fetch_elixir_docs", @docs, "--no-start"])
      assert output =~ ~r/\Afetch_elixir_docs: ok in [\d.]+ ms\n  /
      assert output =~ "sum"
    end

    test "prints one line of JSON for machines" do
      {0, output, _errors} = run(["call", "fetch_elixir_docs", @docs, "--json", "--no-start"])

      assert [%{"name" => "fetch_elixir_docs", "ok" => true, "status" => "ok", "result" => result} = line] =
               lines(output)

      assert is_integer(line["duration_us"])
      assert result["module"] == "Enum"
    end

    test "arguments may be left out where none is required" do
      {1, output, _errors} = run(["call", "fetch_elixir_docs", "--no-start"])
      assert output =~ "Missing required parameter: module"
    end

    test "a failure, a denial: status 1, told on standard output" do
      {1, output, _errors} =
        run(["call", "fetch_elixir_docs", ~s({"module": "No.Such.Module"}), "--no-start"])

      assert output =~ ~r/\Afetch_elixir_docs: error\n  /

      {1, output, _errors} = run(["call", "ets_inspect", ~s({"operation": "list"}), "--no-start"])
      assert output =~ ~r/\Aets_inspect: blocked\n  Permission denied: ets_inspect needs the tier privileged/

      {1, output, _errors} = run(["call", "ets_inspect", ~s({"operation": "list"}), "--json", "--no-start"])
      assert [%{"ok" => false, "status" => "blocked", "error" => "Permission denied" <> _}] = lines(output)
    end

    test "an unknown tool says which there are" do
      {1, output, _errors} = run(["call", "reload_module", "{}", "--no-start"])
      assert output =~ "Unknown tool: reload_module"
      assert output =~ "fetch_elixir_docs"
    end

    test "arguments are checked against the schema, all mistakes at once" do
      {1, output, _errors} =
        run([
          "call",
          "get_process_state",
          ~s({"process": 1, "timeout": "5", "deep": true}),
          "--tier",
          "privileged",
          "--no-start"
        ])

      assert output =~ "Invalid process name: expected string"
      assert output =~ "Invalid timeout: expected integer"
      assert output =~ "Unknown parameter: deep"

      {1, output, _errors} =
        run(["call", "ets_inspect", ~s({"operation": "drop"}), "--tier", "privileged", "--no-start"])

      assert output =~ "drop is not one of list, info, lookup, sample"
    end

    test "--tier and --consent allow" do
      for grant <- [
            ["--tier", "privileged"],
            ["--consent", "ets_inspect"],
            ["--consent", "mix_task", "--consent", "ets_inspect"]
          ] do
        grant =
          Enum.filter(grant, &(String.starts_with?(&1, "--") or &1 == "privileged" or &1 in Catalog.names()))

        {status, output, _errors} =
          run(["call", "ets_inspect", ~s({"operation": "list"}), "--no-start"] ++ grant)

        assert {status, output =~ "ets_inspect: ok"} == {0, true}
      end
    end

    test "what can't be understood: status 2, an example helps" do
      for {json, words} <- [
            {"{", ~r/not JSON \(.+line 1/},
            {"[1]", ~r/must be a JSON object/},
            {"module: Enum", ~r/not JSON/}
          ] do
        {2, output, _errors} = run(["call", "fetch_elixir_docs", json, "--no-start"])
        assert output =~ words
        assert output =~ ~s({"module":"..."})
      end
    end
  end

  describe "run" do
    test "answers line by line from standard input, in one session" do
      input = """
      {"name": "fetch_elixir_docs", "arguments": #{@docs}}

      {"name": "fetch_elixir_docs", "arguments": {"module": "No.Such.Module"}}
      {"name": "ets_inspect", "arguments": {"operation": "list"}}
      """

      {1, output, _errors} = run(["run", "--json", "--audit", "--no-start", "--session", "run-test"], input)

      assert [%{"ok" => true}, %{"ok" => false, "status" => "error"}, %{"status" => "blocked"} | audit] =
               lines(output)

      assert Enum.map(audit, & &1["audit"]["status"]) == ["ok", "error", "blocked"]

      for %{"audit" => entry} <- audit,
          do: assert(%{"session_id" => "run-test", "args_hash" => <<_::256>>} = entry)
    end

    test "without JSON each call stands above its answer" do
      {0, output, _errors} =
        run(["run", "--no-start"], ~s({"name": "fetch_elixir_docs", "arguments": #{@docs}}\n))

      assert output =~
               ~r/\A> fetch_elixir_docs \{.*"module":"Enum".*\}\nfetch_elixir_docs: ok in .*\n  Enum.sum\(/
    end

    test "a line that is none doesn't stop the others; the status tells" do
      input = """
      nonsense
      {"arguments": {}}
      {"name": "fetch_elixir_docs", "arguments": [1]}
      {"name": "fetch_elixir_docs", "arguments": #{@docs}}
      """

      {2, output, _errors} = run(["run", "-", "--json", "--no-start"], input)

      assert [
               %{"status" => "unreadable"},
               %{"status" => "unreadable"},
               %{"status" => "unreadable"},
               %{"ok" => true}
             ] = lines(output)
    end

    test "limits hold for the whole run" do
      # 120 a minute, at the door of one person's agent.
      input = String.duplicate(~s({"name": "ets_inspect", "arguments": {"operation": "list"}}\n), 122)

      {1, output, _errors} =
        run(["run", "--json", "--no-start", "--consent", "ets_inspect", "--session", "limits"], input)

      assert output |> lines() |> Enum.map(& &1["status"]) ==
               List.duplicate("ok", 120) ++ ["blocked", "blocked"]

      # The next run is another session.
      {0, _output, _errors} =
        run([
          "call",
          "ets_inspect",
          ~s({"operation": "list"}),
          "--no-start",
          "--consent",
          "ets_inspect",
          "--session",
          "limits"
        ])
    end

    test "the audit trail for people, with what the chain says" do
      {0, output, _errors} = run(["call", "fetch_elixir_docs", @docs, "--audit", "--no-start"])
      assert output =~ ~r/^audit \d+  \d\d:\d\d:\d\d  fetch_elixir_docs  ok  \d+ us  args [0-9a-f]{32}$/m
      assert output =~ ~r/the chain of digests verifies, its head is [0-9a-f]{16}/

      command = ["call", "bash_execute", ~s({"command": "ls"}), "--tier", "execute", "--audit", "--no-start"]
      {0, output, _errors} = run(command)

      assert output =~
               ~r/^audit .*  bash_execute  ok  .*  confined: fence .*, filesystem .*, network none by /m
    end

    test "a file that is none" do
      {2, output, errors} = run(["run", "no/such/file", "--no-start"])
      assert output == ""
      assert errors =~ "can't read no/such/file: no such file"
      {2, _output, errors} = run(["run", "lib", "--no-start"])
      assert errors =~ "lib is a directory"
    end
  end

  test "a command line that makes no sense: status 2 and usage, on standard error" do
    for argv <- [
          [],
          ["eval", "1"],
          ["list", "x"],
          ["call"],
          ["call", "a", "{}", "more"],
          ["list", "--pretty"],
          ["call", "fetch_elixir_docs", "{}", "--tier", "root"],
          ["call", "fetch_elixir_docs", "{}", "--tier"],
          ["call", "fetch_elixir_docs", "{}", "--consent", "everything"]
        ] do
      {status, output, errors} = run(argv)
      assert {argv, status, output} == {argv, 2, ""}
      assert errors =~ "mix jido.tool: "
      assert errors =~ "mix help jido.tool"
    end
  end

  describe "on another node" do
    setup do
      on_exit(&Peers.leave/0)
      file = Path.join(System.tmp_dir!(), "jido-cookie-#{System.pid()}")
      on_exit(fn -> File.rm(file) end)
      File.write!(file, Peers.cookie() <> "\n")
      %{cookie: file}
    end

    @tag :as_built
    test "looks at it, with consent on loan, and leaves nothing there", %{cookie: cookie} do
      peer = Peers.start!()
      look = ["call", "get_process_state", ~s({"process": "Till.Drawer"}), "--tier", "privileged", "--json"]
      there = ["--node", peer.name, "--cookie-file", cookie]

      {0, output, _errors} = run(look ++ there)
      assert [%{"ok" => true, "result" => %{"state" => nil, "note" => note}}] = lines(output)
      assert note =~ "--consent-load"

      {0, output, _errors} = run(look ++ there ++ ["--consent-load"])
      assert [%{"ok" => true, "result" => %{"node" => name, "state" => state}}] = lines(output)
      assert name == peer.name
      assert state =~ "coins: 12"

      CommandProcesses.eventually(fn ->
        Peers.on(peer, :code, :is_loaded, [JidoCode.Tools.Introspection.Excerpt]) == false
      end)
    end

    test "says why it can't, and does not wait for ever", %{cookie: cookie} do
      {1, output, _errors} =
        run(["call", "fetch_elixir_docs", @docs, "--node", "nobody@127.0.0.1", "--cookie-file", cookie])

      assert output =~ "Node nobody@127.0.0.1 can't be reached"
      {2, _output, errors} = run(["call", "fetch_elixir_docs", @docs, "--node", "no name"])
      assert errors =~ "--node takes a node's name"
    end
  end

  describe "in another project, as a program" do
    @shop Path.expand("../../../examples/shop", __DIR__)

    # Standard output alone, and the exit status as the shell sees it.
    defp mix(arguments) do
      build = Path.join(System.tmp_dir!(), "jido-shop-#{System.pid()}")

      env = [
        {"MIX_ENV", "dev"},
        {"MIX_BUILD_PATH", build},
        {"CARGO_TARGET_DIR", System.get_env("CARGO_TARGET_DIR")}
      ]

      errors = Path.join(System.tmp_dir!(), "jido-shop-#{System.pid()}.stderr")
      File.write!(errors, "")
      command = ["sh", "-c", ~s(exec mix "$@" 2>"$STDERR"), "sh" | arguments]

      {output, status} = System.cmd(hd(command), tl(command), cd: @shop, env: [{"STDERR", errors} | env])

      {status, output, File.read!(errors)}
    after
      File.rm(Path.join(System.tmp_dir!(), "jido-shop-#{System.pid()}.stderr"))
    end

    setup do
      on_exit(fn -> File.rm_rf!(Path.join(System.tmp_dir!(), "jido-shop-#{System.pid()}")) end)
    end

    @tag timeout: 600_000
    test "results alone on standard output, even when mix compiles first; exit status for the shell" do
      # Mix itself compiles the dependency before it can find the task. The project it compiles within the task.
      {0, _output, _errors} = mix(~w(deps.compile))

      {status, output, errors} =
        mix(~w(jido.tool call inspect_supervisor {"supervisor":"Shop.Supervisor"} --tier privileged --json))

      assert {status, errors =~ "Compiling"} == {0, true}
      assert [%{"ok" => true, "result" => %{"children" => [_ | _]}}] = lines(output)

      {status, output, _errors} = mix(~w(jido.tool call get_process_state {"process":"Shop.Payments"}))
      assert status == 1
      assert output =~ "Permission denied"

      {status, output, errors} = mix(~w(jido.tool call))
      assert {status, output} == {2, ""}
      assert errors =~ "mix jido.tool: "

      {status, output, _errors} = mix(~w(jido.tool run calls.jsonl --tier privileged --json --audit))
      assert status in [0, 1]
      {calls, audit} = output |> lines() |> Enum.split_with(&Map.has_key?(&1, "name"))
      # What the session was granted stands before its calls.
      assert [%{"audit" => %{"status" => "granted", "tool" => "privileged"}} | audit] = audit
      assert length(calls) == length(audit)

      assert length(calls) ==
               "#{@shop}/calls.jsonl" |> File.read!() |> String.split("\n", trim: true) |> length()
    end
  end
end
