defmodule JidoCode.Tools.Registry do
  @moduledoc "The registered tools by name."

  alias JidoCode.Tools.Tool

  @spec register(Tool.t()) :: :ok | {:error, :already_registered | :invalid_tool}
  def register(%Tool{name: name} = tool) do
    if registered?(name) do
      {:error, :already_registered}
    else
      :persistent_term.put(__MODULE__, Map.put(all(), name, tool))
    end
  end

  def register(_other), do: {:error, :invalid_tool}

  @spec unregister(String.t()) :: :ok
  def unregister(name), do: :persistent_term.put(__MODULE__, Map.delete(all(), name))

  @spec get(String.t()) :: {:ok, Tool.t()} | {:error, :not_found}
  def get(name) do
    case all() do
      %{^name => tool} -> {:ok, tool}
      _all -> {:error, :not_found}
    end
  end

  @spec registered?(String.t()) :: boolean()
  def registered?(name), do: is_map_key(all(), name)

  @spec list() :: [Tool.t()]
  def list, do: Enum.sort_by(Map.values(all()), & &1.name)

  @spec count() :: non_neg_integer()
  def count, do: map_size(all())

  @spec clear() :: :ok
  def clear, do: :persistent_term.put(__MODULE__, %{})

  @spec to_llm_format() :: [map()]
  def to_llm_format, do: Enum.map(list(), &Tool.to_llm_function/1)

  defp all, do: :persistent_term.get(__MODULE__, %{})
end
