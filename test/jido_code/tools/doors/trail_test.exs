defmodule JidoCode.Tools.Doors.TrailTest do
  # The trail belongs to a whole VM, so each test has one of its own.
  use ExUnit.Case, async: false

  import ExUnit.CaptureIO
  import JidoCode.Tools.Test.CommandProcesses, only: [alive?: 1, eventually: 1]

  alias JidoCode.Tools.Doors.Trail
  alias JidoCode.Tools.SecureExecutor
  alias JidoCode.Tools.Security.{AuditLogger, AuditTrail, Core}
  alias JidoCode.Tools.Test.{McpClient, MixProject, Peers, Tree}

  doctest AuditTrail

  @moduletag timeout: 120_000
  @key "a key of the trail test's own"

  setup do
    folder = Path.join(Tree.new!(%{"log/keep" => ""}), "log")
    on_exit(&Peers.leave/0)
    %{folder: folder, trail: Path.join(folder, "audit.jsonl")}
  end

  defp vm!(file, env \\ []) do
    peer = Peers.start!(library: :loaded, app: false)
    Peers.on(peer, :application, :load, [:jido_code_tools])
    limits = %{read_only: {100_000, 1_000}}

    for {key, value} <- [audit_file: file, audit_key: @key, tool_rate_limits: limits] ++ env,
        do: Peers.on(peer, :application, :set_env, [:jido_code_tools, key, value])

    {:ok, _} = Peers.on(peer, :application, :ensure_all_started, [:jido_code_tools])
    peer
  end

  defp call(peer, session \\ "trail") do
    Peers.on(peer, SecureExecutor, :call, [
      "fetch_elixir_docs",
      %{"module" => "Enum", "function" => "sum"},
      %{session_id: session}
    ])
  end

  test "what the command line grants has entries of its own" do
    session = "trail-#{System.unique_integer([:positive])}"

    :ok =
      Trail.begin(%{
        session_id: session,
        granted_tier: :execute,
        consented_tools: ["ets_inspect", "ets_inspect"]
      })

    assert [{"execute", :granted}, {"ets_inspect", :consented}] =
             for(entry <- AuditLogger.get_audit_log(session, order: :asc), do: {entry.tool, entry.status})

    other = "trail-#{System.unique_integer([:positive])}"
    :ok = Trail.begin(%{session_id: other, granted_tier: :read_only, consented_tools: []})
    assert AuditLogger.get_audit_log(other) == []
  end

  test "answers are in the file before they are given; a second VM writes beside it", %{trail: file} do
    peer = vm!(file)
    assert {:ok, _docs} = call(peer)
    assert {:ok, %{entries: 2, head: head}} = AuditTrail.verify(file, @key)
    # What is printed at the end of a session is the file's.
    assert {:ok, %{head: ^head}} = Peers.on(peer, AuditLogger, :verify, [])

    other = vm!(file)
    beside = Path.rootname(file) <> ".2.jsonl"
    assert Peers.on(other, AuditLogger, :file, []) == beside
    assert {:ok, _docs} = call(other)
    assert {:ok, _docs} = call(peer)
    assert {:ok, %{entries: 2}} = AuditTrail.verify(beside, @key)
    assert {:ok, %{entries: 4}} = AuditTrail.verify(file, @key)

    # Gone, it leaves the file to the next, which goes on with the chain.
    Peers.stop(peer)
    eventually(fn -> not alive?(String.to_integer(peer.os_pid)) end)
    next = vm!(file)
    assert {:ok, _docs} = call(next)
    assert {:ok, %{entries: 6}} = AuditTrail.verify(file, @key)
    assert {:ok, %{entries: 2}} = AuditTrail.verify(beside, @key)
  end

  test "a folder that is lost stops every call, and back again lets them go on", %{
    folder: folder,
    trail: file
  } do
    peer = vm!(file)
    assert {:ok, _docs} = call(peer)
    File.rename!(folder, folder <> "-away")
    assert {:error, text} = call(peer)
    assert text =~ "the audit file can't be written" and text =~ "A person has to fix that"
    File.rename!(folder <> "-away", folder)
    assert {:ok, _docs} = call(peer)
    assert {:ok, _whole} = AuditTrail.verify(file, @key)
  end

  test "a file that is truncated under the VM stops every call, and its content back lets them go on", %{
    trail: file
  } do
    peer = vm!(file)
    assert {:ok, _docs} = call(peer)
    whole = File.read!(file)
    # As logrotate's copytruncate does.
    File.write!(file, "")
    assert {:error, text} = call(peer)

    assert text =~ "another program changed it: it has 0 bytes, and #{byte_size(whole)} were written"
    assert File.read!(file) == ""
    File.write!(file, whole)
    assert {:ok, _docs} = call(peer)
    assert {:ok, _whole} = AuditTrail.verify(file, @key)
  end

  test "a configured file that is no trail is left as it is", %{trail: file} do
    for text <- [~s({"important": true}), "{" <> String.duplicate("x", 30_000)] do
      File.write!(file, text)
      error = catch_error(vm!(file))
      assert inspect(error, limit: :infinity, printable_limit: :infinity) =~ "is not an audit trail"
      assert File.read!(file) == text
    end
  end

  test "what was written is brought to the disk as often as is configured", %{trail: file} do
    peer = vm!(file, audit_file_sync: {:every, 20})
    sync = {AuditLogger, :sync, 0}
    1 = Peers.on(peer, :erlang, :trace_pattern, [sync, true, [:call_count]])

    eventually(fn ->
      {:call_count, count} = Peers.on(peer, :erlang, :trace_info, [sync, :call_count])
      count >= 2
    end)

    # With :each there is nothing left for later.
    each = vm!(Path.rootname(file) <> "-each.jsonl", audit_file_sync: :each)
    1 = Peers.on(each, :erlang, :trace_pattern, [sync, true, [:call_count]])
    assert {:ok, _docs} = call(each)
    assert {:call_count, 0} = Peers.on(each, :erlang, :trace_info, [sync, :call_count])
  end

  test "with :warn calls go on without it", %{folder: folder, trail: file} do
    peer = vm!(file, audit_file_failure: :warn)
    File.rename!(folder, folder <> "-away")
    assert {:ok, _docs} = call(peer)
    assert [_ | _] = Peers.on(peer, AuditLogger, :get_audit_log, ["trail"])
  end

  @tag skip: if(System.cmd("id", ["-u"]) != {"0\n", 0}, do: "mounts take root")
  test "a full disk and a read-only one stop every call, and nothing that was answered is missing", %{
    folder: folder,
    trail: file
  } do
    {_out, 0} = System.cmd("mount", ["-t", "tmpfs", "-o", "size=32k", "tmpfs", folder])
    on_exit(fn -> System.cmd("umount", ["-l", folder]) end)
    peer = vm!(file)

    answered =
      Stream.repeatedly(fn -> call(peer) end) |> Enum.take_while(&match?({:ok, _docs}, &1)) |> length()

    assert answered > 10
    assert {:error, text} = call(peer)
    assert text =~ "the audit file can't be written"
    assert {:ok, %{entries: entries}} = AuditTrail.verify(file, @key)
    assert entries >= 2 * answered

    # Room again.
    {_out, 0} = System.cmd("mount", ["-o", "remount,size=256k", folder])
    assert {:ok, _docs} = call(peer)
    assert {:ok, %{torn_bytes: 0}} = AuditTrail.verify(file, @key)

    Peers.stop(peer)

    eventually(fn ->
      match?({_out, 0}, System.cmd("mount", ["-o", "remount,ro", folder], stderr_to_stdout: true))
    end)

    assert catch_error(vm!(file))
  end

  test "the head is said at the end of a session, and the key's file is all that verifying takes", %{
    trail: file
  } do
    root = MixProject.new!()
    state = Tree.new!(%{})

    client =
      McpClient.start!(root, ["--audit-file", file, "--no-start"],
        env: [{~c"XDG_STATE_HOME", to_charlist(state)}]
      )

    McpClient.initialize(client)
    assert {:ok, _text} = McpClient.tool(client, "grep_search", %{"pattern" => "Sample"})
    McpClient.leave(client)
    eventually(fn -> not alive?(client.pid) end)

    [_line, head] = Regex.run(~r/^audit trail #{Regex.escape(file)}: head (\w+)$/m, File.read!(client.log))
    key = Path.join(state, "jido_code_tools/audit.key")
    assert verified(file, key) == {0, "2 entries, unchanged. The head is #{head}\n"}

    other = Path.join(state, "other.key")
    File.write!(other, String.duplicate("k", 32))
    assert {1, told} = verified(file, other)
    assert told =~ "The trail is intact up to entry 0"
    assert {1, told} = verified(file, Path.join(state, "none.key"))
    assert told =~ "the key can't be read: not_found"
  end

  test "two clients of one project, with one --audit-file, write a whole chain each", %{trail: file} do
    root = MixProject.new!()
    state = Tree.new!(%{})
    env = [{~c"XDG_STATE_HOME", to_charlist(state)}]
    clients = for _ <- 1..2, do: McpClient.start!(root, ["--audit-file", file, "--no-start"], env: env)
    for client <- clients, do: McpClient.initialize(client)

    for client <- clients,
        do: assert({:ok, _text} = McpClient.tool(client, "grep_search", %{"pattern" => "Sample"}))

    for client <- clients, do: McpClient.leave(client)
    for client <- clients, do: eventually(fn -> not alive?(client.pid) end)

    told = for client <- clients, do: Regex.run(~r/^audit trail (.*): head (\w+)$/m, File.read!(client.log))
    files = for [_line, file, _head] <- told, do: file
    assert Enum.sort(files) == Enum.sort([file, Path.rootname(file) <> ".2.jsonl"])
    key = Path.join(state, "jido_code_tools/audit.key")

    for [_line, file, head] <- told,
        do: assert(verified(file, key) == {0, "2 entries, unchanged. The head is #{head}\n"})

    # The second one says at its start where it writes.
    assert Enum.count(clients, &(File.read!(&1.log) =~ "Another VM writes the audit file #{file}")) == 1
  end

  @own_mix """
  defmodule Sample.MixProject do
    use Mix.Project
    def project, do: [app: :sample, version: "0.1.0", prune_code_paths: false]
  end
  """

  test "the file that a project configures is opened neither by its VM below the server nor by its test runs" do
    root =
      MixProject.new!(%{
        "mix.exs" => @own_mix,
        "config/config.exs" => """
        import Config
        config :jido_code_tools, audit_file: "trail.jsonl"
        """,
        "test/green_test.exs" => """
        defmodule Sample.GreenTest do
          use ExUnit.Case

          test "the library runs here" do
            true = Code.append_path(#{inspect(Application.app_dir(:jido_code_tools, "ebin"))})
            assert {:ok, _apps} = Application.ensure_all_started(:jido_code_tools)
            call = &JidoCode.Tools.SecureExecutor.call/3
            assert {:ok, _docs} = call.("fetch_elixir_docs", %{"module" => "Enum"}, %{session_id: "own"})
          end
        end
        """
      })

    client = McpClient.start!(root, ["--tier", "privileged"])
    McpClient.initialize(client)
    assert {:ok, _list} = McpClient.tool(client, "list_processes", %{})
    assert {:ok, text} = McpClient.tool(client, "run_exunit", %{"path" => "test/green_test.exs"})
    assert text =~ "1 test, 0 failures"
    assert Path.wildcard(Path.join(root, "trail*")) == []
    McpClient.leave(client)
    eventually(fn -> not alive?(client.pid) end)
  end

  # In a project with the library on the path of its VM, whose configuration names the file.
  defp mix(root, arguments) do
    library = ["-pa", Application.app_dir(:jido_code_tools, "ebin"), "-S", "mix"]
    env = [{"XDG_STATE_HOME", Path.join(root, "state")}, {"MIX_ENV", "dev"}]
    System.cmd("elixir", library ++ arguments, cd: root, env: env, stderr_to_stdout: true)
  end

  defp configured(file) do
    config = "import Config\nconfig :jido_code_tools, audit_file: #{inspect(file)}\n"
    MixProject.new!(%{"mix.exs" => @own_mix, "config/config.exs" => config})
  end

  test "mix jido.tool says the head at its end, and makes it whole" do
    root = configured("trail.jsonl")
    {said, 0} = mix(root, ["jido.tool", "call", "fetch_elixir_docs", ~s({"module": "Sample"})])
    assert [_line, head] = Regex.run(~r/^audit trail (?:.*)trail.jsonl: head (\w+)$/m, said)

    assert verified(Path.join(root, "trail.jsonl"), Path.join(root, "state/jido_code_tools/audit.key")) ==
             {0, "2 entries, unchanged. The head is #{head}\n"}
  end

  test "what makes no call works while the file can't be written" do
    root = configured("/nowhere/trail.jsonl")
    {said, status} = mix(root, ["jido.doctor"])
    assert status in [0, 1] and said =~ "Commands see only"
    {said, 0} = mix(root, ["jido.tool", "list"])
    assert said =~ "fetch_elixir_docs"
    {said, 1} = mix(root, ["jido.tool", "call", "fetch_elixir_docs", ~s({"module": "Sample"})])
    assert said =~ "the audit file /nowhere/trail.jsonl can't be written: No such file or directory"
  end

  defp verified(file, key) do
    with_io(:stderr, fn ->
      with_io(fn ->
        try do
          Mix.Tasks.Jido.Audit.run(["verify", file, "--key-file", key])
          0
        catch
          :exit, {:shutdown, status} -> status
        end
      end)
    end)
    |> then(fn {{status, out}, err} -> {status, out <> err} end)
  end

  test "--follow shows what is written from then on", %{trail: file} do
    Application.put_env(:jido_code_tools, :audit_file, file)
    Application.put_env(:jido_code_tools, :audit_key, @key)
    on_exit(fn -> for key <- [:audit_file, :audit_key], do: Application.delete_env(:jido_code_tools, key) end)
    core = Core.new(trail: true)
    AuditLogger.log_invocation("s1", "grep_search", :ok, 5, core: core)

    {:ok, device} = StringIO.open("")

    follower =
      spawn_link(fn ->
        Process.group_leader(self(), device)
        Mix.Tasks.Jido.Audit.run([file, "--follow", "--status", "ok"])
      end)

    shown = fn -> device |> StringIO.contents() |> elem(1) end
    eventually(fn -> shown.() =~ "grep_search" end)
    AuditLogger.log_invocation("s1", "mix_task", :ok, 5, core: core)
    AuditLogger.log_invocation("s1", "kill_shell", :error, 5, core: core)
    eventually(fn -> shown.() =~ "mix_task" end)
    refute shown.() =~ "kill_shell"
    Process.unlink(follower)
    Process.exit(follower, :kill)
  end
end
