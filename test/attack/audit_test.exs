defmodule JidoCode.Tools.Attack.AuditTest do
  # Calls that nobody sees the end of, and names that look like something else in the trail.
  use ExUnit.Case, async: false

  alias JidoCode.Tools.SecureExecutor
  alias JidoCode.Tools.Security.{AuditLogger, AuditWatch, Permissions}
  alias JidoCode.Tools.Test.Runs

  defp session, do: "attack-#{System.unique_integer([:positive])}"
  defp entries(session), do: AuditLogger.get_audit_log(session, order: :asc)

  defp called(session, run) do
    context = %{session_id: session, granted_tier: :privileged}
    SecureExecutor.run(%{name: "grep", handler: Runs}, %{"run" => run}, context)
  end

  test "a call is in the trail while it runs, and once when it has ended" do
    {test, session} = {self(), session()}

    spawn_link(fn ->
      called(session, fn _context ->
        send(test, {:runs, self()})
        receive do: (:go -> {:ok, 1})
      end)

      send(test, :answered)
    end)

    assert_receive {:runs, worker}
    assert [%{status: :started, tool: "grep", args_hash: hash} = started] = entries(session)
    assert hash != nil
    send(worker, :go)
    assert_receive :answered
    assert [%{status: :ok, args_hash: ^hash, of: of}] = entries(session)
    assert of == started.id
    assert {:ok, _chain} = AuditLogger.verify()
  end

  test "a caller that is killed leaves an entry of its call's end" do
    {test, session} = {self(), session()}

    {caller, monitor} =
      spawn_monitor(fn ->
        called(session, fn _context ->
          send(test, :runs)
          Process.sleep(:infinity)
        end)
      end)

    assert_receive :runs
    Process.exit(caller, :kill)
    assert_receive {:DOWN, ^monitor, :process, ^caller, :killed}
    AuditWatch.settle()
    assert [%{status: :cancelled, tool: "grep", args_hash: hash, duration_us: duration}] = entries(session)
    assert hash != nil and duration > 0
  end

  test "whenever callers are killed, each call has one end" do
    session = session()

    callers =
      for n <- 1..100 do
        {pid, monitor} = spawn_monitor(fn -> called("#{session}-#{n}", fn _context -> {:ok, n} end) end)
        for _ <- 1..(n * 37), do: :ok
        if rem(n, 3) > 0, do: :erlang.yield()
        Process.exit(pid, :kill)
        monitor
      end

    for monitor <- callers, do: assert_receive({:DOWN, ^monitor, :process, _pid, _reason})
    AuditWatch.settle()

    for n <- 1..100 do
      # None where it was killed before it had made its call.
      assert entries("#{session}-#{n}") |> Enum.map(& &1.status) |> Enum.all?(&(&1 in [:ok, :cancelled]))
      assert length(entries("#{session}-#{n}")) <= 1
    end
  end

  test "what a person allowed is in the trail" do
    session = session()
    {:ok, :execute} = Permissions.grant_tier(session, :execute)
    {:ok, _tools} = Permissions.record_consent(session, "ets_inspect")
    {:ok, _tools} = Permissions.revoke_consent(session, "ets_inspect")

    assert [{:granted, "execute"}, {:consented, "ets_inspect"}, {:revoked, "ets_inspect"}] =
             Enum.map(entries(session), &{&1.status, &1.tool})

    SecureExecutor.end_session(session)
  end

  test "a tool's name can't look like a line of its own, nor move a cursor" do
    for name <- ["grep\naudit 1  12:00:00  grep  ok", "a\e[2Kb", "a\u202Eb", <<255>>] do
      shown = AuditLogger.plain(name)
      assert String.printable?(shown) and shown != name
      refute shown =~ ~r/[\n\e\x{202e}]/u
    end

    assert AuditLogger.plain("mix_task") == "mix_task"
    assert AuditLogger.plain("Größe") == "Größe"
  end
end
