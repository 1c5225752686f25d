defmodule JidoCode.Tools.Introspection.MnesiaTest do
  # Mnesia is one for the whole VM. It is called through apply: it is no dependency of the library.
  use ExUnit.Case, async: false

  alias JidoCode.Tools.Handlers.Elixir.EtsInspect

  @secret Enum.map_join(1..4, &Integer.to_string(&1 * 7_919, 36))

  setup do
    Application.put_env(:mnesia, :dir, ~c"/nonexistent/no-disk")
    # Newer build tools take what a project does not name out of the code path.
    for ebin <- Path.wildcard(Path.join(:code.root_dir(), "lib/mnesia-*/ebin")),
        do: :code.add_pathz(String.to_charlist(ebin))

    {:ok, _} = Application.ensure_all_started(:mnesia)

    on_exit(fn ->
      Application.stop(:mnesia)
      Application.delete_env(:mnesia, :dir)
    end)

    {:atomic, :ok} = mnesia(:create_table, [:orders_test, [attributes: [:number, :api_key, :lines]]])
    :ok = mnesia(:dirty_write, [{:orders_test, 17, @secret, [:bread]}])
    :ok
  end

  defp mnesia(function, args), do: apply(:mnesia, function, args)

  defp call(operation, args \\ %{}, context \\ %{}),
    do: EtsInspect.execute(Map.merge(args, %{"operation" => operation, "table" => "orders_test"}), context)

  test "its tables are the project's, with size and type, and rows by the names of their fields" do
    assert {:ok, %{"result" => tables}} = EtsInspect.execute(%{"operation" => "list"}, %{})
    assert table = Enum.find(tables, &(&1["name"] == "orders_test"))
    assert %{"type" => "set", "size" => 1, "storage" => "ram_copies", "owner" => "mnesia"} = table
    refute Enum.any?(tables, &(&1["name"] == "schema"))

    assert {:ok, %{"result" => info, "count" => 1}} = call("info")
    assert %{"storage_type" => "ram_copies", "record_name" => "orders_test"} = info

    row = ~s(#orders_test{number: 17, api_key: "[REDACTED]", lines: [:bread]})
    assert {:ok, %{"result" => [^row], "total_size" => 1}} = call("sample")
    assert {:ok, %{"result" => [^row]}} = call("lookup", %{"key" => "17"})
  end

  test "where namespaces are listed, its tables belong to those that their names begin with" do
    assert {:error, text} = call("info", %{}, %{project_namespaces: ["Shop"]})
    assert text =~ "not part of the project"
    assert {:ok, _info} = call("info", %{}, %{project_namespaces: ["orders"]})
  end
end
