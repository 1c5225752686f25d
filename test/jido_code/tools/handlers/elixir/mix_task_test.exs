defmodule JidoCode.Tools.Handlers.Elixir.MixTaskTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Behaviours.SecureHandler
  alias JidoCode.Tools.Handlers.Elixir.MixTask
  alias JidoCode.Tools.Project
  alias JidoCode.Tools.Test.{Events, MixProject, Tree}

  doctest JidoCode.Tools.Project.Mix

  @moduletag timeout: 180_000

  # The tests of this module take turns, so that one project serves them all.
  setup_all do
    root = MixProject.new!()
    %{root: root, context: %{project_root: root, session_id: "tasks"}}
  end

  defp run!(context, args) do
    assert {:ok, result} = MixTask.execute(args, context)
    result
  end

  defp refused(context, args) do
    assert {:error, text} = MixTask.execute(args, context)
    text
  end

  test "declares itself as executing, within its default timeout" do
    assert SecureHandler.validate_properties(MixTask.security_properties()) == :ok
    assert %{tier: :execute, timeout_ms: 60_000} = MixTask.security_properties()
  end

  describe "a task" do
    setup do
      Events.record([[:jido_code, :elixir, :mix_task]])
    end

    test "compiles the project in the environment asked for", %{context: context, root: root} do
      assert %{"exit_code" => 0, "output" => output, "stderr" => "", "confinement" => confinement} =
               run!(context, %{"task" => "compile", "args" => ["--force"]})

      assert output =~ "Compiling 1 file (.ex)"
      assert %{"filesystem" => _, "network_mode" => "all", "missing" => _} = confinement
      assert File.dir?(Path.join(root, "_build/dev/lib/sample/ebin"))

      assert_receive {:event, [:jido_code, :elixir, :mix_task], %{duration: duration, exit_code: 0},
                      %{task: "compile", status: :ok, session_id: "tasks"}}

      assert is_integer(duration) and duration > 0
    end

    test "that fails is an answer, its streams apart", %{context: context, root: root} do
      File.write!(Path.join(root, "lib/broken.ex"), "defmodule Broken do\n")
      result = run!(context, %{"task" => "compile", "env" => "test"})
      File.rm!(Path.join(root, "lib/broken.ex"))

      assert %{"exit_code" => 1} = result
      assert result["output"] <> result["stderr"] =~ "lib/broken.ex"
      refute Map.has_key?(result, "note")
      assert_receive {:event, [:jido_code, :elixir, :mix_task], %{exit_code: 1}, %{status: :ok}}
    end

    test "runs tests", %{context: context} do
      result = run!(context, %{"task" => "test", "args" => ["test/green_test.exs"], "env" => "test"})

      assert result["exit_code"] == 0
      # In the words of either Elixir.
      assert result["output"] =~ ~r/5 tests, 0 failures|2 passed, 1 skipped, 2 excluded/
    end

    test "formats", %{context: context, root: root} do
      File.write!(Path.join(root, "lib/untidy.ex"), "defmodule   Untidy do end")

      assert %{"exit_code" => 1} = run!(context, %{"task" => "format", "args" => ["--check-formatted"]})
      assert %{"exit_code" => 0} = run!(context, %{"task" => "format", "args" => ["lib/untidy.ex"]})
      assert File.read!(Path.join(root, "lib/untidy.ex")) == "defmodule Untidy do\nend\n"

      File.rm!(Path.join(root, "lib/untidy.ex"))
    end

    test "takes absolute paths inside the project", %{context: context, root: root} do
      inside = Path.join(root, "lib/sample.ex")

      assert %{"exit_code" => 0} =
               run!(context, %{"task" => "format", "args" => ["--check-formatted", inside]})

      # Also as an option's value.
      # The policy lets it through; this project has no such task.
      args = ["--files-included=" <> Path.join(root, "lib/sample.ex")]
      result = run!(context, %{"task" => "credo", "args" => args})
      assert result["output"] <> result["stderr"] =~ ~s(The task "credo" could not be found)

      args = ["--files-included=" <> root <> "-other/a.ex"]

      assert refused(context, %{"task" => "credo", "args" => args}) =~
               "outside the project"

      for outside <- [root <> "-other/a.ex", root <> "//etc/a.ex", root <> "/../a.ex"] do
        assert refused(context, %{"task" => "format", "args" => [outside]}) =~
                 ~r/outside the project|traversal/
      end
    end

    test "takes a path that comes to the project by a link outside", %{context: context, root: root} do
      link = Path.join(Tree.new!(%{}), "link")
      File.ln_s!(root, link)

      args = ["--check-formatted", Path.join(link, "lib/sample.ex")]
      assert %{"exit_code" => 0} = run!(context, %{"task" => "format", "args" => args})

      # Which Mix is given by its place in the project: where the link leads then is nobody's business.
      assert Project.Mix.from_root(["--output=" <> link <> "/doc", link <> "/lib/*.ex"], root) ==
               ["--output=doc", "lib/*.ex"]

      refused = refused(context, %{"task" => "format", "args" => [link <> "/../a.ex"]})
      assert refused =~ ~r/outside the project|traversal/
    end

    test "gets the dependencies", %{context: context} do
      assert %{"exit_code" => 0} = run!(context, %{"task" => "deps.get"})
    end
  end

  describe "an alias" do
    test "runs when each of its steps may", %{context: context} do
      result = run!(context, %{"task" => "check"})
      assert %{"exit_code" => 0} = result
    end

    test "is refused for the step that may not, by its number", %{context: context, root: root} do
      text = refused(context, %{"task" => "leave"})
      assert text =~ "Step 2 of the alias leave: Mix task not allowed: run"
      assert text =~ "config :jido_code_tools, alias_tasks:"

      text = refused(context, %{"task" => "call"})
      assert text =~ "Step 1 of the alias call: it is a function"
      assert text =~ "config :jido_code_tools, trusted_aliases:"
      refute File.exists?(Path.join(root, "called"))
    end

    test "with a task that is never run is told so, and nothing else" do
      mix = """
      defmodule Ship.MixProject do
        use Mix.Project
        def project, do: [app: :ship, version: "0.1.0", aliases: [ship: ["compile", "release"]]]
      end
      """

      text = refused(%{project_root: MixProject.new!(%{"mix.exs" => mix})}, %{"task" => "ship"})
      assert text =~ "Step 2 of the alias ship: Mix task is blocked: release. It is never run by a tool."
      refute text =~ "A person"
    end

    test "is the one that Mix finds: one named by a string stands before none" do
      mix = """
      defmodule Shadow.MixProject do
        use Mix.Project
        def project, do: [app: :shadow, version: "0.1.0", aliases: [{"lint", ["compile"]}, {:lint, ["run -e 1"]}]]
      end
      """

      context = %{project_root: MixProject.new!(%{"mix.exs" => mix})}
      assert refused(context, %{"task" => "lint"}) =~ "Step 1 of the alias lint: Mix task not allowed: run"
    end

    test "of an umbrella's application is judged like one of the root" do
      umbrella = """
      defmodule Umbrella.MixProject do
        use Mix.Project
        def project, do: [apps_path: "apps", version: "0.1.0", aliases: [check: ["format --check-formatted"]]]
      end
      """

      app = fn aliases ->
        """
        defmodule Shop.MixProject do
          use Mix.Project
          def project, do: [app: :shop, version: "0.1.0", aliases: #{aliases}]
        end
        """
      end

      root = MixProject.new!(%{"mix.exs" => umbrella, "apps/shop/mix.exs" => app.(~s([test: "run -e 1"]))})
      text = refused(%{project_root: root}, %{"task" => "test"})
      assert text =~ "Step 1 of the alias test: Mix task not allowed: run"
      assert %{"exit_code" => 0} = run!(%{project_root: root}, %{"task" => "compile"})
      assert %{} = run!(%{project_root: root}, %{"task" => "check"})

      Tree.write!(root, %{"apps/shop/mix.exs" => app.("[compile: [fn _ -> :ok end]]")})

      assert refused(%{project_root: root}, %{"task" => "test"}) =~
               "Step 1 of the alias compile: it is a function"
    end
  end

  describe "refused, before anything of the project runs" do
    setup do
      %{context: %{project_root: MixProject.new!(%{"mix.exs" => "Process.sleep(:infinity)"})}}
    end

    test "blocked tasks", %{context: context} do
      for task <- [
            "release",
            "archive.install",
            "escript.build",
            "local.hex",
            "hex.publish",
            "deps.update",
            "do"
          ] do
        assert refused(context, %{"task" => task}) =~ "Mix task is blocked: #{task}"
      end
    end

    test "the prod environment, and any other", %{context: context} do
      for env <- ["prod", "staging", "", "dev/../prod"] do
        assert refused(context, %{"task" => "compile", "env" => env}) ==
                 "Environment '#{env}' is blocked for safety. Allowed: dev, test"
      end
    end

    test "names that are none", %{context: context} do
      for task <- ["", "-h", "te st", "test;ls", "../test", "test\n"] do
        assert refused(context, %{"task" => task}) =~ "Invalid task name format", inspect(task)
      end
    end

    test "arguments that lead away or run other code", %{context: context} do
      for {task, args, why} <- [
            {"compile", ["../x"], "Path traversal not allowed in argument: ../x"},
            {"compile", ["%2e%2e%2fx"], "Path traversal not allowed in argument"},
            {"format", ["/etc/x.ex"], "paths outside the project are not allowed: /etc/x.ex"},
            {"format", ["--dot-formatter", "x.exs"], "option not allowed: --dot-formatter"},
            {"test", ["-r", "x.exs"], "option not allowed: -r"},
            {"test", ["--formatter", "Mine"], "option not allowed: --formatter"},
            {"test", ["lib/sample.ex"], "is not in the project's test/ directory (test, apps/*/test)"},
            {"help", ["--unheard-of"], "--unheard-of"}
          ] do
        assert refused(context, %{"task" => task, "args" => args}) =~ why, inspect({task, args})
      end
    end

    test "arguments of another type", %{context: context} do
      assert refused(context, %{}) =~ "Missing required parameter: task"
      assert refused(context, %{"task" => 1}) =~ "Invalid task"
      assert refused(context, %{"task" => "test", "args" => "--trace"}) =~ "must be a list"
      assert refused(context, %{"task" => "test", "args" => ["--seed", 0]}) =~ "must be strings"
    end

    test "a mix.exs that does not load is given no more time than the call has", %{context: context} do
      started = System.monotonic_time(:millisecond)
      text = refused(context, %{"task" => "compile", "timeout" => 1_500})

      assert text =~ "did not load within 1500 ms"
      assert System.monotonic_time(:millisecond) - started < 15_000
    end
  end

  test "a mix.exs that is broken is explained" do
    root = MixProject.new!(%{"mix.exs" => "defmodule Sample do"})
    text = refused(%{project_root: root}, %{"task" => "compile"})

    assert text =~ "The project's mix.exs can't be loaded"
    assert text =~ "mix.exs:1"
  end

  test "a folder that is not a project" do
    assert refused(%{project_root: "/nowhere"}, %{"task" => "compile"}) =~ "folder does not exist"

    assert refused(%{project_root: Path.join(File.cwd!(), "lib")}, %{"task" => "compile"}) =~
             "There is no mix.exs"

    # No alias can be there that would make it right.
    for task <- ["nosuch", "ecto.migrate"] do
      assert "Mix task not allowed: " <> _ =
               refused(%{project_root: Path.join(File.cwd!(), "lib")}, %{"task" => task})
    end
  end
