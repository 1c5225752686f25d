defmodule JidoCode.Tools.Handlers.Elixir.RunExunitTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Answers
  alias JidoCode.Tools.Handlers.Elixir.RunExunit
  alias JidoCode.Tools.Test.{Events, MixProject, Tree}

  @moduletag timeout: 180_000

  # The tests of this module take turns, so that one project serves them all.
  setup_all do
    root = MixProject.new!()
    context = %{project_root: root, session_id: "tests"}
    # What Mix says of compiling is said here, whichever test runs first.
    {:ok, _result} = RunExunit.execute(%{"path" => "test/green_test.exs"}, context)
    %{root: root, context: context}
  end

  defp run!(context, args) do
    assert {:ok, result} = RunExunit.execute(args, context)
    result
  end

  defp refused(context, args) do
    assert {:error, text} = RunExunit.execute(args, context)
    text
  end

  describe "the whole suite" do
    setup :record

    test "is counted, its failures explained, its order repeatable", %{context: context, root: root} do
      before = files(root)
      result = run!(context, %{"seed" => 7})

      assert %{"passed" => false, "exit_code" => 2, "running" => []} = result

      assert result["summary"] == %{
               "total" => 13,
               "passed" => 2,
               "failed" => 4,
               "skipped" => 1,
               "excluded" => 5,
               "invalid" => 1
             }

      assert Enum.sort(Enum.map(result["failures"], & &1["test"])) ==
               ["compares", "exits", "looks good", "raises", "setup_all"]

      failures = Map.new(result["failures"], &{&1["test"], &1})

      assert %{
               "module" => "Sample.RedTest",
               "file" => "test/red_test.exs",
               "kind" => "assertion",
               "message" => "Assertion with == failed\nassert %{sum: Sample.sum([1, 2])} == %{sum: 4}",
               "diff" => "left:  %{sum: 3}\nright: %{sum: 4}"
             } = failures["compares"]

      assert failures["compares"]["line"] == MixProject.line(root, "test/red_test.exs", "%{sum: 4}")
      assert %{"kind" => "ArgumentError", "message" => "** (ArgumentError) no price"} = failures["raises"]
      assert %{"kind" => "exit", "message" => "** (exit) :closed"} = failures["exits"]

      assert %{
               "module" => "Sample.SetupTest",
               "file" => "test/setup_test.exs",
               "kind" => "RuntimeError",
               "message" => "** (RuntimeError) no database"
             } = failures["setup_all"]

      assert failures["setup_all"]["line"] == MixProject.line(root, "test/setup_test.exs", "no database")

      assert %{"seed" => 7, "total_seconds" => seconds, "slowest" => [%{"seconds" => _, "test" => _} | _]} =
               result["timing"]

      assert is_float(seconds)
      assert result["output"] =~ "5 tests, 0 failures"
      assert %{"filesystem" => _, "network_mode" => "all", "missing" => _} = result["confinement"]

      assert_receive {:event, [:jido_code, :elixir, :run_exunit], %{exit_code: 2, duration: duration},
                      %{task: "test", status: :ok, session_id: "tests"}}

      assert duration > 0
      # The reporting leaves nothing in the project but what Mix itself builds.
      assert files(root) -- before == []
    end

    defp files(root) do
      for path <- Path.wildcard(Path.join(root, "**"), match_dot: true),
          relative = Path.relative_to(path, root),
          not String.starts_with?(relative, "_build"),
          do: relative
    end
  end

  describe "a part of the suite" do
    test "a file, which passes", %{context: context} do
      result = run!(context, %{"path" => "test/green_test.exs", "trace" => true})

      assert %{"passed" => true, "exit_code" => 0, "failures" => []} = result
      assert %{"total" => 5, "passed" => 2, "skipped" => 1, "excluded" => 2} = result["summary"]
      # ExUnit's own report is not among what was printed.
      assert result["output"] == ""
      # Which were slow stands in the text only when it was asked for.
      assert length(result["timing"]["slowest"]) == 2

      assert Answers.text("run_exunit", result) =~
               ~r/\A5 tests, 0 failures, 1 skipped, 2 excluded \([\d.]+ s, seed \d+\)\n\z/

      refute Map.has_key?(result, "note")
    end

    test "with as many of its slowest tests as are asked for", %{context: context} do
      result = run!(context, %{"path" => "test/red_test.exs", "slowest" => 3})

      assert [%{"seconds" => first}, %{"seconds" => second}, %{"seconds" => third}] =
               result["timing"]["slowest"]

      assert first >= second and second >= third

      text = Answers.text("run_exunit", result)
      assert [_all, lines] = Regex.run(~r/^slowest 3 tests(?: \([^)]+\))?:\n((?:  .*\n){3})printed:/m, text)

      for line <- String.split(lines, "\n", trim: true),
          do: assert(line =~ ~r/\A  [\d.]+ s  test [a-z ]+ \(Sample.RedTest\) test\/red_test.exs:\d+\z/, line)

      result = run!(context, %{"path" => "test/green_test.exs", "slowest" => 1_000})
      assert length(result["timing"]["slowest"]) == 2
      assert result["note"] == "More than allowed was asked for; applied: slowest 100."
    end

    test "a failure with all that ExUnit tells of it", %{context: context, root: root} do
      file = Path.join(root, "test/mailbox_test.exs")
      on_exit(fn -> File.rm!(file) end)

      File.write!(file, ~S"""
      defmodule Sample.MailboxTest do
        use ExUnit.Case
        require Logger

        @tag capture_log: true
        test "waits in vain" do
          Logger.error("the courier is late")
          send(self(), {:parcel, 1})
          IO.puts("traced: #{ExUnit.configuration()[:trace]}")
          assert_receive {:letter, _number}, 10
        end
      end
      """)

      result = run!(context, %{"path" => "test/mailbox_test.exs", "trace" => true})
      assert [%{"logs" => logs, "details" => details}] = result["failures"]
      assert logs =~ "the courier is late"
      assert String.ends_with?(result["output"], "traced: true\n")

      text = Answers.text("run_exunit", result)

      assert text =~
               ~r/\A1 test, 1 failure .*\n\n  1\) test waits in vain \(Sample.MailboxTest\)\n     test\/mailbox_test.exs:6\n/

      assert text =~ ~r/pattern: \{:letter, _number\}\s+value: +\{:parcel, 1\}/
      assert text =~ String.trim(details)
      assert text =~ "logs:\n" and text =~ "the courier is late"
      assert text =~ "printed:\ntraced: true\n"
    end

    test "a file by its absolute path", %{context: context, root: root} do
      path = Path.join(root, "test/green_test.exs")
      line = MixProject.line(root, "test/green_test.exs", "is zero")

      assert %{"passed" => true, "summary" => %{"passed" => 1}} =
               run!(context, %{"path" => path, "line" => line})

      link = Path.join(Tree.new!(%{}), "link")
      File.ln_s!(root, link)
      args = %{"path" => Path.join(link, "test/green_test.exs"), "line" => line}
      assert %{"passed" => true, "summary" => %{"passed" => 1}} = run!(context, args)
      assert RunExunit.line(args, root) == {:ok, ["test/green_test.exs:#{line}"]}

      assert refused(context, %{"path" => Path.join(root, "lib/sample.ex")}) =~
               "not in the project's test/ directory"

      assert refused(context, %{"path" => "/etc/passwd"}) =~ "leads outside of the project"
    end

    test "a line", %{context: context, root: root} do
      line = MixProject.line(root, "test/green_test.exs", "is zero")
      result = run!(context, %{"path" => "test/green_test.exs", "line" => line})

      assert %{"passed" => true, "summary" => %{"passed" => 1, "failed" => 0}} = result
      assert [%{"test" => "nothing is zero", "line" => ^line}] = result["timing"]["slowest"]
    end

    test "a tag, and all but a tag", %{context: context} do
      result = run!(context, %{"tag" => "large:true"})
      assert %{"passed" => true, "summary" => %{"passed" => 1, "failed" => 0}} = result
      assert [%{"test" => "takes more time"}] = result["timing"]["slowest"]

      result = run!(context, %{"path" => "test/green_test.exs", "exclude_tag" => "describe:nothing"})
      assert %{"passed" => true, "summary" => %{"passed" => 1, "failed" => 0, "excluded" => 3}} = result
      assert [%{"test" => "adds"}] = result["timing"]["slowest"]
    end

    test "up to a number of failures", %{context: context} do
      result = run!(context, %{"path" => "test/red_test.exs", "max_failures" => 2})

      assert %{"passed" => false, "note" => "Stopped at max_failures."} = result
      assert %{"failed" => 2} = result["summary"]
      assert length(result["failures"]) == 2
    end

    test "nothing at all is no pass", %{context: context} do
      result = run!(context, %{"tag" => "unheard_of"})

      assert %{"passed" => false, "summary" => %{"passed" => 0, "failed" => 0}} = result
      assert result["note"] =~ "No test ran"
    end

    test "a file that is not there", %{context: context} do
      result = run!(context, %{"path" => "test/gone_test.exs"})

      assert %{"passed" => false, "summary" => nil, "failures" => []} = result
      assert result["exit_code"] != 0
      assert result["note"] =~ "No test started"
    end
  end

  test "a run that ends with status 0 before its end, printing a summary, is no pass", %{context: context} do
    result = run!(context, %{"tag" => "halt"})

    assert %{"passed" => false, "exit_code" => 0} = result
    assert result["output"] =~ "5 tests, 0 failures"
    assert %{"passed" => 0, "failed" => 0} = result["summary"]
    assert result["note"] =~ "did not finish"

    # Who reads only the beginning must not take it for a run without tests.
    text = JidoCode.Tools.Answers.Tests.text(result)
    assert text =~ ~r/\AThe suite did not finish\.\nuntil then: \d+ tests?, 0 failures/
    # The end may be quicker than the news of its beginning; a test that was left out is never blamed.
    refute text =~ ~r/^was running: test (?!ends everything)/m
  end

  describe "refused" do
    test "paths that leave the project, before anything of it is run", %{context: context, root: root} do
      File.ln_s!("/etc", Path.join(root, "test/away"))

      for path <- ["../other_test.exs", "test/../../x_test.exs", "/etc/x_test.exs", "test/away/x_test.exs"] do
        assert refused(context, %{"path" => path}) =~ "Path traversal not allowed: #{path}", path
      end

      File.rm!(Path.join(root, "test/away"))
    end

    test "paths outside of the tests", %{context: context} do
      for path <- ["lib/sample.ex", "test/../mix.exs", "tests"] do
        assert refused(context, %{"path" => path}) =~ "is not in the project's test/ directory", path
      end
    end

    test "arguments that say nothing", %{context: context} do
      assert refused(context, %{"path" => ""}) =~ "path is empty"
      assert refused(context, %{"line" => 3}) =~ "line needs path"
      assert refused(context, %{"path" => "test/green_test.exs", "line" => 0}) =~ "line must be 1 or more"
      assert refused(context, %{"max_failures" => 0}) =~ "max_failures must be 1 or more"
      assert refused(context, %{"slowest" => 0}) =~ "slowest must be 1 or more"
      assert refused(context, %{"seed" => -1}) =~ "seed must be 0 or more"
      assert refused(context, %{"path" => 1}) =~ "Invalid path"
      assert refused(context, %{"formatter" => "Mine"}) =~ "Unknown parameter: formatter"
    end

    test "a tag that is an option", %{context: context} do
      assert refused(context, %{"tag" => "--formatter"}) =~ "--only needs a value"
    end

    test "a folder that is no Mix project" do
      empty = %{project_root: Tree.new!(%{})}
      assert refused(empty, %{}) =~ "There is no mix.exs"

      for path <- ["%2e%2e%2fother_test.exs", "test/..%2f..%2fx_test.exs"] do
        assert refused(empty, %{"path" => path}) == "Path traversal not allowed in argument: #{path}"
      end
    end
  end

  defp record(_context), do: Events.record([[:jido_code, :elixir, :run_exunit]])
