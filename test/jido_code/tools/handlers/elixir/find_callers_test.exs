defmodule JidoCode.Tools.Handlers.Elixir.FindCallersTest do
  # What lies on the path of the whole VM is looked through.
  use ExUnit.Case, async: false

  alias JidoCode.Tools.{Answers, Catalog, SecureExecutor}
  alias JidoCode.Tools.Handlers.Elixir.FindCallers
  alias JidoCode.Tools.Test.{Sources, Tree}

  doctest JidoCode.Tools.Answers.Callers

  setup_all do
    %{root: Sources.compiled!()}
  end

  defp uses!(args, root) do
    assert {:ok, %{"uses" => uses}} = FindCallers.execute(args, %{project_root: root})
    for use <- uses, do: {use["line"], use["kind"], use["from"] |> String.replace("QSrc.User.", "")}
  end

  defp uses!(reference, args, root), do: uses!(Map.put(args, "reference", reference), root)

  test "calls through aliases, imports, pipes, captures and apply, with the line and its text", %{root: root} do
    assert [
             {8, "call", "qsrc_direct/1"},
             {9, "call", "qsrc_imported/1"},
             {10, "capture", "qsrc_captured/0"},
             {11, "apply", "qsrc_applied/1"},
             {12, "apply", "qsrc_spec/0"}
           ] = "QSrc.Store.qsrc_sum/1" |> uses!(%{}, root) |> Enum.filter(&(elem(&1, 2) =~ ~r/^qsrc/))

    {:ok, %{"uses" => uses}} =
      FindCallers.execute(%{"reference" => "QSrc.Store.qsrc_sum"}, %{project_root: root})

    assert %{"file" => "lib/user.ex", "text" => "def qsrc_direct(x), do: S.qsrc_sum(x)"} =
             Enum.find(uses, &(&1["line"] == 8))

    # Its own call of itself, and Erlang's two.
    assert Enum.any?(uses, &(&1["from"] == "QSrc.Store.qsrc_sum/1" and &1["line"] == 18))

    assert [{15, "apply"}, {16, "call"}] =
             for(%{"file" => "src/qsrc_erl.erl"} = use <- uses, do: {use["line"], use["kind"]})

    assert uses!("QSrc.Store.qsrc_sum/2", %{}, root) == []
  end

  test "a module: behaviours, structs, types, messages, names, macros", %{root: root} do
    uses = uses!("QSrc.Store", %{}, root)

    for use <- [
          {1, "implements", "QSrc.User"},
          {13, "message", "qsrc_asks/0"},
          {14, "struct", "qsrc_struct/0"},
          {15, "refers", "qsrc_names/0"},
          {16, "refers", "qsrc_computed/2"},
          {22, "type", "QSrc.User"}
        ],
        do: assert(use in uses)

    # Itself is no user of itself.
    refute Enum.any?(uses, &String.starts_with?(elem(&1, 2), "QSrc.Store."))
    assert [{14, "struct", "qsrc_struct/0"}] = uses!("%QSrc.Store{}", %{}, root)
    assert [{22, "type", "QSrc.User"}] = uses!("t:QSrc.Store.t/0", %{}, root)
  end

  test "implementations of callbacks and protocols", %{root: root} do
    assert [{26, "implements", "qsrc_price/1"}] = uses!("c:QSrc.Store.qsrc_price/1", %{}, root)

    assert [{6, "implements", "QSrc.Proto.QSrc.Store.qsrc_show/1"}] =
             "c:QSrc.Proto.qsrc_show" |> uses!(%{}, root)

    assert {_line, "implements", "QSrc.Store.init/1"} =
             "c:GenServer.init/1"
             |> uses!(%{"limit" => 500}, root)
             |> Enum.find(&(elem(&1, 2) =~ "QSrc.Store"))

    assert Enum.any?(
             uses!("c:gen_server.init/1", %{"limit" => 500}, root),
             &(elem(&1, 2) == ":qsrc_erl.init/1")
           )
  end

  test "a macro by the code that it made, where the line names it", %{root: root} do
    assert [{19, "macro", "qsrc_macro/1"}] = uses!("QSrc.Macros.qsrc_plus/1", %{}, root)
    assert [{5, "macro", "QSrc.Store.qsrc_kept/1"}] = uses!("QSrc.Macros.qsrc_keep", %{}, root)
  end

  test "the other way: what it calls", %{root: root} do
    args = %{"reference" => "QSrc.User.qsrc_imported/1", "direction" => "calls"}

    assert {:ok, %{"uses" => [%{"what" => "QSrc.Store.qsrc_sum/1", "line" => 9, "kind" => "call"}]}} =
             FindCallers.execute(args, %{project_root: root})

    {:ok, %{"uses" => uses}} =
      FindCallers.execute(%{"reference" => ":qsrc_erl.both/1", "direction" => "calls"}, %{project_root: root})

    what = Enum.map(uses, &{&1["kind"], &1["what"]})

    for use <- [
          {"call", ":lists.sum/1"},
          {"capture", ":qsrc_erl.add/2"},
          {"call", ":qsrc_erl.add/2"},
          {"call", "QSrc.Store.qsrc_sum/1"}
        ],
        do: assert(use in what)

    assert {:error, "QSrc.User.no_such_function is not defined" <> _} =
             FindCallers.execute(%{"reference" => "QSrc.User.no_such_function", "direction" => "calls"}, %{
               project_root: root
             })
  end

  test "none found says what was not looked at", %{root: root} do
    assert {:ok, %{"uses" => [], "total" => 0, "note" => note}} =
             FindCallers.execute(%{"reference" => "QSrc.Nobody.qsrc_x/0"}, %{project_root: root})

    assert note =~ "No use of QSrc.Nobody.qsrc_x/0 was found" and note =~ "computed at run time"
    assert {:error, "Invalid reference" <> _} = FindCallers.execute(%{"reference" => "rm -rf"}, %{})
  end

  test "makes no atom, and a damaged or stripped file costs only itself", %{root: root} do
    ebin = Sources.ebin(root)
    File.write!(Path.join(ebin, "Elixir.QSrc.Damaged.beam"), "FOR1" <> :binary.copy(<<0>>, 100))
    on_exit(fn -> File.rm(Path.join(ebin, "Elixir.QSrc.Damaged.beam")) end)

    assert {:ok, %{"uses" => [_ | _], "note" => note}} =
             FindCallers.execute(%{"reference" => "QSrc.Store.qsrc_sum/1"}, %{project_root: root})

    assert note =~ "Not searched" and note =~ "QSrc.Damaged"

    for name <- ["Elixir.QSrc.User", "qsrc_" <> "computed"],
        do: assert_raise(ArgumentError, fn -> String.to_existing_atom(name) end)
  end

  test "a pipe and a bomb among the compiled files hold nothing up", %{root: root} do
    ebin = Sources.ebin(root)
    pipe = Tree.pipe!(ebin, "Elixir.QSrc.Pipe.beam")
    bomb = Path.join(ebin, "Elixir.QSrc.Bomb.beam")
    on_exit(fn -> for path <- [pipe, bomb], do: File.rm(path) end)

    # Says to unpack to 4 GB.
    packed = :zlib.compress(:binary.copy("QSrc.Store", 1_000_000))
    File.write!(bomb, beam("Dbgi", <<131, 80, 4_000_000_000::32, packed::binary>>))

    args = %{"reference" => "QSrc.Store.qsrc_sum/1"}
    {time, {:ok, result}} = :timer.tc(fn -> FindCallers.execute(args, %{project_root: root}) end)
    assert length(result["uses"]) >= 5 and result["note"] =~ "QSrc.Bomb"
    assert time < 8_000_000

    assert {:error, _text} =
             FindCallers.execute(%{"reference" => "QSrc.Pipe", "direction" => "calls"}, %{project_root: root})

    assert {:error, _text} =
             FindCallers.execute(%{"reference" => "QSrc.Bomb", "direction" => "calls"}, %{project_root: root})
  end

  defp beam(id, chunk) do
    padding = :binary.copy(<<0>>, rem(4 - rem(byte_size(chunk), 4), 4))
    form = "BEAM" <> id <> <<byte_size(chunk)::32>> <> chunk <> padding
    "FOR1" <> <<byte_size(form)::32>> <> form
  end

  test "is for everybody, bounded, and reads like a search", %{root: root} do
    assert {:ok, %{tier: :read_only}} = Catalog.fetch("find_callers")
    context = %{session_id: "callers-#{System.unique_integer([:positive])}", project_root: root}

    assert {:ok, result} =
             SecureExecutor.call("find_callers", %{"reference" => "Enum", "limit" => 500}, context)

    assert result["total"] > length(result["uses"])
    assert result["note"] =~ "more are not shown"
    text = Answers.text("find_callers", result)
    assert String.length(text) < 30_000
    assert text =~ ~r/^\d+: [\w.]+\/\d call  /m
  end

  test "a compiled file of another form than a compiler's costs only itself, and is named", %{root: root} do
    # What its functions are made of is looked at later than what it defines. The names as texts are enough for it to be looked at,
    # and make no atoms.
    names = "Elixir.QSrc.Store qsrc_sum"
    call = {{:., [], [:lists, :sum]}, [line: 1], [names | :improper]}
    inside = [{{:f, 0}, :def, [line: 1], [{[line: 1], [], [], call}]}]
    outside = [{{:f, 0}, :def, [{:line, 1} | :improper], [{[line: 1], [], [], names}]}]

    for definitions <- [inside, outside, [{{:f, 0}, :def, [], []} | names]] do
      Sources.forged!(root, "QSrc.Forged", definitions)
      args = %{"reference" => "QSrc.Forged", "direction" => "calls"}
      assert {:error, message} = FindCallers.execute(args, %{project_root: root})
      assert message =~ "The compiled file of QSrc.Forged is malformed"
    end

    args = %{"reference" => "QSrc.Store.qsrc_sum/1"}
    assert {:ok, %{"uses" => [_ | _], "note" => note}} = FindCallers.execute(args, %{project_root: root})
    assert note =~ "Not searched" and note =~ "QSrc.Forged"
  end
end
