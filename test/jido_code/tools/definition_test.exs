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
        assert Definition.checked(definition.handler) == {:ok, definition}
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
            {[Broken], ":name takes up to 64 lower-case letters"},
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

  # A handler that is made for one test, with the body of its `definition/0`.
  defp handler(body) do
    name = Module.concat(__MODULE__, "Made#{System.unique_integer([:positive])}")

    Module.create(
      name,
      quote do
        use SecureHandler
        @impl true
        def definition, do: unquote(body)
        def execute(_args, _context), do: {:ok, %{}}
      end,
      Macro.Env.location(__ENV__)
    )

    name
  end

  describe "a definition/0 that misbehaves" do
    test "stops the start with the tool's module and the cause, whatever it does" do
      for {body, words} <- [
            {quote(do: throw(:thrown)), "definition/0 fails: (throw) :thrown"},
            {quote(do: exit(:exited)), "definition/0 fails: (exit) :exited"},
            {quote(do: raise("a\e[2Jb\n")), "definition/0 fails: (RuntimeError) a\\u{1B}[2Jb"},
            {quote(do: Process.exit(self(), :kill)), "definition/0 was killed"},
            {quote(do: [:no_map]), "does not return a map"}
          ] do
        made = handler(body)
        configure([made])
        error = assert_raise ArgumentError, fn -> Config.reload() end
        assert error.message =~ "#{inspect(made)} can't be a tool"
        assert error.message =~ words
        refute error.message =~ ~r/[\e\n]/
      end
    end

    test "that never returns is given up" do
      made = handler(quote(do: Process.sleep(:infinity)))
      assert Definition.checked(made, 50) == {:error, ["its definition/0 has not returned within 50 ms"]}
    end

    test "that changes is called once, and what was checked holds" do
      counter = :counters.new(1, [])
      :persistent_term.put({__MODULE__, :counter}, counter)
      on_exit(fn -> :persistent_term.erase({__MODULE__, :counter}) end)

      made =
        handler(
          quote do
            counter = :persistent_term.get({unquote(__MODULE__), :counter})
            :counters.add(counter, 1, 1)

            if :counters.get(counter, 1) == 1,
              do: %{name: "changing", description: "First.", tier: :privileged, requires_consent: true},
              else: %{name: "Bad name\e[2J", description: "Later.", tier: :read_only}
          end
        )

      configure([made])
      assert Config.reload() == :ok
      assert :counters.get(counter, 1) == 1
      assert {:ok, %{tier: :privileged}} = Catalog.fetch("changing")

      for tier <- [:read_only, :privileged] do
        context = %{session_id: "changing-#{System.unique_integer()}", granted_tier: tier}
        assert {:error, refusal} = SecureExecutor.call("changing", %{}, context)
        assert refusal =~ ~r/needs the tier privileged|Consent required/
      end

      assert :counters.get(counter, 1) == 1
    end
  end

  describe "a definition" do
    @sound %{name: "sound", description: "What it does.", tier: :read_only, parameters: []}

    test "has only keys, types, lengths and characters that are allowed, and is told which" do
      assert Definition.problems_of(@sound) == []
      parameter = %{name: "x", type: :string, description: "d"}

      for {change, words} <- [
            {%{description: String.duplicate("a", 4_001)}, "up to 4000 characters"},
            {%{description: "See\u202Ethis"}, "without invisible ones"},
            {%{description: <<255>>}, ":description takes"},
            {%{title: "\e[31m\u202e"}, ":title takes a line of up to 100 characters"},
            {%{title: "two\nlines"}, ":title takes a line"},
            {%{title: String.duplicate("a", 101)}, ":title takes a line"},
            {%{summary: 5}, ":summary takes a line"},
            {%{limits: {1}}, ":limits takes a line"},
            {%{label: {:argument, :nope}}, ":label takes"},
            {%{label: {:argument, "nope"}}, ~s(:label names "nope", which is none of its parameters)},
            {%{event: 5}, ":event takes {family, operation}"},
            {%{event: {:nope, :x}}, ":event takes {family, operation}"},
            {%{at_node: :yes}, ":at_node takes true, false"},
            {%{hints: %{__struct__: 1}}, ":hints takes"},
            {%{launcher?: true}, "only the library's own tools may have"},
            {%{requires_consnet: true}, "the unknown key :requires_consnet"},
            {%{parameters: [parameter | :improper]}, ":parameters takes a list"},
            {%{parameters: [%{parameter | description: "\e[2J"}]}, "its parameter x: :description takes"},
            {%{parameters: [Map.put(parameter, :enum, ["a" | "b"])]}, "its parameter x: :enum takes"}
          ] do
        assert [problem] = Definition.problems_of(Map.merge(@sound, change))
        assert problem =~ words
        refute problem =~ ~r/[\e\n\x{202E}]/u
        assert String.length(problem) < 600
      end
    end

    test "may be as long as is said, and may name its keys without values" do
      full = %{description: String.duplicate("a", 4_000), title: String.duplicate("a", 100), label: "fixed"}
      assert Definition.problems_of(Map.merge(@sound, full)) == []

      labelled = %{label: {:argument, "x"}, parameters: [%{name: "x", type: :string, description: "d"}]}
      assert Definition.problems_of(Map.merge(@sound, labelled)) == []

      none = Map.merge(@sound, %{title: nil, summary: nil, timeout_ms: nil, rate_limit: nil, hints: nil})
      assert Definition.problems_of(none) == []
      assert %{title: "sound", summary: "sound", timeout_ms: 30_000} = Definition.complete(none, nil)
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