end

defmodule JidoCode.Tools.Handlers.Elixir.MixTaskEndsTest do
  # Beside the others, since it is the waiting that takes the time.
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Handlers.Elixir.MixTask
  alias JidoCode.Tools.Test.{CommandProcesses, Events, MixProject}

  @moduletag timeout: 180_000

  test "a task over time is ended with all that it started, and its output so far is told" do
    root = MixProject.new!()
    context = %{project_root: root, session_id: "s"}

    # On a loaded machine Mix alone takes long.
    {us, {:ok, _result}} = :timer.tc(fn -> MixTask.execute(%{"task" => "compile"}, context) end)
    timeout = max(5_000, div(3 * us, 1_000))

    # This compilation starts a program in a session of its own, and waits for it.
    File.write!(Path.join(root, "lib/waits.ex"), """
    IO.puts("the program starts")
    System.cmd("setsid", ["sh", "-c", "echo $$ > program.pid; exec sleep 600"], env: [{"JIDO_TEST_MARK", File.cwd!()}])
    """)

    Events.record([[:jido_code, :elixir, :mix_task]])

    assert {:error, text} = MixTask.execute(%{"task" => "compile", "timeout" => timeout}, context)
    assert text =~ "Mix task timed out: compile. It was ended after #{timeout} ms."
    assert text =~ "the program starts"

    assert File.exists?(Path.join(root, "program.pid"))
    # Its number there was one of its own namespace; here it is known by its environment.
    assert CommandProcesses.marked(%{"JIDO_TEST_MARK" => root}) == []

    assert_receive {:event, [:jido_code, :elixir, :mix_task], %{exit_code: 1}, %{status: :timeout}}
  end

  test "output beyond the limit keeps its head and tail, and says so" do
    root =
      MixProject.new!(%{
        "lib/loud.ex" => """
        IO.puts("begins")
        for _ <- 1..2_000, do: IO.puts(String.duplicate("ä", 50))
        IO.puts("ends")
        """
      })

    assert {:ok, %{"exit_code" => 0, "output" => output}} =
             MixTask.execute(%{"task" => "compile"}, %{project_root: root})

    assert output =~ "begins"
    assert output =~ "ends"
    assert String.length(output) < 30_000
    assert output =~ ~r/\d+ .*(cut|left out|omitted)/
  end
end
