defmodule JidoCode.Tools.Remote.RPC do
  @moduledoc false
  # A function on another node, and in words what went wrong there.

  alias JidoCode.Tools.Introspection.At

  @type failure :: :timeout | :noconnection | :undefined | :crashed | atom()

  @doc "Runs it in a process of its own. What goes wrong there is neither logged nor raised here."
  @spec call(node(), module(), atom(), [term()], pos_integer()) :: {:ok, term()} | {:error, failure()}
  def call(node, module, function, args, timeout) do
    {:ok, :erpc.call(node, module, function, args, timeout)}
  catch
    :error, {:exception, :undef, [{^module, ^function, _args, _location} | _]} -> {:error, :undefined}
    kind, reason -> {:error, At.lost(kind, reason) || :crashed}
  end

  @spec explain(failure(), node()) :: String.t() | {:timeout, String.t()}
  def explain(:timeout, node) do
    {:timeout,
     "Node #{node} did not answer in time: it is busy or stopped, or the connection to it is slow or cut"}
  end

  def explain(:noconnection, node) do
    "The connection to node #{node} was lost during the call. The next call connects again"
  end

  def explain(_failure, node), do: "Node #{node} failed to answer the call"
end
