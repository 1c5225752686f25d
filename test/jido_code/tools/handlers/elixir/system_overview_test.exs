defmodule JidoCode.Tools.Handlers.Elixir.SystemOverviewTest do
  # Figures of the whole VM, and a flag of it.
  use ExUnit.Case, async: false

  alias JidoCode.Tools.Handlers.Elixir.SystemOverview
  alias JidoCode.Tools.{Answers, Remote, SecureExecutor}
  alias JidoCode.Tools.Test.Peers

  doctest JidoCode.Tools.Answers.Overview

  @scope %{project_namespaces: :all}

  defp look!(context \\ @scope) do
    assert {:ok, result} = SystemOverview.execute(%{}, context)
    result
  end

  test "each part is there, and agrees with what the runtime says" do
    result = look!()
    refute (result["note"] || "") =~ "Not available in time"
    assert result["system"]["erlang"] == System.otp_release()
    assert result["system"]["elixir"] == System.version()
    assert_in_delta result["memory"]["total"], :erlang.memory(:total), :erlang.memory(:total) / 2
    assert %{"limit" => limit, "used" => used} = Enum.find(result["limits"], &(&1["name"] == "processes"))
    assert limit == :erlang.system_info(:process_limit) and used in 1..limit
    assert length(result["run_queues"]) >= System.schedulers_online()
    assert Enum.count(result["schedulers"], &(&1["kind"] == "normal")) == System.schedulers_online()
  end

  test "a busy scheduler shows, and measuring leaves nothing switched on" do
    spinner = spawn_link(&spin/0)
    result = look!()
    Process.unlink(spinner)
    Process.exit(spinner, :kill)
    assert Enum.any?(result["schedulers"], &(&1["percent"] > 30.0))
    assert Enum.all?(result["schedulers"], &(&1["percent"] >= 0 and &1["percent"] <= 100.1))
    assert :erlang.statistics(:scheduler_wall_time) == :undefined
  end

  defp spin, do: if(Enum.sum(1..1_000) > 0, do: spin())

  test "the largest mailbox, table and socket of the project" do
    full = spawn_link(fn -> Process.sleep(:infinity) end)
    for n <- 1..5_000, do: send(full, n)
    :ets.new(:overview_table, [:named_table, :public])
    :ets.insert(:overview_table, for(n <- 1..100_000, do: {n, n}))
    {:ok, listener} = :gen_tcp.listen(0, [:binary, active: false, ip: {127, 0, 0, 1}])
    {:ok, port} = :inet.port(listener)
    {:ok, client} = :gen_tcp.connect({127, 0, 0, 1}, port, [:binary, active: false])
    :ok = :gen_tcp.send(client, :binary.copy("x", 200_000))

    result = look!()
    assert %{"value" => 5_000, "pid" => pid} = hd(result["mailboxes"])
    assert pid == inspect(full)

    assert %{"rows" => 100_000, "owner" => owner} =
             Enum.find(result["tables"]["largest"], &(&1["name"] == "overview_table"))

    assert owner == inspect(self())

    assert Enum.any?(
             result["ports"]["busiest"],
             &(&1["sent"] >= 200_000 and &1["peer"] == "127.0.0.1:#{port}")
           )

    text = Answers.text("system_overview", result)
    assert text =~ "Erlang/OTP #{System.otp_release()}" and text =~ "overview_table: "
    assert String.length(text) < 10_000
  end

  test "a socket that is no port is among them" do
    {:ok, listener} = :socket.open(:inet, :stream, :tcp)
    :ok = :socket.bind(listener, %{family: :inet, addr: {127, 0, 0, 1}, port: 0})
    :ok = :socket.listen(listener)
    {:ok, %{port: number}} = :socket.sockname(listener)
    {:ok, client} = :socket.open(:inet, :stream, :tcp)
    :ok = :socket.connect(client, %{family: :inet, addr: {127, 0, 0, 1}, port: number})
    {:ok, server} = :socket.accept(listener)
    # Enough to be among the busiest, in parts that are sent whole.
    part = :binary.copy("x", 10_000)

    for _ <- 1..500 do
      :ok = :socket.send(client, part)
      {:ok, ^part} = :socket.recv(server, 10_000)
    end

    result = look!()
    me = inspect(self())

    assert [%{"name" => "socket inet stream", "sent" => sent, "process" => ^me}] =
             Enum.filter(result["ports"]["busiest"], &(&1["peer"] == "127.0.0.1:#{number}"))

    assert sent in 1_000_000..5_000_000

    assert Answers.text("system_overview", result) =~ "socket inet stream to 127.0.0.1:#{number}"
    assert look!(%{project_namespaces: ["Nobody.At.All"]})["ports"]["busiest"] == []
  end

  test "only the project's processes, tables and ports are named" do
    result = look!(%{project_namespaces: ["Nobody.At.All"]})
    assert result["mailboxes"] == [] and result["processes"] == []
    assert result["tables"]["largest"] == [] and result["tables"]["count"] > 10
    assert result["ports"]["busiest"] == []
  end

  test "needs the tier" do
    assert {:error, "Permission denied" <> _} =
             SecureExecutor.call("system_overview", %{}, %{session_id: "overview-none"})
  end

  describe "another node" do
    setup do
      on_exit(&Peers.leave/0)
    end

    defp remote!(peer) do
      {:ok, remote} = Remote.new(peer.name, cookie: Peers.cookie())

      context = %{
        session_id: "overview-#{System.unique_integer([:positive])}",
        granted_tier: :privileged,
        node: remote
      }

      assert {:ok, result} = SecureExecutor.call("system_overview", %{}, context)
      result
    end

    test "without the library says what it runs, with the supervisor that inspect_supervisor takes" do
      result = remote!(Peers.start!())
      assert %{"supervisor" => "Till.Supervisor"} = Enum.find(result["applications"], &(&1["name"] == "till"))
      assert Enum.any?(result["tables"]["largest"], &(&1["name"] == "till_prices"))
    end

    test "of Erlang alone, too" do
      result = remote!(Peers.start!(elixir: false, app: false))
      assert result["system"]["elixir"] == nil
      assert result["system"]["erlang"] == System.otp_release()
      assert result["memory"]["total"] > 1_000_000
    end
  end
end
