defmodule JidoCode.Tools.OperationTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Operation
  alias JidoCode.Tools.Telemetry
  alias JidoCode.Tools.Test.Events

  @definition %{
    name: "tool",
    parameters: [
      %{name: "task", type: :string, required: true},
      %{name: "count", type: :integer, required: false, default: 3}
    ]
  }
  @context %{session_id: "s"}

  defp run(family, operation, work, args \\ %{"task" => "t"}) do
    event = [:jido_code, family, operation]
    Events.record([event])
    spec = %{definition: @definition, event: event, label: {:argument, "task"}}
    Operation.run(spec, args, @context, work)
  end

  test "the work sees checked arguments with defaults, and the context" do
    work = fn args, context -> {:ok, %{"args" => args, "context" => context}} end

    assert run(:elixir, :mix_task, work) ==
             {:ok, %{"args" => %{"task" => "t", "count" => 3}, "context" => @context}}
  end

  test "emits one event with exactly the documented keys" do
    for {family, operation, work, label, figure, value, status} <- [
          {:elixir, :mix_task, fn _, _ -> {:ok, %{"exit_code" => 2}} end, :task, :exit_code, 2, :ok},
          {:elixir, :ets_inspect, fn _, _ -> {:ok, %{}} end, :task, :exit_code, 0, :ok},
          {:elixir, :process_state, fn _, _ -> {:timeout, %{}} end, :task, :exit_code, 1, :timeout},
          {:elixir, :fetch_docs, fn _, _ -> {:error, "no"} end, :task, :exit_code, 1, :error},
          {:elixir, :run_exunit, fn _, _ -> {:error, :timeout} end, :task, :exit_code, 1, :timeout},
          {:search, :grep_search, fn _, _ -> {:ok, %{"count" => 9}} end, :path, :result_count, 9, :ok},
          {:search, :grep_search, fn _, _ -> {:error, "no"} end, :path, :result_count, 0, :error},
          {:shell, :bash_execute, fn _, _ -> {:error, "no"} end, :command, :exit_code, -1, :error}
        ] do
      run(family, operation, work)
      event = [:jido_code, family, operation]
      {measurement_keys, metadata_keys} = Telemetry.events()[event]

      assert_received {:event, ^event, measurements, metadata}
      assert Enum.sort(Map.keys(measurements)) == Enum.sort(measurement_keys)
      assert Enum.sort(Map.keys(metadata)) == Enum.sort(metadata_keys)
      assert %{^figure => ^value, duration: duration} = measurements
      assert duration >= 0
      assert %{^label => "t", status: ^status, session_id: "s"} = metadata
    end
  end

  test "what a refusal quotes can be seen, and keeps its lines" do
    quoted = fn %{"task" => task}, _ -> {:error, "Not found: #{task}"} end

    assert run(:elixir, :mix_task, quoted, %{"task" => "a\e[2Jb\u202Ec\n\td"}) ==
             {:error, "Not found: a\\u{1B}[2Jb\\u{202E}c\n\td"}
  end

  test "work without an event is done and answered like any other" do
    spec = %{definition: @definition, event: nil, label: ""}

    assert Operation.run(spec, %{"task" => "t"}, @context, fn args, _ -> {:ok, args} end) ==
             {:ok, %{"task" => "t", "count" => 3}}

    assert {:error, "no"} = Operation.run(spec, %{"task" => "t"}, @context, fn _, _ -> {:error, "no"} end)
    assert {:error, "Missing" <> _} = Operation.run(spec, %{}, @context, fn args, _ -> {:ok, args} end)
  end

  test "a call whose arguments are refused emits nothing and does no work" do
    work = fn _, _ -> flunk("ran") end
    assert {:error, "Missing required parameter: task"} = run(:elixir, :mix_task, work, %{})
    assert {:error, "Invalid task" <> _} = run(:elixir, :mix_task, work, %{"task" => 1})
    refute_received {:event, _, _, _}
  end

  test "errors become text" do
    assert run(:elixir, :mix_task, fn _, _ -> {:error, :task_blocked} end) ==
             {:error, "Mix task is blocked: t"}

    assert run(:elixir, :mix_task, fn _, _ -> {:error, "as it is"} end) == {:error, "as it is"}
    assert run(:elixir, :mix_task, fn _, _ -> {:error, {:timeout, "late"}} end) == {:error, "late"}

    spec = %{
      definition: @definition,
      event: [:jido_code, :elixir, :mix_task],
      label: "fixed",
      format_error: fn reason, label -> "#{label}: #{reason}" end
    }

    assert Operation.run(spec, %{"task" => "t"}, %{}, fn _, _ -> {:error, :odd} end) == {:error, "fixed: odd"}
  end

  test "work that fails becomes an error that quotes no data" do
    for work <- [
          fn _, _ -> raise "token=hunter2" end,
          fn _, _ -> throw("hunter2") end,
          fn _, _ -> exit("hunter2") end,
          fn _, _ -> "hunter2" end
        ] do
      assert {:error, text} = run(:elixir, :mix_task, work)
      assert text =~ "tool failed unexpectedly"
      refute text =~ "hunter2"
      assert_received {:event, _, _, %{status: :error}}
    end
  end

  test "a label never grows with the input" do
    run(:elixir, :mix_task, fn _, _ -> {:ok, %{}} end, %{"task" => String.duplicate("x", 5_000)})
    assert_received {:event, _, _, %{task: label}}
    assert String.length(label) == 100
  end
end
