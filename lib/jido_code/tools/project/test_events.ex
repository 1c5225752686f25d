defmodule JidoCode.Tools.Project.TestEvents do
  @moduledoc false
  # What an ExUnit run reported, by the lines that the formatter in `priv/exunit` tells over the command's channel.
  #
  # The text that a test prints has no part in it. A run that ended early leaves the tests that were done and the one that was
  # running.

  alias JidoCode.Tools.Command.Output
  alias JidoCode.Tools.JSON

  @typedoc """
  `finished?` tells whether every suite that started came to its end, `in_order?` whether all that was reported came as a suite
  reports it: each test ends after it began, within a suite, and before the suite does. Times are microseconds.
  """
  @type t :: %{
          started?: boolean(),
          finished?: boolean(),
          in_order?: boolean(),
          summary: %{String.t() => non_neg_integer()},
          failures: [map()],
          running: [map()],
          slowest: [map()],
          timing: map() | nil,
          seed: integer() | nil,
          max_failures_reached?: boolean(),
          modules: non_neg_integer()
        }

  @statuses ~w(passed failed skipped excluded invalid)
  # Kept of a run; whoever shows them takes as many as are wanted.
  @slowest 100

  @doc "A run that reported nothing."
  @spec none() :: t()
  def none, do: finish(empty())

  @doc """
  Reads the events up to a time (system time in milliseconds, or `:infinity`). What the command runner could not keep is missing,
  and then the run is not in order.
  """
  @spec read(Output.t(), integer() | :infinity) :: t()
  def read(%Output{head: text, cut_bytes: cut}, until \\ :infinity) do
    {lines, rest} = lines(text)
    # Every number is less than the atom.
    run =
      lines |> Stream.map(&decode/1) |> Stream.filter(&(&1["at_ms"] <= until)) |> Enum.reduce(empty(), &add/2)

    finish(if(cut > 0 or rest != "", do: %{run | in_order?: false}, else: run))
  end

  @doc """
  A function that tells how far a run has come, for whoever watches it: given what was reported since the last time it answers
  `{text, next}` with the function to ask next time, where the text is nil while nothing changed, or nil before anything was
  reported.
  """
  @spec follow() :: (String.t() -> {String.t() | nil, (String.t() -> term())} | nil)
  def follow, do: fn text -> follow(text, "", empty(), nil) end

  defp follow(text, rest, run, told) do
    {lines, rest} = lines(rest <> text)
    # Counts and names are all that is wanted of it.
    run = %{(lines |> Stream.map(&decode/1) |> Enum.reduce(run, &add/2)) | failures: [], done: []}

    if text != "" or told != nil do
      now = if run.suites_started > 0, do: so_far(run)
      {if(now != told, do: now), fn text -> follow(text, rest, run, now) end}
    end
  end

  defp so_far(run) do
    counts = "#{run.counts["passed"]} passed, #{run.counts["failed"]} failed"

    case Enum.max_by(run.running, fn {_name, test} -> test["at_ms"] end, fn -> nil end) do
      nil -> counts
      {{module, test}, _event} -> "#{counts}; running test #{test} (#{module})"
    end
  end

  # Whole ones: the last one may still be written.
  defp lines(text) do
    case String.split(text, "\n") do
      [rest] -> {[], rest}
      parts -> {Enum.drop(parts, -1), List.last(parts)}
    end
  end

  # A line that is none of the formatter's is an event of no kind, at no time. Tests can write lines of their own, so each value is
  # looked at before anything counts on it.
  defp decode(line) do
    case JSON.decode(line) do
      {:ok, %{"event" => kind, "at_ms" => at} = event} when is_binary(kind) and is_integer(at) ->
        if named?(event, kind) and formed?(event), do: event, else: unknown()

      _other ->
        unknown()
    end
  end

  defp named?(event, "test_" <> _kind), do: is_binary(event["test"]) and is_binary(event["module"])
  defp named?(_event, _kind), do: true

  @texts ~w(test module file type status kind message diff details logs)
  @numbers ~w(line seed time_us run_us async_us load_us)

  defp formed?(event), do: Enum.all?(event, fn {key, value} -> is_nil(value) or formed?(key, value) end)

  defp formed?("failures", failures),
    do: is_list(failures) and Enum.all?(failures, &(is_map(&1) and formed?(&1)))

  defp formed?("stacktrace", lines), do: is_list(lines) and Enum.all?(lines, &is_binary/1)
  defp formed?(key, value) when key in @texts, do: is_binary(value)
  defp formed?(key, value) when key in @numbers, do: is_integer(value)
  defp formed?(_key, _value), do: true

  defp unknown, do: %{"event" => "unknown", "at_ms" => 0}

  defp empty do
    %{
      suites_started: 0,
      suites_finished: 0,
      in_order?: true,
      # Of the suite that runs; nil between suites. Tests of one name may run at once.
      begun: nil,
      counts: Map.new(@statuses, &{&1, 0}),
      failures: [],
      running: %{},
      done: [],
      timing: nil,
      seed: nil,
      max_failures_reached?: false,
      modules: MapSet.new()
    }
  end

  defp add(event, run), do: event |> ordered(run) |> count(event)

  defp ordered(%{"event" => "suite_started"}, %{begun: nil} = run), do: %{run | begun: %{}}

  defp ordered(%{"event" => "suite_finished"}, %{begun: begun} = run) when begun == %{},
    do: %{run | begun: nil}

  defp ordered(%{"event" => "test_started"} = event, %{begun: %{} = begun} = run),
    do: %{run | begun: Map.update(begun, name(event), 1, &(&1 + 1))}

  defp ordered(%{"event" => "test_finished", "status" => status} = event, %{begun: %{} = begun} = run) do
    case Map.pop(begun, name(event)) do
      {1, begun} -> %{run | begun: begun}
      {many, _rest} when many != nil -> %{run | begun: Map.put(begun, name(event), many - 1)}
      # A test that does not run may be told of by its end alone.
      {nil, _rest} when status in ["skipped", "excluded", "invalid"] -> run
      {nil, _rest} -> %{run | in_order?: false}
    end
  end

  defp ordered(%{"event" => kind}, %{begun: %{}} = run)
       when kind in ["module_failed", "max_failures_reached"],
       do: run

  defp ordered(_event, run), do: %{run | in_order?: false}

  defp count(run, %{"event" => "suite_started"} = event),
    do: %{run | suites_started: run.suites_started + 1, seed: event["seed"]}

  defp count(run, %{"event" => "test_started", "runs" => false}), do: run

  defp count(run, %{"event" => "test_started"} = event),
    do: put_in(run.running[name(event)], Map.take(event, ~w(test module file line at_ms)))

  defp count(run, %{"event" => "test_finished", "status" => status} = event) when status in @statuses do
    run = %{
      run
      | counts: Map.update!(run.counts, status, &(&1 + 1)),
        running: Map.delete(run.running, name(event)),
        modules: MapSet.put(run.modules, event["module"])
    }

    case status do
      "failed" -> run |> timed(event) |> failed(event)
      "passed" -> timed(run, event)
      _other -> run
    end
  end

  defp count(run, %{"event" => "module_failed"} = event) do
    failures =
      for failure <- event["failures"] || [] do
        %{"test" => "setup_all", "module" => event["module"], "file" => event["file"]}
        |> Map.merge(Map.take(failure, ~w(kind message diff line stacktrace details)))
      end

    %{run | failures: Enum.reverse(failures, run.failures)}
  end

  defp count(run, %{"event" => "suite_finished"} = event) do
    times = Map.take(event, ~w(run_us async_us load_us))
    timing = Map.merge(run.timing || %{}, times, fn _key, one, other -> (one || 0) + (other || 0) end)
    %{run | suites_finished: run.suites_finished + 1, timing: timing}
  end

  defp count(run, %{"event" => "max_failures_reached"}), do: %{run | max_failures_reached?: true}
  defp count(run, _event), do: run

  defp name(event), do: {event["module"], event["test"]}

  defp timed(run, event) do
    test = event |> Map.take(~w(test module file line)) |> Map.put("time_us", event["time_us"])
    # A few at a time, so that a run of many thousand tests costs no more than its slowest.
    done = [test | run.done]
    %{run | done: if(length(done) > 2 * @slowest, do: slowest(done), else: done)}
  end

  defp failed(run, event) do
    failures =
      for failure <- event["failures"] || [] do
        event
        |> Map.take(~w(test module file line))
        |> Map.merge(Map.take(failure, ~w(kind message diff stacktrace details logs)))
        |> Map.put("line", failure["line"] || event["line"])
      end

    %{run | failures: Enum.reverse(failures, run.failures)}
  end

  defp slowest(tests), do: tests |> Enum.sort_by(&(&1["time_us"] || 0), :desc) |> Enum.take(@slowest)

  defp finish(run) do
    %{
      started?: run.suites_started > 0,
      finished?: run.suites_started > 0 and run.suites_finished == run.suites_started,
      in_order?: run.in_order? and run.begun == nil,
      summary: Map.put(run.counts, "total", run.counts |> Map.values() |> Enum.sum()),
      failures: Enum.reverse(run.failures),
      running: for({_name, test} <- run.running, do: Map.delete(test, "at_ms")),
      slowest: slowest(run.done),
      timing: run.timing,
      seed: run.seed,
      max_failures_reached?: run.max_failures_reached?,
      modules: MapSet.size(run.modules)
    }
  end
end
