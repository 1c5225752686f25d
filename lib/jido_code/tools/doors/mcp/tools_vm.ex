defmodule JidoCode.Tools.Doors.MCP.ToolsVM do
  @moduledoc false
  # The VM that runs the tools of one MCP client. The launcher starts it from an install outside any project
  # (`JidoCode.Tools.Doors.MCP.Install`), and it never loads a line of the project's code:
  #
  #     client ── jido_mcp ── this VM ─┬─ commands, each in its fence
  #                                    └─ the project's VM in its fence, only asked about itself (`ProjectVM`)
  #
  # What the session may do comes from the launcher's command line alone.

  alias JidoCode.Tools.SecureExecutor
  alias JidoCode.Tools.Doors.{Console, SessionOptions, Trail}
  alias JidoCode.Tools.Doors.MCP.{Connection, Options}
  alias JidoCode.Tools.ProjectVM

  # How long the project has to stop in order once the client is gone; the launcher waits a little longer.
  @grace_ms 1_000

  @switches [socket: :string, project: :string]

  @doc "Serves until the launcher is gone. Never returns."
  @spec main() :: no_return()
  def main do
    # A beam file in the current folder is nobody's of ours.
    :code.del_path(~c".")

    {opts, arguments, invalid} =
      OptionParser.parse(System.argv(), strict: @switches ++ Options.switches() ++ SessionOptions.switches())

    {:ok, connection} = Connection.start(Keyword.fetch!(opts, :socket))
    monitor = Process.monitor(connection)

    with :ok <- understood(arguments, invalid),
         {:ok, configuration} <- Options.configuration(opts, Keyword.fetch!(opts, :project)),
         :ok <- start(configuration),
         {:ok, context} <- SessionOptions.context(opts, defaults(opts)),
         {:ok, env} <- environment(Keyword.get_values(opts, :env)) do
      Trail.begin(context)
      context = place(context, connection, env, opts)
      Connection.ready(connection, context)

      receive do
        {:DOWN, ^monitor, :process, ^connection, _reason} -> finish(context)
      end
    else
      {:error, why} ->
        # What is told is redacted first, which takes the library's application.
        start([])
        Connection.failed(connection, why)
    end

    System.halt(0)
  end

  defp understood([], []), do: :ok
  defp understood([argument | _rest], _invalid), do: {:error, "Unknown argument: #{argument}"}

  defp understood([], [{switch, _value} | _rest]),
    do:
      {:error,
       "Unknown option, or one without its value: #{switch}. The options are: #{SessionOptions.usage()}"}

  defp start(configuration) do
    Console.logs_to_stderr()
    Application.put_all_env(jido_code_tools: configuration)

    case Application.ensure_all_started(:jido_code_tools) do
      {:ok, _started} -> :ok
      {:error, {_app, reason}} -> {:error, "The tools can't be started: #{reason(reason)}"}
    end
  end

  defp reason({:bad_return, {_mfa, {:EXIT, {exception, _stacktrace}}}}) when is_exception(exception),
    do: Exception.message(exception)

  defp reason(other), do: inspect(other, limit: 20)

  defp defaults(opts) do
    id = 12 |> :crypto.strong_rand_bytes() |> Base.encode16(case: :lower)
    structured? = Keyword.get(opts, :structured, false)
    %{session_id: "mcp-" <> id, project_root: Keyword.fetch!(opts, :project), structured: structured?}
  end

  # With a node there is another system to look at, and nothing of the project is run.
  defp place(%{node: _remote} = context, _connection, _env, _opts), do: context

  defp place(context, connection, env, opts) do
    start? = Keyword.get(opts, :start, true)
    vm = ProjectVM.start(context.project_root, connection: connection, env: env, start: start?)
    Map.put(context, :node, vm)
  end

  defp environment(names) do
    case Enum.find(names, &(System.get_env(&1) == nil)) do
      nil -> {:ok, Map.new(names, &{&1, System.fetch_env!(&1)})}
      name -> {:error, "--env #{name}: the server's environment has no variable of that name"}
    end
  end

  defp finish(context) do
    SecureExecutor.end_session(context.session_id)
    Trail.finish()

    case context.node do
      %ProjectVM{} = vm -> ProjectVM.stop(vm, @grace_ms)
      _remote -> SessionOptions.close(context)
    end
  end
end
