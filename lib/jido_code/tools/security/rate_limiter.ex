defmodule JidoCode.Tools.Security.RateLimiter do
  @moduledoc """
  An exact sliding window per session and tool: in no stretch of `window_ms` are there more than `limit` admissions,
  whatever the number of schedulers that ask at once.

  The state lives in the native core and belongs to the library's application, not to a caller. It is bounded per key and
  overall; when it is full, calls are denied. Expired keys are dropped on a schedule.

      iex> JidoCode.Tools.Security.RateLimiter.check_rate("doc-session", "grep", 2, 60_000)
      :ok
      iex> JidoCode.Tools.Security.RateLimiter.check_rate("doc-session", "grep", 2, 60_000)
      :ok
      iex> {:error, retry_after_ms} = JidoCode.Tools.Security.RateLimiter.check_rate("doc-session", "grep", 2, 60_000)
      iex> retry_after_ms in 1..60_000
      true
      iex> JidoCode.Tools.Security.RateLimiter.get_count("doc-session", "grep", 60_000)
      2
      iex> JidoCode.Tools.Security.RateLimiter.clear_session("doc-session")
      :ok
  """

  alias JidoCode.Tools.Security.{Core, Native}
  alias JidoCode.Tools.Telemetry

  @doc """
  Admits a call and records it, or says in how many milliseconds the next would be admitted. A denied call is not recorded.

  Options: `:emit_telemetry` (default true), `:core` (default the library's own).
  """
  @spec check_rate(String.t(), String.t(), non_neg_integer(), pos_integer(), keyword()) ::
          :ok | {:error, retry_after_ms :: pos_integer()}
  def check_rate(session_id, tool, limit, window_ms, opts \\ [])
      when is_binary(session_id) and is_binary(tool) and is_integer(limit) and limit >= 0 and
             is_integer(window_ms) and window_ms > 0 do
    case admit(core(opts), session_id, tool, limit, window_ms) do
      :ok ->
        :ok

      {:error, retry_after_ms} = denied ->
        if Keyword.get(opts, :emit_telemetry, true) do
          emit(session_id, tool, limit, window_ms, retry_after_ms)
        end

        denied
    end
  end

  defp admit(nil, _session_id, _tool, _limit, window_ms), do: {:error, window_ms}

  defp admit(core, session_id, tool, limit, window_ms) do
    case Native.rate_check(core, session_id, tool, limit, window_ms) do
      :ok -> :ok
      retry_after_ms when is_integer(retry_after_ms) -> {:error, retry_after_ms}
    end
  end

  @doc "How many admissions are younger than `window_ms`."
  @spec get_count(String.t(), String.t(), pos_integer(), keyword()) :: non_neg_integer()
  def get_count(session_id, tool, window_ms, opts \\ []) do
    Native.rate_count(core(opts), session_id, tool, window_ms)
  end

  @doc "Forgets a session's admissions."
  @spec clear_session(String.t(), keyword()) :: :ok
  def clear_session(session_id, opts \\ []), do: Native.rate_clear_session(core(opts), session_id)

  @doc "Forgets all admissions."
  @spec clear_all(keyword()) :: :ok
  def clear_all(opts \\ []), do: Native.rate_clear_all(core(opts))

  @doc """
  Drops admissions older than `max_age_ms` and returns how many keys went wholly. The library does this on a schedule
  itself.
  """
  @spec cleanup(pos_integer(), keyword()) :: non_neg_integer()
  def cleanup(max_age_ms \\ 300_000, opts \\ []), do: Native.rate_cleanup(core(opts), max_age_ms)

  @doc false
  @spec emit(String.t() | nil, String.t(), non_neg_integer(), pos_integer(), pos_integer()) :: :ok
  def emit(session_id, tool, limit, window_ms, retry_after_ms) do
    Telemetry.execute(
      [:jido_code, :security, :rate_limited],
      %{retry_after_ms: retry_after_ms},
      %{session_id: session_id, tool: tool, limit: limit, window_ms: window_ms}
    )
  end

  defp core(opts), do: Keyword.get_lazy(opts, :core, &Core.default/0)
end
