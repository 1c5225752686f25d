defmodule JidoCode.Tools.PublicTest do
  use ExUnit.Case, async: true

  setup_all do
    {:ok, modules} = :application.get_key(:jido_code_tools, :modules)

    documented =
      for module <- modules,
          {:docs_v1, _, _, _, %{} = _doc, _, functions} <- [Code.fetch_docs(module)],
          "JidoCode.Tools." <> name <- [inspect(module)],
          not String.starts_with?(name, "Test."),
          into: %{},
          do: {name, {module, functions}}

    [listed] = Regex.run(~r/Public are, below `JidoCode\.Tools`:.*?;/s, File.read!("README.md"))
    listed = for [_all, name] <- Regex.scan(~r/`([\w.]+)`[,;]/, listed), do: name
    %{documented: documented, listed: listed}
  end

  test "the modules with documentation are those that README lists", %{documented: documented, listed: listed} do
    assert listed -- Map.keys(documented) == []
    assert Map.keys(documented) -- listed == []
  end

  test "each of their functions has a doc and a spec", %{documented: documented, listed: listed} do
    missing =
      for name <- listed,
          {module, functions} = Map.fetch!(documented, name),
          specs = specs(module),
          {{kind, function, arity}, _, _, doc, _} <- functions,
          kind in [:function, :macro] and doc != :hidden,
          not behaviour?(module, function, arity),
          doc == :none or (kind == :function and {function, arity} not in specs),
          do: "#{name}.#{function}/#{arity}"

    assert missing == []
  end

  test "what the documentation points at is documented itself", %{documented: documented, listed: listed} do
    {:ok, modules} = :application.get_key(:jido_code_tools, :modules)
    tasks = for module <- modules, String.starts_with?(inspect(module), "Mix.Tasks.Jido."), do: module
    readable = for name <- listed, do: elem(Map.fetch!(documented, name), 0)
    hidden = modules -- readable

    broken =
      for module <- tasks ++ readable,
          text <- texts(module),
          [name] <- Regex.scan(~r/JidoCode\.Tools(?:\.[A-Z]\w*)+/, text),
          pointed <- hidden,
          inspect(pointed) == name,
          do: {module, name}

    assert tasks != []
    assert Enum.uniq(broken) == []
  end

  test "the help of both tasks says what each option of a session does" do
    for task <- [Mix.Tasks.Jido.Tool, Mix.Tasks.Jido.Mcp.Config],
        [help | _functions] = texts(task),
        {switch, _type} <- JidoCode.Tools.Doors.SessionOptions.switches() do
      option = "--" <> String.replace(Atom.to_string(switch), "_", "-")
      assert help =~ ~r/^  \* `#{option}( [A-Z]+)?` - \w/m, "#{inspect(task)} has nothing about #{option}"
    end
  end

  # All that is written for readers of a module.
  defp texts(module) do
    {:docs_v1, _, _, _, %{"en" => about}, _, functions} = Code.fetch_docs(module)
    [about | for({_name, _, _, %{"en" => text}, _} <- functions, do: text)]
  end

  defp specs(module) do
    {:ok, specs} = Code.Typespec.fetch_specs(module)
    Enum.map(specs, &elem(&1, 0))
  end

  # What a behaviour asks for is documented there.
  defp behaviour?(module, function, arity) do
    behaviours = for {:behaviour, names} <- module.module_info(:attributes), name <- names, do: name
    Enum.any?(behaviours, &({function, arity} in &1.behaviour_info(:callbacks)))
  end
end
