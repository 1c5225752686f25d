defmodule JidoCode.Tools.Definitions.ElixirTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Definitions.Elixir, as: Definitions

  # What a host's own tool structures accept.
  @tool_keys [:description, :handler, :name, :parameters]
  @parameter_keys [:default, :description, :enum, :items, :name, :required, :type]
  @types [:string, :integer, :number, :boolean, :array, :object]

  test "six tools in a stable order, each with its own constructor" do
    names = ~w(mix_task run_exunit get_process_state inspect_supervisor ets_inspect fetch_elixir_docs)

    assert Enum.map(Definitions.all(), & &1.name) == names

    for tool <- Definitions.all() do
      assert apply(Definitions, String.to_existing_atom(tool.name), []) == tool
    end
  end

  test "plain maps that a host can turn into its own structures" do
    for tool <- Definitions.all() do
      assert Enum.sort(Map.keys(tool)) == @tool_keys
      assert tool.name =~ ~r/^[a-z][a-z0-9_]*$/
      assert is_atom(tool.handler) and tool.handler != nil
      assert String.length(tool.description) > 20

      for parameter <- tool.parameters do
        assert Map.keys(parameter) -- @parameter_keys == []
        assert parameter.type in @types
        assert is_boolean(parameter.required)
        assert String.length(parameter.description) > 5
      end
    end
  end

  test "required parameters" do
    required = for tool <- Definitions.all(), p <- tool.parameters, p.required, do: {tool.name, p.name}

    assert required == [
             {"mix_task", "task"},
             {"get_process_state", "process"},
             {"inspect_supervisor", "supervisor"},
             {"ets_inspect", "operation"},
             {"fetch_elixir_docs", "module"}
           ]
  end
end
