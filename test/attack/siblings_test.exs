defmodule JidoCode.Tools.Attack.SiblingsTest do
  # A project that is a part of a repository: what a line of git may change there.
  use ExUnit.Case, async: false

  alias JidoCode.Tools.{Command, Config, Deadline}
  alias JidoCode.Tools.Project.{Line, Places, Repository}
  alias JidoCode.Tools.Test.Attack

  @moduletag :attack

  setup do
    top = Path.join(System.tmp_dir!(), "jido-siblings-#{System.pid()}-#{System.unique_integer([:positive])}")
    root = Path.join(top, "apps/shop")
    for folder <- [Path.join(root, "lib"), Path.join(top, "other")], do: File.mkdir_p!(folder)
    File.write!(Path.join(root, "lib/a.ex"), "a")
    File.write!(Path.join(top, "other/b"), "b")
    Attack.git!(top, ["init", "-q"])
    Attack.git!(top, ["add", "."])
    Attack.git!(top, ["commit", "-qm", "first"])
    on_exit(fn -> File.rm_rf!(top) end)
    %{top: top, root: root}
  end

  defp prepare(line, root) do
    Line.prepare("bash_execute", line, nil, %{project_root: root}, Deadline.new(nil, 30_000, 30_000))
  end

  test "finds the repository around a project, and none around one of its own", %{top: top, root: root} do
    assert Repository.around(root) == top
    assert Repository.around(top) == nil
    Attack.git!(root, ["init", "-q"])
    assert Repository.around(root) == nil
  end

  test "lines that change the whole tree are refused before they start, with what to write instead",
       context do
    refused = [
      "git stash",
      "git stash pop",
      "git reset --hard",
      "git switch main",
      "git checkout main",
      "git checkout -b new HEAD~1",
      "git add -A",
      "git commit -am all",
      "git -C lib stash",
      "git status && git stash push -m x",
      "cat lib/a.ex; git reset --hard HEAD"
    ]

    for line <- refused do
      assert {:error, text} = prepare(line, context.root), line
      assert text =~ "changes the whole repository in #{context.top}"
      assert text =~ "--repository"
    end
  end

  test "lines that stay in the project are not", %{root: root} do
    lines = [
      "git status",
      "git diff",
      "git log",
      "git add .",
      "git add -A .",
      "git add -u lib",
      "git commit -m text",
      "git commit -m 'git stash' lib/a.ex",
      "git checkout -- lib/a.ex",
      "git checkout lib/a.ex",
      "git checkout -b new",
      "git switch -c new",
      "git restore lib/a.ex",
      "git reset lib/a.ex",
      "git stash list",
      "git stash push -- lib"
    ]

    for line <- lines, do: assert({:ok, _line} = prepare(line, root), line)
  end

  test "a repository of the project's own takes them all", %{top: top} do
    for line <- ["git stash", "git reset --hard", "git checkout main"],
        do: assert({:ok, _line} = prepare(line, top), line)
  end

  test "with the whole repository given, git changes siblings, and what controls git stays as it was",
       context do
    %{top: top, root: root} = context
    Application.put_env(:jido_code_tools, :command_repository, true)

    on_exit(fn ->
      Application.delete_env(:jido_code_tools, :command_repository)
      Config.reload()
    end)

    Config.reload()
    assert top in Places.options(root, %{})[:write]
    File.write!(Path.join(top, "other/b"), "changed")
    {:ok, %{plan: plan, options: options}} = prepare("git reset --hard", root)
    assert {:ok, %{exit_code: 0}} = Command.run(plan, options)
    assert File.read!(Path.join(top, "other/b")) == "b"

    {:ok, _result} = Command.run(["sh", "-c", "echo evil > #{top}/.git/config"], options)
    refute File.read!(Path.join(top, ".git/config")) =~ "evil"
  end
end
