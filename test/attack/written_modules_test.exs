defmodule JidoCode.Tools.Attack.WrittenModulesTest do
  # A command may write whatever it likes into the project's build. None of it may run in this VM because of a tool call.
  use ExUnit.Case, async: false

  alias JidoCode.Tools.SecureExecutor
  alias JidoCode.Tools.Test.Written

  @context %{session_id: "attack", granted_tier: :privileged}

  setup do
    {:ok, ebin: Written.folder()}
  end

  defp call(tool, args),
    do:
      SecureExecutor.call(tool, args, %{
        session_id: "attack-#{System.unique_integer()}",
        granted_tier: :privileged,
        project_root: File.cwd!()
      })

  defp never_ran(key), do: assert(:persistent_term.get(key, :never) == :never)

  test "a module with the name of the host's helpers is not called", %{ebin: ebin} do
    key = {__MODULE__, :helpers}

    {module, _beam} =
      Written.module(ebin, """
      defmodule JidoCode.Tools.HandlerHelpers do
        def get_project_root(_context) do
          :persistent_term.put(#{inspect(key)}, :ran)
          {:ok, "/"}
        end
      end
      """)

    assert {:ok, %{"total_matches" => _}} = grep()
    assert {:ok, _result} = call("fetch_elixir_docs", %{"module" => "Enum"})
    never_ran(key)
    refute :code.is_loaded(module)
  end

  defp grep do
    case call("grep_search", %{"pattern" => "defmodule JidoCode.Tools.Host do", "path" => "lib"}) do
      {:ok, result} -> {:ok, Map.put_new(result, "total_matches", nil)}
      error -> error
    end
  end

  test "a host's handler that was replaced before its first use is neither loaded nor asked for its tier", %{
    ebin: ebin
  } do
    key = {__MODULE__, :handler}

    {handler, _beam} =
      Written.module(ebin, """
      defmodule JidoCode.Tools.Attack.Replaced do
        def security_properties do
          :persistent_term.put(#{inspect(key)}, :ran)
          %{tier: :read_only}
        end

        def execute(_args, _context), do: {:ok, security_properties()}
      end
      """)

    # As old as anybody can make it look.
    File.touch!(Path.join(ebin, "#{handler}.beam"), 1_000_000)

    assert {:error, text} = SecureExecutor.run(%{name: "read_file", handler: handler}, %{}, @context)
    assert text =~ "newer than the start of this VM"

    assert {:error, {:permission_denied, %{required_tier: :privileged}}} =
             JidoCode.Tools.Security.Middleware.run_checks(%{name: "read_file", handler: handler}, %{}, %{
               session_id: "attack",
               granted_tier: :execute
             })

    never_ran(key)
    refute :code.is_loaded(handler)
  end

  test "what the library calls of Elixir's and Erlang's own is loaded before a command can stand in for it" do
    for module <- [Code.Typespec, Macro, Inspect.Algebra, :zlib, :beam_lib, :unicode_util, :rand],
        do: assert(:code.is_loaded(module), inspect(module))
  end

  test "the backend that a module's debug information names is not called", %{ebin: ebin} do
    key = {__MODULE__, :backend}

    Written.module(ebin, """
    defmodule JidoCode.Tools.Attack.Backend do
      def debug_info(_format, _module, _data, _options) do
        :persistent_term.put(#{inspect(key)}, :ran)
        {:ok, []}
      end
    end
    """)

    {module, beam} = Written.module(ebin, "defmodule JidoCode.Tools.Attack.Documented, do: def(f(x), do: x)")
    dbgi = :erlang.term_to_binary({:debug_info_v1, JidoCode.Tools.Attack.Backend, {:none, []}})
    File.write!(Path.join(ebin, "#{module}.beam"), Written.with_chunks(beam, %{"Dbgi" => dbgi}))

    assert {:ok, %{"docs" => [%{"name" => "f"}]}} = call("fetch_elixir_docs", %{"module" => inspect(module)})
    never_ran(key)
    refute :code.is_loaded(JidoCode.Tools.Attack.Backend)
    refute :code.is_loaded(module)
  end

  @tag :as_built
  test "a module that the project rewrote is not what another node is lent" do
    module = hd(JidoCode.Tools.Remote.Loader.modules())
    file = :code.which(module)
    {:ok, beam} = File.read(file)
    other = Written.with_chunks(beam, %{"LitT" => nil, "Docs" => nil})
    refute :beam_lib.md5(other) == :beam_lib.md5(beam)

    try do
      File.write!(file, other)
      assert {:error, text} = JidoCode.Tools.Remote.Loader.own_code()
      assert text =~ "can't lend"
    after
      File.write!(file, beam)
    end

    assert {:ok, binaries} = JidoCode.Tools.Remote.Loader.own_code()
    assert length(binaries) == length(JidoCode.Tools.Remote.Loader.modules())
  end
end
