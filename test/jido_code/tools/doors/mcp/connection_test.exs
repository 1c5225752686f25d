defmodule JidoCode.Tools.Doors.MCP.ConnectionTest do
  use ExUnit.Case, async: true

  import JidoCode.Tools.Test.CommandProcesses, only: [eventually: 1]

  alias JidoCode.Tools.JSON
  alias JidoCode.Tools.Doors.MCP.Connection
  alias JidoCode.Tools.Security.{AuditLogger, Permissions}
  alias JidoCode.Tools.Test.Tree

  @patience 60_000

  # The test is the launcher: it listens, and speaks through the accepted socket.
  setup do
    root = Tree.new!(%{"mix.exs" => "", "lib/cart.ex" => "defmodule Cart do\nend\n"})
    path = Path.join(root, "s")
    {:ok, listener} = :gen_tcp.listen(0, [:binary, packet: 4, active: false, ifaddr: {:local, path}])
    {:ok, connection} = Connection.start(path)
    {:ok, socket} = :gen_tcp.accept(listener, @patience)
    session = "connection-#{System.unique_integer([:positive])}"

    context = %{session_id: session, project_root: root, granted_tier: :execute, consented_tools: []}
    context = Map.put(context, :structured, true)
    %{root: root, connection: connection, socket: socket, session: session, context: context}
  end

  defp transmit(socket, message) do
    {:ok, json} = JSON.encode(message)
    :ok = :gen_tcp.send(socket, json)
  end

  defp call(socket, id, name, arguments \\ %{}),
    do: transmit(socket, %{"type" => "call", "id" => id, "name" => name, "arguments" => arguments})

  defp next(socket) do
    {:ok, frame} = :gen_tcp.recv(socket, 0, @patience)
    {:ok, message} = JSON.decode(frame)
    message
  end

  # Progress may come at any time before it.
  defp answer(socket) do
    case next(socket) do
      %{"type" => "progress"} -> answer(socket)
      %{"type" => "answer"} = answer -> answer
    end
  end

  defp ready(%{connection: connection, socket: socket, context: context}) do
    :ok = Connection.ready(connection, context)
    assert next(socket) == %{"type" => "ready"}
  end

  # Reading a named pipe that nobody writes to never ends by itself. Answers when it is seen to run.
  defp call_that_waits(%{root: root, socket: socket}, id) do
    unless File.exists?(Path.join(root, "pipe")), do: Tree.pipe!(root, "pipe")
    before = running(root)
    call(socket, id, "bash_execute", %{"command" => "cat pipe", "timeout" => 600_000})
    eventually(fn -> running(root) != before end)
  end

  # The commands at work in the project, by their folder.
  defp running(root) do
    for process <- Path.wildcard("/proc/[0-9]*"),
        File.read_link(Path.join(process, "cwd")) == {:ok, root},
        {:ok, "cat" <> _arguments} <- [File.read(Path.join(process, "cmdline"))],
        do: process
  end

  defp ungranted?(session), do: Permissions.session_grants(session) == Permissions.session_grants("nobody")

  defp audited(session), do: for(entry <- AuditLogger.get_audit_log(session), do: {entry.tool, entry.status})

  test "tells no secret when it says why it can't", %{connection: connection, socket: socket} do
    Connection.failed(
      connection,
      "can't connect to ecto://shop:wD4kq9ZtS3cr@db/shop" <> String.duplicate(" x", 20_000)
    )

    assert %{"type" => "failed", "why" => why} = next(socket)
    assert why =~ "can't connect to ecto://"
    refute why =~ "wD4kq9ZtS3cr"
    assert String.ends_with?(why, "\nRedacted: 1 value (password).")
    assert String.length(why) < 11_000
  end

  test "says why it can't in bytes that are not text, too", %{connection: connection, socket: socket} do
    Connection.failed(connection, "no database " <> <<255>>)
    assert %{"type" => "failed", "why" => why} = next(socket)
    assert why =~ "no database"
  end

  test "tells what it does on its way, and why it can't", %{connection: connection, socket: socket} do
    monitor = Process.monitor(connection)
    Connection.starting(connection, "compiling the project")
    assert next(socket) == %{"type" => "starting", "doing" => "compiling the project"}
    Connection.failed(connection, "no database")
    assert next(socket) == %{"type" => "failed", "why" => "no database"}
    assert :gen_tcp.recv(socket, 0, @patience) == {:error, :closed}
    assert_receive {:DOWN, ^monitor, :process, ^connection, :normal}, @patience
  end

  test "says so when nobody listens" do
    assert {:error, text} = Connection.start("/nowhere/s")
    assert text =~ "no launcher listens at /nowhere/s: no such file or directory"
  end

  test "runs calls through the pipeline", %{socket: socket, session: session} = world do
    ready(world)
    call(socket, 1, "grep_search", %{"pattern" => "Cart", "output_mode" => "files_with_matches"})
    answer = answer(socket)
    assert %{"id" => 1, "error" => false, "structured" => %{"count" => 1}} = answer
    assert answer["text"] =~ "lib/cart.ex"
    refute answer["text"] =~ "count"

    call(socket, 2, "grep_search")

    assert %{"id" => 2, "error" => true, "structured" => nil, "text" => "Missing required" <> _} =
             answer(socket)

    call(socket, 3, "get_process_state", %{"process" => "Elixir.Cart"})
    assert %{"id" => 3, "error" => true, "text" => denied} = answer(socket)
    assert denied =~ "--tier privileged, or with --consent get_process_state"

    call(socket, 4, "iex_eval")
    assert %{"id" => 4, "error" => true, "text" => "Unknown tool: iex_eval" <> _} = answer(socket)

    assert Enum.sort(audited(session)) == [
             {"get_process_state", :blocked},
             {"grep_search", :error},
             {"grep_search", :ok},
             {"iex_eval", :error}
           ]
  end

  test "runs calls beside a long one, which a cancellation ends", %{root: root, socket: socket} = world do
    ready(world)
    call_that_waits(world, 1)
    call(socket, 2, "grep_search", %{"pattern" => "Cart"})
    assert %{"id" => 2, "error" => false} = answer(socket)

    transmit(socket, %{"type" => "cancel", "id" => 1})
    eventually(fn -> running(root) == [] end)
    eventually(fn -> {"bash_execute", :cancelled} in audited(world.session) end)

    # A cancelled call gets no answer: the next one is another call's. Cancelling what is over does nothing.
    transmit(socket, %{"type" => "cancel", "id" => 1})
    transmit(socket, %{"type" => "cancel", "id" => 2})
    call(socket, 3, "grep_search", %{"pattern" => "Cart"})
    assert %{"id" => 3} = answer(socket)

    assert [_one_entry] = AuditLogger.get_audit_log(world.session) |> Enum.filter(&(&1.status == :cancelled))
  end

  test "ends calls, shells and session with the channel", %{root: root, socket: socket} = world do
    ready(world)
    Tree.pipe!(root, "pipe")
    call(socket, 1, "bash_background", %{"command" => "cat pipe"})
    assert %{"error" => false, "structured" => %{"shell_id" => _}} = answer(socket)
    eventually(fn -> match?([_shell], running(root)) end)
    call_that_waits(world, 2)
    assert [_shell, _call] = running(root)
    Permissions.grant_tier(world.session, :write)

    monitor = Process.monitor(world.connection)
    :ok = :gen_tcp.close(socket)
    assert_receive {:DOWN, ^monitor, :process, _connection, :normal}, @patience
    eventually(fn -> running(root) == [] end)
    eventually(fn -> ungranted?(world.session) end)
    assert {"bash_execute", :cancelled} in audited(world.session)
  end

  test "ends them when it is killed, too", %{root: root} = world do
    ready(world)
    call_that_waits(world, 1)
    Permissions.grant_tier(world.session, :write)
    Process.exit(world.connection, :kill)
    eventually(fn -> running(root) == [] and ungranted?(world.session) end)
  end

  test "hangs up on what is no message", %{connection: connection, socket: socket} do
    monitor = Process.monitor(connection)
    :ok = :gen_tcp.send(socket, "{")
    assert_receive {:DOWN, ^monitor, :process, ^connection, {:shutdown, _problem}}, @patience
    assert :gen_tcp.recv(socket, 0, @patience) == {:error, :closed}
  end
end
