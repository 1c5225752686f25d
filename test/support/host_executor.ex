defmodule JidoCode.Tools.Test.HostExecutor do
  @moduledoc """
  The part of a host's Executor that meets this library: it looks a tool up, runs the checks when they are switched on, runs
  the handler or the function given as `:executor` in a linked task within its own time, redacts when checks are on, and
  audits what was blocked.
  """

  alias JidoCode.Tools.Security.{AuditLogger, Middleware, OutputSanitizer}

  defmodule Tool do
    @moduledoc "The host's own structure."
    defstruct [:name, :description, :handler, :parameters]
  end

  @doc "A host's tool from a definition of the library."
  @spec tool(map()) :: struct()
  def tool(definition), do: struct!(Tool, Map.take(definition, [:name, :description, :handler, :parameters]))

  @doc """
  Calls a tool of `tools`. Options: `:context`, `:timeout`, `:executor` (`fn tool, args, context -> result end`).
  """
  @spec execute([struct()], String.t(), map(), keyword()) :: {:ok, term()} | {:error, term()}
  def execute(tools, name, args, opts \\ []) do
    context = Keyword.get(opts, :context, %{})
    executor = Keyword.get(opts, :executor, fn tool, args, context -> tool.handler.execute(args, context) end)

    case Enum.find(tools, &(&1.name == name)) do
      nil -> {:error, :not_found}
      tool -> checked(tool, args, context, executor, Keyword.get(opts, :timeout, 30_000))
    end
  end

  defp checked(tool, args, context, executor, timeout) do
    if Middleware.enabled?() do
      case Middleware.run_checks(tool, args, context) do
        :ok ->
          tool |> ran(args, context, executor, timeout) |> OutputSanitizer.sanitize(emit_telemetry: true)

        {:error, {kind, details}} ->
          if context[:session_id] do
            AuditLogger.log_invocation(context.session_id, tool.name, :blocked, 0,
              args: Map.put(details, :reason, kind)
            )
          end

          {:error, "blocked: #{kind}"}
      end
    else
      ran(tool, args, context, executor, timeout)
    end
  end

  defp ran(tool, args, context, executor, timeout) do
    task = Task.async(fn -> executor.(tool, args, context) end)

    case Task.yield(task, timeout) || Task.shutdown(task, :brutal_kill) do
      {:ok, result} -> result
      nil -> {:error, :timeout}
    end
  end
end
