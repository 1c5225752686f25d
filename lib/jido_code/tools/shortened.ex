defmodule JidoCode.Tools.Shortened do
  @moduledoc false
  # Text that is shown up to a number of characters, and says so where it was longer.
  #
  # Characters are Unicode's code points: any number of accents may stand on one letter, and count as one with it elsewhere.

  alias JidoCode.Tools.Render.Text

  @answer 30_000

  @doc "Characters of a tool's result at most."
  @spec answer() :: pos_integer()
  def answer, do: @answer

  @doc """
  The beginning of a text of several lines.

      iex> JidoCode.Tools.Shortened.block("abcdef", 6)
      "abcdef"
      iex> JidoCode.Tools.Shortened.block("abcdef", 2)
      "ab\\n... 4 more characters"
  """
  @spec block(String.t(), pos_integer()) :: String.t()
  def block(text, limit) do
    case over(text, limit) do
      0 -> text
      over -> first(text, limit) <> "\n... #{Text.number(over)} more characters"
    end
  end

  @doc """
  The end of a text, where what comes last says most.

      iex> JidoCode.Tools.Shortened.ending("abcdef", 6)
      "abcdef"
      iex> JidoCode.Tools.Shortened.ending("abcdef", 2)
      "[... 4 characters cut ...]\\nef"
  """
  @spec ending(String.t(), pos_integer()) :: String.t()
  def ending(text, limit) do
    case over(text, limit) do
      0 -> text
      over -> "[... #{Text.number(over)} characters cut ...]\n" <> rest(text, over)
    end
  end

  @doc """
  The beginning of a name or another text within a line; the dots that say so are within the limit.

      iex> JidoCode.Tools.Shortened.label("abcdef", 6)
      "abcdef"
      iex> JidoCode.Tools.Shortened.label("abcdef", 5)
      "ab..."
  """
  @spec label(String.t(), pos_integer()) :: String.t()
  def label(text, limit) do
    if over(text, limit) == 0, do: text, else: first(text, limit - 3) <> "..."
  end

  @doc """
  How many characters a text has beyond a number of them.

      iex> JidoCode.Tools.Shortened.over("abc", 2)
      1
      iex> JidoCode.Tools.Shortened.over("e" <> String.duplicate("\\u0301", 9), 2)
      8
  """
  @spec over(String.t(), non_neg_integer()) :: non_neg_integer()
  # Most texts have fewer bytes than characters are allowed: those need no count.
  def over(text, limit) when byte_size(text) <= limit, do: 0
  def over(text, limit), do: max(characters(text, 0) - limit, 0)

  @doc "The first characters of a text."
  @spec first(String.t(), non_neg_integer()) :: String.t()
  def first(text, count), do: binary_part(text, 0, byte_size(text) - byte_size(rest(text, count)))

  # A byte that is not text counts as one.
  defp characters(<<_character::utf8, rest::binary>>, count), do: characters(rest, count + 1)
  defp characters(<<_byte, rest::binary>>, count), do: characters(rest, count + 1)
  defp characters(<<>>, count), do: count

  defp rest(text, 0), do: text
  defp rest(<<_character::utf8, rest::binary>>, count), do: rest(rest, count - 1)
  defp rest(<<_byte, rest::binary>>, count), do: rest(rest, count - 1)
  defp rest(<<>>, _count), do: <<>>
end
