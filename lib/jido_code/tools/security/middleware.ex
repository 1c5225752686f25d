defmodule JidoCode.Tools.Security.Middleware do
  @moduledoc """
  May this call go on? Rate limit, permission tier and consent, in this order, decided in one call into the native core.

  A call that is denied by tier or consent has used its rate slot, so that probing costs something. At the doors of one person's
  own agent (`mix jido.tool`, the MCP server: `:door` in the context) the rates are higher, 600, 300, 120 and 120 a minute instead of
  100, 30, 10 and 5, and calls that are refused for their arguments or for a missing grant are counted apart, as strictly: they
  don't stop useful work, and can't be repeated endlessly. Configured rates hold at every door.

  `run_checks/3` is also what the host's own Executor calls when `config :jido_code_tools, security_middleware: true` (or the same under `:jido_code`). Then the
  handlers are still safe by themselves, but isolation, redaction of the whole output and the complete audit trail come only
  with `JidoCode.Tools.SecureExecutor`.

  The context's keys read here:

    * `:session_id` - the key of the rate limit; without one, all callers share `"__global__"`
    * `:door` - true for the doors of one person's own agent
    * `:granted_tier`, `:consented_tools` - win over what `JidoCode.Tools.Security.Permissions` remembers of the session
  """

  alias JidoCode.Tools.Behaviours.SecureHandler
  alias JidoCode.Tools.{Config, Definition, Host}
  alias JidoCode.Tools.Security.{Core, Native, Permissions, RateLimiter}
  alias JidoCode.Tools.{Telemetry, Tier}

  @type tool :: %{:name => String.t(), optional(:handler) => module(), optional(any()) => any()} | String.t()
  @type denial ::
          {:rate_limited,
           %{
             required(:tool) => String.t(),
             required(:limit) => non_neg_integer(),
             required(:window_ms) => pos_integer(),
             required(:retry_after_ms) => pos_integer(),
             optional(:refusals) => true
           }}
          | {:permission_denied, Permissions.denial()}
          | {:not_running, %{tool: String.t()}}
          | {:consent_required, %{tool: String.t(), tier: Permissions.tier()}}

  @global "__global__"
  @tiers Tier.all()

  @doc """
  Whether the host's Executor runs the checks: the configuration's `:security_middleware`, default false. A value that is
  neither true nor false counts as true here.
  """
  @spec enabled?() :: boolean()
  def enabled?, do: Config.get(:security_middleware) != false

  @doc false
  # Whether the pipeline leaves the checks to the host: only where that is clearly said.
  @spec left_to_host?() :: boolean()
  def left_to_host?, do: Config.get(:security_middleware) == true

  @doc "All three checks. Emits `[:jido_code, :security, :middleware_check]` once."
  @spec run_checks(tool(), map(), map()) :: :ok | {:error, denial()}
  def run_checks(tool, _args, context), do: observed(:all, tool, context)

  @doc false
  # For the pipeline, which knows whether the arguments are what the tool takes. At a person's door (`:door` in the context) that
  # decides which counter the call is for.
  @spec decide_call(tool(), boolean(), map()) :: :ok | {:error, denial()}
  def decide_call(tool, sound?, %{door: true} = context),
    do: observed(if(sound?, do: :door, else: :door_refused), tool, context)

  def decide_call(tool, _sound?, context), do: observed(:all, tool, context)

  defp observed(which, tool, context) do
    if Telemetry.enabled?() do
      start = System.monotonic_time()
      {name, result} = check(which, tool, context)
      emit(name, context, result, System.monotonic_time() - start)
      result
    else
      elem(check(which, tool, context), 1)
    end
  end

  defp emit(name, context, result, duration) do
    Telemetry.execute(
      [:jido_code, :security, :middleware_check],
      %{duration: System.convert_time_unit(duration, :native, :microsecond)},
      %{
        tool: name,
        session_id: Map.get(context, :session_id),
        result: outcome(result),
        reason: reason(result)
      }
    )
  end

  @doc "The rate limit alone. A call that passes is counted."
  @spec check_rate_limit(tool(), map()) :: :ok | {:error, denial()}
  def check_rate_limit(tool, context), do: elem(check(:rate, tool, context), 1)

  @doc "The tier alone; consent to the tool lifts it."
  @spec check_permission_tier(tool(), map()) :: :ok | {:error, denial()}
  def check_permission_tier(tool, context), do: elem(check(:permission, tool, context), 1)

  @doc "Consent alone, where the handler requires it."
  @spec check_consent_requirement(tool(), map()) :: :ok | {:error, denial()}
  def check_consent_requirement(tool, context), do: elem(check(:consent, tool, context), 1)

  @doc "A denial as a sentence that says what was asked, what is allowed and what helps."
  @spec format_denial(denial()) :: String.t()
  def format_denial({:rate_limited, %{refusals: true} = denial}) do
    %{tool: tool, limit: limit, window_ms: window, retry_after_ms: retry} = denial

    "Rate limit exceeded for refused calls of #{tool}: #{limit} in #{seconds(window)}. Calls that are allowed go on; " <>
      "this one may be tried again in #{seconds(retry)}."
  end

  def format_denial({:rate_limited, %{tool: tool, limit: limit, window_ms: window, retry_after_ms: retry}}) do
    "Rate limit exceeded for #{tool}: #{limit} calls in #{seconds(window)} are allowed. Try again in #{seconds(retry)}."
  end

  def format_denial({:permission_denied, %{tool: tool, required_tier: required, granted_tier: granted}}) do
    "Permission denied: #{tool} needs the tier #{required}, this session has #{granted || "none"}. " <>
      "A person can grant the tier or consent to this tool."
  end

  def format_denial({:consent_required, %{tool: tool, tier: tier}}) do
    "Consent required: #{tool} (tier #{tier}) runs only after a person consents to it for this session."
  end

  def format_denial({:not_running, %{tool: tool}}) do
    "#{tool} is refused, as every tool is: the security core of :jido_code_tools does not run in this VM. Start the application, " <>
      "or see in the log why it did not start."
  end

  defp seconds(ms) when rem(ms, 1000) == 0, do: "#{div(ms, 1000)} s"
  defp seconds(ms) when ms > 10_000, do: "#{div(ms, 1000) + 1} s"
  defp seconds(ms), do: "#{ms} ms"

  defp check(which, tool, context) do
    {name, handler} = identify(tool)
    raw_session = Map.get(context, :session_id)

    case properties(tool, handler) do
      {:ok, tier, rate, requires_consent} ->
        verdict = decide(which, session_key(raw_session), name, tier, rate, requires_consent, context)
        {name, result(verdict, name, raw_session, context)}

      :invalid ->
        {name, denied(name, :privileged, Map.get(context, :granted_tier))}
    end
  end

  defp identify(%{name: name, handler: handler}) when is_binary(name) and is_atom(handler),
    do: {name, handler}

  defp identify(%{name: name}) when is_binary(name), do: {name, nil}
  defp identify(name) when is_binary(name), do: {name, nil}
  defp identify(_tool), do: {"unknown", nil}

  defp session_key(nil), do: @global
  defp session_key(session) when is_binary(session), do: session
  defp session_key(session), do: inspect(session, limit: 5, printable_limit: 100)

  # What a project's VM offered holds them itself.
  defp properties(tool, handler) do
    if Definition.offered?(tool), do: sound(Definition.properties(tool)), else: properties(handler)
  end

  # A handler that was not called yet may not be loaded, and its tier must count all the same.
  defp properties(nil), do: undeclared()

  defp properties(handler) do
    case Host.load(handler) do
      :ok ->
        if function_exported?(handler, :security_properties, 0), do: declared(handler), else: undeclared()

      {:error, :not_found} ->
        undeclared()

      # Whatever it declares now, it is not what the host had.
      {:error, :changed} ->
        :invalid
    end
  end

  defp undeclared, do: {:ok, nil, nil, false}

  defp declared(handler) do
    sound(handler.security_properties())
  catch
    _kind, _reason -> :invalid
  end

  defp sound(properties) do
    case SecureHandler.validate_properties(properties) do
      :ok ->
        {:ok, properties.tier, Map.get(properties, :rate_limit),
         Map.get(properties, :requires_consent, false)}

      {:error, _message} ->
        :invalid
    end
  end

  defp decide(which, session, name, tier, rate, requires_consent, context) do
    core = Core.default()
    granted = granted(context)
    consented = consented(context, name)

    with :unknown_tool <-
           Native.decide(core, which, session, name, tier, rate, requires_consent, granted, consented) do
      tier = Permissions.unknown_tool_tier()
      Native.decide(core, which, session, name, tier, rate, requires_consent, granted, consented)
    end
  rescue
    # The core is not loaded, or not started: nobody is let through.
    _error in [ErlangError, ArgumentError, UndefinedFunctionError] -> :no_core
  end

  defp granted(context) do
    case context do
      %{granted_tier: tier} when tier in @tiers -> tier
      %{granted_tier: _other} -> :none
      _context -> :session
    end
  end

  defp consented(%{consented_tools: tools}, name) when is_list(tools), do: name in tools
  defp consented(%{consented_tools: %MapSet{} = tools}, name), do: MapSet.member?(tools, name)
  defp consented(%{consented_tools: _other}, _name), do: false
  defp consented(_context, _name), do: :session

  defp result(:ok, _name, _session, _context), do: :ok

  defp result({kind, limit, window_ms, retry_after_ms}, name, session, _context)
       when kind in [:rate_limited, :refusals_limited] do
    RateLimiter.emit(session, name, limit, window_ms, retry_after_ms)
    details = %{tool: name, limit: limit, window_ms: window_ms, retry_after_ms: retry_after_ms}

    {:error,
     {:rate_limited, if(kind == :refusals_limited, do: Map.put(details, :refusals, true), else: details)}}
  end

  defp result({:permission_denied, required, granted}, name, _session, context) do
    denied(name, required, Map.get(context, :granted_tier, granted))
  end

  defp result({:consent_required, tier}, name, _session, _context) do
    {:error, {:consent_required, %{tool: name, tier: tier}}}
  end

  defp result(:no_core, name, _session, _context), do: {:error, {:not_running, %{tool: name}}}

  defp denied(name, required, granted) do
    denial = %{tool: name, required_tier: required, granted_tier: granted}
    Permissions.emit(denial)
    {:error, {:permission_denied, denial}}
  end

  defp outcome(:ok), do: :allowed
  defp outcome({:error, _denial}), do: :blocked

  defp reason(:ok), do: nil
  defp reason({:error, {kind, _details}}), do: kind
end
