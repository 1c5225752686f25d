import Config

config :jido_code,
  # Only for a host whose own Executor makes the checks; not with executor: &JidoCode.Tools.SecureExecutor.run/3.
  security_middleware: false,
  # Whose processes and tables the tools may look at; without it, those of every application that is not JidoCode's.
  project_namespaces: ["Stall"]

config :logger, level: :error
