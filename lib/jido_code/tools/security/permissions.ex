defmodule JidoCode.Tools.Security.Permissions do
  @moduledoc """
  Four tiers, each allowing what the ones before it allow: `:read_only`, `:write`, `:execute`, `:privileged`.

  Every tool has a tier: the one that `config :jido_code_tools, tool_tiers:` gives it, else the one that its handler declares, else
  the one in the table here (`all_tool_tiers/0`), else `:unknown_tool_tier` of the configuration, by default `:privileged`: a tool
  that nobody has thought about is not available to every session.

  A session starts at `:read_only`. A person raises it, or consents to single tools, in one of two ways:

    * **stored**: `grant_tier("session-id", :execute)`, `record_consent("session-id", "mix_task")`. The library remembers it
      until `JidoCode.Tools.SecureExecutor.end_session/1`, the owner's end, or an idle hour
    * **pure**: `grant_tier(:read_only, :execute)` and `record_consent([], "mix_task")` return the new value, and the caller
      puts it into the context as `:granted_tier` and `:consented_tools`, which win over what is stored

  Consent to a tool allows it whatever its tier. A handler with `requires_consent: true` needs consent at any tier.
  """

  alias JidoCode.Tools.Behaviours.SecureHandler
  alias JidoCode.Tools.Config
  alias JidoCode.Tools.Security.{AuditLogger, Core, Native}
  alias JidoCode.Tools.{Telemetry, Tier}

  @type tier :: SecureHandler.tier()
  @type denial :: %{tool: String.t(), required_tier: tier(), granted_tier: tier() | nil}

  @tiers Tier.all()

  @doc "The tiers, lowest first."
  @spec valid_tiers() :: [tier(), ...]
  def valid_tiers, do: @tiers

  @doc "Whether a term is one of the four tiers."
  @spec valid_tier?(term()) :: boolean()
  defdelegate valid_tier?(tier), to: Tier, as: :valid?

  @doc "0 to 3; 0 for anything that is not a tier."
  @spec tier_level(term()) :: 0..3
  def tier_level(:write), do: 1
  def tier_level(:execute), do: 2
  def tier_level(:privileged), do: 3
  def tier_level(_tier), do: 0

  @doc """
  The tier that a tool needs by the table.

      iex> JidoCode.Tools.Security.Permissions.get_tool_tier("mix_task")
      :execute
      iex> JidoCode.Tools.Security.Permissions.get_tool_tier("no_such_tool")
      :privileged
  """
  @spec get_tool_tier(String.t()) :: tier()
  def get_tool_tier(tool) when is_binary(tool),
    do: Native.tier_of(Core.default(), tool) || unknown_tool_tier()

  @doc "Every tool of the table with its tier."
  @spec all_tool_tiers() :: %{String.t() => tier()}
  def all_tool_tiers, do: Map.new(Native.tier_table(Core.default()))

  @doc "The names of the table's tools of one tier, sorted; none for an unknown tier."
  @spec tools_for_tier(term()) :: [String.t()]
  def tools_for_tier(tier), do: Enum.sort(for {tool, ^tier} <- all_tool_tiers(), do: tool)

  @doc "Calls allowed in a stretch of milliseconds, for a tier; what is not a tier has that of `:read_only`."
  @spec default_rate_limit(term()) :: {non_neg_integer(), pos_integer()}
  def default_rate_limit(tier) when tier in @tiers, do: Native.tier_rate(Core.default(), tier)
  def default_rate_limit(_tier), do: default_rate_limit(:read_only)

  @doc "Calls allowed in a stretch of milliseconds, for every tier."
  @spec all_rate_limits() :: %{tier() => {non_neg_integer(), pos_integer()}}
  def all_rate_limits, do: Map.new(@tiers, &{&1, default_rate_limit(&1)})

  @doc """
  Whether a tool may be used by a session that was granted a tier and consent to some tools.

      iex> JidoCode.Tools.Security.Permissions.check_permission("grep", :read_only)
      :ok
      iex> JidoCode.Tools.Security.Permissions.check_permission("mix_task", :read_only)
      {:error, {:permission_denied, %{tool: "mix_task", required_tier: :execute, granted_tier: :read_only}}}
      iex> JidoCode.Tools.Security.Permissions.check_permission("mix_task", :read_only, ["mix_task"])
      :ok

  Option `:emit_telemetry` (default true).
  """
  @spec check_permission(String.t(), tier() | nil, [String.t()], keyword()) ::
          :ok | {:error, {:permission_denied, denial()}}
  def check_permission(tool, granted_tier, consented_tools \\ [], opts \\ [])
      when is_binary(tool) and is_list(consented_tools) do
    granted = if valid_tier?(granted_tier), do: granted_tier, else: :none
    required = get_tool_tier(tool)

    verdict =
      Native.decide(
        Core.default(),
        :permission,
        "",
        tool,
        required,
        nil,
        false,
        granted,
        tool in consented_tools
      )

    case verdict do
      :ok ->
        :ok

      {:permission_denied, required, _granted} ->
        denial = %{tool: tool, required_tier: required, granted_tier: granted_tier}
        if Keyword.get(opts, :emit_telemetry, true), do: emit(denial)
        {:error, {:permission_denied, denial}}
    end
  end

  @doc """
  Raises a tier: of a session that the library remembers (first argument a session id), or purely (first argument a tier).
  Going down is refused; end the session for that.

      iex> JidoCode.Tools.Security.Permissions.grant_tier(:read_only, :execute)
      {:ok, :execute}
      iex> JidoCode.Tools.Security.Permissions.grant_tier(:execute, :write)
      {:error, :tier_downgrade}

  For a session also `{:error, :too_many_sessions}`, when the library remembers as many as it holds, and
  `{:error, :name_too_long}`.
  """
  @spec grant_tier(String.t() | tier(), tier()) ::
          {:ok, tier()}
          | {:error, :invalid_tier | :tier_downgrade | :too_many_sessions | :name_too_long}
  def grant_tier(current, new)

  def grant_tier(session_id, new) when is_binary(session_id) and new in @tiers do
    case Native.grant_tier(Core.default(), session_id, new) do
      :ok -> noted(session_id, :granted, Atom.to_string(new), {:ok, new})
      reason -> {:error, reason}
    end
  end

  def grant_tier(current, new) when current in @tiers and new in @tiers do
    if tier_level(new) >= tier_level(current), do: {:ok, new}, else: {:error, :tier_downgrade}
  end

  def grant_tier(_current, _new), do: {:error, :invalid_tier}

  @doc """
  Notes a person's consent to a tool, for a session id or in a list; returns the tools consented to.

      iex> JidoCode.Tools.Security.Permissions.record_consent([], "mix_task")
      {:ok, ["mix_task"]}
      iex> JidoCode.Tools.Security.Permissions.record_consent(["mix_task"], "mix_task")
      {:error, :already_consented}
  """
  @spec record_consent(String.t() | [String.t()], String.t()) ::
          {:ok, [String.t()]}
          | {:error, :already_consented | :too_many_sessions | :too_many_consents | :name_too_long}
  def record_consent(session_or_list, tool)

  def record_consent(session_id, tool) when is_binary(session_id) and is_binary(tool) do
    stored(session_id, :consented, tool, Native.consent_record(Core.default(), session_id, tool))
  end

  def record_consent(consented, tool) when is_list(consented) and is_binary(tool) do
    if tool in consented, do: {:error, :already_consented}, else: {:ok, [tool | consented]}
  end

  @doc "Takes a consent back; returns the tools that are left."
  @spec revoke_consent(String.t() | [String.t()], String.t()) ::
          {:ok, [String.t()]} | {:error, :not_consented}
  def revoke_consent(session_or_list, tool)

  def revoke_consent(session_id, tool) when is_binary(session_id) and is_binary(tool) do
    stored(session_id, :revoked, tool, Native.consent_revoke(Core.default(), session_id, tool))
  end

  def revoke_consent(consented, tool) when is_list(consented) and is_binary(tool) do
    if tool in consented, do: {:ok, List.delete(consented, tool)}, else: {:error, :not_consented}
  end

  defp stored(session_id, status, tool, :ok),
    do: noted(session_id, status, tool, {:ok, session_grants(session_id).consented_tools})

  defp stored(_session_id, _status, _tool, reason), do: {:error, reason}

  # What people allow is in the trail beside what was done with it.
  defp noted(session_id, status, name, answer) do
    AuditLogger.log_invocation(session_id, name, status, 0)
    answer
  end

  @doc "What the library remembers of a session."
  @spec session_grants(String.t()) :: %{granted_tier: tier(), consented_tools: [String.t()]}
  def session_grants(session_id) when is_binary(session_id) do
    {tier, tools} = Native.grant_get(Core.default(), session_id)
    %{granted_tier: tier, consented_tools: Enum.sort(tools)}
  end

  @doc "Forgets a session's tier and consents."
  @spec clear_session(String.t()) :: :ok
  def clear_session(session_id) when is_binary(session_id), do: Native.grant_clear(Core.default(), session_id)

  @doc false
  # The setting is read at each use, like the host's own; a wrong one denies.
  @spec unknown_tool_tier() :: tier()
  def unknown_tool_tier, do: Config.get(:unknown_tool_tier)

  @doc false
  @spec emit(denial()) :: :ok
  def emit(denial), do: Telemetry.execute([:jido_code, :security, :permission_denied], %{}, denial)
end
