import Config

config :jido_code, :rate_limits,
  resume: [limit: 5, window_seconds: 60],
  cleanup_interval: 300_000
