defmodule JidoCode.Tools.Introspection.Observer do
  @moduledoc false
  # What a process is and what it is doing, seen without sending it a message. The process may be on another node.
  #
  # Everything comes from one `process_info` call, which the runtime answers on the process's behalf: the mailbox is not
  # touched, a waiting process is not woken, a busy one is not held up.
  #
  # | Seen | Meaning |
  # |---|---|
  # | `$initial_call` is `{:supervisor, module, 1}` | a supervisor of any kind |
  # | current function is `gen_server:loop`, and it waits | an idle GenServer or Agent |
  # | current function is `gen_statem:loop_receive` (from OTP 29 on `loop`), and it waits | an idle gen_statem |
  # | current function is `gen_event:fetch_msg`, and it waits | an idle gen_event |
  # | one of these modules is further down the stack | the same, busy |
  # | it began in `init/1` of a module whose behaviour attribute says `gen_server`, `GenServer` or `gen_statem` | the same, busy or hibernating |
  # | that attribute names another module that runs loops of its own, or it waits in such a module | a server of a foreign kind |
  # | `$ancestors`, nothing of the above | a Task, or another process started through proc_lib |
  # | neither | a plain process |
  #
  # **No evidence, no message.** Behaviours like RabbitMQ's gen_server2 or ejabberd's p1_server have callbacks and a
  # `$initial_call` like a GenServer's, and a message of `:sys` ends some of their processes. That a module exports `handle_call/3` is
  # therefore no evidence; what its behaviour attribute says is, and OTP's own loop. A module that runs loops of its own is known by
  # its export of `system_continue/3`, by which such modules answer `:sys` in their own way.
  #
  # Before OTP 28 hibernating throws the stack away, and with it the loop's function. What stays is `$initial_call`, so supervisors
  # (which hibernate of themselves since OTP 27), GenServers and gen_statems are known, and an Agent is not: it looks like any
  # process started through proc_lib. From OTP 28 on servers hibernate in `loop_hibernate`, and all of them are known.
  #
  # A process can forge its own dictionary, or hibernate somewhere else than in the loop of its behaviour; this is good
  # against accidents, not against the project's own code. Before OTP 26.2 the dictionary can only be read whole, and reading
  # copies it. Modules are not loaded to find out what they are.

  alias JidoCode.Tools.Introspection.At

  @enforce_keys [:pid, :behaviour, :activity]
  defstruct [
    :pid,
    :name,
    :behaviour,
    :activity,
    :loop,
    :module,
    :parent,
    :ancestors,
    :initial_call,
    :current_function,
    :status,
    :message_queue_len,
    :memory,
    :reductions
  ]

  @type behaviour ::
          :genserver
          | :agent
          | :gen_statem
          | :gen_event
          | :supervisor
          | :supervisor_bridge
          | :foreign
          | :task
          | :proc_lib
          | :plain
  @type activity :: :idle | :busy | :hibernating | :suspended

  @typedoc """
  `module` is the callback module or the one that started the process, nil when unknown. `loop` is the module that a
  `:foreign` server or a supervisor other than OTP's runs in. `parent` is the pid or name of the process that started it, and the
  first of `ancestors`.
  `memory` is in bytes.
  """
  @type t :: %__MODULE__{
          pid: pid(),
          name: atom() | nil,
          behaviour: behaviour(),
          activity: activity(),
          loop: module() | nil,
          module: module() | nil,
          parent: pid() | atom() | nil,
          ancestors: [pid() | atom()],
          initial_call: mfa() | nil,
          current_function: mfa() | nil,
          status: atom(),
          message_queue_len: non_neg_integer(),
          memory: non_neg_integer(),
          reductions: non_neg_integer()
        }

  # Small items only: the mailbox, links and monitors would be copied whole.
  @items [
    :registered_name,
    :status,
    :message_queue_len,
    :memory,
    :reductions,
    :initial_call,
    :current_function,
    :current_stacktrace
  ]

  @dictionary_keys [{:dictionary, :"$initial_call"}, {:dictionary, :"$ancestors"}]

  @client_functions [:call, :cast, :multi_call, :abcast, :reply, :stop, :start, :start_link, :start_monitor] ++
                      [:send_request, :wait_response, :receive_response, :check_response] ++
                      [
                        :notify,
                        :sync_notify,
                        :add_handler,
                        :add_sup_handler,
                        :delete_handler,
                        :which_handlers
                      ] ++
                      [:rpc, :do_call, :async, :await]

  # What a behaviour attribute must name for a process to be one of OTP's servers.
  @servers_of_otp [:gen_server, :gen_statem, :gen_event]
  @servers %{:gen_server => :genserver, GenServer => :genserver, :gen_statem => :gen_statem}
  @otp [:gen_server, :gen_statem, :gen_event, :gen_fsm, :supervisor, :supervisor_bridge, :sys, :proc_lib]

  # Supervisors that are not OTP's and answer its questions: by the module in whose `init` they began, where they wait.
  @like_supervisors %{
    {:supervisor2, :init, 1} => {:gen_server, :loop},
    {:ranch_conns_sup, :init, 7} => {:ranch_conns_sup, :loop},
    {:ranch_conns_sup, :init, 8} => {:ranch_conns_sup, :loop}
  }

  @doc "Looks at a process."
  @spec look(pid()) :: {:ok, t()} | :dead
  def look(pid) do
    case process_info(pid, @items) do
      :undefined -> :dead
      info -> {:ok, facts(pid, info)}
    end
  end

  @doc """
  Whether it waits for its next message in its behaviour's own loop, awake or hibernating. Only such a process may be sent
  one: it takes every message that is meant for its behaviour, at once.
  """
  @spec ready?(t()) :: boolean()
  def ready?(%__MODULE__{behaviour: :foreign}), do: false
  def ready?(%__MODULE__{activity: :idle}), do: true
  def ready?(%__MODULE__{activity: :hibernating} = process), do: server?(process) or supervisor?(process)
  def ready?(_working_or_suspended), do: false

  @doc "Whether a process of this behaviour, when ready, answers the messages of `:sys` with its state."
  @spec server?(t()) :: boolean()
  def server?(%__MODULE__{behaviour: behaviour}), do: behaviour in [:genserver, :agent, :gen_statem]

  @doc "Whether it is any kind of supervisor."
  @spec supervisor?(t()) :: boolean()
  def supervisor?(%__MODULE__{behaviour: behaviour}), do: behaviour in [:supervisor, :supervisor_bridge]

  @doc "The behaviour as text: that of a foreign server is the name of the module in whose loop it runs."
  @spec behaviour_name(t()) :: String.t()
  def behaviour_name(%__MODULE__{behaviour: kind, loop: loop})
      when kind in [:foreign, :supervisor] and loop != nil,
      do: Atom.to_string(loop)

  def behaviour_name(%__MODULE__{behaviour: behaviour}), do: Atom.to_string(behaviour)

  @doc "`process_info` of a process with these items and the two keys of its dictionary that proc_lib sets."
  @spec process_info(pid(), [atom()]) :: keyword() | :undefined
  def process_info(pid, items) when node(pid) == node(),
    do: :erlang.process_info(pid, items ++ dictionary_items())

  def process_info(pid, items) do
    At.call(node(pid), :erlang, :process_info, [pid, items ++ @dictionary_keys])
  rescue
    # An older release.
    ArgumentError -> At.call(node(pid), :erlang, :process_info, [pid, items ++ [:dictionary]])
  end

  # Single keys can be asked for since OTP 26.2. Before, the dictionary comes whole.
  defp dictionary_items do
    # Through apply: the types of OTP 25 don't know this form.
    _known = apply(:erlang, :process_info, [self(), {:dictionary, :"$ancestors"}])
    @dictionary_keys
  rescue
    ArgumentError -> [:dictionary]
  end

  defp facts(pid, info) do
    initial = dictionary(info, :"$initial_call")
    ancestors = dictionary(info, :"$ancestors")
    info = Map.new(Enum.filter(info, &match?({key, _value} when is_atom(key), &1)))
    stack = for {module, function, arity, _location} <- info.current_stacktrace, do: {module, function, arity}

    seen = %{
      node: node(pid),
      initial: initial,
      ancestors: ancestors,
      current: info.current_function,
      stack: stack
    }

    {behaviour, loop} = behaviour(seen)

    %__MODULE__{
      pid: pid,
      name: if(info.registered_name == [], do: nil, else: info.registered_name),
      behaviour: behaviour,
      activity: activity(behaviour, loop, info.current_function, info.status, stack),
      loop: loop,
      module: module(initial),
      parent: parent(ancestors),
      ancestors: known(ancestors),
      initial_call: if(mfa?(initial), do: initial, else: info.initial_call),
      current_function: if(mfa?(info.current_function), do: info.current_function),
      status: info.status,
      message_queue_len: info.message_queue_len,
      memory: info.memory,
      reductions: info.reductions
    }
  end

  defp dictionary(info, key) do
    case List.keyfind(info, {:dictionary, key}, 0) do
      {_item, :undefined} -> nil
      {_item, value} -> value
      nil -> info |> Keyword.get(:dictionary, []) |> List.keyfind(key, 0, {key, nil}) |> elem(1)
    end
  end

  defp mfa?({module, function, arity}), do: is_atom(module) and is_atom(function) and is_integer(arity)
  defp mfa?(_other), do: false

  defp module({:supervisor, module, 1}) when is_atom(module), do: module
  defp module({:supervisor_bridge, module, 1}) when is_atom(module), do: module
  defp module({module, _function, arity}) when is_atom(module) and is_integer(arity), do: module
  defp module(_unknown), do: nil

  defp parent([parent | _]) when is_pid(parent) or is_atom(parent), do: parent
  defp parent(_unknown), do: nil

  defp known([ancestor | rest]) when is_pid(ancestor) or is_atom(ancestor), do: [ancestor | known(rest)]
  defp known(_end_or_unknown), do: []

  # The behaviour, and the module of the loop where that is not OTP's.
  defp behaviour(%{initial: {:supervisor, _module, 1}}), do: {:supervisor, nil}
  defp behaviour(%{initial: {:supervisor_bridge, _module, 1}}), do: {:supervisor_bridge, nil}
  defp behaviour(%{initial: {:gen_event, :init_it, _arity}}), do: {:gen_event, nil}

  defp behaviour(%{initial: initial} = seen) when is_map_key(@like_supervisors, initial) do
    # Where it stands when it waits is what makes it one that answers.
    if in_loop?(seen.current, initial) or in_loop?(List.last(seen.stack), initial),
      do: {:supervisor, elem(initial, 0)},
      else: by_stack(seen)
  end

  defp behaviour(seen), do: by_stack(seen)

  defp in_loop?({module, function, _arity}, initial), do: {module, function} == @like_supervisors[initial]
  defp in_loop?(_other, _initial), do: false

  defp by_stack(seen) do
    stack = [seen.current | seen.stack]

    # The outermost loop is the process's own: a callback may be at work in another one's module.
    case stack |> Enum.reverse() |> Enum.find_value(&loop(&1, seen.node)) do
      nil ->
        by_attributes(seen, stack)

      # An Agent puts the function that made its state in the place of its initial call.
      :gen_server ->
        {if(match?({_, :init, 1}, seen.initial) or seen.initial == nil, do: :genserver, else: :agent), nil}

      otp when otp in [:gen_statem, :gen_event] ->
        {otp, nil}

      foreign ->
        {:foreign, foreign}
    end
  end

  # A process that merely calls a server has the behaviour's module on its stack too.
  defp loop({module, function, _arity}, _node) when module in @otp do
    if module in @servers_of_otp and function not in @client_functions, do: module
  end

  defp loop({module, _function, _arity}, node), do: if(loops?(node, module), do: module)
  defp loop(_undefined, _node), do: nil

  defp loops?(node, module), do: At.call(node, :erlang, :function_exported, [module, :system_continue, 3])

  defp by_attributes(%{node: node, initial: initial, ancestors: ancestors}, stack) do
    named = behaviours(node, initial)
    foreign = Enum.find(named, &(&1 not in @otp and loops?(node, &1)))
    own = Enum.find_value(named, &@servers[&1])

    cond do
      foreign != nil -> {:foreign, foreign}
      own != nil -> {own, nil}
      runs?(stack, Agent.Server) -> {:agent, nil}
      runs?(stack, Task.Supervised) -> {:task, nil}
      is_list(ancestors) -> {:proc_lib, nil}
      true -> {:plain, nil}
    end
  end

  # What the module's attribute says, where the process began in its `init/1`.
  defp behaviours(node, {module, :init, 1}) when is_atom(module) do
    for {kind, named} <- At.attributes(node, module), kind in [:behaviour, :behavior], name <- named, do: name
  end

  defp behaviours(_node, _initial), do: []

  defp runs?(stack, behaviour) do
    Enum.any?(stack, fn
      {^behaviour, function, _arity} -> function not in @client_functions
      _other -> false
    end)
  end

  # Waiting matters: a process that has a message is runnable, though its current function is the loop still.
  defp activity(:foreign, loop, {module, _function, _arity}, :waiting, _stack) when module == loop, do: :idle
  defp activity(:foreign, _loop, {:erlang, :hibernate, _arity}, :waiting, _stack), do: :hibernating
  defp activity(:supervisor, loop, {loop, _function, _arity}, :waiting, _stack) when loop != nil, do: :idle
  defp activity(_behaviour, _loop, current, status, stack), do: activity(current, status, stack)

  defp activity({:gen_server, :loop, _arity}, :waiting, _stack), do: :idle
  defp activity({:gen_statem, loop, _arity}, :waiting, _stack) when loop in [:loop_receive, :loop], do: :idle
  defp activity({:gen_event, :fetch_msg, _arity}, :waiting, _stack), do: :idle

  defp activity({server, :loop_hibernate, _arity}, :waiting, _stack) when server in @servers_of_otp,
    do: :hibernating

  defp activity({:erlang, :hibernate, 3}, :waiting, _stack), do: :hibernating

  # The form that keeps the stack: a callback may wait there for a message of its own.
  defp activity({:erlang, :hibernate, 0} = current, :waiting, stack) do
    case Enum.drop_while(stack, &(&1 == current)) do
      [{server, function, _arity} | _]
      when server in @servers_of_otp and function in [:loop, :loop_hibernate] ->
        :hibernating

      _callback ->
        :busy
    end
  end

  defp activity({:sys, :suspend_loop, _arity}, _status, _stack), do: :suspended
  defp activity({:sys, :suspend_loop_hib, _arity}, _status, _stack), do: :suspended
  defp activity(_current, _status, _stack), do: :busy
end
