defmodule JidoCode.Tools.Doors.MCP.Options do
  @moduledoc false
  # What a person decides about the MCP server on its command line, beyond the session (`JidoCode.Tools.Doors.SessionOptions`). Checked
  # by `mix jido.mcp.config`, which writes the command line, and again by the VM that the launcher starts with it.

  @switches [
    start: :boolean,
    structured: :boolean,
    env: :keep,
    read: :keep,
    repository: :boolean,
    ask: :string,
    ask_seconds: :integer,
    fence: :string,
    config: :string,
    audit_file: :string
  ]
  @fences %{"required" => :required, "best-effort" => :best_effort, "off" => :off}

  @doc "The options, for `OptionParser`'s `:strict`."
  @spec switches() :: keyword()
  def switches, do: @switches

  @doc """
  The library's configuration that they make, for the project in `root`: `--fence`, `--read`, `--repository`, `--audit-file`, and what the file of `--config` says
  under `config :jido_code_tools`.
  """
  @spec configuration(keyword(), Path.t()) :: {:ok, keyword()} | {:error, String.t()}
  def configuration(opts, root) do
    with {:ok, fence} <- fence(Keyword.get(opts, :fence)),
         :ok <- ask(Keyword.get(opts, :ask, "denied")),
         :ok <- ask_seconds(opts[:ask_seconds]),
         {:ok, trail} <- trail(opts[:audit_file], root),
         {:ok, read} <- folders(Keyword.get_values(opts, :read)),
         {:ok, configured} <- file(opts[:config], root) do
      configured =
        configured
        |> Keyword.put_new(:command_confinement, :required)
        |> Keyword.merge(fence ++ trail ++ repository(opts[:repository]))

      {:ok,
       if(read == [],
         do: configured,
         else: Keyword.update(configured, :command_read_paths, read, &(&1 ++ read))
       )}
    end
  end

  defp repository(nil), do: []
  defp repository(whole?), do: [command_repository: whole?]

  defp fence(nil), do: {:ok, []}

  defp fence(name) do
    case @fences do
      %{^name => confinement} -> {:ok, [command_confinement: confinement]}
      _other -> {:error, "--fence takes one of required, best-effort, off, got: #{name}"}
    end
  end

  defp ask(ask) when ask in ["denied", "never"], do: :ok
  defp ask(other), do: {:error, "--ask takes one of denied, never, got: #{other}"}

  defp ask_seconds(seconds) when seconds == nil or seconds in 1..600, do: :ok
  defp ask_seconds(other), do: {:error, "--ask-seconds takes a whole number from 1 to 600, got: #{other}"}

  defp folders(paths) do
    case Enum.reject(paths, &(Path.type(&1) == :absolute and File.dir?(&1))) do
      [] -> {:ok, Enum.map(paths, &Path.expand/1)}
      [path | _rest] -> {:error, "--read takes the absolute path of a folder, got: #{path}"}
    end
  end

  defp trail(nil, _root), do: {:ok, []}

  defp trail(path, root) do
    cond do
      Path.type(path) != :absolute -> {:error, "--audit-file takes an absolute path, got: #{path}"}
      inside?(real(path), real(root)) -> {:error, "--audit-file #{path}: commands may write the project"}
      true -> {:ok, [audit_file: path]}
    end
  end

  # It is a person's, so it lies where no command can write it.
  defp file(nil, _root), do: {:ok, []}

  defp file(path, root) do
    cond do
      Path.type(path) != :absolute ->
        {:error, "--config takes an absolute path, got: #{path}"}

      inside?(real(path), real(root)) ->
        {:error, "--config #{path}: the file lies in the project, where commands may change it"}

      true ->
        read(path)
    end
  end

  # The launcher tells the client what keeps commands in, and it knows its own command line alone.
  defp read(path) do
    configured = path |> Config.Reader.read!() |> Keyword.get(:jido_code_tools, [])

    if Keyword.has_key?(configured, :command_confinement),
      do: {:error, "--config #{path}: command_confinement is decided by --fence, on the command line"},
      else: {:ok, configured}
  rescue
    exception -> {:error, "--config #{path}: #{Exception.message(exception)}"}
  end

  defp inside?(path, folder), do: String.starts_with?(path <> "/", folder <> "/")

  # With the links in it followed: of a folder that can't be read, the path itself.
  defp real(path) do
    path
    |> Path.expand()
    |> Path.split()
    |> Enum.reduce("", fn part, done ->
      place = Path.join(done, part)

      case File.read_link(place) do
        {:ok, target} -> target |> Path.expand(done) |> real()
        {:error, _no_link} -> place
      end
    end)
  end
end
