defmodule JidoCode.Tools.Handlers.ShellTest do
  use ExUnit.Case, async: true

  import JidoCode.Tools.Test.CommandProcesses, only: [eventually: 1]

  alias JidoCode.Tools.Behaviours.SecureHandler
  alias JidoCode.Tools.Handlers.{BashBackground, BashExecute, BashOutput, KillShell}
  alias JidoCode.Tools.Security.CommandPolicy
  alias JidoCode.Tools.{SecureExecutor, Shells}
  alias JidoCode.Tools.Test.{Events, MixProject, Tree}

  @moduletag timeout: 120_000

  @files %{"letters" => "b\na\n", "more" => "c\n", "sub/letters" => "z\n"}

  setup do
    root = Tree.new!(@files)
    session = "shell-#{System.unique_integer([:positive])}"
    on_exit(fn -> SecureExecutor.end_session(session) end)
    %{root: root, session: session, context: %{project_root: root, session_id: session}}
  end

  # A line that prints, waits until it is let go, and prints again.
  setup %{root: root} do
    gate = Tree.pipe!(root, "gate")
    %{gate: gate, waiting: "cat letters; cat #{gate}; cat more"}
  end

  test "all four declare themselves" do
    for {handler, tier} <- [
          {BashExecute, :execute},
          {BashBackground, :execute},
          {BashOutput, :read_only},
          {KillShell, :execute}
        ] do
      assert SecureHandler.validate_properties(handler.security_properties()) == :ok
      assert %{tier: ^tier} = handler.security_properties()
    end
  end

  describe "bash_execute" do
    setup do
      Events.record([[:jido_code, :shell, :bash_execute]])
    end

    test "runs a line in the project and keeps the streams apart", %{context: context, root: root} do
      result = execute!(context, "pwd && sort letters | head -1; cat gone more")

      assert result["stdout"] == "#{root}\na\nc\n"
      assert result["stderr"] =~ "gone: No such file or directory"
      assert %{"exit_code" => 1, "confinement" => %{"network_mode" => "none"}} = result

      assert_receive {:event, [:jido_code, :shell, :bash_execute], %{exit_code: 1, duration: duration},
                      %{command: "pwd && sort" <> _, status: :ok, session_id: session}}

      assert duration > 0 and session == context.session_id
    end

    test "joins commands as a shell does", %{context: context} do
      for {line, stdout, exit_code} <- [
            {"true && echo yes || echo no", "yes\n", 0},
            {"false && echo yes || echo no", "no\n", 0},
            {"false; echo next", "next\n", 0},
            {"grep z letters", "", 1},
            {"cd sub && cat letters", "z\n", 0},
            {"cat letters | sort | wc -l", "2\n", 0},
            {"echo 'one  word' \"and; more\" | cat", "one  word and; more\n", 0}
          ] do
        assert %{"stdout" => ^stdout, "exit_code" => ^exit_code} = execute!(context, line)
      end
    end

    test "redirects to files of the project alone", %{context: context, root: root} do
      execute!(context, "sort < letters > sorted; echo d >> sorted; cat gone 2> errors; cat gone > both 2>&1")

      assert File.read!(Path.join(root, "sorted")) == "a\nb\nd\n"
      assert File.read!(Path.join(root, "errors")) =~ "gone"
      assert File.read!(Path.join(root, "both")) == File.read!(Path.join(root, "errors"))

      File.ln_s!("..", Path.join(root, "up"))

      for {line, why} <- [
            {"echo x > ../out", "Path traversal not allowed"},
            {"echo x > up/out", "Path traversal not allowed"},
            {"echo x >> /tmp/out", "Absolute paths outside project not allowed"},
            {"cat < /etc/passwd", "Absolute paths outside project not allowed"}
          ] do
        assert refused(context, line) =~ why, line
      end

      assert File.ls!(Path.dirname(root)) == ["project"]
    end

    test "works in a folder of the project", %{context: context, root: root} do
      File.ln_s!("/etc", Path.join(root, "away"))

      assert %{"stdout" => "z\nb\na\n"} =
               execute!(context, "cat letters ../letters", %{"working_directory" => "sub"})

      for folder <- ["..", "/", "away", "sub/../.."] do
        assert refused(context, "ls", %{"working_directory" => folder}) =~
                 "working_directory must be inside the project",
               folder
      end

      assert refused(context, "cat ../../x", %{"working_directory" => "sub"}) =~ "Path traversal not allowed"
      assert refused(context, "ls", %{"working_directory" => "letters"}) =~ "is not a folder"
    end

    test "refuses with the reason what it can't answer for", %{context: context} do
      for {line, why} <- [
            {"bash -c ls", "Shell interpreters are blocked: bash"},
            {"ls | sh", "Shell interpreters are blocked: sh"},
            {"/bin/sh x", "Shell interpreters are blocked: /bin/sh"},
            {"sudo ls", "Command not allowed: sudo"},
            {"env sh x", ~r/Shell interpreters are blocked: sh|Command not allowed: env/},
            {"ls | xargs sudo", ~r/Command not allowed: (sudo|xargs)/},
            {"unheard_of", "Command not allowed: unheard_of. Allowed: cat"},
            {"python3 -c 'print(1)'", "option not allowed: -c"},
            {"elixir -e 'IO.puts 1'", "option not allowed: -e"},
            {"find . -execdir rm {} ;", "option not allowed: -execdir"},
            {"echo $(ls)", "substitutions are not run"},
            {"echo `ls`", "substitutions are not run"},
            {"echo $HOME", ~r/variables and ~ are not expanded|only variables that the line itself sets/},
            {"for i in 1; do ls; done", "loops, conditions and functions are not run"},
            {"ls &", "use bash_background"},
            {"echo 'open", "quote that is not closed"},
            {"rm -rf /", "Absolute paths outside project not allowed: /"},
            {"cat ../secret", "Path traversal not allowed"},
            {"grep --file=/etc/passwd x", "Absolute paths outside project not allowed"},
            {"mix release", "Mix task is blocked: release"},
            {"true && mix test -r x.exs", "option not allowed: -r, it runs code of the caller's choice"},
            {"", "The command is empty"}
          ] do
        text = refused(context, line)
        assert text =~ why, inspect({line, text})
      end
    end

    test "one refused command keeps the whole line from running", %{context: context, root: root} do
      assert refused(context, "touch made; sudo ls") =~ "Command not allowed: sudo"
      refute File.exists?(Path.join(root, "made"))
    end

    test "a line over time is ended with all that it started", %{context: context} = test do
      assert {:error, text} =
               BashExecute.execute(%{"command" => test.waiting <> " | cat", "timeout" => 2_000}, context)

      assert text =~ "timed out: it was ended after 2000 ms"
      assert text =~ "b\na\n"
      assert processes(test.gate) == []
      assert_receive {:event, [:jido_code, :shell, :bash_execute], %{exit_code: -1}, %{status: :timeout}}
    end

    test "long output keeps its head and tail, in whole characters", %{context: context, root: root} do
      File.write!(Path.join(root, "long"), "first\n" <> String.duplicate("ä", 60_000) <> "\nlast\n")
      %{"stdout" => output} = execute!(context, "cat long")

      assert String.valid?(output) and String.length(output) < 30_000
      assert String.starts_with?(output, "first\nä") and String.ends_with?(output, "ä\nlast\n")
      assert [_whole, cut] = Regex.run(~r/(\d+) (?:bytes|characters)/, output)
      assert String.to_integer(cut) > 30_000
    end

    test "runs git on the project's repository", %{context: context, root: root} do
      {_output, 0} = System.cmd("git", ["init", "-q"], cd: root)
      assert %{"exit_code" => 0, "stdout" => output} = execute!(context, "git status --short")
      assert output =~ "?? letters"
    end

    test "a program of the project may do what it likes inside the project", %{context: context, root: root} do
      script = """
      IO.inspect(File.write("inside", ""))
      IO.inspect(File.write("../outside", ""))
      IO.puts(:stderr, "done")
      System.halt(3)
      """

      Tree.write!(root, %{"script.exs" => script})
      result = execute!(context, "elixir script.exs")

      assert %{"exit_code" => 3, "stderr" => "done\n"} = result

      if result["confinement"]["filesystem"] == "landlock" do
        assert result["stdout"] == ":ok\n{:error, :eacces}\n"
        assert File.ls!(Path.dirname(root)) == ["project"]
      end
    end

    test "runs Mix by the rules of mix_task, also where an alias hides what runs" do
      context = %{project_root: MixProject.new!(), session_id: "s"}

      assert %{"exit_code" => 0, "stdout" => output} = execute!(context, "mix compile | cat")
      assert output =~ "Generated sample app"

      assert refused(context, "ls && mix docs") =~
               ~r/Step 2 of the alias docs: Mix task (is blocked|not allowed): cmd/
    end

    test "runs an alias with a name of its own when each of its steps may run" do
      context = %{project_root: MixProject.new!()}

      assert %{"exit_code" => 0, "stdout" => output} = execute!(context, "mix check && echo checked")
      assert String.ends_with?(output, "checked\n")
      refused = refused(context, "mix leave")
      assert refused =~ "Step 2 of the alias leave: "
      assert refused =~ ~r/Mix task not allowed: run|option not allowed: -e/
    end

    test "says which list is in force, and takes what it says", %{context: context} do
      lines = [
        "seq 3 | sed -n 2p",
        "ls letters more | xargs cat > all; awk '{print $1}' all",
        "export A=1 && (printenv A)"
      ]

      for line <- lines do
        case {CommandPolicy.list(), BashExecute.execute(%{"command" => line}, context)} do
          {:wide, answer} ->
            assert {:ok, %{"exit_code" => 0}} = answer

          {:narrow, answer} ->
            assert {:error, text} = answer
            assert text =~ "The narrow list is in force"
        end
      end
    end

    test "gives a mix.exs that never loads no more time than the call has" do
      context = %{project_root: MixProject.new!(%{"mix.exs" => "Process.sleep(:infinity)"})}
      started = System.monotonic_time(:millisecond)

      assert refused(context, "mix compile; mix format", %{"timeout" => 1_500}) =~
               "did not load within 1500 ms"

      assert System.monotonic_time(:millisecond) - started < 15_000
      assert_receive {:event, [:jido_code, :shell, :bash_execute], _figures, %{status: :timeout}}
    end

    test "wants a command, and a time that is a number", %{context: context} do
      assert {:error, "Missing required parameter: command"} = BashExecute.execute(%{}, context)
      assert refused(context, "ls", %{"timeout" => "5"}) =~ "Invalid timeout"
    end
  end

  describe "bash_background and bash_output" do
    test "a line goes on after the answer and is read as it prints", %{context: context} = test do
      assert {:ok, %{"shell_id" => id, "description" => "waits"}} =
               BashBackground.execute(%{"command" => test.waiting, "description" => "waits"}, context)

      assert %{"output" => "b\na\n", "status" => "running", "exit_code" => nil, "cursor" => cursor} =
               first_output(context, id)

      # What was read is not told again, unless it is asked for.
      assert %{"output" => "", "status" => "running"} = output!(context, id, %{"block" => false})
      again = output!(context, id, %{"block" => false, "cursor" => "0:0"})
      assert %{"output" => "b\na\n", "cursor" => ^cursor} = again

      Tree.let_through(test.gate)

      assert %{"output" => "c\n", "status" => "completed", "exit_code" => 0, "stderr" => ""} =
               output!(context, id, %{"timeout" => 60_000})

      # A shell that ended can still be read.
      assert %{"output" => "b\na\nc\n"} = output!(context, id, %{"cursor" => "0:0"})
    end

    test "when the wait is over, what there is is told", %{context: context} = test do
      id = start!(context, test.waiting)

      assert %{"output" => "b\na\n", "status" => "running", "exit_code" => nil} =
               output!(context, id, %{"block" => true, "timeout" => 1_500})
    end

    test "a line that fails has its code, and its errors apart", %{context: context} do
      id = start!(context, "cat letters gone")
      result = output!(context, id)

      assert %{"status" => "failed", "exit_code" => 1, "output" => "b\na\n"} = result
      assert result["stderr"] =~ "gone: No such file"
    end

    test "more than one answer holds is read in parts", %{context: context, root: root} do
      text = Enum.map_join(1..3_000, "\n", &"line ä #{&1}")
      File.write!(Path.join(root, "long"), text)
      id = start!(context, "cat long")

      parts =
        id
        |> Stream.iterate(& &1)
        |> Stream.map(&output!(context, &1))
        |> Enum.take_while(&(&1["output"] != ""))

      assert length(parts) > 1
      assert hd(parts)["note"] =~ "call again"
      for part <- parts, do: assert(String.length(part["output"] <> part["stderr"]) <= 30_000)
      assert Enum.map_join(parts, & &1["output"]) == text
    end

    test "what nobody read in time is gone, and its size is told", %{context: context, root: root} do
      File.write!(Path.join(root, "flood"), String.duplicate("0123456789abcdef", 40_000))
      id = start!(context, "cat flood; echo end")

      eventually(fn ->
        output!(context, id, %{"block" => false, "cursor" => "700000:0"})["status"] == "completed"
      end)

      result = output!(context, id, %{"cursor" => "0:0"})
      assert [_whole, gone] = Regex.run(~r/(\d+) bytes were printed faster/, result["note"])
      assert String.to_integer(gone) > 300_000
    end

    test "ids are long, and no two are the same", %{context: context} do
      ids = for _ <- 1..3, do: start!(context, "true")
      assert Enum.uniq(ids) == ids
      for id <- ids, do: assert(byte_size(id) >= 22)
    end

    test "the same lines are refused as in bash_execute", %{context: context} do
      for {line, why} <- [
            {"sh x", "Shell interpreters are blocked"},
            {"cat /etc/passwd", "Absolute paths outside project not allowed"},
            {"true; sudo ls", "Command not allowed: sudo"}
          ] do
        assert {:error, text} = BashBackground.execute(%{"command" => line}, context)
        assert text =~ why
      end
    end

    test "a shell needs a session", %{root: root} do
      assert {:error, text} = BashBackground.execute(%{"command" => "ls"}, %{project_root: root})
      assert text =~ "requires a session context"
    end

    test "a session has a limited number of shells", %{context: context} = test do
      ids = for _ <- 1..8, do: start!(context, "cat #{test.gate}")
      assert {:error, text} = BashBackground.execute(%{"command" => "true"}, context)
      assert text =~ "This session has 8 background shells, 8 are allowed"

      # Another session has its own.
      other = %{context | session_id: context.session_id <> "-other"}
      on_exit(fn -> SecureExecutor.end_session(other.session_id) end)
      start!(other, "true")

      assert {:ok, _result} = KillShell.execute(%{"shell_id" => hd(ids)}, context)
      start!(context, "true")
    end

    test "another session's shell does not exist", %{context: context} = test do
      id = start!(context, test.waiting)

      for stranger <- [%{context | session_id: "another"}, Map.delete(context, :session_id)] do
        for {handler, args} <- [{BashOutput, %{"block" => false}}, {KillShell, %{}}] do
          assert {:error, "Shell not found: " <> _} = handler.execute(Map.put(args, "shell_id", id), stranger)
        end
      end

      assert %{"status" => "running"} = output!(context, id, %{"block" => false})
    end

    test "an unknown id and a cursor of one's own making are refused", %{context: context} do
      assert {:error, "Shell not found: nonsense" <> _} =
               BashOutput.execute(%{"shell_id" => "nonsense"}, context)

      assert {:error, "Missing required parameter: shell_id"} = BashOutput.execute(%{}, context)

      id = start!(context, "true")

      for cursor <- ["", "1", "-1:0", "0:x"] do
        assert {:error, text} = BashOutput.execute(%{"shell_id" => id, "cursor" => cursor}, context)
        assert text =~ "cursor must be one that bash_output gave"
      end
    end
  end

  describe "kill_shell" do
    test "ends the whole tree and forgets the shell", %{context: context} = test do
      record_shells(context.session_id)
      id = start!(context, "#{test.waiting} | cat")
      first_output(context, id)
      # The first program's output is there before the one that waits has begun.
      eventually(fn -> processes(test.gate) != [] end)

      assert {:ok, %{"killed" => true, "message" => message}} =
               KillShell.execute(%{"shell_id" => id}, context)

      assert message =~ "terminated"
      assert processes(test.gate) == []

      assert {:error, "Shell not found: " <> _} = BashOutput.execute(%{"shell_id" => id}, context)
      assert {:error, "Shell not found: " <> _} = KillShell.execute(%{"shell_id" => id}, context)

      assert_receive {:shell, :background_start, %{shell_id: ^id, command: "cat letters" <> _}}
      assert_receive {:shell, :background_kill, %{shell_id: ^id}}
    end

    test "says so when there is nothing to end", %{context: context} do
      record_shells(context.session_id)
      id = start!(context, "false")
      output!(context, id)

      assert {:ok, %{"killed" => false, "message" => message}} =
               KillShell.execute(%{"shell_id" => id}, context)

      assert message =~ "already finished"
      assert_receive {:shell, :background_start, %{shell_id: ^id}}
      refute_received {:shell, :background_kill, _about}
    end

    test "shells end with their session", %{context: context} = test do
      id = start!(context, test.waiting)
      first_output(context, id)

      SecureExecutor.end_session(context.session_id)

      eventually(fn -> processes(test.gate) == [] end)
      assert {:error, "Shell not found: " <> _} = BashOutput.execute(%{"shell_id" => id}, context)
    end
  end

  # Looks into the keeper's state: from outside, a shell that is starting can't be seen.
  test "a caller that is killed while it starts a shell leaves none that its session does not know", %{
    context: context,
    session: session,
    gate: gate
  } do
    own = fn -> for {id, %{session: ^session} = shell} <- :sys.get_state(Shells), do: {id, shell.command} end

    {caller, monitor} =
      spawn_monitor(fn -> BashBackground.execute(%{"command" => "cat #{gate}"}, context) end)

    eventually(fn -> own.() != [] end)
    Process.exit(caller, :kill)
    assert_receive {:DOWN, ^monitor, :process, ^caller, _reason}

    id = eventually(fn -> with([{id, command}] when command != nil <- own.(), do: id, else: (_ -> nil)) end)
    assert {:ok, %{"killed" => true}} = KillShell.execute(%{"shell_id" => id}, context)
    assert processes(gate) == []
  end

  test "the end of a shell is an event with its code", %{context: context} do
    record_shells(context.session_id)
    id = start!(context, "false")

    assert_receive {:shell, :background_complete, %{shell_id: ^id, status: :failed, exit_code: 1}}, 30_000
  end

  defp execute!(context, line, more \\ %{}) do
    assert {:ok, result} = BashExecute.execute(Map.put(more, "command", line), context)
    result
  end

  defp refused(context, line, more \\ %{}) do
    assert {:error, text} = BashExecute.execute(Map.put(more, "command", line), context)
    text
  end

  defp start!(context, line) do
    assert {:ok, %{"shell_id" => id}} = BashBackground.execute(%{"command" => line}, context)
    id
  end

  defp output!(context, id, more \\ %{}) do
    assert {:ok, result} = BashOutput.execute(Map.put(more, "shell_id", id), context)
    result
  end

  defp first_output(context, id) do
    eventually(fn ->
      result = output!(context, id, %{"block" => false, "cursor" => "0:0"})
      if result["output"] == "b\na\n", do: result
    end)
  end

  # The processes that have a path among their arguments.
  defp processes(path) do
    for name <- File.ls!("/proc"),
        name =~ ~r/^\d+$/,
        {:ok, line} <- [File.read("/proc/#{name}/cmdline")],
        path in String.split(line, <<0>>),
        do: name
  end

  # The process that keeps all shells executes these events, so they are told by their session.
  defp record_shells(session) do
    test = self()

    events =
      for name <- [:background_start, :background_kill, :background_complete], do: [:jido_code, :shell, name]

    :telemetry.attach_many(
      session,
      events,
      fn [_app, _family, name], figures, about, _config ->
        if about.session_id == session, do: send(test, {:shell, name, Map.merge(about, figures)})
      end,
      nil
    )

    on_exit(fn -> :telemetry.detach(session) end)
  end
