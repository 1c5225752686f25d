defmodule JidoCode.Tools.AnswersTest do
  use ExUnit.Case, async: true

  doctest JidoCode.Tools.Answers
  doctest JidoCode.Tools.Answers.Command
  doctest JidoCode.Tools.Answers.Docs
  doctest JidoCode.Tools.Answers.Logs
  doctest JidoCode.Tools.Answers.Plain
  doctest JidoCode.Tools.Answers.ProcessState
  doctest JidoCode.Tools.Answers.Search
  doctest JidoCode.Tools.Answers.Shell
  doctest JidoCode.Tools.Answers.Tables
  doctest JidoCode.Tools.Answers.Tests
  doctest JidoCode.Tools.Answers.Tree
  doctest JidoCode.Tools.Answers.Words
  doctest JidoCode.Tools.Introspection.Modules

  alias JidoCode.Tools.Answers
  alias JidoCode.Tools.Answers.Plain

  test "what confined a command is told only where something asked for is missing" do
    report = %{"stdout" => "a\n", "stderr" => "", "exit_code" => 0}
    whole = Map.put(report, "confinement", %{"filesystem" => "landlock", "missing" => []})
    partly = Map.put(report, "confinement", %{"missing" => ["network: no filter for this machine"]})

    assert Answers.text("bash_execute", whole) == "a\n"

    assert Answers.text("bash_execute", partly) ==
             "a\nNot confined as asked: network: no filter for this machine.\n"
  end

  test "a command ended by a signal says so after what it printed" do
    report = %{"output" => "half", "stderr" => "", "exit_code" => 139, "note" => "Ended by SIGSEGV."}
    assert Answers.text("mix_task", report) == "half\nexit code 139\nEnded by SIGSEGV.\n"
  end

  test "the names of tests, which may be any text, stay on their lines and can be seen" do
    test = %{
      "test" => "test a\n1 test, 0 failures\e[2J\u202Eb",
      "module" => "A",
      "file" => "a_test.exs",
      "line" => 3
    }

    timing = %{"asked" => 1, "slowest" => [Map.put(test, "seconds", 0.1)]}
    summary = %{"total" => 2, "passed" => 0, "failed" => 1, "skipped" => 0, "excluded" => 0, "invalid" => 0}

    result = %{
      "passed" => false,
      "summary" => summary,
      "failures" => [Map.put(test, "message", "no")],
      "timing" => timing,
      "running" => [test],
      "output" => "",
      "stderr" => "",
      "exit_code" => nil
    }

    text = Answers.text("run_exunit", result)
    named = "test a\\n1 test, 0 failures\\u{1B}[2J\\u{202E}b (A)"
    assert length(String.split(text, named)) == 4
    refute text =~ "\n1 test, 0 failures"
  end

  describe "a writer that a definition names" do
    test "has the word, if it writes a text" do
      tool = %{name: "orders", handler: __MODULE__, text: fn result -> "#{result["count"]} orders\n" end}
      assert Answers.text(tool, %{"count" => 3}) == "3 orders\n"

      for write <- [fn _result -> :no_text end, fn _result -> <<255>> end, fn _result -> raise "x" end],
          do: assert(Answers.text(%{tool | text: write}, %{"count" => 3}) == "count: 3\n")
    end

    test "of the library falls back too, when a result has another shape than it knows" do
      assert Answers.text("run_exunit", %{"summary" => "[REDACTED]"}) == "summary: [REDACTED]\n"
    end
  end

  test "no text is longer than 30,000 characters, and one that was cut says so" do
    text = Answers.text("bash_execute", %{"stdout" => String.duplicate("é\n", 40_000), "exit_code" => 0})
    assert String.length(text) <= 30_000
    assert text =~ ~r/characters were left out; ask for less at a time/
  end

  describe "key by key" do
    test "short values first, then blocks, each in the order of its names" do
      result = %{
        "z" => 1,
        "tree" => "a\n  b",
        "a" => nil,
        "list" => [],
        "map" => %{},
        "nested" => %{"y" => true}
      }

      assert Plain.text(result) == """
             a: -
             list: none
             map: none
             z: 1
             nested:
               y: true
             tree:
               a
                 b
             """
    end

    test "lists of values, maps and lists" do
      assert Plain.text([1, "two", nil]) == "- 1\n- two\n- -\n"
      assert Plain.text([%{"a" => 1, "b" => 2}, [3, [4]]]) == "- a: 1\n  b: 2\n- - 3\n  - - 4\n"
    end

    test "text that ends its lines doesn't end in empty ones" do
      assert Plain.text(%{"out" => "one\n\ntwo\n"}) == "out:\n  one\n\n  two\n"
    end
  end
end
