Code.require_file("everything.exs", __DIR__)

# What the library emits from here on, for telemetry_test.exs; some events come but once in the life of a VM.
:ets.new(:events, [:named_table, :public, :bag])
events = Map.keys(JidoCode.Tools.Telemetry.events())
keep = fn event, measurements, metadata, table -> :ets.insert(table, {event, measurements, metadata}) end
:ok = :telemetry.attach_many("events", events, keep, :events)

ExUnit.start(capture_log: true, timeout: 180_000)
