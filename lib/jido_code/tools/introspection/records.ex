defmodule JidoCode.Tools.Introspection.Records do
  @moduledoc false
  # The names of the fields of Erlang's records, from the debug information of the modules that use them.
  #
  # A record is a tuple, and only the source knows what its fields are called. The file of a module is read where the module
  # was loaded from, if it was compiled with debug information; nothing of it is run.

  alias JidoCode.Tools.Introspection.At

  @max_beam_bytes 5_000_000
  @max_modules 4
  @max_definitions 400

  @typedoc "Tag and size of the tuple, to the names of its fields. Tags that stand for two of one size are left out."
  @type t :: %{{atom(), pos_integer()} => [atom()]}

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
  @spec reader(t()) :: ({atom(), pos_integer()} -> [atom()] | nil)
  def reader(records), do: &Map.get(records, &1)

  defp defined(module, node) do
    # Elixir's own modules have structs.
    if match?("Elixir." <> _, Atom.to_string(module)), do: [], else: read(module, node)
  end

  defp read(module, node) do
    key = {__MODULE__, node, module}

    case :persistent_term.get(key, nil) do
      nil ->
        records = module |> object_code(node) |> records()
        :persistent_term.put(key, records)
        records

      records ->
        records
    end
  end

  defp object_code(module, node) do
    with file when is_list(file) <- At.call(node, :code, :which, [module]),
         size when size in 1..@max_beam_bytes <- At.call(node, :filelib, :file_size, [file]),
         {:ok, beam} <- At.call(node, :file, :read_file, [file]) do
      beam
    else
      _unreadable -> nil
    end
  end

  defp records(nil), do: []

  defp records(beam) do
    case :beam_lib.chunks(beam, [:abstract_code]) do
      {:ok, {_module, abstract_code: {:raw_abstract_v1, forms}}} ->
        for {:attribute, _at, :record, {tag, fields}} <- forms,
            do: {{tag, length(fields) + 1}, Enum.map(fields, &name/1)}

      _without ->
        []
    end
  end

  defp name({:typed_record_field, field, _type}), do: name(field)
  defp name({:record_field, _at, {:atom, _, name}}), do: name
  defp name({:record_field, _at, {:atom, _, name}, _default}), do: name
end
