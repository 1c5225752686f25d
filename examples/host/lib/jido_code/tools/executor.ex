defmodule JidoCode.Tools.Executor do
  @moduledoc """
  Runs a tool call: registry, arguments, checks where they are switched on, the handler or the function given as `:executor`
  in a linked task, redaction where checks are on, a `JidoCode.Tools.Result`.

  Options: `:context`, `:timeout` (ms, default 30,000), `:executor` (`fn tool, args, context -> {:ok, term} | {:error, term} end`).
  """

  alias JidoCode.Session
  alias JidoCode.Tools.{Registry, Result, Tool}
  alias JidoCode.Tools.Security.{AuditLogger, Middleware, OutputSanitizer}

  @default_timeout 30_000

  @spec execute(map(), keyword()) :: {:ok, Result.t()} | {:error, atom()}
  def execute(call, opts \\ []) do
    with {:ok, id, name, args} <- parts(call) do
      context = context(Keyword.get(opts, :context, %{}))

      with {:ok, tool} <- registered(name),
           :ok <- Tool.validate_args(tool, args),
           :ok <- checked(tool, args, context) do
        {:ok, ran(id, tool, args, context, opts)}
      else
        {:error, reason} -> {:ok, Result.error(id, name, reason)}
      end
    end
  end

  @doc "Several calls, one after the other, or at once with `parallel: true`; results in order."
  @spec execute_batch([map()], keyword()) :: {:ok, [Result.t()]}
  def execute_batch(calls, opts \\ []) do
    {parallel?, opts} = Keyword.pop(opts, :parallel, false)

    run = fn call ->
      {:ok, result} = execute(call, opts)
      result
    end

    if parallel? do
      timeout = Keyword.get(opts, :timeout, @default_timeout)

      results =
        calls
        |> Task.async_stream(run, timeout: timeout + 1_000, on_timeout: :kill_task)
        |> Enum.map(fn
          {:ok, result} -> result
          {:exit, :timeout} -> Result.timeout("unknown", "unknown", timeout)
        end)

      {:ok, results}
    else
      {:ok, Enum.map(calls, run)}
    end
  end

  @spec build_context(String.t(), keyword()) :: {:ok, map()} | {:error, :not_found}
  def build_context(session_id, opts \\ []) do
    with {:ok, root} <- Session.Manager.project_root(session_id) do
      {:ok,
       %{session_id: session_id, project_root: root, timeout: Keyword.get(opts, :timeout, @default_timeout)}}
    end
  end

  @spec enrich_context(map()) :: {:ok, map()} | {:error, :missing_session_id | :not_found}
  def enrich_context(%{project_root: _root} = context), do: {:ok, context}

  def enrich_context(%{session_id: session_id} = context) do
    with {:ok, root} <- Session.Manager.project_root(session_id),
         do: {:ok, Map.put(context, :project_root, root)}
  end

  def enrich_context(_context), do: {:error, :missing_session_id}

  defp context(context) do
    case enrich_context(context) do
      {:ok, context} -> context
      {:error, _reason} -> context
    end
  end

  defp parts(%{id: id, name: name, arguments: args}), do: {:ok, id, name, args}
  defp parts(%{"id" => id, "name" => name, "arguments" => args}), do: {:ok, id, name, args}
  defp parts(_call), do: {:error, :invalid_tool_call}

  defp registered(name) do
    with {:error, :not_found} <- Registry.get(name), do: {:error, "Tool '#{name}' not found"}
  end

  defp checked(tool, args, context) do
    if Middleware.enabled?() do
      with {:error, {kind, details}} <- Middleware.run_checks(tool, args, context) do
        if context[:session_id] do
          reason = Map.put(details, :reason, kind)
          AuditLogger.log_invocation(context.session_id, tool.name, :blocked, 0, args: reason)
        end

        {:error, blocked(kind, details)}
      end
    else
      :ok
    end
  end

  defp blocked(:rate_limited, %{retry_after_ms: ms}), do: "Rate limit exceeded, try again in #{ms}ms"
  defp blocked(:permission_denied, %{required_tier: tier}), do: "Permission denied: requires #{tier}"
  defp blocked(:consent_required, %{tool: tool}), do: "Consent required for #{tool}"

  defp ran(id, tool, args, context, opts) do
    timeout = Keyword.get(opts, :timeout, @default_timeout)
    executor = Keyword.get(opts, :executor, fn tool, args, context -> tool.handler.execute(args, context) end)
    started = System.monotonic_time(:millisecond)
    task = Task.async(fn -> executor.(tool, args, context) end)
    answer = Task.yield(task, timeout) || Task.shutdown(task, :brutal_kill)
    duration = System.monotonic_time(:millisecond) - started

    case answer do
      {:ok, {:ok, value}} -> Result.ok(id, tool.name, sanitized(value), duration)
      {:ok, {:error, reason}} -> Result.error(id, tool.name, sanitized(reason), duration)
      nil -> Result.timeout(id, tool.name, timeout)
    end
  end

  defp sanitized(value) do
    if Middleware.enabled?(), do: OutputSanitizer.sanitize(value, emit_telemetry: true), else: value
  end
end
