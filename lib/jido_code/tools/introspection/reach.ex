defmodule JidoCode.Tools.Introspection.Reach do
  @moduledoc false
  # Where a call looks, and how things may be named to it.
  #
  # `node` is this node or one without the library that is looked at from here. `wide?` says that the call came by a door of
  # this library (`SecureExecutor.call/3`, `mix jido.tool`, MCP), where a person sits at the other end: pids and via names are
  # taken as processes there, and rows of protected tables are read. A host's seam and a bare handler keep to names.
  # `states?` is false where nobody consented to lend the node what reading a state or a row takes.

  defstruct node: nil, wide?: false, states?: true

  @type t :: %__MODULE__{node: node(), wide?: boolean(), states?: boolean()}

  @spec of(map()) :: t()
  def of(context) do
    at = Map.get(context, :at, %{})

    %__MODULE__{
      node: Map.get(at, :node, node()),
      wide?: Map.get(context, :wide_reach, false) == true,
      states?: Map.get(at, :states?, true)
    }
  end
end
