defmodule JidoCode.Tools.Remote.Service do
  @moduledoc """
  The side of `JidoCode.Tools.Remote` that runs on the node looked at: from the library there, or from the modules that it
  borrowed (`JidoCode.Tools.Remote.Loader`). It therefore uses nothing but what can be lent.
  """

  alias JidoCode.Tools.Introspection.Bounded
  alias JidoCode.Tools.Remote.Guest

  # Goes up when the functions here change in a way that the other side must know of.
  @protocol 1
  @version Mix.Project.config()[:version]

  @typedoc """
  `lent?`: the modules are borrowed. `redacts?`: the library is started there, so it redacts what that node knows.
  """
  @type about :: %{protocol: pos_integer(), version: String.t(), lent?: boolean(), redacts?: boolean()}

  @spec protocol() :: pos_integer()
  def protocol, do: @protocol

  @doc "The library's version."
  @spec version() :: String.t()
  def version, do: @version

  @doc "What is there. `:going` when borrowed modules have nobody who keeps them, or are just being given back."
  @spec open() :: about() | :going
  def open do
    case Guest.touch() do
      :ok -> about(true)
      :none -> if Guest.lent?(__MODULE__), do: :going, else: about(false)
      :gone -> :going
    end
  end

  defp about(lent?) do
    %{
      protocol: @protocol,
      version: @version,
      lent?: lent?,
      redacts?: not lent? and Process.whereis(JidoCode.Tools.Supervisor) != nil
    }
  end

  @doc """
  Runs a handler. It ends with the process `owner`, wherever that is, and after `timeout` milliseconds.

  `redactor` is the module by which this node takes its own secrets out of the answer, before it travels.
  """
  @spec run(module(), map(), map(), %{owner: pid(), timeout: pos_integer(), redactor: module() | nil}) ::
          {:ok, {:ok, map()} | {:error, String.t()}} | {:error, Bounded.failure()}
  def run(handler, args, context, %{owner: owner, timeout: timeout, redactor: redactor}) do
    Guest.lease(self())

    Bounded.run(fn -> handler.execute(args, context) |> redact(redactor) end, timeout: timeout, owner: owner)
  end

  defp redact(answer, nil), do: answer
  defp redact(answer, redactor), do: redactor.sanitize(answer, emit_telemetry: false)

  @doc "See `JidoCode.Tools.Remote.release/1`."
  @spec release() :: :ok
  def release, do: Guest.release()
end
