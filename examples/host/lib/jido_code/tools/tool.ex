defmodule JidoCode.Tools.Tool do
  @moduledoc "A tool that the model may call."

  alias JidoCode.Tools.Param

  @enforce_keys [:name, :description, :handler]
  defstruct [:name, :description, :handler, parameters: []]

  @type t :: %__MODULE__{}

  @spec new(map()) :: {:ok, t()} | {:error, String.t()}
  def new(%{name: name, description: description, handler: handler} = attrs) do
    with :ok <- valid(is_binary(name) and name =~ ~r/\A[a-z][a-z0-9_]*\z/, "invalid name: #{inspect(name)}"),
         :ok <- valid(is_binary(description) and description != "", "description must be a non-empty string"),
         :ok <- valid(is_atom(handler) and handler != nil, "handler must be a module"),
         {:ok, parameters} <- parameters(Map.get(attrs, :parameters, [])) do
      {:ok, %__MODULE__{name: name, description: description, handler: handler, parameters: parameters}}
    end
  end

  def new(_attrs), do: {:error, "name, description and handler are required"}

  @spec new!(map()) :: t()
  def new!(attrs) do
    case new(attrs) do
      {:ok, tool} -> tool
      {:error, reason} -> raise ArgumentError, "invalid tool: #{reason}"
    end
  end

  @doc "Required ones are there, none is unknown, types fit. Neither enums nor defaults are looked at."
  @spec validate_args(t(), map()) :: :ok | {:error, String.t()}
  def validate_args(%__MODULE__{parameters: parameters}, args) do
    missing = Enum.find(parameters, &(&1.required and not is_map_key(args, &1.name)))
    unknown = Enum.find(Map.keys(args), fn name -> not Enum.any?(parameters, &(&1.name == name)) end)
    mistyped = Enum.find(parameters, &(args[&1.name] != nil and not type?(&1.type, args[&1.name])))

    cond do
      missing -> {:error, "missing required parameter: #{missing.name}"}
      unknown -> {:error, "unknown parameter: #{unknown}"}
      mistyped -> {:error, "parameter '#{mistyped.name}' must be a/an #{mistyped.type}"}
      true -> :ok
    end
  end

  @spec to_llm_function(t()) :: map()
  def to_llm_function(%__MODULE__{} = tool) do
    %{
      type: "function",
      function: %{
        name: tool.name,
        description: tool.description,
        parameters: %{
          type: "object",
          properties: Map.new(tool.parameters, &{&1.name, property(&1)}),
          required: for(parameter <- tool.parameters, parameter.required, do: parameter.name)
        }
      }
    }
  end

  defp property(param) do
    for {key, value} <- [
          type: param.type,
          description: param.description,
          enum: param.enum,
          default: param.default
        ],
        value != nil,
        into: if(param.type == :array, do: %{items: %{type: param.items}}, else: %{}),
        do: {key, value}
  end

  defp parameters(attrs) do
    Enum.reduce_while(Enum.reverse(attrs), {:ok, []}, fn one, {:ok, parameters} ->
      case Param.new(one) do
        {:ok, parameter} -> {:cont, {:ok, [parameter | parameters]}}
        error -> {:halt, error}
      end
    end)
  end

  defp valid(true, _reason), do: :ok
  defp valid(false, reason), do: {:error, reason}

  defp type?(:string, value), do: is_binary(value)
  defp type?(:integer, value), do: is_integer(value)
  defp type?(:number, value), do: is_number(value)
  defp type?(:boolean, value), do: is_boolean(value)
  defp type?(:array, value), do: is_list(value)
  defp type?(:object, value), do: is_map(value)
end
