defmodule JidoCode.Tools.Answers.Logs do
  @moduledoc false
  # Log events as a console shows them: a line of facts, then the text below it.

  import JidoCode.Tools.Answers.Words, only: [paragraphs: 1]

  @doc """
  The text of `get_logs`.

      iex> event = %{"time" => "2026-01-31T12:00:00.000Z", "level" => "error", "process" => "#PID<0.1.2>", "text" => "gone"}
      iex> JidoCode.Tools.Answers.Logs.text(%{"events" => [event], "follow_up" => 7})
      "2026-01-31T12:00:00.000Z [error] #PID<0.1.2>\\n  gone\\nfollow_up: 7\\n"
  """
  @spec text(%{String.t() => term()}) :: String.t()
  def text(report) do
    events = Enum.map(report["events"], &event/1)
    paragraphs(events ++ ["follow_up: #{report["follow_up"]}", report["note"]])
  end

  @doc "The text of one event, without its last newline."
  @spec event(%{String.t() => term()}) :: String.t()
  def event(event) do
    facts = Enum.reject([event["time"], "[#{event["level"]}]", event["process"], event["where"]], &is_nil/1)
    lines = event["text"] |> String.trim() |> String.split("\n") |> Enum.map_join("\n", &("  " <> &1))
    Enum.join(facts, " ") <> "\n" <> lines
  end
end
