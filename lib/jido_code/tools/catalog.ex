defmodule JidoCode.Tools.Catalog do
  @moduledoc """
  The library's tools by name, and what their definitions say to others: the schema for models and clients, the time a call
  may take.

      iex> JidoCode.Tools.Catalog.names()
      ...> |> Enum.filter(&(&1 in ["ets_inspect", "fetch_elixir_docs"]))
      ["ets_inspect", "fetch_elixir_docs"]
      iex> JidoCode.Tools.Catalog.fetch("reload_module")
      :error
  """

  alias JidoCode.Tools.Definitions

  @sources [
    Definitions.Elixir,
    Definitions.GrepSearch,
    Definitions.BashExecute,
    Definitions.BashBackground,
    Definitions.BashOutput,
    Definitions.KillShell
  ]

  @doc "All definitions, in a stable order."
  @spec all() :: [map()]
  def all do
    for source <- @sources,
        definition <- source.all(),
        Code.ensure_loaded?(definition.handler),
        do: definition
  end

  @spec names() :: [String.t()]
  def names, do: Enum.map(all(), & &1.name)

  @doc "The names in one line, for messages."
  @spec names_text() :: String.t()
  def names_text, do: Enum.join(names(), ", ")

  @spec fetch(String.t()) :: {:ok, map()} | :error
  def fetch(name) do
    case Enum.find(all(), &(&1.name == name)) do
      nil -> :error
      definition -> {:ok, definition}
    end
  end

  @doc """
  A definition's parameters as a JSON Schema object, in the part of the language that every client understands.
  """
  @spec schema(map()) :: map()
  def schema(definition) do
    %{
      "type" => "object",
      "properties" => Map.new(definition.parameters, &{&1.name, property(&1)}),
      "required" => for(parameter <- definition.parameters, parameter.required, do: parameter.name),
      "additionalProperties" => false
    }
  end

  defp property(parameter) do
    optional =
      for {key, name} <- [enum: "enum", default: "default", minimum: "minimum", maximum: "maximum"],
          Map.has_key?(parameter, key),
          into: %{},
          do: {name, parameter[key]}

    items = if parameter.type == :array, do: %{"items" => %{"type" => "string"}}, else: %{}

    %{"type" => Atom.to_string(parameter.type), "description" => parameter.description}
    |> Map.merge(items)
    |> Map.merge(optional)
  end

  @doc false
  # {default, maximum, whether the handler keeps the time itself}; nils for a tool that is not ours.
  @spec timeout(String.t()) :: {pos_integer() | nil, pos_integer() | nil, boolean()}
  def timeout(name) do
    with {:ok, definition} <- fetch(name),
         %{} = parameter <- Enum.find(definition.parameters, &(&1.name == "timeout")) do
      {parameter[:default], parameter[:maximum], true}
    else
      _other -> {nil, nil, false}
    end
  end
end
