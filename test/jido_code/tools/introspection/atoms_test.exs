defmodule JidoCode.Tools.Introspection.AtomsTest do
  # The atoms of the whole VM are counted, so nothing may run beside it.
  use ExUnit.Case, async: false

  alias JidoCode.Tools.Handlers.Elixir.{EtsInspect, FetchDocs, ProcessState, SupervisorTree}
  alias JidoCode.Tools.Introspection.{Literal, Reach, Target}

  @context %{project_namespaces: :all}

  # Atoms that the first call makes (of error modules, of fields) don't count.
  defp unchanged(calls, fun) do
    fun.(0)
    before = :erlang.system_info(:atom_count)
    Enum.each(1..calls, fun)
    assert :erlang.system_info(:atom_count) == before
  end

  test "a million hostile names make no atom" do
    table = :ets.new(:atoms_test_table, [:named_table, :public])

    unchanged(100_000, fn n ->
      {:error, _text} = ProcessState.execute(%{"process" => "Hostile.Name#{n}"}, @context)
      {:error, _text} = SupervisorTree.execute(%{"supervisor" => ":hostile_#{n}"}, @context)
    end)

    # The tools' way to a process and to a key, without what is the same for every call.
    unchanged(400_000, fn n ->
      {:error, _text} =
        Target.find("Hostile#{n}.\"x\"", "Process", "process name", %Reach{node: node(), wide?: true})

      {:error, :unknown_atom} = Literal.keys(":hostile_#{n}")
    end)

    unchanged(10_000, fn n ->
      {:error, _text} = EtsInspect.execute(%{"operation" => "info", "table" => "hostile_#{n}"}, @context)
      key = "{:hostile_#{n}, Hostile#{n}}"

      {:error, _text} =
        EtsInspect.execute(%{"operation" => "lookup", "table" => inspect(table), "key" => key}, @context)
    end)

    unchanged(500, fn n ->
      {:error, _text} = FetchDocs.execute(%{"module" => "Hostile#{n}"}, @context)
      {:error, _text} = FetchDocs.execute(%{"module" => ":hostile_#{n}"}, @context)
    end)

    unchanged(50, fn n ->
      {:error, "Function not found" <> _} =
        FetchDocs.execute(%{"module" => "Access", "function" => "hostile_#{n}"}, @context)
    end)
  end
end
