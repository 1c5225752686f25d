defmodule JidoCode.Tools.Introspection.Ranking do
  @moduledoc false
  # The processes of a node with the largest figures, found in bounded time however many there are.
  #
  # The processes are gone through in parts of some hundred, each by a process of its own: its garbage ends with it, and a process
  # that does not let itself be looked at (stuck in native code) costs its part some time and not the answer. What is left when the
  # time is up is not looked at. The order is random, so that what was seen is a sample; since OTP 28 no list of all is made, and
  # the order is the runtime's.
  #
  # Over a window each process is looked at twice, in the same order, so that each has the same time in between; of very many a
  # random part.

  alias JidoCode.Tools.Introspection.{At, Bounded}

  @part 500
  # What does not answer in time is asked in so many smaller parts, with less time.
  @split 8
  @part_ms 1_000
  @fewer_ms 50

  # The first reading of a window is kept meanwhile.
  @most_twice 200_000
  # Pids of another node take several times the room of own ones.
  @most_afar 500_000

  @items %{
    memory: :memory,
    mailbox: :message_queue_len,
    reductions: :reductions,
    binary_memory: :garbage_collection_info
  }

  @type figure :: :memory | :mailbox | :reductions | :binary_memory

  @typedoc """
  `keep?` is the filter; it takes the pid and its `items` of `process_info`. `own?` says whether a process may be shown; it is asked
  of few.
  """
  @type question :: %{
          node: node(),
          figure: figure(),
          window_ms: non_neg_integer(),
          most: pos_integer(),
          items: [atom()],
          keep?: (pid(), keyword() -> boolean()),
          own?: (pid() -> boolean())
        }

  @typedoc """
  `top`, and `others` that may not be shown: the largest first, none of them zero. A figure over a window is the growth. `seen`
  were looked at, of `total`; `kept` of them passed the filter; `silent` could not be inspected.
  """
  @type t :: %{
          top: [{pid(), integer()}],
          others: [{pid(), integer()}],
          seen: non_neg_integer(),
          kept: non_neg_integer(),
          silent: non_neg_integer(),
          total: pos_integer()
        }

  @doc "The ranking. `budget_ms` is the time for going through the processes once."
  @spec run(question(), pos_integer()) :: {:ok, t()} | {:error, {:too_many, pos_integer()}}
  def run(question, budget_ms) do
    total = At.call(question.node, :erlang, :system_info, [:process_count])
    state = %{top: [], others: [], seen: 0, kept: 0, silent: 0, total: total}

    cond do
      question.node != node() and total > @most_afar -> {:error, {:too_many, total}}
      question.window_ms == 0 -> {:ok, once(question, budget_ms, state)}
      true -> {:ok, twice(question, budget_ms, state)}
    end
  end

  defp once(question, budget_ms, state) do
    work = fn part, floor -> question |> read(part) |> above(floor) end
    question |> parts() |> each(state, budget_ms, question, work, &ranked(&1, &2, question))
  end

  defp twice(question, budget_ms, state) do
    started = now()
    parts = question |> parts() |> sample(state.total)

    first =
      each(
        parts,
        [],
        budget_ms,
        question,
        fn part, _floor -> {0, read(question, part)} end,
        &[&1.readings | &2]
      )

    Process.sleep(max(question.window_ms - (now() - started), 0))

    work = fn part, floor -> question |> growth(part) |> above(floor) end
    # Who was looked at a first time is looked at a second time, whatever that takes within reason.
    first |> Enum.reverse() |> each(state, 2 * budget_ms, question, work, &ranked(&1, &2, question))
  end

  # Every process where that is not too much, and otherwise parts from all over the runtime's table.
  defp sample(parts, total) when total <= @most_twice, do: parts
  defp sample(parts, total), do: Stream.filter(parts, fn _part -> :rand.uniform() * total < @most_twice end)

  defp growth(question, first) do
    before = Map.new(first)
    for {pid, figure} <- read(question, Map.keys(before)), do: {pid, figure - before[pid]}
  end

  # The runtime's own walk where it has one, through apply: the types of earlier releases don't know it.
  defp parts(%{node: node}) when node == node() do
    if function_exported?(:erlang, :processes_iterator, 0) do
      :erlang
      |> apply(:processes_iterator, [])
      |> Stream.unfold(&next(apply(:erlang, :processes_next, [&1])))
      |> Stream.chunk_every(@part)
    else
      shuffled(:erlang.processes())
    end
  end

  defp parts(%{node: node}), do: node |> At.call(:erlang, :processes, []) |> shuffled()

  defp next(:none), do: nil
  defp next({_pid, _iterator} = next), do: next

  defp shuffled(pids), do: pids |> Enum.chunk_every(@part) |> Enum.shuffle()

  # `work` on each part in a process of its own, `collect` here.
  defp each(parts, state, budget_ms, question, work, collect) do
    deadline = now() + budget_ms

    Enum.reduce_while(parts, state, fn part, state ->
      case deadline - now() do
        left when left > 0 ->
          floor = floor(state, question)
          {:cont, part |> ask(&work.(&1, floor), min(@part_ms, left)) |> collect.(state)}

        _time_up ->
          {:halt, state}
      end
    end)
  end

  # Who does not answer is found by smaller and smaller parts.
  defp ask(part, work, timeout) do
    case Bounded.run(fn -> work.(part) end, timeout: timeout) do
      {:ok, {kept, readings}} ->
        %{seen: length(part), silent: 0, kept: kept, readings: readings}

      {:error, failure} ->
        At.raise_lost(failure)
        if match?([_one], part), do: %{seen: 1, silent: 1, kept: 0, readings: []}, else: ask_fewer(part, work)
    end
  end

  defp ask_fewer(part, work) do
    part
    |> Enum.chunk_every(max(div(length(part), @split), 1))
    |> Enum.map(&ask(&1, work, @fewer_ms))
    |> Enum.reduce(&added/2)
  end

  defp added(answer, sum) do
    Map.merge(answer, sum, fn _key, more, so_far ->
      if is_list(more), do: more ++ so_far, else: more + so_far
    end)
  end

  # `{pid, figure}` of those that live and pass the filter.
  defp read(%{node: node, figure: figure} = question, pids) do
    items = Enum.uniq([@items[figure] | question.items])

    for {pid, info} when is_list(info) <- infos(node, pids, items),
        question.keep?.(pid, info),
        do: {pid, value(figure, info)}
  end

  defp infos(node, pids, items) when node == node() do
    for pid <- pids, do: {pid, :erlang.process_info(pid, items)}
  end

  # One question for all of them, by functions that every node has.
  defp infos(node, pids, items) do
    arguments = [&:erlang.process_info/2, pids, List.duplicate(items, length(pids))]
    Enum.zip(pids, At.call(node, :lists, :zipwith, arguments))
  end

  # Which binaries a process refers to can only be copied whole; how much they weigh its collector knows, in words.
  defp value(:binary_memory, info) do
    collector = info[:garbage_collection_info]
    words = Keyword.get(collector, :bin_vheap_size, 0) + Keyword.get(collector, :bin_old_vheap_size, 0)
    words * :erlang.system_info(:wordsize)
  end

  defp value(figure, info), do: info[@items[figure]]

  # The figure that one must exceed to be among the first.
  defp floor(%{top: top}, %{most: most}) when length(top) == most, do: top |> List.last() |> elem(1)
  defp floor(_not_full, _question), do: 0

  # How many there are, and those that may be among the first.
  defp above(readings, floor), do: {length(readings), Enum.filter(readings, &(elem(&1, 1) > floor))}

  defp ranked(answer, state, question) do
    state = %{
      state
      | seen: state.seen + answer.seen,
        kept: state.kept + answer.kept,
        silent: state.silent + answer.silent
    }

    answer.readings
    |> Enum.sort_by(&elem(&1, 1), :desc)
    |> Enum.reduce_while(state, fn {pid, figure} = reading, state ->
      cond do
        figure <= floor(state, question) -> {:halt, state}
        question.own?.(pid) -> {:cont, %{state | top: first([reading | state.top], question.most)}}
        true -> {:cont, %{state | others: first([reading | state.others], question.most)}}
      end
    end)
  end

  defp first(readings, most), do: readings |> Enum.sort_by(&elem(&1, 1), :desc) |> Enum.take(most)

  defp now, do: System.monotonic_time(:millisecond)
end
