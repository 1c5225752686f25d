defmodule JidoCode.Tools.Attack.LinesTest do
  # What an engineer types runs to its end inside a whole fence; what a hostile line tries there ends at its kernel.
  use ExUnit.Case, async: true

  import JidoCode.Tools.Test.Attack, only: [git!: 2]

  alias JidoCode.Tools.SecureExecutor
  alias JidoCode.Tools.Security.CommandPolicy
  alias JidoCode.Tools.Test.{MixProject, Tree}

  @moduletag :attack
  @moduletag :capture_log
  @moduletag timeout: 300_000

  # Tasks of packages, for this library needs none to judge them.
  @tasks ~w(phx.routes phx.gen.html ecto.migrate ecto.gen.migration)

  defp task(name) do
    module = name |> String.split(".") |> Enum.map_join(".", &Macro.camelize/1)

    """
    defmodule Mix.Tasks.#{module} do
      use Mix.Task
      def run(args), do: IO.puts("#{name}: " <> Enum.join(args, " "))
    end
    """
  end

  setup_all do
    if CommandPolicy.list() == :wide, do: {:ok, whole?: true}, else: {:ok, whole?: false}
  end

  setup do
    root = MixProject.new!(Map.new(@tasks, &{"lib/tasks/#{&1}.ex", task(&1)}))

    Tree.write!(root, %{
      "priv/repo/seeds.exs" => "IO.puts(\"seeded\")\n",
      "data.json" => ~s({"a": [1, 2]}\n),
      "notes" => "one two\nthree four\n",
      ".gitignore" => "_build\n"
    })

    git!(root, ~w(init -q))
    # The machine may know nobody.
    git!(root, ~w(config user.name Someone))
    git!(root, ~w(config user.email someone@example.org))
    git!(root, ~w(add -A))
    git!(root, ~w(commit -qm first))
    git!(root, ~w(branch -m main))

    for {branch, file} <- [side: "side.txt", pick: "pick.txt"] do
      git!(root, ["checkout", "-q", "-b", "#{branch}", "main"])
      Tree.write!(root, %{file => "#{branch}\n"})
      git!(root, ~w(add -A))
      git!(root, ["commit", "-qm", "#{branch}"])
    end

    git!(root, ~w(checkout -q main))

    Tree.write!(root, %{
      "change.patch" => "--- a/notes\n+++ b/notes\n@@ -1,2 +1,2 @@\n-one two\n+ONE two\n three four\n"
    })

    %{root: root, context: %{project_root: root, session_id: "lines", granted_tier: :execute}}
  end

  # A session of its own: together they are more calls than one may make in a minute.
  defp run(context, line) do
    session = "lines-#{System.unique_integer([:positive])}"
    answer = SecureExecutor.call("bash_execute", %{"command" => line}, %{context | session_id: session})
    SecureExecutor.end_session(session)
    answer
  end

  defp output!(context, line) do
    assert {:ok, %{"exit_code" => 0, "stdout" => output}} = run(context, line), line
    output
  end

  test "git that runs behind a program which only starts it writes its folders as well", %{
    context: context,
    whole?: whole?
  } do
    if whole? do
      assert output!(context, "timeout 60 git commit --allow-empty -qm timed && git log --format=%s -1") ==
               "timed\n"

      assert output!(context, "echo new > new && echo new | xargs git add && git status --short") =~ "A  new"
      # `find` may start a second program, which is not git.
      assert {:ok, %{"stderr" => text}} = run(context, "find notes -exec git rm -q --cached {} +")
      assert text =~ "Read-only file system"
    end
  end

  test "jq reads JSON through a pipe", %{context: context, whole?: whole?} do
    if whole? and System.find_executable("jq") do
      assert output!(context, "jq '.a | length' data.json && cat data.json | jq -c .a") == "2\n[1,2]\n"
    end
  end

  test "what an engineer types runs to its end", %{context: context, whole?: whole?} do
    lines = [
      {"mix deps", ""},
      {"mix xref graph --format stats", "Tracked files"},
      {"mix clean", ""},
      {"mix app.tree", "sample"},
      {"mix phx.routes", "phx.routes: "},
      {"mix phx.gen.html Accounts User users name:string", "phx.gen.html: Accounts User users name:string"},
      {"mix ecto.migrate", "ecto.migrate: "},
      {"mix ecto.gen.migration add_users", "ecto.gen.migration: add_users"},
      {"mix run priv/repo/seeds.exs", "seeded"},
      {"sed -n '1,20p' notes", "three four"},
      {"awk '{print $2}' notes", "two\nfour\n"},
      {"find lib -name '*.ex' | xargs wc -l", "total"},
      {"find . -name notes -exec cat {} +", "one two"},
      {"sha256sum notes", "notes"},
      {"which cat", "cat"},
      {"echo kept | tee copy && cat copy", "kept\nkept\n"},
      {"sleep 0.1; ps", "PID"},
      {"export MIX_ENV=test && mix compile", ""},
      {"(mix compile)", ""},
      {"mix compile; echo $?", "0\n"},
      {"false; echo $?", "1\n"},
      {"ls {lib,test}", "lib:"},
      {"time true", ""},
      {"cat <<'EOF' > made.txt && cat made.txt\nsome $text\nEOF", "some $text\n"},
      {"ls **/*.ex", "lib/sample.ex"},
      {"cd lib && ls | wc -l; cd .. && ls -d notes", "notes"},
      {"tar czf notes.tgz notes && tar tzf notes.tgz", "notes\n"},
      {"env A=b printenv A", "b\n"},
      {"timeout 60 cat notes | sort -r | head -1", "three four\n"},
      {"git merge --no-edit side && git log --oneline | wc -l", "2\n"},
      {"git cherry-pick pick && ls pick.txt", "pick.txt"},
      {"git revert --no-edit HEAD && ! ls pick.txt", ""},
      {"git worktree list", "[main]"},
      {"git apply change.patch && cat notes", "ONE two"},
      {"git add -A && git commit -m 'all of it' && git status --short", "all of it"}
    ]

    if whole? do
      for {line, expected} <- lines, do: assert(output!(context, line) =~ expected, line)
    end
  end

  test "the background takes the same lines", %{context: context, whole?: whole?} do
    if whole? do
      call = fn name, args -> SecureExecutor.call(name, args, context) end

      assert {:ok, %{"shell_id" => id}} =
               call.("bash_background", %{"command" => "seq 3 | sed -n 2p; awk '{print $1}' notes"})

      assert {:ok, %{"output" => output}} =
               call.("bash_output", %{"shell_id" => id, "block" => true, "timeout" => 60_000})

      assert output =~ "2\none\nthree\n"
      SecureExecutor.end_session(context.session_id)
    end
  end

  test "names that a program reads can't change what git runs", %{
    context: context,
    root: root,
    whole?: whole?
  } do
    config = File.read!(Path.join(root, ".git/config"))

    if whole? do
      for line <- [
            "printf '.git/hooks/pre-commit\\n' | xargs touch",
            "printf '.git/config\\n' | xargs sed -i s/core/evil/",
            "echo x | xargs -I{} cp notes .gi{}",
            "find .git -name config -exec sed -i s/core/evil/ {} +",
            "find .git -name config -delete",
            "cp notes hook && tar cf a.tar hook && tar xf a.tar --strip-components=0 -C .git",
            "printf '.git\\n' | xargs -I{} mv {} moved",
            "printf 'core.pager evil' | xargs git config",
            "printf 'core.pager\\nevil\\n' | timeout 9 xargs git config"
          ] do
        case run(context, line) do
          {:ok, %{"exit_code" => code}} -> assert code != 0 or line =~ ".gi{}", line
          {:error, _refused} -> :ok
        end

        assert File.read!(Path.join(root, ".git/config")) == config, line
        refute File.exists?(Path.join(root, ".git/hooks/pre-commit")), line
      end
    end
  end

  test "nothing in a line runs a shell or text as code, by whatever name", %{context: context, root: root} do
    File.ln_s!("/bin/sh", Path.join(root, "innocent"))
    Tree.write!(root, %{"evil" => "touch ran\n", "cat" => "#!/bin/sh\ntouch ran\n"})
    File.chmod!(Path.join(root, "cat"), 0o755)

    for line <- [
          "./innocent evil",
          "#{root}/innocent evil",
          "ls | xargs ./innocent",
          "printf 'evil\\n' | xargs -I{} ./innocent {}",
          "find . -name evil -exec ./innocent {} +",
          "find . -name innocent -exec {} evil \\;",
          "env ./innocent evil",
          "timeout 5 ./innocent evil",
          "sh <<'E'\ntouch ran\nE",
          "cat evil | sh",
          "python3 /dev/stdin < evil",
          "make -f /dev/stdin < evil",
          "awk 'BEGIN { system(\"touch ran\") }'",
          "awk 'BEGIN { \"touch ran\" | getline }'",
          "sed '1e touch ran' notes",
          "sed 's/one/touch ran/e' notes",
          "tar cf a.tar notes && tar xf a.tar --to-command='sh evil'",
          "tar cIf 'sh evil' a.tar notes",
          "sort --compress-program=./innocent -S 1k notes",
          "git -c core.pager='touch ran' log",
          "git -c alias.x='!touch ran' x",
          "git difftool -x 'touch ran' HEAD~1",
          "git grep -O'touch ran' one",
          "git fetch --upload-pack='touch ran' .",
          "rsync -e 'touch ran' a b",
          "export PATH=. && cat notes",
          "PATH=. cat notes",
          "LD_PRELOAD=./evil.so ls",
          "MIX_ENV=prod mix compile",
          "mix run -e 'File.touch!(\"ran\")'",
          "mix cmd touch ran",
          "mix do run -e 1",
          "time -o /tmp/x true",
          "echo x > /tmp/x",
          "echo x | tee /tmp/x",
          "cd .. && ls",
          "cd lib && cd ../.. && ls"
        ] do
      assert {:error, refused} = run(context, line), line
      assert refused =~ ~r"not allowed|blocked|not run", line
      refute File.exists?(Path.join(root, "ran")), line
    end

    # A file of the project that is named like a program is not found before it.
    assert output!(context, "cat notes") =~ "one two"
    refute File.exists?(Path.join(root, "ran"))
  end
end
