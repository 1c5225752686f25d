defmodule JidoCode.Tools.Answers.Search do
  @moduledoc false
  # A listing as ripgrep prints it; the counts only where they say more than the listing.

  import JidoCode.Tools.Answers.Words, only: [paragraphs: 1]

  @doc """
  The text of a search's result.

      iex> JidoCode.Tools.Answers.Search.text(%{"result" => "lib/a.ex\\n12:def a", "total" => 1, "files" => 1})
      "lib/a.ex\\n12:def a\\n"
      iex> JidoCode.Tools.Answers.Search.text(%{"result" => "", "total" => 0, "note" => "No match."})
      "No match.\\n"
      iex> JidoCode.Tools.Answers.Search.text(%{"result" => "a:1\\nb:1", "truncated" => true, "note" => "Shown: the first 2 of 9 files."})
      "a:1\\nb:1\\nShown: the first 2 of 9 files.\\n"
  """
  @spec text(%{String.t() => term()}) :: String.t()
  def text(report), do: paragraphs([report["result"], report["note"]])
end
