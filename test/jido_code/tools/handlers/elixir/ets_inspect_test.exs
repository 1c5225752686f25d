defmodule JidoCode.Tools.Handlers.Elixir.EtsInspectTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Handlers.Elixir.EtsInspect
  alias JidoCode.Tools.Test.{Events, Processes}

  @context %{project_namespaces: :all, session_id: "s"}
  @secret Enum.map_join(1..4, &Integer.to_string(&1 * 4_441, 36))

  defp call(operation, args \\ %{}, context \\ @context) do
    EtsInspect.execute(Map.put(args, "operation", operation), context)
  end

  defp table(options, rows \\ []) do
    protection = if Enum.any?(options, &(&1 in [:private, :protected])), do: [], else: [:public]
    table = :ets.new(Processes.unique(:table), [:named_table | protection ++ options])
    :ets.insert(table, rows)
    {table |> inspect() |> String.trim_leading(":"), table}
  end

  defp lookup(name, key, args \\ %{}), do: call("lookup", Map.merge(%{"table" => name, "key" => key}, args))

  describe "list" do
    test "names the project's tables and counts those without a name" do
      {name, table} = table([], [{1, :a}, {2, :b}])
      unnamed = :ets.new(:unnamed, [:public])

      assert {:ok, %{"operation" => "list", "result" => tables, "count" => count, "unnamed" => more}} =
               call("list")

      assert count >= 1 and count >= length(tables) and more >= 1

      assert entry = Enum.find(tables, &(&1["name"] == name))

      assert %{
               "type" => "set",
               "size" => 2,
               "protection" => "public",
               "memory" => words,
               "memory_bytes" => bytes
             } = entry

      assert bytes == words * :erlang.system_info(:wordsize)
      assert entry["owner"] == inspect(self())
      :ets.delete(unnamed)
      :ets.delete(table)
    end

    test "names them as they are typed" do
      for atom <- [:typed_table, JidoCode.TypedTable] do
        table = :ets.new(atom, [:named_table, :public])
        assert {:ok, %{"result" => tables}} = call("list")

        assert name =
                 Enum.find_value(
                   tables,
                   &(String.ends_with?(&1["name"], ["typed_table", "TypedTable"]) && &1["name"])
                 )

        assert name in ["typed_table", "JidoCode.TypedTable"]
        assert {:ok, %{"count" => 0}} = call("info", %{"table" => name})
        :ets.delete(table)
      end
    end

    test "hides nothing without a number and a reason" do
      {_name, _table} = table([])
      assert {:ok, %{"hidden" => hidden, "note" => note}} = call("list")
      assert hidden["system"] > 10
      assert note =~ "#{hidden["system"]} of Erlang, Elixir and JidoCode"

      assert {:ok, %{"hidden" => hidden, "note" => note}} =
               call("list", %{}, %{project_namespaces: ["Elsewhere"]})

      assert hidden["other_applications"] > 0
      assert note =~ "that are not part of the project" and note =~ "project_namespaces"
    end

    test "leaves out the system's tables, and tables of others" do
      {name, _table} = table([])
      assert {:ok, %{"result" => tables}} = call("list")
      names = Enum.map(tables, & &1["name"])

      for system <- [":ac_tab", ":code", ":logger", ":elixir_config", ":elixir_modules", ":inet_db"],
          do: refute(system in names)

      assert {:ok, %{"result" => tables}} = call("list", %{}, %{project_namespaces: ["Elsewhere"]})
      refute name in Enum.map(tables, & &1["name"])
    end
  end

  describe "info" do
    test "says what ETS says" do
      {name, table} = table([:ordered_set], [{1, :a}])

      assert {:ok, %{"operation" => "info", "table" => ^name, "result" => info, "count" => 1}} =
               call("info", %{"table" => name})

      assert %{
               "type" => "ordered_set",
               "size" => 1,
               "named_table" => true,
               "keypos" => 1,
               "compressed" => false
             } = info

      assert info["owner"] == inspect(self())

      assert Map.keys(info) -- ["memory_bytes"] ==
               table |> :ets.info() |> Keyword.keys() |> Enum.map(&to_string/1) |> Enum.sort()
    end

    test "is given for tables whose rows are not" do
      for protection <- [:protected, :private] do
        {name, _table} = table([protection])
        assert {:ok, %{"result" => %{"protection" => _}}} = call("info", %{"table" => name})
      end
    end
  end

  describe "lookup" do
    test "finds keys of many kinds" do
      rows = [
        {1, :integer},
        {1.5, :float},
        {"text", :string},
        {~c"chars", :charlist},
        {:atom, :atom},
        {Enum, :module},
        {true, :boolean},
        {nil, nil},
        {{:user, 1}, :tuple},
        {[1, "a"], :list},
        {"plain text", :plain}
      ]

      {name, _table} = table([], rows)

      for {key, value} <- rows do
        assert {:ok, %{"count" => 1, "result" => [row], "key" => _, "truncated" => false}} =
                 lookup(name, inspect(key))

        assert row =~ inspect(value)
      end

      assert {:ok, %{"result" => [_]}} = lookup(name, "plain text")
      assert {:ok, %{"result" => [_]}} = lookup(name, "text")
      assert {:ok, %{"result" => [], "count" => 0}} = lookup(name, "absent")
    end

    test "reads some rows of a bag's key, not all" do
      for type <- [:bag, :duplicate_bag] do
        {name, table} = table([type], for(n <- 1..5_000, do: {:k, n}))
        :ets.insert(table, [{:k, 1, 2, 3}, {:other, 1}])
        assert {:ok, result} = lookup(name, ":k", %{"limit" => 7})
        assert length(result["result"]) == 7
        assert result["count"] == 5_001
        assert result["truncated"]
        assert Enum.all?(result["result"], &(&1 =~ "{:k, "))
      end
    end

    test "a key that looks like a pattern matches nothing but itself" do
      {name, _table} = table([:bag], [{:_, 1}, {:a, 2}, {{:_, :_}, 3}])
      for key <- [":_", "{:_, :_}", ":\"$1\""], do: assert({:ok, %{"result" => []}} = lookup(name, key))
      {name, _table} = table([:set], [{:_, 1}, {:a, 2}])
      assert {:ok, %{"result" => ["{:_, 1}"]}} = lookup(name, ":_")
    end

    test "another key position" do
      {name, _table} = table([:bag, keypos: 2], [{"v", :k}, {"w", :k}])
      assert {:ok, %{"count" => 2}} = lookup(name, ":k")
    end

    test "a key that is longer than any result is refused" do
      {name, _table} = table([])
      assert {:error, "Invalid key" <> _ = message} = lookup(name, String.duplicate("x", 100_000))
      assert String.length(message) < 100
    end

    test "an unknown atom is no key, and is not made" do
      {name, _table} = table([])
      assert {:error, message} = lookup(name, ":never_seen_before_as_a_key")
      assert message =~ "Atom key does not exist"
      assert {:error, "Invalid key" <> _} = lookup(name, "{:a, ")
      assert_raise ArgumentError, fn -> String.to_existing_atom("never_seen_before_" <> "as_a_key") end
    end
  end

  describe "sample" do
    test "shows ten rows unless told otherwise, a hundred at most" do
      {name, _table} = table([], for(n <- 1..500, do: {n, n}))

      for {args, count} <- [
            {%{}, 10},
            {%{"limit" => 3}, 3},
            {%{"limit" => 0}, 10},
            {%{"limit" => 5_000}, 100}
          ] do
        assert {:ok, result} = call("sample", Map.put(args, "table", name))
        assert %{"count" => ^count, "total_size" => 500, "truncated" => true} = result
        assert length(result["result"]) == count
      end
    end

    test "of every type of table, without leaving it fixed" do
      for type <- [:set, :ordered_set, :bag, :duplicate_bag] do
        {name, table} = table([type], [{1, :a}, {2, :b}, {2, :c}])

        assert {:ok, %{"result" => rows, "truncated" => false, "count" => count}} =
                 call("sample", %{"table" => name})

        assert length(rows) == count and count == :ets.info(table, :size)
        assert :ets.info(table, :fixed) == false
      end
    end

    test "of an empty table" do
      {name, _table} = table([])

      assert {:ok, %{"result" => [], "count" => 0, "total_size" => 0, "truncated" => false}} =
               call("sample", %{"table" => name})
    end

    test "all rows together fit into a result, each cut to its share" do
      {name, _table} = table([], for(n <- 1..200, do: {n, String.duplicate("é", 5_000)}))
      assert {:ok, %{"result" => rows, "count" => 100}} = call("sample", %{"table" => name, "limit" => 100})
      assert rows |> Enum.map(&String.length/1) |> Enum.sum() <= 28_000
      assert Enum.all?(rows, &String.valid?/1)
    end

    test "shows small rows whole: the room is shared among the rows that are there" do
      {name, _table} = table([], for(n <- 1..5, do: {n, String.duplicate("x", 3_000)}))
      assert {:ok, %{"result" => rows}} = call("sample", %{"table" => name, "limit" => 100})
      assert Enum.all?(rows, &(byte_size(&1) > 3_000 and not (&1 =~ "more bytes")))

      # One large row among small ones gets what these leave.
      {name, _table} = table([], [{0, Enum.to_list(1..2_000)} | for(n <- 1..30, do: {n, :small})])
      assert {:ok, %{"result" => rows}} = call("sample", %{"table" => name, "limit" => 100})
      assert rows |> Enum.map(&byte_size/1) |> Enum.max() > 2_000
    end

    test "while rows are deleted and added" do
      {name, table} = table([], for(n <- 1..2_000, do: {n, n}))

      churn =
        spawn(fn ->
          Stream.iterate(1, &(&1 + 1))
          |> Enum.each(fn n ->
            :ets.delete(table, rem(n, 2_000))
            :ets.insert(table, {rem(n * 7, 2_000), n})
          end)
        end)

      for _ <- 1..30 do
        assert {:ok, %{"count" => count}} = call("sample", %{"table" => name, "limit" => 50})
        assert count > 0
      end

      monitor = Process.monitor(churn)
      Process.exit(churn, :kill)
      assert_receive {:DOWN, ^monitor, :process, ^churn, :killed}
    end

    test "while the table is deleted" do
      for _ <- 1..50 do
        {name, table} = table([], for(n <- 1..200, do: {n, n}))
        task = Task.async(fn -> call("sample", %{"table" => name, "limit" => 100}) end)
        :erlang.yield()
        :ets.delete(table)

        case Task.await(task) do
          {:ok, %{"result" => rows}} -> assert is_list(rows)
          {:error, message} -> assert message =~ "not found"
        end
      end
    end
  end

  test "sensitive fields are hidden before anything is rendered" do
    {name, _table} = table([], [{:password, @secret}, {"api_key", @secret}, {1, %{token: @secret}}])

    for key <- [":password", "api_key", "1"] do
      assert {:ok, %{"result" => [row]}} = lookup(name, key)
      assert row =~ "[REDACTED]"
      refute row =~ @secret
    end
  end

  test "rows of protected tables are read at the library's own doors, of private ones nowhere" do
    {protected, _table} = table([:protected], [{1, 2}])
    {private, _table} = table([:private], [{1, 2}])
    wide = Map.put(@context, :wide_reach, true)

    read = fn name, context ->
      Task.await(Task.async(fn -> call("sample", %{"table" => name}, context) end))
    end

    assert {:ok, %{"result" => ["{1, 2}"]}} = read.(protected, wide)
    assert {:error, "Table" <> _} = read.(protected, @context)
    assert {:error, text} = read.(private, wide)
    assert text =~ "private"
  end

  test "keys of pids, records and binaries, in Elixir's spelling and Erlang's" do
    key = {:resource, "/", :queue, "q"}
    {name, _table} = table([], [{key, :a}, {self(), :b}, {{:row, ~c"text"}, :c}])

    for text <- [
          inspect(key),
          ~S({:resource, <<"/">>, :queue, <<"q">>}),
          ~S({resource,<<"/">>,queue,<<"q">>})
        ] do
      assert {:ok, %{"result" => [row]}} = lookup(name, text)
      assert row =~ ":a}"
    end

    assert {:ok, %{"result" => [row]}} = lookup(name, inspect(self()))
    assert row =~ ":b}"
    assert {:ok, %{"result" => [_]}} = lookup(name, ~S({row, "text"}))
    assert {:ok, %{"result" => [_]}} = lookup(name, ~S(#row{value: 'text'}))
  end

  describe "refuses" do
    test "rows of private tables, and of protected ones to all but their owner" do
      {private, _table} = table([:private])
      assert {:error, message} = lookup(private, "1")
      assert message =~ "private"

      {protected, _table} = table([:protected], [{1, 2}])
      assert {:ok, %{"result" => ["{1, 2}"]}} = lookup(protected, "1")

      assert {:error, message} = Task.async(fn -> lookup(protected, "1") end) |> Task.await()
      assert message =~ "protected" and message =~ "owner"
    end

    test "the system's tables, with or without colon" do
      for name <- ["code", ":code", "ac_tab", "shell_records", "elixir_modules", ":logger", "file_io_servers"],
          {operation, args} <- [{"info", %{}}, {"sample", %{}}, {"lookup", %{"key" => "1"}}] do
        assert {:error, message} = call(operation, Map.put(args, "table", name))
        assert message =~ "blocked"
      end
    end

    test "every table of the runtime" do
      names =
        for table <- :ets.all(),
            is_atom(table),
            owner = :ets.info(table, :owner),
            is_pid(owner),
            do: {table, owner}

      for {table, owner} <- names,
          match?(
            {:ok, app} when app in [:kernel, :stdlib, :elixir, :logger],
            :application.get_application(owner)
          ) do
        assert {:error, message} = call("info", %{"table" => inspect(table)})
        assert message =~ "blocked", "#{inspect(table)}: #{message}"
      end
    end

    test "tables of others, and says how to allow them" do
      {name, _table} = table([])
      assert {:error, message} = call("info", %{"table" => name}, %{project_namespaces: ["Elsewhere"]})
      assert message =~ "project_namespaces"
    end

    test "what is not a table" do
      for {name, text} <- [
            {"no_such_table_here", "not found"},
            {"ok", "not found"},
            {":erlang", "not found"},
            {"#Ref<0.1.2.3>", "Reference-based tables"},
            {"", "Invalid table"}
          ] do
        assert {:error, message} = call("info", %{"table" => name})
        assert message =~ text
      end
    end

    test "calls with missing or wrong arguments, and emits nothing" do
      Events.record([[:jido_code, :elixir, :ets_inspect]])

      for {args, text} <- [
            {%{}, "Missing required parameter: operation"},
            {%{"operation" => "match"}, "Invalid operation"},
            {%{"operation" => 1}, "Invalid operation"},
            {%{"operation" => "info"}, "Missing required parameter: table"},
            {%{"operation" => "sample"}, "Missing required parameter: table"},
            {%{"operation" => "lookup", "table" => "x"}, "Missing required parameter: key"},
            {%{"operation" => "lookup"}, "Missing required parameter: key"},
            {%{"operation" => "list", "limit" => "5"}, "Invalid limit"}
          ] do
        assert {:error, message} = EtsInspect.execute(args, @context)
        assert message =~ text
      end

      refute_received {:event, _, _, _}
    end
  end

  test "emits its event, with the operation and the outcome" do
    Events.record([[:jido_code, :elixir, :ets_inspect]])
    call("list")
    assert_received {:event, _, %{exit_code: 0}, %{task: "list", status: :ok, session_id: "s"}}
    call("info", %{"table" => "no_such_table_here"})
    assert_received {:event, _, %{exit_code: 1}, %{task: "info", status: :error}}
  end
end
