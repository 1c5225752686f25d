defmodule JidoCode.Tools.Project.Places do
  @moduledoc false
  # Where the commands of a project read and write, beside the project: a cache of packages of its own, outside of it, and what a
  # person added. The user's own caches are code to what trusts them later, so that nothing here writes them.

  alias JidoCode.Tools.Config
  alias JidoCode.Tools.Project.Repository

  # The library's own sources: as a path dependency they lie outside of the project that Mix compiles.
  @library File.cwd!()

  @dependencies {__MODULE__, :path_dependencies}

  @doc "The options `:write`, `:read` and `:env` of `JidoCode.Tools.Command` for the project; `env` is added to the variables."
  @spec options(String.t(), %{String.t() => String.t() | nil}) :: keyword()
  def options(root, env) do
    cache = cache(root)

    [
      write: [root | List.wrap(cache)] ++ written(root),
      read: readable(),
      env: Map.merge(variables(cache), env)
    ]
  end

  @doc "What a project's commands may write beside the project and its caches: what a person added."
  @spec written(String.t()) :: [String.t()]
  def written(root),
    do: Repository.written(root) ++ Enum.filter(Config.get(:command_write_paths), &File.exists?/1)

  @doc "What a project's commands may read beside the system, the toolchain and the project."
  @spec readable() :: [String.t()]
  def readable do
    places = [@library, mix_home(), cargo_config()]
    :persistent_term.get(@dependencies, []) ++ Enum.filter(places, &(&1 && File.exists?(&1)))
  end

  @doc """
  Takes the path dependencies of the project that this VM was started in, outside of its folder, as readable. For Mix tasks that a
  person starts; a library inside a host never asks the project.
  """
  @spec take_path_dependencies(String.t()) :: :ok
  def take_path_dependencies(root) do
    found =
      for {_app, path} <- Mix.Project.deps_paths(),
          path = Path.expand(path),
          not beneath?(path, root),
          not beneath?(root, path),
          Enum.any?(~w(mix.exs rebar.config Makefile), &File.regular?(Path.join(path, &1))),
          do: path

    :persistent_term.put(@dependencies, found)
  end

  defp beneath?(path, folder), do: path == folder or String.starts_with?(path, folder <> "/")

  @doc "The folder of the project's packages, made when it is missing; nil where there is no place for one."
  @spec cache(String.t()) :: String.t() | nil
  def cache(root) do
    with base when is_binary(base) <- Config.get(:command_cache_dir) || user_cache() do
      digest = :crypto.hash(:sha256, Path.expand(root)) |> Base.encode16(case: :lower)
      folder = Path.join([base, "#{Path.basename(root)}-#{binary_part(digest, 0, 12)}"])
      if made?(folder), do: folder
    end
  end

  defp user_cache, do: System.user_home() && Path.join([System.user_home(), ".cache", "jido_code_tools"])

  defp made?(folder) do
    File.dir?(folder) or (File.mkdir_p(folder) == :ok and File.chmod(folder, 0o700) == :ok)
  end

  # Archives, among them Hex, are the person's: read where they are, and never written.
  defp variables(nil), do: %{"MIX_HOME" => mix_home()}

  defp variables(cache) do
    mix_home = mix_home()

    %{
      "MIX_HOME" => if(mix_home && File.dir?(mix_home), do: mix_home, else: Path.join(cache, "mix")),
      "HEX_HOME" => Path.join(cache, "hex"),
      "REBAR_CACHE_DIR" => Path.join(cache, "rebar3"),
      "CARGO_HOME" => Path.join(cache, "cargo"),
      "npm_config_cache" => Path.join(cache, "npm"),
      "XDG_CACHE_HOME" => Path.join(cache, "cache")
    }
  end

  defp mix_home, do: System.get_env("MIX_HOME") || in_home(".mix")

  defp cargo_config do
    folder = System.get_env("CARGO_HOME") || in_home(".cargo")
    folder && Path.join(folder, "config.toml")
  end

  defp in_home(name), do: System.user_home() && Path.join(System.user_home(), name)
end
