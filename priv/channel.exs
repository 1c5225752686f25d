defmodule JidoCode.Tools.Channel do
  @moduledoc false
  # How a program of the library's tells what it found: a line of JSON each, over a descriptor that the command runner gave it and
  # that leads nowhere else. It is compiled by the project's own Elixir, so it depends on nothing, and keeps to what Elixir 1.14
  # has.

  def open do
    number = "JIDO_CHANNEL" |> System.fetch_env!() |> String.to_integer()
    Port.open({:fd, number, number}, [:out, :binary])
  end

  # Waits while the reader is behind.
  def tell(port, term), do: Port.command(port, [json(term), ?\n])

  defp json(nil), do: "null"
  defp json(value) when is_boolean(value) or is_integer(value), do: to_string(value)
  defp json(text) when is_binary(text), do: [?", text |> readable() |> escaped(), ?"]
  defp json(list) when is_list(list), do: [?[, list |> Enum.map(&json/1) |> Enum.intersperse(?,), ?]]

  defp json(map) when is_map(map) do
    members = for {key, value} <- map, do: [json(key), ?:, json(value)]
    [?{, Enum.intersperse(members, ?,), ?}]
  end

  defp readable(text), do: if(String.valid?(text), do: text, else: inspect(text))

  defp escaped(text) do
    for <<char::utf8 <- text>>, into: "" do
      case char do
        ?" -> "\\\""
        ?\\ -> "\\\\"
        char when char < 0x20 -> "\\u" <> (char |> Integer.to_string(16) |> String.pad_leading(4, "0"))
        char -> <<char::utf8>>
      end
    end
  end
end
