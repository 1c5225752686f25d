import Config

# The host's own configuration; only the first key is the library's as well.
config :jido_code,
  # Only for a host whose own Executor makes the checks; not with executor: &JidoCode.Tools.SecureExecutor.run/3.
  security_middleware: false,
  pubsub: JidoCode.PubSub,
  max_sessions: 10,
  rate_limits: %{resume: %{limit: 5, window_seconds: 60}},
  global_rate_limits: [resume: [limit: 20, window_seconds: 60]]

config :jido_code_tools,
  # Whose processes and tables the tools may look at; without it, those of every application that is not JidoCode's.
  project_namespaces: ["Stall"]

config :logger, level: :error
