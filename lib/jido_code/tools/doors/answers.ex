defmodule JidoCode.Tools.Doors.Answers do
  @moduledoc false
  # Results as models and people read them: what was asked for first, newlines as newlines, and no line that says nothing.
  # `mix jido.tool` prints these texts and MCP clients get them; the result itself stays data for hosts.

  alias JidoCode.Tools.Doors.Answers
  alias JidoCode.Tools.Doors.Console

  @writers %{
    "bash_background" => Answers.Shell,
    "bash_execute" => Answers.Command,
    "bash_output" => Answers.Command,
    "fetch_elixir_docs" => Answers.Docs,
    "get_logs" => Answers.Logs,
    "grep_search" => Answers.Search,
    "kill_shell" => Answers.Shell,
    "list_processes" => Answers.Processes,
    "mix_task" => Answers.Command,
    "run_exunit" => Answers.Tests
  }

  @doc """
  The text of a tool's result. Tools without words of their own are written key by key.

      iex> JidoCode.Tools.Doors.Answers.text("bash_execute", %{"stdout" => "M lib/shop.ex\\n", "stderr" => "", "exit_code" => 0})
      "M lib/shop.ex\\n"
      iex> JidoCode.Tools.Doors.Answers.text("my_tool", %{"count" => 1})
      "count: 1\\n"
  """
  @spec text(String.t(), term()) :: String.t()
  def text(tool, result) when is_map(result) do
    case Map.fetch(@writers, tool) do
      {:ok, writer} -> writer.text(result)
      :error -> result |> Console.format() |> IO.iodata_to_binary()
    end
  end

  def text(_tool, result), do: result |> Console.format() |> IO.iodata_to_binary()

  @doc "Paragraphs, the empty ones left out, each ending in one newline."
  @spec paragraphs([String.t() | nil]) :: String.t()
  def paragraphs(texts) do
    for text <- texts, text not in [nil, ""], into: "", do: String.trim_trailing(text, "\n") <> "\n"
  end

  @doc """
  A size as people read it.

      iex> Enum.map([0, 999, 12_345, 2_000_000, 3_500_000_000], &JidoCode.Tools.Doors.Answers.bytes/1)
      ["0 B", "999 B", "12.3 kB", "2.0 MB", "3.5 GB"]
  """
  @spec bytes(integer()) :: String.t()
  def bytes(bytes) when bytes < 1_000, do: "#{bytes} B"
  def bytes(bytes) when bytes < 1_000_000, do: "#{Float.round(bytes / 1_000, 1)} kB"
  def bytes(bytes) when bytes < 1_000_000_000, do: "#{Float.round(bytes / 1_000_000, 1)} MB"
  def bytes(bytes), do: "#{Float.round(bytes / 1_000_000_000, 1)} GB"
end
