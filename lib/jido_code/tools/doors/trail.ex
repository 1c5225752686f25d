defmodule JidoCode.Tools.Doors.Trail do
  @moduledoc false
  # What the audit trail says of a session beside its calls: what its command line allowed, what a person answered in the
  # conversation, and the chain's head at its end.

  alias JidoCode.Tools.Security.AuditLogger

  @doc "Records what the command line granted, an entry for the tier and one for each tool consented to."
  @spec begin(map()) :: :ok
  def begin(%{session_id: session, granted_tier: tier, consented_tools: tools}) do
    if tier != :read_only, do: AuditLogger.log_invocation(session, Atom.to_string(tier), :granted, 0)
    for tool <- Enum.uniq(tools), do: AuditLogger.log_invocation(session, tool, :consented, 0)
    :ok
  end

  @doc """
  Records what a person said to the question about a call. An entry with the call's arguments is about that call alone, one without
  about the tool as long as the session lives.
  """
  @spec answered(String.t(), String.t(), map(), String.t()) :: :ok
  def answered(session, tool, args, said) do
    {status, about} =
      case said do
        "session" -> {:consented, []}
        "once" -> {:consented, [args: args]}
        "no" -> {:declined, [args: args]}
        "unanswered" -> {:unanswered, [args: args]}
      end

    AuditLogger.log_invocation(session, tool, status, 0, about)
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
