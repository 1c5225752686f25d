defmodule JidoCode.Tools.Handlers.Elixir.Constants do
  @moduledoc """
  Names that the introspection handlers refuse or hide.
  """

  @jido_code ~w(JidoCode.Tools JidoCode.Session JidoCode.Registry)

  @system ~w(
    kernel stdlib init code_server user application_controller error_logger logger global_name_server global_group
    net_kernel auth inet_db erl_epmd erl_prim_loader file_server_2 erts_code_purger rex erl_signal_server ssl_manager
    ssl_pem_cache disk_log_server disk_log_sup standard_error standard_error_sup
  )

  @sensitive_fields ~w(
    password passwd pwd passphrase secret token api_key apikey private_key secret_key signing_key encryption_key
    credentials auth bearer authorization session_secret client_secret consumer_secret database_url connection_string
    db_password salt nonce iv hmac
  )

  @doc """
  Beginnings of names that are refused, as a user would type them: with `Elixir.` and with a colon where they have one.
  """
  @spec blocked_prefixes() :: [String.t()]
  def blocked_prefixes do
    @jido_code ++ Enum.map(@jido_code, &("Elixir." <> &1)) ++ Enum.map(@system, &(":" <> &1))
  end

  @doc "Names of fields whose values are never shown."
  @spec sensitive_fields() :: [String.t()]
  def sensitive_fields, do: @sensitive_fields
end
