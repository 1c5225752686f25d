defmodule JidoCode.Tools.Attack.ForgedRepositoryTest do
  # What a command writes must not widen what the next command sees: files that say where git's folder is, links in the
  # place of folders, programs on a `PATH` that leads into the project.
  use ExUnit.Case, async: true

  import JidoCode.Tools.Test.Attack

  @moduletag :attack
  @moduletag timeout: 180_000

  setup do
    %{folders: folders!()}
  end

  # In each mode a project of its own, since the attack of one would be the start of the other.
  defp in_each_mode(attack) do
    for mode <- modes(), do: attack.(mode, folders!())
  end

  defp reveals?(folders, mode, command, options \\ []) do
    case try_run(folders, mode, command, options) do
      {:ok, result} -> printed(result) =~ "outside-secret"
      # Refused before it started.
      {:error, _reason} -> false
    end
  end

  defp writes?(folders, mode, command) do
    try_run(folders, mode, command)

    File.ls!(folders.outside) != ["secret"] or
      File.read!(Path.join(folders.outside, "secret")) != "outside-secret\n"
  end

  @steps [
    {:then, [["git", "status"]]},
    {:then, [["sh", "-c", "cat ../outside/secret; echo x > ../outside/new"]]}
  ]

  test "a file or folder .git that leads outside shows nothing and makes nothing writable" do
    forgeries = [
      "echo 'gitdir: ../outside' > .git",
      "ln -s ../outside .git",
      "mkdir .git; echo ../../outside > .git/commondir",
      "mkdir -p w/worktrees/x; echo ../../../../outside > w/worktrees/x/commondir; echo 'gitdir: w/worktrees/x' > .git",
      "git init -q .; mkdir -p .git/modules/m; echo x > .git/modules/m/HEAD; " <>
        "printf '[core]\\n\\tworktree = ../../../../outside\\n' > .git/modules/m/config"
    ]

    for forgery <- forgeries do
      in_each_mode(fn mode, folders ->
        run!(folders, mode, ["sh", "-c", forgery])
        refute reveals?(folders, mode, ["cat", "../outside/secret"]), "#{mode}: #{forgery}"
        refute reveals?(folders, mode, @steps), "#{mode}: #{forgery}"
        refute writes?(folders, mode, @steps), "#{mode}: #{forgery}"
      end)
    end
  end

  test "a folder that was swapped for a link before the command starts there shows nothing" do
    in_each_mode(fn mode, folders ->
      run!(folders, mode, ["ln", "-s", "../outside", "here"])
      refute reveals?(folders, mode, ["cat", "secret"], cd: Path.join(folders.project, "here"))
      refute reveals?(folders, mode, ["cat", "../outside/secret"], cd: Path.join(folders.project, "here"))
    end)
  end

  test "a program on a PATH that leads into the project brings in nothing that it is a link to" do
    in_each_mode(fn mode, folders ->
      run!(folders, mode, ["sh", "-c", "mkdir -p bin; ln -s ../../outside/secret bin/mix"])
      path = Path.join(folders.project, "bin") <> ":/usr/bin:/bin"
      refute reveals?(folders, mode, ["cat", "../outside/secret"], env: %{"PATH" => path})
    end)
  end

  test "a home that is a repository is not shown to git of a project within" do
    in_each_mode(fn mode, folders ->
      home = folders.home
      project = Path.join(home, "code/project")
      File.mkdir_p!(project)
      git!(home, ["init", "-q"])
      folders = %{folders | project: project}
      {:ok, result} = try_run(folders, mode, ["git", "hash-object", "-w", "../../.ssh/id"])
      assert result.exit_code != 0, printed(result)
    end)
  end

  test "what git's configuration includes is read-only, wherever in the project it lies, and so is what that names" do
    in_each_mode(fn mode, folders ->
      git!(folders.project, ["init", "-q"])
      git!(folders.project, ["config", "include.path", "../team/gitconfig"])
      File.mkdir_p!(Path.join(folders.project, "team"))

      File.write!(
        Path.join(folders.project, "team/gitconfig"),
        "[core]\n\tfsmonitor = team/watch\n[alias]\n\tt = !mix test\n"
      )

      File.write!(Path.join(folders.project, "team/watch"), "good")
      File.mkdir_p!(Path.join(folders.project, "test"))

      run!(folders, mode, ["sh", "-c", "echo evil > team/gitconfig; echo evil > team/watch; echo x > test/x"])
      assert File.read!(Path.join(folders.project, "team/gitconfig")) =~ "fsmonitor"
      assert File.read!(Path.join(folders.project, "team/watch")) == "good"
      # A folder that an alias only mentions is the project's own.
      assert File.exists?(Path.join(folders.project, "test/x"))
    end)
  end

  test "a folder around what git's configuration names can't be exchanged" do
    in_each_mode(fn mode, folders ->
      git!(folders.project, ["init", "-q"])
      git!(folders.project, ["config", "core.hooksPath", "tools/git/hooks"])
      hook = Path.join(folders.project, "tools/git/hooks/pre-commit")
      File.mkdir_p!(Path.dirname(hook))
      File.write!(hook, "good")

      result =
        run!(folders, mode, [
          "sh",
          "-c",
          "mv tools other; mkdir -p tools/git/hooks; echo evil > tools/git/hooks/pre-commit"
        ])

      assert File.read!(hook) == "good"
      assert Enum.any?(result.put_back, &(&1 =~ "pre-commit"))
    end)
  end

  # Once added, git looks into it from the folder around, and runs what its configuration says.
  test "repositories that a command leaves in the project are told" do
    in_each_mode(fn mode, folders ->
      git!(folders.project, ["init", "-q"])
      assert run!(folders, mode, ["sh", "-c", "mkdir -p lib/a; echo x > lib/a/b; git status"]).appeared == []

      script =
        "git init -q lib/nested; git init -q --bare lib/bare; mkdir lib/file; echo 'gitdir: ../../x' > lib/file/.git; ln -s /tmp lib/a/.git"

      told = run!(folders, mode, ["sh", "-c", script]).appeared

      assert ["lib/a/.git", "lib/bare", "lib/file/.git", "lib/nested/.git"] =
               told |> Enum.map(&hd(String.split(&1))) |> Enum.sort()

      report = JidoCode.Tools.Command.Result.report(run!(folders, mode, ["git", "init", "-q", "again"]))
      assert report["note"] =~ "again/.git is a new git repository"
      assert run!(folders, mode, ["true"]).appeared == []
    end)
  end

  test "hooks that lie in the project are kept" do
    in_each_mode(fn mode, folders ->
      git!(folders.project, ["init", "-q"])
      git!(folders.project, ["config", "core.hooksPath", ".husky"])
      hook = Path.join(folders.project, ".husky/pre-commit")
      File.mkdir_p!(Path.dirname(hook))
      File.write!(hook, "good")
      run!(folders, mode, ["sh", "-c", "echo evil > .husky/pre-commit; echo evil > .husky/post-merge"])
      assert File.read!(hook) == "good"
      refute File.exists?(Path.join(folders.project, ".husky/post-merge"))
    end)
  end
end
