defmodule JidoCode.Tools.Handlers.Elixir.ProcessState do
  @moduledoc false
  # The `get_process_state` tool: the state of one of the project's servers, and facts about its process.
  #
  # The result has these keys:
  #
  #   * `"state"` - text, or null when the state was not read
  #   * `"process_info"` - `registered_name`, `pid`, `status`, `message_queue_len`, `memory` (bytes), `reductions`, `behaviour`,
  #     `initial_call`, `current_function`, `application`, `parent`, `ancestors`, `links`, `monitors`, `monitored_by`,
  #     `dictionary_keys`, `stack`, and `label` where the process has one; lists name the first ten
  #   * `"type"` - `"genserver"` (Agents too), `"gen_statem"`, `"otp_process"` (other processes started through OTP) or
  #     `"other"`
  #   * `"note"` - only when there is something to say: what was cut, hidden or not read, and why; that what is shown is not fresh
  #   * `"error"` - `"Timeout getting state"` when the process stayed busy until the timeout
  #
  # Looking leaves no trace. Only a process that is known to be one of OTP's servers gets a message
  # (`JidoCode.Tools.Introspection.Observer`): not tasks, plain processes, event managers, and servers of behaviours that are not
  # OTP's. A busy process is watched from outside until it is idle. A GenServer or gen_statem that hibernates is woken for a moment
  # and hibernates again; other processes that hibernate (Agents among them, before OTP 28) can't be told apart and get no message. One
  # process is asked three times in a row at most, and then once in two seconds; who comes earlier gets what was read last.
  #
  # A module that exports `format_status/1` or `/2` asked to hide something, so its state is not read unless
  # `config :jido_code_tools, read_format_status: true`; then the status that the module itself prepares is shown. That way of
  # reading copies the state once and trusts the module's code. GenStage's own is not taken for its consumers'.
  #
  # Errors: the name is not a name (`Invalid process name`, `Raw PIDs are not allowed`), nothing is registered under it
  # (`not found`), it is not the project's (`blocked`), or it ended while it was looked at (`ended`).

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.{Answers, Config, Operation}

  alias JidoCode.Tools.Introspection.{
    At,
    Bounded,
    Facts,
    Names,
    Observer,
    Ownership,
    Pace,
    Reach,
    Records,
    State,
    Target
  }

  alias JidoCode.Tools.Render.{Derived, Struct}

  @default_timeout 5_000
  @max_timeout 30_000

  @grace_ms 500

  # A busy process is looked at again after this time, then after twice as long, and so on up to the maximum.
  @first_pause_ms 2
  @max_pause_ms 50

  # Modules that are the callback module of others' processes and pass format_status on: where the other's name is.
  @wrappers %{GenStage => :mod}

  @impl true
  def definition do
    %{
      name: "get_process_state",
      title: "Look at a process",
      summary:
        "state of a project's GenServer, Agent or `gen_statem`, facts about any other of its processes",
      tier: :privileged,
      hints: :looks,
      text: &Answers.ProcessState.text/1,
      event: {:elixir, :process_state},
      label: {:argument, "process"},
      at_node: true,
      timeout_ms: 10_000,
      description:
        "Show the current state of a registered GenServer, Agent or gen_statem of the project, with facts about its " <>
          "process (status, mailbox length, memory). Other processes get the facts only. Looking never disturbs the " <>
          "process: a busy one is watched until it is idle or time runs out. Sensitive fields are hidden and large " <>
          "states are cut with a note of what is missing. For supervisors use inspect_supervisor.",
      parameters: [
        %{
          name: "process",
          type: :string,
          required: true,
          description:
            "Registered name, e.g. \"MyApp.Worker\" or \":my_worker\". A pid as the tools print it, " <>
              "{:via, Registry, {MyApp.Registry, key}} or {:global, name}, unless the host takes names only."
        },
        %{
          name: "timeout",
          type: :integer,
          required: false,
          default: @default_timeout,
          minimum: 1,
          maximum: @max_timeout,
          beyond: :cut,
          description:
            "How long to wait for a busy process, in milliseconds (default #{@default_timeout}, maximum #{@max_timeout})."
        }
      ]
    }
  end

  @doc "Runs the tool; see the module's documentation for the result."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context), do: Operation.run(Operation.of(__MODULE__), args, context, &inspect_process/2)

  defp inspect_process(%{"process" => name, "timeout" => timeout}, context) do
    started = System.monotonic_time(:millisecond)
    reach = Reach.of(context)

    with {:ok, pid} <- Target.find(name, "Process", "process name", reach) do
      # The answer must be out before whoever set the timeout gives up on the whole call.
      deadline = started + timeout - min(div(timeout, 5), 250)
      look = fn -> look(pid, name, %{deadline: deadline, reach: reach, scope: Ownership.scope(context)}) end

      words = %{
        timeout: "Process #{name} could not be inspected within #{timeout} ms",
        too_large: "Process #{name} can't be inspected: too much data about it"
      }

      # Only the process_info calls have no timeout of their own; a process that is stuck outside the VM may never answer.
      Bounded.answer(look, words, timeout: timeout + @grace_ms)
    end
  end

  defp look(pid, name, call) do
    with {:ok, process} <- Observer.look(pid),
         :ok <- Ownership.check(process, call.scope) do
      process |> state(call) |> answer(process, name)
    else
      :dead -> {:error, Target.not_found("Process", name)}
      {:error, refusal} -> {:error, Ownership.explain(refusal, "Process", name)}
    end
  end

  defp state(process, call) do
    cond do
      not Observer.server?(process) -> {:unread, unread(process)}
      not call.reach.states? -> {:unread, unlent()}
      hides_state?(process) -> hidden_state(process, call.deadline)
      true -> when_ready(process, call.deadline, @first_pause_ms, &State.read/2)
    end
  end

  defp unlent do
    "State not read: the node lacks the modules that are needed to read it. A person can allow lending them while " <>
      "calls run: --consent-load."
  end

  defp hidden_state(process, deadline) do
    if Config.get(:read_format_status) do
      when_ready(process, deadline, @first_pause_ms, &State.read_status/2)
    else
      {:unread, hiding()}
    end
  end

  defp hiding do
    "State not read: the module exports format_status, so it may hide parts of it. " <>
      "`config :jido_code_tools, read_format_status: true` shows the output of format_status."
  end

  # Unknown code may hide something too. An Agent has no module of its own, and a wrapper's is asked for when it is known.
  defp hides_state?(%Observer{behaviour: :agent}), do: false
  defp hides_state?(%Observer{module: module}) when is_map_key(@wrappers, module), do: false
  defp hides_state?(%Observer{module: module, pid: pid}), do: hides?(module, node(pid))

  defp hides?(nil, _node), do: true

  defp hides?(module, node) do
    not At.call(node, :erlang, :module_loaded, [module]) or
      At.call(node, :erlang, :function_exported, [module, :format_status, 1]) or
      At.call(node, :erlang, :function_exported, [module, :format_status, 2])
  end

  # Watches until the process is seen ready, which is when it can be asked without waiting in its mailbox.
  defp when_ready(%Observer{pid: pid} = process, deadline, pause, read) do
    now = System.monotonic_time(:millisecond)

    cond do
      Observer.ready?(process) and now < deadline ->
        paced(process, fn -> read.(pid, deadline - now) end)

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

  # Asks the process, or gives what was read a moment ago.
  defp paced(%Observer{pid: pid} = process, read) do
    case Pace.ask(pid) do
      :go ->
        with {:ok, excerpt} <- read.() do
          Pace.keep(pid, excerpt)
          shown(excerpt, process, nil)
        end

      {:late, excerpt, age_ms} ->
        shown(excerpt, process, stale(age_ms))

      {:late, wait_ms} ->
        {:unread, "State not read: it was read several times just now. Ask again in #{wait_ms} ms."}
    end
  end

  defp stale(age_ms) do
    "Not fresh: this was read #{Float.round(age_ms / 1_000, 1)} s ago. One process is read three times in a row and then " <>
      "once in two seconds, since each reading starts its own timeouts anew."
  end

  # Written anew for each who asks, by the settings of now.
  defp shown(excerpt, %Observer{pid: pid, module: module}, stale) do
    node = node(pid)
    inner = wrapped(module, excerpt)

    if inner != nil and hides?(inner, node) do
      {:unread, hiding()}
    else
      inspected = if node == node(), do: &Struct.inspected/1, else: &Derived.inspected(&1, node)
      records = [inner || module] |> Records.of(node) |> Records.reader()
      {text, summary} = State.text(excerpt, inspected: inspected, records: records)
      {:ok, text, join([stale, summary_note(summary)])}
    end
  end

  defp wrapped(module, %{} = state) when is_map_key(@wrappers, module), do: Map.get(state, @wrappers[module])
  defp wrapped(_module, _state), do: nil

  defp unread(%Observer{behaviour: behaviour}) when behaviour in [:supervisor, :supervisor_bridge] do
    "State not read: this is a supervisor; use inspect_supervisor."
  end

  defp unread(%Observer{behaviour: :foreign, loop: loop, activity: activity}) do
    doing = if activity == :busy, do: "The process works in", else: "The process waits in"

    "#{doing} #{Names.show(loop)}; its state is not read, since only OTP's own behaviours are known to answer. " <>
      "No message was sent to it."
  end

  defp unread(%Observer{behaviour: :gen_event}),
    do: "State not read: a gen_event answers only with copies of all its handlers' states."

  defp unread(%Observer{behaviour: :task}),
    do: "This is a Task: it has no state to read, and no message was sent to it."

  defp unread(%Observer{activity: :hibernating}) do
    "State not read: the process hibernates, and its kind (an Agent, or not a server at all) can't be seen " <>
      "meanwhile. No message was sent to it."
  end

  defp unread(_plain),
    do: "Not known to be a GenServer: no message was sent to it, so it has no state to show."

  defp answer({:ok, text, note}, process, _name), do: {:ok, result(process, text, note)}
  defp answer({:unread, note}, process, _name), do: {:ok, result(process, nil, note)}

  defp answer({:error, :timeout}, process, _name) do
    note =
      "State not read: the process was busy the whole time. It was only watched; no message waits for it."

    process
    |> fresh()
    |> result(nil, note)
    |> Map.put("error", "Timeout getting state")
    |> then(&{:timeout, &1})
  end

  defp answer({:error, :gone}, _process, name) do
    {:error, "Process #{name} ended while it was read"}
  end

  defp answer({:error, :refused}, process, _name) do
    {:ok, result(process, nil, "State not read: the process refused to be inspected.")}
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
    Map.merge(Facts.of(process), %{
      "registered_name" => process.name && Names.show(process.name),
      "status" => Atom.to_string(process.status),
      "message_queue_len" => process.message_queue_len,
      "memory" => process.memory,
      "reductions" => process.reductions,
      "behaviour" => Observer.behaviour_name(process),
      "initial_call" => mfa(process.initial_call),
      "current_function" => mfa(process.current_function)
    })
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
    |> join()
  end

  defp join(notes) do
    case Enum.filter(notes, & &1) do
      [] -> nil
      notes -> Enum.join(notes, " ")
    end
  end
end
