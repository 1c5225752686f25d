defmodule JidoCode.Tools.CatalogTest do
  use ExUnit.Case, async: true

  doctest JidoCode.Tools.Catalog

  alias JidoCode.Tools.{Catalog, JSON}

  test "every tool has a name of its own, a handler, and parameters that are all described" do
    assert Catalog.names() == Enum.uniq(Catalog.names())

    for definition <- Catalog.all() do
      assert definition.name =~ ~r/\A[a-z][a-z0-9_]*\z/
      assert definition.description != ""
      assert function_exported?(definition.handler, :execute, 2)

      for parameter <- definition.parameters do
        assert parameter.description != "", "#{definition.name}: #{parameter.name}"
        assert is_boolean(parameter.required)
      end
    end
  end

  test "the introspection tools are there, in a stable order" do
    names = Catalog.names()
    assert ~w(get_process_state inspect_supervisor ets_inspect fetch_elixir_docs) -- names == []
    assert Catalog.names() == names
    for name <- names, do: assert({:ok, %{name: ^name}} = Catalog.fetch(name))
    assert Catalog.names_text() == Enum.join(names, ", ")
  end

  test "schemas are JSON objects without surprises" do
    for definition <- Catalog.all() do
      schema = Catalog.schema(definition)
      assert %{"type" => "object", "properties" => properties, "required" => required} = schema
      assert schema["additionalProperties"] == false
      assert required -- Map.keys(properties) == []
      assert {:ok, text} = JSON.encode(schema)
      assert JSON.decode(text) == {:ok, schema}

      for {_name, property} <- properties do
        assert property["type"] in ~w(string integer number boolean array object)
        if property["type"] == "array", do: assert(%{"items" => %{"type" => _}} = property)
        if property["enum"], do: assert(Enum.all?(property["enum"], &is_binary/1))
      end
    end
  end

  test "times: a tool's own, or none" do
    assert {5_000, _maximum, true} = Catalog.timeout("get_process_state")
    assert Catalog.timeout("inspect_supervisor") == {nil, nil, false}
    assert Catalog.timeout("no_such_tool") == {nil, nil, false}
  end

  describe "what must not exist" do
    # Evaluating code and reloading modules were once proposed; whoever reaches them needs no other tool.
    @forbidden ~w(iex_eval reload_module eval elixir_eval evaluate code_eval hot_reload load_module)

    test "no such tool is defined" do
      for name <- @forbidden do
        assert Catalog.fetch(name) == :error

        assert {:error, "Unknown tool: " <> _} =
                 JidoCode.Tools.SecureExecutor.call(name, %{"code" => "1"}, %{
                   granted_tier: :privileged,
                   consented_tools: [name]
                 })
      end
    end

    test "no handler of the library evaluates code or loads modules" do
      {:ok, modules} = :application.get_key(:jido_code_tools, :modules)

      evaluators =
        for {module, functions} <- [
              {Code,
               [:eval_string, :eval_quoted, :eval_file, :compile_string, :compile_quoted, :require_file]},
              {:erl_eval, :all},
              {:code, [:load_file, :load_binary, :load_abs]},
              {:compile, :all},
              {IEx.Helpers, :all}
            ],
            do: {module, functions}

      for module <- modules,
          String.starts_with?(inspect(module), "JidoCode.Tools.Handlers"),
          {called, function, arity} <- calls(module),
          {^called, functions} <- evaluators do
        refute functions == :all or function in functions,
               "#{inspect(module)} calls #{inspect(called)}.#{function}/#{arity}"
      end
    end

    # Every remote function that a compiled module names.
    defp calls(module) do
      # From the file: a module that is compiled for coverage has none that can be asked for.
      beam = Application.app_dir(:jido_code_tools, "ebin/#{module}.beam")
      {:ok, {^module, [imports: imports]}} = :beam_lib.chunks(to_charlist(beam), [:imports])
      imports
    end

    test "no parameter takes code, a raw pid, a match pattern or the prod environment" do
      for definition <- Catalog.all(), parameter <- definition.parameters do
        refute parameter.name in ~w(code expression pid match_spec match_pattern), definition.name
        if parameter[:enum], do: refute("prod" in parameter.enum)
      end
    end
  end
end
