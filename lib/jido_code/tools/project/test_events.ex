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
    do: put_in(run.running[name(event)], Map.take(event, ~w(test module file line)))

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
      running: Map.values(run.running),
      slowest: slowest(run.done),
      timing: run.timing,
      seed: run.seed,
      max_failures_reached?: run.max_failures_reached?,
      modules: MapSet.size(run.modules)
    }
  end
end
