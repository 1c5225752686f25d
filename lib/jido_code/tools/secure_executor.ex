defmodule JidoCode.Tools.SecureExecutor do
  @moduledoc """
  The one way from a tool call to a safe result.

      call ─► checks: rate limit, tier, consent          Middleware, one native call
                │                  └─ denied ──────────────────────────────┐
                ├─► in a process of its own:              IsolatedExecutor │
                │     handler.validate_security                            │
                │     handler.execute                                      │
                │     handler.sanitize_output                              │
                │     redaction of the whole output       OutputSanitizer  │
                └─► audit entry, telemetry                AuditLogger ◄────┘ ─► result

  Three doors lead in:

    * `run/3` is what a host's Executor takes as its `executor:` option: the host's tool, its arguments and context
    * `call/3` takes a tool of this library by name
    * `execute/1` takes a call of `new/3` and returns it with status, reason and audit id, for those that print more than the result

  The result is `{:ok, term}` or `{:error, text}` whatever the handler does; the caller is never hurt.

  ## Context

  | key | meaning |
  |---|---|
  | `:session_id` | string; limits, grants, shells and the audit trail belong to it |
  | `:project_root` | folder that the tools stay in; default the current one |
  | `:granted_tier`, `:consented_tools` | win over the grants that the library remembers of the session |
  | `:progress` | function of one argument that is told what goes on during a long call: in another process, about twice a second at most, with a redacted line of at most 200 characters |
  | `:node` | a node that already runs, for the tools that look at a running system: `JidoCode.Tools.Remote` |
  | `:project_namespaces` | which modules are the project's, for the introspection tools; wins over the configuration |

  ## Time

  The call's own `timeout` argument, else the handler's `timeout_ms`, else the tool's default; never above the tool's
  maximum. With a `:node`, ten seconds more for the way there. A `:timeout` in the context is the host's own affair.
  """

  alias JidoCode.Tools.{
    Arguments,
    Call,
    CallTime,
    Catalog,
    Config,
    Host,
    Render,
    Sessions,
    Shortened,
    Visible
  }

  alias JidoCode.Tools.Security.{
    AuditLogger,
    AuditWatch,
    IsolatedExecutor,
    Middleware,
    OutputSanitizer,
    RedactionNote
  }

  # Marks a failure that the worker has put into words already.
  @failure {__MODULE__, :failure}

  @type result :: {:ok, term()} | {:error, term()}

  @doc """
  Runs a host's tool (any map or struct with `:name` and `:handler`).

  When the host's Executor makes the checks itself (`config :jido_code_tools, security_middleware: true`), they are left to it, so
  that no call spends two rate slots.
  """
  @spec run(%{:name => String.t(), :handler => module(), optional(any()) => any()}, map(), map()) :: result()
  def run(%{name: name, handler: handler} = tool, args, context)
      when is_binary(name) and is_atom(handler) and is_map(args) and is_map(context) do
    execute(%Call{
      name: name,
      tool: tool,
      handler: handler,
      args: args,
      context: context,
      checked?: Middleware.left_to_host?()
    }).result
  end

  @doc """
  Calls one of the library's tools by name. `args` is a map with string keys, as it comes from JSON.

      iex> {:ok, result} =
      ...>   JidoCode.Tools.SecureExecutor.call("fetch_elixir_docs", %{"module" => "Enum", "function" => "sum", "arity" => 1})
      iex> [%{"name" => "sum", "arity" => 1}] = Enum.map(result["docs"], &Map.take(&1, ["name", "arity"]))

      iex> JidoCode.Tools.SecureExecutor.call("iex_eval", %{"code" => "1 + 1"})
      ...> |> elem(1) |> String.starts_with?("Unknown tool: iex_eval")
      true
  """
  @spec call(String.t(), map(), map()) :: result()
  def call(name, args, context \\ %{}) when is_binary(name) and is_map(args) and is_map(context) do
    execute(new(name, args, context)).result
  end

  @doc "A call of one of the library's tools, for `execute/1`."
  @spec new(String.t(), map(), map()) :: Call.t()
  def new(name, args, context) when is_binary(name) do
    # See `JidoCode.Tools.Introspection.Reach`.
    context = Map.put(context, :wide_reach, true)

    case Catalog.fetch(name) do
      {:ok, definition} ->
        %Call{name: name, tool: definition, handler: definition.handler, args: args, context: context}

      :error ->
        %Call{name: name, tool: name, handler: nil, args: args, context: context}
    end
  end

  @doc """
  Takes a call through all stages, and returns it with

    * `:result` - what `call/3` returns
    * `:status` - `:ok`, `:error`, `:blocked`, `:timeout`, `:crashed` or `:cancelled`
    * `:reason` - why it is not `:ok`: the denial, `:timeout`, `{:killed, _}`, `{:crashed, _}`, or `:handler` for the handler's own error
    * `:duration_us` - in microseconds
    * `:audit_id` - the number of its entry in the audit trail
    * `:confinement` - what its commands were confined by, in a line; nil if it ran none
  """
  @spec execute(Call.t()) :: Call.t()
  def execute(%Call{status: nil} = call) do
    %{call | started_at: System.monotonic_time()}
    |> begin()
    |> identify()
    |> check()
    |> isolate()
    |> audit()
  end

  @doc """
  Ends a session: its grants, its rate windows and its background shells go, its audit entries stay.
  """
  @spec end_session(String.t()) :: :ok
  defdelegate end_session(session_id), to: Sessions, as: :finish

  @doc "Ends a session when the process `owner` goes down."
  @spec own_session(String.t(), pid()) :: :ok
  defdelegate own_session(session_id, owner), to: Sessions, as: :own

  # An entry that it runs, so that a call which nobody sees the end of has one all the same.
  defp begin(call) do
    case AuditLogger.record(session(call), call.name, :started, 0, args: call.args) do
      {:ok, id} ->
        opened(call, id)

      {:error, id, text} ->
        call = opened(call, id)
        if Config.get(:audit_file_failure) == :warn, do: call, else: no_file(call, text)
    end
  rescue
    # The core is not there: the checks say so.
    _error in [ErlangError, ArgumentError, UndefinedFunctionError] -> call
  end

  defp opened(call, id) do
    AuditWatch.open(id, %{session: session(call), tool: call.name, started_at: call.started_at})
    %{call | started_id: id}
  end

  defp no_file(call, text) do
    decide(
      call,
      :blocked,
      :audit_file,
      "#{shorten(call.name)} is refused, as every tool is while the audit file can't be written: #{text}. A person has to fix that, " <>
        "or allow calls without it (config :jido_code_tools, audit_file_failure: :warn)."
    )
  end

  @doc false
  @spec identify(Call.t()) :: Call.t()
  def identify(%Call{status: status} = call) when status != nil, do: call

  def identify(%Call{handler: nil} = call) do
    decide(
      call,
      :error,
      :unknown_tool,
      "Unknown tool: #{call.name |> shorten() |> Visible.escape()}. The tools are: #{Catalog.names_text()}"
    )
  end

  def identify(%Call{handler: handler} = call) do
    loaded = Host.load(handler)

    if loaded == :ok and function_exported?(handler, :execute, 2) do
      announce(handler)
      call
    else
      decide(
        call,
        :error,
        :no_handler,
        "The tool #{call.name} has no handler that can be run: #{inspect(handler)}#{why_not(loaded)}"
      )
    end
  end

  defp why_not({:error, :changed}) do
    ". Its file is newer than the start of this VM, so that a command may have written it: it is not loaded. Restart the VM."
  end

  defp why_not(_other), do: ""

  # The event of a handler's loading, once in the VM's life: nothing else calls what emits it.
  defp announce(handler) do
    key = {__MODULE__, :announced, handler}

    if function_exported?(handler, :__secure_handler_loaded__, 0) and not :persistent_term.get(key, false) do
      :persistent_term.put(key, true)
      handler.__secure_handler_loaded__()
    end
  catch
    # What is announced is information; the checks read the handler's properties themselves.
    _kind, _reason -> :ok
  end

  @doc false
  @spec check(Call.t()) :: Call.t()
  def check(%Call{status: nil, checked?: false} = call) do
    arguments = arguments(call)

    case {Middleware.decide_call(call.tool, match?({:ok, _args}, arguments), call.context), arguments} do
      {{:error, denial}, _arguments} -> denied(call, denial)
      {:ok, {:ok, args}} -> %{call | checked?: true, args: args}
      {:ok, {:error, text}} -> decide(call, :error, :arguments, redacted(text, call))
    end
  end

  def check(call), do: call

  # Nobody is to be asked for what can't be had. Foreign code does not run in the caller.
  defp denied(%Call{tool: %{unavailable: why} = tool, context: context} = call, {kind, _details} = denial)
       when is_function(why, 1) and kind in [:permission_denied, :consent_required] do
    case Catalog.own?(tool) && why.(context) do
      none when none in [nil, false] -> blocked(call, denial)
      text -> decide(call, :error, :unavailable, text)
    end
  end

  defp denied(call, denial), do: blocked(call, denial)

  defp blocked(call, denial), do: decide(call, :blocked, denial, Middleware.format_denial(denial))

  # Of the library's own tools their handlers check them, as others call these too; here it is known before the decision. The
  # project's tools get what was checked.
  defp arguments(%Call{tool: %{hints: _} = definition, args: args, context: context}) do
    case {Catalog.own?(definition), context} do
      {true, %{door: true}} -> with {:ok, _checked} <- Arguments.check(definition, args), do: {:ok, args}
      {true, _context} -> {:ok, args}
      {false, _context} -> Arguments.check(definition, args)
    end
  end

  # A host's.
  defp arguments(call), do: {:ok, call.args}

  @doc false
  @spec isolate(Call.t()) :: Call.t()
  def isolate(%Call{status: nil} = call) do
    timeout = CallTime.of(call)

    options = [
      timeout: timeout,
      max_heap_size: Config.get(:max_heap_words),
      max_binary_size: Config.get(:max_binary_bytes)
    ]

    {outcome, confinement} =
      with_confinement(call, fn call ->
        IsolatedExecutor.run(call.handler, {call.args, call.context}, fn -> work(call) end, options)
      end)

    settle(outcome, %{call | confinement: confinement}, timeout)
  end

  def isolate(call), do: call

  # What a handler tells of its commands' confinement comes beside its answer, since a call that is stopped has none. The alias
  # is closed before the caller goes on: what is told later is lost, and never left in its mailbox.
  defp with_confinement(call, run) do
    alias = :erlang.alias([:explicit_unalias])
    tell = fn text -> send(alias, {alias, text}) end

    try do
      outcome = run.(%{call | context: Map.put(call.context, :confined, tell)})
      :erlang.unalias(alias)
      {outcome, told(alias, nil)}
    after
      :erlang.unalias(alias)
    end
  end

  # The last of them: what was told after a first command says what a second one was held to.
  defp told(alias, last) do
    receive do
      {^alias, text} -> told(alias, text)
    after
      0 -> last
    end
  end

  # In the worker. What the handler returns is redacted here, before it is copied to the caller, so that neither a secret
  # nor a term that unfolds when copied leaves the worker. An answer is wrapped, so that a handler's own `{:error, :timeout}`
  # is not taken for the executor's.
  defp work(%Call{handler: handler, args: args, context: context} = call) do
    sanitize = fn term ->
      {clean, note} =
        OutputSanitizer.redact(term,
          context: %{tool: call.name, session_id: context[:session_id]},
          session: context[:session_id]
        )

      RedactionNote.add(clean, note)
    end

    case validate(handler, args, context) do
      :ok ->
        case handler.execute(args, context) do
          {:ok, value} -> {:ok, sanitize.({:ok, own_sanitizing(handler, value)})}
          {:error, _reason} = error -> {:ok, sanitize.(error)}
          other -> other
        end

      {:error, reason} ->
        {:error, {:refused, sanitize.(reason)}}

      _other ->
        {:error, {:refused, "its handler's security check gave no clear answer"}}
    end
  catch
    # Put into words here, since an exception's message is made by the project's code.
    kind, reason -> throw({@failure, failure(call, kind, reason, __STACKTRACE__)})
  end

  # What a failure carries may be anything the handler held: it is redacted like any other output, and short.
  defp failure(call, :error, reason, stacktrace) do
    exception = Exception.normalize(:error, reason, stacktrace)
    {exception.__struct__, redacted("** (#{inspect(exception.__struct__)}) " <> message(exception), call)}
  end

  defp failure(call, :throw, value, _stacktrace), do: {:throw, brief("it threw ", value, call)}
  defp failure(call, :exit, reason, _stacktrace), do: {:exit, brief("it exited with ", reason, call)}

  # Nothing is loaded for the sake of a message.
  defp message(%module{} = exception) do
    if :erlang.module_loaded(module), do: Exception.message(exception), else: "its module is not loaded"
  end

  defp validate(handler, args, context) do
    if function_exported?(handler, :validate_security, 2),
      do: handler.validate_security(args, context),
      else: :ok
  end

  defp own_sanitizing(handler, value) do
    if function_exported?(handler, :sanitize_output, 1), do: handler.sanitize_output(value), else: value
  end

  defp settle({:ok, {:ok, _value} = result}, call, _timeout), do: %{call | status: :ok, result: result}

  defp settle({:ok, {:error, _reason} = result}, call, _timeout),
    do: %{call | status: :error, reason: :handler, result: result}

  defp settle({:error, {:refused, reason}}, call, _timeout) do
    decide(call, :blocked, :refused, "Refused by #{call.name}: #{text(reason, call)}")
  end

  defp settle({:error, :timeout}, call, timeout) do
    decide(call, :timeout, :timeout, "#{call.name} timed out: it was stopped after #{timeout} ms")
  end

  defp settle({:error, {:killed, _limit} = reason}, call, _timeout) do
    decide(
      call,
      :crashed,
      reason,
      "#{call.name} was killed, which happens when it uses more memory than a tool may"
    )
  end

  defp settle({:error, {:crashed, reason}}, call, _timeout) do
    {kind, text} = crash(reason, call)
    decide(call, :crashed, {:crashed, kind}, "#{call.name} crashed: #{text}")
  end

  defp crash({:throw, {@failure, {kind, text}}}, _call), do: {kind, text}

  defp crash({:bad_return, kind}, _call),
    do: {:bad_return, "it returned neither {:ok, _} nor {:error, _}, but: #{inspect(kind)}"}

  defp crash({:exception, exception, _stacktrace}, _call),
    do: {exception.__struct__, "it raised #{inspect(exception.__struct__)}, whose message can't be shown"}

  defp crash(:supervisor_not_running, _call),
    do: {:ended, "the task supervisor of :jido_code_tools is not running"}

  defp crash(reason, call), do: {:ended, brief("its process ended with ", reason, call)}

  # Never by way of the project's own Inspect: this runs in the caller too.
  defp brief(lead, term, call) do
    {clean, note} = redact(term, call)
    {text, _summary} = Render.render(clean, max_bytes: 400)
    (lead <> text) |> redacted(call) |> RedactionNote.add(note)
  end

  defp redacted(text, call) do
    {clean, note} = redact(text, call)
    clean |> shorten() |> RedactionNote.add(note)
  end

  defp redact(term, call) do
    OutputSanitizer.redact(term, emit_telemetry: false, session: call.context[:session_id])
  end

  defp shorten(text), do: Shortened.label(text, 500)

  defp text(reason, _call) when is_binary(reason), do: shorten(reason)
  defp text(reason, call), do: brief("", reason, call)

  @doc false
  @spec audit(Call.t()) :: Call.t()
  def audit(%Call{} = call) do
    duration = System.convert_time_unit(System.monotonic_time() - call.started_at, :native, :microsecond)
    options = [args: call.args, confinement: call.confinement, of: call.started_id]
    call = %{call | duration_us: duration}

    case AuditLogger.record(session(call), call.name, call.status, duration, options) do
      {:ok, id} -> closed(call, id)
      {:error, id, text} -> unkept(closed(call, id), text)
    end
  rescue
    # The core is not there. A call that was done and leaves no trace gives no result.
    _error in [ErlangError, ArgumentError, UndefinedFunctionError] ->
      unaudited(%{call | duration_us: 0}, "the audit log does not answer")
  end

  defp closed(call, id) do
    if call.started_id, do: AuditWatch.close(call.started_id)
    %{call | audit_id: id}
  end

  defp unkept(call, text) do
    if Config.get(:audit_file_failure) == :warn,
      do: call,
      else: unaudited(call, "the audit file can't be written: #{text}")
  end

  defp unaudited(%Call{status: :blocked} = call, _why), do: call

  defp unaudited(call, why),
    do: decide(call, :crashed, :no_audit, "#{shorten(call.name)} gives no result: #{why}")

  defp session(%Call{context: %{session_id: session}}) when is_binary(session), do: session
  defp session(_call), do: nil

  defp decide(call, status, reason, message),
    do: %{call | status: status, reason: reason, result: {:error, message}}
end
