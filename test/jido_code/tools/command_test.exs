defmodule JidoCode.Tools.CommandTest do
  use ExUnit.Case, async: true

  import JidoCode.Tools.Test.CommandProcesses
  import JidoCode.Tools.Test.CommandPrograms

  alias JidoCode.Tools.Command
  alias JidoCode.Tools.Command.{Environment, Options, Output}
  alias JidoCode.Tools.Test.Tree

  doctest Command
  doctest Output
  doctest JidoCode.Tools.Command.Confinement

  setup context do
    folder =
      Path.join(System.tmp_dir!(), "command-test-#{System.unique_integer([:positive])}-#{context.line}")

    File.mkdir_p!(folder)
    on_exit(fn -> File.rm_rf!(folder) end)
    %{folder: folder, mark: mark()}
  end

  defp run!(command, options \\ []) do
    {:ok, result} = Command.run(command, options)
    result
  end

  defp out(result), do: Output.text(result.stdout)
  defp err(result), do: Output.text(result.stderr)

  describe "how a command ends" do
    test "exit code, output and errors come apart" do
      result = run!(["sh", "-c", "echo out; echo err >&2; exit 3"])
      assert {result.status, result.exit_code, result.signal} == {:exited, 3, nil}
      assert {out(result), err(result)} == {"out\n", "err\n"}
      assert [%{program: "sh", exit_code: 3, error: nil}] = result.stages
    end

    test "a signal has its name" do
      result = run!(["sh", "-c", "kill -SEGV $$"])
      assert {result.status, result.exit_code, result.signal} == {:signaled, 139, "SIGSEGV"}
    end

    test "what can't be started is an error with a reason", %{folder: folder} do
      assert Command.run(["no-such-command"]) ==
               {:error, {:not_started, "no-such-command: command not found"}}

      File.write!(Path.join(folder, "plain"), "text")
      assert {:error, {:not_started, text}} = Command.run([Path.join(folder, "plain")], read: [folder])
      assert text =~ "Permission denied"

      assert {:error, {:not_started, text}} = Command.run(["true"], cd: Path.join(folder, "missing"))
      assert text =~ "not a folder"
    end

    test "what can't be passed on is refused before anything starts" do
      assert {:error, {:invalid, text}} = Command.run(["echo", "a\0b"])
      assert text =~ "NUL"
      assert {:error, {:invalid, _}} = Command.run([])
      assert {:error, {:invalid, _}} = Command.run(["true"], timeout: 0)
      assert {:error, {:invalid, _}} = Command.run(["true"], env: %{"A=B" => "c"})
      assert {:error, {:invalid, _}} = Command.run(["true"], network: :some)
      assert {:error, {:invalid, _}} = Command.run([%{argv: ["true"], shell: true}])
      assert {:error, {:invalid, text}} = Command.run(["true"], env: [{"TOKEN", "value", "hunter2hunter2"}])
      refute text =~ "hunter2"
      assert_raise ArgumentError, fn -> Command.run(["true"], time_out: 1) end
      assert_raise ArgumentError, fn -> Command.run(["true"], limits: [memory: 1]) end
    end

    test "standard input is empty, not the caller's" do
      assert %{status: :exited, exit_code: 0} = run!(["cat"], timeout: 5_000)
    end

    test "the folder and the runner's own path are not variables of the command", %{folder: folder} do
      assert out(run!(["pwd"], cd: folder)) == Path.expand(folder) <> "\n"
    end
  end

  describe "plans" do
    test "pipes, and connectors as a shell has them" do
      sorted = {:then, [["printf", "b\\na\\n"], ["sort"]]}
      assert out(run!([sorted])) == "a\nb\n"

      echo = fn text -> [["echo", text]] end
      codes = fn plan -> plan |> run!() |> out() |> String.split() end

      assert codes.([{:then, [["false"]]}, {:and, echo.("a")}, {:or, echo.("b")}, {:then, echo.("c")}]) ==
               ~w(b c)

      assert codes.([{:then, [["true"]]}, {:and, echo.("a")}, {:or, echo.("b")}, {:and, echo.("c")}]) ==
               ~w(a c)
    end

    test "the exit code is that of the last command that ran" do
      assert run!([{:then, [["false"]]}, {:and, [["true"]]}]).exit_code == 1
      assert run!([{:then, [["false"], ["true"]]}]).exit_code == 0
      assert Enum.map(run!([{:then, [["false"], ["true"]]}]).stages, & &1.exit_code) == [1, 0]
    end

    test "a command that does not exist fails as in a shell and the plan goes on" do
      result = run!([{:then, [["no-such-command"]]}, {:or, [["echo", "on"]]}])
      assert {out(result), err(result)} == {"on\n", "no-such-command: command not found\n"}
      assert hd(result.stages).exit_code == 127
    end

    test "a writer ends when its reader has" do
      result = run!([{:then, [["yes"], ["head", "-n", "1"]]}], timeout: 20_000)
      assert {result.status, out(result)} == {:exited, "y\n"}
      assert hd(result.stages).signal == "SIGPIPE"
    end

    test "redirections, in order", %{folder: folder} do
      noisy = ["sh", "-c", "echo out; echo err >&2"]

      write = fn redirect ->
        run!([{:then, [%{argv: noisy, redirect: redirect}]}], cd: folder, write: [folder])
      end

      assert out(write.([{1, :write, "both"}, {2, :same, 1}])) == ""
      assert File.read!(Path.join(folder, "both")) == "out\nerr\n"

      # `2>&1 >file`: errors go where the output went before.
      assert out(write.([{2, :same, 1}, {1, :append, "both"}])) == "err\n"
      assert File.read!(Path.join(folder, "both")) == "out\nerr\nout\n"

      read = [{:then, [%{argv: ["wc", "-l"], redirect: [{0, :read, "both"}]}]}]
      assert out(run!(read, cd: folder)) =~ "3"

      assert out(write.([{1, :write, "/dev/null"}])) == ""
    end

    test "a redirection leaves the allowed folders neither by name nor by link", %{folder: folder} do
      project = Path.join(folder, "project")
      File.mkdir_p!(project)
      File.write!(Path.join(folder, "outside"), "kept")
      File.ln_s!("../outside", Path.join(project, "link"))

      for path <- ["../outside", "link", Path.join(folder, "outside"), Path.join(folder, "project-evil")] do
        plan = [
          {:then, [%{argv: ["echo", "x"], redirect: [{1, :write, path}]}]},
          {:or, [["echo", "refused"]]}
        ]

        result = run!(plan, cd: project, write: [project])
        assert {out(result), hd(result.stages).exit_code} == {"refused\n", 1}
      end

      assert File.read!(Path.join(folder, "outside")) == "kept"
      refute File.exists?(Path.join(folder, "project-evil"))
    end

    test "a stage has variables of its own" do
      stage = %{argv: ["sh", "-c", "echo $A $B"], env: %{"B" => "stage"}}
      plan = [{:then, [stage]}, {:then, [["sh", "-c", "echo $A $B"]]}]
      assert out(run!(plan, env: %{"A" => "all", "B" => "plan"})) == "all stage\nall plan\n"
    end
  end

  describe "environment" do
    test "only what is listed is inherited" do
      own = %{
        "PATH" => "/usr/bin:bin:.:/bin:",
        "HOME" => "/home/x",
        "LC_TIME" => "C",
        "MIX_ENV" => "prod",
        "ERL_FLAGS" => "-eval bad",
        "GIT_DIR" => "/x",
        "DATABASE_URL" => "ecto://x",
        "MY_TOOL" => "yes",
        "MY_TOKEN" => "no"
      }

      built = Map.new(Environment.build([{"ADDED", "1"}, {"HOME", nil}], "/t", own, ["MY_TOOL", "MY_TOKEN"]))

      assert built == %{
               "PATH" => "/usr/bin:/bin",
               "LC_TIME" => "C",
               "MY_TOOL" => "yes",
               "ADDED" => "1",
               "TERM" => "dumb",
               "JIDO_COMMAND" => "1",
               "TMPDIR" => "/t",
               "TMP" => "/t",
               "TEMP" => "/t"
             }
    end

    test "a path of relative entries alone is not used" do
      assert {"PATH", "/usr/local/bin:/usr/bin:/bin"} in Environment.build([], "/t", %{"PATH" => ".:bin"}, [])
    end

    test "of a release has the machine's programs, not the release's" do
      own = %{
        "RELEASE_ROOT" => "/srv/app",
        "PATH" => "/srv/app/erts-13/bin:/srv/app/bin:/srv/app2/bin:/usr/bin"
      }

      assert {"PATH", "/srv/app2/bin:/usr/bin"} in Environment.build([], "/t", own, [])
    end

    test "the command gets exactly that environment", %{mark: mark} do
      names =
        for line <- String.split(out(run!(["env"], env: mark)), "\n", trim: true),
            do: hd(String.split(line, "="))

      assert "JIDO_TEST_MARK" in names
      refute Enum.any?(names, &Environment.refused?/1)
      refute "MIX_ENV" in names
    end
  end

  describe "output" do
    test "head and tail are kept, and what was cut is counted" do
      result = run!(["seq", "1", "100000"], keep: {20, 10})
      assert result.stdout.head == "1\n2\n3\n4\n5\n6\n7\n8\n9\n10"
      assert result.stdout.tail == "99\n100000\n"
      assert {result.stdout.lines, result.stdout.bytes} == {100_000, 588_895}
      assert result.stdout.cut_bytes == 588_895 - 30
      assert result.stdout.cut_lines == 100_000 - 9 - 2
      assert out(result) =~ "\n[... 588865 bytes, 99989 lines cut ...]\n"
    end

    test "each stream has its own budget" do
      result = run!(["sh", "-c", "seq 1000; seq 1000 >&2"], keep: [stdout: {4, 0}, stderr: {0, 5}])
      assert {result.stdout.head, result.stdout.tail} == {"1\n2\n", ""}
      assert {result.stderr.head, result.stderr.tail} == {"", "1000\n"}
    end

    test "characters stay whole and other bytes are shown" do
      result = run!(["printf", ~S(a\377b\303\251\342\202)])
      assert out(result) == ~S(a\xFFb) <> "é" <> ~S(\xE2\x82)

      cut = run!(["printf", String.duplicate("€", 100)], keep: {10, 10}).stdout
      assert {cut.head, cut.tail} == {"€€€", "€€€"}
      assert cut.cut_bytes == 300 - 18
    end

    test "a character that arrives in pieces comes whole" do
      script = ~S[$| = 1; print "\xE2"; select(undef, undef, undef, 0.05); print "\x82\xAC"]
      assert out(run!(perl(script))) == "€"
    end

    test "a closed standard output is no end" do
      result = run!(perl(~S[close STDOUT; close STDERR; select(undef, undef, undef, 0.1); exit 4]))
      assert {result.status, result.exit_code} == {:exited, 4}
    end
  end

  describe "nothing stays" do
    test "after a timeout, whatever the command does against it", %{mark: mark} do
      for program <- [ignores_term(), forks(), escapes(), floods()] do
        result = run!(program, timeout: 1_500, grace: 100, env: mark, keep: {100, 100})
        assert {result.status, result.exit_code} == {:timeout, nil}
        assert result.stdout.head =~ "ready"
        assert result.processes_left == 0
        assert marked(mark) == []
      end
    end

    test "a command that is asked may say its last words", %{mark: mark} do
      script = "trap 'echo last words; exit 0' TERM; echo ready; while :; do sleep 0.1; done"
      result = run!(["sh", "-c", script], timeout: 300, grace: 5_000, env: mark)
      # It even exits with 0: the status tells that this was no success.
      assert {result.status, result.exit_code} == {:timeout, nil}
      assert [%{exit_code: 0}] = result.stages
      assert out(result) =~ "last words"
      assert result.duration_ms < 4_000
    end

    test "every process of a group is asked, and stopped ones go on to hear it" do
      child = "(trap 'echo child was asked; exit' TERM; while :; do sleep 0.05; done) &"

      result =
        run!(["sh", "-c", child <> " trap '' TERM; while :; do sleep 1; done"], timeout: 500, grace: 500)

      assert out(result) == "child was asked\n"

      stopped = perl(~S[$SIG{TERM} = sub { print "asked"; exit }; kill STOP => $$; print "went on"])
      result = run!(stopped, timeout: 500, grace: 10_000)
      assert {out(result), result.status} == {"asked", :timeout}
      assert result.duration_ms < 9_000
    end

    test "after a normal end, though a daemon holds the output open", %{mark: mark} do
      result = run!(leaves_daemon(), env: mark, timeout: 60_000)
      assert {result.status, result.exit_code, out(result)} == {:exited, 0, "done\n"}
      assert result.duration_ms < 10_000
      assert marked(mark) == []
    end

    test "of stopped processes", %{mark: mark} do
      script = "sh -c 'kill -STOP $$' & sleep 0.1; exit 0"
      assert run!(["sh", "-c", script], env: mark).status == :exited
      assert marked(mark) == []
    end

    test "of the temporary folder", %{mark: mark} do
      script = ~S(mkdir -p "$TMPDIR/a/b"; echo x > "$TMPDIR/a/b/c"; printf %s "$TMPDIR")
      folder = out(run!(["sh", "-c", script], confinement: :without_namespaces))
      assert Path.type(folder) == :absolute
      refute File.exists?(folder)

      # Within a fence it is a place in memory, as large as is allowed and no larger.
      # Of the machine's own there are the folders on the way to the working directory, where that lies below it.
      theirs = "jido-host-#{System.pid()}-#{System.unique_integer([:positive])}"
      File.write!(Path.join("/tmp", theirs), "")
      on_exit(fn -> File.rm(Path.join("/tmp", theirs)) end)
      list = &(run!(["sh", "-c", &1], env: mark) |> out() |> String.split("\n", trim: true))
      before = list.("ls -A /tmp")
      refute theirs in before
      write = ~S(test "$TMPDIR" = /tmp && echo x > /tmp/left-behind && ls -A /tmp)
      assert list.(write) -- before == ["left-behind"]
      assert list.("ls -A /tmp") == before
      assert marked(mark) == []
    end

    test "in the caller's mailbox, trapping exits or not", %{mark: mark} do
      for trap <- [true, false] do
        task =
          Task.async(fn ->
            Process.flag(:trap_exit, trap)
            run!(["true"], env: mark)
            run!(ignores_term(), timeout: 50, grace: 10, env: mark)
            {:error, _} = Command.run(["no-such-command"], env: mark)
            {Process.info(self(), :messages), Process.info(self(), :links)}
          end)

        parent = self()
        assert {{:messages, []}, {:links, links}} = Task.await(task, 20_000)
        assert links -- [parent] == []
      end
    end

    test "when the calling process is killed", %{mark: mark} do
      for program <- [ignores_term(), escapes(), floods()] do
        caller = spawn(fn -> Command.run(program, env: mark, grace: 100) end)
        eventually(fn -> marked(mark) != [] end)
        Process.exit(caller, :kill)
        assert eventually(fn -> marked(mark) == [] end)
      end
    end

    test "when the worker or the guard of the runner is killed", %{mark: mark} do
      for level <- [:worker, :guard] do
        test = self()
        spawn(fn -> send(test, {:answer, Command.run(escapes(), env: mark, grace: 100)}) end)
        # The leader, the daemon and nothing between.
        [first, second] =
          eventually(fn -> with list when length(list) == 2 <- marked(mark), do: list, else: (_ -> nil) end)

        worker = parent(Enum.min([first, second]))
        guard = parent(worker)
        kill(if(level == :worker, do: worker, else: guard), "KILL")
        # A worker without its guard can still tell how the command ended; a guard without its worker can't.
        assert_receive {:answer, answer}, 10_000

        case level do
          :worker -> assert {:error, {:runner, _text}} = answer
          :guard -> assert {:ok, %{status: :stopped}} = answer
        end

        assert eventually(fn -> marked(mark) == [] and not alive?(worker) and not alive?(guard) end)
      end
    end

    test "when the whole BEAM is killed", %{mark: mark} do
      paths = for path <- :code.get_path(), path = to_string(path), path =~ ~r/tools/, do: ["-pa", path]

      code = """
      Application.put_env(:jido_code_tools, :command_runner, #{inspect(runner())})
      programs = #{inspect([ignores_term(), forks(), escapes()])}
      for program <- programs, do: spawn(fn -> #{inspect(Command)}.run(program, env: #{inspect(mark)}) end)
      IO.puts("ready")
      Process.sleep(:infinity)
      """

      elixir = System.find_executable("elixir")
      arguments = List.flatten(paths) ++ ["-e", code]
      port = Port.open({:spawn_executable, elixir}, [:binary, :exit_status, args: arguments])
      assert_receive {^port, {:data, "ready\n"}}, 30_000
      {:os_pid, pid} = Port.info(port, :os_pid)
      eventually(fn -> length(marked(mark)) >= 3 + 8 + 2 end)
      kill(pid, "KILL")
      assert_receive {^port, {:exit_status, 137}}, 10_000
      assert eventually(fn -> marked(mark) == [] end)
    end
  end

  # As the module under test finds it.
  defp runner do
    Application.get_env(:jido_code_tools, :command_runner) ||
      Application.app_dir(:jido_code_tools, "priv/native/jido_command_runner")
  end

  describe "limits" do
    test "of processor time" do
      result = run!(perl("1 while 1"), limits: [cpu_seconds: 1], timeout: 20_000)
      assert {result.status, result.signal} == {:signaled, "SIGXCPU"}
    end

    test "of memory, where the reservations of a BEAM don't count" do
      hog = perl(~S[my $x = "x" x (300 * 1024 * 1024); print "had it"])
      assert out(run!(hog)) == "had it"
      assert out(run!(hog, limits: [memory_bytes: 100_000_000])) == ""

      beam = ["erl", "-noinput", "-eval", "io:put_chars(\"up\"), halt(0)."]
      assert out(run!(beam, limits: [memory_bytes: 512 * 1024 * 1024], timeout: 60_000)) == "up"
    end

    test "of files" do
      opens = perl(~S[my @f; while (open(my $f, "<", "/dev/null")) { push @f, $f } print scalar(@f)])
      assert String.to_integer(out(run!(opens, limits: [open_files: 32]))) in 20..29

      writes = ["sh", "-c", ~S(head -c 100000 /dev/zero > "$TMPDIR/big")]
      assert run!(writes).exit_code == 0
      assert run!(writes, limits: [file_bytes: 1_000]).exit_code != 0
    end

    test "no core is dumped" do
      assert out(run!(["sh", "-c", "ulimit -c"])) == "0\n"
    end

    test "of processes, or the result says that it isn't applied", %{mark: mark} do
      bomb =
        perl(
          ~S[my $n = 0; for (1 .. 60) { my $p = fork(); last unless defined $p; sleep 100 unless $p; $n++ } print $n]
        )

      result = run!(bomb, limits: [processes: 20], env: mark, timeout: 30_000)

      case result.limits["processes"] do
        "whole tree" -> assert String.to_integer(out(result)) < 20
        # Others of the user's may have ended since they were counted.
        "all processes of the user" -> assert String.to_integer(out(result)) < 50
        "not applied: " <> _reason -> assert out(result) == "60"
      end

      assert marked(mark) == []
    end

    test "a fork bomb under a limit of processes ends", %{mark: mark} do
      bomb =
        perl(
          ~S[$SIG{TERM} = 'IGNORE'; use POSIX (); my $end = time + 20; while (time < $end) { if ((fork() // 1) == 0) { POSIX::setsid() } }]
        )

      result = run!(bomb, limits: [processes: 50], env: mark, timeout: 500, grace: 100)

      if not String.starts_with?(result.limits["processes"], "not applied") do
        assert {result.status, result.processes_left} == {:timeout, 0}
        assert marked(mark) == []
      end
    end
  end

  describe "watching" do
    test "brings what came since the last look, in order, and the result in the end" do
      script = "echo one; echo err >&2; read line < gate; echo two; read line < gate; exit 0"
      root = Tree.new!(%{})
      gate = Tree.pipe!(root, "gate")
      {:ok, command} = Command.start(["sh", "-c", script], cd: root)

      answer =
        Command.watch(command, {"", ""}, fn new, {stdout, stderr} ->
          seen = {stdout <> new.stdout, stderr <> new.stderr}
          # Each line that is seen lets the command go on.
          if new.stdout != "", do: Tree.let_through(gate)
          send(self(), {:seen, seen})
          {:cont, seen}
        end)

      assert {:ok, %{status: :exited, exit_code: 0, stdout: stdout}} = answer
      assert Output.text(stdout) == "one\ntwo\n"
      assert_received {:seen, {"one\n", "err\n"}}
      assert_received {:seen, {"one\ntwo\n", "err\n"}}
      Command.close(command)
    end

    test "ends the command with the watcher's own answer" do
      {:ok, command} = Command.start(["sh", "-c", "echo up; exec sleep 600"])
      assert Command.watch(command, 1, fn %{stdout: "up\n"}, 1 -> {:halt, :enough} end) == :enough
      assert {:ok, %{status: :stopped}} = Command.status(command)
      Command.close(command)
    end
  end

  describe "confinement" do
    test "is known as soon as the command runs, and after its end" do
      {:ok, command} = Command.start(["sleep", "600"])
      assert %{"network_mode" => "none", "missing" => _} = confinement = Command.confinement(command)
      assert {:ok, %{confinement: ^confinement}} = Command.stop(command)
      assert Command.confinement(command) == confinement
      Command.close(command)
      assert Command.confinement(command) == nil

      # No command of the plan could be started.
      {:ok, command} = Command.start([{:then, [["no-such-command"]]}])
      assert {:ok, _result} = Command.await(command)
      assert %{"network_mode" => "none"} = Command.confinement(command)
      Command.close(command)
    end

    # What this kernel has decides which half of these tests can speak; the other half must say so.
    setup do
      %{landlock?: run!(["true"]).confinement["landlock_abi"] >= 4}
    end

    test "is reported, and required means refused where it is missing", %{landlock?: landlock?} do
      answer = Command.run(["true"], confinement: :required, network: {:ports, [1]})

      if landlock? do
        assert {:ok, %{confinement: %{"fence" => "whole", "missing" => []}}} = answer
      else
        assert {:error, {:confinement, _text}} = answer
        assert %{"missing" => [_ | _]} = run!(["true"]).confinement
      end

      free = run!(["true"], read: :all, write: :all, network: :all).confinement
      assert {free["filesystem"], free["network"], free["missing"]} == {"unrestricted", "unrestricted", []}
    end

    test "writes stay in the given folders and the temporary one", %{folder: folder, landlock?: landlock?} do
      project = Path.join(folder, "project")
      File.mkdir_p!(project)

      script = """
      echo a > #{project}/in && mv #{project}/in #{project}/moved && echo project
      echo a > "$TMPDIR/x" && echo temporary
      echo a > /dev/null && echo null
      echo a > #{folder}/out
      rm -r #{folder}/project-evil
      ln #{project}/moved #{folder}/link
      """

      File.mkdir_p!(Path.join(folder, "project-evil"))
      result = run!(["sh", "-c", script], write: [project])
      assert out(result) == "project\ntemporary\nnull\n"
      if landlock?, do: assert(Enum.sort(File.ls!(folder)) == ["project", "project-evil"])
    end

    test "reads can be restricted", %{folder: folder, landlock?: landlock?} do
      secret = Path.join(folder, "secret")
      File.write!(secret, "secret")

      for mode <- [:best_effort, :without_namespaces] do
        cat = fn options -> run!(["cat", secret], [confinement: mode] ++ options) end
        assert out(cat.(read: :all)) == "secret"

        restricted = cat.([])
        assert restricted.confinement["reads_restricted"] == landlock?
        if landlock?, do: assert({out(restricted), restricted.exit_code} == {"", 1})
        assert out(cat.(read: [folder])) == "secret"
      end
    end

    test "the command reaches neither the BEAM nor the runner", %{landlock?: landlock?} do
      for mode <- [:best_effort, :without_namespaces] do
        script = """
        [ "$PPID" = 0 ] || kill -STOP $PPID
        kill -0 #{System.pid()} && echo reached
        cat /proc/#{System.pid()}/environ
        true
        """

        result = run!(["sh", "-c", script], timeout: 10_000, confinement: mode)
        assert result.status == :exited
        if landlock?, do: assert(out(result) == "")
      end
    end

    test "of the network: none" do
      kinds = ~S"""
      use Socket;
      for my $kind ([AF_UNIX, SOCK_STREAM], [AF_INET, SOCK_STREAM], [AF_INET, SOCK_DGRAM], [AF_INET6, SOCK_STREAM]) {
        print socket(my $s, $kind->[0], $kind->[1], 0) ? "yes " : "no ";
      }
      """

      assert out(run!(perl(kinds))) == "yes no no no "
      assert out(run!(perl(kinds), network: :all)) == "yes yes yes yes "
      assert out(run!(perl(kinds), network: {:ports, []})) == "yes yes no yes "
    end

    test "of the network: by port", %{landlock?: landlock?} do
      {allowed, allowed_port} = listen()
      {other, other_port} = listen()

      connects = fn port, options ->
        script = ~s[use IO::Socket::INET; print IO::Socket::INET->new("127.0.0.1:#{port}") ? "yes" : "no"]
        out(run!(perl(script), options))
      end

      assert connects.(allowed_port, network: :all) == "yes"
      assert connects.(allowed_port, network: {:ports, [allowed_port]}) == "yes"
      if landlock?, do: assert(connects.(other_port, network: {:ports, [allowed_port]}) == "no")
      assert connects.(allowed_port, network: :none) == "no"
      Enum.each([allowed, other], &:gen_tcp.close/1)
    end

    defp listen do
      {:ok, socket} = :gen_tcp.listen(0, ip: {127, 0, 0, 1})
      {:ok, port} = :inet.port(socket)
      {socket, port}
    end
  end

  describe "a command in the background" do
    @tag timeout: 30_000
    test "is read as it goes on, each byte once", %{folder: folder, mark: mark} do
      gate = Path.join(folder, "gate")
      {_, 0} = System.cmd("mkfifo", [gate])
      script = "echo one; echo oops >&2; read line < #{gate}; echo $line; exit 7"
      {:ok, command} = Command.start(["sh", "-c", script], env: mark, write: [folder])
      assert Command.status(command) == :running

      slice =
        eventually(fn ->
          {:ok, %{stdout: stdout, stderr: stderr}} = Command.read(command, {0, 0})
          if stdout.text == "one\n" and stderr.text == "oops\n", do: {stdout, stderr}
        end)

      {stdout, stderr} = slice
      assert Command.await(command, 50) == {:error, :running}

      File.write!(gate, "two\n")
      assert {:ok, %{exit_code: 7}} = Command.await(command)
      assert {:ok, %{stdout: rest, stderr: none}} = Command.read(command, {stdout.next, stderr.next})
      assert {rest.text, rest.dropped, none.text} == {"two\n", 0, ""}
      assert {:ok, %{exit_code: 7}} = Command.status(command)
      assert marked(mark) == []
      assert Command.close(command) == :ok
      assert Command.close(command) == :ok
      assert {:error, {:runner, _}} = Command.status(command)
    end

    test "keeps the end of a flood, and tells a slow reader what it lost" do
      {:ok, command} = Command.start(["seq", "1", "200000"], keep: {0, 1_000})
      {:ok, result} = Command.await(command)
      assert {:ok, %{stdout: slice}} = Command.read(command, {0, 0}, limit: 14)
      assert slice.dropped == result.stdout.size - 1_000
      assert byte_size(slice.text) <= 14
      {:ok, %{stdout: rest}} = Command.read(command, {slice.next, 0})
      assert String.ends_with?(slice.text <> rest.text, "\n199999\n200000\n")
      assert byte_size(slice.text <> rest.text) == 1_000
      Command.close(command)
    end

    test "is stopped with its tree", %{mark: mark} do
      {:ok, command} = Command.start(escapes(), env: mark, grace: 100)
      eventually(fn -> length(marked(mark)) == 2 end)
      assert {:ok, %{status: :stopped, exit_code: nil}} = Command.stop(command)
      assert marked(mark) == []
      assert {:ok, %{status: :stopped}} = Command.stop(command)
      Command.close(command)
    end

    test "ends with its owner", %{mark: mark} do
      owner = spawn(fn -> Process.sleep(:infinity) end)
      {:ok, command} = Command.start(ignores_term(), env: mark, grace: 50, owner: owner)
      monitor = Process.monitor(command)
      Process.exit(owner, :kill)
      assert_receive {:DOWN, ^monitor, :process, ^command, :normal}, 5_000
      assert eventually(fn -> marked(mark) == [] end)
    end

    test "that can't start says so at once" do
      assert {:error, {:not_started, "no-such-command: command not found"}} =
               Command.start(["no-such-command"])
    end

    test "runs under a supervisor and ends with it", %{mark: mark} do
      {:ok, supervisor} = DynamicSupervisor.start_link(strategy: :one_for_one)
      child = {Command, {ignores_term(), env: mark, grace: 50}}
      {:ok, command} = DynamicSupervisor.start_child(supervisor, child)
      eventually(fn -> marked(mark) != [] end)
      assert Command.status(command) == :running
      DynamicSupervisor.stop(supervisor)
      assert eventually(fn -> marked(mark) == [] end)
    end
  end

  describe "a broken runner" do
    setup %{folder: folder} do
      {:ok, spec} = Options.spec(["true"], timeout: 100, grace: 0)
      %{spec: spec, program: Path.join(folder, "runner")}
    end

    defp run_with(program, spec) do
      {:ok, server} = GenServer.start(Command.Server, {Map.put(spec, :executable, program), self()})
      answer = Command.await(server)
      assert {:error, ^answer} = {:error, Command.await(server, 0)}
      assert Command.read(server, {0, 0}) == answer
      assert Command.stop(server) == answer
      Command.close(server)
      answer
    end

    test "is an error, not an exit", %{spec: spec, program: program} do
      assert {:error, {:runner, text}} = run_with(program, spec)
      assert text =~ "enoent"

      # Ends at once, so that even the request may find the pipe closed.
      File.write!(program, "#!/bin/sh\nexit 3\n")
      File.chmod!(program, 0o755)
      assert {:error, {:runner, text}} = run_with(program, spec)
      assert Command.explain({:runner, text}) =~ "The command runner failed"
    end

    test "that never answers is given up", %{spec: spec, program: program} do
      File.write!(program, "#!/bin/sh\nexec sleep 100\n")
      File.chmod!(program, 0o755)
      {:ok, server} = GenServer.start(Command.Server, {Map.put(spec, :executable, program), self()})
      assert Command.status(server) == :running
      # The server's own timer, which would take fifteen seconds.
      send(server, :overdue)
      assert {:error, {:runner, text}} = Command.await(server)
      assert text =~ "in time"
      Command.close(server)
    end
  end
end
