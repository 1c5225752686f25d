defmodule JidoCode.Tools.Remote.LoaderTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Introspection.{Excerpt, Rows}
  alias JidoCode.Tools.Remote.{Guest, Loader}

  # What every node of Erlang has.
  @everywhere [:kernel, :stdlib]

  # Newer Mix takes the applications that a project does not depend on from the code path.
  @compile {:no_warn_undefined, :xref}

  setup_all do
    if function_exported?(Mix, :ensure_application!, 1), do: apply(Mix, :ensure_application!, [:tools])

    {:ok, xref} = :xref.start([])
    :xref.set_default(xref, warnings: false)

    for module <- Loader.modules() do
      {^module, _binary, file} = :code.get_object_code(module)
      {:ok, ^module} = :xref.add_module(xref, file)
    end

    # Calls and captures, module to function.
    {:ok, edges} = :xref.q(xref, ~c"E")
    :xref.stop(xref)
    %{calls: for({{from, _, _}, to} <- edges, is_tuple(to), uniq: true, do: {from, to})}
  end

  test "what is lent calls nothing but OTP and itself, so no Elixir and no native code", %{calls: calls} do
    outside =
      for {_from, {to, _, _} = function} <- calls,
          # Modules that only the call itself knows, and fields of maps.
          to != :"$M_EXPR",
          # What newer compilers put behind a dot for a value that is not a map; it only raises.
          function != {:elixir_erl_pass, :no_parens_remote, 2},
          to not in Loader.modules() and not everywhere?(to),
          uniq: true,
          do: function

    assert outside == []
  end

  test "and nothing in it reaches for other nodes", %{calls: calls} do
    assert for({from, {to, _, _}} <- calls, to in [:erpc, :rpc, :net_kernel, Node], do: {from, to}) == []
  end

  test "no more is lent than looking takes", %{calls: calls} do
    needed = closure([Excerpt, Rows, Guest], calls, MapSet.new())
    assert Enum.sort(Loader.modules()) == Enum.sort(needed)
  end

  defp everywhere?(module) do
    :code.which(module) == :preloaded or
      match?({:ok, application} when application in @everywhere, :application.get_application(module))
  end

  defp closure([], _calls, seen), do: seen

  defp closure([module | rest], calls, seen) do
    if module in seen do
      closure(rest, calls, seen)
    else
      next = for {^module, {to, _, _}} <- calls, to in Loader.modules(), do: to
      closure(next ++ rest, calls, MapSet.put(seen, module))
    end
  end
end
