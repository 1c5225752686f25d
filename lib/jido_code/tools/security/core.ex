defmodule JidoCode.Tools.Security.Core do
  @moduledoc false
  # The native state behind the security modules: limiter, grants, audit log and redactor in one resource.
  #
  # The library's own lives as long as its application, in a persistent term, so that finding it costs nothing and no
  # caller owns it. Tests make others, with a clock they move by hand, and pass them as the `:core` option.

  alias JidoCode.Tools.Config
  alias JidoCode.Tools.Security.Native

  @opaque t :: reference()

  @doc "The library's own; nil when its application does not run, and then everybody denies."
  @spec default() :: t() | nil
  def default, do: :persistent_term.get(__MODULE__, nil)

  @spec start() :: t()
  def start do
    core = new()
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
    config = Config.load!() |> Map.put(:manual_clock, Keyword.get(opts, :clock) == :manual)

    case load_error() || Native.core_new(config) do
      {:ok, core} ->
        core

      {:error, {:config, message}} ->
        raise ArgumentError, "config :jido_code, redaction rules and fields: #{message}"

      {:error, {:rate, message}} ->
        raise ArgumentError, "config :jido_code, :rate_limits: #{message}"

      {:error, {_kind, message}} ->
        raise "the native core of jido_code_tools does not start: #{message}"
    end
  end

  @doc "Reads the tiers, limits, unknown tier and the audit log's size from the configuration again."
  @spec reload(t()) :: :ok
  def reload(core) do
    config = Config.load!()

    with {:error, message} <- Native.core_put_policy(core, Map.put(config, :manual_clock, false)) do
      raise ArgumentError, "config :jido_code, :rate_limits: #{message}"
    end

    # Of a size that `load!/0` agreed to, so that nothing is half changed.
    :ok = Native.audit_resize(core, config.audit_capacity)
  end

  @spec advance(t(), non_neg_integer()) :: :ok
  def advance(core, ms), do: Native.clock_advance(core, ms)

  defp load_error do
    with {reason, text} <- Native.load_error(), do: {:error, {reason, text}}
  end
end
