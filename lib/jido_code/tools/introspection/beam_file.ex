defmodule JidoCode.Tools.Introspection.BeamFile do
  @moduledoc false
  # A module's file, found and read without loading anything and without trusting what it holds: commands may write the files of
  # the project whose VM this is.
  #
  # The code server is not asked for a file's content: it would open whatever bears the name, a named pipe too, and wait.

  alias JidoCode.Tools.Introspection.Names
  alias JidoCode.Tools.PlainFile

  @max_bytes 50_000_000

  @type chunks :: %{String.t() => binary()}

  @doc "The file of the module with this name, as `Elixir.Enum` or `lists`; its identity is nil where nobody can tell it."
  @spec find(String.t()) :: {:ok, Path.t(), PlainFile.identity() | nil} | :error
  def find(name) do
    file = name <> ".beam"
    folders = for folder <- :code.get_path(), do: :unicode.characters_to_binary(folder)
    with :error <- find(folders, file), do: find(preloaded(name), file)
  end

  # Erlang's innermost modules are part of its runtime, whose folder isn't on the path.
  defp preloaded(name) do
    with {:ok, module} <- Names.existing(name),
         :preloaded <- :code.which(module) do
      for erts <- Path.wildcard(to_string(:code.root_dir()) <> "/{lib/erts-*,erts-*}/ebin"), do: erts
    else
      _other -> []
    end
  end

  defp find(folders, file) do
    if safe?(), do: PlainFile.find(folders, file), else: find_plainly(folders, file)
  end

  # On a node that borrows this module there is no native code.
  defp safe?, do: function_exported?(PlainFile, :find, 2)

  defp find_plainly(folders, file) do
    Enum.find_value(folders, :error, fn folder ->
      path = Path.join(folder, file)
      if File.regular?(path, [:raw]), do: {:ok, path, nil}
    end)
  end

  @doc "The content of a regular file, within bounds."
  @spec read(Path.t()) :: {:ok, binary()} | :error
  def read(path) do
    case if(safe?(), do: PlainFile.read(path, @max_bytes), else: read_plainly(path)) do
      {:ok, content, _identity} -> {:ok, content}
      _refused -> :error
    end
  end

  defp read_plainly(path) do
    with {:ok, %{type: :regular, size: size}} when size <= @max_bytes <- File.stat(path),
         {:ok, content} <- File.read(path),
         do: {:ok, content, nil}
  end

  @doc "The parts of a module's file by their four letters."
  @spec chunks(binary()) :: {:ok, chunks()} | :error
  def chunks(<<"FOR1", size::32, form::binary-size(size), _rest::binary>>), do: form(form)
  # Which is how a release may have them.
  def chunks(<<0x1F, 0x8B, _rest::binary>> = packed), do: unpack(packed)
  def chunks(_other), do: :error

  defp form(<<"BEAM", chunks::binary>>), do: split(chunks, %{})
  defp form(_other), do: :error

  defp split(<<>>, chunks), do: {:ok, chunks}

  defp split(<<id::binary-size(4), size::32, chunk::binary-size(size), rest::binary>>, chunks) do
    padding = min(rem(4 - rem(size, 4), 4), byte_size(rest))
    {_padding, rest} = :erlang.split_binary(rest, padding)
    split(rest, Map.put_new(chunks, id, chunk))
  end

  defp split(_broken, _chunks), do: :error

  defp unpack(packed) do
    stream = :zlib.open()

    try do
      # With gzip's header.
      :ok = :zlib.inflateInit(stream, 31)

      case inflate(stream, :zlib.safeInflate(stream, packed), [], @max_bytes) do
        {:ok, <<"FOR1", _rest::binary>> = beam} -> chunks(beam)
        _other -> :error
      end
    rescue
      _error -> :error
    after
      :zlib.close(stream)
    end
  end

  defp inflate(stream, {more, part}, parts, left) do
    left = left - IO.iodata_length(part)

    cond do
      left < 0 -> :error
      more == :finished -> {:ok, IO.iodata_to_binary([parts | part])}
      true -> inflate(stream, :zlib.safeInflate(stream, []), [parts | part], left)
    end
  end

  @doc "The functions that a module exports, `{name, arity}`, sorted."
  @spec exports(chunks()) :: {:ok, [{String.t(), arity()}]} | :error
  def exports(%{"ExpT" => <<count::32, table::binary>>} = chunks) when byte_size(table) == 12 * count do
    with {:ok, names} <- atoms(chunks) do
      exports = for <<name::32, arity::32, _label::32 <- table>>, do: {Map.get(names, name, "?"), arity}
      {:ok, Enum.sort(exports)}
    end
  end

  def exports(_chunks), do: :error

  # Since OTP 28 a negative count says that the lengths are written as the code's own numbers, for long names.
  defp atoms(%{"AtU8" => <<count::signed-32, names::binary>>}) when count >= 0, do: names(names, &short/1)
  defp atoms(%{"AtU8" => <<_count::signed-32, names::binary>>}), do: names(names, &compact/1)
  defp atoms(_chunks), do: :error

  defp names(text, length), do: names(text, length, 1, %{})
  defp names(<<>>, _length, _place, names), do: {:ok, names}

  defp names(text, length, place, names) do
    case length.(text) do
      {size, rest} when size <= byte_size(rest) ->
        {name, rest} = :erlang.split_binary(rest, size)
        names(rest, length, place + 1, Map.put(names, place, name))

      _broken ->
        :error
    end
  end

  defp short(<<size, rest::binary>>), do: {size, rest}
  defp short(_end), do: :error

  defp compact(<<size::4, 0::1, _tag::3, rest::binary>>), do: {size, rest}
  defp compact(<<high::3, 0b01::2, _tag::3, low, rest::binary>>), do: {high * 256 + low, rest}
  defp compact(_other), do: :error
end
