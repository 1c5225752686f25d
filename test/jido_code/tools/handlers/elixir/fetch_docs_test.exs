defmodule JidoCode.Tools.Handlers.Elixir.FetchDocsTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Answers
  alias JidoCode.Tools.Handlers.Elixir.FetchDocs
  alias JidoCode.Tools.Test.Events

  @context %{session_id: "s"}
  @ours "JidoCode.Tools.Test.Documented"

  defp fetch(module, args \\ %{}), do: FetchDocs.execute(Map.put(args, "module", module), @context)

  defp fetch!(module, args \\ %{}) do
    assert {:ok, result} = fetch(module, args)

    assert Map.keys(result) -- ~w(note function behaviours struct implementations) ==
             ~w(docs module moduledoc source specs types)

    assert characters(result) <= 30_000
    assert String.length(Answers.Docs.text(result)) <= 30_000
    result
  end

  defp entry(result, name), do: Enum.find(result["docs"], &(&1["name"] == name))

  describe "a module" do
    test "is described, with an index of what it has" do
      result = fetch!(@ours)
      assert result["module"] == @ours
      assert result["moduledoc"] == "A module to read about.\n\nIts second paragraph.\n"

      assert %{"arity" => 3, "kind" => "function", "signature" => "add(id, a \\\\ 1, b \\\\ 2)"} =
               add = entry(result, "add")

      assert %{"doc" => "Adds things up.", "defaults" => 2, "since" => "1.2.0", "deprecated" => nil} = add
      assert add["doc_size"] > 40

      assert entry(result, "plus")["deprecated"] =~ "add/3"
      assert entry(result, "twice")["kind"] == "macro"
      assert %{"doc" => nil} = entry(result, "undocumented")
      refute entry(result, "hidden")
      refute entry(result, "begin")

      assert %{"name" => "add", "arity" => 3, "specs" => ["add(id(), integer(), integer()) :: integer()"]} in result[
               "specs"
             ]

      assert %{"name" => "twice", "arity" => 1} = Enum.find(result["specs"], &(&1["name"] == "twice"))
      assert %{"name" => "id", "arity" => 0, "type" => "@type id() :: pos_integer()"} in result["types"]
      assert %{"name" => "secret", "arity" => 0, "type" => "@opaque secret()"} in result["types"]
      assert result["note"] =~ "index"
    end

    test "may be named in several ways" do
      for name <- ["Enum", "Elixir.Enum", " Enum "], do: assert(fetch!(name)["moduledoc"] =~ "collections")
      for name <- ["lists", ":lists"], do: assert(entry(fetch!(name), "map"))
    end

    test "of the standard library fits into a result, whatever its size" do
      for name <-
            ~w(Enum Kernel String GenServer Ecto Mix.Task :erlang :lists :gen_server :wx Macro File Stream) do
        case fetch(name) do
          {:ok, _result} -> fetch!(name)
          {:error, message} -> assert message =~ "Module not found"
        end
      end

      assert length(fetch!("Enum")["docs"]) > 80
    end

    test "tells its behaviours, its struct's fields, and who implements a protocol" do
      assert "Supervisor" in fetch!("DynamicSupervisor")["behaviours"] or
               "GenServer" in fetch!("DynamicSupervisor")["behaviours"]

      # Newer compilers do not keep which fields are required.
      assert for(field <- fetch!("Range")["struct"], do: String.replace_suffix(field, " (required)", "")) ==
               ["first", "last", "step"]

      assert "List" in fetch!("Enumerable")["implementations"]
      refute Map.has_key?(fetch!("Enum"), "behaviours")
    end

    test "that is not there is an error that names what is similar" do
      assert {:error, message} = fetch("Enumm")
      assert message =~ "Module not found: Enumm" and message =~ "did you mean Enum"
      assert {:error, message} = fetch("Elixir.Documented")
      assert message =~ @ours
      assert {:error, message} = fetch(":listss")
      assert message =~ ":lists"
    end

    test "lists its callbacks when asked" do
      assert %{"kind" => "callback", "doc" => "Called when it begins."} =
               @ours |> fetch!(%{"include_callbacks" => true}) |> entry("begin")

      result = fetch!("GenServer", %{"include_callbacks" => true, "function" => "init"})
      assert [%{"kind" => "callback", "arity" => 1}] = result["docs"]
      assert [%{"kind" => "callback", "specs" => ["init(init_arg :: term()) ::" <> _]}] = result["specs"]
    end

    test "without documentation is not an error" do
      assert %{"moduledoc" => nil, "specs" => [_]} = result = fetch!("JidoCode.Tools.Test.Undocumented")
      assert %{"doc" => nil, "signature" => "visible(x)"} = entry(result, "visible")
    end

    test "of this Erlang release says what the release brings: documentation, or specs alone" do
      result = fetch!("lists")
      assert entry(result, "map")["arity"] == 2
      assert Enum.find(result["specs"], &(&1["name"] == "map"))

      case Code.fetch_docs(:lists) do
        {:docs_v1, _anno, :erlang, _format, %{"en" => _text}, _meta, _entries} ->
          assert result["moduledoc"] =~ ~r/^List processing/
          assert %{"doc" => first, "signature" => "map(" <> _} = entry(result, "map")
          assert [%{"doc" => whole}] = fetch!("lists", %{"function" => "map", "arity" => 2})["docs"]
          assert first =~ "function"
          assert String.length(whole) > String.length(first)

        {:error, :chunk_not_found} ->
          assert %{"moduledoc" => nil, "note" => note} = result
          assert note =~ "no documentation"
          assert entry(result, "map")["signature"] == "map/2"
      end
    end

    test "that exists in memory only has its exports" do
      defmodule(Elixir.JidoCodeInMemoryOnly, do: def(some_function(x), do: x))
      assert %{"moduledoc" => nil, "note" => note} = result = fetch!("JidoCodeInMemoryOnly")
      assert %{"arity" => 1, "signature" => "some_function/1"} = entry(result, "some_function")
      assert note =~ "no documentation"
      assert note =~ "strip_beams"
    end
  end

  describe "a function" do
    test "has its whole text" do
      result = fetch!(@ours, %{"function" => "add"})

      assert [%{"doc" => "Adds things up. The second sentence.\n\nMore text about adding.\n"} = add] =
               result["docs"]

      refute Map.has_key?(add, "doc_size")
      assert [%{"name" => "add"}] = result["specs"]
      assert result["types"] == []
    end

    test "is found by every arity that its defaults allow" do
      for arity <- 1..3,
          do: assert([%{"arity" => 3}] = fetch!(@ours, %{"function" => "add", "arity" => arity})["docs"])

      for arity <- [0, 4] do
        assert {:error, message} = fetch(@ours, %{"function" => "add", "arity" => arity})
        assert message == "Function not found: #{@ours} has no add/#{arity}, but function add/3"
      end

      assert [%{"arity" => 3}] = fetch!("Enum", %{"function" => "at", "arity" => 2})["docs"]
    end

    test "of several arities comes with all of them" do
      result = fetch!("Enum", %{"function" => "reduce"})
      assert Enum.map(result["docs"], & &1["arity"]) == [2, 3]
      assert Enum.map(result["specs"], & &1["arity"]) == [2, 3]
    end

    test "that the author hid is found by name, without text" do
      assert [%{"name" => "hidden", "doc" => nil}] = fetch!(@ours, %{"function" => "hidden"})["docs"]
    end

    test "that does not exist is an error that names what is similar" do
      assert {:error, message} = fetch("Enum", %{"function" => "mapp"})
      assert message =~ "Function not found: Enum has no mapp; did you mean map/2?"
      assert {:error, message} = fetch("Enum.no_such_thing_at_all")

      assert message ==
               "Function not found: Enum has no no_such_thing_at_all; without function it gives an index"
    end

    test "may be written with the module, and with its arity" do
      for {module, args} <- [
            {"Enum.map/2", %{}},
            {"Enum.map", %{}},
            {"Enum", %{"function" => "map/2"}},
            {"Elixir.Enum.map", %{"function" => "map"}}
          ] do
        assert %{"module" => "Enum", "function" => "map", "docs" => [%{"arity" => 2}]} = fetch!(module, args)
      end

      assert [%{"name" => "map"}] = fetch!(":lists.map/2")["docs"]
      assert [%{"name" => "/", "arity" => 2}] = fetch!("Kernel", %{"function" => "//2"})["docs"]

      assert {:error, "Invalid function: Enum.map names map and function names filter" <> _} =
               fetch("Enum.map", %{"function" => "filter"})
    end

    test "says where it stands" do
      result = fetch!(@ours <> ".add")
      assert result["source"] == "test/support/documented.ex"
      assert [%{"line" => line}] = result["docs"]
      # Its documentation stands above it.
      lines = result["source"] |> File.read!() |> String.split("\n") |> Enum.slice(line - 1, 10)
      assert hd(lines) =~ ~r/@doc|def add/ and Enum.any?(lines, &(&1 =~ "def add("))
      assert Answers.Docs.text(result) =~ "test/support/documented.ex:#{line}\n"
      assert %{"source" => "elixir/lib/enum.ex"} = fetch!("Enum.map")
    end

    test "may be a callback or a type, by the same parameter" do
      assert [%{"kind" => "callback"}] = fetch!("c:GenServer.init/1")["docs"]
      assert [%{"kind" => "callback"}] = fetch!("GenServer", %{"function" => "init/1"})["docs"]
      result = fetch!("t:String.t/0")
      assert Answers.Docs.text(result) =~ "@type t() :: binary()"
    end

    test "may be a type" do
      result = fetch!(@ours, %{"function" => "id"})
      assert [%{"kind" => "type", "doc" => "An identifier."}] = result["docs"]
      assert [%{"type" => "@type id() :: pos_integer()"}] = result["types"]
    end

    test "with a very long text is cut, saying how much" do
      assert [%{"doc" => doc}] = fetch!("Kernel", %{"function" => "defstruct", "arity" => 1})["docs"]
      assert String.length(doc) < 20_000
    end
  end

  describe "a module that was never loaded" do
    @describetag :tmp_dir

    test "is found on disk, without loading it or making its name an atom", %{tmp_dir: folder} do
      name = "NeverSeen#{System.unique_integer([:positive])}"
      ebin = Path.join(folder, "ebin")
      File.mkdir_p!(ebin)
      File.cp!(:code.which(GenServer), Path.join(ebin, "Elixir.#{name}.beam"))
      Code.append_path(ebin)

      assert fetch!(name)["moduledoc"] =~ "client-server"
      assert_raise ArgumentError, fn -> String.to_existing_atom("Elixir." <> name) end
      Code.delete_path(ebin)
    end

    test "has its documentation beside it, as older Erlang releases do", %{tmp_dir: folder} do
      name = "never_seen_#{System.unique_integer([:positive])}"
      ebin = Path.join(folder, "ebin")
      chunks = Path.join([folder, "doc", "chunks"])
      Enum.each([ebin, chunks], &File.mkdir_p!/1)
      File.write!(Path.join(ebin, name <> ".beam"), lists_with(nil))

      docs =
        {:docs_v1, [], :erlang, "application/erlang+html", %{"en" => [{:p, [], ["List processing."]}]}, %{},
         [
           {{:function, :map, 2}, [], ["map(Fun, List1) -> List2"],
            %{"en" => [{:p, [], ["Applies ", {:code, [], ["Fun"]}, ". Twice."]}]}, %{since: "OTP R1"}},
           {{:function, :old, 1}, [], ["old(X)"], :none, %{deprecated: "use map/2"}},
           :not_an_entry
         ]}

      File.write!(Path.join(chunks, name <> ".chunk"), :erlang.term_to_binary(docs))
      Code.append_path(ebin)

      result = fetch!(":" <> name)
      assert result["moduledoc"] == "List processing."
      assert %{"doc" => "Applies `Fun`.", "since" => "OTP R1"} = entry(result, "map")
      assert %{"doc" => nil, "deprecated" => "use map/2"} = entry(result, "old")
      Code.delete_path(ebin)
    end

    test "has its documentation within, as newer Erlang releases do", %{tmp_dir: folder} do
      name = "never_seen_#{System.unique_integer([:positive])}"

      docs =
        {:docs_v1, [], :erlang, "text/markdown", %{"en" => "List *processing*."}, %{otp_doc_vsn: {1, 0, 0}},
         [
           {{:function, :map, 2}, [], ["map(Fun, List1)"], %{"en" => "Applies `Fun`. Twice."},
            %{since: "OTP R1", exported: true}},
           {{:function, :seq, 2}, [], ["seq(From, To)"], :none, %{equiv: "seq(From, To, 1)"}},
           {{:function, :module_info, 0}, [], ["module_info()"], :hidden, %{}}
         ]}

      File.write!(Path.join(folder, name <> ".beam"), lists_with(docs))
      Code.append_path(folder)

      result = fetch!(":" <> name)
      assert result["moduledoc"] == "List *processing*."

      assert %{"doc" => "Applies `Fun`.", "signature" => "map(Fun, List1)", "since" => "OTP R1"} =
               entry(result, "map")

      assert %{"doc" => nil, "signature" => "seq(From, To)"} = entry(result, "seq")
      refute entry(result, "module_info")
      assert [%{"name" => "map", "specs" => [_]}] = fetch!(name, %{"function" => "map"})["specs"]
      Code.delete_path(folder)
    end

    test "of a stripped release has its exports", %{tmp_dir: folder} do
      name = "never_seen_#{System.unique_integer([:positive])}"
      {:ok, {:lists, stripped}} = :beam_lib.strip(lists_with(nil))
      File.write!(Path.join(folder, name <> ".beam"), stripped)
      Code.append_path(folder)

      assert %{"moduledoc" => nil, "specs" => [], "types" => [], "note" => note} = result = fetch!(name)
      assert note =~ "no documentation"
      assert entry(result, "map")["signature"] == "map/2"
      Code.delete_path(folder)
    end

    # The module `lists` with this documentation, or none.
    defp lists_with(docs) do
      {:ok, :lists, chunks} = :beam_lib.all_chunks(:code.which(:lists))
      bare = List.keydelete(chunks, ~c"Docs", 0)
      chunks = if docs, do: bare ++ [{~c"Docs", :erlang.term_to_binary(docs)}], else: bare
      {:ok, beam} = :beam_lib.build_module(chunks)
      beam
    end

    test "and whose file is damaged is an error", %{tmp_dir: folder} do
      name = "Damaged#{System.unique_integer([:positive])}"
      File.write!(Path.join(folder, "Elixir.#{name}.beam"), "not a beam file")
      Code.append_path(folder)
      assert {:error, message} = fetch(name)
      assert message =~ "damaged"
      Code.delete_path(folder)
    end
  end

  test "what is not a module" do
    for name <- [
          "Nope.Nope",
          "",
          " ",
          ":",
          "../../etc/passwd",
          "Enum/../x",
          "a b",
          "Enum\0",
          "Elixir.",
          "12",
          String.duplicate("A", 5_000)
        ] do
      assert {:error, message} = fetch(name)
      assert message =~ "Module not found"
      assert String.length(message) < 300
    end

    assert {:error, "Missing required parameter: module"} = FetchDocs.execute(%{}, %{})
    assert {:error, "Invalid module: expected string" <> _} = FetchDocs.execute(%{"module" => 1}, %{})
    assert {:error, "Invalid arity" <> _} = fetch("Enum", %{"arity" => "2"})
  end

  test "emits its event, with the outcome" do
    Events.record([[:jido_code, :elixir, :fetch_docs]])
    fetch("Enum", %{"function" => "map"})
    assert_received {:event, _, %{exit_code: 0}, %{task: "Enum", status: :ok, session_id: "s"}}
    fetch("Nope.Nope")
    assert_received {:event, _, %{exit_code: 1}, %{task: "Nope.Nope", status: :error}}
  end

  defp characters(term) when is_map(term), do: term |> Map.values() |> characters()
  defp characters(term) when is_list(term), do: term |> Enum.map(&characters/1) |> Enum.sum()
  defp characters(term) when is_binary(term), do: String.length(term)
  defp characters(_term), do: 0
end
