defmodule JidoCode.Tools.Attack.TemporaryTest do
  # The temporary folder of a session: shared by its commands, by nobody else, bounded, and gone at the end.
  use ExUnit.Case, async: true

  import JidoCode.Tools.Test.Attack

  alias JidoCode.Tools.{Command, Temporary}

  @moduletag :attack
  @moduletag timeout: 180_000

  setup_all do
    {:ok, result} = Command.run(["true"])
    %{fence?: result.confinement["fence"] == "whole"}
  end

  defp session! do
    session = "temporary-#{System.unique_integer([:positive])}"
    on_exit(fn -> Temporary.end_session(session) end)
    session
  end

  defp place!(session) do
    {:ok, [temporary: place]} = Temporary.options(%{session_id: session})
    place
  end

  defp sh(folders, mode, session, script, options \\ []) do
    run!(folders, mode, ["sh", "-c", script], [temporary: place!(session)] ++ options)
  end

  # What another process does a moment later.
  defp eventually(look, tries \\ 600) do
    cond do
      look.() -> true
      tries == 0 -> false
      true -> Process.sleep(50) && eventually(look, tries - 1)
    end
  end

  test "the commands of a session share it, those of another see nothing of it" do
    folders = folders!()

    for mode <- modes() do
      {mine, other} = {session!(), session!()}
      assert printed(sh(folders, mode, mine, "mkdir $TMPDIR/d && echo kept > $TMPDIR/d/f")) == ""
      assert printed(sh(folders, mode, mine, "cat $TMPDIR/d/f")) == "kept\n"
      assert printed(sh(folders, mode, other, "test -e $TMPDIR/d || echo none")) == "none\n"

      # By the name that it has outside as well.
      folder = place!(mine).folder
      script = "ls #{folder}/d; cat #{folder}/d/f; echo x > #{folder}/forged; true"
      refute printed(sh(folders, mode, other, script)) =~ "kept"

      assert printed(sh(folders, mode, mine, "ls -A $TMPDIR/d; test -e $TMPDIR/forged || echo none")) ==
               "f\nnone\n"
    end
  end

  test "it ends with its session, and the next one of that name begins empty" do
    folders = folders!()

    for mode <- modes() do
      session = session!()
      sh(folders, mode, session, "echo kept > $TMPDIR/f")
      before = place!(session).folder
      Temporary.end_session(session)
      assert eventually(fn -> not File.exists?(before) end)
      assert printed(sh(folders, mode, session, "cat $TMPDIR/f")) =~ "No such file"
    end
  end

  test "through the tools: a call finds what the one before left, until the session ends" do
    folders = folders!()

    File.write!(
      Path.join(folders.project, "write.exs"),
      ~s|File.write!(Path.join(System.tmp_dir!(), "f"), "kept")|
    )

    File.write!(
      Path.join(folders.project, "read.exs"),
      ~s|IO.inspect(File.read(Path.join(System.tmp_dir!(), "f")))|
    )

    context = %{project_root: folders.project, session_id: session!(), granted_tier: :execute}

    call = fn line ->
      {:ok, result} = JidoCode.Tools.SecureExecutor.call("bash_execute", %{"command" => line}, context)
      result["stdout"] <> result["stderr"]
    end

    assert call.("elixir write.exs") == ""
    assert call.("elixir read.exs") == ~s|{:ok, "kept"}\n|
    JidoCode.Tools.SecureExecutor.end_session(context.session_id)
    assert call.("elixir read.exs") == "{:error, :enoent}\n"
  end

  # A small bound, so that the test is quick; the configuration of this VM is not touched.
  defp bounded(mode, scripts) do
    evaluate([], """
    Application.put_env(:jido_code_tools, :command_temp_bytes, 20_000_000)
    {:ok, options} = JidoCode.Tools.Temporary.options(%{session_id: "s"})
    for script <- #{inspect(scripts)} do
      {:ok, result} = JidoCode.Tools.Command.run(["sh", "-c", script], [confinement: #{inspect(mode)}] ++ options)
      {result.status, result.stdout.head, result.stderr.head, result.emptied}
    end
    """)
  end

  @large "head -c 100000000 /dev/zero > $TMPDIR/big; echo $?"
  @many "for i in $(seq 40000); do true > $TMPDIR/f$i || break; done 2>/dev/null; ls -A $TMPDIR | wc -l"

  test "the kernel bounds its bytes and its files", %{fence?: fence?} do
    if fence? do
      [{:exited, "1\n", errors, nil}, {:exited, count, _errors, nil}] = bounded(:best_effort, [@large, @many])
      assert errors =~ "No space left"
      assert count |> String.trim() |> String.to_integer() < 6_000
    end
  end

  test "with Landlock alone a command that writes more is ended, and the folder emptied" do
    # The second may be looked at while it writes, or when it has ended.
    [{:stopped, _output, _errors, ended}, {_status, _count, _more, emptied}] =
      bounded(:without_namespaces, [@large <> "; sleep 600", @many])

    assert ended ==
             "The command was ended: its temporary folder held more than 20000000 bytes, and it was emptied"

    assert emptied =~ "held more than 20000000 bytes, and it was emptied"
  end

  # A VM in a process namespace of its own that tells its session's folder, and stays.
  defp stays(before) do
    """
    {:ok, [temporary: place]} = JidoCode.Tools.Temporary.options(%{session_id: "s"})
    {:ok, _} = JidoCode.Tools.Command.run(["sh", "-c", "echo kept > $TMPDIR/f"],
      confinement: :without_namespaces, temporary: place, write: [])
    #{before}
    IO.puts("place:" <> place.folder)
    Process.sleep(:infinity)
    """
  end

  # Those of the VM's own process namespace.
  @stop_runners """
  runners =
    for id <- File.ls!("/proc"), id =~ ~r/^[0-9]+$/, {:ok, line} <- [File.read("/proc/\#{id}/cmdline")],
        line =~ ~r/^jido_command_runner/, do: id

  {_, 0} = System.cmd("kill", ["-STOP" | runners])
  """

  defp stay!(words, base, before \\ "") do
    [program | arguments] = words ++ ["elixir"] ++ own_code() ++ ["-e", started(stays(before))]
    program = System.find_executable(program)

    port =
      Port.open({:spawn_executable, program}, [
        :binary,
        args: arguments,
        line: 1000,
        env: [{to_charlist("TMPDIR"), to_charlist(base)}]
      ])

    {port, folder_of(port)}
  end

  defp folder_of(port) do
    receive do
      {^port, {:data, {:eol, "place:" <> folder}}} -> folder
      {^port, {:data, _other}} -> folder_of(port)
    after
      120_000 -> flunk("the VM has not started")
    end
  end

  defp kill!(port) do
    {:os_pid, id} = Port.info(port, :os_pid)
    {_, 0} = System.cmd("kill", ["-9", Integer.to_string(id)])
  end

  test "it goes when the VM is killed" do
    base = folders!().outside
    {port, folder} = stay!([], base)
    assert File.read!(Path.join(folder, "f")) == "kept\n"
    kill!(port)
    assert eventually(fn -> not File.exists?(folder) end)
  end

  test "where all that could remove it is killed in one moment, the next session's start does" do
    base = folders!().outside

    # All of the namespace is killed with its first process; those that could still remove it meanwhile stand still.
    {port, folder} = stay!(~w(unshare --fork --pid --mount-proc --kill-child), base, @stop_runners)
    kill!(port)
    assert File.read!(Path.join(folder, "f")) == "kept\n"

    code = """
    {:ok, [temporary: place]} = JidoCode.Tools.Temporary.options(%{session_id: "s"})
    place.folder
    """

    {next, names} = eventually_swept(base, code, folder)
    assert next != folder
    refute Path.basename(folder) in names
  end

  # The killed processes hold their lock until the kernel has ended the last of them.
  defp eventually_swept(base, code, folder, tries \\ 20) do
    next = evaluate([], code, [{"TMPDIR", base}])
    names = File.ls!(base)

    if Path.basename(folder) in names and tries > 0,
      do: eventually_swept(base, code, folder, tries - 1),
      else: {next, names}
  end

  test "a project below /tmp can't be moved away in it", %{fence?: fence?} do
    if fence? do
      folders = folders!()
      git!(folders.project, ["init", "-q"])
      session = session!()
      above = Path.dirname(folders.project)

      # Within a running command its own mounts lie there; what they lie in can be moved.
      script = "mv #{above} #{above}-moved && ln -s #{above}-moved #{above} && echo moved"
      sh(folders, :best_effort, session, script)

      for command <- [["true"], ["git", "status", "--short"]] do
        case try_run(folders, :best_effort, command, temporary: place!(session)) do
          {:error, {:confinement, text}} -> assert text =~ above
          {:ok, result} -> flunk("it ran: #{inspect(result)}")
        end
      end

      assert {:ok, %{exit_code: 0}} = try_run(folders, :best_effort, ["true"], temporary: place!(session!()))
    end
  end

  test "a command of the session that moves folders meanwhile gets at no control file of git", %{
    fence?: fence?
  } do
    if fence? do
      folders = folders!()
      git!(folders.project, ["init", "-q"])
      session = session!()
      above = Path.dirname(folders.project)
      config = File.read!(Path.join(folders.project, ".git/config"))

      # It is started without the project, so that nothing is mounted where it moves folders about; and tries to write the
      # configuration of any repository that it comes upon.
      mover = """
      cd $TMPDIR; while :; do
        mkdir -p #{above}/project/.git; mv #{above} away; mkdir -p #{above}/project/.git
        echo forged 2>/dev/null >> away/project/.git/config; rm -rf away; done
      """

      {:ok, running} =
        Command.start(["sh", "-c", mover],
          temporary: place!(session),
          write: [],
          cd: "/",
          confinement: :best_effort,
          timeout: 60_000
        )

      script = "echo forged >> .git/config; echo forged >> /tmp/away/project/.git/config; cat .git/config"

      for _ <- 1..20, command <- [["sh", "-c", script], ["git", "status", "--short"]] do
        try_run(folders, :best_effort, command, temporary: place!(session))
      end

      Command.close(running)
      assert File.read!(Path.join(folders.project, ".git/config")) == config
    end
  end
end
