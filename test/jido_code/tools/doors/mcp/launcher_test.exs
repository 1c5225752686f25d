defmodule JidoCode.Tools.Doors.MCP.LauncherTest do
  @moduledoc false
  # The whole way, from a client's lines to the tools, a project's own VM, and back.
  use ExUnit.Case, async: false

  import JidoCode.Tools.Test.CommandProcesses, only: [alive?: 1, eventually: 1, kill: 2, parent: 1]

  alias JidoCode.Tools.Introspection.CallTrace
  alias JidoCode.Tools.Test.{McpClient, MixProject, Tree}

  @moduletag timeout: 300_000

  @mix """
  defmodule Sample.MixProject do
    use Mix.Project

    def project, do: [app: :sample, version: "0.1.0"]
    def application, do: [mod: {Sample.Application, []}]
  end
  """

  @worker """
  defmodule Sample.Worker do
    use GenServer

    def start_link(count), do: GenServer.start_link(__MODULE__, count, name: __MODULE__)
    def init(count), do: {:ok, %{count: count}}
  end

  defmodule Sample.Application do
    use Application

    def start(_type, _args), do: Supervisor.start_link([{Sample.Worker, 17}], strategy: :one_for_one)
  end
  """

  @state %{"process" => "Sample.Worker"}
  @token "ghp_" <> String.duplicate("aB3", 12)

  # One project for all. It has nothing of this library in it.
  setup_all do
    root = MixProject.new!(%{"mix.exs" => @mix, "lib/sample/worker.ex" => @worker})
    Tree.pipe!(root, "pipe")
    client = root |> McpClient.start!()
    McpClient.initialize(client)
    started(client)
    McpClient.leave(client)
    eventually(fn -> below(root) == [] end)
    %{root: root}
  end

  setup %{root: root} do
    on_exit(fn -> eventually(fn -> below(root) == [] end) end)
  end

  defp connected(root, arguments \\ [], opts \\ []) do
    client = McpClient.start!(root, arguments, opts)
    McpClient.initialize(client)
    client
  end

  # Waits until the tools run, and the project with them.
  defp started(client) do
    case McpClient.tool(client, "fetch_elixir_docs", %{"module" => "Sample"}) do
      {:ok, text} -> if text =~ "Read from the compiled code", do: started(client), else: client
      {:error, text} -> if text =~ "again", do: started(client), else: flunk(text)
    end
  end

  # Reading a named pipe that nobody writes to never ends by itself. Answers when it is seen to run.
  defp call_that_waits(client, root, id) do
    McpClient.call(client, id, "bash_execute", %{"command" => "cat pipe", "timeout" => 600_000})
    eventually(fn -> commands(root) != [] end)
  end

  # Ids of the living processes in the project's folder: the VM and what it started.
  defp below(root) do
    for process <- Path.wildcard("/proc/[0-9]*"),
        {:ok, folder} <- [File.read_link(Path.join(process, "cwd"))],
        folder == root or String.starts_with?(folder, root <> "/"),
        pid = process |> Path.basename() |> String.to_integer(),
        alive?(pid),
        do: pid
  end

  defp commands(root) do
    for pid <- below(root), {:ok, "cat" <> _} <- [File.read("/proc/#{pid}/cmdline")], do: pid
  end

  # The VM that runs the tools, and the one of the project.
  defp tools_vm(client) do
    Enum.find(processes(), &(parent(&1) == client.pid and command_line(&1) =~ "ToolsVM"))
  end

  defp project_vm(root), do: Enum.find(below(root), &(command_line(&1) =~ "beam.smp\0"))

  # Of a process that may end at any moment.
  defp command_line(pid) do
    case File.read("/proc/#{pid}/cmdline") do
      {:ok, text} -> text
      {:error, _gone} -> ""
    end
  end

  defp processes do
    for process <- Path.wildcard("/proc/[0-9]*"),
        pid = process |> Path.basename() |> String.to_integer(),
        alive?(pid),
        do: pid
  end

  describe "lines" do
    test "that are no requests are answered, or let pass, and the session goes on", %{root: root} do
      client = McpClient.start!(root)
      # Before the session begins, too.
      McpClient.notify(client, "notifications/initialized")
      McpClient.request(client, "early", "ping")
      assert %{"result" => %{}} = McpClient.await(client, "early")
      McpClient.initialize(client)

      assert %{"error" => %{"code" => -32_700}, "id" => nil} =
               client |> McpClient.write("{") |> McpClient.next()

      assert %{"error" => %{"code" => -32_600}, "id" => nil} =
               client |> McpClient.write(~s([{"jsonrpc":"2.0","id":1,"method":"ping"}])) |> McpClient.next()

      assert %{"error" => %{"code" => -32_600}, "id" => nil} =
               client |> McpClient.write(String.duplicate("x", 11_000_000)) |> McpClient.next()

      McpClient.write(client, ["", "\r\n", ~s({"jsonrpc":"2.0","method":"notifications/unknown"})])
      McpClient.request(client, 1, "no/such")
      assert %{"error" => %{"code" => -32_601}} = McpClient.await(client, 1)
      McpClient.request(client, 2, "tools/list", %{"cursor" => "x"})
      assert %{"error" => %{"code" => -32_602}} = McpClient.await(client, 2)
      McpClient.call(client, 3, "reload_module")

      assert %{"error" => %{"code" => -32_602, "message" => "Unknown tool: reload_module" <> _}} =
               McpClient.await(client, 3)

      McpClient.call(client, "hidden", "a\e[2J\u202Eb")
      assert %{"error" => %{"message" => message}} = McpClient.await(client, "hidden")
      assert message =~ ~S(Unknown tool: a\u{1b}[2J\u{202e}b.)

      McpClient.request(client, 4, "ping")
      assert %{"result" => result} = McpClient.await(client, 4)
      assert result == %{}
    end

    test "are answered in the order of their ends, and in both eras at once", %{root: root} do
      client = root |> connected(["--tier", "execute"]) |> started()
      call_that_waits(client, root, "long")

      meta = %{
        "io.modelcontextprotocol/protocolVersion" => "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities" => %{}
      }

      McpClient.request(client, "modern", "server/discover", %{"_meta" => meta})
      assert %{"result" => %{"supportedVersions" => versions}} = McpClient.await(client, "modern")
      assert "2026-07-28" in versions
      McpClient.request(client, "legacy", "ping")
      assert %{"result" => %{}} = McpClient.await(client, "legacy")

      McpClient.notify(client, "notifications/cancelled", %{"requestId" => "long"})
      eventually(fn -> commands(root) == [] end)
      # Nothing comes for the cancelled call: the next message is the next request's.
      McpClient.request(client, "after", "ping")
      assert %{"id" => "after"} = McpClient.next(client)
    end
  end

  test "more calls than may run are refused, and may be made again", %{root: root} do
    client = connected(root)
    # They wait for the tools to start.
    for id <- 1..33, do: McpClient.call(client, id, "grep_search", %{"pattern" => "sum"})
    answers = for id <- 1..33, do: McpClient.await(client, id)
    {refused, taken} = answers |> Enum.map(&McpClient.result/1) |> Enum.split_with(&match?({:error, _}, &1))
    assert [{:error, "32 calls are running" <> _rest}] = refused
    assert length(taken) == 32
    assert {:ok, _text} = McpClient.tool(client, "grep_search", %{"pattern" => "sum"})
  end

  describe "a project that does not compile" do
    setup %{root: root} do
      file = Path.join(root, "lib/broken.ex")
      File.write!(file, "defmodule Sample.Broken do\n  def f, do: nothing_of_this_name\nend\n")
      on_exit(fn -> File.rm(file) end)
      %{broken: file}
    end

    test "is named by what looks at it, until it is repaired", %{root: root, broken: file} do
      client = connected(root, ["--tier", "privileged"])

      # Said again, not only once.
      for _time <- 1..2 do
        assert {:error, text} = McpClient.tool(client, "get_process_state", @state)
        assert text =~ "The project is not running"
        assert text =~ "lib/broken.ex:2"
        assert text =~ "nothing_of_this_name"
      end

      File.rm!(file)
      assert {:ok, text} = McpClient.tool(client, "get_process_state", @state)
      assert text =~ "count: 17"
    end

    test "is searched, built, and read about all the same", %{root: root} do
      client = connected(root, ["--tier", "execute"])
      assert {:ok, text} = McpClient.tool(client, "grep_search", %{"pattern" => "nothing_of_this_name"})
      assert text =~ "lib/broken.ex"
      assert {:ok, text} = McpClient.tool(client, "mix_task", %{"task" => "compile"})
      assert text =~ "nothing_of_this_name"

      assert {:ok, text} =
               McpClient.tool(client, "fetch_elixir_docs", %{"module" => "Enum", "function" => "sum"})

      assert text =~ "Returns the sum"
      assert {:ok, text} = McpClient.tool(client, "fetch_elixir_docs", %{"module" => "Sample"})
      assert text =~ "A cart's sum."
      assert text =~ "Read from the compiled code: the project is"
    end
  end

  describe "restart_project" do
    setup do
      root = MixProject.new!(%{"mix.exs" => @mix, "lib/sample/worker.ex" => @worker})
      on_exit(fn -> eventually(fn -> below(root) == [] end) end)
      %{root: root, worker: Path.join(root, "lib/sample/worker.ex")}
    end

    test "runs what is written now; what looks meanwhile waits, shells go on", %{root: root, worker: worker} do
      Tree.pipe!(root, "pipe")
      client = root |> connected(["--tier", "privileged"]) |> started()
      assert {:ok, state} = McpClient.tool(client, "get_process_state", @state)
      assert state =~ "count: 17"
      {:ok, shell} = McpClient.tool(client, "bash_background", %{"command" => "cat pipe"})
      [_all, shell] = Regex.run(~r/shell_id: (\S+)/, shell)

      written =
        @worker
        |> String.replace("17", "18")
        |> String.replace("count: count", ~s(count: count, a: "#{@token}"))

      File.write!(worker, written)
      # What is missing may be missing in the old code alone.
      env = System.get_env("MIX_ENV") || "dev"
      assert {:ok, _output} = McpClient.tool(client, "mix_task", %{"task" => "compile", "env" => env})
      assert {:error, why} = McpClient.tool(client, "get_process_state", %{"process" => "Sample.Nobody"})

      assert why =~ "not found"
      assert why =~ "This VM runs older code than the compiled code of Sample.Application, Sample.Worker;"

      vm = project_vm(root)
      McpClient.call(client, 1, "restart_project", %{})
      eventually(fn -> not alive?(vm) end)
      assert {:ok, state} = McpClient.tool(client, "get_process_state", @state)
      assert state =~ "count: 18"
      # Taken out in the project's VM, and told all the same.
      refute state =~ @token
      assert state =~ "Redacted: 1 value (token)."

      assert %{"result" => %{"content" => [%{"text" => "The project was restarted and is running." <> _}]}} =
               McpClient.await(client, 1)

      assert {:ok, "still running" <> _} = McpClient.tool(client, "bash_output", %{"shell_id" => shell})
      McpClient.leave(client)
    end

    test "says in the compiler's words why the project can't start", %{root: root, worker: worker} do
      client = root |> connected(["--tier", "execute"]) |> started()
      File.write!(worker, String.replace(@worker, "{Sample.Worker, 17}", "{Sample.Worker, missing}"))
      assert {:error, text} = McpClient.tool(client, "restart_project", %{})
      assert text =~ "lib/sample/worker.ex" and text =~ "missing"
      assert {:ok, found} = McpClient.tool(client, "grep_search", %{"pattern" => "missing"})
      assert found =~ "lib/sample/worker.ex"

      File.write!(worker, @worker <> ~s(raise "not with #{@token}"\n))
      assert {:error, text} = McpClient.tool(client, "restart_project", %{})
      assert text =~ "not with [REDACTED" and text =~ ~r/Redacted: [12] values? \(.*token/
      refute text =~ @token

      File.write!(worker, @worker)

      assert {:ok, "The project was restarted and is running." <> _} =
               McpClient.tool(client, "restart_project", %{})

      McpClient.leave(client)
    end
  end

  test "wrong options are named", %{root: root} do
    {usage, 2} = System.cmd(McpClient.launcher(), ["--project", "/nowhere"], stderr_to_stdout: true)
    assert usage =~ "/nowhere has no mix.exs"
    {usage, 2} = System.cmd(McpClient.launcher(), ["--project"], stderr_to_stdout: true)
    assert usage =~ "--project takes a value"

    for {arguments, why} <- [
          {["--tier", "root"], "--tier takes one of read_only, write, execute, privileged, got: root"},
          {["--consent", "iex_eval"], "--consent takes a tool's name"},
          {["--no-such-option"], "--no-such-option"}
        ] do
      client = connected(root, arguments)
      assert {:error, text} = McpClient.tool(client, "fetch_elixir_docs", %{"module" => "Sample"})
      assert text =~ why
      McpClient.leave(client)
    end
  end

  describe "whatever ends" do
    test "the tools' VM is killed: its calls are answered, a later one starts it again", %{root: root} do
      client = root |> connected(["--tier", "execute"]) |> started()
      call_that_waits(client, root, 1)
      kill(tools_vm(client), "KILL")
      assert {:error, text} = client |> McpClient.await(1) |> McpClient.result()
      assert text =~ "The tools are not running. Their VM ended unexpectedly"
      assert commands(root) == []
      started(client)
    end

    test "the project's VM is killed: commands go on, and it is started again, not once a second", %{
      root: root
    } do
      client = root |> connected(["--tier", "privileged"]) |> started()
      call_that_waits(client, root, 1)
      kill(project_vm(root), "KILL")
      eventually(fn -> project_vm(root) == nil end)
      assert commands(root) != []

      # The first call is told why, or, when the pause is over by then, gets its answer with it.
      {_status, text} = McpClient.tool(client, "get_process_state", @state)
      assert text =~ "It ended unexpectedly"
      eventually(fn -> match?({:ok, _text}, McpClient.tool(client, "get_process_state", @state)) end)
      McpClient.notify(client, "notifications/cancelled", %{"requestId" => 1})
      eventually(fn -> commands(root) == [] end)
    end

    test "the launcher is killed: the VM and its commands go with it", %{root: root} do
      client = root |> connected(["--tier", "execute"]) |> started()
      call_that_waits(client, root, 1)
      kill(client.pid, "KILL")
      eventually(fn -> below(root) == [] end)
    end

    test "the launcher is asked to end: so is all that it started", %{root: root} do
      client = root |> connected(["--tier", "execute"]) |> started()
      call_that_waits(client, root, 1)
      kill(client.pid, "TERM")
      assert McpClient.exit_status(client) == 128 + 15
      assert below(root) == []
    end

    test "the client leaves: so does the server", %{root: root} do
      client = root |> connected(["--tier", "execute"]) |> started()
      call_that_waits(client, root, 1)
      McpClient.leave(client)
      eventually(fn -> not alive?(client.pid) end)
      # A process that was killed is there for a moment more.
      eventually(fn -> below(root) == [] end)
    end

    test "the client leaves while the project starts", %{root: root} do
      client = connected(root)
      McpClient.leave(client)
      eventually(fn -> not alive?(client.pid) end)
      # A process that was killed is there for a moment more.
      eventually(fn -> below(root) == [] end)
    end

    test "the client leaves a VM that does not move any more", %{root: root} do
      client = root |> connected(["--tier", "execute"]) |> started()
      kill(tools_vm(client), "STOP")
      # More than the channel holds.
      McpClient.call(client, 1, "bash_execute", %{"command" => String.duplicate("x", 5_000_000)})
      McpClient.request(client, 2, "ping")
      assert %{"result" => %{}} = McpClient.await(client, 2)
      McpClient.leave(client)
      eventually(fn -> not alive?(client.pid) end)
      # A process that was killed is there for a moment more.
      eventually(fn -> below(root) == [] end)
    end

    test "input that is over at once leaves nothing, and is no failure", %{root: root} do
      {output, status} =
        System.cmd(
          "sh",
          ["-c", ~s("$0" --project "$1" 2>/dev/null </dev/null), McpClient.launcher(), root]
        )

      assert {output, status} == {"", 0}
      assert below(root) == []
    end
  end

  test "names outside ASCII are the same without a locale", %{root: root} do
    File.write!(Path.join(root, "lib/größe.ex"), "defmodule Sample.Groesse do\n  @moduledoc \"Maß\"\nend\n")

    plain =
      for name <- ~c"LANG LC_ALL LC_CTYPE" |> to_string() |> String.split(), do: {to_charlist(name), false}

    client = root |> connected(["--tier", "execute"], env: plain) |> started()
    assert {:ok, text} = McpClient.tool(client, "grep_search", %{"pattern" => "Maß", "path" => "lib"})
    assert text =~ "lib/größe.ex"
    assert {:ok, text} = McpClient.tool(client, "bash_execute", %{"command" => "cat lib/größe.ex"})
    assert text =~ "Maß"
    assert {:ok, text} = McpClient.tool(client, "fetch_elixir_docs", %{"module" => "Sample.Groesse"})
    assert text =~ "Maß"
  after
    File.rm(Path.join(root, "lib/größe.ex"))
  end

  test "callers in a project that was never compiled are waited for, and none is the server's own" do
    root = MixProject.new!(%{"mix.exs" => @mix, "lib/sample/worker.ex" => @worker})
    client = connected(root)
    # The server's own code calls it in many places.
    assert {:ok, callers} = McpClient.tool(client, "find_callers", %{"reference" => "GenServer.start_link/3"})
    assert callers =~ "4: Sample.Worker.start_link/1 call"
    refute callers =~ "JidoCode.Tools"
    McpClient.leave(client)
    eventually(fn -> below(root) == [] end)
  end

  test "sees the project's VM: the pid that one tool prints the next one takes, and its sources and callers",
       %{root: root} do
    client = root |> connected(["--tier", "privileged"]) |> started()

    assert {:ok, list} = McpClient.tool(client, "list_processes", %{"module" => "Sample.Worker"})
    assert list =~ "Sample.Worker.init/1 (genserver)"
    assert [_all, pid] = Regex.run(~r/(#PID<[\d.]+>)  Sample.Worker/, list)
    assert {:ok, state} = McpClient.tool(client, "get_process_state", %{"process" => pid})
    assert state =~ "count: 17"

    assert {:ok, overview} = McpClient.tool(client, "system_overview", %{})
    assert overview =~ "sample 0.1.0: "

    assert {:ok, source} =
             McpClient.tool(client, "get_source_location", %{"reference" => "Sample.Worker.start_link/1"})

    assert source =~ "lib/sample/worker.ex:4 def start_link/1\n4:   def start_link(count)"
    assert {:ok, source} = McpClient.tool(client, "get_source_location", %{"reference" => "GenServer"})
    assert source =~ "gen_server.ex"

    assert {:ok, callers} = McpClient.tool(client, "find_callers", %{"reference" => "GenServer.start_link/3"})
    assert callers =~ "4: Sample.Worker.start_link/1 call"
    assert {:ok, callers} = McpClient.tool(client, "find_callers", %{"reference" => "Supervisor"})
    assert callers =~ "Sample.Application.start/2"

    assert {:error, denied} = McpClient.tool(client, "trace_calls", %{"reference" => "Sample.Worker.init/1"})
    # Nobody is asked for what the project's VM can't do.
    assert denied =~ if(CallTrace.available?(), do: "--consent trace_calls", else: "needs OTP 27")
    McpClient.leave(client)
  end
end
