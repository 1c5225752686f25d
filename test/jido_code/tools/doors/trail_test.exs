defmodule JidoCode.Tools.Doors.TrailTest do
  # The trail belongs to a whole VM, so each test has one of its own.
  use ExUnit.Case, async: false

  import ExUnit.CaptureIO
  import JidoCode.Tools.Test.CommandProcesses, only: [alive?: 1, eventually: 1]

  alias JidoCode.Tools.Doors.Trail
  alias JidoCode.Tools.SecureExecutor
  alias JidoCode.Tools.Security.{AuditLogger, AuditTrail, Core}
  alias JidoCode.Tools.Test.{McpClient, MixProject, Peers, Tree}

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

  test "answers are in the file before they are given; a second VM is kept out and says so", %{trail: file} do
    peer = vm!(file)
    assert {:ok, _docs} = call(peer)
    assert {:ok, %{entries: 2, head: head}} = AuditTrail.verify(file, @key)
    # What is printed at the end of a session is the file's.
    assert {:ok, %{head: ^head}} = Peers.on(peer, AuditLogger, :verify, [])

    other = Peers.start!(library: :loaded, app: false)
    Peers.on(other, :application, :load, [:jido_code_tools])

    for {key, value} <- [audit_file: file, audit_key: @key],
        do: Peers.on(other, :application, :set_env, [:jido_code_tools, key, value])

    assert {:error, {:jido_code_tools, reason}} =
             Peers.on(other, :application, :ensure_all_started, [:jido_code_tools])

    assert inspect(reason) =~ "writes"

    assert {:ok, _docs} = call(peer)
    assert {:ok, %{entries: 4}} = AuditTrail.verify(file, @key)

    # Gone, it leaves the file to the next, which goes on with the chain.
    Peers.stop(peer)
    next = eventually_vm!(file)
    assert {:ok, _docs} = call(next)
    assert {:ok, %{entries: 6}} = AuditTrail.verify(file, @key)
  end

  defp eventually_vm!(file), do: vm!(file)

  test "a folder that is lost stops every call, and back again lets them go on", %{
    folder: folder,
    trail: file
  } do
    peer = vm!(file)
    assert {:ok, _docs} = call(peer)
    File.rename!(folder, folder <> "-away")
    assert {:error, text} = call(peer)
    assert text =~ "the audit file can't be written" and text =~ "A person has to mend that"
    File.rename!(folder <> "-away", folder)
    assert {:ok, _docs} = call(peer)
    assert {:ok, _whole} = AuditTrail.verify(file, @key)
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
    assert told =~ "All is well up to entry 0"
    assert {1, told} = verified(file, Path.join(state, "none.key"))
    assert told =~ "the key can't be read: not_found"
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
