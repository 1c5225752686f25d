defmodule JidoCode.Tools.RemoteTest do
  # This VM's name and its connections are one for all tests.
  use ExUnit.Case, async: false

  import JidoCode.Tools.Test.CommandProcesses, only: [eventually: 1, kill: 2]

  alias JidoCode.Tools.Handlers.Elixir.ProcessState
  alias JidoCode.Tools.Introspection.At
  alias JidoCode.Tools.{Remote, SecureExecutor}
  alias JidoCode.Tools.Remote.{Guest, Loader, RPC, Service}
  alias JidoCode.Tools.Security.AuditLogger
  alias JidoCode.Tools.Test.{Peers, Tree}

  doctest Remote

  @moduletag timeout: 120_000

  describe "the cookie" do
    setup do
      names = ["JIDO_NODE_COOKIE", "RELEASE_COOKIE"]
      before = Map.new(names, &{&1, System.get_env(&1)})
      on_exit(fn -> System.put_env(before) end)
      System.put_env(Map.new(names, &{&1, nil}))
    end

    defp cookie(opts) do
      {:ok, remote} = Remote.new("shop@localhost", opts)
      remote.cookie && remote.cookie.()
    end

    test "is the one given, the environment's, or this VM's own" do
      assert cookie([]) == nil

      System.put_env("RELEASE_COOKIE", "of-the-release")
      assert cookie([]) == "of-the-release"
      System.put_env("JIDO_NODE_COOKIE", "for-this")
      assert cookie([]) == "for-this"

      file = Path.join(Tree.new!(%{"cookie" => "from-a-file\n"}), "cookie")
      assert cookie(cookie_file: file) == "from-a-file"
      assert cookie(cookie_file: file, cookie: "given") == "given"
    end

    test "that is none is named by where it stands, not shown" do
      file = Path.join(Tree.new!(%{"cookie" => "two\nlines of it"}), "cookie")
      assert {:error, text} = Remote.new("shop@localhost", cookie_file: file)
      assert text =~ file
      refute text =~ "lines of it"
      System.put_env("JIDO_NODE_COOKIE", String.duplicate("x", 300))
      assert {:error, "JIDO_NODE_COOKIE holds no cookie" <> _} = Remote.new("shop@localhost")
    end
  end

  # Starting a node takes a second or more; one with the library, and nothing done to it, serves several tests.
  setup_all do
    %{shared: Peers.start!(library: :started)}
  end

  setup do
    on_exit(&Peers.leave/0)
  end

  defp remote(name, opts \\ []) do
    {:ok, remote} = Remote.new(name, Keyword.put_new(opts, :cookie, Peers.cookie()))
    remote
  end

  defp call(remote, tool, args, context \\ %{}) do
    id = "remote-#{System.unique_integer([:positive])}"

    SecureExecutor.call(
      tool,
      args,
      Map.merge(%{session_id: id, granted_tier: :privileged, node: remote}, context)
    )
  end

  # What a loan may leave behind: modules, names, processes.
  defp traces(peer) do
    modules = for {module, _file} <- Peers.on(peer, :code, :all_loaded, []), ours?(module), do: module
    names = for name <- Peers.on(peer, :erlang, :registered, []), ours?(name), do: name
    {modules, names, running(peer)}
  end

  # The functions of ours that processes are in there.
  defp running(peer) do
    for pid <- Peers.on(peer, :erlang, :processes, []),
        {:current_stacktrace, stack} <- [Peers.on(peer, :erlang, :process_info, [pid, :current_stacktrace])],
        {module, function, _arity, _location} <- stack,
        ours?(module),
        uniq: true,
        do: {module, function}
  end

  defp ours?(name), do: String.starts_with?(Atom.to_string(name), "Elixir.JidoCode")

  describe "a node that has the library" do
    setup %{shared: peer} do
      %{peer: peer, remote: remote(peer.name)}
    end

    test "is looked at by all four tools, guarded and redacted there", %{remote: remote, peer: peer} do
      assert {:ok, drawer} = call(remote, "get_process_state", %{"process" => "Till.Drawer"})
      assert drawer["node"] == peer.name
      assert drawer["type"] == "genserver"
      assert drawer["state"] =~ "coins: 12"
      assert drawer["state"] =~ ~s(password: "[REDACTED]")
      # Under no telling name, but in that node's configuration.
      refute drawer["state"] =~ Peers.secret()
      assert drawer["state"] =~ "pin: "
      assert drawer["note"] =~ "Redacted: 1 value (known secret)."
      refute drawer["note"] =~ "does not have"

      assert {:ok, tree} = call(remote, "inspect_supervisor", %{"supervisor" => "Till.Supervisor"})
      assert Enum.map(tree["children"], & &1["id"]) == ["Till.Prices", "Till.Drawer", "Till.Stuck"]

      assert {:ok, %{"result" => [%{"name" => "till_prices"}]}} =
               call(remote, "ets_inspect", %{"operation" => "list"})

      assert {:ok, %{"result" => rows, "node" => _}} =
               call(remote, "ets_inspect", %{"operation" => "sample", "table" => "till_prices"})

      assert Enum.sort(rows) == [~s({:api_key, "[REDACTED]"}), "{:bread, 3}"]

      assert {:ok, %{"docs" => [%{"name" => "sum"}], "node" => _}} =
               call(remote, "fetch_elixir_docs", %{"module" => "Enum", "function" => "sum"})

      assert {:error, blocked} = call(remote, "get_process_state", %{"process" => "code_server"})
      assert blocked =~ "blocked"
      assert {:error, blocked} = call(remote, "get_process_state", %{"process" => "JidoCode.Tools.Sessions"})
      assert blocked =~ "blocked"
      assert {:error, missing} = call(remote, "get_process_state", %{"process" => "Till.Nobody"})
      assert missing =~ "not found"
      assert {:error, missing} = call(remote, "get_process_state", %{"process" => "Till." <> Peers.secret()})
      refute missing =~ Peers.secret()
      assert missing =~ "Redacted: 1 value (known secret)."

      # Where the person looks from is not where the process lives.
      assert {:error, missing} =
               SecureExecutor.call("get_process_state", %{"process" => "Till.Drawer"}, %{
                 granted_tier: :privileged
               })

      assert missing =~ "not found"
    end

    test "this side decides and keeps the audit", %{remote: remote} do
      context = %{session_id: "remote-audit", granted_tier: :read_only}
      args = %{"process" => "Till.Drawer"}
      assert {:error, denied} = call(remote, "get_process_state", args, context)
      assert denied =~ "Permission denied"
      assert {:ok, _} = call(remote, "get_process_state", args, %{context | granted_tier: :privileged})

      assert [%{status: :ok}, %{status: :blocked}] = AuditLogger.get_audit_log("remote-audit")
      # No tool lets the model choose where to look.
      assert {:error, unknown} = call(remote, "get_process_state", Map.put(args, "node", "other@host"))
      assert unknown =~ "Unknown parameter: node"
    end

    test "a busy process is watched there and gets no message", %{remote: remote, peer: peer} do
      assert {:ok, stuck} = call(remote, "get_process_state", %{"process" => "Till.Stuck", "timeout" => 500})
      assert stuck["error"] == "Timeout getting state"
      assert stuck["node"] == peer.name

      pid = Peers.on(peer, :erlang, :whereis, [Till.Stuck])
      assert {:message_queue_len, 0} = Peers.on(peer, :erlang, :process_info, [pid, :message_queue_len])
    end

    test "tools that do not look at a running system stay here", %{remote: remote} do
      assert {:ok, %{"files" => 1} = found} =
               call(
                 remote,
                 "grep_search",
                 %{"pattern" => "defmodule JidoCodeTools.MixProject", "path" => "mix.exs"},
                 %{
                   project_root: File.cwd!()
                 }
               )

      refute Map.has_key?(found, "node")
    end

    test "a handler alone, without the pipeline, goes there too", %{remote: remote, peer: peer} do
      assert {:ok, %{"node" => node}} = ProcessState.execute(%{"process" => "Till.Drawer"}, %{node: remote})
      assert node == peer.name

      # Never somewhere else than was said.
      for nonsense <- [:nonode@nohost, "shop@localhost", %{}] do
        assert {:error, text} = ProcessState.execute(%{"process" => "Till.Drawer"}, %{node: nonsense})
        assert text =~ "Remote.new"
      end
    end
  end

  test "a library that is not started there works, and says what is not covered" do
    peer = Peers.start!(library: :loaded)
    assert {:ok, drawer} = call(remote(peer.name), "get_process_state", %{"process" => "Till.Drawer"})
    assert drawer["note"] =~ "jido_code_tools is not started on the node"
    assert drawer["state"] =~ ~s(password: "[REDACTED]")
  end

  describe "a node without the library" do
    @describetag :as_built

    setup do
      peer = Peers.start!()
      %{peer: peer, before: traces(peer)}
    end

    test "is looked at without consent as far as nothing need be loaded", %{peer: peer, before: before} do
      remote = remote(peer.name)
      assert {:ok, drawer} = call(remote, "get_process_state", %{"process" => "Till.Drawer"})
      assert %{"state" => nil, "type" => "genserver", "process_info" => info} = drawer
      assert drawer["note"] =~ "does not have jido_code_tools"
      assert drawer["note"] =~ "--consent-load"
      assert info["parent"] == "Till.Supervisor"

      assert {:ok, tree} = call(remote, "inspect_supervisor", %{"supervisor" => "Till.Supervisor"})
      assert Enum.map(tree["children"], & &1["id"]) == ["Till.Prices", "Till.Drawer", "Till.Stuck"]
      # Pids are printed as the node prints them, and taken back.
      assert [%{"pid" => pid} | _] = tree["children"]

      assert pid ==
               inspect(Peers.on(peer, :erlang, :whereis, [Till.Prices])) |> String.replace(~r/<\d+/, "<0")

      assert {:ok, %{"process_info" => info}} = call(remote, "get_process_state", %{"process" => pid})
      assert info["registered_name"] == "Till.Prices" and info["pid"] == pid

      assert {:ok, %{"result" => [%{"name" => "till_prices", "size" => 2}]}} =
               call(remote, "ets_inspect", %{"operation" => "list"})

      assert {:error, text} =
               call(remote, "ets_inspect", %{"operation" => "sample", "table" => "till_prices"})

      assert text =~ "--consent-load"

      # What this VM logged is not that node's.
      assert {:error, text} = call(remote, "get_logs", %{})
      assert text =~ "does not keep its log"
      assert traces(peer) == before
    end

    test "this side's settings hold for what it shows", %{peer: peer} do
      remote = remote(peer.name, consent_load: true)
      assert {:ok, %{"state" => state}} = call(remote, "get_process_state", %{"process" => "Till.Drawer"})
      assert state =~ "coins: 12"

      Application.put_env(:jido_code_tools, :redaction_fields, ["coins"])
      on_exit(fn -> Application.delete_env(:jido_code_tools, :redaction_fields) end)
      assert {:ok, %{"state" => state}} = call(remote, "get_process_state", %{"process" => "Till.Drawer"})
      assert state =~ ~s(coins: "[REDACTED]")
    end

    test "borrows what looking takes, and gives it back", %{peer: peer, before: before} do
      put_linger(300)
      remote = remote(peer.name, consent_load: true)

      assert {:ok, drawer} = call(remote, "get_process_state", %{"process" => "Till.Drawer"})
      assert drawer["state"] =~ "coins: 12"
      assert drawer["state"] =~ ~s(password: "[REDACTED]")
      assert drawer["note"] =~ "values that only it knows to be secret are not redacted"
      assert drawer["node"] == peer.name

      assert {:ok, tree} = call(remote, "inspect_supervisor", %{"supervisor" => "Till.Supervisor"})
      assert length(tree["children"]) == 3

      assert {:ok, %{"result" => [_, _]}} =
               call(remote, "ets_inspect", %{"operation" => "sample", "table" => "till_prices"})

      assert {:ok, %{"result" => ["{:bread, 3}"]}} =
               call(remote, "ets_inspect", %{
                 "operation" => "lookup",
                 "table" => "till_prices",
                 "key" => ":bread"
               })

      assert {:ok, %{"docs" => [_], "note" => note}} =
               call(remote, "fetch_elixir_docs", %{"module" => "Enum", "function" => "sum"})

      assert note =~ "read on this side"

      assert {:error, blocked} = call(remote, "get_process_state", %{"process" => "code_server"})
      assert blocked =~ "blocked"

      eventually(fn -> traces(peer) == before end)
      # Purged, not only marked as old.
      for module <- Loader.modules(), do: refute(Peers.on(peer, :erlang, :check_old_code, [module]))
      assert Peers.on(peer, :erlang, :whereis, [Till.Drawer]) |> is_pid()
    end

    test "keeps nothing when the VM that looked is gone", %{peer: peer, before: before} do
      put_linger(300)
      remote = remote(peer.name, consent_load: true)

      looking =
        Task.async(fn ->
          call(remote, "get_process_state", %{"process" => "Till.Stuck", "timeout" => 20_000})
        end)

      eventually(fn -> guest_leases(peer) == 1 end)

      # For the other side this is the same as a kill: the connection ends in the middle of a call.
      Peers.leave()
      assert {:error, text} = Task.await(looking, 5_000)
      assert text =~ "was lost during the call"
      eventually(fn -> traces(peer) == before end)
    end

    test "an answer that this VM has when it loses its name is a lost one", %{peer: peer} do
      # Whether an answer is at hand and not yet read when the name goes is chance: one round does not always show it.
      for _round <- 1..10 do
        assert :ok = Remote.connect(remote(peer.name))
        calls = for ask <- [&by_at/1, &by_rpc/1], do: asking(fn -> ask.(peer.node) end)
        Peers.leave()
        for call <- calls, do: assert(Task.await(call) == :noconnection)
      end
    end

    # Asks again and again, from before this returns until there is no answer.
    defp asking(ask) do
      test = self()

      task =
        Task.async(fn ->
          :ok = ask.()
          send(test, :asked)
          until_lost(ask)
        end)

      assert_receive :asked, 5_000
      task
    end

    defp until_lost(ask), do: with(:ok <- ask.(), do: until_lost(ask))

    defp by_at(node) do
      At.call(node, :erlang, :whereis, [:init])
      :ok
    rescue
      lost in At.Lost -> lost.reason
    end

    defp by_rpc(node) do
      case RPC.call(node, :erlang, :whereis, [:init], 5_000) do
        {:ok, _pid} -> :ok
        {:error, why} -> why
      end
    end

    test "keeps them for many sessions at once, and for as long as a call runs", %{peer: peer} do
      put_linger(100)
      remote = remote(peer.name, consent_load: true)

      stuck =
        Task.async(fn ->
          call(remote, "get_process_state", %{"process" => "Till.Stuck", "timeout" => 3_000})
        end)

      # A process that has just begun may still load its code, and then waits where it is not asked.
      read? = fn ->
        match?(
          {:ok, %{"state" => "%{" <> _}},
          call(remote, "get_process_state", %{"process" => "Till.Drawer"})
        )
      end

      drawers = for _ <- 1..10, do: Task.async(fn -> eventually(read?) end)
      for task <- drawers, do: assert(Task.await(task, 20_000))
      assert {:ok, %{"error" => "Timeout getting state"}} = Task.await(stuck, 20_000)
    end

    test "gives them back sooner when the session ends", %{peer: peer, before: before} do
      remote = remote(peer.name, consent_load: true)
      assert {:ok, _drawer} = call(remote, "get_process_state", %{"process" => "Till.Drawer"})
      assert traces(peer) != before
      Remote.release(remote)
      eventually(fn -> traces(peer) == before end)
    end

    test "modules that lost their keeper get a new one, which gives them back", %{peer: peer, before: before} do
      put_linger(300)
      remote = remote(peer.name, consent_load: true)

      for _round <- 1..3 do
        assert {:ok, %{"state" => _}} = call(remote, "get_process_state", %{"process" => "Till.Drawer"})
        keeper = Peers.on(peer, :erlang, :whereis, [Guest])
        if is_pid(keeper), do: Peers.on(peer, :erlang, :exit, [keeper, :kill])
      end

      assert {:ok, %{"note" => note}} = call(remote, "get_process_state", %{"process" => "Till.Drawer"})
      assert note =~ "does not have jido_code_tools"
      eventually(fn -> traces(peer) == before end)
    end

    test "another session's consent is not this one's", %{peer: peer} do
      args = %{"process" => "Till.Drawer"}

      assert {:ok, %{"state" => "%{" <> _}} =
               call(remote(peer.name, consent_load: true), "get_process_state", args)

      assert {:ok, %{"state" => nil, "note" => note}} = call(remote(peer.name), "get_process_state", args)
      assert note =~ "--consent-load"
    end

    test "its own modules of the same names are not written over", %{peer: peer} do
      Peers.on(peer, Code, :compile_string, [
        "defmodule JidoCode.Tools.Introspection.Excerpt do def take(_), do: :old end"
      ])

      assert {:error, text} =
               call(remote(peer.name, consent_load: true), "get_process_state", %{"process" => "Till.Drawer"})

      assert text =~ "a version of jido_code_tools that this one"
      assert Peers.on(peer, JidoCode.Tools.Introspection.Excerpt, :take, [1]) == :old
    end

    test "this side's idea of the project holds there", %{peer: peer} do
      remote = remote(peer.name, consent_load: true)

      assert {:error, text} =
               call(remote, "get_process_state", %{"process" => "Till.Drawer"}, %{
                 project_namespaces: ["Shop"]
               })

      assert text =~ "not part of the project"

      Application.put_env(:jido_code_tools, :project_namespaces, ["Shop"])
      on_exit(fn -> Application.delete_env(:jido_code_tools, :project_namespaces) end)
      assert {:error, text} = call(remote, "get_process_state", %{"process" => "Till.Drawer"})
      assert text =~ "not part of the project"
    end
  end

  describe "when the node can't be asked" do
    test "each reason is told with what to do", %{shared: peer} do
      [short, host] = String.split(peer.name, "@")
      args = %{"module" => "Enum"}

      assert {:error, text} = call(remote(peer.name, cookie: "wrong-cookie"), "fetch_elixir_docs", args)
      assert text =~ "refuses the connection"
      assert text =~ "cookie"
      refute text =~ "wrong-cookie"

      assert {:error, text} = call(remote("nobody@" <> host), "fetch_elixir_docs", args)
      assert text =~ "no node named nobody runs on 127.0.0.1"
      assert text =~ short

      assert {:error, text} = call(remote("shop@no-such-host.invalid"), "fetch_elixir_docs", args)
      assert text =~ "does not know the host"

      # No epmd there, or a packet filter.
      assert {:error, text} = call(remote("shop@127.0.0.99"), "fetch_elixir_docs", args)
      assert text =~ "can't be reached"

      # This VM took a long name for the first call.
      assert {:error, text} = call(remote("shop@localhost"), "fetch_elixir_docs", args)
      assert text =~ "has a short name"

      # None of this broke what works.
      assert {:ok, %{"node" => _}} = call(remote(peer.name), "fetch_elixir_docs", args)
    end

    test "a node that ended just now" do
      peer = Peers.start!(library: :started)
      assert {:ok, _} = call(remote(peer.name), "get_process_state", %{"process" => "Till.Drawer"})
      Peers.stop(peer)
      assert {:error, text} = call(remote(peer.name), "get_process_state", %{"process" => "Till.Drawer"})
      assert text =~ "can't be reached" or text =~ "was lost"
    end

    test "a node that ends during the call" do
      peer = Peers.start!(library: :started)

      looking =
        Task.async(fn ->
          call(remote(peer.name), "get_process_state", %{"process" => "Till.Stuck", "timeout" => 30_000})
        end)

      eventually(fn -> serving?(peer) end)
      kill(String.to_integer(peer.os_pid), "KILL")
      assert {:error, text} = Task.await(looking, 10_000)
      assert text =~ "was lost during the call"
    end

    test "a node that stops answering, and goes on" do
      peer = Peers.start!(library: :started)
      remote = remote(peer.name)
      assert {:ok, _} = call(remote, "get_process_state", %{"process" => "Till.Drawer"})

      os_pid = String.to_integer(peer.os_pid)
      kill(os_pid, "STOP")
      # A node that stays stopped could not be ended after a failure.
      on_exit(fn -> kill(os_pid, "CONT") end)
      eventually(fn -> threads(os_pid) == ["T"] end)
      started = System.monotonic_time(:millisecond)
      assert {:error, text} = call(remote, "get_process_state", %{"process" => "Till.Drawer"})
      assert text =~ "did not answer in time"
      assert System.monotonic_time(:millisecond) - started < 20_000

      kill(os_pid, "CONT")
      assert {:ok, _} = call(remote, "get_process_state", %{"process" => "Till.Drawer"})
    end

    # The states that an OS process's threads are in: a signal stops one after the other.
    defp threads(os_pid) do
      for stat <- Path.wildcard("/proc/#{os_pid}/task/*/stat"), uniq: true do
        [_name, rest] = stat |> File.read!() |> String.split(") ", parts: 2)
        String.first(rest)
      end
    end

    test "the work there ends with the caller here", %{shared: peer} do
      {caller, monitor} =
        spawn_monitor(fn ->
          call(remote(peer.name), "get_process_state", %{"process" => "Till.Stuck", "timeout" => 30_000})
        end)

      eventually(fn -> serving?(peer) end)
      Process.exit(caller, :kill)
      assert_receive {:DOWN, ^monitor, :process, ^caller, :killed}
      eventually(fn -> not serving?(peer) end)
    end
  end

  describe "versions" do
    test "code compiled here is not given to a runtime that it was not made for" do
      otp = :erlang.system_info(:otp_release) |> List.to_integer()
      assert Loader.check_version(:a@b, otp) == :ok
      assert Loader.check_version(:a@b, otp + 2) == :ok
      assert {:error, text} = Loader.check_version(:a@b, otp - 1)
      assert text =~ "runs OTP #{otp - 1}"
      assert {:error, _text} = Loader.check_version(:a@b, otp + 3)
    end

    test "a library of another protocol, and of another version" do
      peer = Peers.start!()
      remote = remote(peer.name)

      service = fn about ->
        Peers.on(peer, Code, :compile_string, [
          """
          Code.compiler_options(ignore_module_conflict: true)

          defmodule JidoCode.Tools.Remote.Service do
            def open, do: #{inspect(about)}
            def run(_handler, _args, _context, _options), do: {:ok, {:ok, %{"state" => "s"}}}
          end
          """
        ])
      end

      about = %{protocol: Service.protocol() + 1, version: "9.0.0", redacts?: true}
      service.(about)
      assert {:error, text} = call(remote, "get_process_state", %{"process" => "Till.Drawer"})
      assert text =~ "Bring both to the same version"

      service.(%{about | protocol: Service.protocol()})
      assert {:ok, result} = call(remote, "get_process_state", %{"process" => "Till.Drawer"})
      assert result["note"] =~ "The node has version 9.0.0"

      service.(:something_else)
      assert {:error, text} = call(remote, "get_process_state", %{"process" => "Till.Drawer"})
      assert text =~ "Bring both to the same version"
    end
  end

  describe "a node of Erlang alone" do
    @programs """
    -module(till).
    -export([start/0, init/1, handle_call/3, handle_cast/2]).
    -behaviour(gen_server).
    -record(drawer, {coins = 0, password, notes = []}).
    start() -> {ok, Pid} = gen_server:start({local, till_drawer}, ?MODULE, [], []), Pid.
    init([]) ->
        ets:new(till_rows, [named_table, protected]),
        ets:insert(till_rows, [{{resource, <<"/">>, queue, <<"q">>}, 7}, {self(), me}]),
        {ok, #drawer{coins = 12, password = "hunter2"}}.
    handle_call(_, _, State) -> {reply, ok, State}.
    handle_cast(_, State) -> {noreply, State}.
    """

    setup do
      peer = Peers.start!(app: false, elixir: false)
      folder = Tree.new!(%{"till.erl" => @programs})
      file = String.to_charlist(Path.join(folder, "till"))

      {:ok, :till} =
        Peers.on(peer, :compile, :file, [file, [:debug_info, outdir: String.to_charlist(folder)]])

      true = Peers.on(peer, :code, :add_path, [String.to_charlist(folder)])
      application = {:application, :till, vsn: ~c"1", modules: [:till], registered: [], applications: []}
      :ok = Peers.on(peer, :application, :load, [application])
      Peers.on(peer, :till, :start, [])
      %{peer: peer, remote: remote(peer.name, consent_load: true), before: traces(peer)}
    end

    @tag :as_built
    test "is looked at, in its own spelling, and keeps no code", %{peer: peer, remote: remote, before: before} do
      put_linger(300)

      for name <- ["till_drawer", ":till_drawer", "'till_drawer'"] do
        assert {:ok, drawer} = call(remote, "get_process_state", %{"process" => name})
        assert drawer["state"] == ~S(#drawer{coins: 12, password: "[REDACTED]", notes: []})
        assert drawer["process_info"]["dictionary_keys"] == []
      end

      assert {:ok, %{"result" => [table]}} = call(remote, "ets_inspect", %{"operation" => "list"})
      assert %{"name" => "till_rows", "protection" => "protected", "owner" => ":till_drawer"} = table

      for key <- [~S({:resource, <<"/">>, :queue, "q"}), ~S({resource, <<"/">>, queue, <<"q">>})] do
        assert {:ok, %{"result" => [row]}} = lookup(remote, key)
        assert row =~ ~S({{:resource, "/", :queue, "q"}, 7})
      end

      assert {:ok, %{"result" => rows}} =
               call(remote, "ets_inspect", %{"operation" => "sample", "table" => "till_rows"})

      # A pid that is shown can be asked for.
      assert [_, pid] = rows |> Enum.join() |> then(&Regex.run(~r/(#PID<0\.\d+\.\d+>), :me/, &1))
      assert {:ok, %{"result" => [_]}} = lookup(remote, pid)

      assert {:ok, %{"process_info" => %{"registered_name" => ":till_drawer"}}} =
               call(remote, "get_process_state", %{"process" => pid})

      assert {:error, blocked} = call(remote, "inspect_supervisor", %{"supervisor" => "kernel_sup"})
      assert blocked =~ "blocked"

      eventually(fn -> traces(peer) == before end)
    end

    test "atoms that the node does not have are not made there", %{peer: peer, remote: remote} do
      assert {:error, _} = call(remote, "get_process_state", %{"process" => "unheard_of_0"})
      assert {:error, _} = lookup(remote, "{unheard_of_key_0, 1}")
      count = Peers.on(peer, :erlang, :system_info, [:atom_count])

      for n <- 1..50 do
        assert {:error, _} = call(remote, "get_process_state", %{"process" => "unheard_of_#{n}"})
        assert {:error, _} = lookup(remote, "{unheard_of_key_#{n}, 1}")
      end

      assert Peers.on(peer, :erlang, :system_info, [:atom_count]) == count
    end

    defp lookup(remote, key),
      do: call(remote, "ets_inspect", %{"operation" => "lookup", "table" => "till_rows", "key" => key})
  end

  test "this VM is not an open door, and its name tells nobody's cookie", %{shared: peer} do
    assert :ok = Remote.connect(remote(peer.name))
    # The other side counts a connection a moment later.
    assert eventually(fn -> node() in Peers.on(peer, :erlang, :nodes, [:hidden]) end)
    assert Peers.on(peer, :erlang, :nodes, []) == []
    {:ok, names} = :erl_epmd.names({127, 0, 0, 1})
    refute Enum.any?(names, fn {name, _port} -> String.starts_with?(List.to_string(name), "jido-") end)

    context = %{node: remote(peer.name)}
    refute inspect(context) =~ Peers.cookie()
    refute :io_lib.format("~p", [context]) |> IO.iodata_to_binary() =~ Peers.cookie()
    assert JidoCode.Tools.Security.OutputSanitizer.contains_sensitive?("it is #{Peers.cookie()}")
  end

  defp put_linger(ms) do
    Application.put_env(:jido_code_tools, :node_linger_ms, ms)
    on_exit(fn -> Application.delete_env(:jido_code_tools, :node_linger_ms) end)
  end

  # Whether a call is being worked on there.
  defp serving?(peer), do: {ProcessState, :when_ready} in running(peer)

  defp guest_leases(peer) do
    with pid when is_pid(pid) <- Peers.on(peer, :erlang, :whereis, [Guest]),
         {:monitors, monitors} <- Peers.on(peer, :erlang, :process_info, [pid, :monitors]) do
      length(monitors)
    else
      _gone -> 0
    end
  end
end
