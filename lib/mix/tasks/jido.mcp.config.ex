defmodule Mix.Tasks.Jido.Mcp.Config do
  @shortdoc "Prints how an MCP client starts the server of this project"

  @moduledoc """
  Installs the MCP server, and prints the configuration with which a client starts it for this project.

  The server is copied to a folder of yours that lies outside any project, one for each version:
  `$XDG_DATA_HOME/jido_code_tools`, or `~/.local/share/jido_code_tools`. Files below `deps/` or `_build/` could be replaced by
  a command that the server runs. After an update of the library, run this again.

      mix jido.mcp.config
      mix jido.mcp.config --tier execute
      mix jido.mcp.config --consent run_exunit --consent mix_task --format command

  A project that does not depend on this library is named from the library's own folder:

      mix jido.mcp.config --project ../shop

  ## Options

    * `--project DIR` - the Mix project to serve; default: the current folder

    * `--format FORMAT`
      * `json` (default) - `{"mcpServers": {...}}`, which most clients read
      * `vscode` - `{"servers": {...}}`, for `.vscode/mcp.json`
      * `command` - the command in one line, for clients that take one, as in `claude mcp add NAME -- COMMAND`
    * `--name NAME` - what the client calls the server; default: the project's name, with
      `--project` its folder's
    * `--output FILE` - writes to a file instead of standard output, where the project may print too, and Mix what it
      compiles, before this task runs
    * `--env NAME` - passes a variable of the client's environment on to the project, beyond the usual few; may be given several
      times
    * `--read DIR` - lets the project and commands read a folder outside it; path dependencies are found and
      put in, without `--project`
    * `--repository` - where the project is a part of a git repository, commands read and write all of it; otherwise git lines that
      change more than the project are refused
    * `--ask WHEN` - `denied` (default): a denied call asks the person at the client, where the client can ask; `never`
    * `--ask-seconds N` - how long a question waits for its answer, 1 to 600; default 45, as most clients give up on a call after 60
    * `--fence FENCE` - `required` (default): nothing runs where this machine can't make a whole fence; `best-effort`: as far as it can;
      `off`. See `mix jido.doctor`
    * `--config FILE` - the library's configuration for the server, as `config :jido_code_tools` in a file outside the project
    * `--audit-file FILE` - writes the audit trail to a file outside the project; `mix jido.audit` shows it
    * `--structured` - results also as data; clients that find data drop the text, which is shorter
    * `--no-start` - compiles the project without starting it

  What the session may do, and where; checked here and put into the command:

  #{JidoCode.Tools.Doors.SessionOptions.help()}
  Without any of these, the server is read-only. Nothing that the project's configuration says about the session counts for the
  server.
  """

  use Mix.Task

  alias JidoCode.Tools.JSON
  alias JidoCode.Tools.Doors.{Console, SessionOptions}
  alias JidoCode.Tools.Doors.MCP.{Install, Options}

  @formats ~w(json vscode command)
  @switches [project: :string, format: :string, name: :string, output: :string]

  @impl true
  def run(argv), do: Console.helped?(argv, "jido.mcp.config") || install(argv)

  defp install(argv) do
    {opts, arguments, invalid} =
      OptionParser.parse(argv, strict: @switches ++ Options.switches() ++ SessionOptions.switches())

    with :ok <- understood(arguments, invalid),
         {:ok, format} <- format(Keyword.get(opts, :format, "json")),
         {:ok, root} <- root(opts[:project]),
         {:ok, name} <- name(opts[:name], root),
         opts = found(opts, root),
         {:ok, _configuration} <- Options.configuration(opts, root),
         :ok <- secret_free(opts),
         {:ok, _context} <- SessionOptions.context(opts, %{session_id: "mcp", project_root: root}),
         {:ok, launcher} <- Install.ensure(root),
         :ok <- write(opts[:output], print(format, name, launcher, arguments(opts, root)) <> "\n") do
      :ok
    else
      {:error, problem} ->
        IO.puts(:stderr, "mix jido.mcp.config: #{problem}\n\nmix help jido.mcp.config says more.")
        exit({:shutdown, 2})
    end
  end

  defp understood([], []), do: :ok
  defp understood([argument | _rest], _invalid), do: {:error, "unknown argument: #{argument}"}

  defp understood([], [{switch, _value} | _rest]),
    do: {:error, "unknown option, or one without its value: #{switch}"}

  defp format(format) when format in @formats, do: {:ok, format}
  defp format(other), do: {:error, "--format takes one of #{Enum.join(@formats, ", ")}, got: #{other}"}

  defp root(nil), do: {:ok, File.cwd!()}

  defp root(folder) do
    if File.regular?(Path.join(folder, "mix.exs")),
      do: {:ok, Path.expand(folder)},
      else: {:error, "--project takes the folder of a Mix project, and #{folder} has no mix.exs"}
  end

  # A project elsewhere is not asked: that would run its mix.exs.
  defp name(nil, root) do
    if here?(root),
      do: {:ok, to_string(Mix.Project.config()[:app] || "elixir")},
      else: {:ok, root |> Path.basename() |> String.replace(~r/[^A-Za-z0-9_-]/, "_") |> String.slice(0, 40)}
  end

  # Clients make names of tools from it.
  defp name(name, _root) do
    if name =~ ~r/\A[A-Za-z0-9_-]{1,40}\z/,
      do: {:ok, name},
      else: {:error, "--name takes up to 40 letters, digits, _ and -, got: #{name}"}
  end

  # Configurations are committed, copied and shown.
  defp secret_free(opts) do
    if Keyword.has_key?(opts, :cookie),
      do:
        {:error,
         "--cookie would stand in the configuration for all to read; --cookie-file names a file instead"},
      else: :ok
  end

  defp write(nil, text), do: IO.write(text)

  defp write(file, text) do
    with {:error, reason} <- File.write(file, text),
         do: {:error, "can't write #{file}: #{:file.format_error(reason)}"}
  end

  defp here?(root), do: root == File.cwd!()

  defp arguments(opts, root) do
    opts = Keyword.drop(opts, Keyword.keys(@switches))
    ["--project", root, "--path", path()] ++ OptionParser.to_argv(opts)
  end

  # As the server gets them: paths are absolute, and path dependencies may be read.
  defp found(opts, root) do
    given = for {:read, folder} <- opts, do: Path.expand(folder)
    dependencies = if here?(root), do: path_dependencies(), else: []
    read = for folder <- Enum.uniq(given ++ dependencies), do: {:read, folder}

    opts =
      for {key, value} <- opts,
          do: {key, if(key in [:config, :audit_file], do: Path.expand(value), else: value)}

    Keyword.delete(opts, :read) ++ read
  end

  # Dependencies that lie neither in the project nor where Mix puts what it fetched.
  defp path_dependencies do
    fetched = Mix.Project.deps_path()

    for {_app, path} <- Mix.Project.deps_paths(),
        not beneath?(path, fetched),
        not beneath?(path, File.cwd!()),
        do: path
  end

  defp beneath?(path, folder), do: String.starts_with?(path <> "/", folder <> "/")

  # A client started from a desktop does not have the PATH of this shell.
  defp path do
    folders = "PATH" |> System.get_env("") |> String.split(":", trim: true)
    # The VM puts folders of its own before what it was started with; what lies there goes with its version.
    {own, given} = Enum.split_with(folders, &String.starts_with?(&1, to_string(:code.root_dir())))

    ~w(mix elixir erl)
    |> Enum.map(fn program -> Enum.find(given ++ own, &File.regular?(Path.join(&1, program))) end)
    |> Enum.reject(&is_nil/1)
    |> Enum.uniq()
    |> Enum.join(":")
  end

  defp print("command", _name, launcher, arguments),
    do: Enum.map_join(environment_words() ++ [launcher | arguments], " ", &quoted/1)

  defp print(format, name, launcher, arguments) do
    server = Map.merge(%{"command" => launcher, "args" => arguments}, environment())

    config =
      case format do
        "json" -> %{"mcpServers" => %{name => server}}
        "vscode" -> %{"servers" => %{name => Map.put(server, "type", "stdio")}}
      end

    {:ok, json} = JSON.encode(config, pretty: true)
    json
  end

  # The project is served in the environment that this was asked in, when one was named.
  defp environment do
    case System.get_env("MIX_ENV") do
      nil -> %{}
      env -> %{"env" => %{"MIX_ENV" => env}}
    end
  end

  defp environment_words do
    case System.get_env("MIX_ENV") do
      nil -> []
      env -> ["env", "MIX_ENV=" <> env]
    end
  end

  defp quoted(word) do
    if word =~ ~r/\A[A-Za-z0-9_\/.:=@+,-]+\z/,
      do: word,
      else: "'" <> String.replace(word, "'", "'\\''") <> "'"
  end
end
