# Characters of typical answers: the result as JSON, which MCP clients would get otherwise, beside the text that they get.
#
#     cd examples/shop && mix run ../../bench/answers.exs
alias JidoCode.Tools.{Answers, JSON, SecureExecutor}

calls = %{
  "inspect_supervisor" =>
    for(
      {name, depth} <- [
        {"Shop.Supervisor", 1},
        {"Shop.Supervisor", 2},
        {"Shop.Supervisor", 5},
        {"Shop.CartSupervisor", 1},
        {"Shop.CartRegistry", 1}
      ],
      do: %{"supervisor" => name, "depth" => depth}
    ),
  "get_process_state" =>
    for(
      name <- ~w(Shop.Payments Shop.Prices Shop.Courier Shop.Inventory Shop.Supervisor Shop.CartRegistry),
      do: %{"process" => name}
    ),
  "ets_inspect" =>
    [%{"operation" => "list"}, %{"operation" => "lookup", "table" => "shop_stock", "key" => "\"tea\""}] ++
      for(
        operation <- ~w(info sample),
        table <- ~w(shop_stock shop_receipts),
        do: %{"operation" => operation, "table" => table}
      ),
  "fetch_elixir_docs" =>
    for(
      module <-
        ~w(Enum Enum.map/2 GenServer c:GenServer.init/1 String.split t:String.t Shop.Payments Shop.Inventory.take Map.get Task),
      do: %{"module" => module}
    ),
  "grep_search" =>
    for(
      pattern <- ["def ", "GenServer", "use ", "@spec", "no such text"],
      mode <- ~w(content count),
      do: %{"pattern" => pattern, "output_mode" => mode}
    ),
  "bash_execute" =>
    for(
      line <- [
        "git status --short",
        "git log --oneline -3",
        "ls lib",
        "cat mix.exs",
        "wc -l lib/shop/cart.ex",
        "ls none"
      ],
      do: %{"command" => line}
    ),
  "mix_task" => [
    %{"task" => "compile"},
    %{"task" => "format", "args" => ["--check-formatted"]},
    %{"task" => "help"}
  ],
  "run_exunit" => [%{}, %{"path" => "test/inventory_test.exs"}]
}

context = %{session_id: "answers", granted_tier: :privileged, door: true}

IO.puts("tool                   calls     JSON     text   share    p50 ms    p99 ms")

for {tool, list} <- Enum.sort(calls) do
  # The first one warms up what is read once.
  SecureExecutor.call(tool, hd(list), context)

  rows =
    for args <- list do
      call = tool |> SecureExecutor.new(args, context) |> SecureExecutor.execute()

      with {:ok, result} <- call.result do
        {:ok, json} = JSON.encode(result)
        {String.length(json), String.length(Answers.text(call.tool, result)), call.duration_us / 1_000}
      else
        {:error, text} -> {String.length(text), String.length(text), call.duration_us / 1_000}
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
