defmodule JidoCode.Tools.PackageTest do
  use ExUnit.Case, async: true

  # A machine that has the built artefacts needs no Rust.
  @cargo System.find_executable("cargo") || Path.expand("~/.cargo/bin/cargo")

  # Cargo reads the manifests of the whole workspace before it builds anything, and refuses one that names a missing file.
  @tag skip: if(File.exists?(@cargo), do: false, else: "needs cargo")
  test "cargo takes the native sources that the package has" do
    folder = Path.join(System.tmp_dir!(), "jido-package-#{System.pid()}")
    on_exit(fn -> File.rm_rf!(folder) end)

    for pattern <- Mix.Project.config()[:package][:files], path <- Path.wildcard(pattern, match_dot: true) do
      copy = Path.join(folder, path)
      File.mkdir_p!(Path.dirname(copy))
      File.cp_r!(path, copy)
    end

    arguments = ~w(metadata --no-deps --offline --locked --format-version 1)

    assert {output, 0} =
             System.cmd(@cargo, arguments, cd: Path.join(folder, "native"), stderr_to_stdout: true)

    for package <- ~w(nif command_runner mcp_launcher), do: assert(output =~ ~s("name":"#{package}"))
  end

  test "the package lists nothing that is not there" do
    for pattern <- Mix.Project.config()[:package][:files],
        do: assert(Path.wildcard(pattern, match_dot: true) != [])
  end
end
