unless Code.ensure_loaded?(:telemetry) do
  defmodule :telemetry do
    @moduledoc false
    # A stand-in with the contract of the real library: handlers are attached by id, called in the process that
    # executes the event, and detached when they fail.

    def attach(id, event, function, config), do: attach_many(id, [event], function, config)

    def attach_many(id, events, function, config) when is_function(function, 4) do
      if :ets.insert_new(table(), {id, events, function, config}) do
        :ok
      else
        {:error, :already_exists}
      end
    end

    def detach(id) do
      if :ets.take(table(), id) == [], do: {:error, :not_found}, else: :ok
    end

    def execute(event, measurements, metadata) when is_map(measurements) and is_map(metadata) do
      for {id, events, function, config} <- :ets.tab2list(table()), event in events do
        try do
          function.(event, measurements, metadata, config)
        catch
          _kind, _reason -> detach(id)
        end
      end

      :ok
    end

    def list_handlers(prefix) do
      for {id, events, function, config} <- :ets.tab2list(table()),
          event <- events,
          List.starts_with?(event, prefix) do
        %{id: id, event_name: event, function: function, config: config}
      end
    end

    # The table's owner lives as long as the VM; when two callers race to make it, the loser's owner just ends.
    defp table do
      if :ets.whereis(__MODULE__) == :undefined do
        caller = self()

        {owner, monitor} =
          spawn_monitor(fn ->
            :ets.new(__MODULE__, [:named_table, :public])
            send(caller, {self(), :ready})
            Process.sleep(:infinity)
          end)

        receive do
          {^owner, :ready} -> Process.demonitor(monitor, [:flush])
          {:DOWN, ^monitor, :process, ^owner, _reason} -> :ok
        end
      end

      __MODULE__
    end
  end
end

defmodule JidoCode.Tools.Test.Events do
  @moduledoc false
  # Sends this library's events to the test process, as `{:event, name, measurements, metadata}`.

  @doc "Records the given events that are executed by the calling process, until the test ends."
  def record(events) do
    test = self()
    id = {__MODULE__, make_ref()}

    :ok =
      :telemetry.attach_many(
        id,
        events,
        fn event, measurements, metadata, _config ->
          if test in [self() | callers()], do: send(test, {:event, event, measurements, metadata})
        end,
        nil
      )

    ExUnit.Callbacks.on_exit(fn -> :telemetry.detach(id) end)
  end

  # Tests run side by side: an event belongs to the test whose process, or whose task, executed it.
  defp callers, do: Process.get(:"$callers", []) ++ Process.get(:"$ancestors", [])
end
