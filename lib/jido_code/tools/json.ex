defmodule JidoCode.Tools.JSON do
  @moduledoc false
  # JSON at the doors, read and written by the native core.
  #
  # No atom is made from input. Documents nest up to 64 levels.

  alias JidoCode.Tools.Security.Native

  @type t :: nil | boolean() | number() | String.t() | [t()] | %{String.t() => t()}

  @doc """
  The document, or in words where and why it is none.

      iex> JidoCode.Tools.JSON.decode(~s({"a": [1, 2.5, null]}))
      {:ok, %{"a" => [1, 2.5, nil]}}
      iex> JidoCode.Tools.JSON.encode(%{b: 1, a: "x"})
      {:ok, ~s({"a":"x","b":1})}
      iex> {:error, message} = JidoCode.Tools.JSON.decode("{")
      iex> message =~ "line 1 column 1"
      true
  """
  @spec decode(binary()) :: {:ok, t()} | {:error, String.t()}
  def decode(document) when is_binary(document), do: Native.json_decode(document)

  @doc """
  Text with keys in order; `pretty: true` for people. Atoms other than `true`, `false` and `nil` become strings.
  """
  @spec encode(term(), keyword()) :: {:ok, String.t()} | {:error, String.t()}
  def encode(term, opts \\ []), do: Native.json_encode(term, Keyword.get(opts, :pretty, false))
end
