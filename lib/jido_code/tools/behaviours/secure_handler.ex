defmodule JidoCode.Tools.Behaviours.SecureHandler do
  @moduledoc """
  What a tool handler declares about its own risk.

  A handler names its tier and may name a rate limit, a timeout and whether every call needs the user's consent. The
  pipeline reads these properties before it runs the handler, calls `c:validate_security/2` before `execute/2`, and
  `c:sanitize_output/1` on what came back.

  | Tier | Meant for |
  |---|---|
  | `:read_only` | reads that reveal nothing about running state |
  | `:write` | changes to files |
  | `:execute` | runs programs |
  | `:privileged` | looks into the running system |

  A session that was granted a tier may use that tier and all before it.

      defmodule MyApp.Tools.Uptime do
        use JidoCode.Tools.Behaviours.SecureHandler

        @impl true
        def security_properties, do: %{tier: :read_only, timeout_ms: 1_000}

        def execute(_args, _context), do: {:ok, %{"seconds" => System.monotonic_time(:second)}}
      end

  Both other callbacks have defaults (`:ok`, and the result as it is) that the handler may override. A handler that is a tool of
  its own says all this, and more, in its `c:definition/0` (`JidoCode.Tools.Definition`); one with neither does not compile.
  """

  alias JidoCode.Tools.Tier

  @tiers Tier.all()

  @type tier :: :read_only | :write | :execute | :privileged

  @type security_properties :: %{
          required(:tier) => tier(),
          optional(:rate_limit) => {count :: pos_integer(), window_ms :: pos_integer()},
          optional(:timeout_ms) => pos_integer(),
          optional(:requires_consent) => boolean()
        }

  @doc "The handler's declared risk."
  @callback security_properties() :: security_properties()

  @doc "The tool as data; a handler that has it need not declare its properties apart. See `JidoCode.Tools.Definition`."
  @callback definition() :: map()

  @optional_callbacks definition: 0

  @doc "Refuses a call that the handler knows to be unsafe, before it runs."
  @callback validate_security(args :: map(), context :: map()) :: :ok | {:error, term()}

  @doc "Removes from a result what must not leave, before the pipeline's own redaction."
  @callback sanitize_output(result :: term()) :: term()

  @doc false
  defmacro __using__(_options) do
    quote do
      @behaviour JidoCode.Tools.Behaviours.SecureHandler
      @before_compile JidoCode.Tools.Behaviours.SecureHandler

      @impl JidoCode.Tools.Behaviours.SecureHandler
      def validate_security(_args, _context), do: :ok

      @impl JidoCode.Tools.Behaviours.SecureHandler
      def sanitize_output(result), do: result

      defoverridable validate_security: 2, sanitize_output: 1
    end
  end

  @doc false
  defmacro __before_compile__(env) do
    defined? = &Module.defines?(env.module, &1, :def)

    properties =
      if defined?.({:definition, 0}) and not defined?.({:security_properties, 0}) do
        quote do
          @impl JidoCode.Tools.Behaviours.SecureHandler
          def security_properties,
            do: JidoCode.Tools.Definition.properties(JidoCode.Tools.Catalog.held(__MODULE__))
        end
      end

    quote do
      unquote(properties)

      @doc false
      @spec __secure_handler_loaded__() :: :ok
      def __secure_handler_loaded__ do
        JidoCode.Tools.Telemetry.execute(
          [:jido_code, :security, :handler_loaded],
          %{system_time: System.system_time()},
          %{module: __MODULE__, tier: Map.get(security_properties(), :tier)}
        )
      end
    end
  end

  @doc "The tiers, from the least to the most powerful."
  @spec tier_hierarchy() :: [tier()]
  def tier_hierarchy, do: @tiers

  @doc """
  Whether a session with `granted` may use a tool of tier `requested`. An unknown tier on either side is a no.

      iex> JidoCode.Tools.Behaviours.SecureHandler.tier_allowed?(:write, :execute)
      true
      iex> JidoCode.Tools.Behaviours.SecureHandler.tier_allowed?(:execute, :write)
      false
  """
  @spec tier_allowed?(requested :: term(), granted :: term()) :: boolean()
  def tier_allowed?(requested, granted) do
    with requested when is_integer(requested) <- level(requested),
         granted when is_integer(granted) <- level(granted) do
      requested <= granted
    else
      nil -> false
    end
  end

  @doc "Whether a term is one of the four tiers."
  @spec valid_tier?(term()) :: boolean()
  defdelegate valid_tier?(term), to: Tier, as: :valid?

  @doc """
  Checks what a handler declared. The first mistake is reported; keys it does not know are left alone.
  """
  @spec validate_properties(term()) :: :ok | {:error, String.t()}
  def validate_properties(properties) when is_map(properties) do
    with :ok <- validate_tier(properties),
         :ok <- validate_rate_limit(properties),
         :ok <- validate_timeout(properties) do
      validate_consent(properties)
    end
  end

  def validate_properties(_other), do: {:error, "security_properties must return a map"}

  defp validate_tier(%{tier: tier}) when tier in @tiers, do: :ok
  defp validate_tier(%{tier: tier}), do: {:error, "invalid tier: #{inspect(tier)}"}
  defp validate_tier(_properties), do: {:error, "tier is required"}

  defp validate_rate_limit(%{rate_limit: {count, window}})
       when is_integer(count) and count > 0 and is_integer(window) and window > 0,
       do: :ok

  defp validate_rate_limit(%{rate_limit: _}) do
    {:error, "rate_limit must be {count, window_ms}, both positive integers"}
  end

  defp validate_rate_limit(_properties), do: :ok

  defp validate_timeout(%{timeout_ms: ms}) when is_integer(ms) and ms > 0, do: :ok
  defp validate_timeout(%{timeout_ms: _}), do: {:error, "timeout_ms must be a positive integer"}
  defp validate_timeout(_properties), do: :ok

  defp validate_consent(%{requires_consent: value}) when is_boolean(value), do: :ok
  defp validate_consent(%{requires_consent: _}), do: {:error, "requires_consent must be a boolean"}
  defp validate_consent(_properties), do: :ok

  defp level(tier), do: Enum.find_index(@tiers, &(&1 == tier))
end
