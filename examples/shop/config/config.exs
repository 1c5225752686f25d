import Config

# The shop's own tool, beside the library's.
config :jido_code_tools, tools: [Shop.Tools.LowStock]
