defmodule JidoCode.Session.Manager do
  @moduledoc "One process per session: it knows the project's root, and the session lasts as long as it does."

  use GenServer, restart: :temporary

  alias JidoCode.Tools.SecureExecutor

  @spec start(String.t(), String.t()) :: DynamicSupervisor.on_start_child()
  def start(session_id, project_root) do
    DynamicSupervisor.start_child(JidoCode.SessionSupervisor, {__MODULE__, {session_id, project_root}})
  end

  @spec start_link({String.t(), String.t()}) :: GenServer.on_start()
  def start_link({session_id, _root} = arg), do: GenServer.start_link(__MODULE__, arg, name: name(session_id))

  @spec project_root(String.t()) :: {:ok, String.t()} | {:error, :not_found}
  def project_root(session_id) do
    GenServer.call(name(session_id), :project_root)
  catch
    :exit, {:noproc, _call} -> {:error, :not_found}
  end

  @spec stop(String.t()) :: :ok
  def stop(session_id) do
    # The session's grants, limits and background commands are gone when this returns.
    :ok = SecureExecutor.end_session(session_id)
    GenServer.stop(name(session_id))
  end

  @impl true
  def init({session_id, project_root}) do
    # Should this process crash, they go too.
    :ok = SecureExecutor.own_session(session_id, self())
    {:ok, project_root}
  end

  @impl true
  def handle_call(:project_root, _from, root), do: {:reply, {:ok, root}, root}

  defp name(session_id), do: {:via, Registry, {JidoCode.SessionProcessRegistry, session_id}}
end
