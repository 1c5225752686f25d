defmodule JidoCode.Tools.Handlers.Elixir.Constants do
  @moduledoc false
  # Names that the introspection handlers refuse.

  @jido_code ~w(JidoCode.Tools JidoCode.Session JidoCode.Registry)

  @system ~w(
    kernel stdlib init code_server user application_controller error_logger logger global_name_server global_group
    net_kernel auth inet_db erl_epmd erl_prim_loader file_server_2 erts_code_purger rex erl_signal_server ssl_manager
    ssl_pem_cache disk_log_server disk_log_sup standard_error standard_error_sup
  )

  @doc """
  Beginnings of names that are refused, as a user would type them: with `Elixir.` and with a colon where they have one.
  """
  @spec blocked_prefixes() :: [String.t()]
  def blocked_prefixes do
    @jido_code ++ Enum.map(@jido_code, &("Elixir." <> &1)) ++ Enum.map(@system, &(":" <> &1))
  end
end
