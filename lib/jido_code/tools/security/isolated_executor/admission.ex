defmodule JidoCode.Tools.Security.IsolatedExecutor.Admission do
  @moduledoc false
  # What may enter and leave an isolated worker. A shared binary or a term that unfolds when it is copied would pass the heap
  # limit of the process that made it, and hurt the one that takes it instead.

  import JidoCode.Tools.Security.Fitting, only: [fitting: 1]

  alias JidoCode.Tools.Security.Native

  @type outcome :: {atom(), {:ok, term()} | {:error, term()}}

  @doc "What the work answered, in the worker."
  @spec admit(term(), map()) :: outcome()
  def admit({tag, _value} = result, limits) when tag in [:ok, :error] do
    if within?(result, limits), do: {:ok, result}, else: over_limit()
  end

  def admit(other, _limits), do: {:crashed, {:error, {:crashed, {:bad_return, kind_of(other)}}}}

  @doc "The same for why it failed: the reason is left out when it is too large to leave."
  @spec admit_failure(tuple(), map()) :: outcome()
  def admit_failure(reason, limits) do
    {:crashed, {:error, {:crashed, if(within?(reason, limits), do: reason, else: cut(reason))}}}
  end

  @doc "The outcome of work whose arguments or answer are over a memory limit."
  @spec over_limit() :: outcome()
  def over_limit, do: {:killed, {:error, {:killed, :max_heap_size}}}

  @doc "Whether the term takes at most so many words where it is copied to."
  @spec within_heap?(term(), pos_integer()) :: boolean()
  def within_heap?(term, words) do
    fitting(Native.term_within(term, words))
  rescue
    # Nobody can say without the native core.
    _error in [ErlangError, ArgumentError, UndefinedFunctionError] -> false
  end

  @doc "Whether the shared binaries that a process holds are within so many bytes."
  @spec binaries_within?(pid(), pos_integer()) :: boolean()
  def binaries_within?(pid, limit) do
    if held(pid) <= limit do
      true
    else
      # What is over may be garbage that no collection has seen yet.
      :erlang.garbage_collect(pid)
      held(pid) <= limit
    end
  end

  defp held(pid) do
    case Process.info(pid, :binary) do
      {:binary, binaries} ->
        binaries
        |> Enum.uniq_by(&elem(&1, 0))
        |> Enum.reduce(0, fn {_id, size, _count}, sum -> sum + size end)

      nil ->
        0
    end
  end

  defp within?(term, limits) do
    within_heap?(term, limits.max_heap_size) and binaries_within?(self(), limits.max_binary_size)
  end

  defp cut({:exception, exception, _stacktrace}),
    do: {:exception, %RuntimeError{message: "#{inspect(exception.__struct__)}, too large to be shown"}, []}

  defp cut({kind, _value}), do: {kind, :too_large}

  defp kind_of(term) when is_tuple(term), do: {:tuple, tuple_size(term)}
  defp kind_of(term) when is_map(term), do: :map
  defp kind_of(term) when is_list(term), do: :list
  defp kind_of(term) when is_binary(term), do: :binary
  defp kind_of(term) when is_atom(term), do: term
  defp kind_of(term) when is_function(term), do: :function
  defp kind_of(term) when is_number(term), do: :number
  defp kind_of(_term), do: :other
end
