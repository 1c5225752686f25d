defmodule JidoCode.Tools.Security.AuditKey do
  @moduledoc false
  # The secret behind the chain of an audit file. It must outlive the VM, or nobody could check the file later: the configured
  # `:audit_key`, else one that is made once and kept in the user's own folder, where fenced commands see nothing.

  alias JidoCode.Tools.{Config, PlainFile}

  @bytes 32

  @doc "A key for one purpose, of the secret."
  @spec derived(binary(), String.t()) :: binary()
  def derived(secret, purpose), do: :crypto.mac(:hmac, :sha256, secret, purpose)

  @doc "The secret; made where there is none. Raises `ArgumentError` when it can be neither read nor made."
  @spec load!() :: binary()
  def load! do
    case load() do
      {:ok, key} -> key
      {:error, text} -> raise ArgumentError, text
    end
  end

  defp load do
    case Config.get(:audit_key) do
      nil -> with {:ok, path} <- path(), do: read_or_make(path)
      key -> {:ok, key}
    end
  end

  @doc "The secret that there is; none is made."
  @spec known() :: {:ok, binary()} | {:error, String.t()}
  def known do
    case Config.get(:audit_key) do
      nil -> with {:ok, path} <- path(), do: read_again(path)
      key -> {:ok, key}
    end
  end

  defp path do
    case {System.get_env("XDG_STATE_HOME"), System.user_home()} do
      {"/" <> _rest = state, _home} ->
        {:ok, Path.join(state, "jido_code_tools/audit.key")}

      {_none, "/" <> _rest = home} ->
        {:ok, Path.join(home, ".local/state/jido_code_tools/audit.key")}

      _none ->
        {:error,
         "there is no home folder to keep the audit file's key in: set config :jido_code_tools, :audit_key"}
    end
  end

  defp read_or_make(path) do
    case PlainFile.read(path, 1_000) do
      {:ok, key, _identity} when byte_size(key) >= @bytes -> {:ok, key}
      {:error, "not_found"} -> make(path)
      _other -> {:error, "the audit file's key #{path} can't be read, or is not a key"}
    end
  end

  # Complete under another name first, so that nobody reads half of it; the first one who makes it wins.
  defp make(path) do
    folder = Path.dirname(path)
    fresh = "#{path}.#{System.unique_integer([:positive])}-#{System.pid()}"

    with :ok <- File.mkdir_p(folder),
         :ok <- File.chmod(folder, 0o700),
         :ok <- File.write(fresh, :crypto.strong_rand_bytes(@bytes), [:exclusive]),
         :ok <- File.chmod(fresh, 0o600) do
      _exists_or_ok = File.ln(fresh, path)
      File.rm(fresh)
      read_again(path)
    else
      {:error, reason} ->
        {:error, "the audit file's key can't be kept in #{folder}: #{:file.format_error(reason)}"}
    end
  end

  defp read_again(path) do
    case PlainFile.read(path, 1_000) do
      {:ok, key, _identity} when byte_size(key) >= @bytes -> {:ok, key}
      _other -> {:error, "the audit file's key #{path} can't be read"}
    end
  end
end
