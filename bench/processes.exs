# What list_processes takes among many processes, beside plain Elixir that asks the same (recon's way: one list of `process_info`,
# sorted), in one run; and what each does to the system meanwhile: the longest of the round trips between two other processes, and
# the memory of all processes at its highest.
#
#     mix run --no-start bench/processes.exs 200000

defmodule Bench.Processes do
  alias JidoCode.Tools.Handlers.Elixir.ListProcesses

  @context %{project_namespaces: :all}

  def main([count]) do
    {:ok, _} = Application.ensure_all_started(:jido_code_tools)

    for n <- 1..String.to_integer(count),
        do: spawn(fn -> idle(if(rem(n, 100) == 0, do: Enum.to_list(1..rem(n, 977)), else: nil)) end)

    IO.puts("#{length(Process.list())} processes, #{System.schedulers_online()} schedulers\n")
    IO.puts("                                   time (median, worst of 5)   longest round trip   memory more")
    measure("nothing, for 300 ms", fn -> Process.sleep(300) end)
    measure("list_processes memory", fn -> list(%{}) end)
    measure("plain, memory", fn -> plain(:memory) end)
    measure("list_processes mailbox", fn -> list(%{"sort_by" => "mailbox"}) end)
    measure("plain, mailbox", fn -> plain(:message_queue_len) end)
    measure("list_processes binary_memory", fn -> list(%{"sort_by" => "binary_memory"}) end)
    measure("plain, binary (copies the lists)", fn -> plain(:binary) end)
    measure("list_processes reductions, 1 s", fn -> list(%{"sort_by" => "reductions"}) end)
    measure("plain, reductions, 1 s", fn -> window(:reductions) end)
  end

  defp idle(kept) do
    receive do
      :end -> kept
    end
  end

  defp list(args), do: {:ok, %{"processes" => _}} = ListProcesses.execute(args, @context)

  defp plain(item) do
    infos = for pid <- Process.list(), {^item, value} <- [Process.info(pid, item)], do: {weight(value), pid}

    infos
    |> Enum.sort(:desc)
    |> Enum.take(15)
    |> Enum.map(fn {_value, pid} -> Process.info(pid) |> inspect() end)
  end

  defp weight(list) when is_list(list),
    do: Enum.reduce(list, 0, fn {_id, size, _count}, sum -> sum + size end)

  defp weight(number), do: number

  defp window(item) do
    read = fn ->
      for pid <- Process.list(), {^item, value} <- [Process.info(pid, item)], into: %{}, do: {pid, value}
    end

    first = read.()
    Process.sleep(1_000)
    second = read.()
    grown = for {pid, value} <- second, do: {value - Map.get(first, pid, 0), pid}

    grown
    |> Enum.sort(:desc)
    |> Enum.take(15)
    |> Enum.map(fn {_value, pid} -> Process.info(pid) |> inspect() end)
  end

  defp measure(name, fun) do
    runs =
      for _ <- 1..5 do
        before = :erlang.memory(:processes)
        watcher = watch()
        {time, _result} = fun |> aside() |> then(&:timer.tc/1)
        send(watcher, {:end, self()})

        receive do
          {:longest, trip, most} -> {time, trip, most - before}
        end
      end

    times = runs |> Enum.map(&elem(&1, 0)) |> Enum.sort()
    trip = runs |> Enum.map(&elem(&1, 1)) |> Enum.max()
    memory = runs |> Enum.map(&elem(&1, 2)) |> Enum.max()

    IO.puts(
      String.pad_trailing(name, 34) <>
        "#{ms(Enum.at(times, 2))}, #{ms(List.last(times))}           #{ms(trip)}         #{div(memory, 1_000_000)} MB"
    )
  end

  # In a process of its own, so that its garbage is not the next one's.
  defp aside(fun), do: fn -> fun |> Task.async() |> Task.await(60_000) end

  defp ms(us), do: String.pad_leading("#{Float.round(us / 1_000, 1)} ms", 12)

  defp watch do
    parent = self()
    echo = spawn_link(&echo/0)
    spawn_link(fn -> trips(parent, echo, 0, 0) end)
  end

  defp echo do
    receive do
      from -> send(from, :back)
    end

    echo()
  end

  defp trips(parent, echo, longest, most) do
    receive do
      {:end, ^parent} -> send(parent, {:longest, longest, most})
    after
      1 ->
        started = System.monotonic_time(:microsecond)
        send(echo, self())

        receive do
          :back -> :ok
        end

        took = System.monotonic_time(:microsecond) - started
        trips(parent, echo, max(longest, took), max(most, :erlang.memory(:processes)))
    end
  end
end

Bench.Processes.main(System.argv())
