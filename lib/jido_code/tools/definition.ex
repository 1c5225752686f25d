defmodule JidoCode.Tools.Definition do
  @moduledoc """
  A tool as data: all that is known about it without running it. Its handler owns it, as `definition/0`; everything that models, clients,
  hosts, the pipeline and the documentation read is derived from it.

      def definition do
        %{
          name: "orders",
          title: "Look at orders",
          summary: "the last orders, with their states",
          description: "List the newest orders of the shop, newest first.",
          tier: :privileged,
          hints: :looks,
          parameters: [
            %{name: "limit", type: :integer, required: false, default: 10, minimum: 1, maximum: 100, beyond: :cut,
              description: "How many."}
          ]
        }
      end

  | key | | |
  |---|---|---|
  | `:name` | needed | lower case, digits and `_` |
  | `:description` | needed | what a model reads: what the tool does, when to use it, what it refuses |
  | `:tier` | needed | see `JidoCode.Tools.Behaviours.SecureHandler` |
  | `:parameters` | `[]` | see `JidoCode.Tools.Arguments`; the schema says exactly what it checks |
  | `:title` | the name | a few words for people |
  | `:summary` | the title | what it does, in a line of documentation |
  | `:limits` | by the bounds | its limits in a line of documentation |
  | `:hints` | `:runs` | MCP's annotations, see below |
  | `:timeout_ms` | 30 s | the pipeline's limit in milliseconds; where there is a parameter `timeout`, its default |
  | `:rate_limit`, `:requires_consent` | none | see `JidoCode.Tools.Behaviours.SecureHandler` |
  | `:text` | key by key | a function of the result's map that writes it as models and people read it, in at most 30,000 characters |
  | `:event` | none | the last two parts of its event, `{:shell, :kill_shell}` |
  | `:label` | `""` | what its event calls the work: `{:argument, "process"}` or a fixed text |
  | `:at_node` | false | whether it looks at a running system, so that it can look at another node; `:files` where it reads compiled files about what its label names, `:compiled` where it reads all that the project has compiled |
  | `:launcher?` | false | whether the MCP launcher does it itself, so that no other door has it |

  Hints are `:looks` (changes nothing), `:runs` (runs programs, which may do anything), or a map of `:read_only`, `:destructive`,
  `:idempotent` and `:open_world` to booleans.
  """

  alias JidoCode.Tools.Arguments
  alias JidoCode.Tools.Behaviours.SecureHandler
  alias JidoCode.Tools.Tier

  @type hints :: %{read_only: boolean(), destructive: boolean(), idempotent: boolean(), open_world: boolean()}

  @type t :: %{
          required(:name) => String.t(),
          required(:description) => String.t(),
          required(:tier) => SecureHandler.tier(),
          required(:handler) => module(),
          required(:parameters) => [map()],
          required(:title) => String.t(),
          required(:summary) => String.t(),
          required(:limits) => String.t() | nil,
          required(:hints) => hints(),
          required(:timeout_ms) => pos_integer(),
          required(:event) => {family :: atom(), operation :: atom()} | nil,
          required(:label) => {:argument, String.t()} | String.t(),
          required(:at_node) => boolean() | :files | :compiled,
          required(:launcher?) => boolean(),
          required(:text) => (map() -> String.t()) | nil,
          optional(:unavailable) => (map() -> String.t() | nil),
          optional(:rate_limit) => {pos_integer(), pos_integer()},
          optional(:requires_consent) => boolean(),
          optional(:offered) => String.t()
        }

  @timeout_ms 30_000

  @looks %{read_only: true, destructive: false, idempotent: true, open_world: false}
  @runs %{read_only: false, destructive: true, idempotent: false, open_world: true}

  @defaults %{
    parameters: [],
    limits: nil,
    hints: :runs,
    text: nil,
    event: nil,
    label: "",
    at_node: false,
    launcher?: false
  }

  # What a host's own structures take of a tool and of a parameter.
  @host_keys [:name, :description, :handler, :parameters]
  @host_parameter_keys [:name, :type, :required, :description, :enum, :items, :default]

  @doc "The definition of a handler, complete."
  @spec of(module()) :: t()
  def of(handler), do: complete(handler.definition(), handler)

  @doc false
  @spec complete(map(), module()) :: t()
  def complete(definition, handler) do
    definition = @defaults |> Map.merge(definition) |> Map.delete(:offered)
    title = Map.get(definition, :title, definition.name)

    definition
    |> Map.merge(%{title: title, handler: handler, hints: hints(definition.hints)})
    |> Map.put_new(:summary, title)
    |> Map.put_new(:timeout_ms, time(definition)[:default] || @timeout_ms)
  end

  defp hints(:looks), do: @looks
  defp hints(:runs), do: @runs
  defp hints(%{} = hints), do: Map.merge(@runs, hints)

  @doc false
  # Whether it came from a project's VM (`JidoCode.Tools.ProjectVM.Offer`, which marks it; a handler's own definition can't carry the
  # mark): then it holds what its handler would declare.
  @spec offered?(term()) :: boolean()
  def offered?(tool),
    do: match?(%{offered: digest, hints: _hints} when is_binary(digest), tool)

  @doc "As a host's own structures take it: name, description, handler and parameters."
  @spec for_host(t()) :: map()
  def for_host(definition) do
    definition
    |> Map.take(@host_keys)
    |> Map.update!(:parameters, fn parameters -> Enum.map(parameters, &Map.take(&1, @host_parameter_keys)) end)
  end

  @doc "What `c:JidoCode.Tools.Behaviours.SecureHandler.security_properties/0` says of it."
  @spec properties(t()) :: SecureHandler.security_properties()
  def properties(definition), do: Map.take(definition, [:tier, :timeout_ms, :rate_limit, :requires_consent])

  @doc "The parameter that says how long a call may take; nil when the tool has none."
  @spec time(map()) :: map() | nil
  def time(definition), do: Enum.find(definition.parameters, &(&1.name == "timeout"))

  @doc false
  # {default, maximum, whether the handler keeps the time itself}
  @spec times(map()) :: {pos_integer() | nil, pos_integer() | nil, boolean()}
  def times(definition) do
    case time(definition) do
      nil -> {nil, nil, false}
      parameter -> {parameter[:default], parameter[:maximum], true}
    end
  end

  @doc "The parameters as a JSON Schema object, in the part of the language that every client understands."
  @spec schema(t()) :: map()
  def schema(definition) do
    %{
      "type" => "object",
      "properties" => Map.new(definition.parameters, &{&1.name, property(&1)}),
      "required" =>
        for(parameter <- definition.parameters, Map.get(parameter, :required, true), do: parameter.name),
      "additionalProperties" => false
    }
  end

  defp property(parameter) do
    optional =
      for {key, name} <- [enum: "enum", default: "default", minimum: "minimum", maximum: "maximum"],
          Map.has_key?(parameter, key),
          into: %{},
          do: {name, parameter[key]}

    items = Map.get(parameter, :items, :string)
    items = if parameter.type == :array, do: %{"items" => %{"type" => Atom.to_string(items)}}, else: %{}

    %{"type" => Atom.to_string(parameter.type), "description" => parameter.description}
    |> Map.merge(items)
    |> Map.merge(optional)
  end

  @doc "MCP's annotations: clients decide by them whether to ask a person first, and whether a lost call may be made again."
  @spec annotations(t()) :: %{String.t() => boolean()}
  def annotations(%{hints: hints}) do
    %{
      "readOnlyHint" => hints.read_only,
      "destructiveHint" => hints.destructive,
      "idempotentHint" => hints.idempotent,
      "openWorldHint" => hints.open_world
    }
  end

  @doc "What is wrong with a handler and its definition, in sentences; none when it can be offered."
  @spec problems(module()) :: [String.t()]
  def problems(handler) do
    cond do
      not Code.ensure_loaded?(handler) ->
        ["there is no such module"]

      not function_exported?(handler, :definition, 0) ->
        ["it has no definition/0"]

      not function_exported?(handler, :execute, 2) ->
        ["it has no execute/2"]

      not function_exported?(handler, :security_properties, 0) ->
        ["it does not `use JidoCode.Tools.Behaviours.SecureHandler`"]

      true ->
        problems_of(handler.definition())
    end
  rescue
    error -> ["its definition/0 fails: #{Exception.message(error)}"]
  end

  @doc false
  @spec problems_of(term()) :: [String.t()]
  def problems_of(definition)

  def problems_of(definition) when is_map(definition) do
    definition = Map.merge(@defaults, definition)

    wrong =
      for {key, right?, takes} <- [
            {:name, &name?/1, "lower-case letters, digits and _, beginning with a letter"},
            {:title, &(&1 == nil or text?(&1)), "a text"},
            {:description, &text?/1, "a text"},
            {:tier, &Tier.valid?/1, "one of #{inspect(Tier.all())}"},
            {:hints, &hints?/1, ":looks, :runs or a map of booleans"},
            {:timeout_ms, &(&1 == nil or (is_integer(&1) and &1 > 0)), "a positive integer"},
            {:text, &(&1 == nil or is_function(&1, 1)), "a function of one argument"},
            {:parameters, &is_list/1, "a list"}
          ],
          not right?.(definition[key]),
          do: "#{inspect(key)} takes #{takes}, got: #{inspect(definition[key], limit: 5)}"

    if wrong == [], do: declared(definition) ++ Arguments.all_problems(definition.parameters), else: wrong
  end

  def problems_of(_other), do: ["its definition/0 does not return a map"]

  defp declared(definition) do
    case definition |> Map.reject(&match?({_key, nil}, &1)) |> SecureHandler.validate_properties() do
      :ok -> []
      {:error, problem} -> [problem]
    end
  end

  defp name?(name), do: is_binary(name) and name =~ ~r/\A[a-z][a-z0-9_]{0,63}\z/
  defp text?(text), do: is_binary(text) and String.valid?(text) and String.trim(text) != ""

  defp hints?(hints) when hints in [:looks, :runs], do: true

  defp hints?(hints) when is_map(hints),
    do: Enum.all?(hints, fn {key, value} -> is_map_key(@runs, key) and is_boolean(value) end)

  defp hints?(_other), do: false
end
