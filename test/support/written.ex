defmodule JidoCode.Tools.Test.Written do
  @moduledoc """
  What a command left in a project: a folder on the code path of this VM, with modules and documentation in it.
  """

  import ExUnit.Callbacks

  @doc "A folder `ebin` that stands first on the code path until the test ends."
  def folder do
    root = Path.join(System.tmp_dir!(), "written-#{System.unique_integer([:positive])}")
    ebin = Path.join(root, "ebin")
    File.mkdir_p!(ebin)
    Code.prepend_path(ebin)

    on_exit(fn ->
      Code.delete_path(ebin)
      File.rm_rf!(root)
    end)

    ebin
  end

  @doc "Compiles a module into a folder, and leaves it out of this VM."
  def module(ebin, source) do
    [{module, beam}] = Code.compile_string(source)
    forget(module)
    File.write!(Path.join(ebin, "#{module}.beam"), beam)
    {module, beam}
  end

  @doc "A module's file with other parts, by their four letters; nil takes one away."
  def with_chunks(beam, changes) do
    {:ok, _module, chunks} = :beam_lib.all_chunks(beam)
    chunks = for {id, chunk} <- chunks, not Map.has_key?(changes, to_string(id)), do: {id, chunk}
    added = for {id, chunk} <- changes, chunk != nil, do: {String.to_charlist(id), chunk}
    {:ok, beam} = :beam_lib.build_module(chunks ++ added)
    beam
  end

  @doc "An encoded list of names that no atom of this VM has."
  def names(count) do
    run = System.unique_integer([:positive])
    names = for n <- 1..count, do: {:erlang.iolist_to_binary("never_an_atom_#{run}_#{n}"), n}
    elements = for {name, _n} <- names, do: <<119, byte_size(name), name::binary>>
    IO.iodata_to_binary([<<108, count::32>>, elements, 106])
  end

  defp forget(module) do
    :code.purge(module)
    :code.delete(module)
    :code.purge(module)
  end
end
