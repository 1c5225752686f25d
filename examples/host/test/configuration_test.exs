defmodule JidoCode.ConfigurationTest do
  # The configuration is the whole VM's, and the library is started anew.
  use ExUnit.Case, async: false

  import ExUnit.CaptureLog
  import JidoCode.Everything, only: [all: 2, session!: 1]

  alias JidoCode.Tools.{Catalog, Config, SecureExecutor}
  alias JidoCode.Tools.Security.{AuditLogger, Permissions}

  # Names that the library reads under `config :jido_code`, with what some host may mean by them.
  @foreign [
    security_middleware: [plugs: [:csrf]],
    audit_buffer_size: [resume: [limit: 5, window_seconds: 60]],
    unknown_tool_tier: "gold",
    project_namespaces: %{resume: %{limit: 5}}
  ]

  setup do
    on_exit(fn ->
      for {key, _value} <- @foreign, do: Application.delete_env(:jido_code, key)
      restart()
    end)
  end

  test "the host's rate limits are its own" do
    assert Application.get_env(:jido_code, :rate_limits)[:resume] == [limit: 5, window_seconds: 60]
    assert Permissions.default_rate_limit(:read_only) == {100, 60_000}
  end

  test "with foreign values under every name that is read there, the library starts and every tool answers" do
    Application.put_all_env(jido_code: @foreign)

    log = capture_log(&restart/0)
    for key <- Keyword.keys(@foreign) -- [:project_namespaces], do: assert(log =~ "#{inspect(key)} takes ")

    assert Config.get(:unknown_tool_tier) == :privileged
    assert AuditLogger.buffer_size() == 10_000

    session = session!(Path.expand("stall"))
    {:ok, :privileged} = Permissions.grant_tier(session, :privileged)
    names = for {name, _result} <- all(session, executor: &SecureExecutor.run/3), do: name
    assert names -- Catalog.names() == []
    SecureExecutor.end_session(session)
  end

  defp restart do
    level = Logger.level()
    Logger.configure(level: :warning)
    :ok = Application.stop(:jido_code)
    :ok = Application.stop(:jido_code_tools)
    {:ok, _started} = Application.ensure_all_started(:jido_code)
    Logger.configure(level: level)
  end
end
