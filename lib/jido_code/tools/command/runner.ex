defmodule JidoCode.Tools.Command.Runner do
  @moduledoc false
  # Where the program is that runs commands.
  #
  # A command may write the project's folder, and the library may lie in it, as a dependency does. A runner that is read from
  # there for each command could be another one by then, and it is what confines them. So it is taken into sealed memory when
  # the library starts, and started from there.

  alias JidoCode.Tools.Config
  alias JidoCode.Tools.Security.Native

  @program "jido_command_runner"

  @doc "Takes the program into memory; once in the VM's life, however often the application starts."
  @spec start() :: :ok
  def start do
    unless match?({:ok, _path}, kept()) do
      file = Application.app_dir(:jido_code_tools, "priv/native/" <> @program)
      :persistent_term.put(__MODULE__, Native.command_runner_keep(file))
    end

    :ok
  end

  @doc "The path to start it by, or why there is none."
  @spec path() :: {:ok, Path.t()} | {:error, String.t()}
  def path do
    case Config.get(:command_runner) do
      nil -> with {:error, why} <- kept(), do: {:error, unavailable(why)}
      path -> {:ok, path}
    end
  end

  @doc """
  Starts the program as the calling process's port: frames with a length before them, and its exit status.
  """
  @spec open([String.t()]) :: {:ok, port()} | {:error, String.t()}
  def open(arguments) do
    with {:ok, program} <- path(), do: open(program, arguments)
  end

  @spec open(Path.t(), [String.t()]) :: {:ok, port()} | {:error, String.t()}
  def open(program, arguments) do
    options = [
      :binary,
      :exit_status,
      :hide,
      packet: 4,
      arg0: @program,
      args: arguments,
      # The runner's own environment would be open to the command under /proc.
      env: for({name, _value} <- :os.env(), do: {name, false}),
      cd: "/"
    ]

    {:ok, Port.open({:spawn_executable, program}, options)}
  rescue
    error in [ErlangError, SystemLimitError] ->
      {:error, "#{program} can't be started: #{Exception.message(error)}"}
  end

  @doc "Closes the port, by which the program ends what it keeps; one that has closed already is as well."
  @spec close(port()) :: :ok
  def close(port) do
    Port.close(port)
    :ok
  rescue
    ArgumentError -> :ok
  end

  @doc """
  The path for a new temporary folder, which the program makes. Random, so that nobody can lay one of that name there before; the
  program tells by the beginning what it may remove when it finds nobody left who uses it.
  """
  @spec temporary_folder() :: Path.t()
  def temporary_folder do
    base = Config.get(:command_temp_dir) || System.tmp_dir() || "/tmp"
    name = "jido-run-" <> Base.encode32(:crypto.strong_rand_bytes(15), case: :lower, padding: false)
    Path.join(Path.expand(base), name)
  end

  defp kept, do: :persistent_term.get(__MODULE__, {:error, "the library is not started"})

  defp unavailable(why) do
    "the command runner can't be kept in memory (#{why}); config :jido_code_tools, command_runner: takes the path of a copy " <>
      "of it that no command can write"
  end
end
