defmodule JidoCode.Tools.Application do
  @moduledoc false

  use Application

  alias JidoCode.Tools.Command.Runner
  alias JidoCode.Tools.{Catalog, Config, Host}
  alias JidoCode.Tools.Security.{CommandPolicy, Core, MixPolicy}

  @impl true
  def start(_type, _args) do
    load()
    Host.start()
    # First: nothing may be called before its state exists, and a wrong configuration stops the start here.
    Config.check!()
    Catalog.load!()
    Core.start()
    load_policies!().()
    Runner.start()

    children = [
      JidoCode.Tools.Security.AuditWatch,
      {Task.Supervisor, name: JidoCode.Tools.TaskSupervisor},
      JidoCode.Tools.Introspection.LogRing,
      JidoCode.Tools.Security.KnownSecrets,
      JidoCode.Tools.Introspection.DocsIndex,
      JidoCode.Tools.Temporary,
      JidoCode.Tools.Shells,
      JidoCode.Tools.Sessions
    ]

    Supervisor.start_link(children, strategy: :one_for_one, name: JidoCode.Tools.Supervisor)
  end

  # Commands may write the project, and with it the build that this code was started from: what is loaded now can't be replaced
  # there before its first use. Nor can what it calls: a project's folders stand on the code path before Elixir's and Erlang's,
  # and a module of theirs that is not loaded yet would be taken from there. A release has loaded everything already.
  defp load do
    for app <- [:kernel, :stdlib, :crypto, :elixir, :logger, :jido_code_tools],
        {:ok, modules} <- [:application.get_key(app, :modules)],
        do: :code.ensure_modules_loaded(modules)
  end

  @impl true
  def stop(_state), do: Core.stop()

  @impl true
  def config_change(_changed, _new, _removed) do
    # Each of these raises before it changes anything, but for the last, which is after the tools' own check.
    Config.check!()
    put_policies = load_policies!()
    Catalog.load!()
    Core.reload(Core.default())
    put_policies.()
  end

  defp load_policies! do
    mix = MixPolicy.load!()
    commands = CommandPolicy.load!(mix)

    fn ->
      MixPolicy.put(mix)
      CommandPolicy.put(commands)
    end
  end
end
