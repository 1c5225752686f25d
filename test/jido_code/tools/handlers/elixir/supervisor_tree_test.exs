defmodule JidoCode.Tools.Handlers.Elixir.SupervisorTreeTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Handlers.Elixir.SupervisorTree
  alias JidoCode.Tools.Test.{Events, ForeignLoop, ForeignServer, Processes}
  alias JidoCode.Tools.Test.Processes.Server

  @context %{project_namespaces: :all, session_id: "s"}
  @secret Enum.map_join(1..4, &Integer.to_string(&1 * 5_557, 36))

  defp look(name, args \\ %{}) do
    SupervisorTree.execute(Map.put(args, "supervisor", inspect(name)), @context)
  end

  defp supervisor(children) do
    name = Processes.unique(:supervisor)
    spec = %{id: name, type: :supervisor, start: {Supervisor, :start_link, [children, options(name)]}}
    pid = start_supervised!(spec)
    Processes.await_ready(pid)
    {name, pid}
  end

  defp options(name), do: [strategy: :one_for_one, name: name, max_restarts: 0]
  defp worker(id), do: %{id: id, start: {Agent, :start_link, [fn -> 0 end]}}

  defp below(id, children) do
    %{id: id, type: :supervisor, start: {Supervisor, :start_link, [children, [strategy: :one_for_one]]}}
  end

  # A chain of supervisors, one below the other.
  defp chain(0), do: [worker(:leaf)]
  defp chain(depth), do: [below(:"level_#{depth}", chain(depth - 1))]

  test "shows children as a tree and as data" do
    not_started = %{id: :absent, start: {Function, :identity, [:ignore]}}
    {name, _pid} = supervisor([worker(:a), below(:inner, [worker(:b), worker({:c, 1})]), not_started])
    assert {:ok, result} = look(name)

    assert result["tree"] == """
           #{inspect(name)}  (one_for_one, 0 restarts in 5 s)
           ├── [W] :a ●
           ├── [S] :inner ●  (one_for_one, 3 restarts in 5 s)
           │   ├── [W] :b ●
           │   └── [W] {:c, 1} ●
           └── [W] :absent ◌\
           """

    assert result["children_count"] == 3
    assert result["truncated"] == false
    refute Map.has_key?(result, "note")

    assert [a, inner, absent] = result["children"]
    assert %{"id" => ":a", "type" => "worker", "status" => "running", "modules" => ["Elixir.Agent"]} = a
    assert a["pid"] =~ "#PID<"
    refute Map.has_key?(a, "children")
    assert %{"type" => "supervisor", "children" => [%{"id" => ":b"}, %{"id" => "{:c, 1}"}]} = inner
    assert %{"status" => "not_started", "pid" => "undefined"} = absent

    info = result["supervisor_info"]
    assert info["name"] == inspect(name)
    assert info["status"] == "waiting"
    assert info["strategy"] == "one_for_one, 0 restarts in 5 s"
    assert inner["strategy"] == "one_for_one, 3 restarts in 5 s"
    refute Map.has_key?(result, "left_out")

    assert is_integer(info["message_queue_len"]) and is_integer(info["memory"]) and
             is_integer(info["reductions"])
  end

  test "every kind of supervisor" do
    tasks = Processes.unique(:tasks)
    dynamic = Processes.unique(:dynamic)
    registry = Processes.unique(:registry)
    partitions = Processes.unique(:partitions)

    start_supervised!({Task.Supervisor, name: tasks}, id: tasks)
    start_supervised!({DynamicSupervisor, name: dynamic}, id: dynamic)
    start_supervised!({Registry, keys: :unique, name: registry}, id: registry)

    start_supervised!({PartitionSupervisor, child_spec: worker(:p), name: partitions, partitions: 3},
      id: partitions
    )

    {:ok, _pid} = Task.Supervisor.start_child(tasks, fn -> Process.sleep(:infinity) end)
    {:ok, _pid} = DynamicSupervisor.start_child(dynamic, worker(:x))

    for {name, count} <- [
          {tasks, 1},
          {dynamic, 1},
          {registry, 1},
          {partitions, 3}
        ] do
      assert {:ok, %{"children_count" => ^count, "children" => [_ | _]}} = look(name)
    end

    assert {:ok, %{"children" => [%{"id" => ":undefined", "status" => "running"}]}} = look(dynamic)
  end

  test "a supervisor bridge has no children to list" do
    defmodule Bridge do
      @behaviour :supervisor_bridge
      @impl true
      def init(_argument), do: {:ok, spawn_link(fn -> Process.sleep(:infinity) end), nil}
      @impl true
      def terminate(_reason, _state), do: :ok
    end

    name = Processes.unique(:bridge)
    {:ok, pid} = :supervisor_bridge.start_link({:local, name}, Bridge, nil)
    :erlang.trace(pid, true, [:receive])
    assert {:ok, %{"children" => [], "children_count" => 0}} = look(name)
    refute_received {:trace, ^pid, :receive, _message}
  end

  defmodule Answering do
    # Looks like a supervisor and answers like one, with children that are hard to come by otherwise.
    use GenServer

    @impl true
    def init(children) do
      Process.put(:"$initial_call", {:supervisor, __MODULE__, 1})
      {:ok, children}
    end

    @impl true
    def handle_call(:count_children, _from, children) do
      {:reply, [specs: length(children), active: 0, supervisors: 0, workers: length(children)], children}
    end

    def handle_call(:which_children, _from, children), do: {:reply, children, children}
  end

  test "children that restart, have ended, or run on another node" do
    dead = spawn(fn -> :ok end)
    monitor = Process.monitor(dead)
    assert_receive {:DOWN, ^monitor, :process, ^dead, _reason}
    # A pid of the node other@host, as the external term format writes it.
    remote = :erlang.binary_to_term(<<131, 88, 119, 10, "other@host", 1::32, 0::32, 1::32>>)

    name = Processes.unique(:answering)

    children = [
      {:a, :restarting, :worker, [A]},
      {:b, dead, :worker, :dynamic},
      {:c, remote, :supervisor, [C]},
      {:d, :undefined, :worker, []}
    ]

    {:ok, _pid} = GenServer.start_link(Answering, Enum.reverse(children), name: name)
    assert {:ok, result} = look(name)
    assert Enum.map(result["children"], & &1["status"]) == ~w(restarting dead unknown not_started)
    assert Enum.map(result["children"], & &1["modules"]) == [["Elixir.A"], ["dynamic"], ["Elixir.C"], []]
    assert [%{"pid" => "restarting"}, _, _, %{"pid" => "undefined"}] = result["children"]

    assert result["tree"] == """
           #{inspect(name)}
           ├── [W] :a ↻
           ├── [W] :b ○
           ├── [S] :c ?
           └── [W] :d ◌\
           """
  end

  test "descends as deep as asked, two levels unless asked, five at most" do
    {name, _pid} = supervisor(chain(8))

    lines = fn args ->
      name |> look(args) |> elem(1) |> Map.fetch!("tree") |> String.split("\n") |> length()
    end

    assert lines.(%{"depth" => 1}) == 2
    assert lines.(%{}) == 3
    assert lines.(%{"depth" => 4}) == 5
    assert lines.(%{"depth" => 5}) == 6
    assert lines.(%{"depth" => 99}) == 6
    assert lines.(%{"depth" => 0}) == 3
  end

  test "lists fifty children of a supervisor and says how many there are" do
    {name, _pid} = supervisor(Enum.map(1..70, &worker/1))
    assert {:ok, result} = look(name)
    assert length(result["children"]) == 50
    assert result["children_count"] == 70
    assert result["truncated"] == true
    assert result["left_out"] == 20
    assert result["tree"] =~ "└── ... 20 more"
    assert Enum.map(result["children"], & &1["id"]) == Enum.map(1..50, &Integer.to_string/1)
  end

  test "the text of a large tree fits into a result, nearer levels first" do
    long = &{:child, &1, String.duplicate("n", 150)}

    {name, _pid} =
      supervisor(Enum.map(1..40, fn i -> below(long.(i), Enum.map(1..40, &worker(long.(&1)))) end))

    assert {:ok, result} = look(name, %{"depth" => 5})
    assert length(result["children"]) == 40
    assert characters(result) <= 30_000
    assert result["note"] =~ "larger than what is shown"
  end

  test "ids are hidden and bounded like any term" do
    {name, _pid} = supervisor([worker({:token, @secret}), worker(String.duplicate("x", 100_000))])
    assert {:ok, result} = look(name)
    refute inspect(result) =~ @secret
    assert characters(result) < 2_000
  end

  test "what was left out below counts as well" do
    {name, _pid} = supervisor([below(:inner, Enum.map(1..60, &worker/1))])
    assert {:ok, result} = look(name)
    assert result["truncated"] == true
    assert result["left_out"] == 10
    assert result["tree"] =~ "... 10 more"
  end

  test "registered names stand beside ids" do
    child = Processes.unique(:named)
    {name, _pid} = supervisor([Supervisor.child_spec({Server, {child, 1}}, id: :an_id)])
    assert {:ok, %{"tree" => tree, "children" => [%{"id" => ":an_id", "name" => named}]}} = look(name)
    assert named == inspect(child)
    assert tree =~ "[W] :an_id (#{inspect(child)}) ●"
  end

  test "children that nothing tells apart are one line with their number" do
    dynamic = Processes.unique(:dynamic)
    start_supervised!({DynamicSupervisor, name: dynamic}, id: dynamic)
    for _ <- 1..60, do: {:ok, _pid} = DynamicSupervisor.start_child(dynamic, worker(:x))
    {:ok, one} = DynamicSupervisor.start_child(dynamic, {Server, {Processes.unique(:server), 1}})

    assert {:ok, result} = look(dynamic)
    assert result["tree"] =~ "[W] 60 x Agent ●"
    assert result["tree"] =~ "[W] JidoCode.Tools.Test.Processes.Server ("
    assert result["children_count"] == 61
    assert result["truncated"] == false
    # A DynamicSupervisor's children come in no order of their own.
    assert {[%{"count" => 60, "modules" => ["Elixir.Agent"]}], [%{"pid" => pid}]} =
             Enum.split_with(result["children"], & &1["count"])

    assert pid == inspect(one)
  end

  test "a child that is called a supervisor and is none that is known is not opened, and that is told" do
    foreign = %{
      id: :foreign,
      type: :supervisor,
      start: {ForeignLoop, :start_link, [ForeignServer, 1, [name: Processes.unique(:foreign)]]}
    }

    {name, _pid} = supervisor([foreign])
    assert {:ok, result} = look(name)
    assert [%{"id" => ":foreign", "type" => "supervisor"} = child] = result["children"]
    refute Map.has_key?(child, "children")
    assert result["note"] =~ "was not opened: it runs in Elixir.JidoCode.Tools.Test.ForeignLoop"
  end

  test "supervisor2 and ranch_conns_sup are opened, seen in the loop in which they answer" do
    for {module, kind} <- [{:supervisor2, "worker"}, {:ranch_conns_sup, "worker"}] do
      name = Processes.unique(module)
      {:ok, pid} = module.start_link(name)
      assert {:ok, %{"children" => [%{"type" => ^kind, "status" => "running"}]}} = look(name)
      assert Process.alive?(pid)
    end
  end

  test "a child that ended is shown as it is" do
    dynamic = Processes.unique(:dynamic)
    start_supervised!({DynamicSupervisor, name: dynamic, max_restarts: 0}, id: dynamic)
    assert {:ok, %{"children" => [], "children_count" => 0, "tree" => tree}} = look(dynamic)
    assert tree == "#{inspect(dynamic)}  (one_for_one, 0 restarts in 5 s)"
  end

  describe "a busy supervisor" do
    test "gets no message; its children are found by their links" do
      name = Processes.unique(:busy)
      {:ok, pid} = DynamicSupervisor.start_link(strategy: :one_for_one, name: name)
      {:ok, child} = DynamicSupervisor.start_child(pid, {Server, {Processes.unique(:child), 1}})
      test = self()

      slow = fn ->
        send(test, :starting)

        receive do
          :go_on -> :ignore
        end
      end

      spawn_link(fn ->
        DynamicSupervisor.start_child(pid, %{id: :slow, start: {:erlang, :apply, [slow, []]}})
        send(test, :done)
      end)

      assert_receive :starting
      :erlang.trace(pid, true, [:receive])

      assert {:ok, result} = look(name)
      assert result["note"] =~ "found through its links"
      assert Enum.map(result["children"], & &1["pid"]) == [inspect(child)]
      refute_received {:trace, ^pid, :receive, _message}

      send(pid, :go_on)
      assert_receive :done
    end
  end

  test "one that hibernates is asked, as supervisors do of themselves since OTP 27" do
    name = Processes.unique(:asleep)

    pid =
      start_supervised!({DynamicSupervisor, name: name, strategy: :one_for_one, hibernate_after: 0}, id: name)

    {:ok, _child} = DynamicSupervisor.start_child(pid, worker(:x))
    Processes.await_hibernating(pid)

    assert {:ok, %{"children" => [%{"id" => ":undefined", "modules" => [_]}]} = result} = look(name)
    refute Map.has_key?(result, "note")
    Processes.await_hibernating(pid)
  end

  describe "leaves alone what is no supervisor:" do
    test "a GenServer, an Agent and a plain process live on, unasked" do
      server = Processes.unique(:server)
      agent = Processes.unique(:agent)
      plain = Processes.unique(:plain)
      start_supervised!({Server, {server, 1}})
      start_supervised!(%{id: agent, start: {Agent, :start_link, [fn -> 0 end, [name: agent]]}})
      Processes.start_plain(plain)

      for name <- [server, agent, plain] do
        pid = Process.whereis(name)
        :erlang.trace(pid, true, [:receive])
        assert {:error, message} = look(name)
        assert message =~ "is not a supervisor"
        assert Process.alive?(pid)
        refute_received {:trace, ^pid, :receive, _message}
      end
    end
  end

  describe "refuses" do
    test "what is not a name, and what is not there" do
      for {supervisor, text} <- [
            {"", "Invalid supervisor name"},
            {"#PID<0.1.0>", "Raw PIDs are not allowed"},
            {"Nobody.Has.This.Name", "not found"}
          ] do
        assert {:error, message} = SupervisorTree.execute(%{"supervisor" => supervisor}, @context)
        assert message =~ text
      end

      assert {:error, "Missing required parameter: supervisor"} = SupervisorTree.execute(%{}, @context)
      assert {:error, "Invalid supervisor name" <> _} = SupervisorTree.execute(%{"supervisor" => 1}, @context)

      {name, _pid} = supervisor([])
      stop_supervised!(name)
      assert {:error, message} = look(name)
      assert message =~ "not registered"
    end

    test "supervisors of the runtime, with or without colon" do
      for name <- [
            "kernel_sup",
            ":kernel_sup",
            "logger_sup",
            "Logger.Supervisor",
            "elixir_sup",
            ":kernel_safe_sup"
          ] do
        assert {:error, message} = SupervisorTree.execute(%{"supervisor" => name}, @context)
        assert message =~ "blocked for security"
      end
    end

    test "what is not the project's" do
      {name, _pid} = supervisor([])

      assert {:error, message} =
               SupervisorTree.execute(%{"supervisor" => inspect(name)}, %{project_namespaces: ["X"]})

      assert message =~ "project_namespaces"
    end
  end

  test "emits its event, with the outcome" do
    Events.record([[:jido_code, :elixir, :supervisor_tree]])
    {name, _pid} = supervisor([])
    look(name)
    assert_received {:event, _, %{exit_code: 0}, %{status: :ok, session_id: "s"}}
    SupervisorTree.execute(%{"supervisor" => "Nobody.Has.This.Name"}, @context)
    assert_received {:event, _, %{exit_code: 1}, %{task: "Nobody.Has.This.Name", status: :error}}
  end

  # What a result's texts come to.
  defp characters(term) when is_map(term), do: term |> Map.values() |> characters()
  defp characters(term) when is_list(term), do: term |> Enum.map(&characters/1) |> Enum.sum()
  defp characters(term) when is_binary(term), do: String.length(term)
  defp characters(_term), do: 0
end
