defmodule JidoCode.Tools.SessionsTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.{SecureExecutor, Sessions}
  alias JidoCode.Tools.Security.{AuditLogger, Core, Native, Permissions, RateLimiter}

  setup do
    %{session: "sessions-#{System.unique_integer([:positive])}"}
  end

  defp fill(session) do
    {:ok, :execute} = Permissions.grant_tier(session, :execute)
    {:ok, _} = Permissions.record_consent(session, "ets_inspect")
    :ok = RateLimiter.check_rate(session, "t", 1, 60_000)
    AuditLogger.log_invocation(session, "t", :ok, 1)
  end

  defp assert_gone(session) do
    assert Permissions.session_grants(session) == %{granted_tier: :read_only, consented_tools: []}
    assert RateLimiter.get_count(session, "t", 60_000) == 0
    # What happened stays known.
    assert [:granted, :consented, :ok] =
             session |> AuditLogger.get_audit_log(order: :asc) |> Enum.map(& &1.status)
  end

  # Every message sent to the process before has been handled when it answers.
  # Ending another test's session may take the time its shells take to end.
  defp settle, do: :sys.get_state(Sessions, 60_000)

  test "end when they are told to", %{session: session} do
    fill(session)
    assert SecureExecutor.end_session(session) == :ok
    assert_gone(session)
    assert SecureExecutor.end_session(session) == :ok
  end

  test "end with their owner, however it ends", %{session: session} do
    for reason <- [:normal, :shutdown, :kill] do
      owner = spawn(fn -> receive(do: ({:end, reason} -> exit(reason))) end)
      session = "#{session}-#{reason}"
      fill(session)
      assert SecureExecutor.own_session(session, owner) == :ok
      monitor = Process.monitor(owner)
      if reason == :kill, do: Process.exit(owner, :kill), else: send(owner, {:end, reason})
      assert_receive {:DOWN, ^monitor, :process, ^owner, _reason}
      settle()
      assert_gone(session)
    end
  end

  test "end at once when their owner is dead already", %{session: session} do
    {owner, monitor} = spawn_monitor(fn -> :ok end)
    assert_receive {:DOWN, ^monitor, :process, ^owner, _reason}
    fill(session)
    assert SecureExecutor.own_session(session, owner) == :ok
    settle()
    assert_gone(session)
  end

  test "a session that was ended and began again is not the old owner's", %{session: session} do
    owner = spawn(fn -> receive(do: (:stop -> :ok)) end)
    SecureExecutor.own_session(session, owner)
    SecureExecutor.end_session(session)
    fill(session)
    monitor = Process.monitor(owner)
    send(owner, :stop)
    assert_receive {:DOWN, ^monitor, :process, ^owner, _reason}
    settle()
    assert Permissions.session_grants(session).granted_tier == :execute
    SecureExecutor.end_session(session)
  end

  test "grants end after the idle time, and a call keeps them" do
    core = Core.new(clock: :manual)
    :ok = Native.grant_tier(core, "s", :execute)
    decide = fn -> Native.decide(core, :permission, "s", "mix_task", nil, nil, false, :session, :session) end

    for _ <- 1..3 do
      Core.advance(core, 3_000_000)
      assert decide.() == :ok
    end

    Core.advance(core, 3_600_001)
    assert {:permission_denied, :execute, :read_only} = decide.()
    Native.grant_expire(core)
    assert {:read_only, []} = Native.grant_get(core, "s")
  end

  test "sweeping and messages from nowhere change no answer", %{session: session} do
    fill(session)
    send(Sessions, :sweep)
    send(Sessions, {:DOWN, make_ref(), :process, self(), :normal})
    send(Sessions, :nonsense)
    settle()
    assert RateLimiter.get_count(session, "t", 60_000) == 1
    assert Permissions.session_grants(session).granted_tier == :execute
    SecureExecutor.end_session(session)
  end
end
