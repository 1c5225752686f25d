defmodule JidoCode.Tools.Introspection.Pace do
  @moduledoc false
  # How often one process may be sent a message, whoever asks: three times at once, and then once in two seconds.
  #
  # Each system message starts a server's own timeout anew, so that one with 500 ms would never tick while it is looked at
  # all the time. Whoever comes too early gets what was read last.
  #
  # The process that keeps the count starts when it is needed and ends when it was not for a while; it belongs to nobody, so
  # that looking works on a node where the library is loaded and not started.

  @burst 3
  @refill_ms 2_000
  @idle_ms 10_000
  @answer_ms 5_000
  # Readings are kept for as long as they may be given again, and those of so many processes.
  @most_kept 50

  @type kept :: term()

  @doc """
  May this process be asked now? `{:late, reading, age_ms}` when not, with what `keep/2` was told last, and `:late` without
  such. `wait_ms` is when it may be.
  """
  @spec ask(pid()) :: :go | {:late, kept(), age_ms :: non_neg_integer()} | {:late, wait_ms :: pos_integer()}
  def ask(pid), do: request({:ask, pid}, 3)

  @doc "What was read, for those who come too early."
  @spec keep(pid(), kept()) :: :ok
  def keep(pid, reading) do
    # Nobody waits for it: without a keeper there is nobody to be told later either.
    with keeper when is_pid(keeper) <- Process.whereis(__MODULE__), do: send(keeper, {:keep, pid, reading})
    :ok
  end

  # The keeper may be about to end.
  defp request(request, tries) do
    keeper = keeper()
    monitor = Process.monitor(keeper)
    send(keeper, {request, self(), monitor})

    receive do
      {^monitor, answer} ->
        Process.demonitor(monitor, [:flush])
        answer

      {:DOWN, ^monitor, :process, ^keeper, _reason} when tries > 0 ->
        request(request, tries - 1)

      {:DOWN, ^monitor, :process, ^keeper, _reason} ->
        unanswered()
    after
      @answer_ms ->
        Process.demonitor(monitor, [:flush])
        unanswered()
    end
  end

  # Without a count nobody is asked.
  defp unanswered, do: {:late, @refill_ms}

  defp keeper do
    with nil <- Process.whereis(__MODULE__) do
      asker = self()
      {pid, monitor} = spawn_monitor(fn -> start(asker) end)

      receive do
        {^pid, :ready} ->
          Process.demonitor(monitor, [:flush])
          pid

        # Another was faster.
        {:DOWN, ^monitor, :process, ^pid, _reason} ->
          keeper()
      end
    end
  end

  defp start(asker) do
    # Nobody's work, so that it does not end with what it was started for.
    Process.group_leader(self(), Process.whereis(:init))
    Process.register(self(), __MODULE__)
    send(asker, {self(), :ready})
    loop(%{})
  rescue
    ArgumentError -> :taken
  end

  # A process to {how many questions it has left, since when, what was read last, when}.
  defp loop(seen) do
    receive do
      {{:ask, pid}, from, tag} ->
        {answer, entry} = seen |> Map.get(pid, {@burst, now(), nil, nil}) |> take()
        send(from, {tag, answer})
        seen |> Map.put(pid, entry) |> bounded() |> loop()

      {:keep, pid, reading} ->
        {left, since, _reading, _at} = Map.get(seen, pid, {0, now(), nil, nil})
        loop(Map.put(seen, pid, {left, since, reading, now()}))

      _stray ->
        loop(seen)
    after
      @idle_ms -> :ended
    end
  end

  defp take({left, since, reading, at}) do
    now = now()
    gained = div(now - since, @refill_ms)
    left = min(left + gained, @burst)
    # A full allowance does not grow while it waits.
    since = if left == @burst, do: now, else: since + gained * @refill_ms

    cond do
      left > 0 -> {:go, {left - 1, since, reading, at}}
      reading != nil -> {{:late, reading, now - at}, {left, since, reading, at}}
      true -> {{:late, max(since + @refill_ms - now, 1)}, {left, since, nil, nil}}
    end
  end

  # Whoever may ask three times again is as good as never seen.
  defp bounded(seen) when map_size(seen) <= @most_kept, do: seen

  defp bounded(seen) do
    full_since = now() - @burst * @refill_ms
    young = Map.reject(seen, fn {_pid, {_left, since, _reading, _at}} -> since < full_since end)

    if map_size(young) <= @most_kept,
      do: young,
      else: Map.new(young, fn {pid, entry} -> {pid, forget(entry)} end)
  end

  defp forget({left, since, _reading, _at}), do: {left, since, nil, nil}

  defp now, do: System.monotonic_time(:millisecond)
end
