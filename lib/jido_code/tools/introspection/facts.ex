defmodule JidoCode.Tools.Introspection.Facts do
  @moduledoc false
  # What the runtime knows of a process, beside what `JidoCode.Tools.Introspection.Observer` needs to judge it: where it stands,
  # and whom it belongs to. No message is sent; values of its dictionary are not shown.

  alias JidoCode.Tools.Introspection.{At, Names, Observer}
  alias JidoCode.Tools.Render

  @items [:current_stacktrace, :links, :monitors, :monitored_by, :dictionary]
  @max_listed 10
  @max_keys 30
  @max_key_bytes 100
  @max_label_bytes 400

  @type t :: %{String.t() => term()}

  @doc "The facts, as text and lists of text for an answer; an empty map when the process has ended."
  @spec of(Observer.t()) :: t()
  def of(%Observer{pid: pid} = process) do
    case At.call(node(pid), :erlang, :process_info, [pid, @items]) do
      :undefined -> %{}
      info -> describe(process, info)
    end
  end

  defp describe(%Observer{pid: pid} = process, info) do
    ancestors = in_dictionary(info, :"$ancestors") || []

    %{
      "pid" => show_pid(pid),
      "application" => application(pid),
      "parent" => process.parent && show(process.parent),
      "ancestors" => if(is_list(ancestors), do: some(ancestors, &show/1), else: []),
      "links" => some(info[:links], &show/1),
      "monitors" => some(info[:monitors], &monitor/1),
      "monitored_by" => some(info[:monitored_by], &show/1),
      "dictionary_keys" => some(dictionary_keys(info), &key/1, @max_keys),
      "stack" => for({m, f, a, at} <- info[:current_stacktrace], do: frame(m, f, a, at))
    }
    |> label(in_dictionary(info, :"$process_label"))
  end

  @doc "The first elements as text, and how many more there are."
  @spec some([term()], (term() -> String.t()), pos_integer()) :: [String.t()]
  def some(list, show, most \\ @max_listed) do
    {shown, rest} = Enum.split(list, most)
    Enum.map(shown, show) ++ if(rest == [], do: [], else: ["... #{length(rest)} more"])
  end

  @doc "A process by its name where it has one, else by its pid as its own node prints it."
  @spec show(term()) :: String.t()
  def show(name) when is_atom(name), do: Names.show(name)

  def show(pid) when is_pid(pid) do
    case At.call(node(pid), :erlang, :process_info, [pid, :registered_name]) do
      {:registered_name, name} when is_atom(name) -> Names.show(name)
      _without -> show_pid(pid)
    end
  rescue
    # It lives on a node that does not answer.
    At.Lost -> show_pid(pid)
  end

  def show(other), do: inspect(other, limit: 5, printable_limit: 50)

  @doc "A pid as its own node prints it."
  @spec show_pid(pid()) :: String.t()
  def show_pid(pid) when node(pid) == node(), do: inspect(pid)
  def show_pid(pid), do: String.replace(inspect(pid), ~r/<\d+\./, "<0.", global: false)

  defp monitor({_kind, {name, node}}) when is_atom(name), do: "{#{Names.show(name)}, #{Names.show(node)}}"
  defp monitor({_kind, monitored}), do: show(monitored)

  # What an application's own processes have as their group leader says which one a process belongs to.
  defp application(pid) do
    case At.call(node(pid), :application, :get_application, [pid]) do
      {:ok, application} -> Atom.to_string(application)
      :undefined -> nil
    end
  end

  defp dictionary_keys(info) do
    for {key, _value} <- info[:dictionary], key not in [:"$ancestors", :"$initial_call"], do: key
  end

  defp key(key), do: key |> Render.render(max_bytes: @max_key_bytes) |> elem(0)

  defp in_dictionary(info, key), do: info[:dictionary] |> List.keyfind(key, 0, {key, nil}) |> elem(1)

  defp frame(module, function, arity, at) do
    arity = if is_list(arity), do: length(arity), else: arity
    place = if at[:file], do: " (#{at[:file]}:#{at[:line]})", else: ""
    Exception.format_mfa(module, function, arity) <> place
  end

  defp label(facts, nil), do: facts

  defp label(facts, label),
    do: Map.put(facts, "label", label |> Render.render(max_bytes: @max_label_bytes) |> elem(0))
end
