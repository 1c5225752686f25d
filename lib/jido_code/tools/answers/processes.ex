defmodule JidoCode.Tools.Answers.Processes do
  @moduledoc false
  # Processes as a list: a line of figures each, and below it what it is and where it waits.

  import JidoCode.Tools.Answers.Words, only: [bytes: 1, paragraphs: 1]

  @doc """
  The text of `list_processes`.

      iex> process = %{"pid" => "#PID<0.1.2>", "name" => "Shop.Cart", "what" => "Shop.Cart.init/1 (genserver)", "memory" => 2_000_000,
      ...>   "figure" => 2_000_000, "message_queue_len" => 3, "reductions" => 12, "status" => "waiting", "at" => ":gen_server.loop/7",
      ...>   "supervisor" => "Shop.Supervisor"}
      iex> JidoCode.Tools.Answers.Processes.text(%{"processes" => [process], "sort_by" => "memory", "processes_seen" => 60,
      ...>   "processes_total" => 60, "matching" => 9})
      "By memory; 60 processes, of which 9 match:\\n#PID<0.1.2>  Shop.Cart  2.0 MB  3 messages  12 reductions\\n  Shop.Cart.init/1 (genserver) under Shop.Supervisor\\n  waiting in :gen_server.loop/7\\n"
  """
  @spec text(%{String.t() => term()}) :: String.t()
  def text(report) do
    paragraphs([head(report)] ++ Enum.map(report["processes"], &process(&1, report)) ++ [report["note"]])
  end

  defp head(report) do
    over = if report["window"], do: ", growth over #{report["window"]} ms", else: ""

    "By #{String.replace(report["sort_by"], "_", " ")}#{over}; #{report["processes_total"]} processes, " <>
      "of which #{report["matching"]} match:"
  end

  defp process(process, report) do
    figures = [
      process["pid"],
      process["name"],
      process["label"],
      sorted_by(process, report),
      bytes(process["memory"]),
      "#{process["message_queue_len"]} messages",
      "#{process["reductions"]} reductions"
    ]

    stack = for frame <- process["stack"] || [], do: "    " <> frame

    Enum.join(
      [
        Enum.map_join(Enum.reject(figures, &is_nil/1), "  ", & &1),
        "  " <> process["what"] <> above(process),
        "  #{process["status"]} in #{process["at"] || "?"}" | stack
      ],
      "\n"
    )
  end

  # What stands among the other figures is not said twice.
  defp sorted_by(process, %{"window" => _, "sort_by" => by}) when by in ["memory", "binary_memory"],
    do: "+" <> bytes(process["figure"])

  defp sorted_by(process, %{"window" => _}), do: "+#{process["figure"]}"

  defp sorted_by(process, %{"sort_by" => "binary_memory"}),
    do: bytes(process["figure"]) <> " binaries"

  defp sorted_by(_process, _report), do: nil

  defp above(%{"supervisor" => supervisor}), do: " under #{supervisor}"
  defp above(%{"parent" => parent}), do: " started by #{parent}"
  defp above(_process), do: ""
end
