defmodule JidoCode.Tools.Introspection.State do
  @moduledoc """
  Reads the state of a server that is ready for a message, without copying it.

  `:sys.get_state/2` sends the whole state to the asker, and sending loses sharing: a state of three kilobytes can become
  hundreds of megabytes, made by the process that is looked at. Here the state stays where it is. `:sys.replace_state/3`
  runs a function on it in its own process; ours writes the state as bounded text (`JidoCode.Tools.Render`) and then
  *throws* that text. `:sys` catches the throw, keeps the old state, and reports the thrown value.

  This holds for gen_server (Agents included) and gen_statem. A gen_event catches the throw itself and answers with all its
  handlers' states, so it must never be asked.

  What a read does to a server is what any system message does: a wait with a timeout of its own
  (`{:noreply, state, timeout}`) starts anew; one that hibernates is woken, and hibernates again. Writing the text takes a
  bounded amount of its heap; where that is full, the runtime collects it, which needs room for up to two copies of what
  lives there.
  """

  alias JidoCode.Tools.Render

  @type reading :: {:ok, String.t(), Render.summary()} | {:error, :timeout | :gone | :refused}

  @doc """
  The state of a gen_server or gen_statem that is *ready* (`JidoCode.Tools.Introspection.Observer.ready?/1`) as text.
  `timeout` is in milliseconds.

  Between seeing that the process is ready and asking, it may have begun to work. Then the question waits in its mailbox
  like any system message, and is answered to nobody when time is up.
  """
  @spec read(pid(), timeout()) :: reading()
  def read(pid, timeout) do
    load_renderer()
    :sys.replace_state(pid, &__MODULE__.throw_text/1, timeout)
    {:error, :refused}
  catch
    :error, {:callback_failed, _callback, {:throw, {__MODULE__, text, summary}}} -> {:ok, text, summary}
    :exit, {:timeout, _call} -> {:error, :timeout}
    :exit, _reason -> {:error, :gone}
    _kind, _reason -> {:error, :refused}
  end

  @doc """
  The status that a process's module prepares by its `format_status` callback, as text.

  This is `:sys.get_status/2`, which copies: only for those who asked for it in their configuration.
  """
  @spec read_status(pid(), timeout()) :: reading()
  def read_status(pid, timeout) do
    {:status, ^pid, {:module, _module}, [_dictionary, _state, _parent, _debug, status]} =
      :sys.get_status(pid, timeout)

    {text, summary} = status |> without_header() |> Render.render()
    {:ok, text, summary}
  catch
    :exit, {:timeout, _call} -> {:error, :timeout}
    :exit, _reason -> {:error, :gone}
    _kind, _reason -> {:error, :refused}
  end

  @doc false
  # Exported because a capture of an exported function is not tied to one version of this module's code. It runs in the
  # process that is looked at; the renderer is total.
  @spec throw_text(term()) :: no_return()
  def throw_text(state) do
    {text, summary} = Render.render(state)
    throw({__MODULE__, text, summary})
  end

  # Code is loaded on its first call, by asking another process and waiting. That must not happen in the process that is
  # looked at, so what the renderer may call is called here before.
  defp load_renderer do
    Render.render([
      %{:a => "text", "b" => [1, 2.5, :atom, <<1>>, <<1::3>>, ~c"chars", {}, self(), make_ref()]},
      {~D[2000-01-01], ~T[00:00:00], ~N[2000-01-01 00:00:00], ~U[2000-01-01 00:00:00Z], 1..9//2,
       MapSet.new([1])},
      [%URI{}, %ArgumentError{}, &Enum.map/2, fn -> :ok end, Integer.pow(10, 400), [token: "text"]],
      List.duplicate(:long_enough_for_several_lines, 50),
      String.duplicate("text", 2_000)
    ])
  end

  # What is left is what format_status made, and the generic data beside it.
  defp without_header(status) when is_list(status), do: Enum.reject(status, &match?({:header, _text}, &1))
  defp without_header(status), do: status
end
