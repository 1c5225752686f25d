defmodule JidoCode.Tools.Render.Derived do
  @moduledoc false
  # Which fields a derived `Inspect` implementation shows, found out without a value of the project.
  #
  # `@derive {Inspect, only: [...]}` makes a module that calls nothing but a handful of Elixir's own functions. Where the file
  # of the implementation is the code that is loaded, and its imports are no others than these, it is such a module, and it
  # is asked once how it shows a struct whose values are numbers made up here. What is no such module is not called.

  alias JidoCode.Tools.Introspection.{At, Bounded, Names}

  @harmless [
    {Enum, :reduce, 3},
    {Inspect.Any, :inspect, 4},
    {Inspect.Any, :inspect_as_struct, 4},
    {Inspect.Map, :inspect, 4},
    {Inspect.Map, :inspect_as_map, 2},
    {Inspect.Map, :inspect_as_struct, 4},
    {Macro, :inspect_atom, 2},
    {Map, :get, 2},
    {:erlang, :get_module_info, 1},
    {:erlang, :get_module_info, 2},
    {:lists, :member, 2},
    {:lists, :reverse, 1}
  ]

  # Values that stand nowhere by chance.
  @marker 7_310_000_000
  @timeout_ms 500

  @doc "What the implementation for the structs of `module` shows, on a node on which it is loaded."
  @spec shown(module(), node()) :: {:only, [atom()]} | :hidden
  def shown(module, node \\ node()) do
    with {:ok, implementation} <- implementation(module),
         md5 when is_binary(md5) <- md5(node, implementation),
         key = {__MODULE__, node, implementation, md5},
         nil <- :persistent_term.get(key, nil) do
      shown = ask(module, implementation, md5, node)
      :persistent_term.put(key, shown)
      shown
    else
      known when is_tuple(known) -> known
      _unknown -> :hidden
    end
  end

  @doc "As `JidoCode.Tools.Render.Struct.inspected/1`, for the structs of another node."
  @spec inspected(module(), node()) :: :all | {:only, [atom()]} | :hidden
  def inspected(module, node) do
    case Names.existing("Elixir.Inspect." <> Names.bare(module), node) do
      {:ok, implementation} ->
        if md5(node, implementation), do: shown(module, node), else: general(module, node)

      :error ->
        general(module, node)
    end
  end

  # A consolidated protocol knows all its implementations; else one may lie on disk unseen.
  defp general(module, node) do
    consolidated? = At.call(node, Protocol, :consolidated?, [Inspect])

    if consolidated? and At.call(node, Inspect, :impl_for, [%{__struct__: module}]) == Inspect.Any,
      do: :all,
      else: :hidden
  rescue
    # A node without Elixir.
    UndefinedFunctionError -> :hidden
  end

  defp implementation(module), do: Names.existing("Elixir.Inspect." <> Names.bare(module))

  defp md5(node, module) do
    At.call(node, :erlang, :get_module_info, [module, :md5])
  rescue
    _not_loaded in ArgumentError -> nil
  end

  defp ask(module, implementation, md5, node) do
    case Bounded.run(fn -> fields(module, implementation, md5, node) end, timeout: @timeout_ms) do
      {:ok, {:only, _fields} = shown} -> shown
      _hidden -> :hidden
    end
  end

  defp fields(module, implementation, md5, node) do
    with {^implementation, beam, _file} <- At.call(node, :code, :get_object_code, [implementation]),
         {:ok, {^implementation, ^md5}} <- :beam_lib.md5(beam),
         {:ok, {^implementation, imports: imports}} <- :beam_lib.chunks(beam, [:imports]),
         [] <- imports -- [{module, :__info__, 1} | @harmless],
         [_ | _] = fields <- At.call(node, module, :__info__, [:struct]) do
      marked = for {%{field: field}, index} <- Enum.with_index(fields), do: {field, @marker + index}
      struct = Map.new([{:__struct__, module} | marked])
      document = At.call(node, implementation, :inspect, [struct, %Inspect.Opts{limit: :infinity}])
      text = document |> Inspect.Algebra.format(:infinity) |> IO.iodata_to_binary()
      {:only, for({field, value} <- marked, String.contains?(text, Integer.to_string(value)), do: field)}
    else
      _another -> :hidden
    end
  end
end
