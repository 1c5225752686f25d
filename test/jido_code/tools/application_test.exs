defmodule JidoCode.Tools.ApplicationTest do
  use ExUnit.Case, async: true

  # Alone in its run, this test is the first to name most of them.
  test "is loaded as a whole when it starts, so that no command can replace what was not used yet" do
    {:ok, modules} = :application.get_key(:jido_code_tools, :modules)
    assert JidoCode.Tools.CodeSearch in modules
    assert Enum.reject(modules, &:code.is_loaded/1) == []
  end
end
