defmodule JidoCode.Tools.Answers.ProcessState do
  @moduledoc false
  # A process: its state as `inspect` prints it, and below it a line of what it is, and one of whom it belongs to. Where its state was
  # not read, the reason comes first, and its stack says where it is.

  import JidoCode.Tools.Answers.Words

  @doc """
  The text of `get_process_state`.

      iex> info = %{"registered_name" => "Shop.Cart", "pid" => "#PID<0.1.2>", "status" => "waiting", "memory" => 2_872,
      ...>   "initial_call" => "Shop.Cart.init/1", "message_queue_len" => 2, "behaviour" => "genserver",
      ...>   "parent" => "Shop.Supervisor", "links" => ["Shop.Supervisor"], "stack" => [":gen_server.loop/7"]}
      iex> report = %{"state" => "%{items: []}", "type" => "genserver", "process_info" => info}
      iex> JidoCode.Tools.Answers.ProcessState.text(report)
      "%{items: []}\\n\\nShop.Cart #PID<0.1.2>: genserver, Shop.Cart.init/1, waiting, 2 messages queued, 2.9 kB\\nparent Shop.Supervisor\\n"
      iex> info = Map.put(info, "status", "running")
      iex> JidoCode.Tools.Answers.ProcessState.text(%{report | "state" => nil, "process_info" => info} |> Map.put("note", "It was busy."))
      "It was busy.\\n\\nShop.Cart #PID<0.1.2>: genserver, Shop.Cart.init/1, running, 2 messages queued, 2.9 kB\\nparent Shop.Supervisor\\nstack:\\n  :gen_server.loop/7\\n"
  """
  @spec text(%{String.t() => term()}) :: String.t()
  def text(%{"process_info" => info} = report) do
    {first, last} = if report["state"], do: {report["state"], report["note"]}, else: {report["note"], nil}
    paragraphs([first, "\n" <> what(info), place(info), stack(report), last])
  end

  defp what(info) do
    head = facts([info["registered_name"], info["pid"]], " ")

    doing =
      facts([
        info["behaviour"],
        started_by(info["initial_call"]),
        info["status"],
        queued(info["message_queue_len"]),
        info["memory"] && bytes(info["memory"]),
        info["label"] && "label #{info["label"]}"
      ])

    facts([head, doing], ": ")
  end

  # A supervisor's is that of `:supervisor` with its own module.
  defp started_by(~s(:supervisor."Elixir.) <> module), do: String.replace_suffix(module, ~s("/1), "")
  defp started_by(call), do: call

  defp queued(number) when number in [nil, 0], do: nil
  defp queued(number), do: count(number, "message") <> " queued"

  # The parent is linked nearly always.
  defp place(info) do
    facts(
      [
        info["parent"] && "parent #{info["parent"]}",
        listed("links", (info["links"] || []) -- [info["parent"]]),
        listed("monitors", info["monitors"]),
        listed("monitored by", info["monitored_by"]),
        listed("dictionary", info["dictionary_keys"])
      ],
      "; "
    )
  end

  defp listed(_label, empty) when empty in [nil, []], do: nil
  defp listed(label, names), do: "#{label} #{Enum.join(names, ", ")}"

  # A server that waits does so in its loop.
  defp stack(%{"state" => state}) when state != nil, do: nil

  defp stack(%{"process_info" => %{"stack" => [_ | _] = stack}}),
    do: "stack:\n" <> indented(Enum.join(stack, "\n"), 2)

  defp stack(_report), do: nil
end
