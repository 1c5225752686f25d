defmodule JidoCode.Tools.Introspection.At do
  @moduledoc false
  # A function of OTP's, called on this node or on another that is looked at from here. Nothing is loaded for it.
  #
  # What it raises there it raises here. When the node does not answer it raises `ErlangError` with `{:erpc, reason}`.

  @timeout_ms 5_000

  @spec call(node(), module(), atom(), [term()], timeout()) :: term()
  def call(node, module, function, args, timeout \\ @timeout_ms)

  def call(node, module, function, args, _timeout) when node == node(), do: apply(module, function, args)
  def call(node, module, function, args, timeout), do: :erpc.call(node, module, function, args, timeout)

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
