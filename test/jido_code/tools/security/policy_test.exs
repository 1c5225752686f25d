defmodule JidoCode.Tools.Security.PolicyTest do
  # The vectors that the native core's own tests read too: what is refused there is refused here, and says why.
  use ExUnit.Case, async: true

  alias JidoCode.Tools.{Command, JSON, Workspace}
  alias JidoCode.Tools.Security.{CommandPolicy, MixPolicy}

  doctest JidoCode.Tools.Security.MixPolicy
  doctest JidoCode.Tools.Security.CommandPolicy
  doctest JidoCode.Tools.Workspace

  @moduletag :tmp_dir

  defp vectors(name) do
    {:ok, vectors} = "test/fixtures/policy/#{name}.json" |> File.read!() |> JSON.decode()
    vectors
  end

  test "mix: every vector is decided as in the core, and every refusal is a sentence" do
    for %{"task" => task, "args" => args, "env" => env} = vector <- vectors("mix_policy") do
      case MixPolicy.check(task, args, env) do
        :ok ->
          assert vector["allow"], vector["name"]

        {:error, denial} ->
          refute vector["allow"], vector["name"]
          assert to_string(denial.kind) == vector["kind"], vector["name"]
          assert String.length(MixPolicy.format(denial)) > 10
      end
    end
  end

  test "mix: long arguments are judged too" do
    long = String.duplicate("a", 3_000)
    assert {:error, %{kind: _kind}} = MixPolicy.check("test", List.duplicate("--#{long}", 10), "test")
  end

  test "mix: so are many short ones" do
    for number <- [1_000, 1_001, 100_000] do
      assert {:error, %{kind: :too_many_arguments}} =
               MixPolicy.check("compile", List.duplicate("--force", number))
    end
  end

  test "mix: a refused step of an alias is named, with the key that helps" do
    aliases = [{"test", ["ecto.create", nil, "test"]}, {"setup", ["deps.get", "phx.gen.secret"]}]

    assert {:error, denial} = MixPolicy.expand("test", [], "test", aliases)
    assert MixPolicy.format(denial) =~ ~r/^Step 2 of the alias test: .*trusted_aliases/

    assert {:error, denial} = MixPolicy.expand("setup", [], "dev", aliases)
    assert MixPolicy.format(denial) =~ ~r/^Step 2 of the alias setup: Mix task is blocked: phx.gen.secret/
  end

  # The vectors' project is /proj.
  defp here(line, root), do: String.replace(line, "/proj", root)

  test "commands: what the core refuses is refused with a sentence", %{tmp_dir: root} do
    for %{"line" => line, "cwd" => cwd, "allow" => false, "kind" => kind} <- vectors("command_policy") do
      result = CommandPolicy.plan(here(line, root), root, cwd)
      assert match?({:error, _text}, result), line
      {:error, text} = result
      assert String.length(text) > 10
      # "this can't be understood" is for what the parser itself refuses.
      if text =~ "can't be understood", do: assert(kind in ["syntax_error"], "#{kind}: #{line}")
    end
  end

  test "commands: what the core allows becomes a plan with the same words", %{tmp_dir: root} do
    for %{"line" => line, "cwd" => "", "allow" => true, "argv" => argv} <- vectors("command_policy") do
      case CommandPolicy.plan(here(line, root), root) do
        {:ok, plan} ->
          words = plan.commands
          # Patterns have nothing to match in an empty folder; every other word stands as it was judged.
          assert Enum.map(words, &hd/1) == Enum.map(argv, &hd/1), line

        {:error, text} ->
          # The folder is empty: what is left is what the disk says.
          assert text =~ ~r/not a folder|not found/, "#{line}: #{text}"
      end
    end
  end

  test "commands: a task on no list is left to a caller who says that it judges aliases", %{tmp_dir: root} do
    assert {:error, "Mix task not allowed: check" <> _} = CommandPolicy.plan("mix check", root)
    assert {:ok, plan} = CommandPolicy.plan("MIX_ENV=test mix check --all", root, "", aliases: true)
    assert [%{task: "check", args: ["--all"], env: "test", cwd: ""}] = plan.mix
    assert {:error, "Mix task is blocked" <> _} = CommandPolicy.plan("mix release", root, "", aliases: true)
  end

  test "commands: ordinary lines are judged by both lists, and each refusal says how to go on", %{
    tmp_dir: root
  } do
    for %{"line" => line} = row <- vectors("ordinary_lines"), list <- [:wide, :narrow] do
      case CommandPolicy.plan(here(line, root), root, "", list: list) do
        {:ok, _plan} ->
          assert row[to_string(list)] == "runs", "#{list}: #{line}"

        {:error, text} ->
          assert row[to_string(list)] != "runs" or text =~ ~r/not a folder|not found/,
                 "#{list}: #{line}: #{text}"

          assert String.length(text) > 10
      end
    end
  end

  test "commands: a line of the wide list runs as a shell would run it", %{tmp_dir: root} do
    File.mkdir_p!(Path.join(root, "lib"))
    File.write!(Path.join(root, "lib/a.ex"), "one\ntwo\n")

    for {line, stdout, code} <- [
          {"cd lib && (cd .. && ls); cat a.ex | sed -n 2p", "lib\ntwo\n", 0},
          {"export A=b; false; echo \"$A $?\"", "b 1\n", 0},
          {"cat > lib/b.ex <<'E'\n$x\nE\nfind lib -name '*.ex' | sort | xargs wc -l | tail -1; exit 3",
           "3 total\n", 3},
          {"touch lib/c.ex; echo lib/*.ex {x,y}", "lib/a.ex lib/b.ex lib/c.ex x y\n", 0},
          {"cd nowhere; ls", "", 126}
        ] do
      assert {:ok, plan} = CommandPolicy.plan(line, root, "", list: :wide)
      assert {:ok, result} = Command.run(plan.line, cd: root, write: [root])
      assert {line, String.trim_leading(result.stdout.head), result.exit_code} == {line, stdout, code}
    end
  end

  test "commands: what a link leads to is looked at again when the command starts", %{tmp_dir: root} do
    assert {:ok, plan} = CommandPolicy.plan("cat a_link", root)
    File.ln_s!("/etc/hostname", Path.join(root, "a_link"))
    assert {:ok, result} = Command.run(plan.line, cd: root, write: [root])
    assert {result.exit_code, result.stdout.head} == {126, ""}
    assert result.stderr.head =~ "cat: a_link: the link a_link leads out of the project"
  end

  test "commands: the list in force is told, and is the narrow one without a whole fence" do
    assert CommandPolicy.list() == if(Command.fence() == :whole, do: :wide, else: :narrow)
    assert "sed" in CommandPolicy.commands(:wide)
    refute "sed" in CommandPolicy.commands(:narrow)
    assert {:error, text} = CommandPolicy.plan("sed -n 1p x", File.cwd!())
    assert text =~ "narrow list is in force"
  end

  test "commands: a link that leads out of the project is refused by where it leads", %{tmp_dir: root} do
    File.ln_s!("/etc", Path.join(root, "link"))
    assert {:error, text} = CommandPolicy.plan("cat link/hostname", root)
    assert text =~ "out of the project"
    assert {:error, text} = CommandPolicy.plan("echo x > link/evil", root)
    assert text =~ "out of the project"
  end

  test "commands: what the disk says against a path stands in words", %{tmp_dir: root} do
    File.write!(Path.join(root, "a_file"), "")
    File.ln_s!("a_loop", Path.join(root, "a_loop"))
    File.ln_s!(".git", Path.join(root, "a_link"))
    File.mkdir_p!(Path.join(root, ".git"))

    for {line, said} <- [
          {"cat a_file/x", "cat: a_file/x: not a folder"},
          {"cat a_loop", "cat: a_loop: more than 40 links, or links in a circle"},
          {"rm -rf a_link/", "rm: a_link/: must not be changed by a tool"}
        ] do
      assert {:error, ^said} = CommandPolicy.plan(line, root)
    end
  end

  test "commands: a path to the project by a link outside is refused with the name to use", %{tmp_dir: folder} do
    root = Path.join(folder, "project")
    File.mkdir_p!(Path.join(root, "test"))
    link = Path.join(folder, "link")
    File.ln_s!(root, link)

    for line <- ["mix test #{link}/test/a_test.exs", "cat #{link}/test/a_test.exs"] do
      assert {:error, text} = CommandPolicy.plan(line, root)
      assert String.ends_with?(text, "write it as #{root}/test/a_test.exs"), text
    end

    assert {:error, text} = CommandPolicy.plan("cat #{folder}/other", root)
    refute text =~ "write it as"
  end

  test "paths: links are followed wherever they stand", %{tmp_dir: root} do
    File.mkdir_p!(Path.join(root, "a/b"))
    File.write!(Path.join(root, "a/b/file"), "")
    File.ln_s!("a/b", Path.join(root, "inside"))
    File.ln_s!("/etc", Path.join(root, "outside"))
    File.ln_s!("loop", Path.join(root, "loop"))

    assert {:ok, %{relative: "a/b/file", exists?: true}} = Workspace.resolve(root, "inside/file")
    assert {:ok, %{relative: "", directory?: true}} = Workspace.resolve(root, "")
    assert {:ok, %{exists?: false}} = Workspace.resolve(root, "a/new/file")
    assert {:error, {:outside, _text}} = Workspace.resolve(root, "outside/hostname")
    assert {:error, {:outside, _text}} = Workspace.resolve(root, "..")
    assert {:error, {:too_many_links, _text}} = Workspace.resolve(root, "loop")
    assert {:error, {:invalid_root, _text}} = Workspace.resolve(Path.join(root, "nowhere"), "x")
  end
end
