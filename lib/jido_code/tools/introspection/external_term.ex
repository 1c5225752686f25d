defmodule JidoCode.Tools.Introspection.ExternalTerm do
  @moduledoc false
  # Terms in Erlang's external format from files that anybody may have written, read without harm:
  #
  #   * no atom is made. A name that no atom of this VM has stands as `{:unknown_atom, "name"}`
  #   * what is compressed is unpacked only when its header says a size within the limit, and no further than that
  #   * the work is bounded by the size of the text: no count in it is believed
  #   * functions, references, pids and ports stand as `:opaque`, and nothing of theirs is looked at
  #
  # Parts that nobody wants can be skipped without being built, which is most of a module's debug information.

  @max_depth 2_000

  @type reason :: :not_a_term | :too_large

  @doc """
  The body of an encoded term, unpacked, for `decode/1` and `skip/1`. `limit` is in bytes.

      iex> alias JidoCode.Tools.Introspection.ExternalTerm
      iex> {:ok, body} = ExternalTerm.open(:erlang.term_to_binary({1, "two"}, [:compressed]), 100)
      iex> ExternalTerm.decode(body)
      {:ok, {1, "two"}}
      iex> ExternalTerm.open(:erlang.term_to_binary(List.duplicate(1, 10_000), [:compressed]), 100)
      {:error, :too_large}
  """
  @spec open(binary(), pos_integer()) :: {:ok, binary()} | {:error, reason()}
  def open(<<131, 80, size::32, _packed::binary>>, limit) when size > limit, do: {:error, :too_large}
  def open(<<131, 80, size::32, packed::binary>>, _limit), do: unpack(packed, size)
  def open(<<131, body::binary>>, limit) when byte_size(body) > limit, do: {:error, :too_large}
  def open(<<131, body::binary>>, _limit), do: {:ok, body}
  def open(_other, _limit), do: {:error, :not_a_term}

  defp unpack(packed, size) do
    stream = :zlib.open()

    try do
      :ok = :zlib.inflateInit(stream)
      inflate(stream, :zlib.safeInflate(stream, packed), [], size)
    rescue
      ErlangError -> {:error, :not_a_term}
      ArgumentError -> {:error, :not_a_term}
    after
      :zlib.close(stream)
    end
  end

  # A part is some kilobytes, so no more than that comes beyond the size that was promised.
  defp inflate(stream, {more, part}, parts, left) do
    left = left - IO.iodata_length(part)

    case more do
      _any when left < 0 -> {:error, :not_a_term}
      :finished when left == 0 -> {:ok, IO.iodata_to_binary([parts | part])}
      :finished -> {:error, :not_a_term}
      :continue -> inflate(stream, :zlib.safeInflate(stream, []), [parts | part], left)
    end
  end

  @doc "The one term that a body is, or what is wrong with it."
  @spec decode(binary()) :: {:ok, term()} | {:error, reason()}
  def decode(body) do
    case term(body, 0) do
      {term, <<>>} -> {:ok, term}
      _more -> {:error, :not_a_term}
    end
  catch
    :not_a_term -> {:error, :not_a_term}
  end

  @doc "The first term of a body, and what comes after it. Throws `:not_a_term`."
  @spec first(binary()) :: {term(), binary()}
  def first(body), do: term(body, 0)

  @doc "The size of the tuple that a body starts with, and its elements."
  @spec tuple(binary()) :: {non_neg_integer(), binary()} | :error
  def tuple(<<104, size, elements::binary>>), do: {size, elements}
  def tuple(<<105, size::32, elements::binary>>), do: {size, elements}
  def tuple(_other), do: :error

  @doc "The length of the proper list that a body starts with, and its elements, whose tail follows them."
  @spec list(binary()) :: {non_neg_integer(), binary()} | :error
  def list(<<106, rest::binary>>), do: {0, <<106, rest::binary>>}
  def list(<<108, length::32, elements::binary>>), do: {length, elements}
  def list(_other), do: :error

  @doc "The number of pairs of the map that a body starts with, and its pairs: a key, its value, the next key."
  @spec map(binary()) :: {non_neg_integer(), binary()} | :error
  def map(<<116, size::32, pairs::binary>>), do: {size, pairs}
  def map(_other), do: :error

  @doc "The name of an atom, whether this VM has it or not; nil for any other term."
  @spec name(term()) :: String.t() | nil
  def name({:unknown_atom, name}), do: name
  def name(atom) when is_atom(atom), do: Atom.to_string(atom)
  def name(_other), do: nil

  defp term(_body, depth) when depth > @max_depth, do: throw(:not_a_term)
  defp term(<<97, int, rest::binary>>, _depth), do: {int, rest}
  defp term(<<98, int::signed-32, rest::binary>>, _depth), do: {int, rest}
  defp term(<<70, float::float-64, rest::binary>>, _depth), do: {float, rest}
  defp term(<<119, size, name::binary-size(size), rest::binary>>, _depth), do: {atom(name), rest}
  defp term(<<118, size::16, name::binary-size(size), rest::binary>>, _depth), do: {atom(name), rest}
  defp term(<<100, size::16, name::binary-size(size), rest::binary>>, _depth), do: {latin1(name), rest}
  defp term(<<115, size, name::binary-size(size), rest::binary>>, _depth), do: {latin1(name), rest}
  defp term(<<109, size::32, bytes::binary-size(size), rest::binary>>, _depth), do: {bytes, rest}
  defp term(<<106, rest::binary>>, _depth), do: {[], rest}

  defp term(<<107, size::16, bytes::binary-size(size), rest::binary>>, _depth),
    do: {:binary.bin_to_list(bytes), rest}

  defp term(<<104, size, rest::binary>>, depth), do: tuple_of(size, rest, depth)
  defp term(<<105, size::32, rest::binary>>, depth), do: tuple_of(size, rest, depth)

  defp term(<<108, length::32, rest::binary>>, depth) do
    {elements, rest} = terms(length, rest, depth + 1, [])
    {tail, rest} = term(rest, depth + 1)
    {:lists.reverse(elements, tail), rest}
  end

  defp term(<<116, size::32, rest::binary>>, depth) do
    {flat, rest} = terms(size * 2, rest, depth + 1, [])
    {pairs(flat, []), rest}
  end

  defp term(<<110, size, sign, digits::binary-size(size), rest::binary>>, _depth) do
    int = :binary.decode_unsigned(digits, :little)
    {if(sign == 0, do: int, else: -int), rest}
  end

  defp term(body, _depth), do: {:opaque, skip(body)}

  defp tuple_of(size, rest, depth) do
    {elements, rest} = terms(size, rest, depth + 1, [])
    {elements |> :lists.reverse() |> List.to_tuple(), rest}
  end

  # Reversed. A count that is too large runs out of text.
  defp terms(0, rest, _depth, elements), do: {elements, rest}

  defp terms(left, rest, depth, elements) do
    {element, rest} = term(rest, depth)
    terms(left - 1, rest, depth, [element | elements])
  end

  defp pairs([], pairs), do: Map.new(pairs)
  defp pairs([value, key | flat], pairs), do: pairs(flat, [{key, value} | pairs])

  defp atom(name) do
    :erlang.binary_to_existing_atom(name, :utf8)
  catch
    # There is none, or none can be so long; caught raw, because making an exception of it takes longer than all else here.
    :error, _reason -> {:unknown_atom, readable(name)}
  end

  defp latin1(name) do
    case :unicode.characters_to_binary(name, :latin1) do
      name when is_binary(name) -> atom(name)
    end
  end

  defp readable(name), do: if(String.valid?(name), do: name, else: inspect(name))

  @doc "What comes after the first term of a body. Throws `:not_a_term`."
  @spec skip(binary()) :: binary()
  def skip(body), do: skip(body, 1)

  @doc "What comes after so many terms."
  @spec skip(binary(), non_neg_integer()) :: binary()
  def skip(rest, 0), do: rest
  def skip(<<97, _, rest::binary>>, n), do: skip(rest, n - 1)
  def skip(<<98, _::32, rest::binary>>, n), do: skip(rest, n - 1)
  def skip(<<106, rest::binary>>, n), do: skip(rest, n - 1)
  def skip(<<119, size, _::binary-size(size), rest::binary>>, n), do: skip(rest, n - 1)
  def skip(<<100, size::16, _::binary-size(size), rest::binary>>, n), do: skip(rest, n - 1)
  def skip(<<115, size, _::binary-size(size), rest::binary>>, n), do: skip(rest, n - 1)
  def skip(<<118, size::16, _::binary-size(size), rest::binary>>, n), do: skip(rest, n - 1)
  def skip(<<104, size, rest::binary>>, n), do: skip(rest, n - 1 + size)
  def skip(<<105, size::32, rest::binary>>, n), do: skip(rest, n - 1 + size)
  def skip(<<108, size::32, rest::binary>>, n), do: skip(rest, n + size)
  def skip(<<107, size::16, _::binary-size(size), rest::binary>>, n), do: skip(rest, n - 1)
  def skip(<<109, size::32, _::binary-size(size), rest::binary>>, n), do: skip(rest, n - 1)
  def skip(<<116, size::32, rest::binary>>, n), do: skip(rest, n - 1 + 2 * size)
  def skip(<<70, _::64, rest::binary>>, n), do: skip(rest, n - 1)
  def skip(<<99, _::binary-size(31), rest::binary>>, n), do: skip(rest, n - 1)
  def skip(<<110, size, _sign, _::binary-size(size), rest::binary>>, n), do: skip(rest, n - 1)
  def skip(<<111, size::32, _sign, _::binary-size(size), rest::binary>>, n), do: skip(rest, n - 1)
  def skip(<<77, size::32, _bits, _::binary-size(size), rest::binary>>, n), do: skip(rest, n - 1)
  # A function of a module: three terms.
  def skip(<<113, rest::binary>>, n), do: skip(rest, n + 2)
  # A function, whose size counts itself.
  def skip(<<112, size::32, rest::binary>>, n) when size >= 4, do: rest |> drop(size - 4) |> skip(n - 1)
  # Pids, ports and references: the node, and numbers.
  def skip(<<103, rest::binary>>, n), do: rest |> skip(1) |> drop(9) |> skip(n - 1)
  def skip(<<88, rest::binary>>, n), do: rest |> skip(1) |> drop(12) |> skip(n - 1)
  def skip(<<102, rest::binary>>, n), do: rest |> skip(1) |> drop(5) |> skip(n - 1)
  def skip(<<89, rest::binary>>, n), do: rest |> skip(1) |> drop(8) |> skip(n - 1)
  def skip(<<120, rest::binary>>, n), do: rest |> skip(1) |> drop(12) |> skip(n - 1)
  def skip(<<114, size::16, rest::binary>>, n), do: rest |> skip(1) |> drop(1 + 4 * size) |> skip(n - 1)
  def skip(<<90, size::16, rest::binary>>, n), do: rest |> skip(1) |> drop(4 + 4 * size) |> skip(n - 1)
  def skip(_other, _n), do: throw(:not_a_term)

  defp drop(bytes, size) when size <= byte_size(bytes), do: bytes |> :erlang.split_binary(size) |> elem(1)
  defp drop(_short, _size), do: throw(:not_a_term)
end
