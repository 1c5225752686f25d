defmodule JidoCode.Tools.CodeSearchTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.CodeSearch
  alias JidoCode.Tools.Test.Tree

  doctest CodeSearch

  test "reports what was found and what was looked at" do
    root = Tree.new!(%{"lib/a.ex" => "one\nneedle\n", "lib/b.ex" => "needle needle\n", "c.md" => "none\n"})

    assert {:ok, report} = CodeSearch.run(root, "needle")
    assert report.text == "lib/a.ex\n2:needle\n\nlib/b.ex\n1:needle needle"

    assert %{shown: 2, total: 2, files_matched: 2, files_searched: 3, cut: nil, timed_out: false} = report
  end

  test "a limit keeps the first results in path order, the same on every run" do
    files = for n <- 1..300, into: %{}, do: {"d#{rem(n, 7)}/f#{n}.ex", "needle\nneedle\n"}
    root = Tree.new!(files)
    {:ok, all} = CodeSearch.run(root, "needle")
    assert all.total == 600

    for limit <- [1, 2, 37, 599] do
      {:ok, report} = CodeSearch.run(root, "needle", head_limit: limit)
      assert %{shown: ^limit, total: 600, cut: :head_limit} = report
      assert String.starts_with?(all.text, report.text)
      for _ <- 1..5, do: assert({:ok, report} == CodeSearch.run(root, "needle", head_limit: limit))
    end
  end

  test "the text stays within its budget of characters" do
    root = Tree.new!(%{"a" => String.duplicate("needle äöü\n", 10_000)})

    for budget <- [40, 1_000, 30_000] do
      assert {:ok, %{cut: :budget} = report} = CodeSearch.run(root, "needle", budget: budget)
      assert String.length(report.text) in (budget - 20)..budget
      assert report.shown == length(String.split(report.text, "\n")) - 1
    end
  end

  test "errors come as terms with fields" do
    root = Tree.new!(%{"a" => "x"})

    assert {:error, {:pattern, :look_around, detail, 4}} = CodeSearch.run(root, "foo(?=bar)")
    assert detail =~ "look-around"
    assert {:error, {:pattern, :line_end, _, nil}} = CodeSearch.run(root, "a\\nb")
    assert {:error, {:unknown_file_type, ["elixir" | _]}} = CodeSearch.run(root, "x", file_type: "elixr")
    assert {:error, {:glob, "" <> _}} = CodeSearch.run(root, "x", glob: "{a")
    assert {:error, :outside} = CodeSearch.run(root, "x", path: "..")
    assert {:error, :not_found} = CodeSearch.run(root, "x", path: "nothing")
    assert {:error, :not_found} = CodeSearch.run(root, "x", path: "a\0b")
    assert {:error, :root} = CodeSearch.run(Path.join(root, "nothing"), "x")
    assert_raise ArgumentError, fn -> CodeSearch.run(root, "x", output_mode: :everything) end
    assert_raise ArgumentError, fn -> CodeSearch.run(root, "x", unknown: 1) end
  end

  test "every error has a text that begins as documented" do
    about = %{path: "p", file_type: "t", glob: "g"}

    for {reason, expected} <- [
          {{:pattern, :brace, "unclosed counted repetition", 1}, ~r/^Invalid regex at character 1: .*%\\\{/},
          {{:pattern, :syntax, "whatever", nil}, ~r/^Invalid regex: whatever\.$/},
          {{:glob, "unclosed"}, ~r/^Invalid glob: g: unclosed\. .*\.gitignore/},
          {{:unknown_file_type, ["elixir"]}, ~r/^Unknown file_type: t\. Similar: elixir\./},
          {{:timeout, 7}, ~r/^Search timed out: nothing found in the 7 files/},
          {:outside, ~r/^Security error: .*outside.*boundary: p$/},
          {:not_found, ~r/^Path not found/}
        ] do
      assert CodeSearch.explain(reason, about) =~ expected
    end

    for reason <- [:root, :not_searchable, :unreadable, :unsafe_rules, :cancelled, :busy, :internal] do
      assert is_binary(CodeSearch.explain(reason, about))
    end

    assert String.length(CodeSearch.explain(:outside, %{path: String.duplicate("../", 10_000)})) < 300
  end

  test "a search goes on while its caller collects garbage" do
    root = Tree.new!(Map.new(1..200, &{"f#{&1}", "needle\n"}))
    {:ok, search} = CodeSearch.start(root, "needle", output_mode: :files_with_matches)
    :erlang.garbage_collect()
    assert {:ok, %{total: 200}} = CodeSearch.await(search)
  end

  test "many searches at once each get their own answer" do
    root = Tree.new!(Map.new(1..50, &{"f#{&1}", "needle#{&1};\n"}))

    1..100
    |> Task.async_stream(
      fn n ->
        n = rem(n, 50) + 1
        {:ok, report} = CodeSearch.run(root, "needle#{n};", output_mode: :files_with_matches)
        assert report.text == "f#{n}"
        refute_received _
      end,
      max_concurrency: 100,
      timeout: 30_000
    )
    |> Stream.run()
  end
end

defmodule JidoCode.Tools.CodeSearchEndTest do
  # Looks at the threads of the whole VM, so no other search may run.
  use ExUnit.Case, async: false

  alias JidoCode.Tools.CodeSearch
  alias JidoCode.Tools.Test.Tree

  # The walk opens .git/info/exclude without a look at what it is, so a pipe there holds it until somebody
  # writes into it.
  setup do
    root = Tree.new!(%{"a" => "needle\n", "sub/b" => "needle\n"})
    pipe = Tree.pipe!(root, "sub/.git/info/exclude")
    on_exit(fn -> Tree.release(pipe) end)
    %{root: root}
  end

  test "a search answers with what it has when time is up", %{root: root} do
    assert {:ok, %{timed_out: true, text: "a"}} =
             CodeSearch.run(root, "needle", output_mode: :files_with_matches, timeout: 1_500)

    assert {:error, {:timeout, 1}} = CodeSearch.run(root, "absent", timeout: 1_500)
  end

  test "a cancelled search ends at once and leaves no message", %{root: root} do
    {:ok, search} = CodeSearch.start(root, "needle", timeout: 60_000)
    {microseconds, :ok} = :timer.tc(fn -> CodeSearch.cancel(search) end)
    assert microseconds < 20_000_000
    refute_received _
  end

  if File.dir?("/proc/self/task") do
    test "a search ends when its caller is killed", %{root: root} do
      test = self()

      {caller, monitor} =
        spawn_monitor(fn ->
          {:ok, search} = CodeSearch.start(root, "needle", timeout: 60_000)
          send(test, :started)
          CodeSearch.await(search)
        end)

      assert_receive :started
      assert eventually(fn -> waiting_threads() == 1 end)
      Process.exit(caller, :kill)
      assert_receive {:DOWN, ^monitor, :process, ^caller, :killed}
      assert eventually(fn -> waiting_threads() == 0 end)
    end

    # The kernel keeps 15 characters of a thread's name.
    defp waiting_threads do
      "/proc/self/task/*/comm"
      |> Path.wildcard()
      |> Enum.count(&(File.read(&1) == {:ok, "code-search-wai\n"}))
    end

    # A native thread names itself some time after its start, and ends without a message to anyone.
    defp eventually(condition, left \\ 2_000) do
      condition.() or (left > 0 and Process.sleep(10) == :ok and eventually(condition, left - 1))
    end
  end
end
