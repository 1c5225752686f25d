# Characters of typical answers: the result as JSON, which MCP clients would get otherwise, beside the text that they get.
#
#     cd examples/shop && mix run ../../bench/answers.exs
alias JidoCode.Tools.{Answers, JSON, SecureExecutor}

of = fn key, values, more -> for value <- values, do: Map.put(more, key, value) end
rows = &of.("table", ~w(shop_stock shop_receipts), &1)

calls = %{
  "inspect_supervisor" =>
    Enum.flat_map(1..5, &of.("supervisor", ~w(Shop.Supervisor Shop.CartSupervisor), %{"depth" => &1})),
  "get_process_state" =>
    of.(
      "process",
      ~w(Shop.Payments Shop.Prices Shop.Courier Shop.Inventory Shop.Supervisor Shop.CartRegistry Shop.CartSupervisor) ++
        ~w(logger No.Such Shop.CartRegistry.PIDPartition0),
      %{}
    ),
  "ets_inspect" =>
    [%{"operation" => "list"}, %{"operation" => "info", "table" => "no_such"}] ++
      rows.(%{"operation" => "info"}) ++
      rows.(%{"operation" => "sample"}) ++
      rows.(%{"operation" => "sample", "limit" => 1}) ++
      rows.(%{"operation" => "lookup", "key" => "\"tea\""}),
  "fetch_elixir_docs" =>
    of.("module", ~w(Enum GenServer Map Task Shop.Payments Shop.NoSuch), %{}) ++
      [
        %{"module" => "Enum", "function" => "map", "arity" => 2},
        %{"module" => "String", "function" => "split"},
        %{"module" => "Shop.Inventory", "function" => "take"},
        %{"module" => "Map", "function" => "get", "arity" => 3}
      ],
  "grep_search" =>
    Enum.flat_map(
      ["def ", "GenServer", "use ", "@spec", "no such text"],
      &of.("output_mode", ~w(content count), %{"pattern" => &1})
    ),
  "bash_execute" =>
    of.(
      "command",
      [
        "git status --short",
        "git log --oneline -3",
        "ls lib",
        "ls -la",
        "cat mix.exs",
        "cat lib/shop/cart.ex",
        "wc -l lib/shop/cart.ex",
        "head -n 5 mix.exs",
        "find lib -name cart.ex",
        "ls none"
      ],
      %{}
    ),
  "mix_task" => [
    %{"task" => "compile"},
    %{"task" => "compile", "args" => ["--force"]},
    %{"task" => "compile", "env" => "test"},
    %{"task" => "format", "args" => ["--check-formatted"]},
    %{"task" => "help"},
    %{"task" => "help", "args" => ["compile"]},
    %{"task" => "deps.get"},
    %{"task" => "compile", "env" => "prod"},
    %{"task" => "hex.publish"},
    %{"task" => "no.such"}
  ],
  "run_exunit" => [
    %{},
    %{"path" => "test/inventory_test.exs"},
    %{"path" => "test/inventory_test.exs", "line" => 6},
    %{"path" => "test/low_stock_test.exs"},
    %{"path" => "test/none_test.exs"},
    %{"path" => "lib/shop/cart.ex"},
    %{"tag" => "none"},
    %{"max_failures" => 1},
    %{"seed" => 1},
    %{"trace" => true}
  ]
}

# The dear ones once, the others until the figure of the slowest of a hundred means something.
times = &if(&1 in ~w(mix_task run_exunit), do: 1, else: 20)

# A session of its own for each round, which meets no limit.
context = fn -> %{session_id: "answers-#{System.unique_integer()}", granted_tier: :privileged, door: true} end

IO.puts("tool                   calls     JSON     text   share    p50 ms    p99 ms")

for {tool, list} <- Enum.sort(calls) do
  # The first one warms up what is read once.
  SecureExecutor.call(tool, hd(list), context.())

  rows =
    for time <- 1..times.(tool), session = context.(), args <- list do
      call = tool |> SecureExecutor.new(args, session) |> SecureExecutor.execute()

      # Characters are counted once.
      with {:ok, result} when time == 1 <- call.result do
        {:ok, json} = JSON.encode(result)
        {String.length(json), String.length(Answers.text(call.tool, result)), call.duration_us / 1_000}
      else
        {:error, text} when time == 1 -> {String.length(text), String.length(text), call.duration_us / 1_000}
        _again -> {0, 0, call.duration_us / 1_000}
      end
    end

  {json, text, times} =
    Enum.reduce(rows, {0, 0, []}, fn {j, t, ms}, {json, text, times} -> {json + j, text + t, [ms | times]} end)

  times = Enum.sort(times)
  at = fn share -> Enum.at(times, min(trunc(length(times) * share), length(times) - 1)) |> Float.round(1) end

  [
    String.pad_trailing(tool, 22),
    String.pad_leading("#{length(list)}", 6),
    String.pad_leading("#{json}", 9),
    String.pad_leading("#{text}", 9),
    String.pad_leading("#{Float.round(100 * text / max(json, 1), 0) |> trunc()} %", 8),
    String.pad_leading("#{at.(0.5)}", 10),
    String.pad_leading("#{at.(0.99)}", 10)
  ]
  |> IO.puts()
end
