defmodule JidoCode.Tools.Answers do
  @moduledoc false
  # Results as models and people read them: what was asked for first, newlines as newlines, and no line that says nothing.
  # `mix jido.tool` prints these texts and MCP clients get them; the result itself stays data for hosts.
  #
  # A tool's definition names the function that writes its results, under `:text`. The library's own are in this folder.

  alias JidoCode.Tools.{Catalog, Definition, Shortened}
  alias JidoCode.Tools.Answers.Plain
  alias JidoCode.Tools.Introspection.Bounded

  @max_characters Shortened.answer()
  @timeout_ms 5_000

  @doc """
  The text of a tool's result, at most 30,000 characters. Tools without words of their own are written key by key.

      iex> JidoCode.Tools.Answers.text("bash_execute", %{"stdout" => "M lib/shop.ex\\n", "stderr" => "", "exit_code" => 0})
      "M lib/shop.ex\\n"
      iex> JidoCode.Tools.Answers.text(%{name: "my_tool"}, %{"count" => 1})
      "count: 1\\n"
  """
  @spec text(String.t() | Definition.t() | map(), term()) :: String.t()
  def text(name, result) when is_binary(name) do
    case Catalog.fetch(name) do
      {:ok, definition} -> text(definition, result)
      :error -> result |> Plain.text() |> bounded()
    end
  end

  def text(tool, result) do
    bounded(written(tool, result) || Plain.text(result))
  end

  # A result that its writer does not understand, or that was redacted to another shape, is told key by key.
  defp written(%{text: write} = definition, result) when is_function(write, 1) and is_map(result) do
    if Catalog.own?(definition), do: attempt(write, result), else: foreign(write, result)
  end

  defp written(_without, _result), do: nil

  # The project's code writes in a process of its own: it may not return.
  defp foreign(write, result) do
    case Bounded.run(fn -> attempt(write, result) end, timeout: @timeout_ms) do
      {:ok, text} -> text
      {:error, _failure} -> nil
    end
  end

  defp attempt(write, result) do
    text = write.(result)
    if is_binary(text) and String.valid?(text), do: text
  rescue
    _error -> nil
  catch
    _kind, _reason -> nil
  end

  # What tools hold themselves to; this is the last to see it.
  defp bounded(text) do
    case Shortened.over(text, @max_characters) do
      0 ->
        text

      over ->
        kept = Shortened.first(text, @max_characters - 200)

        String.trim_trailing(kept) <>
          "\n[... cut here, #{over + 200} characters were left out; ask for less at a time ...]\n"
    end
  end
end
