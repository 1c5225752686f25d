defmodule JidoCode.Tools.Introspection.Observer do
  @moduledoc """
  What a process is and what it is doing, seen without sending it a message.

  Everything comes from one `process_info` call, which the runtime answers on the process's behalf: the mailbox is not
  touched, a waiting process is not woken, a busy one is not held up.

  | Seen | Meaning |
  |---|---|
  | `$initial_call` is `{:supervisor, module, 1}` | a supervisor of any kind |
  | current function is `gen_server:loop`, and it waits | an idle GenServer or Agent |
  | current function is `gen_statem:loop_receive`, and it waits | an idle gen_statem |
  | current function is `gen_event:fetch_msg`, and it waits | an idle gen_event |
  | one of these modules is further down the stack | the same, busy |
  | it hibernates, and `$initial_call` is `init/1` of a module with a server's callbacks | a GenServer or gen_statem, idle |
  | `$ancestors`, nothing of the above | a Task, or another process started through proc_lib |
  | neither | a plain process |

  Hibernating throws the stack away, and with it the loop's function. What stays is `$initial_call`, so supervisors (which
  hibernate of themselves since OTP 27), GenServers and gen_statems are known, and an Agent is not: it looks like any
  process started through proc_lib.

  A process can forge its own dictionary, or hibernate somewhere else than in the loop of its behaviour; this is good
  against accidents, not against the project's own code. Before OTP 26.2 the dictionary can only be read whole, and reading
  copies it.
  """

  @enforce_keys [:pid, :behaviour, :activity]
  defstruct [
    :pid,
    :name,
    :behaviour,
    :activity,
    :module,
    :parent,
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
          | :task
          | :proc_lib
          | :plain
  @type activity :: :idle | :busy | :hibernating | :suspended

  @typedoc """
  `module` is the callback module or the one that started the process, nil when unknown. `parent` is the pid or name of
  the process that started it. `memory` is in bytes.
  """
  @type t :: %__MODULE__{
          pid: pid(),
          name: atom() | nil,
          behaviour: behaviour(),
          activity: activity(),
          module: module() | nil,
          parent: pid() | atom() | nil,
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

  @doc "Looks at a local process."
  @spec look(pid()) :: {:ok, t()} | :dead
  def look(pid) when node(pid) == node() do
    case :erlang.process_info(pid, @items ++ dictionary_items()) do
      :undefined -> :dead
      info -> {:ok, facts(pid, info)}
    end
  end

  @doc """
  Whether it waits for its next message in its behaviour's own loop, awake or hibernating. Only such a process may be sent
  one: it takes every message that is meant for its behaviour, at once.
  """
  @spec ready?(t()) :: boolean()
  def ready?(%__MODULE__{activity: :idle}), do: true
  def ready?(%__MODULE__{activity: :hibernating} = process), do: server?(process) or supervisor?(process)
  def ready?(_working_or_suspended), do: false

  @doc "Whether a process of this behaviour, when ready, answers the messages of `:sys` with its state."
  @spec server?(t()) :: boolean()
  def server?(%__MODULE__{behaviour: behaviour}), do: behaviour in [:genserver, :agent, :gen_statem]

  @doc "Whether it is any kind of supervisor."
  @spec supervisor?(t()) :: boolean()
  def supervisor?(%__MODULE__{behaviour: behaviour}), do: behaviour in [:supervisor, :supervisor_bridge]

  # Single keys can be asked for since OTP 26.2. Before, the dictionary comes whole.
  defp dictionary_items do
    # Through apply: the types of OTP 25 don't know this form.
    _known = apply(:erlang, :process_info, [self(), {:dictionary, :"$ancestors"}])
    [{:dictionary, :"$initial_call"}, {:dictionary, :"$ancestors"}]
  rescue
    ArgumentError -> [:dictionary]
  end

  defp facts(pid, info) do
    initial = dictionary(info, :"$initial_call")
    ancestors = dictionary(info, :"$ancestors")
    info = Map.new(Enum.filter(info, &match?({key, _value} when is_atom(key), &1)))
    stack = for {module, function, arity, _location} <- info.current_stacktrace, do: {module, function, arity}
    behaviour = behaviour(initial, ancestors, [info.current_function | stack])

    %__MODULE__{
      pid: pid,
      name: if(info.registered_name == [], do: nil, else: info.registered_name),
      behaviour: behaviour,
      activity: activity(info.current_function, info.status, stack),
      module: module(initial),
      parent: parent(ancestors),
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

  defp behaviour({:supervisor, _module, 1}, _ancestors, _stack), do: :supervisor
  defp behaviour({:supervisor_bridge, _module, 1}, _ancestors, _stack), do: :supervisor_bridge
  defp behaviour({:gen_event, :init_it, _arity}, _ancestors, _stack), do: :gen_event

  defp behaviour(initial, ancestors, stack) do
    cond do
      runs?(stack, :gen_statem) ->
        :gen_statem

      runs?(stack, :gen_event) ->
        :gen_event

      # An Agent puts the function that made its state in the place of its initial call.
      runs?(stack, :gen_server) ->
        if match?({_, :init, 1}, initial) or initial == nil, do: :genserver, else: :agent

      exports?(initial, callback_mode: 0) ->
        :gen_statem

      exports?(initial, handle_call: 3, handle_cast: 2) ->
        :genserver

      runs?(stack, Agent.Server) ->
        :agent

      runs?(stack, Task.Supervised) ->
        :task

      is_list(ancestors) ->
        :proc_lib

      true ->
        :plain
    end
  end

  # A process that merely calls a server has the behaviour's module on its stack too.
  defp runs?(stack, behaviour) do
    Enum.any?(stack, fn
      {^behaviour, function, _arity} -> function not in @client_functions
      _other -> false
    end)
  end

  defp exports?({module, :init, 1}, functions) when is_atom(module) do
    Enum.all?(functions, fn {name, arity} -> function_exported?(module, name, arity) end)
  end

  defp exports?(_initial, _functions), do: false

  # Waiting matters: a process that has a message is runnable, though its current function is the loop still.
  defp activity({:gen_server, :loop, _arity}, :waiting, _stack), do: :idle
  defp activity({:gen_statem, :loop_receive, _arity}, :waiting, _stack), do: :idle
  defp activity({:gen_event, :fetch_msg, _arity}, :waiting, _stack), do: :idle
  defp activity({:erlang, :hibernate, 3}, :waiting, _stack), do: :hibernating

  # OTP 28's other form keeps the stack: a callback may wait there for a message of its own.
  defp activity({:erlang, :hibernate, 0} = current, :waiting, stack) do
    case Enum.drop_while(stack, &(&1 == current)) do
      [{behaviour, function, _arity} | _]
      when behaviour in [:gen_server, :gen_statem, :gen_event] and function in [:loop, :loop_hibernate] ->
        :hibernating

      _callback ->
        :busy
    end
  end

  defp activity({:sys, :suspend_loop, _arity}, _status, _stack), do: :suspended
  defp activity({:sys, :suspend_loop_hib, _arity}, _status, _stack), do: :suspended
  defp activity(_current, _status, _stack), do: :busy
end
