defmodule JidoCode.RegistrationTest do
  use ExUnit.Case

  alias JidoCode.Tools.{Catalog, Handlers, Registry, Tool}

  test "every definition is a tool of the host's, in the model's format too" do
    definitions = Catalog.all()
    assert length(definitions) == 17

    for definition <- definitions do
      assert {:ok, %Tool{handler: handler} = tool} = Registry.get(definition.name)
      assert handler == definition.handler
      assert Enum.map(tool.parameters, & &1.name) == Enum.map(definition.parameters, & &1.name)
      assert Enum.all?(tool.parameters, &(&1.description != ""))
    end

    assert Jason.encode!(Registry.to_llm_format()) =~ ~s("name":"ets_inspect")
  end

  test "where both have a name, it is the library's tool; the host's others stay" do
    for name <- ["bash_background", "bash_output", "kill_shell"] do
      assert {:ok, %Tool{handler: handler}} = Registry.get(name)
      assert Application.get_application(handler) == :jido_code_tools
    end

    assert {:ok, %Tool{handler: Handlers.Shell}} = Registry.get("run_command")
    assert :ok = JidoCode.Tools.register_all()
    assert Registry.count() == 18
  end

  test "no module is there twice" do
    modules =
      for {app, _, _} <- Application.loaded_applications(),
          module <- Application.spec(app, :modules),
          do: {module, app}

    twice =
      modules
      |> Enum.group_by(&elem(&1, 0), &elem(&1, 1))
      |> Enum.filter(fn {_module, apps} -> length(apps) > 1 end)

    assert twice == []
  end
end
