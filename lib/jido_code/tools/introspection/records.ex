defmodule JidoCode.Tools.Introspection.Records do
  @moduledoc false
  # The names of the fields of Erlang's records, from the debug information of the modules that use them.
  #
  # A record is a tuple, and only the source knows what its fields are called. The file of a module is read where the module
  # was loaded from, if it was compiled with debug information; nothing of it is run, and no atom is made of what it holds.

  alias JidoCode.Tools.Introspection.{At, BeamFile, ExternalTerm, Typespecs}

  @max_beam_bytes 5_000_000
  @max_modules 4
  @max_definitions 400

  @typedoc "Tag and size of the tuple, to the names of its fields."
  @type t :: %{{atom(), pos_integer()} => [String.t()]}

  @doc "The records that these modules know, on the node on which they are loaded."
  @spec of([module() | nil], node()) :: t()
  def of(modules, node) do
    modules
    |> Enum.reject(&is_nil/1)
    |> Enum.uniq()
    |> Enum.take(@max_modules)
    |> Enum.flat_map(&defined(&1, node))
    |> Enum.take(@max_definitions)
    |> Map.new()
  end

  @doc "What `JidoCode.Tools.Render` takes as `:records`."
  @spec reader(t()) :: ({atom(), pos_integer()} -> [String.t()] | nil)
  def reader(records), do: &Map.get(records, &1)

  defp defined(module, node) do
    # Elixir's own modules have structs.
    if match?("Elixir." <> _, Atom.to_string(module)), do: [], else: read(module, node)
  end

  # Kept for as long as the same code is loaded.
  defp read(module, node) do
    key = {__MODULE__, node, module, At.call(node, :erlang, :get_module_info, [module, :md5])}

    case :persistent_term.get(key, nil) do
      nil ->
        records = records(module, node)
        :persistent_term.put(key, records)
        records

      records ->
        records
    end
  rescue
    _not_loaded in ArgumentError -> []
  end

  defp records(module, node) do
    with {:ok, beam} <- object_code(module, node),
         {:ok, chunks} <- BeamFile.chunks(beam) do
      chunks |> Typespecs.attributes([:record]) |> Enum.flat_map(&record/1)
    else
      _unreadable -> []
    end
  end

  defp object_code(module, node) when node == node() do
    with {:ok, path, _identity} <- BeamFile.find(Atom.to_string(module)), do: BeamFile.read(path)
  end

  defp object_code(module, node) do
    with file when is_list(file) <- At.call(node, :code, :which, [module]),
         size when size in 1..@max_beam_bytes <- At.call(node, :filelib, :file_size, [file]),
         do: At.call(node, :file, :read_file, [file])
  end

  # A tag that this VM does not know as an atom stands in no tuple that is shown.
  defp record({:record, {tag, fields}}) when is_atom(tag) and is_list(fields) do
    names = Enum.map(fields, &name/1)
    if Enum.all?(names, &is_binary/1), do: [{{tag, length(fields) + 1}, names}], else: []
  end

  defp record(_other), do: []

  defp name({:typed_record_field, field, _type}), do: name(field)
  defp name({:record_field, _at, {:atom, _, name}}), do: ExternalTerm.name(name)
  defp name({:record_field, _at, {:atom, _, name}, _default}), do: ExternalTerm.name(name)
  defp name(_other), do: nil
end
