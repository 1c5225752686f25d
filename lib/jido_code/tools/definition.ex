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
  | `:description` | needed | what a model reads: what the tool does, when to use it, what it refuses; up to 4,000 characters |
  | `:tier` | needed | see `JidoCode.Tools.Behaviours.SecureHandler` |
  | `:parameters` | `[]` | see `JidoCode.Tools.Arguments`; the schema says exactly what it checks |
  | `:title` | the name | a few words for people, up to 100 characters |
  | `:summary` | the title | what it does, in a line of documentation of up to 300 characters |
  | `:limits` | by the bounds | its limits in a line of documentation of up to 300 characters |
  | `:hints` | `:runs` | MCP's annotations, see below |
  | `:timeout_ms` | 30 s | the pipeline's limit in milliseconds; where there is a parameter `timeout`, its default |
  | `:rate_limit`, `:requires_consent` | none | see `JidoCode.Tools.Behaviours.SecureHandler` |
  | `:text` | key by key | a function of the result's map that writes it as models and people read it, in at most 30,000 characters |
  | `:event` | none | the last two parts of its event, `{:shell, :kill_shell}` |
  | `:label` | `""` | what its event calls the work: `{:argument, "process"}` or a fixed text |
  | `:at_node` | false | whether it looks at a running system, so that it can look at another node; `:files` where it reads compiled files about what its label names, `:compiled` where it reads all that the project has compiled |
  | `:launcher?` | false | whether the MCP launcher does it itself, so that no other door has it; only for the library's own tools |

  A definition has no other keys, and no invisible characters (control and formatting characters) in its texts.

  Hints are `:looks` (changes nothing), `:runs` (runs programs, which may do anything), or a map of `:read_only`, `:destructive`,
  `:idempotent` and `:open_world` to booleans.
  """

  alias JidoCode.Tools.{Arguments, Deadline, Shortened, Tier, Visible}
  alias JidoCode.Tools.Behaviours.SecureHandler
  alias JidoCode.Tools.Introspection.Bounded

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

  # What a definition/0 may take, which only writes down what is known.
  @limit_ms 5_000

  # What a tool's own event carries, `{measurements, metadata}` by the family that it names.
  @event_fields [
    elixir: {[:duration, :exit_code], [:task, :status, :session_id]},
    search: {[:duration, :result_count], [:path, :status, :session_id]},
    shell: {[:duration, :exit_code], [:command, :status, :session_id]}
  ]
  @families Keyword.keys(@event_fields)

  @max_description 4_000
  @max_title 100
  @max_line 300

  @keys [:name, :title, :summary, :limits, :description, :tier, :hints, :parameters, :timeout_ms, :rate_limit] ++
          [:requires_consent, :text, :event, :label, :at_node]
  # What only the library's own tools may have.
  @own_keys [:launcher?, :unavailable]

  # What a host's own structures take of a tool and of a parameter.
  @host_keys [:name, :description, :handler, :parameters]
  @host_parameter_keys [:name, :type, :required, :description, :enum, :items, :default]

  @doc "The definition of a handler, complete."
  @spec of(module()) :: t()
  def of(handler), do: complete(handler.definition(), handler)

  @doc false
  @spec complete(map(), module()) :: t()
  def complete(definition, handler) do
    definition = @defaults |> Map.merge(present(definition)) |> Map.delete(:offered)
    title = Map.get(definition, :title, definition.name)

    definition
    |> Map.merge(%{title: title, handler: handler, hints: hints(definition.hints)})
    |> Map.put_new(:summary, title)
    |> Map.put_new(:timeout_ms, time(definition)[:default] || Deadline.default_ms())
  end

  # A key without a value is as good as none.
  defp present(definition), do: Map.reject(definition, &match?({_key, nil}, &1))

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
  # Of tools' events, in the order in which tools are listed.
  @spec families() :: [atom()]
  def families, do: @families

  @doc false
  # What the events of each family carry.
  @spec event_fields() :: [{atom(), {measurements :: [atom()], metadata :: [atom()]}}]
  def event_fields, do: @event_fields

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

  @doc """
  The definition of a handler, checked and complete; or what is wrong with it, in sentences.

  Its `definition/0` is called once, in a process of its own that may take `limit_ms`: what is checked is what is returned.
  """
  @spec checked(module(), pos_integer()) :: {:ok, t()} | {:error, [String.t()]}
  def checked(handler, limit_ms \\ @limit_ms) do
    case Bounded.run(fn -> check(handler) end, timeout: limit_ms) do
      {:ok, answer} ->
        answer

      {:error, :timeout} ->
        {:error, ["its definition/0 has not returned within #{limit_ms} ms"]}

      {:error, :too_large} ->
        {:error, ["its definition/0 was killed, which happens when it uses too much memory"]}

      {:error, {:crashed, _reason}} ->
        {:error, ["its definition/0 ended its process"]}
    end
  end

  defp check(handler) do
    with :ok <- handler(handler),
         {:ok, definition} <- call(handler),
         [] <- problems_of(definition, keys(handler)) do
      {:ok, complete(definition, handler)}
    else
      {:error, problem} -> {:error, [problem]}
      problems -> {:error, problems}
    end
  end

  defp handler(handler) do
    cond do
      not Code.ensure_loaded?(handler) ->
        {:error, "there is no such module"}

      not function_exported?(handler, :definition, 0) ->
        {:error, "it has no definition/0"}

      not function_exported?(handler, :execute, 2) ->
        {:error, "it has no execute/2"}

      not function_exported?(handler, :security_properties, 0) ->
        {:error, "it does not `use JidoCode.Tools.Behaviours.SecureHandler`"}

      true ->
        :ok
    end
  end

  defp call(handler) do
    {:ok, handler.definition()}
  catch
    kind, reason ->
      "** " <> cause = Exception.format_banner(kind, reason, __STACKTRACE__)
      {:error, "its definition/0 fails: #{cause |> Visible.escape() |> Shortened.label(300)}"}
  end

  defp keys(handler) do
    if Application.get_application(handler) == :jido_code_tools, do: @keys ++ @own_keys, else: @keys
  end

  @doc false
  # What is wrong with what a definition/0 returned, or with what came from another VM; `keys` are those that it may have.
  @spec problems_of(term(), [atom()]) :: [String.t()]
  def problems_of(definition, keys \\ @keys)

  def problems_of(definition, keys) when is_map(definition) do
    unknown = Map.keys(definition) -- keys
    definition = Map.merge(@defaults, present(definition))

    cond do
      unknown != [] ->
        ["its definition has #{unknown(unknown)}; its keys may be #{inspect(keys, limit: :infinity)}"]

      (wrong = wrong(definition)) != [] ->
        wrong

      true ->
        declared(definition) ++ Arguments.all_problems(definition.parameters) ++ labelled(definition)
    end
  end

  def problems_of(_other, _keys), do: ["its definition/0 does not return a map"]

  defp unknown([:launcher? | _rest]), do: "the key :launcher?, which only the library's own tools may have"
  defp unknown([key | _rest]), do: "the unknown key #{shown(key)}"

  defp wrong(definition) do
    for {key, right?, takes} <- [
          {:name, &name?/1, "up to 64 lower-case letters, digits and _, beginning with a letter"},
          {:title, optional(&line?(&1, @max_title)), line(@max_title)},
          {:description, &text?/1, "a text of up to #{@max_description} characters without invisible ones"},
          {:tier, &Tier.valid?/1, "one of #{inspect(Tier.all())}"},
          {:hints, &hints?/1, ":looks, :runs or a map of booleans"},
          {:timeout_ms, optional(&(is_integer(&1) and &1 > 0)), "a positive integer"},
          {:text, optional(&is_function(&1, 1)), "a function of one argument"},
          {:parameters, &(is_list(&1) and not List.improper?(&1)), "a list"},
          {:summary, optional(&line?(&1, @max_line)), line(@max_line)},
          {:limits, optional(&line?(&1, @max_line)), line(@max_line)},
          {:label, &label?/1,
           "{:argument, the name of a parameter} or a line of up to #{@max_title} characters"},
          {:event, optional(&event?/1), "{family, operation}: a family of #{inspect(@families)} and an atom"},
          {:at_node, &(&1 in [true, false, :files, :compiled]), "true, false, :files or :compiled"},
          {:launcher?, &is_boolean/1, "true or false"}
        ],
        not right?.(definition[key]),
        do: "#{inspect(key)} takes #{takes}, got: #{shown(definition[key])}"
  end

  defp optional(right?), do: &(&1 == nil or right?.(&1))
  defp line(most), do: "a line of up to #{most} characters without invisible ones"

  # Without the Inspect of anybody's structures.
  defp shown(value) do
    value
    |> inspect(limit: 5, printable_limit: 100, structs: false)
    |> Visible.escape()
    |> Shortened.label(300)
  end

  defp declared(definition) do
    case definition |> present() |> SecureHandler.validate_properties() do
      :ok -> []
      {:error, problem} -> [problem]
    end
  end

  defp labelled(%{label: {:argument, name}, parameters: parameters}) do
    if Enum.any?(parameters, &match?(%{name: ^name}, &1)),
      do: [],
      else: [":label names #{shown(name)}, which is none of its parameters"]
  end

  defp labelled(_fixed), do: []

  defp name?(name), do: is_binary(name) and name =~ ~r/\A[a-z][a-z0-9_]{0,63}\z/

  defp text?(text) do
    is_binary(text) and Visible.text?(text) and String.trim(text) != "" and
      String.length(text) <= @max_description
  end

  defp line?(text, most) do
    is_binary(text) and Visible.line?(text) and String.trim(text) != "" and String.length(text) <= most
  end

  defp label?({:argument, name}), do: is_binary(name)
  defp label?(label), do: label == "" or line?(label, @max_title)

  defp event?({family, operation}), do: family in @families and is_atom(operation)
  defp event?(_other), do: false

  defp hints?(hints) when hints in [:looks, :runs], do: true

  # As a map of any keys, which need not be a structure that can be gone through.
  defp hints?(hints) when is_map(hints) do
    Enum.all?(:maps.to_list(hints), fn {key, value} -> is_map_key(@runs, key) and is_boolean(value) end)
  end

  defp hints?(_other), do: false
end
