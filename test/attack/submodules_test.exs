defmodule JidoCode.Tools.Attack.SubmodulesTest do
  # A person's `git status` looks into each submodule, and runs what the configuration there names.
  use ExUnit.Case, async: true

  import JidoCode.Tools.Test.Attack

  @moduletag :attack
  @moduletag timeout: 180_000

  # In each mode a project of its own with three submodules: one whose folder of git lies in that of the project, one that has
  # its own, and one that was never fetched.
  defp in_each_mode(attack) do
    for mode <- modes() do
      folders = folders!()
      library = Path.join(folders.outside, "library")
      File.mkdir_p!(library)
      commit!(library)
      commit!(folders.project)
      submodules!(folders.project, library)
      attack.(mode, folders)
    end
  end

  defp commit!(folder) do
    git!(folder, ["init", "-q"])
    File.write!(Path.join(folder, "file"), "text")
    git!(folder, ["add", "file"])
    git!(folder, ["commit", "-qm", "first"])
  end

  defp submodules!(project, library) do
    add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q", library]
    git!(project, add ++ ["vendor/fetched"])
    git!(project, ["clone", "-q", library, "vendor/own"])
    git!(project, add ++ ["vendor/own"])
    head = String.trim(git!(library, ["rev-parse", "HEAD"]))
    git!(project, ["update-index", "--add", "--cacheinfo", "160000,#{head},vendor/absent"])
    git!(project, ["update-index", "--add", "--cacheinfo", "160000,#{head},deps/absent"])
    for name <- ["vendor", "deps"], do: File.mkdir_p!(Path.join([project, name, "absent"]))
    git!(project, ["commit", "-qam", "submodules"])
  end

  # Whether the person's git runs what stands in some configuration.
  defp runs?(folders) do
    mark = Path.join(folders.outside, "ran")
    File.rm(mark)
    git!(folders.project, ["status"])
    File.exists?(mark)
  end

  defp evil(folders), do: "[core]\\n\\tfsmonitor = \\\"touch #{folders.outside}/ran; false\\\"\\n"

  # A new repository, with a commit, since git looks into no other.
  defp repository(folder, folders) do
    "mkdir -p #{folder} && git init -q #{folder} && printf \"#{evil(folders)}\" >> #{folder}/.git/config && " <>
      "git -C #{folder} -c user.name=A -c user.email=a@b commit -q --allow-empty -m x"
  end

  defp script!(folders, mode, script), do: run!(folders, mode, ["sh", "-c", script])

  test "the attack works where nothing stops it" do
    folders = folders!()
    commit!(folders.project)
    commit!(folders.outside)
    submodules!(folders.project, folders.outside)
    refute runs?(folders)

    {_, 0} =
      System.cmd("sh", ["-c", "printf \"#{evil(folders)}\" >> vendor/own/.git/config"], cd: folders.project)

    assert runs?(folders)
  end

  test "no script changes what controls git in a submodule" do
    scripts = fn folders ->
      [
        "printf \"#{evil(folders)}\" >> .git/modules/vendor/fetched/config",
        "printf \"#{evil(folders)}\" >> vendor/own/.git/config",
        "cp /bin/true vendor/own/.git/hooks/pre-commit; cp /bin/true .git/modules/vendor/fetched/hooks/pre-commit",
        "ln -s ../../file vendor/own/.git/commondir; ln -s ../../file .git/modules/vendor/fetched/commondir",
        "rm -rf vendor/fetched/.git vendor/own/.git; " <>
          repository("vendor/fetched", folders) <> "; " <> repository("vendor/own", folders),
        "mv vendor moved; " <> repository("vendor/own", folders),
        repository("vendor/absent", folders) <> "; " <> repository("deps/absent", folders),
        repository("other", folders) <> "; ln -s ../../other/.git vendor/absent/.git"
      ]
    end

    in_each_mode(fn mode, folders ->
      for script <- scripts.(folders) do
        script!(folders, mode, script)
        refute runs?(folders), "#{mode}: #{script}"
        refute File.exists?(Path.join(folders.project, "vendor/own/.git/hooks/pre-commit"))
        refute File.exists?(Path.join(folders.project, ".git/modules/vendor/fetched/hooks/pre-commit"))
      end
    end)
  end

  test "git itself works in each submodule, and keeps what controls it" do
    in_each_mode(fn mode, folders ->
      for name <- ["fetched", "own"] do
        module = Path.join([folders.project, "vendor", name])
        File.write!(Path.join(module, "new"), "new")
        git = fn arguments -> run!(folders, mode, ["git" | arguments], cd: module) end
        assert %{exit_code: 0, put_back: []} = git.(["add", "new"])
        assert %{exit_code: 0} = git.(~w(-c user.name=A -c user.email=a@b commit -qm second))
        git.(["config", "core.fsmonitor", "touch #{folders.outside}/ran; false"])
      end

      assert %{exit_code: 0} = run!(folders, mode, ["git", "add", "vendor"])
      refute runs?(folders)
    end)
  end

  test "what a submodule's configuration names in it is read-only" do
    in_each_mode(fn mode, folders ->
      for name <- ["fetched", "own"] do
        module = Path.join([folders.project, "vendor", name])
        git!(module, ["config", "core.hooksPath", "hooks"])
        hook = Path.join(module, "hooks/lib/common")
        File.mkdir_p!(Path.dirname(hook))
        File.write!(hook, "good")
        script!(folders, mode, "echo evil > vendor/#{name}/hooks/lib/common")
        assert File.read!(hook) == "good", "#{mode}: #{name}"
      end
    end)
  end

  test "a repository that becomes a submodule is told" do
    in_each_mode(fn mode, folders ->
      library = Path.join(folders.project, "deps/library")
      File.mkdir_p!(library)
      commit!(library)
      assert run!(folders, mode, ["git", "add", "file"]).appeared == []
      assert [told] = run!(folders, mode, ["git", "add", "-f", "deps/library"]).appeared
      assert told =~ "deps/library was added as a repository within this one"
      assert run!(folders, mode, ["git", "add", "file"]).appeared == []
    end)
  end

  test "a link in the place of a file that controls git, where there was none, is put back as well" do
    in_each_mode(fn mode, folders ->
      git = Path.join(folders.project, ".git")
      File.rm_rf!(Path.join(git, "info"))

      script!(
        folders,
        mode,
        "ln -s ../other .git/commondir; ln -s ../other .git/config.worktree; ln -s ../.. .git/info; ln -s other attributes"
      )

      for name <- ["commondir", "config.worktree", "info/attributes"] do
        assert {:error, :enoent} = File.lstat(Path.join(git, name)), "#{mode}: #{name}"
      end
    end)
  end

  test "hooks that are a link into the project are kept" do
    in_each_mode(fn mode, folders ->
      hooks = Path.join(folders.project, ".git/hooks")
      File.rm_rf!(hooks)
      File.mkdir_p!(Path.join(folders.project, "tools/hooks"))
      File.write!(Path.join(folders.project, "tools/hooks/pre-commit"), "good")
      File.ln_s!("../tools/hooks", hooks)

      script!(folders, mode, "echo evil > tools/hooks/pre-commit; echo evil > tools/hooks/post-merge")

      assert %{exit_code: 0} = run!(folders, mode, ["git", "status"])

      assert File.ls!(Path.join(folders.project, "tools/hooks")) |> Enum.reject(&(&1 =~ "set-aside")) == [
               "pre-commit"
             ]

      assert File.read!(Path.join(folders.project, "tools/hooks/pre-commit")) == "good"
      assert File.read_link!(hooks) == "../tools/hooks"
    end)
  end
end
