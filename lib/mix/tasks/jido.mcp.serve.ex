defmodule Mix.Tasks.Jido.Mcp.Serve do
  @shortdoc "The project's side of the MCP server; started by it"

  @moduledoc """
  Compiles and starts the project, and answers the MCP server's questions about the running system.

  A client does not start this task. `mix jido.mcp.config` prints what it does start: a launcher, with a VM beside it that runs the
  tools and loads no code of the project. That VM starts this one in the fence, asks it, and trusts nothing that it says.

  ## Options

    * `--socket PATH` - where the server listens
    * `--no-start` - compiles the project without starting its application
  """

  use Mix.Task

  alias JidoCode.Tools.ProjectVM.Side

  @impl true
  def run(argv) do
    case OptionParser.parse(argv, strict: [socket: :string, start: :boolean]) do
      {opts, [], []} -> serve(opts[:socket] || usage(), Keyword.get(opts, :start, true))
      _other -> usage()
    end
  end

  defp serve(socket, start?) do
    case Side.start(socket) do
      {:ok, side} -> serve(side, Process.monitor(side), start?)
      {:error, problem} -> Mix.raise("mix jido.mcp.serve: #{problem}")
    end
  end

  defp serve(side, monitor, start?) do
    paths = :code.get_path()

    with :ok <- step(side, "compiling the project", fn -> Mix.Task.run("app.config") end),
         :ok <- Side.compiled(side),
         :ok <- step(side, "starting the project", fn -> start(start?, paths) end) do
      Side.ready(side)

      receive do
        {:DOWN, ^monitor, :process, ^side, _reason} -> :ok
      end

      # In order: the project's own processes may have something to save.
      System.stop(0)
      Process.sleep(:infinity)
    else
      {:error, why} ->
        Side.failed(side, why)
        exit({:shutdown, 1})
    end
  end

  # This library may be a dependency of the project's: then the project starts it, as it is configured.
  defp start(start?, paths) do
    if start?, do: Mix.Task.run("app.start")

    # Since Elixir 1.15 Mix takes off the path what the project does not name, and with it this library and what it starts.
    :code.add_pathsz(paths -- :code.get_path())
    {:ok, _started} = Application.ensure_all_started(:jido_code_tools)
  end

  defp step(side, doing, work) do
    Side.starting(side, doing)
    work.()
    :ok
  rescue
    exception -> {:error, "Failed while #{doing}: #{Exception.message(exception)}"}
  catch
    # Mix says why on its own, and ends so.
    :exit, _reason -> {:error, "Failed while #{doing}"}
  end

  @spec usage() :: no_return()
  defp usage do
    Mix.raise("mix jido.mcp.serve is started by the MCP server; mix jido.mcp.config prints how to start that")
  end
end
