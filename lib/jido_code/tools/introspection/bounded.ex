defmodule JidoCode.Tools.Introspection.Bounded do
  @moduledoc false
  # Runs a look at the system in a process of its own, so that time and memory are bounded and nothing outlives the call.
  #
  #     caller ── monitors ──► watcher ◄── linked ──► worker
  #        ◄────────────── the answer ───────────────────┘
  #
  # The worker has a heap limit that kills it. The watcher kills the worker when time is up or when the caller is gone; if
  # the watcher itself is killed, the link takes the worker with it. The caller is linked to neither, and no message is left
  # in its mailbox, whatever happens.

  alias JidoCode.Tools.Introspection.At

  @heap_words 2_000_000

  @type failure :: :timeout | :too_large | {:crashed, term()}

  @doc """
  The value of `fun`, or why there is none.

  Options:

    * `:timeout` - in milliseconds (required)
    * `:heap_words` - the worker's heap limit (default 2,000,000 words, which is 16 MB on 64 bits). What lives on the heap
      may take half of it, since collecting garbage makes a copy. Binaries of more than 64 bytes live outside the heap and
      do not count: looking at them copies nothing
    * `:owner` - the process with whose end the work ends, if that is another than the caller; it may be on another node
  """
  @spec run((() -> value), keyword()) :: {:ok, value} | {:error, failure()} when value: term()
  def run(fun, options) do
    timeout = Keyword.fetch!(options, :timeout)
    heap_words = Keyword.get(options, :heap_words, @heap_words)
    owner = Keyword.get(options, :owner, self())
    # An alias, because an answer that comes after the deadline must not reach the mailbox.
    reply_to = :erlang.alias()

    work = fn -> send(reply_to, {reply_to, fun.()}) end
    {watcher, monitor} = spawn_monitor(fn -> watch(owner, timeout, work, heap_words) end)

    receive do
      {^reply_to, value} ->
        Process.demonitor(monitor, [:flush])
        :erlang.unalias(reply_to)
        {:ok, value}

      {:DOWN, ^monitor, :process, ^watcher, reason} ->
        :erlang.unalias(reply_to)
        late(reply_to, reason)
    end
  end

  @doc """
  The answer that a handler's work gives, or an error: `words` says what is told when time ran out (`:timeout`) and when there was
  too much data (`:too_large`). Takes the options of `run/2`.
  """
  @spec answer((() -> answer), %{timeout: String.t(), too_large: String.t()}, keyword()) ::
          answer | {:error, String.t() | {:timeout | :failed, String.t()}}
        when answer: term()
  def answer(fun, words, options) do
    case run(fun, options) do
      {:ok, answer} ->
        answer

      {:error, :timeout} ->
        {:error, {:timeout, words.timeout}}

      {:error, :too_large} ->
        {:error, words.too_large}

      {:error, failure} ->
        At.raise_lost(failure)
        {:error, {:failed, "its worker ended"}}
    end
  end

  @doc """
  A limit of `words` for `:max_heap_size`, which kills quietly and counts the same on every release.

  A node's flags may say (since OTP 27) that shared binaries are heap. They are bounded otherwise where they matter.
  """
  @spec heap_limit(pos_integer()) :: map()
  def heap_limit(words) do
    # Put in at run time: releases up to 26 take the key and ignore it, but their types don't know it.
    Map.merge(%{size: words, kill: true, error_logger: false}, Map.new(include_shared_binaries: false))
  end

  # The worker may have answered in the moment in which the watcher ended.
  defp late(reply_to, reason) do
    receive do
      {^reply_to, value} -> {:ok, value}
    after
      0 -> {:error, failure(reason)}
    end
  end

  defp failure({:ended, :killed}), do: :too_large
  defp failure({:ended, reason}), do: {:crashed, reason}
  defp failure(:timeout), do: :timeout
  defp failure(reason), do: {:crashed, reason}

  defp watch(owner, timeout, work, heap_words) do
    Process.flag(:trap_exit, true)
    owner = Process.monitor(owner)

    # Without generations: a collection that moves data to an old one needs room for both, by rules that differ between
    # releases, and so would what the limit is worth.
    worker =
      :erlang.spawn_opt(quiet(work), [:link, max_heap_size: heap_limit(heap_words), fullsweep_after: 0])

    receive do
      {:EXIT, ^worker, reason} ->
        exit({:ended, reason})

      {:DOWN, ^owner, :process, _pid, _reason} ->
        Process.exit(worker, :kill)
    after
      timeout ->
        Process.exit(worker, :kill)
        exit(:timeout)
    end
  end

  # A crash is reported to the caller; a crash report in the log would show the state that was being looked at.
  defp quiet(work) do
    fn ->
      try do
        work.()
      catch
        kind, reason -> exit({:shutdown, {kind, kind_of(reason)}})
      end
    end
  end

  defp kind_of(%At.Lost{reason: reason}), do: {At.Lost, reason}
  defp kind_of(%module{}), do: module
  defp kind_of(reason) when is_atom(reason), do: reason
  defp kind_of(_reason), do: :other
end
