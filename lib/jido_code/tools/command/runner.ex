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

  defp kept, do: :persistent_term.get(__MODULE__, {:error, "the library is not started"})

  defp unavailable(why) do
    "the command runner can't be kept in memory (#{why}); config :jido_code_tools, command_runner: takes the path of a copy " <>
      "of it that no command can write"
  end
end
