defmodule JidoCode.Tools.Introspection.State do
  @moduledoc false
  # Reads the state of a server that is ready for a message, without copying it. The server may be on another node.
  #
  # `:sys.get_state/2` sends the whole state to the asker, and sending loses sharing: a state of three kilobytes can become
  # hundreds of megabytes, made by the process that is looked at. Here the state stays where it is. `:sys.replace_state/3`
  # runs a function on it in its own process; ours takes a bounded excerpt (`JidoCode.Tools.Introspection.Excerpt`) and then
  # *throws* it. `:sys` catches the throw, keeps the old state, and reports the thrown value. The excerpt becomes text here, with
  # the settings of this side.
  #
  # This holds for gen_server (Agents included) and gen_statem. A gen_event catches the throw itself and answers with all its
  # handlers' states, so it must never be asked; and other behaviours may not catch it at all.
  #
  # What a read does to a server is what any system message does: a wait with a timeout of its own
  # (`{:noreply, state, timeout}`) starts anew, which is why `JidoCode.Tools.Introspection.Pace` bounds how often; one that
  # hibernates is woken, and hibernates again. The excerpt takes a bounded amount of its heap; where that is full, the runtime
  # collects it, which needs room for up to two copies of what lives there.

  alias JidoCode.Tools.Introspection.Excerpt
  alias JidoCode.Tools.Render

  @type reading :: {:ok, Excerpt.t()} | {:error, :timeout | :gone | :refused}

  @mark Excerpt.mark()

  @doc """
  An excerpt of the state of a gen_server or gen_statem that is *ready*
  (`JidoCode.Tools.Introspection.Observer.ready?/1`). `timeout` is in milliseconds.

  Between seeing that the process is ready and asking, it may have begun to work. Then the question waits in its mailbox
  like any system message, and is answered to nobody when time is up.
  """
  @spec read(pid(), timeout()) :: reading()
  def read(pid, timeout) do
    # Code is loaded on its first call, by asking another process and waiting, which must not happen in the process that is
    # looked at. Here it was loaded by this line at the latest; another node was lent it.
    Excerpt.take(nil)
    :sys.replace_state(pid, &Excerpt.throw_state/1, timeout)
    {:error, :refused}
  catch
    :error, {:callback_failed, _callback, {:throw, {@mark, :state, excerpt}}} -> {:ok, excerpt}
    :exit, {:timeout, _call} -> {:error, :timeout}
    :exit, _reason -> {:error, :gone}
    _kind, _reason -> {:error, :refused}
  end

  @doc """
  An excerpt of the status that a process's module prepares by its `format_status` callback.

  This is `:sys.get_status/2`, which copies: only for those who asked for it in their configuration.
  """
  @spec read_status(pid(), timeout()) :: reading()
  def read_status(pid, timeout) do
    {:status, ^pid, {:module, _module}, [_dictionary, _state, _parent, _debug, status]} =
      :sys.get_status(pid, timeout)

    {:ok, status |> without_header() |> Excerpt.take()}
  catch
    :exit, {:timeout, _call} -> {:error, :timeout}
    :exit, _reason -> {:error, :gone}
    _kind, _reason -> {:error, :refused}
  end

  @typedoc "At most `restarts` in `seconds`."
  @type strategy :: %{strategy: atom(), restarts: non_neg_integer(), seconds: non_neg_integer()}

  @doc "The strategy of a supervisor that is ready, from its state, of which nothing else leaves it."
  @spec strategy(pid(), timeout()) :: {:ok, strategy()} | {:error, :timeout | :gone | :refused}
  def strategy(pid, timeout) do
    Excerpt.take(nil)
    :sys.replace_state(pid, &Excerpt.throw_strategy/1, timeout)
    {:error, :refused}
  catch
    :error, {:callback_failed, _callback, {:throw, {@mark, :strategy, {strategy, restarts, seconds}}}} ->
      {:ok, %{strategy: strategy, restarts: restarts, seconds: seconds}}

    :exit, {:timeout, _call} ->
      {:error, :timeout}

    :exit, _reason ->
      {:error, :gone}

    _kind, _reason ->
      {:error, :refused}
  end

  @doc "An excerpt as text, with `JidoCode.Tools.Render`'s options."
  @spec text(Excerpt.t(), keyword()) :: {String.t(), Render.summary()}
  def text(excerpt, options \\ []), do: Render.render(excerpt, options)

  # What is left is what format_status made, and the generic data beside it.
  defp without_header(status) when is_list(status), do: Enum.reject(status, &match?({:header, _text}, &1))
  defp without_header(status), do: status
end
