defmodule JidoCode.Tools.Answers.Tables do
  @moduledoc false
  # ETS tables: a line for each, or the rows of one as `inspect` prints them.

  import JidoCode.Tools.Answers.Words

  alias JidoCode.Tools.Visible

  # What most tables have says nothing of this one; what is said in the first line is not said again.
  @usual %{
    "keypos" => 1,
    "compressed" => false,
    "read_concurrency" => false,
    "write_concurrency" => false,
    "decentralized_counters" => false,
    "heir" => "none",
    "named_table" => true,
    "node" => "nonode@nohost"
  }
  @told ~w(id name size memory memory_bytes type protection owner storage)

  @doc """
  The text of `ets_inspect`.

      iex> table = %{"name" => "stock", "size" => 2, "memory_bytes" => 3_016, "type" => "set", "protection" => "public", "owner" => "Shop"}
      iex> JidoCode.Tools.Answers.Tables.text(%{"operation" => "list", "result" => [table], "count" => 1})
      "1 table:\\nstock: 2 rows, 3.0 kB, set, public, owner Shop\\n"
      iex> JidoCode.Tools.Answers.Tables.text(%{"operation" => "info", "table" => "stock", "result" => Map.put(table, "keypos", 2)})
      "stock: 2 rows, 3.0 kB, set, public, owner Shop\\nkeypos: 2\\n"
      iex> JidoCode.Tools.Answers.Tables.text(%{"operation" => "sample", "result" => ["{1, 2}"], "count" => 1, "total_size" => 9})
      "{1, 2}\\n1 of 9 rows.\\n"
      iex> JidoCode.Tools.Answers.Tables.text(%{"operation" => "lookup", "result" => [], "count" => 0, "table" => "stock", "key" => ":tea"})
      "No row of stock has the key :tea.\\n"
      iex> JidoCode.Tools.Answers.Tables.text(%{"operation" => "lookup", "result" => [], "count" => 0, "table" => "stock", "key" => "\\e[2J"})
      "No row of stock has the key \\\\u{1B}[2J.\\n"
  """
  @spec text(%{String.t() => term()}) :: String.t()
  def text(%{"operation" => "list"} = report) do
    head = count(report["count"], "table")
    head = if report["count"] == 0, do: head <> ".", else: head <> ":"
    paragraphs([head | Enum.map(report["result"], &table/1)] ++ [report["note"]])
  end

  def text(%{"operation" => "info", "result" => result} = report) do
    first = result |> Map.put_new("name", report["table"]) |> table()

    others =
      for {key, value} <- Enum.sort(result),
          key not in @told and @usual[key] != value and value not in ["[]", nil],
          do: "#{key}: #{written(value)}"

    paragraphs([first | others] ++ [report["note"]])
  end

  def text(%{"operation" => "lookup", "result" => [], "count" => 0} = report) do
    paragraphs([
      report["note"] || "No row of #{report["table"]} has the key #{Visible.escape(report["key"])}."
    ])
  end

  def text(%{"operation" => "sample", "result" => [], "total_size" => 0} = report) do
    paragraphs([report["note"] || "The table is empty."])
  end

  def text(%{"result" => rows} = report) do
    total = report["total_size"] || report["count"]
    shown = if total > length(rows), do: "#{length(rows)} of #{count(total, "row")}."
    paragraphs(rows ++ [shown, report["note"]])
  end

  defp table(table) do
    about = [
      table["size"] && count(table["size"], "row"),
      table["memory_bytes"] && bytes(table["memory_bytes"]),
      table["type"],
      table["protection"],
      table["storage"],
      table["owner"] && "owner #{table["owner"]}"
    ]

    "#{table["name"]}: #{facts(about)}"
  end

  defp written(value) when is_binary(value), do: value
  defp written(value), do: inspect(value)
end
