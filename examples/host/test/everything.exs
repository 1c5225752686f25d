defmodule JidoCode.Everything do
  @moduledoc "Calls of the library's tools through the host's Executor, and what must come of each."

  alias JidoCode.Session
  alias JidoCode.Tools.{Executor, JSON, Result}
  alias JidoCode.Tools.Security.Permissions

  require Logger

  @doc "A session of its own, with its process."
  def session!(root) do
    <<a::32, b::16, _::4, c::12, _::2, d::14, e::48>> = :crypto.strong_rand_bytes(16)

    id =
      Enum.map_join([{a, 8}, {b, 4}, {0x4000 + c, 4}, {0x8000 + d, 4}, {e, 12}], "-", fn {number, digits} ->
        number |> Integer.to_string(16) |> String.downcase() |> String.pad_leading(digits, "0")
      end)

    {:ok, _pid} = Session.Manager.start(id, root)
    id
  end

  @doc "One call; the result with its content as data, where it is JSON."
  def call(name, args, session, opts \\ []) do
    {:ok, result} =
      Executor.execute(
        %{id: "call-1", name: name, arguments: args},
        [context: %{session_id: session}] ++ opts
      )

    %Result{tool_call_id: "call-1", tool_name: ^name} = result

    case result do
      %Result{status: :ok, content: "{" <> _} -> {:ok, decoded(result.content)}
      %Result{status: status} -> {status, result.content}
    end
  end

  defp decoded(text) do
    {:ok, data} = JSON.decode(text)
    data
  end

  @doc """
  `{tool, data}` for each of them, checked, in a session that may call them all; it is given consent to trace calls here. A tool that
  has no call here is left out. mix_task and run_exunit take longer than the Executor's 30 seconds may allow.
  """
  def all(session, opts) do
    call = fn name, args ->
      {:ok, data} = call(name, args, session, [timeout: timeout(name)] ++ opts)
      data
    end

    %{"state" => state, "type" => "genserver"} =
      process = call.("get_process_state", %{"process" => "Stall.Till"})

    true = state =~ "cents: 1250"
    true = state =~ "[REDACTED]"

    %{"tree" => tree} = supervisor = call.("inspect_supervisor", %{"supervisor" => "Stall.Supervisor"})
    true = tree =~ "Stall.Till"

    %{"result" => [row]} =
      table = call.("ets_inspect", %{"operation" => "lookup", "table" => "stall_prices", "key" => ":plum"})

    true = inspect(row) =~ "420"

    mark = "till #{System.unique_integer([:positive])} is short"
    Logger.error(mark)
    %{"events" => [%{"level" => "error", "text" => ^mark}]} = logs = call.("get_logs", %{"text" => mark})

    %{"moduledoc" => "A market stall."} = docs = call.("fetch_elixir_docs", %{"module" => "Stall"})

    %{"exit_code" => 0} = mix = call.("mix_task", %{"task" => "compile", "args" => ["--force"]})

    %{"summary" => %{"total" => 2, "passed" => 1, "failed" => 1}} = tests = call.("run_exunit", %{})

    %{"result" => "lib/stall.ex" <> _} = grep = call.("grep_search", %{"pattern" => "def price"})

    %{"stdout" => "lib\nmix.exs\ntest\n", "exit_code" => 0} =
      bash = call.("bash_execute", %{"command" => "ls | grep -v -e _build -e pipe"})

    %{"shell_id" => id} = background = call.("bash_background", %{"command" => "echo done"})
    %{"output" => "done\n", "status" => "completed"} = output = call.("bash_output", %{"shell_id" => id})
    %{"killed" => false} = kill = call.("kill_shell", %{"shell_id" => id})

    %{"processes" => [%{"pid" => "#PID" <> _} | _]} = processes = call.("list_processes", %{"limit" => 3})
    %{"memory" => %{}} = overview = call.("system_overview", %{})

    reference = %{"reference" => "Stall.price/1"}
    source = written(call("get_source_location", reference, session, opts), "locations")
    callers = written(call("find_callers", reference, session, opts), "uses")

    {:ok, ["trace_calls"]} = Permissions.record_consent(session, "trace_calls")
    trace = traced(call("trace_calls", %{"reference" => "Stall.price/1", "timeout" => 1_000}, session, opts))

    [
      {"list_processes", processes},
      {"system_overview", overview},
      {"get_source_location", source},
      {"find_callers", callers},
      {"trace_calls", trace},
      {"get_process_state", process},
      {"inspect_supervisor", supervisor},
      {"ets_inspect", table},
      {"get_logs", logs},
      {"fetch_elixir_docs", docs},
      {"mix_task", mix},
      {"run_exunit", tests},
      {"grep_search", grep},
      {"bash_execute", bash},
      {"bash_background", background},
      {"bash_output", output},
      {"kill_shell", kill}
    ]
  end

  # A release has no debug information, and no sources.
  defp written({:ok, data}, key) do
    true = data[key] == [] or match?([%{"file" => "lib/stall.ex"} | _], data[key])
    data
  end

  defp written({:error, text}, _key) do
    true = text =~ "without debug information"
    %{"error" => text}
  end

  defp traced({:ok, data}), do: data

  defp traced({:error, text}) do
    true = text =~ "needs OTP 27"
    %{"error" => text}
  end

  @doc "A pipe in the project: what reads it waits."
  def pipe!(root) do
    pipe = Path.join(root, "pipe-#{System.unique_integer([:positive])}")
    {"", 0} = System.cmd("mkfifo", [pipe])
    pipe
  end

  @doc "The Executor's time for a tool: a little more than the tool's own maximum, where that is more than 30 seconds."
  def timeout(name) when name in ["mix_task", "run_exunit"], do: 310_000
  def timeout(name) when name in ["bash_execute", "bash_output"], do: 610_000
  def timeout("trace_calls"), do: 65_000
  def timeout(_name), do: 35_000
end
