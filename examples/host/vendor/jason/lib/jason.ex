defmodule Jason do
  @moduledoc "A stand-in for the package of this name: `encode!/1` alone, raising for what is not JSON, as that one does."

  @spec encode!(term()) :: String.t()
  def encode!(term), do: IO.iodata_to_binary(encode(term))

  defp encode(nil), do: "null"
  defp encode(value) when is_boolean(value), do: Atom.to_string(value)
  defp encode(value) when is_atom(value), do: string(Atom.to_string(value))
  defp encode(value) when is_binary(value), do: string(value)
  defp encode(value) when is_integer(value), do: Integer.to_string(value)
  defp encode(value) when is_float(value), do: Float.to_string(value)

  defp encode(%_{} = struct), do: raise(Protocol.UndefinedError, protocol: Jason.Encoder, value: struct)

  defp encode(map) when is_map(map) do
    members = Enum.map(map, fn {key, value} -> [string(to_string(key)), ?:, encode(value)] end)
    [?{, Enum.intersperse(members, ?,), ?}]
  end

  defp encode(list) when is_list(list), do: [?[, list |> Enum.map(&encode/1) |> Enum.intersperse(?,), ?]]
  defp encode(other), do: raise(Protocol.UndefinedError, protocol: Jason.Encoder, value: other)

  defp string(text) do
    unless String.valid?(text), do: raise(ArgumentError, "invalid byte in a string")
    [?", for(<<char::utf8 <- text>>, do: char(char)), ?"]
  end

  defp char(char) when char in [?", ?\\], do: [?\\, char]
  defp char(char) when char < 0x20, do: ["\\u00", Base.encode16(<<char>>, case: :lower)]
  defp char(char), do: <<char::utf8>>
end
