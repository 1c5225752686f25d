defmodule JidoCode.Tools.Visible do
  @moduledoc false
  # Text of others (arguments, names in files, definitions) where people and models read it: nothing in it may hide, turn round what
  # is read, move a terminal's cursor, or begin a line that looks like one of ours.

  @doc """
  The text on one line, with what can't be seen as its number.

      iex> JidoCode.Tools.Visible.escape("a b\\e[2J\\n" <> <<0x202E::utf8>>)
      "a b\\\\u{1B}[2J\\\\n\\\\u{202E}"
      iex> JidoCode.Tools.Visible.escape(<<255>>)
      "<<255>>"
  """
  @spec escape(binary()) :: String.t()
  def escape(text), do: replace(text, &escaped/1)

  @doc """
  The text with its line breaks and tabs as they are, and what else can't be seen as its number.

      iex> JidoCode.Tools.Visible.lines("Not found: a\\e[2J\\nb")
      "Not found: a\\\\u{1B}[2J\\nb"
  """
  @spec lines(binary()) :: String.t()
  def lines(text), do: replace(text, &if(&1 in ["\n", "\t"], do: &1, else: escaped(&1)))

  # Beside what Unicode calls control, format and space: its letters, marks and symbols that show nothing.
  defp replace(text, shown) do
    if String.valid?(text) do
      String.replace(
        text,
        ~r/[\p{C}\p{Z}\x{34F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{2800}\x{3164}\x{FE00}-\x{FE0F}\x{FFA0}\x{1D159}\x{E0100}-\x{E01EF}](?<! )/u,
        shown
      )
    else
      inspect(text, printable_limit: 300)
    end
  end

  defp escaped("\n"), do: "\\n"
  defp escaped(<<character::utf8>>), do: "\\u{#{Integer.to_string(character, 16)}}"

  @doc "Whether all of a text can be seen; a text of several lines has line breaks and tabs."
  @spec text?(binary()) :: boolean()
  def text?(text), do: String.valid?(text) and not hides?(text)

  # As above, but spaces are spaces, numbers without a character may have one in a newer Unicode, and U+FE0F colours an emoji.
  defp hides?(text) do
    text =~
      ~r/[^\P{Cc}\n\t]|[\p{Cf}\p{Co}\x{2028}\x{2029}\x{34F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{2800}\x{3164}\x{FE00}-\x{FE0E}\x{FFA0}\x{1D159}\x{E0100}-\x{E01EF}]/u
  end

  @doc "Whether all of it can be seen, and it is one line."
  @spec line?(binary()) :: boolean()
  def line?(text), do: text?(text) and not String.contains?(text, ["\n", "\t"])
end
