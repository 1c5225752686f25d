defmodule JidoCode.Tools.Definitions.GrepSearchTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Definitions.GrepSearch
  alias JidoCode.Tools.Handlers

  test "one tool, with its parameters" do
    assert [tool] = GrepSearch.all()
    assert tool == GrepSearch.grep_search()
    assert %{name: "grep_search", handler: Handlers.GrepSearch} = tool

    assert Enum.map(tool.parameters, & &1.name) ==
             ~w(pattern path output_mode context_before context_after context file_type glob case_insensitive multiline
                head_limit)

    assert for(%{required: true, name: name} <- tool.parameters, do: name) == ["pattern"]
    assert Enum.all?(tool.parameters, &(is_binary(&1.description) and &1.description != ""))

    assert Enum.find(tool.parameters, &(&1.name == "output_mode")).enum ==
             ~w(content files_with_matches count)
  end
end
