defmodule JidoCode.Tools.Shortened do
  @moduledoc false
  # Text that is shown up to a number of characters, and says so where it was longer.

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
      over -> String.slice(text, 0, limit) <> "\n... #{Text.number(over)} more characters"
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
      over -> "[... #{Text.number(over)} characters cut ...]\n" <> String.slice(text, over, limit)
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
    if over(text, limit) == 0, do: text, else: String.slice(text, 0, limit - 3) <> "..."
  end

  # Most texts have fewer bytes than characters are allowed: those need no count.
  defp over(text, limit) when byte_size(text) <= limit, do: 0
  defp over(text, limit), do: max(String.length(text) - limit, 0)
end
