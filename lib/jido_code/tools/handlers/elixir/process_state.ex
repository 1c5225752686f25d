defmodule JidoCode.Tools.Handlers.Elixir.ProcessState do
  @moduledoc """
  The `get_process_state` tool: the state of one of the project's servers, and facts about its process.

  The result has these keys:

    * `"state"` - text, or null when the state was not read
    * `"process_info"` - `registered_name`, `status`, `message_queue_len`, `memory` (bytes), `reductions`, `behaviour`,
      `initial_call`, `current_function`
    * `"type"` - `"genserver"` (Agents too), `"gen_statem"`, `"otp_process"` (other processes started through OTP) or
      `"other"`
    * `"note"` - only when there is something to say: what was cut, hidden or not read, and why
    * `"error"` - `"Timeout getting state"` when the process stayed busy until the timeout

  Looking leaves no trace. Processes that are not known to answer get no message: tasks, plain processes, event managers.
  A busy process is watched from outside until it is idle. A GenServer or gen_statem that hibernates is woken for a moment
  and hibernates again; other processes that hibernate, Agents among them, can't be told apart and get no message.

  A module that exports `format_status/1` or `/2` asked to hide something, so its state is not read unless
  `config :jido_code_tools, read_format_status: true`; then the status that the module itself prepares is shown. That way of
  reading copies the state once and trusts the module's code.

  Errors: the name is no name (`Invalid process name`, `Raw PIDs are not allowed`), nothing is registered under it
  (`not found`), or it is not the project's (`blocked`).
  """

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.Config
  alias JidoCode.Tools.Definitions
  alias JidoCode.Tools.Introspection.{Bounded, Names, Observer, Ownership, State}
  alias JidoCode.Tools.Operation

  @default_timeout 5_000
  @max_timeout 30_000

  @grace_ms 500

  # A busy process is looked at again after this time, then after twice as long, and so on up to the maximum.
  @first_pause_ms 2
  @max_pause_ms 50

  @impl true
  def security_properties, do: %{tier: :privileged, timeout_ms: 10_000}

  @doc "Runs the tool; see the module's documentation for the result."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context) do
    Operation.run(
      %{
        definition: Definitions.Elixir.get_process_state(),
        event: [:jido_code, :elixir, :process_state],
        label: {:argument, "process"},
        at_node: true
      },
      args,
      context,
      &inspect_process/2
    )
  end

  defp inspect_process(%{"process" => name, "timeout" => timeout}, context) do
    timeout = timeout(timeout)
    started = System.monotonic_time(:millisecond)

    with {:ok, pid} <- Names.find_process(name, "Process", "process name") do
      # The answer must be out before whoever set the timeout gives up on the whole call.
      deadline = started + timeout - min(div(timeout, 5), 250)

      # Only the process_info calls have no timeout of their own; a process that is stuck outside the VM may never answer.
      case Bounded.run(fn -> look(pid, name, deadline, context) end, timeout: timeout + @grace_ms) do
        {:ok, answer} ->
          answer

        {:error, :timeout} ->
          {:error, {:timeout, "Process #{name} did not let itself be looked at within #{timeout} ms"}}

        {:error, _failure} ->
          {:error, "Process #{name} can't be looked at: too much data about it"}
      end
    end
  end

  defp timeout(timeout) when timeout > 0, do: min(timeout, @max_timeout)
  defp timeout(_invalid), do: @default_timeout

  defp look(pid, name, deadline, context) do
    with {:ok, process} <- Observer.look(pid),
         :ok <- Ownership.check(process, Ownership.scope(context)) do
      process |> state(deadline) |> answer(process)
    else
      :dead -> {:error, Names.not_found("Process", name)}
      {:error, refusal} -> {:error, Ownership.explain(refusal, "Process", name)}
    end
  end

  defp state(process, deadline) do
    cond do
      not Observer.server?(process) -> {:unread, unread(process)}
      hides_state?(process) -> hidden_state(process, deadline)
      true -> when_ready(process, deadline, @first_pause_ms, &State.read/2)
    end
  end

  defp hidden_state(process, deadline) do
    if Config.get(:read_format_status) do
      when_ready(process, deadline, @first_pause_ms, &State.read_status/2)
    else
      {:unread,
       "State not read: the module exports format_status, so it may hide parts of it. " <>
         "`config :jido_code_tools, read_format_status: true` shows what format_status gives."}
    end
  end

  # Unknown code may hide something too. An Agent has no module of its own.
  defp hides_state?(%Observer{behaviour: :agent}), do: false

  defp hides_state?(%Observer{module: module}) do
    module == nil or not :erlang.module_loaded(module) or function_exported?(module, :format_status, 1) or
      function_exported?(module, :format_status, 2)
  end

  # Watches until the process is seen ready, which is when it can be asked without waiting in its mailbox.
  defp when_ready(%Observer{pid: pid} = process, deadline, pause, read) do
    now = System.monotonic_time(:millisecond)

    cond do
      Observer.ready?(process) and now < deadline ->
        read.(pid, deadline - now)

      process.activity == :suspended ->
        {:unread, "State not read: the process was suspended by :sys.suspend."}

      # It was seen to be a server while it worked, and is not known any more: an Agent.
      process.activity == :hibernating and not Observer.server?(process) ->
        {:unread, unread(process)}

      now + pause >= deadline ->
        {:error, :timeout}

      true ->
        Process.sleep(pause)

        case Observer.look(pid) do
          {:ok, process} -> when_ready(process, deadline, min(pause * 2, @max_pause_ms), read)
          :dead -> {:error, :gone}
        end
    end
  end

  defp unread(%Observer{behaviour: behaviour}) when behaviour in [:supervisor, :supervisor_bridge] do
    "State not read: this is a supervisor; use inspect_supervisor."
  end

  defp unread(%Observer{behaviour: :gen_event}),
    do: "State not read: a gen_event answers only with copies of all its handlers' states."

  defp unread(%Observer{behaviour: :task}),
    do: "This is a Task: it has no state to read, and no message was sent to it."

  defp unread(%Observer{activity: :hibernating}) do
    "State not read: the process hibernates, and what kind it is (an Agent or no server at all) can't be seen " <>
      "meanwhile. No message was sent to it."
  end

  defp unread(_plain),
    do: "Not known to be a GenServer: no message was sent to it, so it has no state to show."

  defp answer({:ok, text, summary}, process), do: {:ok, result(process, text, summary_note(summary))}
  defp answer({:unread, note}, process), do: {:ok, result(process, nil, note)}

  defp answer({:error, :timeout}, process) do
    note =
      "State not read: the process was busy the whole time. It was only watched; no message waits for it."

    process
    |> fresh()
    |> result(nil, note)
    |> Map.put("error", "Timeout getting state")
    |> then(&{:timeout, &1})
  end

  defp answer({:error, :gone}, process) do
    {:ok, %{"state" => nil, "process_info" => %{"status" => "dead"}, "type" => type(process.behaviour)}}
  end

  defp answer({:error, :refused}, process) do
    {:ok, result(process, nil, "State not read: the process did not let its state be read.")}
  end

  # After a long watch the first look is old news.
  defp fresh(process) do
    case Observer.look(process.pid) do
      {:ok, process} -> process
      :dead -> process
    end
  end

  defp result(process, state, note) do
    result = %{"state" => state, "process_info" => info(process), "type" => type(process.behaviour)}
    if note, do: Map.put(result, "note", note), else: result
  end

  defp info(process) do
    %{
      "registered_name" => process.name && Names.show(process.name),
      "status" => Atom.to_string(process.status),
      "message_queue_len" => process.message_queue_len,
      "memory" => process.memory,
      "reductions" => process.reductions,
      "behaviour" => Atom.to_string(process.behaviour),
      "initial_call" => mfa(process.initial_call),
      "current_function" => mfa(process.current_function)
    }
  end

  defp mfa(nil), do: nil
  defp mfa({module, function, arity}), do: Exception.format_mfa(module, function, arity)

  defp type(behaviour) when behaviour in [:genserver, :agent], do: "genserver"
  defp type(:gen_statem), do: "gen_statem"
  defp type(:plain), do: "other"
  defp type(_otp), do: "otp_process"

  defp summary_note(summary) do
    [
      summary.truncated && "The state is larger than what is shown; \"...\" marks what was left out.",
      summary.hidden != [] &&
        "Shown by name only, because they have an Inspect implementation of their own: " <>
          Enum.map_join(summary.hidden, ", ", &Names.show/1) <> ".",
      summary.redacted > 0 && "Sensitive fields hidden: #{summary.redacted}."
    ]
    |> Enum.filter(& &1)
    |> case do
      [] -> nil
      notes -> Enum.join(notes, " ")
    end
  end
end
