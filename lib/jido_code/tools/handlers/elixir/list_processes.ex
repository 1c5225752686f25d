defmodule JidoCode.Tools.Handlers.Elixir.ListProcesses do
  @moduledoc false
  # The `list_processes` tool: the project's processes with the largest figures. The result has these keys:
  #
  #   "processes"   largest first: "pid", "figure" (what they are sorted by), "what" (the function it began in, and its behaviour),
  #                 "memory" (bytes), "message_queue_len", "reductions", "status", "at" (the current function), and where known
  #                 "name", "label", "application", "supervisor" or "parent", "stack" (the calls in code that is not OTP's)
  #   "sort_by"     as asked for; "window" in milliseconds when the figures are the growth over it
  #   "processes_seen", "processes_total", "matching"
  #   "note"        only when there is something to say
  #
  # No message is sent to any of them; `JidoCode.Tools.Introspection.Ranking` says how many are gone through.

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.Introspection.{
    At,
    Bounded,
    Facts,
    Names,
    Observer,
    Ownership,
    Ranking,
    Reach,
    Reference,
    Sketch
  }

  alias JidoCode.Tools.{Answers, Operation, Shortened, Visible}

  @sorts %{
    "memory" => :memory,
    "mailbox" => :mailbox,
    "reductions" => :reductions,
    "binary_memory" => :binary_memory
  }
  @statuses ~w(waiting running runnable suspended garbage_collecting)

  @default_window_ms 1_000
  @max_window_ms 5_000
  @budget_ms 2_000
  @timeout_ms 12_000
  # Pids of half a million processes, and what collecting garbage takes beside them.
  @heap_words 24_000_000

  @max_others 3
  @max_shown 100

  @impl true
  def definition do
    %{
      name: "list_processes",
      title: "List processes",
      summary:
        "the project's processes with the most memory, messages, reductions or binaries, and what each is doing",
      tier: :privileged,
      hints: :looks,
      text: &Answers.Processes.text/1,
      event: {:elixir, :list_processes},
      label: {:argument, "sort_by"},
      at_node: true,
      timeout_ms: 15_000,
      description:
        "List the running processes of the project, unregistered ones too, those with the most memory, longest mailbox, most " <>
          "reductions (work done in the last second) or most binary memory first. Says of each what it is, where it waits, and " <>
          "its supervisor. With a window, the list is of those that grew most in it. The pid shown is what get_process_state " <>
          "and get_logs take. Use this when the system is slow, grows, or hangs.",
      parameters: [
        %{
          name: "sort_by",
          type: :string,
          required: false,
          enum: ~w(memory mailbox reductions binary_memory),
          default: "memory",
          description: "What the list is ordered by (default: memory)"
        },
        %{
          name: "limit",
          type: :integer,
          required: false,
          default: 15,
          minimum: 1,
          maximum: 100,
          beyond: :cut,
          description: "How many processes at most (default: 15, max: 100)"
        },
        %{
          name: "window",
          type: :integer,
          required: false,
          minimum: 0,
          maximum: @max_window_ms,
          beyond: :cut,
          description:
            "Order by the growth over so many milliseconds (default: 1000 for reductions, else 0, which means the figures of " <>
              "now; max: #{@max_window_ms})"
        },
        %{
          name: "application",
          type: :string,
          required: false,
          description: "Only processes of this application, e.g. my_app"
        },
        %{
          name: "module",
          type: :string,
          required: false,
          description: "Only processes that began in this module or run in it now, e.g. MyApp.Worker"
        },
        %{
          name: "status",
          type: :string,
          required: false,
          enum: @statuses,
          description: "Only processes with this status"
        },
        %{
          name: "waits_in",
          type: :string,
          required: false,
          description:
            "Only processes with this function or module on their stack, e.g. GenServer.call/3 or gen_tcp.recv"
        }
      ]
    }
  end

  @doc "Runs the tool."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context), do: Operation.run(Operation.of(__MODULE__), args, context, &list/2)

  defp list(args, context) do
    node = Reach.of(context).node

    with {:ok, filters} <- filters(args, node) do
      scope = Ownership.scope(context)
      question = question(args, node, filters, scope)

      look = fn ->
        case Ranking.run(question, @budget_ms) do
          {:ok, ranking} -> {:ok, answer(ranking, question, args, scope)}
          {:error, {:too_many, total}} -> {:error, too_many(total)}
        end
      end

      words = %{
        timeout: "The processes could not be scanned in #{@timeout_ms} ms",
        too_large: "The processes can't be listed: too much data about them"
      }

      Bounded.answer(look, words, timeout: @timeout_ms, heap_words: @heap_words)
    end
  end

  defp too_many(total),
    do: "The node has #{total} processes: to scan so many, it must run jido_code_tools itself"

  defp question(args, node, filters, scope) do
    %{
      node: node,
      figure: @sorts[args["sort_by"]],
      window_ms: window(args),
      most: args["limit"],
      items: filters |> Enum.flat_map(&elem(&1, 0)) |> Enum.uniq(),
      keep?: fn pid, info -> Enum.all?(filters, fn {_items, keep?} -> keep?.(pid, info) end) end,
      own?: &(Ownership.check_pid(&1, scope) == :ok)
    }
  end

  defp window(%{"window" => window}), do: window
  defp window(%{"sort_by" => "reductions"}), do: @default_window_ms
  defp window(_args), do: 0

  # Each with what it needs to know of a process.
  defp filters(args, node) do
    with {:ok, application} <- application(args["application"], node),
         {:ok, module} <- module(args["module"], node),
         {:ok, waits_in} <- waits_in(args["waits_in"], node) do
      {:ok, Enum.reject([status(args["status"]), application, waits_in, module], &is_nil/1)}
    end
  end

  defp status(nil), do: nil
  defp status(status), do: {[:status], fn _pid, info -> Atom.to_string(info[:status]) == status end}

  # By the group leader, which an application's own processes have in common.
  defp application(nil, _node), do: {:ok, nil}

  defp application(text, node) do
    with {:ok, application} <- Names.existing(Names.bare(text), node),
         master when is_pid(master) <- At.call(node, :application_controller, :get_master, [application]) do
      {:ok, {[:group_leader], fn _pid, info -> info[:group_leader] == master end}}
    else
      _none ->
        {:error, "Application not found: #{shown(text)} does not run there, or has no processes of its own"}
    end
  end

  defp shown(text), do: text |> Visible.escape() |> Shortened.label(@max_shown)

  defp module(nil, _node), do: {:ok, nil}

  defp module(text, node) do
    case Names.atoms(text, node) do
      [] -> {:error, "Module not found: nothing there is called #{shown(text)}"}
      modules -> {:ok, {[:initial_call, :current_function], fn pid, info -> runs?(pid, info, modules) end}}
    end
  end

  # What proc_lib started is asked for the function that it was started with, the others are known by what is at hand.
  defp runs?(pid, info, modules) do
    module_of(info[:current_function]) in modules or module_of(info[:initial_call]) in modules or
      (module_of(info[:initial_call]) == :proc_lib and began_in?(pid, modules))
  end

  defp module_of({module, _function, _arity}), do: module
  defp module_of(_undefined), do: nil

  defp began_in?(pid, modules) do
    case Observer.look(pid) do
      {:ok, %Observer{module: module, initial_call: began}} ->
        module in modules or module_of(began) in modules

      :dead ->
        false
    end
  end

  defp waits_in(nil, _node), do: {:ok, nil}

  defp waits_in(text, node) do
    case Reference.parse(text) do
      {:ok, reference} ->
        there? = Reference.matcher(reference, node)

        {:ok,
         {[:current_stacktrace], fn _pid, info -> Enum.any?(info[:current_stacktrace], &there?.(mfa(&1))) end}}

      :error ->
        {:error, "Invalid waits_in: write a module or a function, like GenServer.call/3"}
    end
  end

  defp mfa({module, function, arity, _location}) when is_list(arity), do: {module, function, length(arity)}
  defp mfa({module, function, arity, _location}), do: {module, function, arity}

  defp answer(ranking, question, args, scope) do
    {pids, figures} = Enum.unzip(ranking.top)
    sketches = pids |> Sketch.all() |> Enum.zip(figures)
    shown = for {sketch, figure} <- sketches, sketch != nil, do: Map.put(sketch, "figure", figure)

    result = %{
      "processes" => shown,
      "sort_by" => args["sort_by"],
      "processes_seen" => ranking.seen,
      "processes_total" => ranking.total,
      "matching" => ranking.kept
    }

    result = if question.window_ms > 0, do: Map.put(result, "window", question.window_ms), else: result

    case notes(ranking, shown, scope, args) do
      [] -> result
      notes -> Map.put(result, "note", Enum.join(notes, " "))
    end
  end

  defp notes(ranking, shown, scope, args) do
    Enum.reject(
      [
        if(shown == [], do: nothing(ranking, args)),
        if(ranking.seen < ranking.total * 0.99,
          do: "Only #{ranking.seen} of #{ranking.total} processes were looked at: others may have more."
        ),
        if(ranking.silent > 0, do: "#{ranking.silent} processes could not be inspected."),
        others(ranking.others, scope)
      ],
      &is_nil/1
    )
  end

  defp nothing(%{kept: 0}, _args), do: "No process matches."
  defp nothing(_ranking, %{"sort_by" => "mailbox"}), do: "No process of the project has messages waiting."
  defp nothing(_ranking, _args), do: "No process of the project has any, or none grew."

  # Their names, so that it is known where to look with other means.
  defp others([], _scope), do: nil

  defp others(others, scope) do
    listed =
      others
      |> Enum.take(@max_others)
      |> Enum.map_join(", ", fn {pid, figure} -> "#{Facts.show(pid)} (#{figure})" end)

    "Not shown, since they are not the project's: #{listed}" <>
      if(length(others) > @max_others, do: " and more.", else: ".") <> hint(scope)
  end

  defp hint(%{mode: :listed}), do: " `config :jido_code_tools, project_namespaces:` says which are."
  defp hint(_scope), do: ""
end
