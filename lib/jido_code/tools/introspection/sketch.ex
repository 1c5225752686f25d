defmodule JidoCode.Tools.Introspection.Sketch do
  @moduledoc false
  # A process in a few facts: what it is, where it waits, and under whom. No message is sent to it; of its dictionary only what
  # proc_lib puts there is read, where the release lets single keys be asked for.

  alias JidoCode.Tools.Introspection.{At, Facts, Names, Observer}
  alias JidoCode.Tools.Render

  @max_frames 3
  @max_ancestors 6
  @max_label_bytes 200

  # Where processes wait on behalf of others.
  @otp_frames [
                :gen,
                :gen_server,
                :gen_statem,
                :gen_event,
                :proc_lib,
                :erlang,
                :supervisor,
                :timer,
                :prim_inet
              ] ++
                [:erl_eval, :lists, :maps, GenServer, Agent.Server, Task, Task.Supervised, Process, Enum]

  @doc "The sketches of processes, in their order; nil for one that has ended."
  @spec all([pid()]) :: [%{String.t() => term()} | nil]
  def all(pids) do
    {sketches, _supervisors} = Enum.map_reduce(pids, %{}, &describe/2)
    sketches
  end

  defp describe(pid, supervisors) do
    with {:ok, process} <- Observer.look(pid),
         info when is_list(info) <-
           At.call(node(pid), :erlang, :process_info, [pid, [:current_stacktrace, :group_leader]]) do
      {above, supervisors} = above(process, supervisors)

      {%{
         "pid" => Facts.show_pid(pid),
         "what" => what(process),
         "memory" => process.memory,
         "message_queue_len" => process.message_queue_len,
         "reductions" => process.reductions,
         "status" => Atom.to_string(process.status),
         "at" => process.current_function && show_mfa(process.current_function)
       }
       |> put("name", process.name && Names.typed(process.name))
       |> put("label", label(pid))
       |> put("application", application_of(pid))
       |> put("stack", frames(info[:current_stacktrace]))
       |> Map.merge(above), supervisors}
    else
      _ended -> {nil, supervisors}
    end
  end

  defp put(map, _key, nothing) when nothing in [nil, []], do: map
  defp put(map, key, value), do: Map.put(map, key, value)

  defp what(%Observer{behaviour: :plain, initial_call: began}), do: if(began, do: show_mfa(began), else: "?")

  defp what(process) do
    kind = Observer.behaviour_name(process)
    if process.initial_call, do: "#{show_mfa(process.initial_call)} (#{kind})", else: kind
  end

  defp show_mfa({module, function, arity}), do: Exception.format_mfa(module, function, arity)

  defp application_of(pid) do
    case At.call(node(pid), :application, :get_application, [pid]) do
      {:ok, application} -> Atom.to_string(application)
      :undefined -> nil
    end
  end

  # There are labels since OTP 27, where single keys can be asked for.
  defp label(pid) do
    case At.call(node(pid), :erlang, :process_info, [pid, {:dictionary, :"$process_label"}]) do
      {_key, label} when label != :undefined -> label |> Render.render(max_bytes: @max_label_bytes) |> elem(0)
      _none -> nil
    end
  rescue
    ArgumentError -> nil
  end

  defp frames(stack) do
    own = Enum.reject(stack, fn {module, _function, _arity, _location} -> module in @otp_frames end)

    for {_module, _function, _arity, at} = frame <- Enum.take(own, @max_frames),
        do: show_mfa(mfa(frame)) <> place(at)
  end

  defp place(at), do: if(at[:file], do: " (#{at[:file]}:#{at[:line]})", else: "")

  # The nearest supervisor above it, else the process that started it.
  defp above(%Observer{ancestors: [], pid: pid}, supervisors) do
    {case parent(pid) do
       nil -> %{}
       parent -> %{"parent" => Facts.show(parent)}
     end, supervisors}
  end

  defp above(%Observer{ancestors: ancestors, pid: pid}, supervisors) do
    {found, supervisors} =
      ancestors
      |> Enum.take(@max_ancestors)
      |> Enum.reduce_while({nil, supervisors}, fn ancestor, {nil, supervisors} ->
        supervisors = Map.put_new_lazy(supervisors, ancestor, fn -> supervisor?(ancestor, node(pid)) end)
        if supervisors[ancestor], do: {:halt, {ancestor, supervisors}}, else: {:cont, {nil, supervisors}}
      end)

    {if(found, do: %{"supervisor" => Facts.show(found)}, else: %{"parent" => Facts.show(hd(ancestors))}),
     supervisors}
  end

  # Since OTP 25; through apply, since older types don't know it.
  defp parent(pid) do
    case At.call(node(pid), :erlang, :process_info, [pid, :parent]) do
      {:parent, parent} when is_pid(parent) -> parent
      _none -> nil
    end
  rescue
    ArgumentError -> nil
  end

  defp supervisor?(name, node) when is_atom(name) do
    case At.call(node, :erlang, :whereis, [name]) do
      pid when is_pid(pid) -> supervisor?(pid, node)
      _nobody -> false
    end
  end

  defp supervisor?(pid, _node) do
    case Observer.look(pid) do
      {:ok, process} -> Observer.supervisor?(process)
      :dead -> false
    end
  end

  defp mfa({module, function, arity, _location}) when is_list(arity), do: {module, function, length(arity)}
  defp mfa({module, function, arity, _location}), do: {module, function, arity}
end
