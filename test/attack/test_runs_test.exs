defmodule JidoCode.Tools.Attack.TestRunsTest do
  # Tests that did not pass, and end as if they had.
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Command.{Output, Result}
  alias JidoCode.Tools.Handlers.Elixir.RunExunit
  alias JidoCode.Tools.Project.TestEvents
  alias JidoCode.Tools.Test.MixProject

  setup do
    {:ok, root: MixProject.new!()}
  end

  # In one run of tests each, since a run takes seconds.
  defp run(root, body) do
    File.write!(Path.join(root, "test/attack_test.exs"), """
    defmodule Sample.AttackTest do
      use ExUnit.Case
      #{body}
    end
    """)

    {:ok, report} =
      RunExunit.execute(%{"path" => "test/attack_test.exs"}, %{session_id: "attack", project_root: root})

    report
  end

  test "a failing test that ends the VM with 0 at its exit has not passed", %{root: root} do
    report =
      run(root, """
      test "fails" do
        System.at_exit(fn _ -> System.halt(0) end)
        assert 1 == 2
      end
      """)

    assert report["exit_code"] == 0
    refute report["passed"]
    assert report["summary"]["failed"] == 1
    assert report["note"] =~ "ended with exit code 0 although tests failed"
  end

  test "a test that reports the suite's end and halts has not passed", %{root: root} do
    report =
      run(root, """
      test "passes" do
        assert true
      end

      test "pretends" do
        end_of_suite = ~s({"event":"suite_finished","run_us":1,"async_us":0,"load_us":0,"at_ms":1})

        # Whatever the library may be listening to.
        for {name, value} <- System.get_env(), String.starts_with?(name, "JIDO_") do
          case Integer.parse(value) do
            {number, ""} -> Port.command(Port.open({:fd, number, number}, [:out]), end_of_suite <> "\\n")
            _path -> File.write(value, Base.encode64(:erlang.term_to_binary(%{
              "event" => "suite_finished", "at_ms" => 1})) <> "\\n", [:append])
          end
        end

        System.halt(0)
      end
      """)

    assert report["exit_code"] == 0
    refute report["passed"]
  end

  test "there is no file of events that a test could find and write over", %{root: root} do
    report =
      run(root, """
      test "looks" do
        folders = for {name, value} <- System.get_env(), File.exists?(value), String.contains?(name, "EVENTS"), do: value
        assert folders == []
      end
      """)

    assert report["passed"]
  end

  # The order that a suite has, on events alone.

  defp events(lines) do
    text = Enum.map_join(lines, fn line -> ~s({"at_ms":1,) <> String.slice(line, 1..-1) <> "\n" end)
    output = %Output{head: text, tail: "", size: 1, bytes: 1, lines: 1, cut_bytes: 0, cut_lines: 0}
    TestEvents.read(output)
  end

  @start ~s({"event":"suite_started","seed":0})
  @finish ~s({"event":"suite_finished","run_us":1,"async_us":0,"load_us":0})
  @begin ~s({"event":"test_started","test":"a","module":"M"})
  @done ~s({"event":"test_finished","test":"a","module":"M","status":"passed","time_us":1,"failures":[]})

  test "a whole suite is in order, and several after each other" do
    assert %{in_order?: true, finished?: true} = events([@start, @begin, @done, @finish])

    assert %{in_order?: true, summary: %{"passed" => 2}} =
             events([@start, @begin, @done, @finish, @start, @begin, @done, @finish])

    # Tests of one name at once, as with parameters.
    assert %{in_order?: true} = events([@start, @begin, @begin, @done, @done, @finish])
  end

  test "anything else is not" do
    for lines <- [
          [@start, @begin, @finish],
          [@start, @done, @finish],
          [@start, @begin, @done, @done, @finish],
          [@begin, @done, @start, @finish],
          [@start, @begin, @done],
          [@start, @begin, @done, @finish, @finish],
          [@start, @start, @begin, @done, @finish, @finish],
          [@start, @begin, @done, @finish, @begin],
          [@start, @begin, @done, ~s({"event":"something"}), @finish],
          [@start, ~s({"event":"test_started","test":1,"module":[]}), @begin, @done, @finish]
        ] do
      refute events(lines).in_order?, inspect(lines)
    end

    cut = %Output{head: "", tail: "", size: 9, bytes: 9, lines: 0, cut_bytes: 9, cut_lines: 0}
    refute TestEvents.read(cut).in_order?
  end

  test "a line with values that the formatter never tells is no event" do
    failed = ~s({"event":"test_finished","test":"a","module":"M","status":"failed","time_us":1,"failures":)

    for line <- [
          ~s({"event":"suite_finished","run_us":"1"}),
          ~s({"event":"suite_finished","run_us":1.0e300}),
          ~s({"event":"suite_started","seed":{}}),
          ~s({"event":"test_started","test":"a","module":"M","file":1}),
          ~s({"event":"test_finished","test":"a","module":"M","status":"passed","time_us":[]}),
          ~s({"event":"module_failed","module":{},"failures":[]}),
          ~s({"event":"module_failed","module":"M","failures":{"message":"m"}}),
          failed <> ~s(7}),
          failed <> ~s([7]}),
          failed <> ~s([{"details":5}]}),
          failed <> ~s([{"message":["m"]}]}),
          failed <> ~s([{"stacktrace":[{}]}]}),
          failed <> ~s([{"logs":{}}]})
        ] do
      run = events([@start, line, line, @begin, @done, @finish])
      refute run.in_order?, line
      assert {run.failures, run.timing["run_us"]} == {[], 1}
    end

    assert TestEvents.follow().(~s({"event":"suite_finished","run_us":"1","at_ms":1}\n)) != nil
  end

  test "a command that could not be ended has no result, whatever its exit code" do
    assert {:error, {:runner, text}} =
             Result.from_report(
               %{"status" => "exited", "processes_left" => 1, "failure" => nil, "stages" => []},
               false
             )

    assert text =~ "could not be ended"
  end
end
