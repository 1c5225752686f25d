defmodule JidoCode.Tools.Doors.MCP.ConsentTest do
  @moduledoc false
  # A denied call asks the person at the client, through the launcher, in both eras of the protocol.
  use ExUnit.Case, async: false

  alias JidoCode.Tools.Test.{McpClient, MixProject}

  @moduletag timeout: 300_000

  @elicitation %{"elicitation" => %{}}
  @echo %{"command" => "echo 'hello there' | sort && ls lib"}

  # No project to start: nothing here looks at a running one.
  setup_all do
    %{root: MixProject.new!(%{"mix.exs" => "raise \"not this one\""})}
  end

  defp client(root, arguments \\ [], capabilities \\ @elicitation) do
    client = McpClient.start!(root, arguments)
    McpClient.initialize(client, capabilities)
    client
  end

  defp accept(answer), do: %{"action" => "accept", "content" => %{"answer" => answer}}

  # A call that is asked about, what was asked, and its result after `said`.
  defp asked(client, name, arguments, said) do
    id = System.unique_integer([:positive])
    McpClient.call(client, id, name, arguments)
    {question, params} = McpClient.asked(client)
    McpClient.say(client, question, said)
    {params, client |> McpClient.await(id) |> McpClient.result()}
  end

  test "once: this call runs, the next asks again", %{root: root} do
    client = client(root)
    {params, result} = asked(client, "bash_execute", @echo, accept("once"))
    assert {:ok, "hello there\nsample.ex\n"} = result

    assert params["message"] =~ "bash_execute"
    assert params["message"] =~ "echo 'hello there' | sort && ls lib"
    assert params["message"] =~ "Folder: " <> root
    assert params["message"] =~ "network: none"

    assert %{"answer" => %{"enum" => ["once", "for this session", "no"]}} =
             params["requestedSchema"]["properties"]

    {_params, result} = asked(client, "bash_execute", @echo, accept("once"))
    assert {:ok, _text} = result
  end

  test "for this session: the tool is granted, its tier is not", %{root: root} do
    client = client(root)
    {_params, {:ok, _text}} = asked(client, "bash_execute", @echo, accept("for this session"))
    assert {:ok, "lib\n"} = McpClient.tool(client, "bash_execute", %{"command" => "ls -d lib"})

    {params, {:error, text}} = asked(client, "bash_background", @echo, %{"action" => "decline"})
    assert params["message"] =~ "bash_background"
    assert text =~ "said no"
  end

  test "no: denied, and the same call made again asks nobody", %{root: root} do
    client = client(root)
    {_params, {:error, text}} = asked(client, "bash_execute", @echo, accept("no"))
    assert text =~ "Permission denied"
    assert text =~ "The person at the client was asked, and said no."

    assert {:error, text} = McpClient.tool(client, "bash_execute", @echo)
    assert text =~ "has already said no to this call"

    {_params, {:ok, _text}} = asked(client, "bash_execute", %{"command" => "pwd"}, accept("once"))
  end

  test "what is none of the answers is as good as no", %{root: root} do
    client = client(root)

    for said <- [
          %{"action" => "cancel"},
          accept("yes"),
          accept(true),
          %{"action" => "accept"},
          %{},
          %{"answer" => "once"}
        ] do
      {_params, result} = asked(client, "bash_execute", @echo, said)
      assert {:error, text} = result
      assert text =~ "did not answer"
    end

    McpClient.request(client, "alive", "ping")
    assert %{"result" => %{}} = McpClient.await(client, "alive")
  end

  test "a client that leaves instead ends the server", %{root: root} do
    client = client(root)
    McpClient.call(client, 1, "bash_execute", @echo)
    {_question, _params} = McpClient.asked(client)
    McpClient.leave(client)
    JidoCode.Tools.Test.CommandProcesses.eventually(fn -> not File.exists?("/proc/#{client.pid}") end)
  end

  test "what was said is found in the trail by the tool and by its status", %{root: root} do
    folder = Path.dirname(root)
    file = Path.join(folder, "said.jsonl")

    client =
      McpClient.start!(root, ["--audit-file", file, "--consent", "mix_task"],
        env: [{~c"XDG_STATE_HOME", to_charlist(folder)}]
      )

    McpClient.initialize(client, @elicitation)
    {_params, {:error, _text}} = asked(client, "bash_execute", @echo, accept("no"))
    {_params, {:error, _text}} = asked(client, "bash_execute", %{"command" => "pwd"}, %{"action" => "cancel"})
    {_params, {:ok, _text}} = asked(client, "bash_execute", %{"command" => "pwd"}, accept("once"))
    {_params, {:ok, _text}} = asked(client, "bash_execute", @echo, accept("for this session"))
    McpClient.leave(client)
    JidoCode.Tools.Test.CommandProcesses.eventually(fn -> not File.exists?("/proc/#{client.pid}") end)

    shown = fn filters ->
      output = ExUnit.CaptureIO.capture_io(fn -> Mix.Tasks.Jido.Audit.run([file | filters]) end)
      output |> String.replace(~r/\e\[\d*m/, "") |> String.split("\n", trim: true)
    end

    # The command line's own, and those of the conversation, in one way.
    assert [line, once, session] = shown.(["--status", "consented"])
    assert line =~ ~r/  mix_task  consented  for the session\z/
    assert once =~ ~r/  bash_execute  consented  for one call\z/
    assert session =~ ~r/  bash_execute  consented  for the session\z/
    assert [declined] = shown.(["--status", "declined", "--tool", "bash_execute"])
    assert declined =~ "bash_execute"
    assert [_line] = shown.(["--status", "unanswered", "--tool", "bash_execute"])
    # By its arguments the consent belongs to its call.
    hashes = fn status ->
      for line <- shown.(["--json", "--tool", "bash_execute", "--status", status]), do: hash(line)
    end

    [of_once, nil] = hashes.("consented")
    assert [^of_once, of_echo] = hashes.("ok")
    assert hashes.("declined") == [of_echo]
  end

  defp hash(line) do
    {:ok, entry} = JidoCode.Tools.JSON.decode(line)
    entry["args_hash"]
  end

  test "two calls are asked about one after the other", %{root: root} do
    client = client(root)
    McpClient.call(client, 1, "bash_execute", %{"command" => "pwd"})
    McpClient.call(client, 2, "bash_execute", %{"command" => "ls"})
    {first, _params} = McpClient.asked(client)
    # Nothing but a ping's answer comes while it waits.
    McpClient.request(client, "ping", "ping")
    assert %{"id" => "ping"} = McpClient.next(client)
    McpClient.say(client, first, accept("once"))
    {second, _params} = McpClient.asked(client)
    McpClient.say(client, second, accept("once"))
    assert {:ok, _text} = client |> McpClient.await(1) |> McpClient.result()
    assert {:ok, _text} = client |> McpClient.await(2) |> McpClient.result()
  end

  test "what was said to one call counts for another that waited for its turn", %{root: root} do
    client = client(root)
    for id <- [1, 2], do: McpClient.call(client, id, "bash_execute", @echo)
    {question, _params} = McpClient.asked(client)
    McpClient.say(client, question, accept("no"))
    # The next message to each is its result: nobody is asked twice.
    for id <- [1, 2] do
      assert {:error, text} = client |> McpClient.await(id) |> McpClient.result()
      assert text =~ "said no"
    end

    for id <- [3, 4], do: McpClient.call(client, id, "bash_execute", %{"command" => "echo #{id}"})
    {question, _params} = McpClient.asked(client)
    McpClient.say(client, question, accept("for this session"))
    for id <- [3, 4], do: assert({:ok, _text} = client |> McpClient.await(id) |> McpClient.result())
  end

  test "a turn that comes too late for a person is none: the call says what to do", %{root: root} do
    client = client(root, ["--ask-seconds", "4"])
    McpClient.call(client, 1, "bash_execute", %{"command" => "pwd"})
    {question, params} = McpClient.asked(client)
    assert params["message"] =~ "pwd"
    McpClient.call(client, 2, "bash_execute", %{"command" => "ls"})
    # The question is still open when the other call gives up.
    assert {:error, text} = client |> McpClient.await(2) |> McpClient.result()
    assert text =~ "Permission denied"

    assert String.ends_with?(
             text,
             "A person is being asked about another call; make this one again after that."
           )

    McpClient.say(client, question, accept("once"))
    assert {:ok, _text} = client |> McpClient.await(1) |> McpClient.result()
    {params, {:ok, _text}} = asked(client, "bash_execute", %{"command" => "ls"}, accept("once"))
    assert params["message"] =~ "ls"
  end

  test "a question whose call is cancelled is taken back, and has no answer in the trail", %{root: root} do
    folder = Path.dirname(root)
    file = Path.join(folder, "cancelled.jsonl")

    client = McpClient.start!(root, ["--audit-file", file], env: [{~c"XDG_STATE_HOME", to_charlist(folder)}])

    McpClient.initialize(client, @elicitation)
    McpClient.call(client, 1, "bash_execute", @echo)
    {question, _params} = McpClient.asked(client)
    McpClient.notify(client, "notifications/cancelled", %{"requestId" => 1})
    assert %{"params" => %{"requestId" => ^question}} = McpClient.told(client, "notifications/cancelled")
    # Nobody waits for this any more, and it grants nothing.
    McpClient.say(client, question, accept("for this session"))
    {_params, {:ok, _text}} = asked(client, "bash_execute", @echo, accept("once"))
    assert statuses(file, "bash_execute") == ~w(blocked unanswered blocked consented ok)

    # The same of one that is open when the client leaves.
    McpClient.call(client, 2, "bash_execute", @echo)
    {_question, _params} = McpClient.asked(client)
    McpClient.leave(client)
    JidoCode.Tools.Test.CommandProcesses.eventually(fn -> not File.exists?("/proc/#{client.pid}") end)
    assert statuses(file, "bash_execute") == ~w(blocked unanswered blocked consented ok blocked unanswered)
  end

  # What the trail says of a tool's calls, but for their beginnings.
  defp statuses(file, tool) do
    for line <- file |> File.read!() |> String.split("\n", trim: true),
        {:ok, %{"tool" => ^tool, "status" => status}} when status != "started" <- [
          JidoCode.Tools.JSON.decode(line)
        ],
        do: status
  end

  test "nobody is asked about what would be refused anyway", %{root: root} do
    client = client(root)
    assert {:error, text} = McpClient.tool(client, "bash_execute", %{"command" => "sudo ls"})
    assert text =~ "sudo"
    assert {:error, text} = McpClient.tool(client, "bash_execute", %{})
    assert text =~ "command"
    # Why is said so that all of it is seen.
    assert {:error, text} = McpClient.tool(client, "bash_execute", %{"command" => "sudo\u202E\u3164 ls"})
    assert text =~ ~S(sudo\u{202E}\u{3164})
  end

  test "nobody is asked by a client that can't, or where the server was told so", %{root: root} do
    for {arguments, capabilities} <- [{[], %{}}, {["--ask", "never"], @elicitation}] do
      client = client(root, arguments, capabilities)
      assert {:error, text} = McpClient.tool(client, "bash_execute", @echo)

      assert text =~
               "This server would have to be started with --tier execute, or with --consent bash_execute."

      McpClient.leave(client)
    end
  end

  test "nothing in a question hides, or gives a secret away", %{root: root} do
    client = client(root)
    token = "ghp_" <> String.duplicate("aB3", 12)
    line = %{"command" => "echo #{token} a\u202Eb"}
    {params, {:error, _text}} = asked(client, "bash_execute", line, %{"action" => "decline"})
    refute params["message"] =~ token
    refute params["message"] =~ "\u202E"
    assert params["message"] =~ "\\u{202E}"
  end

  describe "the newer era" do
    defp modern(client, id, arguments, more \\ %{}) do
      meta = %{
        "io.modelcontextprotocol/protocolVersion" => "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities" => @elicitation
      }

      params = Map.merge(%{"name" => "bash_execute", "arguments" => arguments, "_meta" => meta}, more)
      client |> McpClient.request(id, "tools/call", params) |> McpClient.await(id) |> Map.fetch!("result")
    end

    defp answered(state, answer),
      do: %{"requestState" => state, "inputResponses" => %{"consent" => accept(answer)}}

    test "asks by an answer that wants input, which serves once, for its call", %{root: root} do
      client = McpClient.start!(root)
      wanted = modern(client, 1, @echo)

      assert %{"resultType" => "input_required", "requestState" => state, "inputRequests" => requests} =
               wanted

      assert %{"consent" => %{"method" => "elicitation/create", "params" => %{"message" => message}}} =
               requests

      assert message =~ "echo 'hello there'"

      # Not for another question meanwhile, and not for other arguments.
      assert %{"isError" => true} = modern(client, 2, %{"command" => "pwd"})
      assert %{"isError" => true} = modern(client, 3, %{"command" => "pwd"}, answered(state, "once"))
      assert %{"isError" => true} = modern(client, 4, @echo, answered(state, "once"))

      %{"requestState" => state} = modern(client, 5, @echo)

      assert %{"content" => [%{"text" => "hello there\n" <> _}]} =
               modern(client, 6, @echo, answered(state, "once"))

      assert %{"isError" => true, "content" => [%{"text" => text}]} =
               modern(client, 7, @echo, answered(state, "once"))

      assert text =~ "No such question is open"
    end

    test "leaves an entry for a question that never comes back", %{root: root} do
      folder = Path.dirname(root)
      file = Path.join(folder, "silent.jsonl")
      env = [{~c"XDG_STATE_HOME", to_charlist(folder)}]
      client = McpClient.start!(root, ["--audit-file", file], env: env)

      # The first gives way to the same question, the last is open when the client leaves.
      modern(client, 1, @echo)
      %{"requestState" => state} = modern(client, 2, @echo)
      modern(client, 3, @echo, answered(state, "no"))
      assert %{"requestState" => _state} = modern(client, 4, %{"command" => "pwd"})
      McpClient.leave(client)
      JidoCode.Tools.Test.CommandProcesses.eventually(fn -> not File.exists?("/proc/#{client.pid}") end)

      entries = fn status ->
        for line <- file |> File.read!() |> String.split("\n", trim: true),
            {:ok, %{"status" => ^status} = entry} <- [JidoCode.Tools.JSON.decode(line)],
            do: {entry["tool"], entry["args_hash"]}
      end

      assert [{"bash_execute", echo}] = entries.("declined")
      assert [{"bash_execute", ^echo}, {"bash_execute", pwd}] = entries.("unanswered")
      assert pwd not in [nil, echo]
    end

    test "takes a no, and what is no answer", %{root: root} do
      client = McpClient.start!(root)
      %{"requestState" => state} = modern(client, 1, @echo)

      assert %{"isError" => true} =
               modern(client, 2, @echo, %{"requestState" => state, "inputResponses" => %{}})

      %{"requestState" => state} = modern(client, 3, @echo)
      assert %{"content" => [%{"text" => text}]} = modern(client, 4, @echo, answered(state, "no"))
      assert text =~ "said no"
      assert %{"isError" => true, "content" => [%{"text" => text}]} = modern(client, 5, @echo)
      assert text =~ "has already said no to this call"
    end
  end

  test "what a person gave beside the project is named, and that nothing confines a command" do
    project = MixProject.new!(%{"mix.exs" => "raise \"not this one\""})
    repository = Path.dirname(project)
    File.mkdir_p!(Path.join(repository, ".git"))

    reach = fn arguments ->
      client = client(project, arguments)
      {%{"message" => message}, {:error, _text}} = asked(client, "bash_execute", @echo, accept("no"))
      McpClient.leave(client)
      message
    end

    assert reach.([]) =~ "It may write the project and the caches of its build tools; network: none;"

    assert reach.(["--repository"]) =~
             "It may write the project, #{repository} and the caches of its build tools;"

    unconfined = reach.(["--fence", "off"])
    assert unconfined =~ "It may write whatever the person may who started this server; network: all;"
    assert unconfined =~ "confined by the kernel: no."
  end

  test "a request whose id is still running is answered", %{root: root} do
    client = client(root)
    McpClient.call(client, 1, "bash_execute", @echo)
    {question, _params} = McpClient.asked(client)
    McpClient.request(client, 1, "ping")
    assert %{"error" => %{"code" => -32_600, "message" => why}, "id" => 1} = McpClient.next(client)
    assert why =~ "has no answer yet"
    McpClient.say(client, question, accept("once"))
    assert %{"result" => %{}} = McpClient.await(client, 1)
  end

  test "instructions say what is not granted", %{root: root} do
    client = McpClient.start!(root, ["--consent", "bash_execute,mix_task"])
    %{"result" => %{"instructions" => text}} = McpClient.initialize(client)
    assert text =~ "This session has the tier read_only."
    assert text =~ ~r/Not granted: .*get_process_state \(privileged\).* run_exunit \(execute\)/
    refute text =~ "bash_execute (execute)"
    assert text =~ "ask the person at the client"
  end

  test "what keeps commands in is told once, to the client and on standard error", %{root: root} do
    list = JidoCode.Tools.Security.CommandPolicy.list()

    for {arguments, list} <- [{["--fence", "best-effort"], list}, {["--fence", "off"], :narrow}] do
      client = McpClient.start!(root, arguments)
      %{"result" => %{"instructions" => text}} = McpClient.initialize(client)
      assert text =~ "the #{list} list of commands is in force"
      told = ~r/jido_mcp: .*the #{list} list of commands is in force/
      assert [_once] = Regex.scan(told, File.read!(client.log))
      McpClient.leave(client)
    end
  end

  test "what a project configures gives its session nothing" do
    project =
      MixProject.new!(%{
        "config/config.exs" => """
        import Config
        config :jido_code_tools, command_confinement: :off, allowed_commands: ["hostnamectl"], git_push: true,
          unknown_tool_tier: :read_only, tool_tiers: %{"bash_execute" => :read_only}
        """
      })

    client = client(project, [], %{})
    assert {:error, text} = McpClient.tool(client, "bash_execute", %{"command" => "id"})
    assert text =~ "Permission denied"
    McpClient.leave(client)

    client = client(project, ["--tier", "execute", "--fence", "best-effort"], %{})
    assert {:error, text} = McpClient.tool(client, "bash_execute", %{"command" => "hostnamectl"})
    assert text =~ "Command not allowed: hostnamectl"
    assert {:error, text} = McpClient.tool(client, "bash_execute", %{"command" => "git push"})
    assert text =~ "talks to other machines, which is off"
    assert {:ok, _text} = McpClient.tool(client, "bash_execute", %{"command" => "ls"})
    McpClient.leave(client)
  end

  test "the fence is decided on the command line alone", %{root: root} do
    file = Path.join(Path.dirname(root), "person.exs")
    File.write!(file, "import Config\nconfig :jido_code_tools, command_confinement: :off\n")
    client = client(root, ["--tier", "execute", "--config", file], %{})
    assert {:error, text} = McpClient.tool(client, "bash_execute", %{"command" => "ls"})
    assert text =~ "command_confinement is decided by --fence"
    McpClient.leave(client)
  end
end
