defmodule JidoCode.Tools.Introspection.Supervision do
  @moduledoc false
  # What a supervisor supervises, and how.
  #
  # Only a supervisor that is seen idle is asked, after it has counted its children; one that hibernates is woken by that.
  # One with more than 1,000 children is not asked for the list, which would be large on both sides: a sample is taken from its
  # links. A busy one, too, is seen by its links.

  alias JidoCode.Tools.Introspection.{At, Facts, Observer, State}

  @max_listed 1_000
  @max_sampled 50
  # How many links are looked at in search of children.
  @max_links 500
  # One that is starting or restarting a child is often idle soon, and one that others ask as well is within a moment.
  @patience_ms 100
  @pause_ms 1
  # One supervisor that became busy at the wrong moment must not use up the time of the others.
  @call_ms 1_000

  @typedoc "As the supervisor has it, or found by its links."
  @type child ::
          {id :: term(), pid() | :undefined | :restarting, :worker | :supervisor, [module()] | :dynamic}
          | {:linked, Observer.t()}

  @type t :: %{
          children: [child()],
          count: non_neg_integer(),
          note: String.t() | nil,
          strategy: State.strategy() | nil
        }

  @doc """
  A supervisor's children, nearest first started, how many there are, and what is to be said about how that was found.
  `deadline` is monotonic time in milliseconds; `strategy?` asks for strategy and restart intensity as well.
  """
  @spec open(Observer.t(), integer(), boolean()) :: t()
  def open(%Observer{behaviour: :supervisor_bridge}, _deadline, _strategy?), do: opened([], 0, nil)

  def open(supervisor, deadline, strategy?) do
    supervisor = await_ready(supervisor, min(deadline, now() + @patience_ms))

    if Observer.ready?(supervisor) do
      supervisor |> asked(deadline) |> with_strategy(supervisor, strategy?)
    else
      by_links(supervisor, "is #{supervisor.activity}")
    end
  end

  defp opened(children, count, note), do: %{children: children, count: count, note: note, strategy: nil}

  defp await_ready(%Observer{activity: :busy} = supervisor, deadline) do
    Process.sleep(@pause_ms)

    case Observer.look(supervisor.pid) do
      {:ok, supervisor} -> if now() < deadline, do: await_ready(supervisor, deadline), else: supervisor
      :dead -> supervisor
    end
  end

  defp await_ready(supervisor, _deadline), do: supervisor

  defp asked(supervisor, deadline) do
    case ask(supervisor.pid, :count_children, deadline) do
      {:ok, counts} ->
        count = count(counts)
        if count > @max_listed, do: sample(supervisor, count), else: list(supervisor, count, deadline)

      {:error, why} ->
        by_links(supervisor, "did not answer (#{why})")
    end
  end

  defp list(supervisor, count, deadline) do
    case ask(supervisor.pid, :which_children, deadline) do
      # Supervisors answer in the reverse order of starting.
      {:ok, children} -> opened(Enum.reverse(children), max(count, length(children)), nil)
      {:error, why} -> by_links(supervisor, "did not answer (#{why})")
    end
  end

  # A supervisor of one kind of children counts one specification, others count one for each child.
  defp count(counts) do
    counts = Map.new(counts)
    max(Map.get(counts, :specs, 0), Map.get(counts, :supervisors, 0) + Map.get(counts, :workers, 0))
  end

  defp ask(pid, question, deadline) do
    {:ok, GenServer.call(pid, question, deadline |> Kernel.-(now()) |> max(0) |> min(@call_ms))}
  catch
    :exit, {:timeout, _call} -> {:error, "it is busy"}
    :exit, _reason -> {:error, "it is gone"}
  end

  # Part of its state, so only where that may be asked for: in OTP's own loop.
  defp with_strategy(opened, %Observer{loop: loop}, strategy?) when loop == :ranch_conns_sup or not strategy?,
    do: opened

  defp with_strategy(opened, supervisor, _strategy?) do
    case State.strategy(supervisor.pid, @call_ms) do
      {:ok, strategy} -> %{opened | strategy: strategy}
      {:error, _unknown} -> opened
    end
  end

  defp sample(supervisor, count) do
    children = linked_children(supervisor)

    opened(
      children,
      count,
      "#{label(supervisor)} has #{count} children; a sample of #{length(children)} was found through its links."
    )
  end

  defp by_links(supervisor, why) do
    children = linked_children(supervisor)

    note =
      "#{label(supervisor)} #{why}, so its children were found through its links; ids are not known, " <>
        "and children that are not running or not started through OTP are missing."

    opened(children, length(children), note)
  end

  # A child is linked to its supervisor and names it as its parent.
  defp linked_children(%Observer{pid: pid} = supervisor) do
    case At.call(node(pid), :erlang, :process_info, [pid, :links]) do
      {:links, links} ->
        links
        |> Stream.filter(&(is_pid(&1) and node(&1) == node(pid)))
        |> Stream.take(@max_links)
        |> Stream.flat_map(&linked_child(&1, supervisor))
        |> Enum.take(@max_sampled)

      :undefined ->
        []
    end
  end

  defp linked_child(pid, supervisor) do
    case Observer.look(pid) do
      {:ok, %Observer{parent: parent} = child}
      when parent != nil and parent in [supervisor.pid, supervisor.name] ->
        [{:linked, child}]

      _other ->
        []
    end
  end

  @doc "A supervisor as a text calls it."
  @spec label(Observer.t()) :: String.t()
  def label(%Observer{name: nil, pid: pid}), do: Facts.show_pid(pid)
  def label(%Observer{name: name}), do: Facts.show(name)

  defp now, do: System.monotonic_time(:millisecond)
end
