defmodule JidoCode.Tools.TelemetryTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Telemetry
  alias JidoCode.Tools.Test.Events

  @event [:jido_code, :security, :audit]

  test "passes measurements and metadata to whoever listens" do
    Events.record([@event])
    assert Telemetry.execute(@event, %{duration_us: 3}, %{tool: "t"}) == :ok
    assert_received {:event, @event, %{duration_us: 3}, %{tool: "t"}}
  end

  test "an event that nobody documented is a mistake in this library" do
    assert_raise FunctionClauseError, fn ->
      Telemetry.execute([:jido_code, :security, :audits], %{}, %{})
    end
  end

  test "an observer that fails costs the caller nothing" do
    id = make_ref()
    :ok = :telemetry.attach(id, @event, fn _, _, _, _ -> exit(:observer) end, nil)
    on_exit(fn -> :telemetry.detach(id) end)

    assert Telemetry.execute(@event, %{}, %{}) == :ok
  end

  test "the table names every event with its keys" do
    for {event, {measurements, metadata}} <- Telemetry.events() do
      assert [:jido_code, family, name] = event
      assert family in [:security, :elixir, :search, :shell] and is_atom(name)
      assert Enum.all?(measurements ++ metadata, &is_atom/1)
    end
  end
end
