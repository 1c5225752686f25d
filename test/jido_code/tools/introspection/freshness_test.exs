defmodule JidoCode.Tools.Introspection.FreshnessTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Introspection.Freshness
  alias JidoCode.Tools.Test.MixProject

  @moduletag timeout: 120_000

  # In a VM that runs the project, as the MCP server's does.
  @script ~S"""
  alias JidoCode.Tools.Introspection.Freshness
  # Mix takes what it does not know off the path.
  Code.append_path(System.fetch_env!("LIBRARY"))
  true = Code.ensure_loaded?(Sample)
  tell = fn label -> IO.inspect(Map.get(Freshness.note(%{}), "note"), label: label) end

  tell.("fresh")
  source = File.read!("lib/sample.ex")
  File.write!("lib/sample.ex", String.replace(source, "def sum(prices)", "def sum(prices, _taxes \\\\ 0)"))
  File.touch!("lib/sample.ex", System.os_time(:second) + 5)
  tell.("written")
  {_output, 0} = System.cmd("mix", ["compile"], env: [{"MIX_ENV", "dev"}], stderr_to_stdout: true)
  File.touch!("lib/sample.ex", System.os_time(:second) - 5)
  tell.("compiled")
  IO.inspect(Freshness.note("Function not found"), label: "missing")
  """

  test "a note tells of sources changed since they were compiled, and of modules compiled since they were loaded" do
    root = MixProject.new!()
    ebin = Application.app_dir(:jido_code_tools, "ebin")

    {output, status} =
      System.cmd("elixir", ["-pa", ebin, "-S", "mix", "run", "-e", @script],
        cd: root,
        env: [{"MIX_ENV", "dev"}, {"LIBRARY", ebin}],
        stderr_to_stdout: true
      )

    assert status == 0, output
    assert output =~ "fresh: nil\n"
    assert output =~ ~s(written: "Changed since the last compile: lib/sample.ex."\n)

    assert output =~
             ~s(compiled: "This VM runs older code than the compiled code of Sample; restart_project starts it anew."\n)

    assert output =~
             ~S(missing: "Function not found\nThis VM runs older code than the compiled code of Sample;)
  end

  test "without anything stale, and for what is not a project, there is no note" do
    assert Freshness.text(%{modules: [], sources: []}) == nil
    many = for n <- 1..7, do: Module.concat(Many, "M#{n}")

    assert Freshness.text(%{modules: many, sources: []}) =~
             "Many.M1, Many.M2, Many.M3, Many.M4, Many.M5 and 2 more;"
  end
end
