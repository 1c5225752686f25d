defmodule JidoCode.Tools.Answers.Plain do
  @moduledoc false
  # A result key by key, as indented text: for tools without words of their own.

  @doc """
  A result as indented text: one line for a short value, a block for a long one.

      iex> JidoCode.Tools.Answers.Plain.text(%{"count" => 2, "result" => [%{"name" => "a"}, %{"name" => "b"}]})
      "count: 2\\nresult:\\n  - name: a\\n  - name: b\\n"

  A result that is one sentence is that sentence.

      iex> JidoCode.Tools.Answers.Plain.text(%{"result" => "Done."})
      "Done.\\n"
  """
  @spec text(term()) :: String.t()
  def text(%{"result" => sentence} = result) when map_size(result) == 1 and is_binary(sentence),
    do: sentence <> "\n"

  def text(result), do: result |> format() |> IO.iodata_to_binary()

  defp format(map) when is_map(map) and map_size(map) > 0 do
    for {key, value} <- Enum.sort_by(map, &order/1), do: entry([to_string(key), ":"], value)
  end

  defp format([_ | _] = list), do: Enum.map(list, &item/1)
  defp format(value), do: [scalar(value), "\n"]

  # Short values first: what a person looks for should not stand below a long block.
  defp order({key, value}), do: {block?(value), key}

  defp entry(label, value) do
    if block?(value), do: [label, "\n", indent(format(value))], else: [label, " ", scalar(value), "\n"]
  end

  defp item(value) when (is_map(value) and map_size(value) > 0) or (is_list(value) and value != []) do
    [first | rest] = value |> format() |> IO.iodata_to_binary() |> String.split("\n")
    ["- ", Enum.intersperse([first | Enum.map(rest, &pad/1)], "\n")]
  end

  defp item(value), do: ["- ", scalar(value), "\n"]

  defp block?(value) when is_binary(value), do: String.contains?(value, "\n")
  defp block?(value) when is_map(value), do: map_size(value) > 0
  defp block?(value), do: is_list(value) and value != []

  defp scalar(value) when is_binary(value), do: value
  defp scalar(nil), do: "-"
  defp scalar([]), do: "none"
  defp scalar(value) when is_map(value), do: "none"
  defp scalar(value), do: inspect(value)

  defp indent(text) do
    text
    |> IO.iodata_to_binary()
    |> String.trim_trailing("\n")
    |> String.split("\n")
    |> Enum.map(&[pad(&1), "\n"])
  end

  defp pad(""), do: ""
  defp pad(line), do: ["  ", line]
end
