defmodule JidoCode.Tools.Doors.MCP.ListingTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Catalog
  alias JidoCode.Tools.Doors.MCP.Listing

  doctest Listing

  setup_all do
    {:ok, tools: Listing.build("1.0.0")["tools"]}
  end

  test "lists every tool in the catalog's order, with all four hints", %{tools: tools} do
    names = Enum.map(tools, & &1["name"])
    assert names -- Catalog.names() == ["restart_project"]
    assert Catalog.names() -- names == []

    for tool <- tools do
      assert tool["title"] != "" and tool["description"] != ""

      for hint <- ~w(readOnlyHint destructiveHint idempotentHint openWorldHint),
          do: assert(is_boolean(tool["annotations"][hint]))
    end
  end

  test "schemas are plain: objects with one type a property, which all clients take", %{tools: tools} do
    for %{"inputSchema" => schema} <- tools do
      assert %{"type" => "object", "properties" => properties, "required" => required} = schema
      assert Enum.all?(required, &is_map_key(properties, &1))

      for {_name, property} <- properties do
        assert is_binary(property["type"])
        refute Enum.any?(~w(anyOf oneOf allOf $ref), &is_map_key(property, &1))
      end
    end
  end
end
