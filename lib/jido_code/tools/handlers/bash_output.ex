defmodule JidoCode.Tools.Handlers.BashOutput do
  @moduledoc """
  The `bash_output` tool: what a background command has printed.

  The result has these keys:

    * `"output"`, `"stderr"` - what came since the last call, or since `cursor`; at most 30,000 characters together
    * `"status"` - `"running"`, `"completed"` (exit code 0), `"failed"`
    * `"exit_code"` - null while it runs
    * `"cursor"` - where this answer ended
    * `"note"` - only when something is missing or more is there to read
  """

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.{Command, Definitions, Operation, Shells}

  @default_timeout 30_000
  @max_timeout 600_000
  # Bytes of each stream in one answer.
  @limit 14_000

  @impl true
  def security_properties, do: %{tier: :read_only, timeout_ms: @default_timeout}

  @doc "Runs the tool; see the module's documentation for the result."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context) do
    Operation.run(
      %{
        definition: Definitions.BashOutput.bash_output(),
        event: [:jido_code, :shell, :bash_output],
        label: {:argument, "shell_id"}
      },
      args,
      context,
      &read/2
    )
  end

  defp read(%{"shell_id" => id} = args, context) do
    with {:ok, cursor} <- cursor(args["cursor"]),
         {:ok, shell} <- Shells.fetch(context[:session_id], id) do
      if args["block"], do: Command.await(shell.command, timeout(args["timeout"]))

      case Command.read(shell.command, cursor || shell.cursor, limit: @limit) do
        {:ok, slices} -> answer(id, context, shell, slices)
        {:error, reason} -> {:error, Command.explain(reason)}
      end
    else
      {:error, :not_found} -> {:error, "Shell not found: #{String.slice(id, 0, 100)}. It may have expired."}
      {:error, text} -> {:error, text}
    end
  end

  defp timeout(timeout) when is_integer(timeout) and timeout >= 0, do: min(timeout, @max_timeout)
  defp timeout(_invalid), do: @default_timeout

  defp cursor(nil), do: {:ok, nil}

  defp cursor(text) do
    with [stdout, stderr] <- String.split(text, ":"),
         {stdout, ""} when stdout >= 0 <- Integer.parse(stdout),
         {stderr, ""} when stderr >= 0 <- Integer.parse(stderr) do
      {:ok, {stdout, stderr}}
    else
      _other -> {:error, "cursor must be one that bash_output gave, or \"0:0\" for the beginning"}
    end
  end

  defp answer(id, context, shell, %{stdout: stdout, stderr: stderr}) do
    Shells.advance(context[:session_id], id, {stdout.next, stderr.next})
    {status, exit_code, ended} = status(Command.status(shell.command))

    notes =
      Enum.concat([
        if(stdout.dropped + stderr.dropped > 0,
          do: [
            "#{stdout.dropped + stderr.dropped} bytes were printed faster than they were read and are gone."
          ],
          else: []
        ),
        if(byte_size(stdout.text) > @limit - 8 or byte_size(stderr.text) > @limit - 8,
          do: ["There may be more: call again."],
          else: []
        ),
        ended
      ])

    report = %{
      "output" => stdout.text,
      "stderr" => stderr.text,
      "status" => status,
      "exit_code" => exit_code,
      "cursor" => "#{stdout.next}:#{stderr.next}"
    }

    {:ok, if(notes == [], do: report, else: Map.put(report, "note", Enum.join(notes, " ")))}
  end

  defp status(:running), do: {"running", nil, []}
  defp status({:ok, %{status: :exited, exit_code: 0}}), do: {"completed", 0, []}
  defp status({:ok, %{status: :exited, exit_code: code}}), do: {"failed", code, []}

  defp status({:ok, %{status: :signaled} = result}),
    do: {"failed", result.exit_code, ["Ended by #{result.signal}."]}

  defp status({:ok, %{status: :timeout}}),
    do: {"failed", nil, ["It was ended: it ran longer than a background command may."]}

  defp status({:ok, %{status: :stopped}}), do: {"killed", nil, []}
  defp status({:error, reason}), do: {"failed", nil, [Command.explain(reason)]}
end
