defmodule JidoCode.Tools.Result do
  @moduledoc "What a tool call came to, as text for the model."

  @enforce_keys [:tool_call_id, :tool_name, :status, :content]
  defstruct [:tool_call_id, :tool_name, :status, :content, duration_ms: 0]

  @type t :: %__MODULE__{
          tool_call_id: String.t(),
          tool_name: String.t(),
          status: :ok | :error | :timeout,
          content: String.t(),
          duration_ms: non_neg_integer()
        }

  @spec ok(String.t(), String.t(), term(), non_neg_integer()) :: t()
  def ok(id, name, value, duration \\ 0), do: new(id, name, :ok, text(value), duration)

  @spec error(String.t(), String.t(), term(), non_neg_integer()) :: t()
  def error(id, name, reason, duration \\ 0), do: new(id, name, :error, reason(reason), duration)

  @spec timeout(String.t(), String.t(), non_neg_integer()) :: t()
  def timeout(id, name, ms), do: new(id, name, :timeout, "Tool execution timed out after #{ms}ms", ms)

  @spec ok?(t()) :: boolean()
  def ok?(%__MODULE__{status: status}), do: status == :ok

  @spec error?(t()) :: boolean()
  def error?(%__MODULE__{status: status}), do: status != :ok

  defp new(id, name, status, content, duration) do
    %__MODULE__{tool_call_id: id, tool_name: name, status: status, content: content, duration_ms: duration}
  end

  defp text(value) when is_binary(value), do: value
  defp text(value) when is_map(value) or is_list(value), do: Jason.encode!(value)
  defp text(value), do: inspect(value)

  defp reason(reason) when is_binary(reason), do: reason
  defp reason(reason) when is_atom(reason), do: Atom.to_string(reason)
  defp reason(reason) when is_list(reason), do: to_string(reason)
  defp reason({:error, reason}), do: reason(reason)
  defp reason(%{message: message}) when is_binary(message), do: message
  defp reason(reason), do: inspect(reason)
end
