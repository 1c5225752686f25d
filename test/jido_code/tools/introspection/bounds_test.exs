defmodule JidoCode.Tools.Introspection.BoundsTest do
  # The memory of the whole VM is measured, so nothing may run beside it.
  use ExUnit.Case, async: false

  alias JidoCode.Tools.Handlers.Elixir.{EtsInspect, ProcessState, SupervisorTree}
  alias JidoCode.Tools.Test.{Memory, Processes}

  @context %{project_namespaces: :all}
  @limit 64_000_000

  # The state is made in its process: passing it there would copy it, and copying unfolds it.
  defp agent(fun) do
    name = Processes.unique(:bounds)
    pid = start_supervised!(%{id: name, start: {Agent, :start_link, [fun, [name: name]]}})
    Processes.await_in(pid, {:gen_server, :loop})
    {inspect(name), pid}
  end

  defp look(name, args \\ %{}), do: ProcessState.execute(Map.put(args, "process", name), @context)

  describe "get_process_state stays small" do
    test "when the state would unfold to hundreds of megabytes" do
      {name, pid} = agent(fn -> Enum.reduce(1..25, [:x], fn _, inner -> [inner | inner] end) end)
      assert {:memory, memory} = Process.info(pid, :memory)
      assert memory < 10_000

      {{:ok, result}, grown} = Memory.peak(fn -> look(name) end)
      assert byte_size(result["state"]) in 1_000..24_000
      assert result["note"] =~ "larger than what is shown"
      assert grown < @limit
      assert Process.alive?(pid)
    end

    # What grows is the server's own heap, when the runtime collects it meanwhile: up to two copies of what lives there. So
    # it must be the same amount with each release (16 MB), and a text that was just built takes more with some.
    test "when the state is large" do
      {name, _pid} =
        agent(fn ->
          rows = Map.new(1..300_000, &{&1, :binary.copy("#{&1}")})
          %{rows: rows, blob: :binary.copy("x", 50_000_000)}
        end)

      {{:ok, result}, grown} = Memory.peak(fn -> look(name) end)
      assert result["state"] =~ ~r/\.\.\. 299,\d+ more/
      assert result["state"] =~ "more bytes"
      assert String.length(result["state"]) <= 24_000
      assert grown < @limit
    end

    test "when the mailbox holds 300,000 messages" do
      test = self()

      pid =
        spawn_link(fn ->
          send(test, :up)

          receive do
            :never -> :ok
          end
        end)

      assert_receive :up
      name = Processes.unique(:full)
      Process.register(pid, name)
      for n <- 1..300_000, do: send(pid, {:noise, n, "some text"})

      {{us, {:ok, result}}, grown} = Memory.peak(fn -> :timer.tc(fn -> look(inspect(name)) end) end)
      assert us < 500_000
      assert result["process_info"]["message_queue_len"] == 300_000
      assert grown < @limit
      Process.unlink(pid)
      Process.exit(pid, :kill)
    end
  end

  describe "inspect_supervisor stays small" do
    test "when there are 50,000 children" do
      name = Processes.unique(:crowd)
      {:ok, pid} = DynamicSupervisor.start_link(strategy: :one_for_one, name: name)

      child = %{
        id: :c,
        restart: :temporary,
        start: {:proc_lib, :start_link, [__MODULE__, :idle_child, [self()]]}
      }

      for _ <- 1..50_000, do: {:ok, _child} = DynamicSupervisor.start_child(pid, child)
      Processes.await_ready(pid)

      {{us, {:ok, result}}, grown} =
        Memory.peak(fn ->
          :timer.tc(fn -> SupervisorTree.execute(%{"supervisor" => inspect(name)}, @context) end)
        end)

      assert us < 2_000_000
      assert result["children_count"] == 50_000
      assert [%{"count" => 50}] = result["children"]
      assert result["truncated"] and result["left_out"] == 49_950
      assert result["note"] =~ "sample"
      assert grown < @limit

      Process.unlink(pid)
      Process.exit(pid, :kill)
    end
  end

  describe "ets_inspect stays small" do
    defp table(rows, options \\ []) do
      table = :ets.new(Processes.unique(:table), [:named_table, :public | options])
      :ets.insert(table, rows)
      {inspect(table), table}
    end

    defp timed_peak(args) do
      {{us, {:ok, result}}, grown} =
        Memory.peak(fn -> :timer.tc(fn -> EtsInspect.execute(args, @context) end) end)

      {us, result, grown}
    end

    test "with 500,000 rows" do
      {name, _table} = table(for n <- 1..500_000, do: {n, "row"})

      for args <- [%{"operation" => "sample", "limit" => 100}, %{"operation" => "lookup", "key" => "77"}] do
        {us, result, grown} = timed_peak(Map.put(args, "table", name))
        assert us < 1_000_000
        assert result["count"] > 0
        assert grown < @limit
      end
    end

    test "with 200,000 rows under one key of a bag" do
      {name, _table} =
        table(for(n <- 1..200_000, do: {:k, n, "some more text in each row"}), [:duplicate_bag])

      for args <- [
            %{"operation" => "sample", "limit" => 100},
            %{"operation" => "lookup", "key" => ":k", "limit" => 100}
          ] do
        {us, result, grown} = timed_peak(Map.put(args, "table", name))
        assert us < 1_000_000
        assert result["result"] == []
        assert result["truncated"]
        assert result["note"] =~ "200000 rows"
        assert grown < @limit
      end
    end

    test "with a single row of ten megabytes" do
      {name, _table} = table([{1, Enum.to_list(1..650_000)}])

      for args <- [%{"operation" => "sample"}, %{"operation" => "lookup", "key" => "1"}] do
        {us, result, grown} = timed_peak(Map.put(args, "table", name))
        assert us < 2_000_000
        assert [row] = result["result"]
        assert row =~ "more"
        assert grown < @limit
      end
    end

    # Since OTP 27 a node can be told to count shared binaries as heap, wherever nothing else is said.
    test "and shows a row that holds a large binary, which copies nothing, whatever the node's flags count" do
      Processes.count_shared_binaries()
      {name, _table} = table([{1, :binary.copy("x", 100_000_000), Enum.to_list(1..100_000)}])
      {_us, result, grown} = timed_peak(%{"operation" => "sample", "table" => name})
      assert [row] = result["result"]
      assert row =~ "more bytes"
      assert grown < @limit
    end

    test "with rows too large to be copied" do
      # Unfolds to about 250 MB in the table, where it lies before the measurement begins.
      {name, table} = table([{1, Enum.reduce(1..23, [:x], fn _, inner -> [inner | inner] end)}])
      assert :ets.info(table, :memory) > 10_000_000

      {_us, result, grown} = timed_peak(%{"operation" => "sample", "table" => name})
      assert result["result"] == []
      assert result["note"] =~ "too large"
      assert grown < @limit
      :ets.delete(table)
    end
  end

  @doc false
  def idle_child(_test) do
    :proc_lib.init_ack({:ok, self()})

    receive do
      :stop -> :ok
    end
  end
end
