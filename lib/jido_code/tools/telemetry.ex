defmodule JidoCode.Tools.Telemetry do
  @moduledoc """
  Every event that the library emits, and the one place that emits them.

  Durations are microseconds of monotonic time, other times carry their unit in their name. `session_id` may be nil.

  | Event | Measurements | Metadata |
  |---|---|---|
  | `[:jido_code, :security, :handler_loaded]` | `system_time` | `module`, `tier` |
  | `[:jido_code, :security, :middleware_check]` | `duration` | `tool`, `session_id`, `result` (`:allowed`, `:blocked`), `reason` |
  | `[:jido_code, :security, :isolation]` | `duration` | `handler`, `result` (`:ok`, `:timeout`, `:killed`, `:crashed`), `reason` |
  | `[:jido_code, :security, :output_sanitized]` | `redaction_count` | `type` (`:string`, `:map`) and the caller's own |
  | `[:jido_code, :security, :rate_limited]` | `retry_after_ms` | `session_id`, `tool`, `limit`, `window_ms` |
  | `[:jido_code, :security, :audit]` | `duration_us` | `session_id`, `tool`, `status` (`:ok`, `:error`, `:blocked`, `:timeout`, `:crashed`, `:cancelled`), `entry_id` |
  | `[:jido_code, :security, :permission_denied]` | none | `tool`, `required_tier`, `granted_tier` |
  | `[:jido_code, :elixir, operation]` | `duration`, `exit_code` | `task`, `status` (`:ok`, `:error`, `:timeout`), `session_id` |
  | `[:jido_code, :search, operation]` | `duration`, `result_count` | `path`, `status`, `session_id` |
  | `[:jido_code, :shell, operation]` | `duration`, `exit_code` | `command`, `status`, `session_id` |
  | `[:jido_code, :shell, :background_start]` | none | `shell_id`, `command`, `session_id` |
  | `[:jido_code, :shell, :background_kill]` | none | `shell_id`, `session_id` |
  | `[:jido_code, :shell, :background_complete]` | `exit_code` | `shell_id`, `status`, `session_id` |

  `:telemetry` belongs to the application that uses the library. Without it nothing is emitted; with it, an observer that
  fails costs the tool call nothing.
  """

  alias JidoCode.Tools.{Catalog, Definition}

  @families Map.new(Definition.event_fields())

  @events %{
    [:jido_code, :security, :handler_loaded] => {[:system_time], [:module, :tier]},
    [:jido_code, :security, :middleware_check] => {[:duration], [:tool, :session_id, :result, :reason]},
    [:jido_code, :security, :isolation] => {[:duration], [:handler, :result, :reason]},
    [:jido_code, :security, :output_sanitized] => {[:redaction_count], [:type]},
    [:jido_code, :security, :rate_limited] => {[:retry_after_ms], [:session_id, :tool, :limit, :window_ms]},
    [:jido_code, :security, :audit] => {[:duration_us], [:session_id, :tool, :status, :entry_id]},
    [:jido_code, :security, :permission_denied] => {[], [:tool, :required_tier, :granted_tier]},
    [:jido_code, :shell, :background_start] => {[], [:shell_id, :command, :session_id]},
    [:jido_code, :shell, :background_kill] => {[], [:shell_id, :session_id]},
    [:jido_code, :shell, :background_complete] => {[:exit_code], [:shell_id, :status, :session_id]}
  }

  @type event :: [atom(), ...]

  @doc """
  Whether events reach anybody: whether `:telemetry` is loaded. Checked on each call, as the host may start it after this library.
  """
  @spec enabled?() :: boolean()
  def enabled?, do: function_exported?(:telemetry, :execute, 3)

  @doc """
  Emits one event, if `:telemetry` is loaded.

  The event must be one of `events/0`: an undocumented name is a mistake in this library, so it raises.
  """
  @spec execute(event(), map(), map()) :: :ok
  def execute(event, measurements, metadata) when is_map(measurements) and is_map(metadata) do
    if enabled?(), do: emit(event, measurements, metadata), else: :ok
  end

  defp emit([:jido_code, family, _operation] = event, measurements, metadata)
       when is_map_key(@events, event) or is_map_key(@families, family) do
    # Through apply, because the module may be absent when this file is compiled.
    apply(:telemetry, :execute, [event, measurements, metadata])
    :ok
  catch
    # :telemetry detaches a failing observer itself; this guards against :telemetry failing.
    _kind, _reason -> :ok
  end

  @doc """
  The table above as data, with the operations of all tools: event to `{measurement_keys, metadata_keys}`.
  """
  @spec events() :: %{event() => {[atom()], [atom()]}}
  def events do
    for %{event: {family, operation}} <- Catalog.definitions(), into: @events do
      {[:jido_code, family, operation], Map.fetch!(@families, family)}
    end
  end
end
