defmodule JidoCode.Tools.Introspection.At do
  @moduledoc false
  # A function of OTP's, called on this node or on another that is looked at from here. Nothing is loaded for it.
  #
  # What it raises there it raises here. When the node does not answer it raises `At.Lost`.

  defmodule Lost do
    @moduledoc false
    defexception [:node, :reason]

    @impl true
    def message(%{node: node, reason: reason}), do: "#{node}: #{reason}"
  end

  @timeout_ms 5_000

  @spec call(node(), module(), atom(), [term()], timeout()) :: term()
  def call(node, module, function, args, timeout \\ @timeout_ms)

  def call(node, module, function, args, _timeout) when node == node(), do: apply(module, function, args)

  def call(node, module, function, args, timeout) do
    :erpc.call(node, module, function, args, timeout)
  catch
    :error, {:exception, reason, _stacktrace} -> :erlang.error(reason)
    :exit, {:exception, reason} -> exit(reason)
    kind, reason -> raise_failure(lost(kind, reason), {kind, reason, __STACKTRACE__}, node)
  end

  defp raise_failure(nil, {kind, reason, stacktrace}, _node), do: :erlang.raise(kind, reason, stacktrace)
  defp raise_failure(lost, _failure, node), do: raise(Lost, node: node, reason: lost)

  @doc "Why no answer came, of what `:erpc.call/5` failed with; nil when the function itself failed."
  @spec lost(:error | :exit | :throw, term()) :: :timeout | :noconnection | nil
  def lost(:error, {:erpc, :timeout}), do: :timeout
  def lost(:error, {:erpc, _noconnection}), do: :noconnection

  # The answer that had arrived when this VM lost its name: a reference made under a name is another one under the next, so :erpc
  # takes the answer for the reason of a kill.
  def lost(:exit, {:signal, answer}) when is_tuple(answer) and is_reference(elem(answer, 0)),
    do: :noconnection

  def lost(_kind, _reason), do: nil

  @doc "Raises again what ended the work of a process that looked at another node, if it was that the node did not answer."
  @spec raise_lost(term()) :: :ok
  def raise_lost({:crashed, {:shutdown, {:error, {Lost, reason}}}}),
    do: raise(Lost, node: nil, reason: reason)

  def raise_lost(_other), do: :ok

  @doc "The attributes of a module that is loaded there, else an empty list. Looking loads nothing."
  @spec attributes(node(), module() | nil) :: keyword()
  def attributes(_node, nil), do: []

  def attributes(node, module) do
    # Of all items, :attributes alone is copied.
    call(node, :erlang, :get_module_info, [module, :attributes])
  rescue
    _not_loaded in ArgumentError -> []
  end
end
