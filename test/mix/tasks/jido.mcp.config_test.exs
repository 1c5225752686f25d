defmodule Mix.Tasks.Jido.Mcp.ConfigTest do
  # Standard output and the environment are the whole VM's.
  use ExUnit.Case, async: false

  import ExUnit.CaptureIO

  alias JidoCode.Tools.JSON
  alias JidoCode.Tools.Test.Tree
  alias Mix.Tasks.Jido.Mcp.Config

  defp printed(argv), do: capture_io(fn -> Config.run(argv) end)

  defp refused(argv) do
    capture_io(:stderr, fn -> assert catch_exit(Config.run(argv)) == {:shutdown, 2} end)
  end

  test "what most clients take" do
    {:ok, config} = JSON.decode(printed(["--tier", "execute", "--consent", "ets_inspect"]))
    assert %{"mcpServers" => %{"jido_code_tools" => %{"command" => command, "args" => args}}} = config
    # Outside the project, where no command can write.
    refute String.starts_with?(command, File.cwd!())
    assert Path.basename(command) == "jido_mcp"
    assert {_usage, 2} = System.cmd(command, ["--project"], stderr_to_stdout: true)

    assert ["--project", project, "--path", path, "--tier", "execute", "--consent", "ets_inspect"] = args
    assert project == File.cwd!()
    assert Enum.any?(String.split(path, ":"), &File.regular?(Path.join(&1, "mix")))
  end

  test "what other clients take" do
    {:ok, config} = JSON.decode(printed(["--format", "vscode", "--name", "shop"]))
    assert %{"servers" => %{"shop" => %{"type" => "stdio", "args" => ["--project" | _]}}} = config

    line = printed(["--format", "command", "--session", "it's mine"])
    assert String.ends_with?(line, ~s( --session 'it'\\''s mine'\n))
  end

  test "a project elsewhere is served without a dependency on the library" do
    # In a folder whose name a client would not take.
    root = Path.join(Tree.new!(%{"my shop/mix.exs" => "exit(:never_run)"}), "my shop")
    from_here = Path.relative_to_cwd(root)
    {:ok, config} = JSON.decode(printed(["--project", from_here, "--tier", "execute"]))
    assert %{"mcpServers" => %{"my_shop" => %{"args" => args}}} = config
    assert ["--project", ^root, "--path", _path, "--tier", "execute"] = args

    # What a server of that project refuses, and this folder would not.
    assert refused(["--project", root, "--audit-file", Path.join(root, "audit.jsonl")]) =~
             "may write the project"

    empty = Tree.new!(%{})
    assert refused(["--project", empty]) =~ "--project takes the folder of a Mix project, and #{empty} has no"
  end

  test "installs nothing below the project" do
    data = System.get_env("XDG_DATA_HOME")
    System.put_env("XDG_DATA_HOME", Path.expand("tmp"))

    on_exit(fn ->
      if data, do: System.put_env("XDG_DATA_HOME", data), else: System.delete_env("XDG_DATA_HOME")
    end)

    assert refused([]) =~ "lies in the project"
  end

  test "a file has it and nothing else" do
    file = Path.join(Tree.new!(%{}), "mcp.json")
    assert printed(["--output", file]) == ""
    assert {:ok, %{"mcpServers" => _}} = file |> File.read!() |> JSON.decode()
    assert refused(["--output", "/nowhere/mcp.json"]) =~ "can't write /nowhere/mcp.json: no such file"
  end

  test "what a server would refuse is refused here" do
    assert refused(["--tier", "root"]) =~ "--tier takes one of"
    assert refused(["--consent", "iex_eval"]) =~ "--consent takes a tool's name"
    assert refused(["--format", "toml"]) =~ "--format takes one of"
    assert refused(["--ask", "always"]) =~ "--ask takes one of"
    assert refused(["--name", "a b"]) =~ "--name takes up to 40"
    assert refused(["--no-such-option"]) =~ "--no-such-option"
    assert refused(["shop"]) =~ "unknown argument: shop"
  end
end
