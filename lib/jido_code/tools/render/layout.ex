defmodule JidoCode.Tools.Render.Layout do
  @moduledoc false
  # Lines of at most 80 columns where the content allows: a container is written on one line if it fits, else with each
  # element on a line of its own, or, if all are short, as many to a line as fit.

  @width 80

  @opaque doc ::
            {:leaf, String.t(), width :: non_neg_integer()}
            | {:group, String.t(), [item()], String.t(), width :: non_neg_integer(),
               bytes :: non_neg_integer(), fill :: boolean()}

  @typedoc "What separates an element from the one before, what precedes it (a key), and the element."
  @type item :: {separator :: String.t(), prefix :: String.t(), doc()}

  @doc "Text that is never broken."
  @spec leaf(String.t()) :: doc()
  def leaf(text), do: {:leaf, text, String.length(text)}

  @doc "A container."
  @spec group(String.t(), [item()], String.t()) :: doc()
  def group(open, items, close) do
    {width, bytes} =
      Enum.reduce(items, {String.length(open <> close), byte_size(open <> close)}, fn {separator, prefix, doc},
                                                                                      {w, b} ->
        gap = byte_size(separator) + 1
        {w + gap + String.length(prefix) + width(doc), b + gap + byte_size(prefix) + bytes(doc)}
      end)

    fill? = Enum.all?(items, fn {_separator, prefix, doc} -> prefix == "" and elem(doc, 0) == :leaf end)
    {:group, open, items, close, width, bytes, fill?}
  end

  @doc "The document's size if it fits on the line when it begins at `column`, else nil."
  @spec bytes_on_line(doc(), non_neg_integer()) :: non_neg_integer() | nil
  def bytes_on_line(doc, column) do
    if column + width(doc) <= @width, do: bytes(doc)
  end

  @doc "The document in lines."
  @spec to_text(doc()) :: String.t()
  def to_text(doc), do: doc |> lines(0, 0) |> IO.iodata_to_binary()

  @doc "The document on one line."
  @spec to_line(doc()) :: String.t()
  def to_line(doc), do: doc |> line() |> IO.iodata_to_binary()

  defp width({:leaf, _text, width}), do: width
  defp width({:group, _open, _items, _close, width, _bytes, _fill?}), do: width

  defp bytes({:leaf, text, _width}), do: byte_size(text)
  defp bytes({:group, _open, _items, _close, _width, bytes, _fill?}), do: bytes

  # `column` is where the document starts, `indent` where its closing line does. Depth is bounded by the renderer.
  defp lines({:leaf, text, _width}, _indent, _column), do: text

  defp lines({:group, open, items, close, width, _bytes, fill?} = doc, indent, column) do
    cond do
      column + width <= @width -> line(doc)
      fill? -> [open, fill(items, indent + 2), break(indent), close]
      true -> [open, each(items, indent + 2), break(indent), close]
    end
  end

  defp each([first | rest], indent) do
    [
      break(indent),
      element(first, indent) | Enum.map(rest, &[elem(&1, 0), break(indent), element(&1, indent)])
    ]
  end

  defp element({_separator, prefix, doc}, indent) do
    [prefix, lines(doc, indent, indent + String.length(prefix))]
  end

  defp fill([{_separator, _prefix, first} | rest], indent) do
    {filled, _column} =
      Enum.map_reduce(rest, indent + width(first), fn {separator, _prefix, doc}, column ->
        if column + byte_size(separator) + 1 + width(doc) + 1 <= @width do
          {[separator, " ", line(doc)], column + byte_size(separator) + 1 + width(doc)}
        else
          {[separator, break(indent), line(doc)], indent + width(doc)}
        end
      end)

    [break(indent), line(first) | filled]
  end

  defp line({:leaf, text, _width}), do: text

  defp line({:group, open, [{_separator, prefix, first} | rest], close, _width, _bytes, _fill?}) do
    [
      open,
      prefix,
      line(first),
      Enum.map(rest, fn {separator, prefix, doc} -> [separator, " ", prefix, line(doc)] end),
      close
    ]
  end

  defp break(indent), do: ["\n" | List.duplicate(?\s, indent)]
end
