defmodule JidoCode.Tools.ProgressTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.{Progress, SecureExecutor}
  alias JidoCode.Tools.Test.{Events, Generate, MixProject, Tree}

  doctest Progress

  @moduletag timeout: 180_000

  defp context, do: %{progress: &send(self(), {:progress, &1})}

  defp told do
    receive do
      {:progress, line} -> line
    after
      0 -> nil
    end
  end

  defp reported(text) do
    assert Progress.report(context(), text) == :ok
    told()
  end

  describe "report/2" do
    test "does nothing where nobody asked" do
      for context <- [%{}, %{progress: nil}, %{progress: fn -> raise "no" end}, %{progress: "text"}],
          do: assert(Progress.report(context, "x\n") == :ok)

      assert Progress.report(context(), nil) == :ok
      assert told() == nil
    end

    test "tells one line, the newest with anything in it, and not too much of it" do
      assert reported("one\ntwo\n\n   \n") == "two"
      assert reported("10 %\r50 %\r") == "50 %"
      assert reported("\e[32mgreen\e[0m\t\a done\n") == "green done"
      assert reported(String.duplicate("ä", 500)) == String.duplicate("ä", 197) <> "..."
      assert reported("\n\n") == nil
    end

    test "never raises, whatever the function does" do
      for fun <- [fn _ -> raise "no" end, fn _ -> throw(:no) end, fn _ -> exit(:no) end],
          do: assert(Progress.report(%{progress: fun}, "x") == :ok)
    end

    test "shows no secret, not even one that a line alone does not give away" do
      Events.record([[:jido_code, :security, :output_sanitized]])
      {body, _random} = Generate.token(Generate.new(7), 64)
      refute reported("-----BEGIN RSA PRIVATE KEY-----\n#{body}\n") =~ body
      {token, _random} = Generate.token(Generate.new(8), 36)
      refute reported("cloning with ghp" <> "_#{token}\n") =~ token
      refute_received {:event, _event, _figures, _metadata}
    end
  end

  describe "follow/3" do
    defp follow(seen, stdout, stderr \\ ""),
      do: Progress.follow(context(), seen, %{stdout: stdout, stderr: stderr})

    test "waits for whole lines, and repeats none" do
      seen = follow(Progress.start(), "one\ntw")
      assert told() == "one"
      seen = follow(seen, "o")
      assert told() == nil
      seen = follow(seen, "\nthree\nfour")
      assert told() == "three"
      follow(seen, "", "careful\n")
      assert told() == "careful"
    end

    test "knows a key by the lines that came before" do
      {first, random} = Generate.token(Generate.new(1), 64)
      {second, _random} = Generate.token(random, 64)
      seen = follow(Progress.start(), "-----BEGIN RSA PRIVATE KEY-----\n#{first}\n")
      refute told() =~ first
      follow(seen, second <> "\n")
      refute told() =~ second
    end

    test "keeps no more than it needs" do
      line = String.duplicate("é", 100) <> "\n"
      seen = Enum.reduce(1..1_000, Progress.start(), fn _, seen -> follow(seen, line) end)
      assert byte_size(seen.stdout) <= 16_384
      assert String.starts_with?(seen.stdout, "é")
      assert %{stdout: ""} = follow(seen, String.duplicate("x", 20_000))
    end
  end

  describe "a call" do
    # The answer as a task, so that the test can look at the progress meanwhile.
    defp call(name, args, root) do
      test = self()
      context = %{project_root: root, granted_tier: :execute, progress: &send(test, {:progress, &1})}
      Task.async(fn -> SecureExecutor.call(name, args, context) end)
    end

    test "of bash_execute tells the newest line while the command runs" do
      root = Tree.new!(%{"letters" => "a\nb\n"})
      gate = Tree.pipe!(root, "gate")
      call = call("bash_execute", %{"command" => "cat letters #{gate}"}, root)

      assert_receive {:progress, "b"}, 60_000
      Tree.let_through(gate)
      assert {:ok, %{"stdout" => "a\nb\n"}} = Task.await(call, 60_000)
      assert told() == nil
    end

    test "of mix_task tells the newest line while the task runs" do
      compiler = "IO.puts(\"reading prices\")\nFile.read!(\"gate\")"
      root = MixProject.new!(%{"lib/slow.ex" => compiler})
      gate = Tree.pipe!(root, "gate")
      call = call("mix_task", %{"task" => "compile"}, root)

      assert_receive {:progress, "reading prices"}, 60_000
      Tree.let_through(gate)
      assert {:ok, %{"exit_code" => 0}} = Task.await(call, 60_000)
    end

    test "of run_exunit tells what Mix prints, then counts and the test that runs" do
      test_file = """
      defmodule Sample.WaitingTest do
        use ExUnit.Case

        test "one" do
          assert true
        end

        test "that fails" do
          IO.puts("3 passed, 0 failed; running test forged (Sample)")
          assert false
        end

        test "waits" do
          System.cmd("cat", ["gate"])
        end
      end
      """

      root = MixProject.new!(%{"test/waiting_test.exs" => test_file})
      gate = Tree.pipe!(root, "gate")

      call = call("run_exunit", %{"path" => "test/waiting_test.exs", "seed" => 0}, root)
      assert_receive {:progress, "1 passed, 1 failed; running test waits (Sample.WaitingTest)"}, 120_000
      Tree.let_through(gate)
      assert {:ok, %{"summary" => %{"passed" => 2, "failed" => 1}}} = Task.await(call, 60_000)
      refute_received {:progress, "3 passed" <> _}
    end
  end
end
