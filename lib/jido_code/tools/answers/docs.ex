defmodule JidoCode.Tools.Answers.Docs do
  @moduledoc false
  # Documentation as a page: a function with its spec above its text, or a module's text and an index of what is in it.

  import JidoCode.Tools.Answers.Words, only: [facts: 1, facts: 2, paragraphs: 1]

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
    entries = report["docs"]
    documented = for %{"kind" => "type"} = entry <- entries, do: {entry["name"], entry["arity"]}
    types = Enum.reject(report["types"], &({&1["name"], &1["arity"]} in documented))
    specs = if entries == [], do: Enum.flat_map(report["specs"], &specs/1), else: []
    paragraphs([pages(entries, report)] ++ specs ++ Enum.map(types, &type/1) ++ [last(report["note"])])
  end

  def text(report) do
    paragraphs(
      ["# #{report["module"]}", about(report), report["moduledoc"] && "\n" <> report["moduledoc"]] ++
        section("Functions", Enum.map(report["docs"], &line(&1, report))) ++
        section("Types", Enum.map(report["types"], &type/1)) ++
        [last(report["note"])]
    )
  end

  defp last(nil), do: nil
  defp last(note), do: "\n" <> note

  defp about(report) do
    lines = [
      report["source"],
      listed("behaviours", report["behaviours"]),
      listed("struct", report["struct"]),
      listed("implemented for", report["implementations"])
    ]

    facts(lines, "\n")
  end

  defp listed(_label, none) when none in [nil, []], do: nil
  defp listed(label, items), do: "#{label}: #{Enum.join(items, ", ")}"

  defp pages(entries, report), do: Enum.map_join(entries, "\n", &entry(&1, report))

  defp section(_title, []), do: []
  defp section(title, lines), do: ["\n## #{title}\n\n" <> Enum.join(lines, "\n")]

  defp entry(entry, report) do
    paragraphs(
      ["#{report["module"]}.#{signature(entry)}#{remarks(entry)}"] ++
        code(entry, report) ++ [place(entry, report), "\n" <> (entry["doc"] || "No documentation.")]
    )
  end

  defp code(%{"kind" => "type", "name" => name, "arity" => arity}, report) do
    for %{"name" => ^name, "arity" => ^arity} = type <- report["types"], do: type(type)
  end

  defp code(entry, report), do: specs(entry, report["specs"])

  defp place(%{"line" => line}, %{"source" => source}) when source != nil, do: "#{source}:#{line}"
  defp place(_entry, %{"source" => source}), do: source
  defp place(_entry, _report), do: nil

  defp line(%{"doc" => nil} = entry, report) do
    case specs(entry, report["specs"]) do
      [] -> signature(entry) <> remarks(entry)
      specs -> Enum.join(specs, "\n")
    end
  end

  defp line(entry, _report), do: "#{signature(entry)}#{remarks(entry)}: #{entry["doc"]}"

  defp signature(%{"signature" => text}) when is_binary(text) and text != "", do: text
  defp signature(entry), do: "#{entry["name"]}/#{entry["arity"]}"

  defp remarks(entry) do
    remarks =
      facts([
        entry["kind"] not in ["function", nil] && entry["kind"],
        entry["since"] && "since #{entry["since"]}",
        entry["deprecated"] && "deprecated: #{entry["deprecated"]}"
      ])

    if remarks, do: " (#{remarks})", else: ""
  end

  defp specs(spec), do: for(text <- spec["specs"], do: "#{attribute(spec)} #{text}")

  defp specs(%{"name" => name, "arity" => arity} = entry, specs) do
    least = arity - Map.get(entry, "defaults", 0)
    callback? = entry["kind"] in ["callback", "macrocallback"]

    for %{"name" => ^name, "arity" => spec_arity} = spec <- specs,
        spec_arity in least..arity and spec["kind"] != nil == callback?,
        text <- specs(spec),
        do: text
  end

  defp attribute(%{"kind" => "callback"}), do: "@callback"
  defp attribute(%{"kind" => "macrocallback"}), do: "@macrocallback"
  defp attribute(_spec), do: "@spec"

  defp type(%{"type" => text}) when is_binary(text) and text != "", do: text
  defp type(type), do: "@type #{type["name"]}/#{type["arity"]}"
end
