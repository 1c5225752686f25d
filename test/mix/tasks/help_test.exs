defmodule Mix.Tasks.Jido.HelpTest do
  # Standard output is the whole VM's.
  use ExUnit.Case, async: false

  import ExUnit.CaptureIO

  for {task, module, says} <- [
        {"jido.tool", Mix.Tasks.Jido.Tool, "in no fence"},
        {"jido.audit", Mix.Tasks.Jido.Audit, "--key-file"},
        {"jido.doctor", Mix.Tasks.Jido.Doctor, "Exit status"},
        {"jido.mcp.config", Mix.Tasks.Jido.Mcp.Config, "--ask-seconds"}
      ] do
    test "mix #{task} --help prints its documentation, and does nothing else" do
      for asked <- [["--help"], ["-h"], ["--json", "--help"]] do
        printed = capture_io(fn -> unquote(module).run(asked) end)
        assert printed =~ "mix #{unquote(task)}"
        assert printed =~ unquote(says)
      end
    end
  end

  test "mix jido.doctor takes no arguments, and says so" do
    said =
      capture_io(:stderr, fn -> assert catch_exit(Mix.Tasks.Jido.Doctor.run(["all"])) == {:shutdown, 2} end)

    assert said =~ "takes no arguments, got: all"
  end
end
