defmodule JidoCode.Tools.Answers.Callers do
  @moduledoc false
  # Uses by file, a line each, as a search prints them.

  import JidoCode.Tools.Answers.Words, only: [count: 2, paragraphs: 1]

  @doc """
  The text of `find_callers`.

      iex> use = %{"file" => "lib/a.ex", "line" => 3, "kind" => "call", "from" => "A.b/1", "text" => "Cart.add(x)"}
      iex> JidoCode.Tools.Answers.Callers.text(%{"uses" => [use, %{use | "line" => 9}], "total" => 2, "modules" => 40})
      "lib/a.ex\\n3: A.b/1 call  Cart.add(x)\\n9: A.b/1 call  Cart.add(x)\\n2 uses in 40 modules\\n"
  """
  @spec text(%{String.t() => term()}) :: String.t()
  def text(report) do
    files = report["uses"] |> Enum.chunk_by(& &1["file"]) |> Enum.map(&file/1)

    total =
      if report["total"] > 0, do: "#{count(report["total"], "use")} in #{count(report["modules"], "module")}"

    paragraphs(files ++ [total, report["note"]])
  end

  defp file([first | _rest] = uses), do: Enum.join([first["file"] | Enum.map(uses, &line/1)], "\n")

  defp line(use) do
    what = if use["what"], do: " " <> use["what"], else: ""
    text = if use["text"], do: "  " <> use["text"], else: ""
    "#{use["line"]}: #{use["from"]} #{use["kind"]}#{what}#{text}"
  end
end
