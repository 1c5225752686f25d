defmodule JidoCode.Tools.Doors.MCP.Install do
  @moduledoc false
  # The library as the MCP server runs it, outside any project.
  #
  # What lies below `deps/` or `_build/` can be replaced by what the server is to hold. So the launcher, the command runner, the
  # native core and the compiled modules are copied to a folder of the person's, one for each version, and started from there:
  #
  #     $XDG_DATA_HOME/jido_code_tools/0.1.0-otp25-3f2a.../
  #       vm                                  the folders of the elixir and the erl that compiled it, a line each
  #       lib/jido_code_tools/ebin/*.beam
  #       lib/jido_code_tools/priv/...        with native/jido_mcp, which clients start
  #
  # The name has a digest of everything in it: an install never changes, and two versions stand beside each other.

  @launcher "priv/native/jido_mcp"
  @kept ~w(priv/native/jido_mcp priv/native/jido_mcp_tools.json priv/native/jido_command_runner) ++
          ~w(priv/native/jido_code_tools.so)

  @doc """
  Installs this library, unless it is installed, and answers the launcher's path.

  `project` is the folder of the project that will be served. The error is a text for the person who asked.
  """
  @spec ensure(Path.t()) :: {:ok, Path.t()} | {:error, String.t()}
  def ensure(project) do
    with {:ok, base} <- base(),
         :ok <- outside(base, project),
         {:ok, files} <- files() do
      target = Path.join(base, name(files))

      with :ok <- install(target, files),
           do: {:ok, Path.join([target, "lib", "jido_code_tools", @launcher])}
    end
  end

  defp base do
    case {System.get_env("XDG_DATA_HOME", ""), System.user_home()} do
      {"/" <> _rest = data, _home} -> {:ok, Path.join(data, "jido_code_tools")}
      {_unset, "/" <> _rest = home} -> {:ok, Path.join([home, ".local", "share", "jido_code_tools"])}
      _neither -> {:error, "HOME is not set; XDG_DATA_HOME takes the folder to install the server in"}
    end
  end

  # Commands may write the project.
  defp outside(base, project) do
    if String.starts_with?(Path.expand(base) <> "/", Path.expand(project) <> "/"),
      do: {:error, "#{base} lies in the project; XDG_DATA_HOME takes a folder outside it"},
      else: :ok
  end

  # Pairs of the path in the install and the content.
  defp files do
    source = Application.app_dir(:jido_code_tools)

    ebin =
      source |> Path.join("ebin/*.{app,beam}") |> Path.wildcard() |> Enum.map(&Path.relative_to(&1, source))

    scripts = source |> Path.join("priv/{exunit,mix}/*.exs") |> Path.wildcard()
    paths = ebin ++ @kept ++ Enum.map(scripts, &Path.relative_to(&1, source))

    Enum.reduce_while(paths, {:ok, [{"vm", programs()}]}, fn path, {:ok, files} ->
      case File.read(Path.join(source, path)) do
        {:ok, content} -> {:cont, {:ok, [{"lib/jido_code_tools/" <> path, content} | files]}}
        {:error, _reason} -> {:halt, {:error, missing(Path.join(source, path))}}
      end
    end)
  end

  defp missing(path), do: "#{path} is missing; mix deps.compile jido_code_tools --force builds it"

  # The very programs that this was compiled with: a version manager's choose by the folder that they are started in.
  defp programs do
    elixir = Path.expand("../../bin", to_string(:code.lib_dir(:elixir)))
    erlang = Path.join(to_string(:code.root_dir()), "bin")
    elixir <> "\n" <> erlang <> "\n"
  end

  defp name(files) do
    digest =
      for {path, content} <- Enum.sort(files), reduce: :crypto.hash_init(:sha256) do
        hash -> :crypto.hash_update(hash, [path, 0, <<byte_size(content)::64>>, content])
      end
      |> :crypto.hash_final()
      |> binary_part(0, 8)
      |> Base.encode16(case: :lower)

    "#{Application.spec(:jido_code_tools, :vsn)}-otp#{:erlang.system_info(:otp_release)}-#{digest}"
  end

  # Whoever comes second finds the folder whole, or replaces what is not.
  defp install(target, files) do
    if whole?(target, files), do: :ok, else: write(target, files)
  end

  defp whole?(target, files) do
    Enum.all?(files, fn {path, content} -> File.read(Path.join(target, path)) == {:ok, content} end)
  end

  defp write(target, files) do
    unique = "#{System.pid()}-#{System.unique_integer([:positive])}"
    {fresh, old} = {"#{target}.#{unique}.new", "#{target}.#{unique}.old"}

    try do
      for {path, content} <- files, do: write_file(Path.join(fresh, path), content)
      File.rename(target, old)
      put(fresh, target, files)
    rescue
      error in File.Error ->
        {:error, "can't install the server: #{Exception.message(error)}"}
    after
      File.rm_rf(fresh)
      File.rm_rf(old)
    end
  end

  defp put(fresh, target, files) do
    case File.rename(fresh, target) do
      :ok ->
        :ok

      {:error, reason} ->
        if whole?(target, files),
          do: :ok,
          else: {:error, "can't install the server in #{target}: #{:file.format_error(reason)}"}
    end
  end

  defp write_file(path, content) do
    File.mkdir_p!(Path.dirname(path))
    File.write!(path, content)
    program? = Path.basename(path) in ~w(jido_mcp jido_command_runner)
    File.chmod!(path, if(program?, do: 0o755, else: 0o644))
  end
end
