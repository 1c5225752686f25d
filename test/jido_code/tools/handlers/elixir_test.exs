defmodule JidoCode.Tools.Handlers.ElixirTest do
  use ExUnit.Case, async: true
  doctest JidoCode.Tools.Handlers.Elixir

  alias JidoCode.Tools.Handlers.Elixir, as: Handlers
  alias JidoCode.Tools.Test.Events

  test "tasks are allowed by name only" do
    for task <- Handlers.allowed_tasks(), do: assert(Handlers.validate_task(task) == {:ok, task})

    for task <- Handlers.blocked_tasks() do
      assert Handlers.validate_task(task) == {:error, :task_blocked}
    end

    assert Handlers.validate_task("phx.server") == {:error, :task_not_allowed}

    for odd <- ["", " test", "1test", "te st", "test;ls", "tést", "-x", <<255>>, nil, 5, :test] do
      assert Handlers.validate_task(odd) == {:error, :invalid_task_name}
    end
  end

  test "environments" do
    assert Handlers.validate_env(nil) == {:ok, "dev"}
    assert Handlers.validate_env("test") == {:ok, "test"}
    for env <- ["prod", "staging", "", :dev], do: assert(Handlers.validate_env(env) == {:error, :env_blocked})
  end

  test "error texts" do
    for {reason, text} <- [
          {:task_not_allowed, "Mix task not allowed: x"},
          {:task_blocked, "Mix task is blocked: x"},
          {:env_blocked, "Environment 'prod' is blocked for safety"},
          {:timeout, "Mix task timed out: x"},
          {:invalid_task_name, "Invalid task name format: x"},
          {:path_traversal_blocked, "Path traversal not allowed in arguments"},
          {{:path_traversal_blocked, "../a"}, "Path traversal not allowed in argument: ../a"},
          {"as it is", "as it is"}
        ] do
      assert Handlers.format_error(reason, "x") == text
    end

    assert Handlers.format_error(:not_found, "x") =~ "not_found"
    assert Handlers.format_error({:odd, 1}, "x") =~ "{:odd, 1}"
  end

  test "the project root comes from the context, else from the current folder" do
    assert Handlers.get_project_root(%{project_root: "/some/where"}) == {:ok, "/some/where"}
    assert Handlers.get_project_root(%{}) == File.cwd()
  end

  test "names that a host asks for" do
    assert ":code_server" in Handlers.blocked_prefixes()
    assert "Elixir.JidoCode.Tools" in Handlers.blocked_prefixes()
    assert length(Handlers.blocked_prefixes()) == 31
    assert length(Handlers.sensitive_fields()) == 26
  end

  test "emits an operation's event" do
    Events.record([[:jido_code, :elixir, :mix_task]])
    started = System.monotonic_time(:microsecond)
    assert Handlers.emit_elixir_telemetry(:mix_task, started, "test", %{session_id: "s"}, :ok, 0) == :ok

    assert_received {:event, _, %{duration: duration, exit_code: 0},
                     %{task: "test", status: :ok, session_id: "s"}}

    assert duration in 0..1_000_000
  end
end
