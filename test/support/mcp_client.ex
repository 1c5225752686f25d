defmodule JidoCode.Tools.Test.McpClient do
  @moduledoc """
  A bare MCP client: it starts the launcher, writes lines and reads lines, and takes no line that is not one message.

  Belongs to the process that starts it.
  """

  import ExUnit.Assertions, only: [flunk: 1]

  alias JidoCode.Tools.JSON
  alias JidoCode.Tools.Doors.MCP.Install

  @patience 120_000

  defstruct [:port, :pid, :log]

  @doc "Starts the launcher for a project, with `arguments` behind it."
  def start!(root, arguments \\ [], opts \\ []) do
    log = Path.join(Path.dirname(root), "stderr-#{System.unique_integer([:positive])}")

    # Only a shell can send standard error elsewhere; then it is the launcher.
    shell = [
      "-c",
      ~s(exec "$0" "$@" 2>"$LOG"),
      launcher(),
      "--project",
      root,
      "--path",
      path() | arguments
    ]

    env = [{~c"LOG", to_charlist(log)} | Keyword.get(opts, :env, [])]

    port =
      Port.open(
        {:spawn_executable, "/bin/sh"},
        [:binary, :exit_status, :use_stdio, {:line, 1_000_000}, {:args, shell}, {:env, env}]
      )

    {:os_pid, pid} = Port.info(port, :os_pid)
    %__MODULE__{port: port, pid: pid, log: log}
  end

  @doc "The program that clients start, from the install that `mix jido.mcp.config` makes."
  def launcher do
    {:ok, launcher} = Install.ensure("/nowhere")
    launcher
  end

  # As `mix jido.mcp.config` gives it.
  defp path, do: Path.dirname(System.find_executable("mix"))

  @doc "Begins the session."
  def initialize(client, capabilities \\ %{}) do
    params = %{
      "protocolVersion" => "2025-11-25",
      "capabilities" => capabilities,
      "clientInfo" => %{"name" => "test", "version" => "1"}
    }

    request(client, "initialize", "initialize", params)
    answer = await(client, "initialize")
    notify(client, "notifications/initialized")
    answer
  end

  @doc "Writes a line as it is."
  def write(client, line) do
    Port.command(client.port, [line, "\n"])
    client
  end

  @doc "Asks; the answer is awaited by the id."
  def request(client, id, method, params \\ %{}) do
    write(
      client,
      json(%{"jsonrpc" => "2.0", "id" => id, "method" => method, "params" => params})
    )
  end

  def notify(client, method, params \\ %{}),
    do: write(client, json(%{"jsonrpc" => "2.0", "method" => method, "params" => params}))

  @doc "Calls a tool; the answer is awaited by the id."
  def call(client, id, name, arguments \\ %{}),
    do: request(client, id, "tools/call", %{"name" => name, "arguments" => arguments})

  @doc "Calls a tool and waits for its result: `{:ok, text}` or `{:error, text}`."
  def tool(client, name, arguments \\ %{}) do
    id = System.unique_integer([:positive])
    client |> call(id, name, arguments) |> await(id) |> result()
  end

  @doc "What an answer to a call says."
  def result(%{"result" => %{"content" => [%{"text" => text}]} = result}),
    do: {if(result["isError"], do: :error, else: :ok), text}

  @doc "The next answer with this id; messages with others stay for who awaits them."
  def await(%{port: port} = client, id, patience \\ @patience) do
    # Looked for among what has come before, then waited for.
    key = {__MODULE__, port, id}

    case Process.delete(key) do
      nil ->
        message = next(client, patience)

        if message["id"] == id and not is_map_key(message, "method") do
          message
        else
          keep(port, message)
          await(client, id, patience)
        end

      message ->
        message
    end
  end

  # Answers by their ids, notifications in the order in which they came.
  defp keep(port, %{"method" => method} = message) do
    key = {__MODULE__, port, {:told, method}}
    Process.put(key, Process.get(key, []) ++ [message])
  end

  defp keep(port, message), do: Process.put({__MODULE__, port, message["id"]}, message)

  @doc "The next notification of this kind."
  def told(%{port: port} = client, method) do
    key = {__MODULE__, port, {:told, method}}

    case Process.get(key, []) do
      [message | rest] ->
        Process.put(key, rest)
        message

      [] ->
        keep(port, next(client))
        told(client, method)
    end
  end

  @doc "The next question of the server to the person at this client: its id and parameters. Answers that come before it stay."
  def asked(client) do
    case next(client) do
      %{"method" => "elicitation/create", "id" => id, "params" => params} ->
        {id, params}

      message ->
        keep(client.port, message)
        asked(client)
    end
  end

  @doc "Answers a question of the server."
  def say(client, id, result),
    do: write(client, json(%{"jsonrpc" => "2.0", "id" => id, "result" => result}))

  @doc "The next message."
  def next(%{port: port} = client, patience \\ @patience) do
    receive do
      {^port, {:data, {:eol, line}}} -> message(line)
      {^port, {:data, {:noeol, line}}} -> flunk("a line that is too long: #{line}")
      {^port, {:exit_status, status}} -> flunk("the launcher ended (#{status}): #{File.read!(client.log)}")
    after
      patience -> flunk("no message; standard error: #{File.read!(client.log)}")
    end
  end

  defp message(line) do
    case JSON.decode(line) do
      {:ok, %{"jsonrpc" => "2.0"} = message} -> message
      _other -> flunk("not a message on standard output: #{line}")
    end
  end

  @doc "The launcher's exit status."
  def exit_status(%{port: port}, patience \\ @patience) do
    receive do
      {^port, {:exit_status, status}} -> status
    after
      patience -> flunk("the launcher has not ended")
    end
  end

  @doc "Ends the launcher's input, as a client does that leaves."
  def leave(%{port: port}), do: Port.close(port)

  defp json(message) do
    {:ok, json} = JSON.encode(message)
    json
  end
end
