defmodule JidoCode.Tools.Command.Environment do
  @moduledoc """
  The environment that a command gets: a short list of the BEAM's own variables, and what the tool adds.

  Inherited are the places of programs and their caches (`PATH`, `HOME`, `MIX_HOME`, `HEX_HOME`, `CARGO_HOME`, ...), who the
  user is, and the language. `config :jido_code_tools, command_env: ["NAME", ...]` inherits more, but never a name that makes
  a runtime load other code (`ERL_FLAGS`, `LD_PRELOAD`, `GIT_*`, ...) or that reads like a secret (`*_TOKEN`,
  `DATABASE_URL`, ...): a tool that needs one of these passes it in the option `:env`.

  Relative entries of `PATH` are left out. They would find programs in the project's folder, where the command starts. So are
  those of a release that this runs in: its `erl` starts that release and nothing else, and a project's `mix` needs the machine's.
  """

  alias JidoCode.Tools.Config

  @inherited ~w(
    PATH HOME USER LOGNAME LANG LANGUAGE TZ
    MIX_HOME MIX_ARCHIVES MIX_REBAR3 HEX_HOME REBAR_CACHE_DIR
    CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN
    ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR PYENV_ROOT NVM_DIR
    SSL_CERT_FILE SSL_CERT_DIR
  )

  @refused_prefixes ~w(ERL_ ELIXIR_ RELEASE_ GIT_ LD_ DYLD_ NODE_OPTIONS PYTHON PERL5 RUBY BASH_ENV RIPGREP_)
  @refused_parts ~w(TOKEN SECRET PASSW PASSPHRASE CREDENTIAL COOKIE PRIVATE API_KEY ACCESS_KEY _DSN DATABASE_URL)

  # No line of a command may set or remove it.
  @mark "JIDO_COMMAND"

  @default_path "/usr/local/bin:/usr/bin:/bin"

  @doc """
  The whole environment, sorted by name.

  `additions` are pairs of name and value, `nil` removes a variable; `temporary` is the private folder. `own` is the
  environment of the BEAM, and `config` further names to inherit.
  """
  @spec build(
          Enumerable.t(),
          Path.t(),
          %{optional(String.t()) => String.t()},
          [String.t()]
        ) :: [{String.t(), String.t()}]
  def build(additions, temporary, own \\ System.get_env(), config \\ configured()) do
    inherited = Map.filter(own, fn {name, _value} -> inherited?(name, config) end)

    inherited
    |> Map.update("PATH", @default_path, &path(&1, own["RELEASE_ROOT"]))
    |> Map.merge(%{"TERM" => "dumb", "TMPDIR" => temporary, "TMP" => temporary, "TEMP" => temporary})
    |> Map.merge(Map.new(additions))
    |> Map.put(@mark, "1")
    |> Enum.reject(fn {_name, value} -> value == nil end)
    |> Enum.sort()
  end

  @doc "Whether this VM was started by a tool's command."
  @spec of_command?() :: boolean()
  def of_command?, do: System.get_env(@mark) != nil

  defp configured, do: Config.get(:command_env)

  defp inherited?(name, config) do
    name in @inherited or String.starts_with?(name, "LC_") or (name in config and not refused?(name))
  end

  @doc """
  True for a name that is not inherited even when configured.
  """
  @spec refused?(String.t()) :: boolean()
  def refused?(name) do
    name = String.upcase(name)
    String.starts_with?(name, @refused_prefixes) or String.contains?(name, @refused_parts)
  end

  defp path(path, release) do
    case path
         |> String.split(":")
         |> Enum.filter(&(Path.type(&1) == :absolute and not beneath?(&1, release))) do
      [] -> @default_path
      entries -> Enum.join(entries, ":")
    end
  end

  defp beneath?(_entry, nil), do: false
  defp beneath?(entry, folder), do: String.starts_with?(Path.expand(entry) <> "/", Path.expand(folder) <> "/")
end
