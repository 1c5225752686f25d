defmodule JidoCode.Tools.Answers.Shell do
  @moduledoc false
  # A background command's start and end, in a sentence.

  @doc """
  The text of the result of `bash_background` or `kill_shell`.

      iex> JidoCode.Tools.Answers.Shell.text(%{"shell_id" => "s1", "description" => "mix phx.server"})
      "shell_id: s1\\nbash_output reads what it prints, kill_shell ends it.\\n"
      iex> JidoCode.Tools.Answers.Shell.text(%{"killed" => false, "message" => "The shell had already finished"})
      "The shell had already finished.\\n"
  """
  @spec text(%{String.t() => term()}) :: String.t()
  def text(%{"shell_id" => id} = report) do
    missing = get_in(report, ["confinement", "missing"]) || []
    told = if missing == [], do: "", else: "Not confined as asked: #{Enum.join(missing, "; ")}.\n"
    "shell_id: #{id}\nbash_output reads what it prints, kill_shell ends it.\n#{told}"
  end

  def text(%{"message" => message}), do: message <> ".\n"
end
