defmodule JidoCode.Tools.Introspection.ModuleFacts do
  @moduledoc false
  # What a module's file says of it beside its documentation: its source, its behaviours, the fields of its struct, whether it is a
  # protocol. Of the debug information no more is decoded than that. No atom is made; see `ExternalTerm`.

  alias JidoCode.Tools.Introspection.{BeamFile, ExternalTerm, Modules}

  @max_unpacked 64_000_000
  @max_listed 100
  @max_value_bytes 60

  @type t :: %{
          source: String.t() | nil,
          behaviours: [String.t()],
          struct: [String.t()],
          protocol?: boolean()
        }

  @doc "What a module has of which nothing is known."
  @spec none() :: t()
  def none, do: %{source: nil, behaviours: [], struct: [], protocol?: false}

  @doc "The facts; struct fields stand as they are written in `defstruct`, `items: []`."
  @spec of(BeamFile.chunks(), [{String.t(), arity()}]) :: t()
  def of(chunks, exports) do
    attributes = decode(chunks["Attr"])

    %{
      source: source(decode(chunks["CInf"])),
      behaviours: behaviours(attributes),
      struct: if({"__struct__", 0} in exports, do: struct_fields(chunks["Dbgi"]), else: []),
      protocol?: {"__protocol__", 1} in exports
    }
  end

  defp decode(chunk) when is_binary(chunk) do
    with {:ok, body} <- ExternalTerm.open(chunk, @max_unpacked),
         {:ok, [_ | _] = list} <- ExternalTerm.decode(body),
         false <- List.improper?(list) do
      list
    else
      _other -> []
    end
  end

  defp decode(_none), do: []

  defp source(compiled) do
    with {:source, path} when is_list(path) <- List.keyfind(compiled, :source, 0),
         path when is_binary(path) <- :unicode.characters_to_binary(path) do
      path
    else
      _other -> nil
    end
  rescue
    ArgumentError -> nil
  end

  defp behaviours(attributes) do
    for {key, values} <- attributes,
        key in [:behaviour, :behavior],
        is_list(values) and not List.improper?(values),
        value <- values,
        name = ExternalTerm.name(value),
        uniq: true,
        do: Modules.show(name)
  end

  # {:debug_info_v1, :elixir_erl, {:elixir_v1, map, specs}}; the map has a key for the code too, which is passed over.
  defp struct_fields(chunk) when is_binary(chunk) do
    with {:ok, body} <- ExternalTerm.open(chunk, @max_unpacked),
         {3, body} <- ExternalTerm.tuple(body),
         {:debug_info_v1, body} <- ExternalTerm.first(body),
         {:elixir_erl, body} <- ExternalTerm.first(body),
         {3, body} <- ExternalTerm.tuple(body),
         {size, pairs} <- body |> ExternalTerm.skip() |> ExternalTerm.map(),
         [_ | _] = fields <- value(size, pairs, :struct) do
      for %{field: field} = about <- Enum.take(fields, @max_listed),
          name = ExternalTerm.name(field),
          do: field(name, about)
    else
      _other -> []
    end
  catch
    :not_a_term -> []
  end

  defp struct_fields(_none), do: []

  defp value(0, _pairs, _key), do: nil

  defp value(left, pairs, key) do
    case ExternalTerm.first(pairs) do
      {^key, rest} -> rest |> ExternalTerm.first() |> elem(0)
      {_other, rest} -> value(left - 1, ExternalTerm.skip(rest), key)
    end
  end

  defp field(name, %{required: true}), do: "#{name} (required)"

  defp field(name, %{default: default}) when default != nil,
    do: "#{name}: #{inspect(default, limit: 5, printable_limit: @max_value_bytes)}"

  defp field(name, _about), do: name

  @doc "The modules that implement a protocol and can be loaded, by what for."
  @spec implementations(String.t()) :: [String.t()]
  def implementations(protocol) do
    for name <- Modules.beginning(protocol <> "."),
        implements?(name, protocol),
        do: name |> String.replace_prefix(protocol <> ".", "") |> then(&Modules.show("Elixir." <> &1))
  end

  defp implements?(name, protocol) do
    with {:ok, path, _identity} <- BeamFile.find(name),
         {:ok, beam} <- BeamFile.read(path),
         {:ok, chunks} <- BeamFile.chunks(beam),
         {:__impl__, [implemented | _]} <- List.keyfind(decode(chunks["Attr"]), :__impl__, 0) do
      about = if is_tuple(implemented), do: implemented, else: {:protocol, implemented}
      match?({:protocol, _name}, about) and ExternalTerm.name(elem(about, 1)) == protocol
    else
      _other -> false
    end
  end
end
