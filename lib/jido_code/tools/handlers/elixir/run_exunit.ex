defmodule JidoCode.Tools.Handlers.Elixir.RunExunit do
  @moduledoc false
  # The `run_exunit` tool: the project's tests, with structured results.
  #
  # The result has these keys:
  #
  #   * `"passed"` - true only when Mix ended by itself with exit code 0, the suite came to its end, nothing failed, at least one
  #     test ran, and what the suite reported came in the order that a suite has
  #   * `"summary"` - `total`, `passed`, `failed`, `skipped`, `excluded`, `invalid`; null when no test started
  #   * `"failures"` - for each: `test`, `module`, `file`, `line`, `kind`, `message`, `diff`, `stacktrace`; `details` as ExUnit shows it,
  #     and `logs` that were captured
  #   * `"timing"` - `total_seconds`, `async_seconds`, `load_seconds`, `seed`, and the `slowest` tests: as many as were asked for,
  #     which `asked` then says, or five
  #   * `"running"` - the tests that were running when time ran out
  #   * `"output"`, `"stderr"`, `"exit_code"`, `"confinement"` - as in `mix_task`: what Mix and the tests themselves printed, not
  #     ExUnit's report
  #   * `"note"` - only when there is something to say
  #
  # The results come from a formatter that is loaded into the project's own Mix, not from what is printed: a test can print
  # what it likes. The project is not touched.
  #
  # `path` is a test file or folder inside the project's test paths. `timeout` is 120 seconds by default and at most 300; a run
  # that is ended by it answers with what was done by then.

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.{Answers, Command, Deadline, Operation, Project, Workspace}
  alias JidoCode.Tools.Command.Result
  alias JidoCode.Tools.Project.TestEvents
  alias JidoCode.Tools.Security.{MixPolicy, Refusal}

  @default_timeout 120_000
  @max_timeout 300_000

  # Names of tests take the room that failures need.
  @slowest 5
  @max_slowest 100

  # Failures tell more than the output around them, so they get the larger part of the 30,000 characters.
  @keep [stdout: {3_000, 6_000}, stderr: {1_500, 1_500}]
  @failures_budget 15_000

  # Some hundred bytes a test.
  @max_events 32 * 1024 * 1024

  # Kept in this module: the library's files may lie in the project, where a command can replace them.
  @files for file <- ~w(channel.exs exunit/formatter.exs),
             do: Path.expand("../../../../../priv/#{file}", __DIR__)
  for file <- @files, do: @external_resource(file)
  @formatter Enum.map_join(@files, &File.read!/1)

  @impl true
  def definition do
    %{
      name: "run_exunit",
      title: "Run tests",
      summary: "the project's tests, with structured results",
      tier: :execute,
      hints: :runs,
      text: &Answers.Tests.text/1,
      event: {:elixir, :run_exunit},
      label: "test",
      description:
        "Run the project's ExUnit tests and get structured results: totals, every failure with module, file, line " <>
          "and message, and timing. Without a path the whole suite runs. Failing tests are a normal answer.",
      parameters: [
        %{
          name: "path",
          type: :string,
          required: false,
          description: "Test file or folder inside the project's test folder, relative to the project root."
        },
        %{
          name: "line",
          type: :integer,
          required: false,
          minimum: 1,
          refusal: "line must be 1 or more",
          description: "Run only the test at this line; needs path to be a file."
        },
        %{
          name: "tag",
          type: :string,
          required: false,
          description: "Run only tests with this tag, as \"name\" or \"name:value\"."
        },
        %{
          name: "exclude_tag",
          type: :string,
          required: false,
          description:
            "Leave out tests with this tag, as \"name\" or \"name:value\"; one that has the wanted tag too still runs."
        },
        %{
          name: "max_failures",
          type: :integer,
          required: false,
          minimum: 1,
          refusal: "max_failures must be 1 or more",
          description: "Stop after this many failures (1 or more)."
        },
        %{
          name: "seed",
          type: :integer,
          required: false,
          minimum: 0,
          refusal: "seed must be 0 or more; 0 keeps the order of the files",
          description: "Seed of the test order; repeat a seed to repeat an order."
        },
        %{
          name: "trace",
          type: :boolean,
          required: false,
          default: false,
          description: "Run tests one after the other without ExUnit's own timeouts (slower)."
        },
        %{
          name: "slowest",
          type: :integer,
          required: false,
          minimum: 1,
          maximum: @max_slowest,
          beyond: :cut,
          refusal: "slowest must be 1 or more",
          description:
            "Show the times of the run and this many of its slowest tests (1 to #{@max_slowest}), slowest first."
        },
        %{
          name: "timeout",
          type: :integer,
          required: false,
          default: @default_timeout,
          minimum: 1,
          maximum: @max_timeout,
          beyond: :cut,
          description: "Time limit in milliseconds (default #{@default_timeout}, maximum #{@max_timeout})."
        }
      ]
    }
  end

  @doc "Runs the tool; see the module's documentation for the result."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context), do: Operation.run(Operation.of(__MODULE__), args, context, &run/2)

  @doc "What `mix test` is called with for such a call, as people write it; an error when the call would be refused for its path."
  @spec line(map(), Path.t()) :: {:ok, [String.t()]} | {:error, String.t()}
  def line(args, root) do
    with {:ok, _words} <- path(args["path"], args["line"]),
         {:ok, place} <- inside_project(root, args["path"]),
         {:ok, path} <- args["path"] |> from_root(place) |> path(args["line"]),
         do: {:ok, path ++ options(args)}
  end

  defp run(args, context) do
    deadline = Deadline.new(args["timeout"], @default_timeout, @max_timeout)

    with {:ok, _words} <- path(args["path"], args["line"]),
         options = options(args),
         {:ok, root} <- Workspace.root(context),
         {:ok, place} <- inside_project(root, args["path"]),
         {:ok, path} <- args["path"] |> from_root(place) |> path(args["line"]),
         :ok <- plausible(args["path"]),
         {:ok, facts} <- Project.Mix.facts(root, "test", deadline),
         :ok <- inside_tests(place, args["path"], facts),
         :ok <- Project.Mix.approve("test", judged(path, options, facts), "test", facts) do
      ends_at = System.os_time(:millisecond) + Deadline.left(deadline)

      settings = [
        env: "test",
        deadline: deadline,
        keep: @keep,
        channel: @max_events,
        report: TestEvents.follow(),
        before: @formatter
      ]

      formatter = ~w(--formatter JidoCode.Tools.ExUnitFormatter)
      result = Project.Mix.run(root, ["test" | path ++ options] ++ formatter, context, settings)
      answer(result, events(result, ends_at), args["slowest"], deadline.timeout)
    end
  end

  defp events({:ok, result}, ends_at), do: TestEvents.read(result.channel, cutoff(result, ends_at))
  defp events(_error, _ends_at), do: TestEvents.none()

  # What tests did after they were asked to end says nothing about them.
  defp cutoff(%Result{status: :timeout}, ends_at), do: ends_at
  defp cutoff(_result, _ends_at), do: :infinity

  defp options(args) do
    if(args["trace"], do: ["--trace"], else: []) ++
      option("--only", args["tag"]) ++
      option("--exclude", args["exclude_tag"]) ++
      option("--max-failures", args["max_failures"]) ++ option("--seed", args["seed"])
  end

  # One that would leave the project if something decoded it is told as such, also where there is no project.
  defp plausible(nil), do: :ok

  defp plausible(path) do
    with true <- String.contains?(path, "%"),
         {:error, %{kind: :path_traversal_blocked} = denial} <- MixPolicy.check("test", [path], "test") do
      {:error, MixPolicy.format(denial)}
    else
      _later -> :ok
    end
  end

  defp path(nil, nil), do: {:ok, []}
  defp path(nil, _line), do: {:error, "line needs path: give the test file that it is in"}

  defp path("", _line),
    do: {:error, "path is empty; leave it out to run all tests, or give one in the test/ directory"}

  defp path(path, nil), do: {:ok, [path]}
  defp path(path, line), do: {:ok, ["#{path}:#{line}"]}

  defp option(_name, nil), do: []
  defp option(name, value), do: [name, to_string(value)]

  # An absolute path inside the project is as good as the other.
  defp from_root(nil, _place), do: nil
  defp from_root(path, place), do: if(Path.type(path) == :absolute, do: place, else: path)

  # The policy judges the text of the path; this judges where it leads.
  defp inside_project(_root, nil), do: {:ok, nil}

  defp inside_project(root, path) do
    case Workspace.resolve(root, path) do
      {:ok, %{relative: relative}} ->
        {:ok, relative}

      {:error, {kind, text}} ->
        {:error, Refusal.parameter(kind, path, text)}
    end
  end

  defp inside_tests(nil, nil, _facts), do: :ok

  defp inside_tests(place, path, facts) do
    folders = facts.test_paths || ["test"]

    if Enum.any?(folders, &below?(place, &1)) or umbrella?(place),
      do: :ok,
      else: {:error, Refusal.outside_tests(path, folders)}
  end

  # The policy knows the configured test folders. Those that the project declares itself were looked at here.
  defp judged(path, options, %{test_paths: nil}), do: path ++ options
  defp judged(_path, options, _facts), do: options

  defp below?(path, place) do
    place = String.trim_trailing(place, "/")
    path == place or String.starts_with?(path, place <> "/")
  end

  defp umbrella?(path), do: match?(["apps", _app, "test" | _rest], Path.split(path))

  defp answer({:ok, %Result{} = result}, events, asked, timeout) do
    {failures, left_out} = bounded(events.failures)
    passed? = passed?(result, events)

    report =
      Map.merge(Result.report(result, "output"), %{
        "passed" => passed?,
        "summary" => if(events.started?, do: events.summary),
        "failures" => failures,
        "timing" => timing(events, asked),
        "running" => if(passed?, do: [], else: events.running)
      })

    notes = List.wrap(report["note"]) ++ notes(result, events, left_out, timeout)
    report = if notes == [], do: report, else: Map.put(report, "note", Enum.join(notes, " "))
    {if(result.status == :timeout, do: :timeout, else: :ok), report}
  end

  defp answer({:error, reason}, _events, _asked, _timeout), do: {:error, Command.explain(reason)}

  # What stops accidents and cheap fakes. A test runs in the VM that tells of it: one that means to lie can.
  defp passed?(result, events) do
    result.status == :exited and result.exit_code == 0 and result.processes_left == 0 and
      events.finished? and events.in_order? and nothing_failed?(events) and ran(events) > 0
  end

  defp nothing_failed?(%{summary: summary, failures: failures}),
    do: failures == [] and summary["failed"] == 0 and summary["invalid"] == 0

  defp ran(%{summary: summary}), do: summary["passed"] + summary["failed"]

  defp notes(result, events, left_out, timeout) do
    Enum.concat([
      if(result.status == :timeout, do: ["Time ran out after #{timeout} ms; the tests were ended."], else: []),
      if(not events.started?, do: ["No test started: the output says why."], else: []),
      if(events.started? and not events.finished? and result.status != :timeout,
        do: ["The suite did not finish."],
        else: []
      ),
      if(events.finished? and not events.in_order?,
        do: ["The reported events are not in the order of a test suite: something else sent events, too."],
        else: []
      ),
      if(events.finished? and result.exit_code == 0 and not nothing_failed?(events),
        do: [
          "Mix ended with exit code 0 although tests failed: something in the project ends the VM by itself."
        ],
        else: []
      ),
      if(events.finished? and ran(events) == 0, do: ["No test ran: nothing matched the filters."], else: []),
      if(events.max_failures_reached?, do: ["Stopped at max_failures."], else: []),
      if(left_out > 0, do: ["#{left_out} further failures are left out."], else: [])
    ])
  end

  defp timing(%{started?: false}, _asked), do: nil

  defp timing(%{timing: timing} = events, asked) do
    told = Map.merge(times(timing), %{"seed" => events.seed, "slowest" => slowest(events, asked || @slowest)})
    if asked, do: Map.put(told, "asked", asked), else: told
  end

  # Known when a suite came to its end.
  defp times(nil), do: %{}

  defp times(timing) do
    %{
      "total_seconds" => seconds(timing["run_us"]),
      "async_seconds" => seconds(timing["async_us"]),
      "load_seconds" => seconds(timing["load_us"])
    }
  end

  defp slowest(events, count) do
    for test <- Enum.take(events.slowest, count) do
      test |> Map.delete("time_us") |> Map.put("seconds", seconds(test["time_us"]))
    end
  end

  defp seconds(nil), do: nil
  defp seconds(us), do: Float.round(us / 1_000_000, 3)

  # Whole failures while they fit; the texts of the last one are not cut, it is left out.
  defp bounded(failures) do
    {kept, _room} =
      Enum.reduce_while(failures, {[], @failures_budget}, fn failure, {kept, room} ->
        failure = Map.reject(failure, fn {_key, value} -> value in [nil, []] end)
        size = failure |> Map.values() |> List.flatten() |> Enum.map(&text_size/1) |> Enum.sum()
        if size > room, do: {:halt, {kept, 0}}, else: {:cont, {[failure | kept], room - size}}
      end)

    {Enum.reverse(kept), length(failures) - length(kept)}
  end

  defp text_size(text) when is_binary(text), do: String.length(text)
  defp text_size(_other), do: 0
end
