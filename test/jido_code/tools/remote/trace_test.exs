defmodule JidoCode.Tools.Remote.TraceTest do
  # Tracing on another node leaves nothing there, whatever ends first.
  use ExUnit.Case, async: false

  import JidoCode.Tools.Test.CommandProcesses, only: [eventually: 1, kill: 2]

  alias JidoCode.Tools.Introspection.CallTrace
  alias JidoCode.Tools.{Remote, SecureExecutor}
  alias JidoCode.Tools.Test.Peers

  @moduletag skip: if(CallTrace.available?(), do: false, else: "needs OTP 27")
  @moduletag timeout: 120_000

  # It is not called again: what traces it waits.
  @args %{"reference" => "Till.Drawer.init/1", "timeout" => 60_000}

  setup do
    on_exit(&Peers.leave/0)
    %{target: Peers.start!(library: :started)}
  end

  defp context(target) do
    {:ok, remote} = Remote.new(target.name, cookie: Peers.cookie())
    id = "trace-#{System.unique_integer([:positive])}"
    %{session_id: id, granted_tier: :privileged, consented_tools: ["trace_calls"], node: remote}
  end

  defp traced?(target) do
    sessions = target |> Peers.on(:trace, :session_info, [:all]) |> List.wrap()
    Enum.any?(sessions, &(inspect(&1) =~ "CallTrace"))
  end

  defp tracers(target) do
    for pid <- Peers.on(target, :erlang, :processes, []),
        {:current_stacktrace, stack} <- [Peers.on(target, :erlang, :process_info, [pid, :current_stacktrace])],
        Enum.any?(stack, &(elem(&1, 0) == CallTrace)),
        do: pid
  end

  test "when the caller is killed", %{target: target} do
    context = context(target)
    {caller, monitor} = spawn_monitor(fn -> SecureExecutor.call("trace_calls", @args, context) end)
    eventually(fn -> traced?(target) end)
    assert [_tracer] = tracers(target)
    Process.exit(caller, :kill)
    assert_receive {:DOWN, ^monitor, :process, ^caller, :killed}, 10_000
    eventually(fn -> not traced?(target) end)
    eventually(fn -> tracers(target) == [] end)
  end

  test "when the VM that looks is killed", %{target: target} do
    looker = Peers.start!(library: :started, app: false)
    Peers.on(looker, :erlang, :spawn, [SecureExecutor, :call, ["trace_calls", @args, context(target)]])
    eventually(fn -> traced?(target) end)
    kill(String.to_integer(looker.os_pid), "KILL")
    eventually(fn -> not traced?(target) end)
    eventually(fn -> tracers(target) == [] end)
  end

  test "the call is answered when the traced node is killed", %{target: target} do
    context = context(target)

    call =
      Task.async(fn ->
        {SecureExecutor.call("trace_calls", @args, context), Process.info(self(), :messages)}
      end)

    eventually(fn -> traced?(target) end)
    kill(String.to_integer(target.os_pid), "KILL")
    assert {{:error, text}, {:messages, []}} = Task.await(call, 60_000)
    assert text =~ "connection"
  end
end
