defmodule JidoCode.Tools.Render.Text do
  @moduledoc false
  # Terms without elements as text: `{text, complete?}` within a number of bytes.

  # More of a string says little about a state.
  @max_string 4_096
  @max_bytes_shown 64

  # Writing an integer costs the square of its length, and can't be interrupted.
  @big Integer.pow(2, 1_024)

  @doc "Everything that is neither a map, a list nor a tuple."
  @spec scalar(term(), integer()) :: {String.t(), boolean()}
  def scalar(term, _bytes) when is_atom(term), do: {Macro.inspect_atom(:literal, term), true}
  def scalar(term, bytes) when is_binary(term), do: string(term, byte_size(term), bytes)
  def scalar(term, _bytes) when is_bitstring(term), do: bits(term, byte_size(term))

  def scalar(term, _bytes) when is_integer(term) do
    if term < @big and term > -@big do
      {Integer.to_string(term), true}
    else
      # Its size on the heap is known without a look at its digits.
      big(:erts_debug.flat_size(term) * 8)
    end
  end

  def scalar(term, _bytes) when is_float(term), do: {Float.to_string(term), true}
  def scalar(term, _bytes) when is_pid(term), do: {"#PID" <> List.to_string(:erlang.pid_to_list(term)), true}
  def scalar(term, _bytes) when is_reference(term), do: {"#Reference" <> reference(term), true}
  def scalar(term, _bytes) when is_port(term), do: {List.to_string(:erlang.port_to_list(term)), true}
  def scalar(term, _bytes) when is_function(term), do: {function(term), true}

  @doc "What an excerpt has in the place of a scalar, see `JidoCode.Tools.Introspection.Excerpt`."
  @spec excerpt(tuple(), integer()) :: {String.t(), boolean()}
  def excerpt({_mark, :binary, head, size}, bytes) when is_binary(head), do: string(head, size, bytes)
  def excerpt({_mark, :binary, head, size}, _bytes), do: bits(head, size)
  def excerpt({_mark, :integer, size}, _bytes), do: big(size)

  def excerpt({_mark, :fun, module, name, arity, type}, _bytes),
    do: {function(module, name, arity, type), true}

  defp big(bytes), do: {"#Integer<about #{number(bytes)} bytes>", false}

  @doc "A module's or a record's name as it is written."
  @spec name(atom()) :: String.t()
  def name(atom), do: :literal |> Macro.inspect_atom(atom) |> String.trim_leading(":")

  @doc "An atom as a key, with its colon, or the name of a record's field."
  @spec key(atom() | String.t(), integer()) :: {String.t(), boolean()}
  def key(atom, bytes) do
    text = if is_atom(atom), do: Macro.inspect_atom(:key, atom), else: atom <> ":"
    if byte_size(text) > bytes, do: {"...:", false}, else: {text, true}
  end

  @doc "A list of printable ASCII characters; what does not fit isn't looked at."
  @spec charlist(charlist(), integer()) :: {String.t(), boolean()}
  def charlist(list, bytes) do
    limit = min(bytes - 30, @max_string)
    {escaped, rest} = escape_list(list, [], max(limit, 0))

    case rest do
      [] -> {IO.iodata_to_binary(["~c\"", escaped, "\""]), true}
      _more -> {IO.iodata_to_binary(["~c\"", escaped, "\" ++ ... more"]), false}
    end
  end

  @doc "A number with its thousands told apart."
  @spec number(integer()) :: String.t()
  def number(integer) when integer < 1_000, do: Integer.to_string(integer)

  def number(integer) do
    tail = integer |> rem(1_000) |> Integer.to_string() |> String.pad_leading(3, "0")
    number(div(integer, 1_000)) <> "," <> tail
  end

  # `size` is that of the whole of which `binary` may be the head.
  defp string(binary, size, bytes) do
    # Enough for the quotes and for what says how much is missing.
    limit = min(bytes, @max_string + 40) - 40
    limit = if size + 2 <= bytes, do: max(limit, min(size, bytes - 2)), else: limit
    head = head(binary, min(limit, @max_string))

    cond do
      head == "" and binary != "" -> {"\"\" <> ... #{number(size)} bytes", false}
      String.printable?(head) -> quoted(size, head, min(limit, @max_string))
      true -> bits(binary, size)
    end
  end

  # As much of the binary as was asked for, without a torn character at its end.
  defp head(binary, limit) when byte_size(binary) <= limit, do: binary
  defp head(_binary, limit) when limit <= 0, do: ""

  defp head(binary, limit) do
    Enum.find_value(0..3, binary_part(binary, 0, limit), fn torn ->
      head = binary_part(binary, 0, max(limit - torn, 0))
      if torn_end?(head), do: nil, else: head
    end)
  end

  defp torn_end?(head) do
    case :unicode.characters_to_binary(head) do
      {:incomplete, _good, _rest} -> true
      _whole_or_wrong -> false
    end
  end

  defp quoted(size, head, limit) do
    {escaped, shown} = escape(head, [], 0, limit)

    if shown == size do
      {IO.iodata_to_binary([?", escaped, ?"]), true}
    else
      left = number(size - shown)
      {IO.iodata_to_binary([?", escaped, "\" <> ... ", left, " more bytes"]), false}
    end
  end

  defp escape(<<char::utf8, rest::binary>>, escaped, shown, limit) do
    text = escape_char(char, rest)

    if byte_size(text) <= limit do
      escape(rest, [escaped, text], shown + byte_size(<<char::utf8>>), limit - byte_size(text))
    else
      {escaped, shown}
    end
  end

  defp escape(<<>>, escaped, shown, _limit), do: {escaped, shown}

  defp escape_list([char | rest], escaped, limit) when char in 0..126 do
    text = escape_char(char, "")

    if byte_size(text) <= limit,
      do: escape_list(rest, [escaped, text], limit - byte_size(text)),
      else: {escaped, [char]}
  end

  defp escape_list(rest, escaped, _limit), do: {escaped, rest}

  defp escape_char(?", _rest), do: "\\\""
  defp escape_char(?\\, _rest), do: "\\\\"
  defp escape_char(?#, "{" <> _), do: "\\#"
  defp escape_char(?\n, _rest), do: "\\n"
  defp escape_char(?\r, _rest), do: "\\r"
  defp escape_char(?\t, _rest), do: "\\t"
  defp escape_char(?\a, _rest), do: "\\a"
  defp escape_char(?\b, _rest), do: "\\b"
  defp escape_char(?\v, _rest), do: "\\v"
  defp escape_char(?\f, _rest), do: "\\f"
  defp escape_char(?\e, _rest), do: "\\e"
  defp escape_char(?\d, _rest), do: "\\d"
  defp escape_char(char, _rest), do: <<char::utf8>>

  # Bytes that are not text, and bits that are no bytes.
  defp bits(bits, size) do
    shown = min(byte_size(bits), @max_bytes_shown)
    left = size - shown

    {bytes, rest} = :erlang.split_binary(bits, min(shown, div(bit_size(bits), 8)))
    segments = for <<byte <- bytes>>, do: Integer.to_string(byte)
    last = if shown > byte_size(bytes), do: [last_bits(rest)], else: []
    more = if left > 0, do: ["... #{number(left)} more bytes"], else: []
    {"<<" <> Enum.join(segments ++ last ++ more, ", ") <> ">>", left == 0}
  end

  defp last_bits(bits) do
    size = bit_size(bits)
    <<value>> = <<0::size(8 - size), bits::bitstring>>
    "#{value}::size(#{size})"
  end

  defp reference(term) do
    "#Ref" <> text = List.to_string(:erlang.ref_to_list(term))
    text
  end

  defp function(function) do
    {:module, module} = :erlang.fun_info(function, :module)
    {:name, name} = :erlang.fun_info(function, :name)
    {:arity, arity} = :erlang.fun_info(function, :arity)
    {:type, type} = :erlang.fun_info(function, :type)
    function(module, name, arity, type)
  end

  defp function(module, name, arity, :external),
    do: "&#{Macro.inspect_atom(:literal, module)}.#{Macro.inspect_atom(:remote_call, name)}/#{arity}"

  defp function(module, name, arity, _local),
    do: "#Function<#{Macro.inspect_atom(:literal, module)}.#{place(name)}, arity #{arity}>"

  # Compilers name a local function after the one that holds it: -init/1-fun-0-.
  defp place(name) do
    text = if is_atom(name), do: Atom.to_string(name), else: "?"

    case String.split(text, "-", parts: 3) do
      ["", outer, _rest] -> outer
      _other -> text
    end
  end
end
