defmodule JidoCode.Tools.Progress do
  @moduledoc false
  # What a long call is doing, told to whoever waits for it.
  #
  # The caller of a tool puts a function of one argument into the context:
  #
  #     JidoCode.Tools.SecureExecutor.call("mix_task", %{"task" => "compile"}, %{
  #       session_id: "s1",
  #       granted_tier: :execute,
  #       progress: fn line -> IO.puts(:stderr, line) end
  #     })
  #
  # It is called in a process of the tool's, with one redacted line of at most 200 characters, about twice a second at most and
  # only when there is something new. What it raises is dropped; while it runs, the tool waits for it, so it should do no more
  # than send a message.
  #
  # `mix_task`, `bash_execute` and, until its tests start, `run_exunit` tell the newest whole line of output; then `run_exunit`
  # tells counts and the test that runs: `"3 passed, 1 failed; running test adds (Shop.CartTest)"`.

  alias JidoCode.Tools.Security.OutputSanitizer
  alias JidoCode.Tools.Shortened

  @max_characters 200

  # A line of a private key shows only by the lines around it that it is one. The largest keys in use have 6 KB.
  @window 16_384

  @typedoc "The last of what each stream brought."
  @type seen :: %{stdout: String.t(), stderr: String.t()}

  @doc """
  Tells the newest line of `text`. Does nothing unless the context has a function for it, and never raises.

  The whole text is redacted, not the line: give it with what came before.

      iex> context = %{progress: &send(self(), {:progress, &1})}
      iex> JidoCode.Tools.Progress.report(context, "Compiling 3 files\\nDB_PASSWORD=wD4kq9Zt\\n\\n")
      :ok
      iex> receive do: ({:progress, line} -> line)
      "DB_PASSWORD=[REDACTED]"
  """
  @spec report(map(), String.t()) :: :ok
  def report(%{progress: tell} = context, text) when is_function(tell, 1) and is_binary(text) do
    case newest_line(text, context[:session_id]) do
      "" -> :ok
      line -> tell.(line)
    end

    :ok
  catch
    _kind, _reason -> :ok
  end

  def report(_context, _text), do: :ok

  @doc "Nothing seen yet, for `follow/3`."
  @spec start() :: seen()
  def start, do: %{stdout: "", stderr: ""}

  @doc """
  Takes what both streams brought since the last time, and reports the newest whole line if there is one, of standard output
  before standard error.
  """
  @spec follow(map(), seen(), %{stdout: String.t(), stderr: String.t()}) :: seen()
  def follow(context, seen, new) do
    seen = %{stdout: window(seen.stdout <> new.stdout), stderr: window(seen.stderr <> new.stderr)}

    case Enum.find([:stdout, :stderr], &String.contains?(new[&1], "\n")) do
      nil -> :ok
      stream -> report(context, whole_lines(seen[stream]))
    end

    seen
  end

  defp window(text) when byte_size(text) <= @window, do: text

  # From the start of a line on, so that neither a character nor a line is halved; one that is longer than all is let go.
  defp window(text) do
    case text |> binary_part(byte_size(text) - @window, @window) |> String.split("\n", parts: 2) do
      [_half, whole] -> whole
      [_no_line] -> ""
    end
  end

  defp whole_lines(text) do
    [_unfinished | lines] = text |> String.split("\n") |> Enum.reverse()
    lines |> Enum.reverse() |> Enum.join("\n")
  end

  defp newest_line(text, session) do
    text
    |> OutputSanitizer.sanitize(emit_telemetry: false, session: session)
    |> String.split(["\n", "\r"])
    |> Enum.reverse()
    |> Enum.find_value("", fn line ->
      shown = plain(line)
      if shown != "", do: shown
    end)
    |> Shortened.label(@max_characters)
  end

  # Colours and other controls of a terminal mean nothing here.
  defp plain(line) do
    line
    |> String.replace(~r/\e\[[0-9;?]*[ -\/]*[@-~]/, "")
    |> String.replace(~r/[\x00-\x20\x7f]+/, " ")
    |> String.trim()
  end
end
