defmodule JidoCode.Tools.Answers.Words do
  @moduledoc false
  # What the writers of answers have in common.

  @doc """
  Paragraphs, the empty ones left out, each ending in one newline.

      iex> JidoCode.Tools.Answers.Words.paragraphs(["a", nil, "", "b\\n\\n"])
      "a\\nb\\n"
  """
  @spec paragraphs([String.t() | nil]) :: String.t()
  def paragraphs(texts) do
    for text <- texts, text not in [nil, ""], into: "", do: String.trim_trailing(text, "\n") <> "\n"
  end

  @doc """
  A text below a label of its own; nil where there is no text.

      iex> JidoCode.Tools.Answers.Words.labelled("stderr", "a\\nb")
      "stderr:\\na\\nb"
      iex> JidoCode.Tools.Answers.Words.labelled("stderr", " ")
      nil
  """
  @spec labelled(String.t(), String.t() | nil) :: String.t() | nil
  def labelled(_label, nil), do: nil

  def labelled(label, text) do
    if String.trim(text) == "", do: nil, else: label <> ":\n" <> String.trim_trailing(text)
  end

  @doc """
  Facts in one line, those without a value left out; nil where none is left.

      iex> JidoCode.Tools.Answers.Words.facts(["a", nil, "b"])
      "a, b"
      iex> JidoCode.Tools.Answers.Words.facts([nil, false, ""])
      nil
  """
  @spec facts([String.t() | nil | false], String.t()) :: String.t() | nil
  def facts(facts, separator \\ ", ") do
    case Enum.reject(facts, &(&1 in [nil, false, ""])) do
      [] -> nil
      facts -> Enum.join(facts, separator)
    end
  end

  @doc """
  Lines moved to the right.

      iex> JidoCode.Tools.Answers.Words.indented("a\\n\\nb", 2)
      "  a\\n\\n  b"
  """
  @spec indented(String.t() | nil, pos_integer()) :: String.t() | nil
  def indented(text, columns)
  def indented(empty, _columns) when empty in [nil, ""], do: nil

  def indented(text, columns) do
    pad = String.duplicate(" ", columns)
    text |> String.split("\n") |> Enum.map_join("\n", &if(&1 == "", do: "", else: pad <> &1))
  end

  @doc """
  A number of things.

      iex> JidoCode.Tools.Answers.Words.count(1, "child", "children")
      "1 child"
      iex> JidoCode.Tools.Answers.Words.count(2, "test")
      "2 tests"
  """
  @spec count(integer(), String.t(), String.t() | nil) :: String.t()
  def count(number, noun, plural \\ nil)
  def count(1, noun, _plural), do: "1 " <> noun
  def count(number, noun, plural), do: "#{number} #{plural || noun <> "s"}"

  @doc """
  A size as people read it.

      iex> Enum.map([0, 999, 12_345, 2_000_000, 3_500_000_000], &JidoCode.Tools.Answers.Words.bytes/1)
      ["0 B", "999 B", "12.3 kB", "2.0 MB", "3.5 GB"]
  """
  @spec bytes(integer()) :: String.t()
  def bytes(bytes) when bytes < 1_000, do: "#{bytes} B"
  def bytes(bytes) when bytes < 1_000_000, do: "#{Float.round(bytes / 1_000, 1)} kB"
  def bytes(bytes) when bytes < 1_000_000_000, do: "#{Float.round(bytes / 1_000_000, 1)} MB"
  def bytes(bytes), do: "#{Float.round(bytes / 1_000_000_000, 1)} GB"
end
