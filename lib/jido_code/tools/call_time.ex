defmodule JidoCode.Tools.CallTime do
  @moduledoc false
  # How long a call may take: what `JidoCode.Tools.SecureExecutor` documents under "Time".

  alias JidoCode.Tools.{Call, Catalog, Deadline, Definition}

  # A handler that keeps the time itself answers with what it has; the pipeline waits this much longer before it ends it.
  @slack_ms 2_000
  # For a foreign tool that takes a timeout argument and declares no maximum.
  @maximum_timeout_ms 600_000

  @doc "Milliseconds until the call is ended, also where its handler keeps the time."
  @spec of(Call.t()) :: pos_integer()
  def of(%Call{args: args, context: context} = call) do
    {declared, {default, maximum, keeps_time?}} = times(call)
    declared = declared || default || Deadline.default_ms()

    asked =
      case args do
        %{"timeout" => ms} when is_integer(ms) and ms > 0 -> ms
        _args -> declared
      end

    min(asked, maximum || @maximum_timeout_ms) + if(keeps_time?, do: @slack_ms, else: 0) +
      way_ms(context[:node])
  end

  # What a project's VM offered holds it itself, and can't have more than a host's tool.
  defp times(%Call{tool: tool, name: name, handler: handler}) do
    if Definition.offered?(tool) do
      {default, maximum, keeps_time?} = Definition.times(tool)
      limit = &min(&1 || @maximum_timeout_ms, @maximum_timeout_ms)
      {limit.(tool.timeout_ms), {default, limit.(maximum), keeps_time?}}
    else
      {declared_timeout(handler), Catalog.timeout(name)}
    end
  end

  # What it may take until another VM begins.
  defp way_ms(%place{} = node), do: place.way_ms(node)
  defp way_ms(_none), do: 0

  defp declared_timeout(handler) do
    if function_exported?(handler, :security_properties, 0) do
      case handler.security_properties() do
        %{timeout_ms: ms} when is_integer(ms) and ms > 0 -> ms
        _properties -> nil
      end
    end
  catch
    _kind, _reason -> nil
  end
end
