defmodule JidoCode.Tools.Answers.Overview do
  @moduledoc false
  # A whole system on a page: a line for each part, and below it what is worth a line of its own.

  import JidoCode.Tools.Answers.Words, only: [bytes: 1, facts: 1, paragraphs: 1]

  @doc """
  The text of `system_overview`.

      iex> JidoCode.Tools.Answers.Overview.text(%{
      ...>   "memory" => %{"total" => 2_000_000, "binary" => 1_000_000},
      ...>   "limits" => [%{"name" => "atoms", "used" => 10, "limit" => 1000, "percent" => 1.0}],
      ...>   "schedulers" => [%{"id" => 1, "kind" => "normal", "percent" => 50.0}], "run_queues" => [0, 3]
      ...> })
      "Memory: 2.0 MB in all, binary 1.0 MB\\nUsed of limits: atoms 10 of 1000 (1.0%)\\nSchedulers over 1 s: 1: 50.0%\\nRun queues: 0 3\\n"
  """
  @spec text(%{String.t() => term()}) :: String.t()
  def text(report) do
    paragraphs([
      part(report["system"], &system/1),
      part(report["memory"], &memory/1),
      part(report["limits"], &limits/1),
      part(report["schedulers"], &schedulers/1),
      part(report["run_queues"], &("Run queues: " <> Enum.join(&1, " "))),
      part(
        report["mailboxes"],
        &listed("Most messages waiting", &1, fn process -> "#{called(process)}: #{process["value"]}" end)
      ),
      part(
        report["processes"],
        &listed("Most memory", &1, fn process -> "#{called(process)}: #{bytes(process["value"])}" end)
      ),
      part(report["tables"], &tables/1),
      part(report["ports"], &ports/1),
      part(report["applications"], &applications/1),
      report["note"]
    ])
  end

  defp part(nil, _write), do: nil
  defp part(value, write), do: write.(value)

  defp system(system) do
    facts([
      "Erlang/OTP #{system["erlang"]} (erts #{system["erts"]})",
      system["elixir"] && "Elixir #{system["elixir"]}",
      system["node"],
      "#{system["schedulers"]} schedulers",
      "up #{uptime(system["uptime_s"])}",
      system["architecture"]
    ])
  end

  defp uptime(seconds) when seconds < 120, do: "#{seconds} s"
  defp uptime(seconds) when seconds < 7_200, do: "#{div(seconds, 60)} min"
  defp uptime(seconds) when seconds < 172_800, do: "#{div(seconds, 3_600)} h"
  defp uptime(seconds), do: "#{div(seconds, 86_400)} days"

  defp memory(memory) do
    {total, kinds} = Map.pop(memory, "total")

    kinds =
      kinds
      |> Enum.sort_by(&elem(&1, 1), :desc)
      |> Enum.map_join(", ", fn {kind, size} -> "#{kind} #{bytes(size)}" end)

    "Memory: #{bytes(total)} in all, #{kinds}"
  end

  defp limits(limits) do
    "Used of limits: " <>
      Enum.map_join(limits, ", ", &"#{&1["name"]} #{&1["used"]} of #{&1["limit"]} (#{&1["percent"]}%)")
  end

  defp schedulers(schedulers) do
    {normal, dirty} = Enum.split_with(schedulers, &(&1["kind"] == "normal"))
    line = "Schedulers over 1 s: " <> Enum.map_join(normal, ", ", &"#{&1["id"]}: #{&1["percent"]}%")
    busy = for scheduler <- dirty, scheduler["percent"] >= 1, do: "#{scheduler["percent"]}%"
    if busy == [], do: line, else: line <> "; dirty: " <> Enum.join(busy, ", ")
  end

  defp listed(_title, [], _line), do: nil
  defp listed(title, items, line), do: Enum.join([title <> ":" | Enum.map(items, &("  " <> line.(&1)))], "\n")

  defp called(%{"process" => pid, "pid" => pid}), do: pid
  defp called(process), do: "#{process["process"]} #{process["pid"]}"

  defp tables(tables) do
    listed("Tables, #{tables["count"]} in all, the project's largest", tables["largest"], fn table ->
      "#{table["name"]}: #{bytes(table["memory"])}, #{table["rows"]} rows, of #{table["owner"]}"
    end)
  end

  defp ports(ports) do
    listed("Ports and sockets, #{ports["count"]} in all, the project's busiest", ports["busiest"], fn port ->
      facts([
        port["name"] <> if(port["peer"], do: " to #{port["peer"]}", else: ""),
        "received #{bytes(port["received"])}",
        "sent #{bytes(port["sent"])}",
        "of #{port["process"]}"
      ])
    end)
  end

  defp applications(applications) do
    {own, others} = Enum.split_with(applications, & &1["supervisor"])
    libraries = Enum.map_join(others, ", ", &"#{&1["name"]} #{&1["version"]}")

    paragraphs([
      listed("Applications", own, &"#{&1["name"]} #{&1["version"]}: #{&1["supervisor"]}"),
      (libraries != "" && "Others: " <> libraries) || nil
    ])
  end
end
