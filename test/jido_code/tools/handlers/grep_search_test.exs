defmodule JidoCode.Tools.Handlers.GrepSearchTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Behaviours.SecureHandler
  alias JidoCode.Tools.Handlers.GrepSearch
  alias JidoCode.Tools.Test.{Events, Tree}

  @event [:jido_code, :search, :grep_search]

  @files %{
    "lib/shop.ex" => "defmodule Shop do\n  def total(cart) do\n    sum(cart)\n  end\nend\n",
    "lib/cart.ex" => "defmodule Cart do\n  def total, do: 0\n  # Total of nothing\nend\n",
    "assets/app.js" => "function total() {}\n",
    "README.md" => "Shop\n"
  }

  setup do
    root = Tree.new!(@files)
    %{root: root, context: %{project_root: root, session_id: "s"}}
  end

  defp search(context, args), do: GrepSearch.execute(args, context)

  test "declares itself as reading only, within its default timeout" do
    properties = GrepSearch.security_properties()
    assert SecureHandler.validate_properties(properties) == :ok
    assert %{tier: :read_only, timeout_ms: 30_000} = properties
  end

  test "content mode shows matching lines with numbers under their files", %{context: context} do
    assert {:ok, result} = search(context, %{"pattern" => "def total"})

    assert result == %{
             "result" => "lib/cart.ex\n2:  def total, do: 0\n\nlib/shop.ex\n2:  def total(cart) do",
             "count" => 2,
             "total" => 2,
             "files" => 2,
             "files_searched" => 4,
             "truncated" => false
           }
  end

  test "files_with_matches names files, count counts lines", %{context: context} do
    args = %{"pattern" => "total", "case_insensitive" => true}

    assert {:ok, %{"result" => "assets/app.js\nlib/cart.ex\nlib/shop.ex", "count" => 3}} =
             search(context, Map.put(args, "output_mode", "files_with_matches"))

    assert {:ok, %{"result" => "assets/app.js:1\nlib/cart.ex:2\nlib/shop.ex:1", "count" => 3}} =
             search(context, Map.put(args, "output_mode", "count"))
  end

  test "context before, after, and both", %{context: context} do
    args = %{"pattern" => "sum\\(", "path" => "lib/shop.ex"}
    lines = fn more -> with {:ok, result} <- search(context, Map.merge(args, more)), do: result["result"] end

    assert lines.(%{"context_before" => 1}) == "lib/shop.ex\n2-  def total(cart) do\n3:    sum(cart)"
    assert lines.(%{"context_after" => 1}) == "lib/shop.ex\n3:    sum(cart)\n4-  end"
    assert lines.(%{"context" => 1}) == "lib/shop.ex\n2-  def total(cart) do\n3:    sum(cart)\n4-  end"

    assert lines.(%{"context" => 1, "context_before" => 0}) == "lib/shop.ex\n3:    sum(cart)\n4-  end"
  end

  test "file types by name and by extension", %{context: context} do
    for {type, files} <- [
          {"elixir", "lib/cart.ex\nlib/shop.ex"},
          {"ex", "lib/cart.ex\nlib/shop.ex"},
          {"js", "assets/app.js"}
        ] do
      args = %{"pattern" => "total", "file_type" => type, "output_mode" => "files_with_matches"}
      assert {:ok, %{"result" => ^files}} = search(context, args)
    end

    assert {:error, "Unknown file_type: elixr. Similar: elixir, " <> _} =
             search(context, %{"pattern" => "x", "file_type" => "elixr"})
  end

  test "a glob narrows the search", %{context: context} do
    args = %{"pattern" => "total", "output_mode" => "files_with_matches"}
    assert {:ok, %{"result" => "lib/shop.ex"}} = search(context, Map.put(args, "glob", "**/s*.ex"))
    assert {:ok, %{"result" => "assets/app.js"}} = search(context, Map.put(args, "glob", "!*.ex"))

    assert {:ok, %{"note" => "No file was searched: none " <> _}} =
             search(context, Map.put(args, "glob", "*.erl"))

    assert {:error, "Invalid glob: {a: " <> _} = search(context, Map.put(args, "glob", "{a"))
  end

  test "multiline patterns span lines", %{context: context} do
    args = %{"pattern" => "def total.*?end", "file_type" => "ex", "path" => "lib/shop.ex"}
    assert {:ok, %{"count" => 0}} = search(context, args)

    assert {:ok, %{"count" => 1, "result" => result}} = search(context, Map.put(args, "multiline", true))
    assert result == "lib/shop.ex\n2:  def total(cart) do\n3:    sum(cart)\n4:  end"

    assert {:error, "Invalid regex: " <> hint} = search(context, %{"pattern" => "do\\n"})
    assert hint =~ "multiline"
  end

  test "head_limit keeps the first results and says how many there are", %{context: context} do
    args = %{"pattern" => "total", "case_insensitive" => true, "head_limit" => 2}
    assert {:ok, %{"count" => 2, "total" => 4, "truncated" => true} = result} = search(context, args)
    assert result["result"] == "assets/app.js\n1:function total() {}\n\nlib/cart.ex\n2:  def total, do: 0"
    assert result["note"] =~ "the first 2 of 4 matches in path order (head_limit)"

    assert {:ok, %{"truncated" => false} = result} = search(context, Map.put(args, "head_limit", 4))
    refute Map.has_key?(result, "note")
  end

  test "no match is an answer, with a hint at what was not searched", %{root: root, context: context} do
    assert {:ok, %{"result" => "", "count" => 0, "truncated" => false, "note" => note}} =
             search(context, %{"pattern" => "absent"})

    assert note =~ "Hidden and ignored files were not searched"

    Tree.write!(root, %{"blob" => <<0>>})
    assert {:ok, %{"note" => note}} = search(context, %{"pattern" => "absent"})
    assert note =~ "1 binary files"

    assert {:ok, %{"note" => note}} = search(context, %{"pattern" => "x", "file_type" => "rust"})
    assert note =~ "No file was searched"
  end

  test "an invalid regex is explained", %{context: context} do
    for {pattern, expected} <- [
          {"foo(", ~r/^Invalid regex at character 4: unclosed group\. .*\\\(/},
          {"%{name: x}", ~r/^Invalid regex at character 3: .*braces/},
          {"foo(?=bar)", ~r/^Invalid regex at character 4: look-around.*don't exist/},
          {"(a)\\1", ~r/^Invalid regex at character 4: backreferences.*written? out|write the repeated/},
          {"*.ex", ~r/^Invalid regex at character 1: .*glob/},
          {"(\\w{100}){100}", ~r/^Invalid regex: .*size limit.*smaller repetition/},
          {"", ~r/^Invalid regex: the pattern is empty/}
        ] do
      assert {:error, message} = search(context, %{"pattern" => pattern})
      assert message =~ expected
    end
  end

  test "nothing outside the project is reached", %{root: root, context: context} do
    outside = root <> "-evil"
    File.mkdir_p!(outside)
    File.write!(Path.join(outside, "secret.ex"), "total")
    File.ln_s!(outside, Path.join(root, "link"))
    File.ln_s!(Path.join(outside, "secret.ex"), Path.join(root, "lib/secret.ex"))

    for path <- [
          "..",
          "../project-evil",
          outside,
          "link",
          "link/secret.ex",
          "lib/secret.ex",
          "lib/../..",
          "/etc",
          # They come back, and would tell by that what lies on their way.
          "link/../project/lib",
          "link/../project-evil/../project/lib",
          "link/../nothing/../project/lib"
        ] do
      assert {:error, "Security error: path is outside the project boundary" <> _} =
               search(context, %{"pattern" => "total", "path" => path})
    end

    assert {:ok, %{"files" => 3, "result" => result}} = search(context, %{"pattern" => "total"})
    refute result =~ "secret"
    assert {:error, "Path not found" <> _} = search(context, %{"pattern" => "total", "path" => "lib/nothing"})
  end

  test "each call sees its own project", %{context: context} do
    other = %{project_root: Tree.new!(%{"only.ex" => "total\n"})}
    assert {:ok, %{"result" => "only.ex\n1:total"}} = search(other, %{"pattern" => "total"})
    assert {:ok, %{"files" => 3}} = search(context, %{"pattern" => "total"})
    assert {:error, message} = search(%{project_root: "/nowhere/at/all"}, %{"pattern" => "total"})
    assert message =~ "project"
  end

  test "hidden and ignored files are left out unless named", %{root: root, context: context} do
    Tree.write!(root, %{
      ".git/HEAD" => "total",
      ".gitignore" => "/deps\n",
      "deps/x/x.ex" => "total\n",
      ".env" => "total\n"
    })

    assert {:ok, %{"result" => result}} = search(context, %{"pattern" => "total"})
    refute result =~ "deps"
    refute result =~ ".env"

    assert {:ok, %{"result" => "deps/x/x.ex\n1:total"}} =
             search(context, %{"pattern" => "total", "path" => "deps"})
  end

  test "a result stays within 30,000 characters and says what is missing", %{root: root, context: context} do
    Tree.write!(root, %{
      "big.txt" => String.duplicate("total äöü " <> String.duplicate("x", 600) <> "\n", 2_000)
    })

    assert {:ok, %{"truncated" => true} = result} =
             search(context, %{"pattern" => "total", "context" => 999, "head_limit" => 99_999})

    assert String.valid?(result["result"])
    assert String.length(result["result"]) + String.length(result["note"]) <= 30_000
    assert result["total"] == 2_000 + 3
    assert result["note"] =~ "of 2003 matches in path order (30000 characters)"
    assert result["note"] =~ "Long lines cut"
    assert result["note"] =~ "applied: context 50, head_limit 10000"
  end

  test "odd bytes come back as text", %{root: root, context: context} do
    Tree.write!(root, %{"latin1.txt" => <<"caf", 0xE9, " total ", 0x1B, "[31m\r\n">>})

    assert {:ok, %{"result" => result}} = search(context, %{"pattern" => "total", "path" => "latin1.txt"})
    assert result == "latin1.txt\n1:caf\\xE9 total \\x1B[31m"
  end

  test "arguments are checked", %{context: context} do
    for {args, expected} <- [
          {%{}, "Missing required parameter: pattern"},
          {%{"pattern" => 1}, "Invalid pattern"},
          {%{"pattern" => "x", "context" => -1}, "Invalid context: must be at least 0"},
          {%{"pattern" => "x", "context_before" => -1}, "Invalid context_before: must be at least 0"},
          {%{"pattern" => "x", "head_limit" => 0}, "Invalid head_limit: must be at least 1"},
          {%{"pattern" => "x", "output_mode" => "all"}, "content, files_with_matches, count"},
          {%{"pattern" => "x", "multiline" => "true"}, "Invalid multiline"},
          {%{"pattern" => "x", "globs" => "*.ex"}, "Unknown parameter: globs"}
        ] do
      assert {:error, message} = search(context, args)
      assert message =~ expected
    end
  end

  test "emits one event a call", %{context: context} do
    Events.record([@event])

    search(context, %{"pattern" => "total", "path" => "lib"})
    assert_received {:event, @event, measurements, metadata}
    assert %{result_count: 2, duration: duration} = measurements
    assert duration > 0
    assert metadata == %{path: "lib", status: :ok, session_id: "s"}

    search(context, %{"pattern" => "("})
    assert_received {:event, @event, %{result_count: 0}, %{path: ".", status: :error}}

    search(context, %{})
    refute_received {:event, _, _, _}
  end
end