end

defmodule JidoCode.Tools.Handlers.Elixir.RunExunitEndsTest do
  # Beside the others, since it is the waiting that takes the time.
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Handlers.Elixir.RunExunit
  alias JidoCode.Tools.Test.{CommandProcesses, Events, MixProject}

  @moduletag timeout: 180_000

  test "a suite over time tells which test was running, and leaves no process" do
    root = MixProject.new!()
    Events.record([[:jido_code, :elixir, :run_exunit]])

    context = %{project_root: root, session_id: "s"}

    # On a loaded machine Mix alone takes long.
    {us, {:ok, _result}} = :timer.tc(fn -> RunExunit.execute(%{"path" => "test/green_test.exs"}, context) end)
    timeout = max(6_000, div(2 * us, 1_000) + 4_000)

    assert {:ok, result} = RunExunit.execute(%{"tag" => "hang", "timeout" => timeout}, context)

    assert %{"passed" => false, "note" => note} = result
    assert note == "Time ran out after #{timeout} ms; the tests were ended."
    assert [%{"test" => "waits for a program", "module" => "Sample.NeverTest"} = running] = result["running"]
    assert running["file"] == "test/never_test.exs"
    assert %{"passed" => 0, "failed" => 0} = result["summary"]
    assert result["output"] =~ "the program starts"

    assert File.exists?(Path.join(root, "program.pid"))
    # Its number there was one of its own namespace; here it is known by its environment.
    assert CommandProcesses.marked(%{"JIDO_TEST_MARK" => root}) == []
    assert_receive {:event, [:jido_code, :elixir, :run_exunit], _figures, %{status: :timeout}}
  end

  test "a Mix that waits for another one is reported, not endured" do
    helper =
      ~s(IO.puts("Waiting for lock on the build directory (held by process 1\)"\)\nProcess.sleep(:infinity\)\n)

    root = MixProject.new!(%{"test/test_helper.exs" => helper})

    assert {:error, text} = RunExunit.execute(%{"timeout" => 60_000}, %{project_root: root})
    assert text =~ "Another Mix process is building this project"
  end
