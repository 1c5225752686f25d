defmodule JidoCode.Tools.Answers.Command do
  @moduledoc false
  # What a command printed, as a terminal shows it, and then only what a terminal's user would ask for.

  import JidoCode.Tools.Answers.Words, only: [paragraphs: 1]

  @doc """
  The text of a command's result.

      iex> JidoCode.Tools.Answers.Command.text(%{"output" => "", "stderr" => "", "exit_code" => 0})
      "Nothing was printed, exit code 0.\\n"
      iex> JidoCode.Tools.Answers.Command.text(%{"stdout" => "a\\n", "stderr" => "b\\n", "exit_code" => 2})
      "a\\nstderr:\\nb\\nexit code 2\\n"
      iex> JidoCode.Tools.Answers.Command.text(%{"output" => "a\\n", "stderr" => "", "status" => "running", "cursor" => "2:0"})
      "a\\nstill running; cursor 2:0\\n"
  """
  @spec text(%{String.t() => term()}) :: String.t()
  def text(report) do
    printed = report["stdout"] || report["output"] || ""
    errors = report["stderr"] || ""

    paragraphs([
      printed,
      if(errors != "", do: "stderr:\n" <> errors),
      ending(report, printed == "" and errors == ""),
      report["note"],
      missing(report["confinement"])
    ])
  end

  defp ending(%{"status" => "running", "cursor" => cursor}, _silent?), do: "still running; cursor #{cursor}"

  defp ending(%{"status" => status, "cursor" => cursor} = report, _silent?),
    do: "#{status}#{code(report["exit_code"])}; cursor #{cursor}"

  defp ending(%{"exit_code" => nil}, _silent?), do: nil
  defp ending(%{"exit_code" => code}, true), do: "Nothing was printed, exit code #{code}."
  defp ending(%{"exit_code" => 0}, false), do: nil
  defp ending(%{"exit_code" => code}, false), do: "exit code #{code}"

  defp code(nil), do: ""
  defp code(code), do: ", exit code #{code}"

  # What held the command is in the audit entry; a model needs to know only what did not hold.
  defp missing(%{"missing" => [_ | _] = missing}), do: "Not confined as asked: #{Enum.join(missing, "; ")}."
  defp missing(_confinement), do: nil
end
