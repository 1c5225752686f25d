defmodule JidoCode.Tools.Config do
  @moduledoc """
  What the library reads from `config :jido_code`, checked when it starts.

  A value of the wrong shape stops the application from starting, with a message that names the key and what it takes: a
  security setting that is silently ignored would be worse than none.

  | key | default | meaning |
  |---|---|---|
  | `:security_middleware` | `false` | lets the host's own Executor run the checks (see `JidoCode.Tools.Security.Middleware`) |
  | `:unknown_tool_tier` | `:privileged` | tier of a tool that nobody declared one for |
  | `:tool_tiers` | `%{}` | tool name to tier, over the built-in table |
  | `:rate_limits` | `%{}` | tier or tool name to `{count, window_ms}`, over the built-in limits |
  | `:audit_buffer_size` | `10_000` | entries the audit log holds |
  | `:audit_key` | random per start | at least 16 bytes; the key of the argument hashes, set it to compare hashes across restarts |
  | `:redaction_rules` | `[]` | `%{name: "...", pattern: "...", replacement: "..."}`, patterns in the syntax of Rust's regex crate |
  | `:redaction_fields` | `[]` | further names of fields whose values are secret |
  | `:session_idle_ms` | `3_600_000` | after this time without a call a session's grants, limits and shells go |
  | `:max_heap_words` | `1_000_000` | heap limit of a handler's process, in words |
  | `:max_binary_bytes` | `67_108_864` | limit of the binaries it may hold outside the heap |

  Other modules document the keys that only they read.
  """

  alias JidoCode.Tools.Behaviours.SecureHandler
  alias JidoCode.Tools.Security.{CommandPolicy, Core, MixPolicy}

  @app :jido_code

  # Checked here as well, although others read them.
  @read_at_calls [max_heap_words: 1, max_binary_bytes: 1, known_secrets_refresh_ms: 1, node_linger_ms: 1]

  @doc """
  Reads the configuration again: tiers, rate limits, the audit log's size, the policies of Mix and of command lines. Raises `ArgumentError` for a wrong
  value and changes nothing then. Redaction rules, fields and the audit key take a restart of the application.
  """
  @spec reload() :: :ok
  def reload do
    # Each of these raises before it changes anything; what follows can't fail.
    policies = load_policies!()
    Core.reload(Core.default())
    put_policies(policies)
  end

  @doc false
  @spec start() :: :ok
  def start, do: put_policies(load_policies!())

  defp load_policies! do
    mix = MixPolicy.load!()
    {mix, CommandPolicy.load!(mix)}
  end

  defp put_policies({mix, commands}) do
    MixPolicy.put(mix)
    CommandPolicy.put(commands)
  end

  @doc "The value of `key`, unchecked: for keys that are read at each call."
  @spec get(atom(), term()) :: term()
  def get(key, default \\ nil), do: Application.get_env(@app, key, default)

  @doc "All keys that are read at start, as the core takes them. Raises `ArgumentError` for a wrong one."
  @spec load!() :: %{
          unknown_tier: SecureHandler.tier(),
          tool_tiers: [{String.t(), SecureHandler.tier()}],
          tier_rates: [{SecureHandler.tier(), {pos_integer(), pos_integer()}}],
          tool_rates: [{String.t(), {pos_integer(), pos_integer()}}],
          audit_capacity: pos_integer(),
          audit_args_key: binary(),
          audit_chain_key: binary(),
          rules: [{String.t(), String.t(), String.t()}],
          fields: [String.t()],
          session_idle_ms: pos_integer()
        }
  def load! do
    for {key, default} <- @read_at_calls, do: positive!(key, get(key, default))
    limits = pairs!(:rate_limits)
    audit_key = audit_key!(get(:audit_key))

    %{
      unknown_tier: tier!(:unknown_tool_tier, get(:unknown_tool_tier, :privileged)),
      tool_tiers:
        for({tool, tier} <- pairs!(:tool_tiers), do: {name!(:tool_tiers, tool), tier!(:tool_tiers, tier)}),
      tier_rates: for({key, rate} <- limits, is_atom(key), do: {tier!(:rate_limits, key), rate!(rate)}),
      tool_rates: for({key, rate} <- limits, not is_atom(key), do: {name!(:rate_limits, key), rate!(rate)}),
      audit_capacity: audit_capacity!(get(:audit_buffer_size, 10_000)),
      audit_args_key: derived(audit_key, "arguments"),
      audit_chain_key: derived(audit_key, "chain"),
      rules: rules!(get(:redaction_rules, [])),
      fields: fields!(get(:redaction_fields, [])),
      session_idle_ms: positive!(:session_idle_ms, get(:session_idle_ms, 3_600_000))
    }
  end

  defp positive!(_key, value) when is_integer(value) and value > 0, do: value
  defp positive!(key, value), do: invalid!(key, "a positive integer", value)

  # The native log's own limit.
  @max_audit_capacity 1_000_000

  defp audit_capacity!(value) when is_integer(value) and value in 1..@max_audit_capacity, do: value

  defp audit_capacity!(value),
    do: invalid!(:audit_buffer_size, "a positive integer up to #{@max_audit_capacity}", value)

  defp tier!(key, value) do
    if SecureHandler.valid_tier?(value) do
      value
    else
      invalid!(key, "one of #{Enum.map_join(SecureHandler.tier_hierarchy(), ", ", &inspect/1)}", value)
    end
  end

  defp name!(_key, value) when is_binary(value), do: value
  defp name!(key, value), do: invalid!(key, "tool names as strings", value)

  defp rate!({count, window} = rate)
       when is_integer(count) and count >= 0 and is_integer(window) and window > 0,
       do: rate

  defp rate!(value), do: invalid!(:rate_limits, "{count, window_ms} as value", value)

  defp pairs!(key) do
    case get(key, []) do
      map when is_map(map) ->
        Map.to_list(map)

      list when is_list(list) ->
        if Enum.all?(list, &match?({_, _}, &1)), do: list, else: not_pairs!(key, list)

      value ->
        not_pairs!(key, value)
    end
  end

  @spec not_pairs!(atom(), term()) :: no_return()
  defp not_pairs!(key, value), do: invalid!(key, "a map", value)

  defp audit_key!(nil), do: :crypto.strong_rand_bytes(32)
  defp audit_key!(key) when is_binary(key) and byte_size(key) >= 16, do: key
  # The value isn't shown: it was meant to be a key.
  defp audit_key!(_key),
    do: raise(ArgumentError, "config :jido_code, :audit_key takes a binary of at least 16 bytes")

  # One secret, a key a purpose.
  defp derived(key, purpose), do: :crypto.mac(:hmac, :sha256, key, purpose)

  defp rules!(rules) when is_list(rules), do: Enum.map(rules, &rule!/1)
  defp rules!(value), do: invalid!(:redaction_rules, "a list", value)

  defp rule!(rule) when is_map(rule) or is_list(rule) do
    case Map.new(rule) do
      %{name: name, pattern: pattern, replacement: replacement}
      when is_binary(name) and is_binary(pattern) and is_binary(replacement) ->
        {name, pattern, replacement}

      _other ->
        invalid_rule!(rule)
    end
  end

  defp rule!(rule), do: invalid_rule!(rule)

  @spec invalid_rule!(term()) :: no_return()
  defp invalid_rule!(rule),
    do: invalid!(:redaction_rules, "maps with the strings :name, :pattern and :replacement", rule)

  defp fields!(fields) when is_list(fields) do
    for field <- fields do
      cond do
        is_binary(field) and field != "" -> field
        is_atom(field) and field not in [nil, true, false] -> Atom.to_string(field)
        true -> invalid!(:redaction_fields, "names as strings or atoms", field)
      end
    end
  end

  defp fields!(value), do: invalid!(:redaction_fields, "a list", value)

  @doc "The strings of `key`. Raises `ArgumentError` for anything but a list of strings."
  @spec strings!(atom(), [String.t()]) :: [String.t()]
  def strings!(key, default) do
    strings = with nil <- get(key), do: default

    if is_list(strings) and Enum.all?(strings, &is_binary/1),
      do: strings,
      else: invalid!(key, "a list of strings", strings)
  end

  @doc "Raises `ArgumentError` for a key with a wrong value."
  @spec invalid!(atom(), String.t(), term()) :: no_return()
  def invalid!(key, expected, value) do
    raise ArgumentError,
          "config :jido_code, #{inspect(key)} takes #{expected}, got: #{inspect(value, limit: 5)}"
  end
end
