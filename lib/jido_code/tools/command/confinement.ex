defmodule JidoCode.Tools.Command.Confinement do
  @moduledoc false
  # What the kernel holds a command to, as the command runner reports it, and the way it takes from a tool's work into the audit
  # trail. Its keys stand at
  # `JidoCode.Tools.Command.confinement/1`.
  #
  # A handler tells what confines its command as soon as the command runs, so that a call that is ended later has it in its
  # audit entry as well.

  @type t :: %{String.t() => term()}

  @doc """
  In one line, for an audit entry.

      iex> JidoCode.Tools.Command.Confinement.summary(%{
      ...>   "filesystem" => "not applied", "network" => "seccomp", "network_mode" => "none", "signals" => "not applied",
      ...>   "missing" => ["filesystem: this kernel has no Landlock"]
      ...> })
      "filesystem not applied, network none by seccomp, signals not applied; missing: filesystem: this kernel has no Landlock"
  """
  @spec summary(t()) :: String.t()
  def summary(confinement) do
    holds =
      fence(confinement) <>
        "filesystem #{confinement["filesystem"]}#{reads(confinement)}, network #{network(confinement)}, " <>
        "signals #{confinement["signals"]}"

    case confinement["missing"] do
      [_ | _] = missing -> holds <> "; missing: " <> Enum.join(missing, "; ")
      _none -> holds
    end
  end

  defp fence(%{"fence" => fence}), do: "fence #{fence}, "
  defp fence(_confinement), do: ""

  defp reads(%{"reads_restricted" => true}), do: " for reading, too"
  defp reads(_confinement), do: ""

  defp network(%{"network_mode" => "all"}), do: "all"
  defp network(%{"network_mode" => "none", "network" => by}), do: "none by #{by}"

  defp network(%{"network_mode" => ports, "network" => by}) when is_list(ports),
    do: "ports #{Enum.join(ports, " ")} by #{by}"

  defp network(_confinement), do: "unknown"

  @doc """
  Tells who keeps the audit trail: calls `context.confined` with the summary, if it is a function of one argument. The pipeline
  (`JidoCode.Tools.SecureExecutor`) puts it there.
  """
  @spec tell(map(), t() | nil) :: :ok
  def tell(%{confined: tell}, confinement) when is_function(tell, 1) and is_map(confinement) do
    tell.(summary(confinement))
    :ok
  end

  def tell(_context, _confinement), do: :ok
end
