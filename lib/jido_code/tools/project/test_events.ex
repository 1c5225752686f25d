defmodule JidoCode.Tools.Project.TestEvents do
  @moduledoc """
  What an ExUnit run reported, from the file that the formatter in `priv/exunit` writes.

  The text that a test prints has no part in it. A run that ended early leaves the tests that were done and the one that was
  running.
  """

  @typedoc """
  `finished?` tells whether every suite that started came to its end. Times are microseconds.
  """
  @type t :: %{
          started?: boolean(),
          finished?: boolean(),
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
  @slowest 5

  # What a run may report at most, in bytes; the rest is not read.
  @max_file 64 * 1024 * 1024

  @doc """
  Reads the events up to a time (system time in milliseconds, or `:infinity`); a file that is not there is a run that reported
  nothing.
  """
  @spec read(Path.t(), integer() | :infinity) :: t()
  def read(file, until \\ :infinity) do
    # Every number is less than the atom.
    file |> events() |> Stream.filter(&(&1["at_ms"] <= until)) |> Enum.reduce(empty(), &add/2) |> finish()
  end

  # Of what was reported since the last look, the most that is read at once.
  @max_read 4 * 1024 * 1024

  @doc """
  A function that tells how far a run has come, for whoever watches it: `{text, next}` with the function to ask next time, where
  the text is nil while nothing changed, or nil before the first test.
  """
  @spec follow(Path.t()) :: (() -> {String.t() | nil, (() -> term())} | nil)
  def follow(file), do: fn -> follow(file, 0, empty(), nil) end

  defp follow(file, offset, run, told) do
    {events, offset} = events_from(file, offset)
    # Counts and names are all that is wanted of it.
    run = %{Enum.reduce(events, run, &add/2) | failures: [], done: []}

    if run.suites_started > 0 do
      text = so_far(run)
      {if(text != told, do: text), fn -> follow(file, offset, run, text) end}
    end
  end

  defp so_far(run) do
    counts = "#{run.counts["passed"]} passed, #{run.counts["failed"]} failed"

    case Enum.max_by(run.running, fn {_name, test} -> test["at_ms"] end, fn -> nil end) do
      nil -> counts
      {{module, test}, _event} -> "#{counts}; running test #{test} (#{module})"
    end
  end

  # Whole lines only: the last one may still be written.
  defp events_from(file, offset) do
    with {:ok, device} <- :file.open(file, [:read, :raw, :binary]),
         read = :file.pread(device, offset, @max_read),
         :ok = :file.close(device),
         {:ok, text} <- read,
         [_ | _] = breaks <- :binary.matches(text, "\n") do
      {last, 1} = List.last(breaks)
      lines = text |> binary_part(0, last) |> String.split("\n")
      {Enum.flat_map(lines, &decode/1), offset + last + 1}
    else
      _nothing_new -> {[], offset}
    end
  end

  defp events(file) do
    case File.stat(file) do
      {:ok, %{size: size}} when size <= @max_file ->
        file |> File.stream!() |> Stream.flat_map(&decode/1)

      {:ok, _large} ->
        file |> File.stream!() |> Stream.flat_map(&decode/1) |> Stream.take(50_000)

      {:error, _reason} ->
        []
    end
  end

  # A line that was cut by the end of its process, or that is none of the formatter's, is left out.
  defp decode(line) do
    with {:ok, binary} <- line |> String.trim() |> Base.decode64(),
         %{"event" => _kind} = event <- :erlang.binary_to_term(binary, [:safe]) do
      [event]
    else
      _other -> []
    end
  rescue
    ArgumentError -> []
  end

  defp empty do
    %{
      suites_started: 0,
      suites_finished: 0,
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

  defp add(%{"event" => "suite_started"} = event, run),
    do: %{run | suites_started: run.suites_started + 1, seed: event["seed"]}

  defp add(%{"event" => "test_started"} = event, run),
    do: put_in(run.running[name(event)], Map.take(event, ~w(test module file line at_ms)))

  defp add(%{"event" => "test_finished", "status" => status} = event, run) when status in @statuses do
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

  defp add(%{"event" => "module_failed"} = event, run) do
    failures =
      for failure <- event["failures"] do
        %{"test" => "setup_all", "module" => event["module"], "file" => event["file"]}
        |> Map.merge(Map.take(failure, ~w(kind message diff line stacktrace)))
      end

    %{run | failures: Enum.reverse(failures, run.failures)}
  end

  defp add(%{"event" => "suite_finished"} = event, run) do
    times = Map.take(event, ~w(run_us async_us load_us))
    timing = Map.merge(run.timing || %{}, times, fn _key, one, other -> (one || 0) + (other || 0) end)
    %{run | suites_finished: run.suites_finished + 1, timing: timing}
  end

  defp add(%{"event" => "max_failures_reached"}, run), do: %{run | max_failures_reached?: true}
  defp add(_event, run), do: run

  defp name(event), do: {event["module"], event["test"]}

  defp timed(run, event) do
    test = event |> Map.take(~w(test module file line)) |> Map.put("time_us", event["time_us"])
    # A few at a time, so that a run of many thousand tests costs no more than its slowest.
    done = [test | run.done]
    %{run | done: if(length(done) > 200, do: slowest(done), else: done)}
  end

  defp failed(run, event) do
    failures =
      for failure <- event["failures"] do
        event
        |> Map.take(~w(test module file line))
        |> Map.merge(Map.take(failure, ~w(kind message diff stacktrace)))
        |> Map.put("line", failure["line"] || event["line"])
      end

    %{run | failures: Enum.reverse(failures, run.failures)}
  end

  defp slowest(tests), do: tests |> Enum.sort_by(&(&1["time_us"] || 0), :desc) |> Enum.take(@slowest)

  defp finish(run) do
    %{
      started?: run.suites_started > 0,
      finished?: run.suites_started > 0 and run.suites_finished == run.suites_started,
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
