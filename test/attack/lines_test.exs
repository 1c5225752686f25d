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

  # Another spelling of a path outside, of a program that runs text, of git's folder, or of a variable that loads code.
  @refused ~S"""
  cat notes{,/../../outside/secret}
  cat "../out"side/secret
  cat $'../outside/secret'
  X=../outside; cat $X/secret
  cat ${X:-../outside/secret}
  cat ${PWD%/*}/outside/secret
  cat 0<../outside/secret
  cat <<< "$(cat ../outside/secret)"
  echo x >| ../outside/new
  echo x &> ../outside/new
  cp notes link/new
  cd link && cat secret
  ls /proc/1/root
  cat notes > /dev/tcp/localhost/1
  find . -fls ../outside/new
  find . -name notes -execdir ./evil \;
  sed -n 'w ../outside/new' notes
  sed 's/one/two/w .git/hooks/pre-commit' notes
  sed -f evil.sed notes
  awk '{print > "../outside/new"}' notes
  awk '{ print | "touch ran" }' notes
  awk -f evil.awk notes
  awk 'BEGIN { while ((getline l < "../outside/secret") > 0) print l }'
  jq -n 'input' --rawfile x ../outside/secret
  xargs -a ../outside/secret echo
  tar cf a.tar --checkpoint=1 --checkpoint-action=exec='touch ran' notes
  tar cf - --absolute-names /etc/passwd
  ln notes .git/hooks/pre-commit
  install -m 755 evil .git/hooks/pre-commit
  dd if=evil of=.git/hooks/pre-commit
  git apply --directory=.git/hooks change.patch
  git -C .git config core.pager evil
  git log --output=.git/hooks/pre-commit
  git rebase -x 'touch ran' HEAD
  git submodule foreach 'touch ran'
  git bisect run ./evil
  git archive --remote=ext::'touch ran' HEAD
  env -S 'sh evil'
  env --chdir=.. cat outside/secret
  \sh evil
  s"h" evil
  /bin/s? evil
  { sh evil; }
  if true; then touch ran; fi
  f() { touch ran; }; f
  echo $((`touch ran`))
  echo ${X:=$(touch ran)}
  trap 'touch ran' EXIT
  BASH_ENV=evil ls
  export GIT_PAGER='touch ran' && git log
  export HOME=. && git config -l
  ERL_FLAGS='-eval halt()' mix compile
  mix format --dot-formatter ../outside/secret
  make SHELL=./evil x
  make --eval='x:;touch ran' x
  cargo --config 'build.rustc-wrapper="./evil"' build
  elixir -S mix archive.install evil
  """

  # A program is given the name by another, so only the fence is left.
  @held [
    "cat l*k/secret",
    "printf '../outside/secret' | xargs cat",
    "echo ../outside/secret | xargs -d '\\n' head -n 1"
  ]

  test "nasty lines are refused, and those that are not reach nothing", %{context: context, root: root} do
    outside = Path.join(Path.dirname(root), "outside-#{System.unique_integer([:positive])}")
    Tree.write!(outside, %{"secret" => "outside-secret\n"})
    on_exit(fn -> File.rm_rf!(outside) end)
    File.ln_s!(outside, Path.join(root, "link"))

    Tree.write!(root, %{
      "evil" => "touch ran\n",
      "evil.sed" => "1e touch ran\n",
      "evil.awk" => "BEGIN { system(\"touch ran\") }\n"
    })

    File.chmod!(Path.join(root, "evil"), 0o755)
    config = File.read!(Path.join(root, ".git/config"))
    hooks = File.ls!(Path.join(root, ".git/hooks"))
    spelled = &String.replace(&1, "../outside", "../" <> Path.basename(outside))

    for line <- String.split(@refused, "\n", trim: true), line = spelled.(line) do
      assert {:error, text} = run(context, line), line

      assert text =~
               ~r/not allowed|blocked|not run|must not be changed|Expected:|too many|leads outside|are expanded/,
             line
    end

    for line <- @held, line = spelled.(line) do
      # Only a wide list has them.
      case run(context, line) do
        {:ok, result} -> refute result["exit_code"] == 0 or result["stdout"] =~ "outside-secret", line
        {:error, text} -> assert is_binary(text), line
      end
    end

    refute File.exists?(Path.join(root, "ran"))
    assert File.ls!(outside) == ["secret"]
    assert File.read!(Path.join(root, ".git/config")) == config
    assert File.ls!(Path.join(root, ".git/hooks")) == hooks
  end
end
