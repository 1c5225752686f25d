defmodule JidoCode.Tools.Security.AuditLogger do
  @moduledoc """
  The trail of every tool invocation: a ring of fixed capacity whose entries are chained by their hashes.

  An entry is a map:

      %{id: 17, timestamp: ~U[2026-01-01 12:00:00.000000Z], session_id: "s1", tool: "mix_task", status: :ok,
        duration_us: 1_204, args_hash: "9f86d081884c7d659a2feaa0c55ad015",
        confinement: "filesystem landlock, network all, signals landlock", of: 16, digest: "..."}

  `status` is `:ok`, `:error` (the handler's own), `:blocked` (denied or refused), `:timeout`, `:crashed`, or `:cancelled` (the
  caller cancelled the call before there was an answer, or was killed). While a call runs, its entry is `:started`; the entry of
  its end has that one's id as `of`, and replaces it in listings. Both stay in the chain.

  What people allowed has entries of its own: `:granted` (the session's tier was raised to the one in `tool`),
  `:consented` and `:revoked` (a tool). Who is asked in the conversation leaves one for the tool as well: `:consented`, `:declined` or
  `:unanswered`, with the `args_hash` of the call in question; consent for the whole session has none.

  With `config :jido_code_tools, audit_file: "..."` each entry is also a line of that file before its call is answered;
  `mix jido.audit` shows and verifies it. While the file can't be written no call is allowed (`audit_file_failure: :warn` lets
  them go on).

  `confinement` says in a line how the kernel confined the call's commands, and which parts are missing on this machine (the
  figures of `JidoCode.Tools.Command.confinement/1` in words); it is nil for a call that ran no command.

  Arguments are never stored. `args_hash` is a keyed hash (HMAC-SHA-256, first 128 bits, 32 hex characters), the same for
  equal arguments whatever the order of their keys, and of no use for guessing small arguments: the key is
  made at start, or configured by `:audit_key`. Arguments of more than 8 million words
  are not hashed.

  Each entry's digest covers all of the above and the entry before it. `verify/0` says whether an entry was changed or removed since. The
  ring loses only the entries that it overwrites; the digest of the last overwritten entry stays as the chain's anchor.
  """

  import JidoCode.Tools.Security.Fitting, only: [fitting: 1]

  require Logger

  alias JidoCode.Tools.Config
  alias JidoCode.Tools.Security.{Core, Native}
  alias JidoCode.Tools.{Telemetry, Visible}

  @statuses [
    :ok,
    :error,
    :blocked,
    :timeout,
    :crashed,
    :cancelled,
    :started,
    :granted,
    :consented,
    :declined,
    :unanswered,
    :revoked
  ]

  @type status ::
          :ok
          | :error
          | :blocked
          | :timeout
          | :crashed
          | :cancelled
          | :started
          | :granted
          | :consented
          | :declined
          | :unanswered
          | :revoked
  @type entry :: %{
          id: pos_integer(),
          timestamp: DateTime.t(),
          session_id: String.t() | nil,
          tool: String.t() | nil,
          status: status() | nil,
          duration_us: non_neg_integer() | nil,
          args_hash: String.t() | nil,
          confinement: String.t() | nil,
          of: pos_integer() | nil,
          digest: String.t()
        }

  @doc """
  Records an invocation and returns its entry's id.

  Options: `:args` (the arguments, hashed; default nil), `:confinement` (how its commands were confined, in words; default
  nil; kept up to 512 bytes), `:emit_telemetry` (true), `:log_blocked` (true: a `:blocked` one is also logged as a warning),
  `:core`.
  """
  @spec log_invocation(String.t() | nil, String.t(), status(), non_neg_integer(), keyword()) :: pos_integer()
  def log_invocation(session_id, tool, status, duration_us, opts \\ [])
      when status in @statuses do
    case record(session_id, tool, status, duration_us, opts) do
      {:ok, id} -> id
      {:error, id, _text} -> id
    end
  end

  @doc false
  # As `log_invocation/5`. The error is the audit file's: the entry is in memory alone.
  @spec record(String.t() | nil, String.t(), status(), non_neg_integer(), keyword()) ::
          {:ok, pos_integer()} | {:error, pos_integer(), String.t()}
  def record(session_id, tool, status, duration_us, opts) do
    session = session_id || "__global__"

    row = {session, tool, status, duration_us, opts[:args], opts[:confinement], opts[:of]}
    recorded = recorded(fitting(Native.audit_append(core(opts), row)), opts[:of])
    id = elem(recorded, 1)
    if status != :started, do: tell(session_id, tool, status, duration_us, id, opts)
    recorded
  end

  defp recorded({:unkept, id, text}, _of) do
    Logger.error("[AuditLogger] Entry #{id} is not in the audit file: #{text}")
    {:error, id, text}
  end

  # Its caller was taken for gone: the end that was recorded then stands.
  defp recorded(:over, of), do: {:ok, of}
  defp recorded(id, _of), do: {:ok, id}

  @doc false
  # The end of a call whose caller is gone.
  @spec abandon(pos_integer(), map()) :: :ok
  def abandon(started, about) do
    with recorded when recorded != :over <- Native.audit_abandon(Core.default(), started) do
      {_kept, id} = recorded |> recorded(started) |> Tuple.to_list() |> Enum.take(2) |> List.to_tuple()
      duration = System.convert_time_unit(System.monotonic_time() - about.started_at, :native, :microsecond)
      tell(about.session, about.tool, :cancelled, duration, id, [])
    end

    :ok
  rescue
    # The core has gone with its application.
    _error in [ErlangError, ArgumentError] -> :ok
  end

  @doc false
  @spec sync() :: :ok | {:error, String.t()}
  def sync, do: Native.audit_sync(Core.default())

  @doc false
  # The file that this VM writes: the configured one, or one beside it.
  @spec file() :: Path.t() | nil
  def file, do: Native.audit_file(Core.default())

  defp tell(session_id, tool, status, duration_us, id, opts) do
    if Keyword.get(opts, :emit_telemetry, true) do
      Telemetry.execute(
        [:jido_code, :security, :audit],
        %{duration_us: duration_us},
        %{session_id: session_id, tool: tool, status: status, entry_id: id}
      )
    end

    if status == :blocked and Keyword.get(opts, :log_blocked, true) do
      session = plain(session_id || "__global__")
      Logger.warning("[AuditLogger] Blocked invocation: session=#{session} tool=#{plain(tool)} entry=#{id}")
    end
  end

  # Names come from callers: one must not look like a line of its own, nor move a terminal's cursor.
  @doc false
  @spec plain(String.t() | nil) :: String.t()
  def plain(nil), do: "-"

  def plain(name), do: Visible.escape(name)

  @doc """
  Entries, newest first. Give a session id, options, or both.

  Options: `:limit` (default 1000), `:order` (`:desc` or `:asc`, by id), `:core`.
  """
  @spec get_audit_log(nil | String.t() | keyword()) :: [entry()]
  def get_audit_log(session_or_opts \\ nil)
  def get_audit_log(opts) when is_list(opts), do: query(nil, opts)
  def get_audit_log(session_id) when is_binary(session_id) or is_nil(session_id), do: query(session_id, [])

  @doc "The entries of a session."
  @spec get_audit_log(String.t() | nil, keyword()) :: [entry()]
  def get_audit_log(session_id, opts), do: query(session_id, opts)

  defp query(session_id, opts) do
    limit = Keyword.get(opts, :limit, 1000)
    order = Keyword.get(opts, :order, :desc)

    unless is_integer(limit) and limit >= 0 do
      raise ArgumentError, "expected :limit to be a non-negative integer, got: #{inspect(limit)}"
    end

    unless order in [:asc, :desc] do
      raise ArgumentError, "expected :order to be :asc or :desc, got: #{inspect(order)}"
    end

    Enum.map(fitting(Native.audit_query(core(opts), session_id, limit, order)), &entry/1)
  end

  defp entry({id, timestamp_us, session, tool, status, duration_us, args_hash, confinement, of, digest}) do
    %{
      id: id,
      timestamp: DateTime.from_unix!(timestamp_us, :microsecond),
      session_id: session,
      tool: tool,
      status: status,
      duration_us: duration_us,
      args_hash: args_hash && Base.encode16(args_hash, case: :lower),
      confinement: confinement,
      of: of,
      digest: Base.encode16(digest, case: :lower)
    }
  end

  @doc """
  Whether the entries are the ones that were written: `{:ok, %{entries: n, anchor: hex, head: hex}}`, or
  `{:error, {kind, id}}` with the first entry that does not fit its chain.

  Keep `head` elsewhere to be able to show later that everything up to it is unchanged.
  """
  @spec verify(keyword()) ::
          {:ok, %{entries: non_neg_integer(), anchor: String.t(), head: String.t()}}
          | {:error, {atom(), pos_integer()}}
  def verify(opts \\ []) do
    case Native.audit_verify(core(opts)) do
      {:ok, entries, anchor, head} ->
        {:ok,
         %{
           entries: entries,
           anchor: Base.encode16(anchor, case: :lower),
           head: Base.encode16(head, case: :lower)
         }}

      {:error, kind, id} ->
        {:error, {kind, id}}
    end
  end

  @doc "Drops all entries and starts again at id 1."
  @spec clear_all(keyword()) :: :ok
  def clear_all(opts \\ []), do: Native.audit_clear_all(core(opts))

  @doc "Blanks a session's entries. Their places and digests stay, so that the chain still verifies."
  @spec clear_session(String.t(), keyword()) :: :ok
  def clear_session(session_id, opts \\ []), do: Native.audit_clear_session(core(opts), session_id)

  @doc "How many entries are stored."
  @spec count(keyword()) :: non_neg_integer()
  def count(opts \\ []), do: Native.audit_count(core(opts))

  @doc "How many entries the log holds at most: the configuration's `:audit_buffer_size`."
  @spec buffer_size(keyword()) :: pos_integer()
  def buffer_size(opts \\ []), do: Native.audit_capacity(core(opts))

  @doc """
  The keyed hash of arguments as it stands in an entry; nil for nil.

      iex> JidoCode.Tools.Security.AuditLogger.hash_args(%{"a" => 1, "b" => 2}) ==
      ...>   JidoCode.Tools.Security.AuditLogger.hash_args(%{"b" => 2, "a" => 1})
      true
  """
  @spec hash_args(nil | map(), keyword()) :: nil | String.t()
  def hash_args(args, opts \\ [])
  def hash_args(nil, _opts), do: nil

  def hash_args(args, opts) when is_map(args) do
    case fitting(Native.args_hash(core(opts), args)) do
      :too_large -> raise ArgumentError, "the arguments are too large to be hashed"
      hash -> Base.encode16(hash, case: :lower)
    end
  end

  defp core(opts), do: Keyword.get_lazy(opts, :core, &fitted/0)

  # A host may set another size at any time, and what is asked next must know it.
  defp fitted do
    core = Core.default()
    size = Config.get(:audit_buffer_size)
    if Native.audit_capacity(core) != size, do: :ok = Native.audit_resize(core, size)
    core
  end
end