end

defmodule JidoCode.Tools.Handlers.ShellTimesTest do
  # The times of background shells are settings of the whole VM.
  use ExUnit.Case, async: false

  import JidoCode.Tools.Test.CommandProcesses, only: [eventually: 1]

  alias JidoCode.Tools.Handlers.{BashBackground, BashOutput}
  alias JidoCode.Tools.SecureExecutor
  alias JidoCode.Tools.Test.Tree

  setup do
    for {key, ms} <- [background_timeout_ms: 300, background_keep_ms: 2_000] do
      Application.put_env(:jido_code_tools, key, ms)
      on_exit(fn -> Application.delete_env(:jido_code_tools, key) end)
    end

    on_exit(fn -> SecureExecutor.end_session("times") end)
    :ok
  end

  test "a shell that runs too long is ended, and one that ended is forgotten after a while" do
    root = Tree.new!(%{})
    Tree.pipe!(root, "gate")
    context = %{project_root: root, session_id: "times"}

    assert {:ok, %{"shell_id" => id}} = BashBackground.execute(%{"command" => "cat gate"}, context)
    assert {:ok, result} = BashOutput.execute(%{"shell_id" => id}, context)
    assert %{"status" => "failed", "exit_code" => nil} = result
    assert result["note"] =~ "ran longer than a background command may"

    eventually(fn ->
      match?({:error, "Shell not found" <> _}, BashOutput.execute(%{"shell_id" => id}, context))
    end)
  end
end
