defmodule JidoCode.Tools.Doors.Trail do
  @moduledoc false
  # What the audit trail says of a session as a whole: what its command line allowed, and the chain's head at its end.

  alias JidoCode.Tools.Security.AuditLogger

  @doc "Records what the command line granted, an entry for the tier and one for each tool consented to."
  @spec begin(map()) :: :ok
  def begin(%{session_id: session, granted_tier: tier, consented_tools: tools}) do
    if tier != :read_only, do: AuditLogger.log_invocation(session, Atom.to_string(tier), :granted, 0)
    for tool <- Enum.uniq(tools), do: AuditLogger.log_invocation(session, tool, :consented, 0)
    :ok
  end

  @doc """
  Says on standard error what the head of the chain is, where the trail is a file: whoever keeps it elsewhere can tell later that
  nothing up to it was changed or removed.
  """
  @spec finish() :: :ok
  def finish do
    with file when is_binary(file) <- AuditLogger.file(),
         {:ok, %{head: head}} <- AuditLogger.verify() do
      IO.puts(:stderr, "audit trail #{file}: head #{head}")
    else
      _no_file_or_damaged -> :ok
    end
  end
end
