defmodule JidoCode.Tools.Param do
  @moduledoc "A parameter of a tool."

  @types [:string, :integer, :number, :boolean, :array, :object]

  @enforce_keys [:name, :type, :description]
  defstruct [:name, :type, :description, :default, :items, :properties, :enum, required: true]

  @type t :: %__MODULE__{}

  @spec new(map() | t()) :: {:ok, t()} | {:error, String.t()}
  def new(%__MODULE__{} = param), do: {:ok, param}

  def new(%{name: name, type: type, description: description} = attrs) do
    cond do
      not (is_binary(name) and name != "") ->
        {:error, "name must be a non-empty string"}

      type not in @types ->
        {:error, "invalid type: #{inspect(type)}"}

      not (is_binary(description) and description != "") ->
        {:error, "description must be a non-empty string"}

      not is_boolean(Map.get(attrs, :required, true)) ->
        {:error, "required must be a boolean"}

      true ->
        {:ok, struct(__MODULE__, if(type == :array, do: Map.put_new(attrs, :items, :string), else: attrs))}
    end
  end

  def new(_attrs), do: {:error, "name, type and description are required"}
end
