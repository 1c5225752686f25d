# grep_search's engine beside the `rg` program on the same trees: wall time, and the results line by line.
#
#     MIX_ENV=prod mix run bench/grep.exs [TREE ...]
#
# Without arguments: this repository and the sources of the Rust dependencies. Medians of rounds taken in turns, so that
# what else the machine does meets both alike. Compare the ratios: absolute times are this machine's.

defmodule Bench.Grep do
  alias JidoCode.Tools.CodeSearch

  @rounds 21
  @patterns ["unsafe", "fn \\w+_from", "(?i)todo|fixme"]
  @everything 1_000_000_000

  def run(trees) do
    rg = System.find_executable("rg") || raise "ripgrep is not installed"
    {version, 0} = System.cmd(rg, ["--version"])
    IO.puts(version |> String.split("\n") |> hd())

    for tree <- trees, do: tree(Path.expand(tree), rg)
  end

  defp tree(tree, rg) do
    {:ok, %{files_searched: files}} = CodeSearch.run(tree, ".", output_mode: :count, timeout: 600_000)
    IO.puts("\n#{tree}: #{files} files")

    for pattern <- @patterns do
      subjects = [
        {:rg, fn -> rg(rg, tree, pattern, []) end},
        {:ours, fn -> {:ok, _} = CodeSearch.run(tree, pattern) end},
        {:all, fn -> {:ok, _} = CodeSearch.run(tree, pattern, budget: @everything) end}
      ]

      for {_name, subject} <- subjects, do: subject.()
      times = for _ <- 1..@rounds, {name, subject} <- subjects, do: {name, elem(:timer.tc(subject), 0)}
      medians = Map.new(Enum.group_by(times, &elem(&1, 0), &elem(&1, 1)), fn {k, v} -> {k, median(v)} end)

      IO.puts(
        "  #{String.pad_trailing(pattern, 18)} rg #{ms(medians.rg)}" <>
          "   30,000 characters and totals #{ms(medians.ours)} (x#{ratio(medians.ours, medians.rg)})" <>
          "   everything #{ms(medians.all)} (x#{ratio(medians.all, medians.rg)})   #{compare(rg, tree, pattern)}"
      )
    end
  end

  # Sorted, rg runs on one thread: only for the comparison.
  defp compare(rg, tree, pattern) do
    theirs = rg |> rg(tree, pattern, ["--sort=path"]) |> String.split("\n", trim: true)
    {:ok, report} = CodeSearch.run(tree, pattern, budget: @everything)
    ours = String.split(report.text, "\n", trim: true)
    # Lines over 500 bytes are cut by us: the same line is there, in part.
    same = Enum.zip(Enum.map(theirs, &String.trim_trailing(&1, "\r")), ours) |> Enum.count(&same?/1)

    if length(theirs) == length(ours) and same == length(ours),
      do: "all #{same} lines the same",
      else: "DIFFERENT: #{length(theirs)} lines and #{length(ours)}, #{same} the same"
  end

  defp same?({line, line}), do: true

  defp same?({theirs, ours}) when byte_size(theirs) > 500 do
    hd(String.split(theirs, ":")) == hd(String.split(ours, ":")) and
      String.contains?(ours, [" bytes] ", " bytes]"])
  end

  defp same?(_lines), do: false

  defp rg(rg, tree, pattern, more) do
    common = ~w(--no-config --no-ignore-global --no-messages --heading -n)
    {output, _status} = System.cmd(rg, common ++ more ++ ["--", pattern, "./"], cd: tree)

    # rg shows the path as it was given.
    Regex.replace(~r/^\.\//m, output, "")
  end

  defp median(times), do: times |> Enum.sort() |> Enum.at(div(length(times), 2))
  defp ms(microseconds), do: "#{Float.round(microseconds / 1_000, 1)} ms"
  defp ratio(a, b), do: Float.round(a / b, 2)
end

case System.argv() do
  [] ->
    registry =
      Path.wildcard(Path.join(System.get_env("CARGO_HOME", "~/.cargo") |> Path.expand(), "registry/src/*"))

    Bench.Grep.run(["." | registry])

  trees ->
    Bench.Grep.run(trees)
end
