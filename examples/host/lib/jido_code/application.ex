defmodule JidoCode.Application do
  @moduledoc false
  use Application

  @impl true
  def start(_type, _args) do
    children = [
      {Registry, keys: :unique, name: JidoCode.SessionProcessRegistry},
      {DynamicSupervisor, name: JidoCode.SessionSupervisor, strategy: :one_for_one},
      {Task.Supervisor, name: JidoCode.TaskSupervisor}
    ]

    with {:ok, supervisor} <-
           Supervisor.start_link(children, strategy: :one_for_one, name: JidoCode.Supervisor) do
      :ok = JidoCode.Tools.register_all()
      {:ok, supervisor}
    end
  end
end
