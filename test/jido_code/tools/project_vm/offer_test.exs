defmodule JidoCode.Tools.ProjectVM.OfferTest do
  # What the project's VM offers may be anything: a model wrote what runs there.
  # The catalog is the whole VM's.
  use ExUnit.Case, async: false

  alias JidoCode.Tools.Behaviours.SecureHandler
  alias JidoCode.Tools.{Catalog, Config, Definition}
  alias JidoCode.Tools.Doors.MCP.Listing
  alias JidoCode.Tools.ProjectVM.{Offer, OwnTools, Wire}

  defmodule Orders do
    use SecureHandler

    @impl true
    def definition do
      %{
        name: "orders",
        title: "Orders",
        description: "List the newest orders.",
        tier: :read_only,
        hints: :looks,
        rate_limit: {1, 60_000},
        requires_consent: true,
        timeout_ms: 700,
        text: fn %{"orders" => orders} -> "#{orders} orders" end,
        parameters: [
          %{
            name: "limit",
            type: :integer,
            required: false,
            default: 2,
            maximum: 5,
            beyond: :cut,
            description: "How many."
          },
          %{name: "states", type: :array, items: :string, required: false, description: "Of which."},
          %{
            name: "how",
            type: :string,
            enum: ["well", "ill", "deep", "raises"],
            required: false,
            description: "How it goes."
          }
        ]
      }
    end

    def execute(%{"how" => "raises"}, _context), do: raise("no orders")
    def execute(%{"how" => "deep"}, _context), do: {:ok, %{"orders" => Enum.reduce(1..100, 1, &[&1, &2])}}
    def execute(%{"how" => "ill"}, _context), do: {:ok, %{"pid" => self(), 1 => <<255>>, "tuple" => {:a, 1}}}

    def execute(%{"limit" => limit}, _context),
      do: {:ok, %{"orders" => limit, "token" => "ghp_" <> String.duplicate("a1", 18)}}
  end

  @plain %{
    "name" => "plain",
    "title" => "Plain",
    "description" => "What it does.",
    "tier" => "read_only",
    "parameters" => [%{"name" => "x", "type" => "integer", "description" => "A number."}],
    "digest" => "d"
  }

  defp orders do
    Application.put_env(:jido_code_tools, :tools, [Orders])
    :ok = Config.reload()

    on_exit(fn ->
      Application.delete_env(:jido_code_tools, :tools)
      Config.reload()
    end)

    [definition] = Catalog.declared()
    definition
  end

  defp refused(change) do
    {[], [why]} = Offer.read([Map.merge(@plain, change)])
    why
  end

  test "a definition arrives as it was, but for what only a person may lower" do
    definition = orders()

    {:ok, %{"tools" => entries}} =
      Wire.decode(:erlang.term_to_binary(%{"tools" => Offer.write([definition])}))

    assert {[read], []} = Offer.read(entries)

    assert Definition.schema(read) == Definition.schema(definition)
    assert Definition.offered?(read) and not Definition.offered?(definition)
    same = [:name, :title, :description, :parameters, :timeout_ms, :rate_limit, :requires_consent]
    assert Map.take(read, same) == Map.take(definition, same)

    # It runs the project's code, as a task of the project does, whatever it says.
    assert read.tier == :execute
    assert %{"readOnlyHint" => false, "destructiveHint" => true} = Listing.tool(read)["annotations"]
    {[higher], []} = Offer.read([Map.put(@plain, "tier", "privileged")])
    assert higher.tier == :privileged
  end

  test "a rate or a time that is more than others get is not taken" do
    {[many], []} = Offer.read([Map.put(@plain, "rate_limit", [1_000_000, 1])])
    refute is_map_key(many, :rate_limit)
    {[few], []} = Offer.read([Map.put(@plain, "rate_limit", [1, 60_000])])
    assert few.rate_limit == {1, 60_000}

    {[slow], []} = Offer.read([Map.put(@plain, "timeout_ms", 10_000_000_000)])
    call = JidoCode.Tools.ProjectVM.Tool.call(slow, %{}, %{})
    assert JidoCode.Tools.CallTime.of(call) == 600_000
  end

  test "what is wrong with one is said, and the others are taken" do
    assert refused(%{"name" => "mix_task"}) =~ "taken by one of the server's"
    assert refused(%{"name" => "restart_project"}) =~ "taken by one of the server's"

    for name <- [
          "Plain",
          "a b",
          "a\e[31m",
          "a\nb",
          "é",
          "",
          String.duplicate("a", 65),
          nil,
          7,
          %{},
          ["plain"]
        ],
        do: assert(refused(%{"name" => name}) =~ "not offered")

    for {change, words} <- [
          {%{"tier" => "root"}, "tier"},
          {%{"tier" => nil}, "tier"},
          {%{"description" => " "}, ":description takes"},
          {%{"description" => "See\u202Ethis"}, "invisible characters"},
          {%{"title" => 7}, ":title takes"},
          {%{"description" => String.duplicate("x", 20_000)}, "bytes"},
          {%{"digest" => nil}, "digest"},
          {%{"timeout_ms" => -1}, ":timeout_ms takes"},
          {%{"rate_limit" => ["a", 1]}, "rate_limit"},
          {%{"parameters" => nil}, "parameters"},
          {%{"parameters" => ["x"]}, "not a map"}
        ] do
      assert refused(change) =~ words
    end

    for {change, words} <- [
          {%{"type" => "atom"}, "type"},
          {%{"type" => nil}, "type"},
          {%{"items" => "atom"}, "items"},
          {%{"name" => "a b"}, ":name takes"},
          {%{"name" => nil}, "a :name"},
          {%{"enum" => [%{}]}, ":enum takes"},
          {%{"enum" => []}, ":enum takes"},
          {%{"refusal" => 1}, ":refusal takes"},
          {%{"default" => "no number"}, ":default takes"},
          {%{"minimum" => "1"}, ":minimum takes"}
        ] do
      [parameter] = @plain["parameters"]
      assert refused(%{"parameters" => [Map.merge(parameter, change)]}) =~ words
    end

    [parameter] = @plain["parameters"]
    assert refused(%{"parameters" => [parameter, parameter]}) =~ "twice"

    assert {[%{name: "plain"}, %{name: "other"}], [taken, no_map]} =
             Offer.read([@plain, @plain, "nonsense", %{@plain | "name" => "other"}])

    assert taken =~ "taken by one before it"
    assert no_map =~ "is not a definition"
  end

  test "a list that is too long is cut, and told in a few lines" do
    tools = for number <- 1..5_000, do: %{@plain | "name" => "t#{number}"}
    {taken, [why]} = Offer.read(tools)
    assert length(taken) == 50
    assert why =~ "more than 50"

    {[], told} = Offer.read(List.duplicate(7, 5_000))
    assert length(told) == 12
  end

  test "no atom is made, and a secret in a text does not get on" do
    name = "never_an_atom_#{System.unique_integer([:positive])}"

    {[tool], []} =
      Offer.read([
        Map.merge(@plain, %{
          "name" => name,
          name => name,
          "description" => "ghp_" <> String.duplicate("a1", 18)
        })
      ])

    refute tool.description =~ "a1a1"
    assert_raise ArgumentError, fn -> String.to_existing_atom(name) end
  end

  test "a definition that is too large is not sent, and told where it was written" do
    large = %{orders() | description: String.duplicate("x", 20_000)}
    log = ExUnit.CaptureLog.capture_log(fn -> assert Offer.write([large]) == [] end)
    assert log =~ "orders"
  end

  describe "a call in the project's VM" do
    setup do
      definition = orders()
      %{tool: %{name: "orders", digest: Offer.digest(definition), write?: false}}
    end

    test "runs the handler, isolated and redacted", %{tool: tool} do
      assert %{"ok" => %{"result" => %{"orders" => 2, "token" => token}}} =
               OwnTools.call(tool, %{"limit" => 2}, %{})

      refute token =~ "a1a1"
      assert %{"ok" => %{"text" => "2 orders"}} = OwnTools.call(%{tool | write?: true}, %{"limit" => 2}, %{})

      assert %{"error" => "orders crashed: ** (RuntimeError) no orders"} =
               OwnTools.call(tool, %{"how" => "raises"}, %{})
    end

    test "shows what is no data, and sends nothing that would not be taken", %{tool: tool} do
      assert %{"ok" => %{"result" => result}} = answer = OwnTools.call(tool, %{"how" => "ill"}, %{})
      assert %{"pid" => "#PID<" <> _, "1" => "<<255>>", "tuple" => "{:a, 1}"} = result
      assert Wire.sendable?(answer)
    end

    test "says when a result can't be sent", %{tool: tool} do
      assert %{"error" => "The result of orders" <> _} = OwnTools.call(tool, %{"how" => "deep"}, %{})
    end

    test "is refused when the definition is not the one that was listed", %{tool: tool} do
      assert %{"error" => "orders has changed since" <> _} =
               OwnTools.call(%{tool | digest: "older"}, %{}, %{})

      assert %{"error" => "gone has changed since" <> _} = OwnTools.call(%{tool | name: "gone"}, %{}, %{})
    end
  end
end
