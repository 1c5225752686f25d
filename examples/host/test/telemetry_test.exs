defmodule JidoCode.TelemetryTest do
  use ExUnit.Case, async: false

  import JidoCode.Everything, only: [all: 2, call: 4, pipe!: 1, session!: 1]

  alias JidoCode.Tools.{Catalog, SecureExecutor, Telemetry}
  alias JidoCode.Tools.Security.Permissions

  setup do
    session = session!(Path.expand("stall"))
    on_exit(fn -> SecureExecutor.end_session(session) end)
    %{session: session, opts: [executor: &SecureExecutor.run/3]}
  end

  test "every event of the table comes, with the keys that the table names", %{session: session, opts: opts} do
    # Denied, allowed, redacted, killed, limited: together they emit all there is.
    {:error, _denied} = call("ets_inspect", %{"operation" => "list"}, session, opts)
    {:ok, :privileged} = Permissions.grant_tier(session, :privileged)
    called = for {name, _result} <- all(session, opts), do: name
    for _call <- 1..5, do: call("ets_inspect", %{"operation" => "list"}, session, opts)

    pipe = pipe!(Path.expand("stall"))
    on_exit(fn -> File.rm(pipe) end)
    {:ok, %{"shell_id" => id}} = call("bash_background", %{"command" => "cat #{pipe}"}, session, opts)
    {:ok, _killed} = call("kill_shell", %{"shell_id" => id}, session, opts)

    # One that ends by itself; its end is told when it is there.
    tell = fn _event, %{exit_code: 0}, %{shell_id: id, status: :completed}, test ->
      send(test, {:ended, id})
    end

    :ok = :telemetry.attach("ends", [:jido_code, :shell, :background_complete], tell, self())
    {:ok, %{"shell_id" => ended}} = call("bash_background", %{"command" => "true"}, session, opts)
    assert_receive {:ended, ^ended}, 20_000
    :ok = :telemetry.detach("ends")

    others = for %{event: {_, _} = event, name: name} <- Catalog.definitions(), name not in called, do: event

    for {[_app, family, operation] = event, {measured, described}} <- Telemetry.events(),
        {family, operation} not in others do
      seen = for {^event, measurements, metadata} <- :ets.lookup(:events, event), do: {measurements, metadata}
      assert seen != [], "not seen: #{inspect(event)}"

      for {measurements, metadata} <- seen do
        assert Enum.sort(Map.keys(measurements)) == Enum.sort(measured), inspect({event, measurements})
        # The caller of the redactor adds its own.
        own = if event == [:jido_code, :security, :output_sanitized], do: [:tool, :session_id], else: []
        assert (Map.keys(metadata) -- described) -- own == [], inspect({event, metadata})
        assert described -- Map.keys(metadata) == [], inspect({event, metadata})
        assert Enum.all?(Map.values(measurements), &is_integer/1), inspect({event, measurements})
      end
    end
  end

  test "an observer that fails is detached, and costs the call nothing", %{session: session, opts: opts} do
    event = [:jido_code, :elixir, :fetch_docs]
    fails = fn ^event, %{duration: _}, %{task: "Stall"}, :config -> raise "no" end
    :ok = :telemetry.attach("fails", event, fails, :config)
    assert {:error, :already_exists} = :telemetry.attach("fails", event, fails, :config)

    assert {:ok, _docs} = call("fetch_elixir_docs", %{"module" => "Stall"}, session, opts)
    refute "fails" in Enum.map(:telemetry.list_handlers(event), & &1.id)
  end
end
