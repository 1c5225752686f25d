defmodule JidoCode.Tools.Remote.Service do
  @moduledoc false
  # The side of `JidoCode.Tools.Remote` that runs on a node that has the library.

  alias JidoCode.Tools.Introspection.Bounded
  alias JidoCode.Tools.Security.RedactionNote

  # Goes up when the functions here change in a way that the other side must know of.
  @protocol 2
  @version Mix.Project.config()[:version]

  @typedoc "`redacts?`: the library is started there, so it redacts what that node knows."
  @type about :: %{protocol: pos_integer(), version: String.t(), redacts?: boolean()}

  @spec protocol() :: pos_integer()
  def protocol, do: @protocol

  @doc "The library's version."
  @spec version() :: String.t()
  def version, do: @version

  @doc "What is there."
  @spec open() :: about()
  def open do
    %{protocol: @protocol, version: @version, redacts?: Process.whereis(JidoCode.Tools.Supervisor) != nil}
  end

  @doc """
  Runs a handler. It ends with the process `owner`, wherever that is, and after `timeout` milliseconds.

  `redactor` is the module by which this node takes its own secrets out of the answer, before it travels; the answer says so.
  """
  @spec run(module(), map(), map(), %{owner: pid(), timeout: pos_integer(), redactor: module() | nil}) ::
          {:ok, {:ok, map()} | {:error, String.t()}} | {:error, Bounded.failure()}
  def run(handler, args, context, %{owner: owner, timeout: timeout, redactor: redactor}) do
    Bounded.run(fn -> handler.execute(args, context) |> redact(redactor) end, timeout: timeout, owner: owner)
  end

  defp redact(answer, nil), do: answer

  defp redact(answer, redactor) do
    {clean, note} = redactor.redact(answer, emit_telemetry: false)
    RedactionNote.add(clean, note)
  end
end
