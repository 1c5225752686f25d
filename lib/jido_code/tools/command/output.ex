defmodule JidoCode.Tools.Command.Output do
  @moduledoc false
  # What is left of one output stream.
  #
  #   * `head`, `tail` - the text kept, valid UTF-8; `tail` is empty while all of it fits the head
  #   * `bytes`, `lines` - what the command wrote in all
  #   * `cut_bytes`, `cut_lines` - what lay between head and tail and is gone
  #   * `size` - bytes of the whole text; differs from `bytes` only where bytes had to be shown as `\xNN`

  @keys [:head, :tail, :size, :bytes, :lines, :cut_bytes, :cut_lines]
  @enforce_keys @keys
  defstruct @keys

  @type t :: %__MODULE__{
          head: String.t(),
          tail: String.t(),
          size: non_neg_integer(),
          bytes: non_neg_integer(),
          lines: non_neg_integer(),
          cut_bytes: non_neg_integer(),
          cut_lines: non_neg_integer()
        }

  @doc """
  The text, with a line that says how much is missing where something is.

      iex> alias JidoCode.Tools.Command.Output
      iex> Output.text(%Output{head: "a\\n", tail: "z\\n", size: 30, bytes: 30, lines: 15, cut_bytes: 26, cut_lines: 13})
      "a\\n[... 26 bytes, 13 lines cut ...]\\nz\\n"
  """
  @spec text(t()) :: String.t()
  def text(%__MODULE__{cut_bytes: 0} = output), do: output.head <> output.tail

  def text(%__MODULE__{} = output) do
    break = if output.head == "" or String.ends_with?(output.head, "\n"), do: "", else: "\n"
    "#{output.head}#{break}[... #{output.cut_bytes} bytes, #{output.cut_lines} lines cut ...]\n#{output.tail}"
  end

  @doc false
  @spec from_report(map()) :: t()
  def from_report(report) do
    struct!(__MODULE__, for(key <- @keys, do: {key, Map.fetch!(report, Atom.to_string(key))}))
  end

  @doc """
  At most `limit` bytes from `position` on, cut at characters.
  """
  @spec slice(t(), non_neg_integer(), pos_integer()) :: JidoCode.Tools.Command.slice()
  def slice(%__MODULE__{} = output, position, limit) do
    position = min(position, output.size)
    tail_start = output.size - byte_size(output.tail)

    {first, text} =
      if position < byte_size(output.head), do: {0, output.head}, else: {tail_start, output.tail}

    start = character_from(text, max(position - first, 0))
    text = text |> binary_part(start, byte_size(text) - start) |> whole_characters(max(limit, 4))
    %{text: text, next: first + start + byte_size(text), dropped: max(first + start - position, 0)}
  end

  defp character_from(text, place) when place >= byte_size(text), do: byte_size(text)

  defp character_from(text, place) do
    if continuation?(text, place), do: character_from(text, place + 1), else: place
  end

  defp whole_characters(text, limit) when byte_size(text) <= limit, do: text

  defp whole_characters(text, limit) do
    if continuation?(text, limit), do: whole_characters(text, limit - 1), else: binary_part(text, 0, limit)
  end

  defp continuation?(text, place), do: Bitwise.band(:binary.at(text, place), 0b1100_0000) == 0b1000_0000
end
