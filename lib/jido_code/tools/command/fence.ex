defmodule JidoCode.Tools.Command.Fence do
  @moduledoc false
  # What keeps commands in on this machine, found out by really running one.
  #
  # The answer is kept, since it costs a process: the list of commands in force depends on it. A command that was judged by the
  # wide list runs with `confinement: :required` all the same, so that a machine that gives less by then refuses it.

  alias JidoCode.Tools.Command.Result
  alias JidoCode.Tools.Config

  @type state :: :whole | :partial | :none

  @doc "The state; `try_one` runs a command, where that is not known yet."
  @spec state((() -> {:ok, Result.t()} | {:error, term()})) :: state()
  def state(try_one) do
    case Config.get(:command_confinement) do
      :off -> :none
      _asked -> :persistent_term.get(__MODULE__, nil) || probe(try_one)
    end
  end

  @doc "Looks anew the next time: a command was refused that could not be confined."
  @spec forget() :: :ok
  def forget do
    :persistent_term.erase(__MODULE__)
    :ok
  end

  # A runner that fails says nothing about the kernel, so that its answer is not kept.
  defp probe(try_one) do
    case try_one.() do
      {:ok, %{confinement: confinement}} -> keep(confinement["fence"])
      {:error, _reason} -> :none
    end
  end

  defp keep(fence) do
    state =
      case fence do
        "whole" -> :whole
        "partial" -> :partial
        _landlock_or_none -> :none
      end

    :persistent_term.put(__MODULE__, state)
    state
  end
end
