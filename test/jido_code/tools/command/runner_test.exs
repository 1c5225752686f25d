defmodule JidoCode.Tools.Command.RunnerTest do
  # The runner's path is the whole VM's.
  use ExUnit.Case, async: false

  alias JidoCode.Tools.Command
  alias JidoCode.Tools.Command.Runner

  @built Application.app_dir(:jido_code_tools, "priv/native/jido_command_runner")

  test "commands are started from a copy that nobody can write, whatever lies on the disk" do
    {:ok, path} = Runner.path()
    built = File.read!(@built)
    assert path != @built
    assert File.read!(path) == built

    assert {:error, _reason} = File.write(path, "#!/bin/sh\n")
    assert {:error, _reason} = File.write(path, "#!/bin/sh\n", [:append])
    assert File.read!(path) == built
    assert {:ok, %{exit_code: 0}} = Command.run(["true"], [])
  end

  test "without a copy there are no commands, and the error tells the way out" do
    kept = :persistent_term.get(Runner)
    on_exit(fn -> :persistent_term.put(Runner, kept) end)
    :persistent_term.put(Runner, {:error, "Operation not permitted"})

    assert {:error, {:invalid, text}} = Command.run(["true"], [])
    assert text =~ "Operation not permitted" and text =~ "command_runner:"
  end
end
