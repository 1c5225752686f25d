defmodule JidoCode.Tools.Answers.Docs do
  @moduledoc false
  # Documentation as a page: a function with its spec above its text, or a module's text and an index of what is in it.

  import JidoCode.Tools.Answers.Words, only: [paragraphs: 1]

  @doc """
  The text of `fetch_elixir_docs`.

      iex> entry = %{"name" => "sum", "arity" => 1, "kind" => "function", "signature" => "sum(list)", "doc" => "Adds up.", "deprecated" => nil}
      iex> spec = %{"name" => "sum", "arity" => 1, "specs" => ["sum([number()]) :: number()"]}
      iex> report = %{"module" => "Sums", "moduledoc" => "Of sums.", "docs" => [entry], "specs" => [spec], "types" => []}
      iex> JidoCode.Tools.Answers.Docs.text(Map.put(report, "function", "sum"))
      "Sums.sum(list)\\n@spec sum([number()]) :: number()\\n\\nAdds up.\\n"
      iex> JidoCode.Tools.Answers.Docs.text(report)
      "# Sums\\n\\nOf sums.\\n\\n## Functions\\n\\nsum(list): Adds up.\\n"
  """
  @spec text(%{String.t() => term()}) :: String.t()
  def text(%{"function" => _name} = report) do
    paragraphs(
      Enum.map(report["docs"], &entry(&1, report)) ++ Enum.map(report["types"], &type/1) ++ [report["note"]]
    )
  end

  def text(report) do
    paragraphs(
      ["# #{report["module"]}", report["moduledoc"] && "\n" <> report["moduledoc"]] ++
        section("Functions", Enum.map(report["docs"], &line(&1, report))) ++
        section("Types", Enum.map(report["types"], &type/1)) ++
        [report["note"] && "\n" <> report["note"]]
    )
  end

  defp section(_title, []), do: []
  defp section(title, lines), do: ["\n## #{title}\n\n" <> Enum.join(lines, "\n")]

  defp entry(entry, report) do
    paragraphs(
      ["#{report["module"]}.#{signature(entry)}#{facts(entry)}"] ++
        specs(entry, report["specs"]) ++ ["\n" <> (entry["doc"] || "No documentation.")]
    )
  end

  defp line(%{"doc" => nil} = entry, report) do
    case specs(entry, report["specs"]) do
      [] -> signature(entry) <> facts(entry)
      specs -> Enum.join(specs, "\n")
    end
  end

  defp line(entry, _report), do: "#{signature(entry)}#{facts(entry)}: #{entry["doc"]}"

  defp signature(%{"signature" => text}) when is_binary(text) and text != "", do: text
  defp signature(entry), do: "#{entry["name"]}/#{entry["arity"]}"

  defp facts(entry) do
    facts =
      Enum.reject(
        [
          entry["kind"] not in ["function", nil] && entry["kind"],
          entry["since"] && "since #{entry["since"]}",
          entry["deprecated"] && "deprecated: #{entry["deprecated"]}"
        ],
        &(&1 in [nil, false])
      )

    if facts == [], do: "", else: " (#{Enum.join(facts, ", ")})"
  end

  defp specs(%{"name" => name, "arity" => arity} = entry, specs) do
    least = arity - Map.get(entry, "defaults", 0)

    for %{"name" => ^name, "arity" => spec_arity} = spec <- specs,
        spec_arity in least..arity,
        text <- spec["specs"],
        do: "#{attribute(spec)} #{text}"
  end

  defp attribute(%{"kind" => "callback"}), do: "@callback"
  defp attribute(%{"kind" => "macrocallback"}), do: "@macrocallback"
  defp attribute(_spec), do: "@spec"

  defp type(%{"type" => text}) when is_binary(text) and text != "", do: "@type #{text}"
  defp type(type), do: "@type #{type["name"]}/#{type["arity"]}"
end
