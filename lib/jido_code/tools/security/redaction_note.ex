defmodule JidoCode.Tools.Security.RedactionNote do
  @moduledoc false
  # What `JidoCode.Tools.Security.OutputSanitizer.redact/2` says of an answer, put into that answer: so that nobody takes redacted text
  # for the text itself, and writes it back into a file. An answer that was redacted on its way already, as on another node, gets one
  # note for both.

  @sentence "Redacted: ([0-9]{1,9}) values? \\(([a-zA-Z0-9, ]+)\\)(?:; (they [a-z ]+))?\\."

  @doc """
  The answer with the note: under `"note"` in a map, as the last line of a text. A text that is JSON stays JSON.

      iex> alias JidoCode.Tools.Security.RedactionNote
      iex> RedactionNote.add({:error, "no [REDACTED]"}, "Redacted: 1 value (token).")
      {:error, "no [REDACTED]\\nRedacted: 1 value (token)."}
      iex> RedactionNote.add(%{"note" => "Redacted: 2 values (token); they differ. Cut."}, "Redacted: 1 value (password).")
      %{"note" => "Redacted: 3 values (2 token, 1 password); they differ. Cut."}
      iex> RedactionNote.add(%{"note" => "Cut."}, nil)
      %{"note" => "Cut."}
  """
  @spec add(term(), String.t() | nil) :: term()
  def add(answer, nil), do: answer
  def add({tag, value}, note) when tag in [:ok, :error], do: {tag, add(value, note)}

  def add(result, note) when is_map(result) and not is_struct(result) do
    Map.update(result, "note", note, fn
      before when is_binary(before) -> merged(before, ~r/#{@sentence}/, note) || before <> " " <> note
      _no_text -> note
    end)
  end

  def add(text, note) when is_binary(text) do
    if String.starts_with?(String.trim_leading(text), ["{", "[", "\""]),
      do: text,
      else: merged(text, ~r/(?<=\n)#{@sentence}\z/, note) || String.trim_trailing(text, "\n") <> "\n" <> note
  end

  def add(other, _note), do: other

  # One sentence for both, where the text has one in this place.
  defp merged(text, place, note) do
    if text =~ place and note =~ ~r/\A#{@sentence}\z/ do
      Regex.replace(place, text, fn there -> sum(read(there), read(note)) end, global: false)
    end
  end

  defp read(sentence) do
    [_all, count, kinds | sides] = Regex.run(~r/#{@sentence}/, sentence)

    kinds =
      for part <- String.split(kinds, ", ") do
        case Integer.parse(part) do
          {number, " " <> kind} -> {kind, number}
          _one_kind -> {part, String.to_integer(count)}
        end
      end

    {kinds, sides}
  end

  defp sum({kinds, sides}, {more, more_sides}) do
    kinds = Enum.reduce(more, kinds, fn {kind, number}, kinds -> count(kinds, kind, number) end)
    total = kinds |> Enum.map(&elem(&1, 1)) |> Enum.sum()

    "Redacted: #{total} values (#{kinds(kinds)})" <>
      case Enum.uniq(sides ++ more_sides) do
        [both] -> "; #{both}."
        _none_or_two -> "."
      end
  end

  # In the order of their first appearance.
  defp count(kinds, kind, number) do
    if List.keymember?(kinds, kind, 0),
      do:
        Enum.map(kinds, fn {known, count} -> {known, if(known == kind, do: count + number, else: count)} end),
      else: kinds ++ [{kind, number}]
  end

  defp kinds([{kind, _number}]), do: kind
  defp kinds(kinds), do: Enum.map_join(kinds, ", ", fn {kind, number} -> "#{number} #{kind}" end)
end
