defmodule JidoCode.Tools.AnswersTest do
  use ExUnit.Case, async: true

  doctest JidoCode.Tools.Doors.Answers
  doctest JidoCode.Tools.Doors.Answers.Command
  doctest JidoCode.Tools.Doors.Answers.Docs
  doctest JidoCode.Tools.Doors.Answers.Logs
  doctest JidoCode.Tools.Doors.Answers.Search
  doctest JidoCode.Tools.Doors.Answers.Shell
  doctest JidoCode.Tools.Doors.Answers.Tests

  alias JidoCode.Tools.Doors.Answers

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
end
