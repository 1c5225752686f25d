defmodule JidoCode.Tools.Attack.MachinesTest do
  # Machines that lack something, made where a filter of system calls, another user or another folder can make them.
  use ExUnit.Case, async: true

  import JidoCode.Tools.Test.Attack

  alias JidoCode.Tools.Command

  @moduletag :attack
  @moduletag timeout: 180_000

  @without Path.expand("../support/without.py", __DIR__)

  setup_all do
    {:ok, result} = Command.run(["true"])
    %{fence?: result.confinement["fence"] == "whole", root?: match?({"0\n", 0}, System.cmd("id", ["-u"]))}
  end

  @run """
  for mode <- [:best_effort, :required] do
    case JidoCode.Tools.Command.run(["sh", "-c", "id -u; cat /etc/hostname > /dev/null && echo read"], confinement: mode) do
      {:ok, result} -> {result.confinement["fence"], result.confinement["missing"], result.stdout.head, result.exit_code}
      error -> error
    end
  end
  """

  test "without user namespaces: Landlock alone, said so; required refuses and says why" do
    assert [{"landlock", [missing], output, 0}, {:error, {:confinement, text}}] =
             evaluate(["/usr/bin/python3", @without, "user-namespaces"], @run)

    assert missing =~ "namespaces"
    assert output =~ "read"
    assert text =~ "namespaces"
  end

  test "without Landlock: namespaces alone, said so; required refuses", %{fence?: fence?} do
    if fence? do
      assert [{"partial", [missing], output, 0}, {:error, {:confinement, _text}}] =
               evaluate(["/usr/bin/python3", @without, "landlock"], @run)

      assert missing =~ "Landlock"
      assert output =~ "read"
    end
  end

  test "with neither: it runs where that is allowed, and says what is missing" do
    words = ["/usr/bin/python3", @without, "landlock", "/usr/bin/python3", @without, "user-namespaces"]
    assert [{"none", missing, output, 0}, {:error, {:confinement, _text}}] = evaluate(words, @run)
    assert length(missing) == 2
    assert output =~ "read"
  end

  @list "{JidoCode.Tools.Command.fence(), JidoCode.Tools.Security.CommandPolicy.list()}"

  test "the wide list of commands is in force exactly where a whole fence holds", %{fence?: fence?} do
    if fence? do
      assert evaluate([], @list) == {:whole, :wide}
      assert evaluate(["/usr/bin/python3", @without, "landlock"], @list) == {:partial, :narrow}
    end

    assert evaluate(["/usr/bin/python3", @without, "user-namespaces"], @list) == {:none, :narrow}
    off = "Application.put_env(:jido_code_tools, :command_confinement, :off); " <> @list
    assert evaluate([], off) == {:none, :narrow}
  end

  test "a line of the wide list does not run where the fence has gone since" do
    code = """
    root = #{inspect(folders!().project)}
    context = %{project_root: root, session_id: "s", granted_tier: :execute}
    run = fn ->
      JidoCode.Tools.SecureExecutor.call("bash_execute", %{"command" => "seq 3 | sed -n 2p"}, context)
    end
    # As found before it went.
    :persistent_term.put(JidoCode.Tools.Command.Fence, :whole)
    {run.(), run.()}
    """

    assert {{:error, gone}, {:error, narrow}} =
             evaluate(["/usr/bin/python3", @without, "user-namespaces"], code)

    assert gone =~ "can't be confined as required"
    assert narrow =~ "The narrow list is in force"
  end

  test "where the library does not run, a refusal says so and blames no tier" do
    code = """
    context = %{session_id: "s", granted_tier: :execute, project_root: "/"}
    {:error, text} = JidoCode.Tools.SecureExecutor.call("mix_task", %{"task" => "compile"}, context)
    IO.puts(text)
    """

    {text, 0} = System.cmd("elixir", own_code() ++ ["-e", code], stderr_to_stdout: true)
    assert text =~ "does not run in this VM"
    refute text =~ ~r/tier|Permission/
  end

  test "as an ordinary user, and with no home", %{fence?: fence?, root?: root?} do
    if fence? and root? do
      assert [whole, whole] = evaluate_as_nobody([], @run)
      assert {"whole", [], "65534\nread\n", 0} = whole
    end
  end

  # What an ordinary user's command does to others of that user, where they have a number. The VM is pid 1 of a namespace of the
  # test's own, so that nothing else can be meant.
  @reach """
  script = \"""
  import ctypes, os, socket, sys
  libc = ctypes.CDLL(None, use_errno=True)
  vm = int(sys.argv[1])
  def call(*a):
      if libc.syscall(*a) < 0: raise OSError(ctypes.get_errno(), "")
  def connect(): socket.socket(socket.AF_UNIX).connect(sys.argv[2])
  x86 = os.uname().machine == "x86_64"
  for attempt in (lambda: os.setpriority(os.PRIO_USER, 0, 5), lambda: os.setpriority(os.PRIO_PROCESS, vm, 5),
                  lambda: call(251 if x86 else 30, 3, 0, 3 << 13), lambda: os.sched_setaffinity(vm, {0}), connect):
      try:
          attempt()
          print("done")
      except OSError as error: print(type(error).__name__)
  \"""
  socket = Path.join(System.tmp_dir!(), "jido-reach-\#{System.unique_integer([:positive])}")
  {:ok, _listening} = :gen_tcp.listen(0, ifaddr: {:local, socket})
  nice = fn ->
    [_, nice] = Regex.run(~r/\\) \\S(?: \\S+){15} (\\S+) /, File.read!("/proc/\#{System.pid()}/stat"))
    nice
  end

  before = nice.()
  {:ok, result} = JidoCode.Tools.Command.run(["/usr/bin/python3", "-c", script, System.pid(), socket],
    confinement: :without_namespaces, write: [System.tmp_dir!()])
  File.rm(socket)
  {nice.() == before, String.split(result.stdout.head)}
  """

  test "with Landlock alone an ordinary user's command reaches no other process of that user, and no socket without network",
       %{root?: root?} do
    if root? do
      assert {true, answers} = evaluate_as_nobody(~w(unshare --fork --pid --mount-proc --kill-child), @reach)
      assert answers == List.duplicate("PermissionError", 5)
    end
  end

  test "paths with spaces, other letters and links", %{fence?: fence?} do
    base = folders!().project
    plain = Path.join(base, "mein Prüfling 日本")
    File.mkdir_p!(plain)
    File.write!(Path.join(plain, "datei"), "inhalt\n")
    link = Path.join(base, "by link")
    File.ln_s!(plain, link)

    for root <- [plain, link], mode <- modes() do
      script = "cat datei && echo neu > geschrieben && cat '#{root}/geschrieben'"
      {:ok, result} = Command.run(["sh", "-c", script], cd: root, write: [root], confinement: mode)
      assert printed(result) == "inhalt\nneu\n"
      if fence? and mode == :best_effort, do: assert(result.confinement["fence"] == "whole")
    end
  end

  test "a project that is gone, or a file, is told as such" do
    gone = Path.join(folders!().project, "gone")
    assert {:error, {:not_started, text}} = Command.run(["true"], cd: gone, write: [gone])
    assert text =~ "not a folder"
  end

  test "a place for temporary files that can't be made is an error that names it" do
    full = Path.join(folders!().project, "file")
    File.write!(full, "")

    code = """
    Application.put_env(:jido_code_tools, :command_temp_dir, #{inspect(full)})
    JidoCode.Tools.Command.run(["true"])
    """

    assert {:error, {:runner, text}} = evaluate([], code)
    assert text =~ full and text =~ "command_temp_dir:"
  end

  # Where mounts can be made, the words that lead a VM into a namespace of mounts of its own.
  defp in_mounts(script, arguments),
    do: ~w(unshare --mount --propagation private sh -c) ++ [script <> ~s(; exec "$@"), "sh" | arguments]

  @work """
  root = System.get_env("PROJECT")
  context = %{project_root: root, session_id: "s", granted_tier: :execute}
  for line <- ["cat file", "git add file", "git commit -qm one", "elixir write.exs", "elixir read.exs"] do
    case JidoCode.Tools.SecureExecutor.call("bash_execute", %{"command" => line}, context) do
      {:ok, result} -> {result["exit_code"], result["stdout"], result["confinement"]["fence"]}
      error -> error
    end
  end
  """

  defp project!(folder) do
    File.mkdir_p!(folder)
    File.write!(Path.join(folder, "file"), "content\n")
    File.write!(Path.join(folder, "write.exs"), ~s|File.write!(Path.join(System.tmp_dir!(), "kept"), "kept")|)
    File.write!(Path.join(folder, "read.exs"), ~s|IO.write(File.read!(Path.join(System.tmp_dir!(), "kept")))|)
    git!(folder, ~w(init -q))
    git!(folder, ~w(config user.name Person))
    git!(folder, ~w(config user.email person@example.org))
    folder
  end

  defp works!(answers, fence) do
    assert [{0, "content\n", ^fence}, {0, "", _}, {0, "", _}, {0, "", _}, {0, "kept", _}] = answers
  end

  test "a project on another mount, beside its sources' own", %{fence?: fence?, root?: root?} do
    if fence? and root? do
      folders = folders!()
      source = project!(Path.join(folders.outside, "project"))
      mount = "mount -t tmpfs none #{folders.project} && cp -a #{source}/. #{folders.project}"
      works!(evaluate(in_mounts(mount, []), @work, [{"PROJECT", folders.project}]), "whole")
    end
  end

  test "a project in /var/tmp, which is /tmp for commands", %{fence?: fence?} do
    if fence? do
      folder = "/var/tmp/jido-machine-#{System.pid()}-#{System.unique_integer([:positive])}"
      on_exit(fn -> File.rm_rf!(folder) end)
      works!(evaluate([], @work, [{"PROJECT", project!(folder)}]), "whole")
    end
  end

  test "a folder for temporary files without space, or without room for one more name", %{
    fence?: fence?,
    root?: root?
  } do
    if fence? and root? do
      folders = folders!()
      env = [{"PROJECT", project!(folders.project)}, {"TMPDIR", folders.outside}]
      mount = "mount -t tmpfs -o size=64k,nr_inodes=16,mode=777 none #{folders.outside}"

      # What commands keep there is in memory of its own.
      full = mount <> "; head -c 200000 /dev/zero > #{folders.outside}/full 2>/dev/null"
      works!(evaluate(in_mounts(full, []), @work, env), "whole")

      names = mount <> "; for i in $(seq 20); do mkdir #{folders.outside}/$i 2>/dev/null; done"
      answers = evaluate(in_mounts(names, []), @work, env)

      for answer <- answers do
        assert {:error, text} = answer
        assert text =~ folders.outside and text =~ "No space left" and text =~ "command_temp_dir:"
      end
    end
  end

  # As a container's, whose parts of /proc are covered: the kernel shows no new one inside.
  test "in a container's tree: Landlock alone, said so", %{fence?: fence?, root?: root?} do
    if fence? and root? do
      covered = "mount --bind /dev/null /proc/uptime"

      assert [{"landlock", [missing], output, 0}, {:error, {:confinement, text}}] =
               evaluate(in_mounts(covered, []), @run)

      assert missing =~ "/proc" and text =~ "/proc"
      assert output =~ "read"
      works!(evaluate(in_mounts(covered, []), @work, [{"PROJECT", project!(folders!().project)}]), "landlock")
    end
  end

  test "an ordinary user's session, in a path with spaces, other letters and a link, without a home",
       %{fence?: fence?, root?: root?} do
    if fence? and root? do
      folders = folders!()
      plain = project!(Path.join(folders.project, "mein Prüfling 日本"))
      link = Path.join(folders.project, "by link")
      File.ln_s!(plain, link)
      {_, 0} = System.cmd("chown", ["-R", "65534:65534", Path.dirname(folders.project)])
      works!(evaluate_as_nobody([], @work, [{"PROJECT", link}]), "whole")
    end
  end

  test "off is what a person chose, and is said in the result" do
    {:ok, result} = Command.run(["cat", "/etc/hostname"], confinement: :off)
    assert {result.confinement["fence"], result.exit_code} == {"off", 0}
  end

  test "a temporary folder is shared by the commands that name it, and only by them", %{fence?: fence?} do
    shared = Path.join(folders!().project, "session")
    File.mkdir_p!(shared)

    for mode <- modes() do
      run = fn script, options ->
        {:ok, result} = Command.run(["sh", "-c", script], [confinement: mode] ++ options)
        printed(result)
      end

      # A checkout below the machine's own folder is seen there, since commands work in it.
      before = run.("ls -A $TMPDIR", [])
      assert run.("echo kept > $TMPDIR/#{mode}", temporary: shared) == ""
      assert run.("cat $TMPDIR/#{mode}", temporary: shared) == "kept\n"
      assert File.exists?(Path.join(shared, "#{mode}"))

      if fence? do
        assert run.("ls -A $TMPDIR", []) == before
        refute "#{mode}" in String.split(before, "\n")
      end
    end
  end
end
