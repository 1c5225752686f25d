defmodule JidoCode.Tools.Answers.Tests do
  @moduledoc false
  # A test run as a person wants it: one line when all is well, else each failure as ExUnit shows it, with its logs. What tests printed
  # themselves follows.

  import JidoCode.Tools.Answers.Words, only: [count: 2, facts: 1, indented: 2, labelled: 2, paragraphs: 1]

  alias JidoCode.Tools.{Shortened, Visible}

  # Of what a run printed besides; a failure says more.
  @max_printed 4_000

  # Of a test in a list, which is read for its first words.
  @max_name 150

  # Mix's own words on the way to the tests.
  @progress ~r/\A(?:==> \S+|Compiling \d+ files? \(\.\w+\)|Generated \S+ app)\z/

  @doc """
  The text of `run_exunit`.

      iex> summary = %{"total" => 3, "passed" => 3, "failed" => 0, "skipped" => 0, "excluded" => 0, "invalid" => 0}
      iex> timing = %{"seed" => 7, "total_seconds" => 0.4}
      iex> JidoCode.Tools.Answers.Tests.text(%{"passed" => true, "summary" => summary, "timing" => timing, "failures" => []})
      "3 tests, 0 failures (0.4 s, seed 7)\\n"
      iex> JidoCode.Tools.Answers.Tests.text(%{"passed" => false, "summary" => nil, "failures" => [],
      ...>   "stderr" => "** (SyntaxError) lib/a.ex:1\\n", "exit_code" => 1, "note" => "No test started: the output says why."})
      "No test started: the output says why.\\nstderr:\\n** (SyntaxError) lib/a.ex:1\\nexit code 1\\n"
      iex> none = %{"total" => 0, "failed" => 0}
      iex> JidoCode.Tools.Answers.Tests.text(%{"passed" => false, "summary" => none, "timing" => %{"seed" => 7}, "failures" => [],
      ...>   "note" => "The suite did not finish."})
      "The suite did not finish.\\nuntil then: 0 tests, 0 failures (seed 7)\\n"
  """
  @spec text(%{String.t() => term()}) :: String.t()
  def text(%{"summary" => nil} = report) do
    paragraphs([
      report["note"],
      report["output"],
      labelled("stderr", ending(report["stderr"])),
      "exit code #{report["exit_code"] || "unknown"}"
    ])
  end

  def text(report) do
    paragraphs(
      opening(report) ++
        Enum.map(report["failures"], &failure/1) ++
        Enum.map(report["running"] || [], &running/1) ++
        [
          slowest(report["timing"] || %{}),
          labelled("printed", (report["output"] || "") |> printed() |> ending()),
          labelled("stderr", ending(report["stderr"])),
          if(report["passed"], do: report["note"])
        ]
    )
  end

  # How long it took is known of a suite that came to its end. Of another, the counts alone would be taken for its result.
  defp opening(%{"summary" => summary, "passed" => passed?} = report) do
    timing = report["timing"] || %{}
    headline = headline(summary, timing)

    cond do
      passed? -> [headline]
      timing["total_seconds"] -> [headline, report["note"]]
      true -> [report["note"], "until then: " <> headline]
    end
  end

  defp headline(summary, timing) do
    others =
      for kind <- ~w(skipped excluded invalid),
          summary[kind] not in [0, nil],
          do: ", #{summary[kind]} #{kind}"

    facts = facts([seconds(timing["total_seconds"]), seed(timing["seed"])])

    "#{count(summary["total"], "test")}, #{count(summary["failed"], "failure")}#{others}" <>
      if(facts, do: " (#{facts})", else: "")
  end

  defp seconds(nil), do: nil
  defp seconds(seconds), do: "#{seconds} s"
  defp seed(nil), do: nil
  defp seed(seed), do: "seed #{seed}"

  # As ExUnit shows it, where the run told so.
  defp failure(%{"details" => details} = failure) do
    paragraphs(["\n" <> String.trim(details, "\n"), labelled("logs", failure["logs"])])
  end

  defp failure(failure) do
    paragraphs([
      "\n  test #{named(failure)}",
      failure["file"] && "  #{failure["file"]}:#{failure["line"]}",
      indented(failure["message"], 5),
      indented(failure["diff"], 5),
      indented(stacktrace(failure["stacktrace"]), 5),
      labelled("logs", failure["logs"])
    ])
  end

  defp stacktrace(lines) when is_list(lines), do: Enum.join(lines, "\n")
  defp stacktrace(text), do: text

  defp running(test),
    do: "was running: test #{named(test)} #{test["file"]}:#{test["line"]}"

  # A name is any text, and its line is this tool's.
  defp named(test), do: Visible.escape("#{test["test"]} (#{test["module"]})")

  # Only who asks for it wants to know.
  defp slowest(%{"asked" => _asked, "slowest" => [_ | _] = tests} = timing) do
    of_all =
      facts([
        timing["async_seconds"] && "#{timing["async_seconds"]} s in async modules",
        timing["load_seconds"] && "#{timing["load_seconds"]} s to load them before"
      ])

    labelled(
      "slowest #{count(length(tests), "test")}" <> if(of_all, do: " (#{of_all})", else: ""),
      Enum.map_join(tests, "\n", &slow/1)
    )
  end

  defp slowest(_timing), do: nil

  defp slow(test) do
    "  #{test["seconds"]} s  test #{Shortened.label(named(test), @max_name)} #{test["file"]}:#{test["line"]}"
  end

  # The end of a long one: it is nearer to what went wrong.
  defp ending(nil), do: nil

  defp ending(text), do: Shortened.ending(text, @max_printed)

  defp printed(output) do
    output |> String.split("\n") |> Enum.reject(&(&1 =~ @progress)) |> Enum.join("\n")
  end
end