end

defmodule JidoCode.Tools.Handlers.Elixir.RunExunitProjectTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Handlers.Elixir.RunExunit
  alias JidoCode.Tools.Test.MixProject

  @moduletag timeout: 180_000

  @mix """
  defmodule Sample.MixProject do
    use Mix.Project
    File.write("touched", "by the reading of mix.exs")
    def project, do: [app: :sample, version: "0.1.0", test_paths: ["checks"]]
  end
  """

  setup_all do
    root =
      MixProject.new!(%{
        "mix.exs" => @mix,
        "checks/test_helper.exs" => "ExUnit.start()\n",
        "checks/good_test.exs" =>
          ~s(defmodule GoodTest do\n  use ExUnit.Case\n  test "good", do: assert(Sample.sum([]\) == 0\)\nend\n),
        "checks/broken_test.exs" => ~s(defmodule BrokenTest do\n  use ExUnit.Case\n  nonsense(\)\nend\n)
      })

    %{root: root, context: %{project_root: root}}
  end

  test "the project's own test folders are where tests are", %{context: context, root: root} do
    touched = Path.join(root, "touched")
    File.rm(touched)

    assert {:error, text} = RunExunit.execute(%{"path" => "test/green_test.exs"}, context)
    assert text =~ "is not in the project's test/ directory (checks)"
    touched? = File.exists?(touched)

    assert {:ok, result} = RunExunit.execute(%{"path" => "checks/good_test.exs"}, context)
    assert %{"passed" => true, "summary" => %{"passed" => 1, "total" => 1}} = result

    # A refused call has read mix.exs in a child that may not write the project.
    if result["confinement"]["filesystem"] == "landlock", do: refute(touched?)
    assert File.exists?(touched)
  end

  test "tests that do not compile are no pass, and the compiler's words are shown", %{context: context} do
    assert {:ok, result} = RunExunit.execute(%{"path" => "checks/broken_test.exs"}, context)

    assert %{"passed" => false, "exit_code" => 1} = result
    assert result["output"] <> result["stderr"] =~ "nonsense"
  end
end
