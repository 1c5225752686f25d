defmodule JidoCode.Tools.Doors.Console do
  @moduledoc false
  # Results as a person reads them in a terminal, and the terminal kept clean for them.

  @doc """
  A result as indented text: one line for a short value, a block for a long one.

      iex> JidoCode.Tools.Doors.Console.format(%{"count" => 2, "result" => [%{"name" => "a"}, %{"name" => "b"}]})
      ...> |> IO.iodata_to_binary()
      "count: 2\\nresult:\\n  - name: a\\n  - name: b\\n"
  """
  @spec format(term()) :: iodata()
  def format(map) when is_map(map) and map_size(map) > 0 do
    for {key, value} <- Enum.sort_by(map, &order/1), do: entry([to_string(key), ":"], value)
  end

  def format([_ | _] = list), do: Enum.map(list, &item/1)
  def format(value), do: [scalar(value), "\n"]

  # Short values first: what a person looks for should not stand below a long block.
  defp order({key, value}), do: {block?(value), key}

  defp entry(label, value) do
    if block?(value), do: [label, "\n", indent(format(value))], else: [label, " ", scalar(value), "\n"]
  end

  defp item(value) when (is_map(value) and map_size(value) > 0) or (is_list(value) and value != []) do
    [first | rest] = value |> format() |> IO.iodata_to_binary() |> String.split("\n")
    ["- ", Enum.intersperse([first | Enum.map(rest, &pad/1)], "\n")]
  end

  defp item(value), do: ["- ", scalar(value), "\n"]

  defp block?(value) when is_binary(value), do: String.contains?(value, "\n")
  defp block?(value) when is_map(value), do: map_size(value) > 0
  defp block?(value), do: is_list(value) and value != []

  defp scalar(value) when is_binary(value), do: value
  defp scalar(nil), do: "-"
  defp scalar([]), do: "none"
  defp scalar(value) when is_map(value), do: "none"
  defp scalar(value), do: inspect(value)

  defp indent(text) do
    text
    |> IO.iodata_to_binary()
    |> String.trim_trailing("\n")
    |> String.split("\n")
    |> Enum.map(&[pad(&1), "\n"])
  end

  defp pad(""), do: ""
  defp pad(line), do: ["  ", line]

  @doc """
  Runs `fun` with everything that it and the processes it starts print sent to standard error, so that standard output
  carries results only: Mix prints there when it compiles, and so may a project when it starts.
  """
  @spec quietly((() -> result)) :: result when result: var
  def quietly(fun) do
    group_leader = Process.group_leader()
    Process.group_leader(self(), Process.whereis(:standard_error))

    try do
      fun.()
    after
      Process.group_leader(self(), group_leader)
    end
  end

  @doc "Sends log messages to standard error, on every supported Elixir."
  @spec logs_to_stderr() :: :ok
  def logs_to_stderr do
    # Up to Elixir 1.14 the console is a backend of Logger, from 1.15 on a handler of :logger.
    case :logger.get_handler_config(:default) do
      {:ok, %{module: :logger_std_h} = handler} ->
        config = Map.merge(Map.get(handler, :config, %{}), %{type: :standard_error})
        :logger.remove_handler(:default)
        :logger.add_handler(:default, :logger_std_h, %{handler | config: Map.take(config, [:type])})
        :ok

      _other ->
        Logger.configure_backend(:console, device: :standard_error)
        :ok
    end
  end
end
