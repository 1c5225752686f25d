defmodule JidoCode.Tools.Introspection.StateTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Introspection.State
  alias JidoCode.Tools.Test.Processes
  alias JidoCode.Tools.Test.Processes.{Hiding, Server}

  setup do
    name = Processes.unique(:server)
    pid = start_supervised!({Server, {name, %{a: 1, token: "x"}}})
    Processes.await_in(pid, {:gen_server, :loop})
    {:ok, name: name, pid: pid}
  end

  test "reads, and the process keeps the very same state", %{pid: pid} do
    # The heap doesn't grow by a copy, and the term isn't replaced by an equal one.
    {:ok, agent} = Agent.start_link(fn -> Enum.to_list(1..1_000) end)
    :erlang.garbage_collect(agent)
    before = live_words(agent)
    assert {:ok, excerpt} = State.read(agent, 1_000)
    assert {"[" <> _, %{truncated: false}} = State.text(excerpt)
    :erlang.garbage_collect(agent)
    # A copy would take 2,000.
    assert_in_delta live_words(agent), before, 200

    assert {:ok, excerpt} = State.read(pid, 1_000)
    assert {text, %{redacted: 1}} = State.text(excerpt)
    assert text == ~s(%{a: 1, token: "[REDACTED]"})
    assert GenServer.call(pid, :state) == %{a: 1, token: "x"}
  end

  defp live_words(pid) do
    {:garbage_collection_info, info} = Process.info(pid, :garbage_collection_info)
    info[:heap_size] + info[:old_heap_size]
  end

  test "a process that became busy is given up, and its late answer goes nowhere", %{pid: pid} do
    :ok = Server.block(pid)
    assert State.read(pid, 20) == {:error, :timeout}
    assert State.read_status(pid, 20) == {:error, :timeout}
    send(pid, :go_on)
    assert GenServer.call(pid, :state) == %{a: 1, token: "x"}
    assert Process.info(self(), :messages) == {:messages, []}
  end

  test "a process that is gone", %{pid: pid, name: name} do
    stop_supervised!(Server)
    assert State.read(pid, 1_000) == {:error, :gone}
    assert State.read(name, 1_000) == {:error, :gone}
    assert State.read_status(pid, 1_000) == {:error, :gone}
  end

  test "the status that a module prepares", %{pid: pid} do
    {:ok, hiding} = Hiding.start_link({Processes.unique(:hiding), %{inner: "unseen", shown: 1}})
    assert {:ok, excerpt} = State.read_status(hiding, 1_000)
    assert {text, _summary} = State.text(excerpt)
    assert text =~ "shown: 1"
    refute text =~ "unseen"

    assert {:ok, excerpt} = State.read_status(pid, 1_000)
    assert {text, _summary} = State.text(excerpt)
    assert text =~ ~s(token: "[REDACTED]")
  end
end
