defmodule JidoCode.Tools.Attack.WrittenFilesTest do
  # Files that a command left where the library reads documentation: none may stop the VM, fill it, or make atoms in it.
  use ExUnit.Case, async: false

  alias JidoCode.Tools.SecureExecutor
  alias JidoCode.Tools.Test.Written

  setup do
    ebin = Written.folder()
    chunks = Path.join([Path.dirname(ebin), "doc", "chunks"])
    File.mkdir_p!(chunks)
    name = "JidoCode.Tools.Attack.Plain#{System.unique_integer([:positive])}"

    {module, beam} =
      Written.module(ebin, """
      defmodule #{name} do
        @moduledoc "Plain."
        @doc "Does it."
        @spec f(integer()) :: integer()
        def f(x), do: x
      end
      """)

    bare = Written.with_chunks(beam, %{"Docs" => nil})
    file = Path.join(ebin, "#{module}.beam")
    beside = Path.join(chunks, "#{module}.chunk")
    {:ok, name: name, beam: beam, bare: bare, written: file, beside: beside}
  end

  # Another one each time: the limits are not what is tried here.
  defp session, do: "attack-#{System.unique_integer()}"

  defp docs(name),
    do:
      SecureExecutor.call("fetch_elixir_docs", %{"module" => name}, %{
        session_id: session(),
        granted_tier: :read_only
      })

  defp docs_v1(entries),
    do:
      <<131, 104, 7, :erlang.term_to_binary(:docs_v1) |> body()::binary, nil_()::binary, nil_()::binary,
        nil_()::binary, nil_()::binary, nil_()::binary, entries::binary>>

  defp nil_, do: body(:erlang.term_to_binary(nil))
  defp body(<<131, body::binary>>), do: body

  defp packed(<<131, body::binary>>), do: <<131, 80, byte_size(body)::32, :zlib.compress(body)::binary>>

  test "names in documentation become no atoms", %{name: name, bare: bare, written: file, beside: beside} do
    File.write!(file, bare)
    File.write!(beside, packed(docs_v1(Written.names(50_000))))
    before = :erlang.system_info(:atom_count)
    assert {:ok, %{"moduledoc" => nil}} = docs(name)
    File.rm!(beside)
    File.write!(file, Written.with_chunks(bare, %{"Docs" => docs_v1(Written.names(50_000))}))
    assert {:ok, _result} = docs(name)
    File.write!(file, Written.with_chunks(bare, %{"Dbgi" => packed(<<131, Written.names(50_000)::binary>>)}))
    assert {:ok, _result} = docs(name)
    assert :erlang.system_info(:atom_count) - before < 1_000
  end

  test "names that this VM does not have are shown all the same", %{written: file} do
    # Written by another VM, which has them.
    name = "Un#{System.unique_integer([:positive])}known"

    source = """
    defmodule #{name} do
      @doc "About it."
      @spec strange_#{name}(given_#{name} :: word_#{name}()) :: {:ok_#{name}, Other#{name}.t(), mine} when mine: var
      @type word_#{name} :: :one_#{name} | %{key_#{name}: integer()}
      def strange_#{name}(_given), do: raise("no")
    end
    """

    {_output, 0} =
      System.cmd("elixir", [
        "-e",
        "[{_, b}] = Code.compile_string(hd(System.argv())); File.write!(List.last(System.argv()), b)",
        source |> String.replace("when mine: var", "when mine: term"),
        Path.join(Path.dirname(file), "Elixir.#{name}.beam")
      ])

    assert {:ok, result} = docs(name)
    assert [%{"name" => "strange_" <> ^name, "doc" => "About it."}] = result["docs"]
    assert [%{"specs" => [spec]}] = result["specs"]
    assert spec =~ "strange_#{name}(given_#{name} :: word_#{name}()) ::"
    assert spec =~ "{:ok_#{name}, Other#{name}.t(), mine}"
    assert [%{"type" => type}] = result["types"]
    assert type == "@type word_#{name}() :: :one_#{name} | %{key_#{name}: integer()}"
  end

  test "a small file that unfolds to gigabytes is not unfolded", %{
    name: name,
    bare: bare,
    written: file,
    beside: beside
  } do
    File.write!(file, bare)
    zeros = :zlib.compress(:binary.copy(<<0>>, 50_000_000))
    bytes = fn -> :erlang.memory(:binary) end

    for size <- [1_800_000_000, 1_000, 0xFFFFFFFF] do
      File.write!(beside, <<131, 80, size::32, zeros::binary>>)
      before = bytes.()
      assert {:ok, %{"moduledoc" => nil}} = docs(name)
      assert bytes.() - before < 100_000_000
    end

    # Packed as a whole.
    File.write!(file, :zlib.gzip(:binary.copy(<<0>>, 200_000_000)))
    assert {:error, text} = docs(name)
    assert text =~ "can't be read"
  end

  test "a named pipe in a module's place stops nothing", %{
    name: name,
    bare: bare,
    written: file,
    beside: beside
  } do
    File.rm!(file)
    {_, 0} = System.cmd("mkfifo", [file])
    # More than the VM has threads for reading files.
    for _ <- 1..12, do: assert({:error, "Module not found" <> _} = docs(name))

    File.rm!(file)
    File.write!(file, bare)
    {_, 0} = System.cmd("mkfifo", [beside])
    for _ <- 1..12, do: assert({:ok, %{"moduledoc" => nil}} = docs(name))
    assert {:ok, _content} = File.read("mix.exs")
    assert {:error, _not_there} = :code.load_file(:jido_code_tools_no_such_module)
  end

  test "what is changed is read anew, whatever its date", %{name: name, beam: beam, bare: bare, written: file} do
    File.write!(file, beam)
    File.touch!(file, 1_000_000)
    assert {:ok, %{"moduledoc" => "Plain."}} = docs(name)
    File.write!(file, bare <> :binary.copy(<<0>>, byte_size(beam) - byte_size(bare)))
    File.touch!(file, 1_000_000)
    assert {:ok, %{"moduledoc" => nil}} = docs(name)
  end

  test "a damaged file is an answer", %{name: name, beam: beam, written: file} do
    for place <- Enum.take_every(8..(byte_size(beam) - 1), 7) do
      <<head::binary-size(place), byte, tail::binary>> = beam
      File.write!(file, <<head::binary, Bitwise.bxor(byte, 0xFF), tail::binary>>)
      assert {kind, _answer} = docs(name)
      assert kind in [:ok, :error]
    end
  end
end
