defmodule JidoCode.Tools.Security.Core do
  @moduledoc false
  # The native state behind the security modules: limiter, grants, audit log and redactor in one resource.
  #
  # The library's own lives as long as its application, in a persistent term, so that finding it costs nothing and no
  # caller owns it. Tests make others, with a clock they move by hand, and pass them as the `:core` option.

  alias JidoCode.Tools.{Catalog, Config}
  alias JidoCode.Tools.Command.Environment
  alias JidoCode.Tools.Security.{AuditKey, AuditTrail, Native}

  require Logger

  @opaque t :: reference()

  @doc "The library's own; nil when its application does not run, and then everybody denies."
  @spec default() :: t() | nil
  def default, do: :persistent_term.get(__MODULE__, nil)

  @spec start() :: t()
  def start do
    core = new(trail: true)
    :persistent_term.put(__MODULE__, core)
    core
  end

  @spec stop() :: :ok
  def stop do
    :persistent_term.erase(__MODULE__)
    :ok
  end

  @doc "A core of its own. With `clock: :manual` its time stands still but for `advance/2`."
  @spec new(keyword()) :: t()
  def new(opts \\ []) do
    config = settings!() |> Map.put(:manual_clock, Keyword.get(opts, :clock) == :manual)
    # One log writes to the file: the library's own.
    config = if opts[:trail], do: Map.merge(config, trail()), else: config

    case load_error() || created(config) do
      {:ok, core} ->
        core

      {:error, {:config, message}} ->
        raise ArgumentError, "config :jido_code_tools, redaction rules and fields: #{message}"

      {:error, {kind, message}} when kind in [:trail, :taken] ->
        file = String.replace(config.audit_file, <<0>>, "\\0")
        raise ArgumentError, "the audit file #{file} can't be written: #{message}"

      {:error, {:rate, message}} ->
        raise ArgumentError, "config :jido_code_tools, :tool_rate_limits: #{message}"

      {:error, {_kind, message}} ->
        raise "the native core of jido_code_tools does not start: #{message}"
    end
  end

  # Each file has one writer, so that each is a whole chain of its own: who comes second writes beside the first.
  defp created(%{audit_file: file} = config) do
    Enum.reduce_while(AuditTrail.places(file), nil, fn place, _taken ->
      case Native.core_new(%{config | audit_file: place}) do
        {:error, {:taken, _message}} = taken ->
          {:cont, taken}

        created ->
          if place != file,
            do: Logger.warning("Another VM writes the audit file #{file}: this one writes #{place}")

          {:halt, created}
      end
    end)
  end

  @doc "Reads the tiers, limits, unknown tier and the audit log's size from the configuration again."
  @spec reload(t()) :: :ok
  def reload(core) do
    config = settings!()

    with {:error, message} <- Native.core_put_policy(core, Map.put(config, :manual_clock, false)) do
      raise ArgumentError, "config :jido_code_tools, :tool_rate_limits: #{message}"
    end

    # Of a size that the check agreed to, so that nothing is half changed.
    :ok = Native.audit_resize(core, config.audit_capacity)
  end

  @doc "What is configured, as the native core takes it. Raises `ArgumentError` for a wrong value."
  @spec settings!() :: map()
  def settings! do
    Config.check!()
    {tiers, tools} = :tool_rate_limits |> Config.get() |> Enum.split_with(&is_atom(elem(&1, 0)))
    audit_key = Config.get(:audit_key) || :crypto.strong_rand_bytes(32)

    %{
      unknown_tier: Config.get(:unknown_tool_tier),
      known_tiers: for(%{name: name, tier: tier} <- Catalog.definitions(), do: {name, tier}),
      tool_tiers: Enum.to_list(Config.get(:tool_tiers)),
      tier_rates: tiers,
      tool_rates: tools,
      audit_capacity: Config.get(:audit_buffer_size),
      audit_args_key: AuditKey.derived(audit_key, "arguments"),
      audit_chain_key: AuditKey.derived(audit_key, "chain"),
      audit_file: nil,
      audit_sync_each: false,
      rules: for(rule <- Config.get(:redaction_rules), do: rule(Map.new(rule))),
      fields: for(field <- Config.get(:redaction_fields), do: to_string(field)),
      session_idle_ms: Config.get(:session_idle_ms)
    }
  end

  # The chain of a file goes on from one start to the next, so its key must be the same. A VM that a tool's command started, such
  # as the one of a test run or the MCP server's project, has no file: the trail is whose command it is.
  defp trail do
    case if(Environment.of_command?(), do: nil, else: Config.get(:audit_file)) do
      nil ->
        %{}

      file ->
        key = AuditKey.load!()

        %{
          audit_file: Path.expand(file),
          audit_sync_each: Config.get(:audit_file_sync) == :each,
          audit_args_key: AuditKey.derived(key, "arguments"),
          audit_chain_key: AuditKey.derived(key, "chain")
        }
    end
  end

  defp rule(%{name: name, pattern: pattern, replacement: replacement}), do: {name, pattern, replacement}

  @spec advance(t(), non_neg_integer()) :: :ok
  def advance(core, ms), do: Native.clock_advance(core, ms)

  defp load_error do
    with {reason, text} <- Native.load_error(), do: {:error, {reason, text}}
  end
end
