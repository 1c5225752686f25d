defmodule JidoCode.Tools.Test.Seams do
  @moduledoc """
  The ways in which a tool call reaches this library: by its own door, and through a host's Executor by each of the two seams.
  """

  alias JidoCode.Tools.SecureExecutor
  alias JidoCode.Tools.Test.Host

  @type seam :: :call | :executor | :middleware

  @spec all() :: [seam()]
  def all, do: [:call, :executor, :middleware]

  @doc "Sets the host's switch as the seam needs it, until the test ends. It is the whole VM's, so the test can't be async."
  @spec prepare(seam()) :: :ok
  def prepare(:middleware) do
    Application.put_env(:jido_code, :security_middleware, true)
    ExUnit.Callbacks.on_exit(fn -> Application.delete_env(:jido_code, :security_middleware) end)
  end

  def prepare(_seam), do: :ok

  @doc "Calls a tool by a seam."
  @spec call(seam(), String.t(), map(), map()) :: {:ok, term()} | {:error, term()}
  def call(:call, name, args, context), do: SecureExecutor.call(name, args, context)

  def call(:executor, name, args, context) do
    Host.execute(name, args, context: context, timeout: 120_000, executor: &SecureExecutor.run/3)
  end

  def call(:middleware, name, args, context) do
    Host.execute(name, args, context: context, timeout: 120_000)
  end
end
