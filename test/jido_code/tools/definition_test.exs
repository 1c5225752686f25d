defmodule JidoCode.Tools.DefinitionTest do
  # The configuration, and with it the catalog, are the whole VM's.
  use ExUnit.Case, async: false

  alias JidoCode.Tools.{Arguments, Catalog, Config, Definition, SecureExecutor}
  alias JidoCode.Tools.Behaviours.SecureHandler
  alias JidoCode.Tools.Security.{AuditLogger, Permissions}

  defmodule Orders do
    use SecureHandler

    @impl true
    def definition do
      %{
        name: "orders",
        description: "List the newest orders.",
        tier: :write,
        hints: :looks,
        parameters: [
          %{
            name: "limit",
            type: :integer,
            required: false,
            default: 2,
            minimum: 1,
            maximum: 5,
            description: "How many."
          }
        ]
      }
    end

    def execute(%{"limit" => limit}, _context),
      do: {:ok, %{"orders" => limit, "token" => "ghp_" <> String.duplicate("a1", 18)}}
  end

  defmodule Broken do
    use SecureHandler

    @impl true
    def definition,
      do: %{name: "Broken Name", description: "", tier: :root, parameters: [%{name: "x", type: :text}]}

    def execute(_args, _context), do: {:ok, %{}}
  end

  defmodule BadParameter do
    use SecureHandler

    @impl true
    def definition do
      parameter = %{name: "x", type: :integer, maximum: 5, default: 9, description: "x"}
      %{name: "bad_parameter", description: "d", tier: :write, parameters: [parameter]}
    end

    def execute(_args, _context), do: {:ok, %{}}
  end

  defmodule Taken do
    use SecureHandler
    @impl true
    def definition, do: %{name: "mix_task", description: "d", tier: :read_only}
    def execute(_args, _context), do: {:ok, %{}}
  end

  defmodule Undefined do
    def execute(_args, _context), do: {:ok, %{}}
  end

  defp configure(tools) do
    Application.put_env(:jido_code_tools, :tools, tools)

    on_exit(fn ->
      Application.delete_env(:jido_code_tools, :tools)
      Config.reload()
    end)
  end

  describe "the library's own" do
    test "say all that others derive" do
      for definition <- Catalog.own() do
        assert Definition.problems(definition.handler) == []
        assert {family, operation} = definition.event
        assert family in [:elixir, :search, :shell] and is_atom(operation)
        assert definition.summary != definition.title
        assert definition.handler.security_properties() == Definition.properties(definition)
      end

      # The launcher's own are no other door's, so that nobody else asks for their tiers.
      for definition <- Catalog.definitions(),
          do: assert(Permissions.get_tool_tier(definition.name) == definition.tier)
    end

    test "have their bounds in the schema, and those are what is checked" do
      bounded =
        for definition <- Catalog.own(), %{maximum: maximum} = parameter <- definition.parameters do
          property = Catalog.schema(definition)["properties"][parameter.name]
          assert property["maximum"] == maximum

          args = %{parameter.name => maximum + 1}
          only = %{definition | parameters: [parameter]}
          assert {:ok, %{}} = Arguments.check(only, %{parameter.name => maximum})

          case Arguments.check(only, args) do
            {:ok, held} ->
              assert held == %{parameter.name => maximum}
              assert [note] = Arguments.cuts(only, args)
              assert note =~ "#{parameter.name} #{maximum}"

            {:error, text} ->
              assert text =~ "at most #{maximum}"
          end

          definition.name
        end

      assert ~w(ets_inspect inspect_supervisor mix_task bash_execute) -- bounded == []
    end

    test "keep a host's form: no key that its own structures don't have" do
      for tool <- Catalog.all() do
        assert Enum.sort(Map.keys(tool)) == [:description, :handler, :name, :parameters]

        for parameter <- tool.parameters,
            do:
              assert(
                Map.keys(parameter) -- [:default, :description, :enum, :items, :name, :required, :type] == []
              )
      end
    end
  end

  describe "a project's own tool" do
    test "is called through the whole pipeline" do
      configure([Orders])
      assert Config.reload() == :ok
      assert "orders" in Catalog.names()
      session = "orders-#{System.unique_integer()}"

      assert {:error, "Permission denied: orders needs the tier write" <> _} =
               SecureExecutor.call("orders", %{}, %{session_id: session})

      context = %{session_id: session, granted_tier: :write}
      assert {:ok, %{"orders" => 2, "token" => token}} = SecureExecutor.call("orders", %{}, context)
      assert token =~ "REDACTED"

      assert SecureExecutor.call("orders", %{"limit" => 9}, context) ==
               {:error, "Invalid limit: must be at most 5"}

      assert [:error, :ok, :blocked] = for(entry <- AuditLogger.get_audit_log(session), do: entry.status)
    end

    test "that can't be offered stops the start, and says why" do
      for {tools, words} <- [
            {[Broken], ":name takes lower-case letters"},
            {[Broken], ":tier takes one of"},
            {[BadParameter], "its parameter x: :default takes a value that the parameter itself takes"},
            {[Taken], "the name mix_task is taken by JidoCode.Tools.Handlers.Elixir.MixTask"},
            {[Orders, Orders], "the name orders is taken"},
            {[Undefined], "it has no definition/0"},
            {[NoSuch.Module], "there is no such module"},
            {["orders"], "takes modules, got"}
          ] do
        configure(tools)
        error = assert_raise ArgumentError, fn -> Config.reload() end
        assert error.message =~ words
        refute "orders" in Catalog.names()
      end
    end
  end

  describe "at a person's door" do
    setup do
      {:ok, context: %{session_id: "door-#{System.unique_integer()}", door: true}}
    end

    test "useful calls go on after any number of refused ones, and refused ones end", %{context: context} do
      docs = fn args -> SecureExecutor.call("fetch_elixir_docs", args, context) end
      for _ <- 1..600, do: assert({:error, "Missing required parameter" <> _} = docs.(%{}))
      assert {:error, "Rate limit exceeded for refused calls of fetch_elixir_docs" <> _} = docs.(%{})
      assert {:ok, _docs} = docs.(%{"module" => "Atom", "function" => "to_string"})

      denied = fn -> SecureExecutor.call("ets_inspect", %{"operation" => "list"}, context) end
      for _ <- 1..120, do: assert({:error, "Permission denied" <> _} = denied.())
      assert {:error, "Rate limit exceeded for refused calls" <> _} = denied.()
      granted = Map.put(context, :granted_tier, :privileged)
      assert {:ok, _tables} = SecureExecutor.call("ets_inspect", %{"operation" => "list"}, granted)
    end

    test "a bug fix of seventeen calls and more meets no limit", %{context: context} do
      context = Map.put(context, :granted_tier, :privileged)

      for _ <- 1..60,
          do: assert({:ok, _} = SecureExecutor.call("ets_inspect", %{"operation" => "list"}, context))
    end
  end
end
