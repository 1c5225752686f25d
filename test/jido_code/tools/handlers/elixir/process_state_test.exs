defmodule JidoCode.Tools.Handlers.Elixir.ProcessStateTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Handlers.Elixir.ProcessState
  alias JidoCode.Tools.Test.{Consumer, Events, ForeignLoop, ForeignServer, HidingConsumer, Processes, Ticker}
  alias JidoCode.Tools.Test.Processes.{Handler, Hiding, Server, Statem}

  @context %{project_namespaces: :all, session_id: "s"}
  @secret Enum.map_join(1..4, &Integer.to_string(&1 * 6_661, 36))

  defp look(name, args \\ %{}) do
    ProcessState.execute(Map.put(args, "process", inspect(name)), @context)
  end

  defp server(state) do
    name = Processes.unique(:server)
    pid = start_supervised!({Server, {name, state}}, id: name)
    Processes.await_in(pid, {:gen_server, :loop})
    {name, pid}
  end

  describe "shows the state of" do
    test "a GenServer" do
      {name, _pid} = server(%{count: 3, items: [:a]})
      assert {:ok, result} = look(name)
      assert result["state"] == "%{count: 3, items: [:a]}"
      assert result["type"] == "genserver"
      refute Map.has_key?(result, "note")

      info = result["process_info"]
      assert info["registered_name"] == inspect(name)
      assert info["status"] == "waiting"
      assert info["message_queue_len"] == 0
      assert info["memory"] > 0 and info["reductions"] > 0
      assert info["behaviour"] == "genserver"
      assert info["initial_call"] == "JidoCode.Tools.Test.Processes.Server.init/1"
    end

    test "an Agent" do
      name = Processes.unique(:agent)
      start_supervised!(%{id: name, start: {Agent, :start_link, [fn -> %{a: 1} end, [name: name]]}})
      assert {:ok, %{"state" => "%{a: 1}", "type" => "genserver", "process_info" => info}} = look(name)
      assert info["behaviour"] == "agent"
    end

    test "a gen_statem, as its state and data" do
      name = Processes.unique(:statem)
      start_supervised!({Statem, {name, %{a: 1}}})
      assert {:ok, %{"state" => "{:waiting, %{a: 1}}", "type" => "gen_statem"}} = look(name)
    end

    test "a server registered under a module's name" do
      start_supervised!({Server, {JidoCode.Tools.Test.Named, 5}})

      for name <- ["JidoCode.Tools.Test.Named"] do
        assert {:error, "Process is blocked" <> _} = ProcessState.execute(%{"process" => name}, @context)
      end

      start_supervised!({Server, {Test.Named.Elsewhere, 5}}, id: :elsewhere)

      for name <- ["Test.Named.Elsewhere", "Elixir.Test.Named.Elsewhere", ":\"Elixir.Test.Named.Elsewhere\""] do
        assert {:ok, %{"state" => "5"}} = ProcessState.execute(%{"process" => name}, @context)
      end
    end
  end

  describe "a server of a behaviour that is not OTP's" do
    defp foreign(options \\ []) do
      name = Processes.unique(:foreign)
      {:ok, pid} = ForeignLoop.start_link(ForeignServer, %{a: 1}, [name: name] ++ options)

      if options[:hibernate],
        do: Processes.await_hibernating(pid),
        else: Processes.await_in(pid, {ForeignLoop, :process_next_msg})

      {name, pid}
    end

    test "gets no message, waiting or hibernating, and is called what it is" do
      for options <- [[], [hibernate: true]] do
        {name, pid} = foreign(options)
        trace_messages(pid)
        {us, {:ok, result}} = :timer.tc(fn -> look(name) end)
        assert %{"state" => nil, "note" => note, "process_info" => info} = result
        assert note =~ "waits in JidoCode.Tools.Test.ForeignLoop"
        assert note =~ "only OTP's own behaviours are known to answer"
        assert info["behaviour"] == "Elixir.JidoCode.Tools.Test.ForeignLoop"
        # It is idle, and nobody waits for it to become so.
        assert us < 2_000_000
        refute Map.has_key?(result, "error")
        refute_received {:trace, ^pid, :receive, _message}
        assert Process.alive?(pid)
      end
    end

    test "is not waited for while it works" do
      {name, pid} = foreign()
      send(pid, {:work, self()})
      assert_receive :working
      assert {:ok, %{"state" => nil, "note" => note}} = look(name)
      assert note =~ "works in JidoCode.Tools.Test.ForeignLoop"
      send(pid, :go_on)
    end

    test "whose module only looks like a GenServer's is not asked when it hibernates" do
      # Exports say nothing: this one names no behaviour at all.
      defmodule Lookalike do
        def init(_state), do: :proc_lib.hibernate(__MODULE__, :woken, [])
        def handle_call(_request, _from, state), do: {:reply, state, state}
        def handle_cast(_request, state), do: {:noreply, state}
        def woken, do: exit(:woken)
      end

      name = Processes.unique(:lookalike)
      pid = :proc_lib.spawn_link(Lookalike, :init, [1])
      Process.register(pid, name)
      Processes.await_hibernating(pid)
      assert {:ok, %{"state" => nil}} = look(name)
      Processes.await_hibernating(pid)
    end
  end

  describe "reads that come too often" do
    test "are answered with what was read last, and say so; the server's own timeout goes on" do
      name = Processes.unique(:ticker)
      pid = start_supervised!({Ticker, {name, self(), 100}}, id: name)
      Processes.await_in(pid, {:gen_server, :loop})

      looks = for _ <- 1..3, do: look(name)
      for {:ok, result} <- looks, do: refute(Map.has_key?(result, "note"))

      # A reading takes about a millisecond: without a pace, these would keep the server from ever ticking.
      flush_ticks()
      keep_looking(name, System.monotonic_time(:millisecond) + 400)
      assert_received :tick

      assert {:ok, %{"state" => state, "note" => note}} = look(name)
      assert state =~ "100"
      assert note =~ "Not fresh: this was read"
    end

    test "of different processes don't count together" do
      for _ <- 1..6 do
        {name, _pid} = server(1)
        assert {:ok, %{"state" => "1"} = result} = look(name)
        refute Map.has_key?(result, "note")
      end
    end

    test "by whoever asks count together" do
      {name, _pid} = server(1)

      answers = 1..8 |> Task.async_stream(fn _ -> look(name) end, max_concurrency: 8) |> Enum.to_list()
      notes = for {:ok, {:ok, result}} <- answers, do: result["note"]
      assert Enum.count(notes, &is_nil/1) == 3
    end

    defp keep_looking(name, until) do
      if System.monotonic_time(:millisecond) < until do
        {:ok, _result} = look(name)
        keep_looking(name, until)
      end
    end

    defp flush_ticks do
      receive do
        :tick -> flush_ticks()
      after
        0 -> :ok
      end
    end
  end

  test "every process of the project: where it stands and whom it belongs to, without a message" do
    {name, _pid} = server(1)
    plain = Processes.unique(:plain)
    pid = Processes.start_plain(plain)
    Process.link(Process.whereis(name))

    assert {:ok, %{"state" => nil, "process_info" => info}} = look(plain)
    assert info["pid"] == inspect(pid)
    assert info["links"] == [inspect(self())]
    assert [frame | _] = info["stack"]
    assert frame =~ "start_plain"
    assert info["dictionary_keys"] == []

    assert {:ok, %{"process_info" => info}} = look(name)
    assert info["parent"] == inspect(self()) or info["parent"] =~ "PID"
    assert info["ancestors"] != []
    assert inspect(self()) in info["links"]
    refute Map.has_key?(info, "label")
  end

  describe "GenStage's consumers" do
    test "are read, unless their own module hides something" do
      for {module, readable?} <- [{Consumer, true}, {HidingConsumer, false}] do
        name = Processes.unique(:consumer)
        {:ok, pid} = GenStage.start_link(module, %{events: 7}, name: name)
        Processes.await_in(pid, {:gen_server, :loop})
        assert {:ok, %{"state" => state} = result} = look(name)

        if readable?,
          do: assert(state =~ "events: 7"),
          else: assert(state == nil and result["note"] =~ "format_status")
      end
    end
  end

  describe "with a wide reach" do
    @wide Map.put(@context, :wide_reach, true)

    defp wide(process), do: ProcessState.execute(%{"process" => process}, @wide)

    test "a pid as the tools print it, and names of Registry and :global" do
      registry = Processes.unique(:registry)
      start_supervised!({Registry, keys: :unique, name: registry})
      via = {:via, Registry, {registry, {:cart, 17}}}
      {:ok, pid} = GenServer.start_link(Server, %{a: 1}, name: via)
      :yes = :global.register_name({:cart, registry}, pid)
      Processes.await_in(pid, {:gen_server, :loop})

      "#PID" <> bare = inspect(pid)

      for {text, index} <-
            Enum.with_index([
              inspect(pid),
              bare,
              inspect(via),
              "{via, 'Elixir.Registry', {#{registry}, {cart, 17}}}",
              inspect({:global, {:cart, registry}}),
              "{global, {cart, #{registry}}}"
            ]) do
        assert {:ok, %{"state" => "%{a: 1}", "process_info" => %{"pid" => shown}}} = wide(text),
               "#{index}: #{text}"

        assert shown == inspect(pid)
      end

      assert {:error, message} = wide(inspect({:via, Registry, {registry, :nobody}}))
      assert message =~ "not found"
      assert {:error, message} = wide(inspect({:via, Registry, {:no_such_registry, :nobody}}))
      assert message =~ "not found"
      # Other modules' whereis_name is code of the project.
      assert {:error, message} = wide(inspect({:via, __MODULE__, :x}))
      assert message =~ "Invalid process name"
      assert {:error, message} = wide("#PID<0.1.zz>")
      assert message =~ "is not a pid"
    end

    test "ownership is checked as for names" do
      assert {:error, message} = wide(inspect(Process.whereis(:kernel_sup)))
      assert message =~ "blocked"
      assert {:error, message} = wide(inspect(Process.whereis(JidoCode.Tools.Supervisor)))
      assert message =~ "blocked"
    end

    test "the name of a port is told as such" do
      port = Port.open({:spawn, "cat"}, [])
      name = Processes.unique(:port)
      Process.register(port, name)
      assert {:error, message} = look(name)
      assert message =~ "the name of a port"
    end
  end

  describe "leaves no trace on" do
    test "an idle server: same state, same mailbox" do
      {name, pid} = server(%{a: [1, 2, 3]})
      before = Processes.trace(pid)
      assert {:ok, %{"state" => "%{a: [1, 2, 3]}"}} = look(name)
      Processes.await_in(pid, {:gen_server, :loop})
      assert Processes.trace(pid) == before
      assert GenServer.call(name, :state) == %{a: [1, 2, 3]}
    end

    test "a gen_statem" do
      name = Processes.unique(:statem)
      start_supervised!({Statem, {name, %{a: 1}}})
      assert {:ok, _result} = look(name)
      assert :gen_statem.call(name, :state) == {:waiting, %{a: 1}}
    end

    test "processes that are no servers; they get no message at all" do
      plain = Processes.unique(:plain)
      Processes.start_plain(plain)

      task = Processes.unique(:task)
      {:ok, task_pid} = Task.start_link(fn -> Process.sleep(:infinity) end)
      Process.register(task_pid, task)

      events = Processes.unique(:events)
      {:ok, manager} = :gen_event.start_link({:local, events})
      :ok = :gen_event.add_handler(manager, Handler, %{inner: @secret})
      Processes.await_in(manager, {:gen_event, :fetch_msg})

      for {name, type, behaviour} <- [
            {plain, "other", "plain"},
            {task, "otp_process", "task"},
            {events, "otp_process", "gen_event"}
          ] do
        pid = Process.whereis(name)
        trace_messages(pid)
        before = Processes.trace(pid)

        assert {:ok, %{"state" => nil, "type" => ^type, "note" => note, "process_info" => info}} = look(name)
        assert info["behaviour"] == behaviour
        refute note =~ @secret
        assert Processes.trace(pid) == before
        refute_received {:trace, ^pid, :receive, _message}
      end
    end

    test "a supervisor" do
      name = Processes.unique(:supervisor)

      pid =
        start_supervised!(%{
          id: name,
          start: {Supervisor, :start_link, [[], [strategy: :one_for_one, name: name]]}
        })

      trace_messages(pid)
      assert {:ok, %{"state" => nil, "type" => "otp_process", "note" => note}} = look(name)
      assert note =~ "inspect_supervisor"
      refute_received {:trace, ^pid, :receive, _message}
    end

    test "a hibernating server: it is read, and hibernates again" do
      {name, pid} = server(%{a: 1})
      :ok = GenServer.call(name, :hibernate)
      Processes.await_hibernating(pid)
      before = Processes.trace(pid)

      assert {:ok, %{"state" => "%{a: 1}", "type" => "genserver"} = result} = look(name)
      refute Map.has_key?(result, "note")
      Processes.await_hibernating(pid)
      assert Processes.trace(pid) == before
      assert GenServer.call(name, :state) == %{a: 1}
    end

    test "processes that hibernate: only a known server gets a message" do
      servers = if Processes.hibernating_keeps_the_stack?(), do: [:agent], else: []

      for {kind, pid} <- Processes.start_hibernating() do
        name = Processes.unique(kind)
        Process.register(pid, name)
        trace_messages(pid)
        assert {:ok, result} = look(name)

        if kind in [:genserver, :gen_statem | servers] do
          assert result["state"] =~ "%{a: 1}"
          assert result["type"] == if(kind == :gen_statem, do: "gen_statem", else: "genserver")
        else
          assert %{"state" => nil, "note" => note} = result

          assert note =~
                   if(kind in [:agent, :task, :proc_lib, :plain], do: "hibernates", else: "State not read")

          refute_received {:trace, ^pid, :receive, _message}
        end

        Processes.await_hibernating(pid)
      end
    end

    test "an Agent that begins to hibernate while it is watched" do
      name = Processes.unique(:agent)
      {:ok, pid} = Agent.start_link(fn -> 1 end, name: name, hibernate_after: 0)
      test = self()

      Agent.cast(name, fn state ->
        send(test, :busy)

        receive do
          :go_on -> state
        end
      end)

      assert_receive :busy
      task = Task.async(fn -> look(name) end)
      assert Task.yield(task, 50) == nil
      send(pid, :go_on)

      if Processes.hibernating_keeps_the_stack?() do
        assert {:ok, %{"state" => "1"}} = Task.await(task)
      else
        assert {:ok, %{"state" => nil, "note" => note}} = Task.await(task)
        assert note =~ "hibernates"
      end
    end

    test "a busy server: it is watched until the timeout, then reported busy" do
      {name, pid} = server(%{a: 1})
      :ok = Server.block(pid)
      trace_messages(pid)

      {us, {:ok, result}} = :timer.tc(fn -> look(name, %{"timeout" => 300}) end)

      assert us in 100_000..1_000_000
      assert %{"state" => nil, "error" => "Timeout getting state", "type" => "genserver"} = result
      assert result["process_info"]["message_queue_len"] == 0
      refute_received {:trace, ^pid, :receive, _message}

      send(pid, :go_on)
      assert GenServer.call(name, :state) == %{a: 1}
    end

    test "a suspended server" do
      {name, pid} = server(%{a: 1})
      :sys.suspend(pid)
      assert {:ok, %{"state" => nil, "note" => note}} = look(name)
      assert note =~ "suspended"
      :sys.resume(pid)
      assert {:ok, %{"state" => "%{a: 1}"}} = look(name)
    end

    test "a server that calls another server" do
      {slow, slow_pid} = server(:slow)
      :ok = Server.block(slow_pid)
      caller = Processes.unique(:caller)
      Process.register(spawn_link(fn -> :gen_server.call(slow, :state, :infinity) end), caller)

      assert {:ok, %{"state" => nil, "type" => "other"}} = look(caller)
      send(slow_pid, :go_on)
    end

    test "the caller: no message stays in its mailbox" do
      {name, _pid} = server(1)
      {busy, pid} = server(2)
      :ok = Server.block(pid)
      for _ <- 1..20, do: {:ok, _} = look(name)
      {:ok, _} = look(busy, %{"timeout" => 50})
      send(pid, :go_on)
      assert Process.info(self(), :messages) == {:messages, []}
    end
  end

  test "a server that ends while it is watched" do
    {name, pid} = server(1)
    :ok = Server.block(pid)
    task = Task.async(fn -> look(name) end)
    assert Task.yield(task, 30) == nil
    stop_supervised!(name)
    assert {:error, message} = Task.await(task)
    assert message =~ "ended while it was read"
  end

  test "a server that becomes idle meanwhile is read" do
    {name, pid} = server(%{a: 1})
    :ok = Server.block(pid)
    task = Task.async(fn -> look(name, %{"timeout" => 5_000}) end)
    assert Task.yield(task, 50) == nil
    send(pid, :go_on)
    assert {:ok, %{"state" => "%{a: 1}"}} = Task.await(task)
  end

  describe "hides" do
    test "sensitive fields, before anything is rendered" do
      {name, _pid} =
        server(%{password: @secret, opts: [api_key: @secret], pairs: [{"token", @secret}], plain: 1})

      assert {:ok, %{"state" => state, "note" => note}} = look(name)
      refute state =~ @secret
      assert state =~ "plain: 1"
      assert note =~ "Sensitive fields hidden: 3"
    end

    test "the state of a module with format_status" do
      name = Processes.unique(:hiding)
      start_supervised!({Hiding, {name, %{inner: @secret, shown: 1}}})
      assert {:ok, %{"state" => nil, "note" => note}} = look(name)
      assert note =~ "read_format_status"
    end

    @tag :as_built
    test "structs with an Inspect implementation of their own" do
      {name, _pid} = server(%{config: %JidoCode.Tools.Test.Derived{inner: @secret}})
      assert {:ok, %{"state" => state}} = look(name)
      refute state =~ @secret
      assert state =~ "%JidoCode.Tools.Test.Derived{name: nil, ...}"

      {name, _pid} = server(%{config: %JidoCode.Tools.Test.Custom{inner: @secret}})
      assert {:ok, %{"state" => state, "note" => note}} = look(name)
      refute state =~ @secret
      assert note =~ "JidoCode.Tools.Test.Custom"
    end
  end

  describe "refuses" do
    test "what is not a name" do
      for {process, text} <- [
            {"", "Invalid process name"},
            {"  ", "Invalid process name"},
            {":", "Invalid process name"},
            {"#PID<0.1.0>", "Raw PIDs are not allowed"},
            {"<0.123.0>", "Raw PIDs are not allowed"},
            {"Nobody.Has.This.Name", "not found"},
            {":nobody_has_this_name", "not registered"},
            {String.duplicate("x", 5_000), "Invalid process name"}
          ] do
        assert {:error, message} = ProcessState.execute(%{"process" => process}, @context)
        assert message =~ text
      end

      assert {:error, "Missing required parameter: process"} = ProcessState.execute(%{}, @context)
      assert {:error, "Invalid process name" <> _} = ProcessState.execute(%{"process" => 5}, @context)
    end

    test "a dead process" do
      {name, pid} = server(1)
      stop_supervised!(name)
      refute Process.alive?(pid)
      assert {:error, message} = look(name)
      assert message =~ "not found"
    end

    test "every process of the runtime, however it is typed, and none of them notices" do
      own =
        Process.list()
        |> Enum.filter(&(Process.info(&1, :group_leader) == Process.info(self(), :group_leader)))

      names =
        for name <- Process.registered(), pid = Process.whereis(name), is_pid(pid), pid not in own, do: name

      assert length(names) > 20

      for name <- names,
          typed <- [inspect(name), Atom.to_string(name), String.trim_leading(inspect(name), ":")] do
        assert {:error, message} = ProcessState.execute(%{"process" => typed}, @context)
        assert message =~ "blocked", "#{typed}: #{message}"
      end

      assert :code_server |> Process.whereis() |> Process.alive?()
    end

    test "JidoCode's own" do
      for name <- ["JidoCode.Tools.Registry", "JidoCode.Session.Manager", "Elixir.JidoCode.SessionSupervisor"] do
        assert {:error, message} = ProcessState.execute(%{"process" => name}, @context)
        assert message =~ "blocked"
      end
    end

    test "what is not the project's, and says how to allow it" do
      {name, _pid} = server(1)

      for context <- [%{}, %{project_namespaces: ["Elsewhere"]}, %{project_namespaces: []}] do
        assert {:error, message} = ProcessState.execute(%{"process" => inspect(name)}, context)
        assert message =~ "project_namespaces"
      end

      context = %{project_namespaces: ["JidoCode.Tools.Test"]}
      assert {:ok, %{"state" => "1"}} = ProcessState.execute(%{"process" => inspect(name)}, context)
    end
  end

  test "emits its event, with the outcome" do
    Events.record([[:jido_code, :elixir, :process_state]])
    {name, pid} = server(1)
    label = inspect(name)

    look(name)
    assert_received {:event, _, %{exit_code: 0}, %{task: ^label, status: :ok, session_id: "s"}}

    ProcessState.execute(%{"process" => "Nobody.Has.This.Name"}, @context)
    assert_received {:event, _, %{exit_code: 1}, %{task: "Nobody.Has.This.Name", status: :error}}

    :ok = Server.block(pid)
    look(name, %{"timeout" => 50})
    assert_received {:event, _, %{exit_code: 1}, %{status: :timeout}}
    send(pid, :go_on)

    ProcessState.execute(%{"process" => 1}, @context)
    refute_received {:event, _, _, _}
  end

  test "a timeout that makes no sense becomes the default, a large one the maximum" do
    {name, _pid} = server(1)

    for timeout <- [0, -5, 10_000_000],
        do: assert({:ok, %{"state" => "1"}} = look(name, %{"timeout" => timeout}))

    assert {:error, message} = look(name, %{"timeout" => "5000"})
    assert message =~ "without quotes"
  end

  defp trace_messages(pid), do: :erlang.trace(pid, true, [:receive])
end
