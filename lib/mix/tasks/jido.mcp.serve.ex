defmodule Mix.Tasks.Jido.Mcp.Serve do
  @shortdoc "The project's side of the MCP server; started by its launcher"

  @moduledoc """
  Starts the project and runs the calls of one MCP client.

  This is not what a client starts: Mix compiles and prints before any task runs, and a client wants its answers at once and
  nothing else on standard output. Clients start the launcher, which `mix jido.mcp.config` tells them how to; it starts this.

  ## Options

  Those of `JidoCode.Tools.SessionOptions`, and

    * `--no-start` - does not start the project's application; with `--node` it is started only by `--start`
    * `--socket PATH` - where the launcher listens
  """

  use Mix.Task

  alias JidoCode.Tools.MCP.Connection
  alias JidoCode.Tools.SessionOptions

  @switches [socket: :string, start: :boolean]

  @impl true
  def run(argv) do
    {opts, arguments, invalid} = OptionParser.parse(argv, strict: @switches ++ SessionOptions.switches())

    case Connection.start(opts[:socket] || usage()) do
      {:ok, connection} -> serve(connection, opts, arguments, invalid)
      {:error, problem} -> Mix.raise("mix jido.mcp.serve: #{problem}")
    end
  end

  defp serve(connection, opts, arguments, invalid) do
    monitor = Process.monitor(connection)

    with :ok <- understood(arguments, invalid),
         :ok <- start(connection, opts),
         {:ok, context} <- SessionOptions.context(opts, defaults()) do
      Connection.ready(connection, context)

      receive do
        {:DOWN, ^monitor, :process, ^connection, _reason} -> SessionOptions.close(context)
      end

      # In order: the project's own processes may have something to save.
      System.stop(0)
      Process.sleep(:infinity)
    else
      {:error, why} ->
        # What is told is redacted first, which takes the library's application; the project may not have come that far.
        Application.ensure_all_started(:jido_code_tools)
        Connection.failed(connection, why)
        exit({:shutdown, 1})
    end
  end

  defp understood([], []), do: :ok
  defp understood([argument | _rest], _invalid), do: {:error, "Unknown argument: #{argument}"}

  defp understood([], [{switch, _value} | _rest]),
    do:
      {:error,
       "Unknown option, or one without its value: #{switch}. The options are: #{SessionOptions.usage()}"}

  defp defaults do
    id = 12 |> :crypto.strong_rand_bytes() |> Base.encode16(case: :lower)
    %{session_id: "mcp-" <> id, project_root: File.cwd!()}
  end

  defp start(connection, opts) do
    {task, doing} =
      if SessionOptions.start?(opts),
        do: {"app.start", "compiling and starting the project"},
        else: {"app.config", "compiling the project"}

    Connection.starting(connection, doing)
    Mix.Task.run(task)
    {:ok, _started} = Application.ensure_all_started(:jido_code_tools)
    :ok
  rescue
    exception -> {:error, "The project could not be started: #{Exception.message(exception)}"}
  catch
    # Mix says why on its own, and ends so.
    :exit, _reason -> {:error, "The project could not be compiled or started"}
  end

  @spec usage() :: no_return()
  defp usage do
    Mix.raise(
      "mix jido.mcp.serve is started by the launcher; mix jido.mcp.config prints how a client starts that"
    )
  end
end
