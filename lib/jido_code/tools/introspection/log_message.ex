defmodule JidoCode.Tools.Introspection.LogMessage do
  @moduledoc false
  # What a log event says, from the moment in which it is logged to the one in which it is read.
  #
  # Writing out a format and its arguments takes several times as long as all else that keeping an event does, and most events
  # are never read. So one whose arguments are few and small is kept as it is, by a copy that holds nothing else alive, and written
  # when it is read. What is large, or holds what may change its look by then (a function, a report's own words), is written at
  # once.

  # Of one event's text; a crash report with its stack is about 3,000.
  @max_text 8_000

  # Bytes that arguments may weigh to be kept as they are, and a binary among them.
  @max_weight 2_000
  @max_binary 500
  # Of any term of one word, with its place in what holds it.
  @term 16
  @small -0x7FFFFFFFFFFFFFF..0x7FFFFFFFFFFFFFF

  @typedoc "A text, or what makes one."
  @type t :: String.t() | {:later, {String.t(), [term()]} | {:report, map() | [term()]}}

  @doc "What is kept of a message, and how many bytes that is. Never an exception: a handler that raises is removed."
  @spec keep(term(), :logger.level(), map()) :: {t(), non_neg_integer()}
  def keep(message, level, meta) do
    case small(message, meta) do
      {:ok, kept, weight} ->
        {{:later, kept}, weight}

      :large ->
        text = written(message, level, meta)
        {text, byte_size(text)}
    end
  end

  @doc "The text of what was kept: at most some 8,000 bytes, whole UTF-8."
  @spec text(t()) :: String.t()
  def text({:later, message}), do: written(message, :info, %{})
  def text(text), do: text

  defp small({:string, _chardata}, _meta), do: :large
  defp small({:report, _report}, %{report_cb: _words}), do: :large
  defp small({:report, %{label: _label, report: _report}}, _meta), do: :large

  defp small({:report, report}, _meta) do
    {report, left} = copy(report, @max_weight)
    {:ok, {:report, report}, @max_weight - left}
  catch
    _kind, _large -> :large
  end

  defp small({format, arguments}, _meta) when is_list(arguments) do
    format = if is_list(format), do: :unicode.characters_to_binary(format), else: format
    {[format | arguments], left} = copy([format | arguments], @max_weight)
    if is_binary(format), do: {:ok, {format, arguments}, @max_weight - left}, else: :large
  catch
    _kind, _large_or_no_format -> :large
  end

  defp small(_other, _meta), do: :large

  # A copy, and what is left of the room.
  defp copy(_term, left) when left < @term, do: throw(:large)

  defp copy(binary, left) when is_binary(binary) and byte_size(binary) <= @max_binary,
    do: {:binary.copy(binary), left - @term - byte_size(binary)}

  defp copy(term, left)
       when is_atom(term) or is_float(term) or is_pid(term) or is_reference(term) or is_port(term) or
              (is_integer(term) and term in @small),
       do: {term, left - @term}

  defp copy([head | tail], left) do
    {head, left} = copy(head, left)
    {tail, left} = copy(tail, left)
    {[head | tail], left}
  end

  defp copy([], left), do: {[], left - @term}

  defp copy(tuple, left) when is_tuple(tuple) and tuple_size(tuple) < 100 do
    {list, left} = tuple |> Tuple.to_list() |> copy(left)
    {List.to_tuple(list), left}
  end

  defp copy(map, left) when is_map(map) and map_size(map) < 100 do
    {pairs, left} = map |> Map.to_list() |> copy(left)
    {Map.new(pairs), left}
  end

  defp copy(_large, _left), do: throw(:large)

  defp written(message, level, meta) do
    message |> chardata(level, meta) |> utf8("") |> bounded()
  catch
    # A report's own words are code of the project, which may throw or exit as well as raise.
    _kind, _reason -> "(this event can't be written as text)"
  end

  # What is not UTF-8 is replaced, up to the length at which the text is cut.
  defp utf8(chardata, written) do
    case :unicode.characters_to_binary(chardata) do
      text when is_binary(text) -> if written == "", do: text, else: written <> text
      {_error, text, _rest} when byte_size(written) + byte_size(text) > @max_text -> written <> text
      {_error, text, rest} -> rest |> after_first() |> utf8(written <> text <> "\uFFFD")
    end
  end

  defp after_first(<<_byte, rest::binary>>), do: rest
  defp after_first([first | rest]) when first in ["", []], do: after_first(rest)
  defp after_first([first | rest]) when is_integer(first), do: rest
  defp after_first([first | rest]), do: [after_first(first) | rest]
  defp after_first(_nothing), do: []

  defp chardata({:string, chardata}, _level, _meta), do: chardata

  defp chardata({:report, %{label: label, report: report}} = message, level, meta) do
    # Before Elixir 1.15 only Logger's own handler makes readable what OTP reports.
    case Logger.Translator.translate(:debug, level, :report, {label, report}) do
      {:ok, chardata, _metadata} -> chardata
      {:ok, chardata} -> chardata
      _none -> formatted(message, meta)
    end
  end

  defp chardata(message, _level, meta), do: formatted(message, meta)

  defp formatted({:report, report}, %{report_cb: callback}) when is_function(callback, 2),
    do: callback.(report, %{depth: 30, chars_limit: @max_text, single_line: false})

  defp formatted({:report, report}, %{report_cb: callback}) when is_function(callback, 1) do
    {format, arguments} = callback.(report)
    :io_lib.format(format, arguments, chars_limit: @max_text)
  end

  defp formatted({:report, report}, _meta), do: :io_lib.format("~tp", [report], chars_limit: @max_text)
  defp formatted({format, arguments}, _meta), do: :io_lib.format(format, arguments, chars_limit: @max_text)

  defp bounded(text) when is_binary(text) and byte_size(text) <= @max_text, do: :binary.copy(text)

  defp bounded(text) when is_binary(text) do
    # A cut in the middle of a character leaves it out.
    kept = for <<character::utf8 <- binary_part(text, 0, @max_text)>>, into: "", do: <<character::utf8>>
    kept <> "\n... #{byte_size(text) - byte_size(kept)} more bytes"
  end
end
