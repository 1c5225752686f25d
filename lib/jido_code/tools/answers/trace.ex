defmodule JidoCode.Tools.Answers.Trace do
  @moduledoc false
  # Traced calls: when, where, with what, and how they ended.

  import JidoCode.Tools.Answers.Words, only: [count: 2, paragraphs: 1]

  @doc """
  The text of `trace_calls`.

      iex> call = %{"process" => "Shop.Till", "after_ms" => 0.0, "arguments" => ["1", "[]"], "result" => ":ok", "took_us" => 12.5}
      iex> JidoCode.Tools.Answers.Trace.text(%{"calls" => [call], "stopped" => "count", "took_ms" => 40})
      "+0.0 ms Shop.Till (1, [])\\n  -> :ok in 12.5 us\\n1 call in 40 ms; stopped by count\\n"
  """
  @spec text(%{String.t() => term()}) :: String.t()
  def text(report) do
    calls = report["calls"]
    last = "#{count(length(calls), "call")} in #{report["took_ms"]} ms; stopped by #{report["stopped"]}"
    paragraphs(Enum.map(calls, &call/1) ++ [last, report["note"]])
  end

  defp call(call) do
    arguments = if call["arguments"], do: " (#{Enum.join(call["arguments"], ", ")})", else: ""
    "+#{call["after_ms"]} ms #{call["process"]}#{arguments}\n  #{ended(call)}"
  end

  defp ended(%{"result" => result} = call), do: "-> #{result} in #{call["took_us"]} us"
  defp ended(%{"exception" => exception} = call), do: "raised #{exception} after #{call["took_us"]} us"
  defp ended(_open), do: "had not ended"
end
