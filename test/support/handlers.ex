defmodule JidoCode.Tools.Test.Runs do
  @moduledoc """
  A handler that does what its test tells it: `args["run"]` is a function of the context, or a map with it under `:call`. It
  declares nothing.
  """

  @spec execute(map(), map()) :: term()
  def execute(%{"run" => %{call: run}}, context), do: run.(context)
  def execute(%{"run" => run}, context), do: run.(context)
end

defmodule JidoCode.Tools.Test.Declared do
  @moduledoc """
  A handler whose every callback does what its test tells it, by functions in the arguments and in the process dictionary's
  stead: `"run"`, `"validate"` and the value's own `:sanitize`.
  """

  use JidoCode.Tools.Behaviours.SecureHandler

  @impl true
  def security_properties, do: %{tier: :write, timeout_ms: 5_000}

  @impl true
  def validate_security(%{"validate" => %{call: validate}}, context), do: validate.(context)
  def validate_security(%{"validate" => validate}, context), do: validate.(context)
  def validate_security(_args, _context), do: :ok

  @impl true
  def sanitize_output({:sanitize, sanitize, value}), do: sanitize.(value)
  def sanitize_output(value), do: value

  @spec execute(map(), map()) :: term()
  def execute(%{"run" => %{call: run}}, context), do: run.(context)
  def execute(%{"run" => run}, context), do: run.(context)
end

defmodule JidoCode.Tools.Test.Consenting do
  @moduledoc "A harmless handler that wants consent all the same, and is called rarely."

  use JidoCode.Tools.Behaviours.SecureHandler

  @impl true
  def security_properties, do: %{tier: :read_only, requires_consent: true, rate_limit: {3, 60_000}}

  @spec execute(map(), map()) :: term()
  def execute(_args, _context), do: {:ok, %{"done" => true}}
end

defmodule JidoCode.Tools.Test.Careless do
  @moduledoc "Handlers whose declarations fail."

  for {name, body} <- [
        Raises: quote(do: raise("no properties")),
        Throws: quote(do: throw(:no_properties)),
        Exits: quote(do: exit(:no_properties)),
        Nonsense: quote(do: :read_only),
        Generous: quote(do: %{tier: :read_only, rate_limit: {0, 0}})
      ] do
    defmodule Module.concat(__MODULE__, name) do
      @moduledoc false
      def security_properties, do: unquote(body)
      def execute(_args, _context), do: {:ok, "ran"}
      def __secure_handler_loaded__, do: raise("not announced")
    end
  end
end

defmodule JidoCode.Tools.Test.Printing do
  @moduledoc "A value that prints itself as its test likes, failing or never ending."
  defstruct [:how]

  defimpl Inspect do
    def inspect(%{how: how}, _opts), do: how.()
  end
end

defmodule JidoCode.Tools.Test.NotLoadedYet do
  @moduledoc "A handler that nobody has called."

  def security_properties, do: %{tier: :privileged, requires_consent: true}
  def execute(_args, _context), do: {:ok, 1}
end
