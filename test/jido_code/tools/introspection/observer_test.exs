defmodule JidoCode.Tools.Introspection.ObserverTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Introspection.Observer
  alias JidoCode.Tools.Test.Processes

  defp look!(pid) do
    assert {:ok, process} = Observer.look(pid)
    process
  end

  test "a process that hibernates is ready for a message when what it was started as tells its behaviour" do
    for {kind, pid} <- Processes.start_hibernating() do
      process = look!(pid)
      assert process.activity == :hibernating
      # An Agent that lost its stack looks like any process of proc_lib, and so does a Task.
      lost = if Processes.hibernating_keeps_the_stack?(), do: [:task], else: [:agent, :task]
      assert process.behaviour == if(kind in lost, do: :proc_lib, else: kind)
      servers = [:genserver, :gen_statem, :agent] -- lost
      assert Observer.ready?(process) == kind in [:supervisor | servers]
      assert Observer.server?(process) == kind in servers
    end
  end

  test "a supervisor is ready once it has started, whether its release lets it hibernate or not" do
    {:ok, pid} = Supervisor.start_link([], strategy: :one_for_one)
    Processes.await_ready(pid)
    assert %{behaviour: :supervisor} = process = look!(pid)
    assert Observer.ready?(process)
  end

  test "a server that works, or was suspended, is not ready; nor is a process that waits in a loop of its own" do
    {:ok, server} = Processes.Server.start_link({Processes.unique(:server), 1})
    Processes.await_in(server, {:gen_server, :loop})
    assert Observer.ready?(look!(server))

    :ok = Processes.Server.block(server)
    assert %{behaviour: :genserver, activity: :busy} = look!(server)
    refute Observer.ready?(look!(server))
    send(server, :go_on)

    :sys.suspend(server)
    assert %{activity: :suspended} = look!(server)
    refute Observer.ready?(look!(server))

    refute Observer.ready?(look!(Processes.start_plain(Processes.unique(:plain))))
  end

  test "a process that is gone" do
    {pid, monitor} = spawn_monitor(fn -> :ok end)
    assert_receive {:DOWN, ^monitor, :process, ^pid, :normal}
    assert Observer.look(pid) == :dead
  end
end
