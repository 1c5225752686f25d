defmodule JidoCode.Tools.Handlers.BashOutput do
  @moduledoc false
  # The `bash_output` tool: what a background command has printed.
  #
  # The result has these keys:
  #
  #   * `"output"`, `"stderr"` - what came since the last call, or since `cursor`; at most 30,000 characters together
  #   * `"status"` - `"running"`, `"completed"` (exit code 0), `"failed"`
  #   * `"exit_code"` - null while it runs
  #   * `"cursor"` - where this answer ended
  #   * `"note"` - only when something is missing or more is there to read

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.{Answers, Command, Operation, Shells, Shortened}

  @default_timeout 30_000
  @max_timeout 600_000
  # Bytes of each stream in one answer.
  @limit 14_000

  @impl true
  def definition do
    %{
      name: "bash_output",
      title: "Read a background command's output",
      summary: "what a background command has printed, and whether it still runs",
      tier: :read_only,
      # Not idempotent: a read moves the cursor, and what it returned is not returned again.
      hints: %{read_only: true, destructive: false, idempotent: false, open_world: false},
      text: &Answers.Command.text/1,
      event: {:shell, :bash_output},
      label: {:argument, "shell_id"},
      description:
        "Read what a background command has printed since the last call, and whether it still runs. By default waits for its " <>
          "end up to timeout; when the wait is over it answers with what there is.",
      parameters: [
        %{name: "shell_id", type: :string, required: true, description: "The id that bash_background gave."},
        %{
          name: "block",
          type: :boolean,
          required: false,
          default: true,
          description: "Wait for the command's end (default true); false answers at once."
        },
        %{
          name: "timeout",
          type: :integer,
          required: false,
          default: @default_timeout,
          minimum: 0,
          maximum: @max_timeout,
          beyond: :cut,
          description:
            "How long to wait at most, in milliseconds (default #{@default_timeout}, maximum #{@max_timeout})."
        },
        %{
          name: "cursor",
          type: :string,
          required: false,
          description: "Read from this earlier cursor again instead of going on; \"0:0\" is the beginning."
        }
      ]
    }
  end

  @doc "Runs the tool; see the module's documentation for the result."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context), do: Operation.run(Operation.of(__MODULE__), args, context, &read/2)

  defp read(%{"shell_id" => id} = args, context) do
    with {:ok, cursor} <- cursor(args["cursor"]),
         {:ok, shell} <- Shells.fetch(context[:session_id], id) do
      if args["block"], do: Command.await(shell.command, args["timeout"])

      case Command.read(shell.command, cursor || shell.cursor, limit: @limit) do
        {:ok, slices} -> answer(id, context, shell, slices)
        {:error, reason} -> {:error, Command.explain(reason)}
      end
    else
      {:error, :not_found} -> {:error, "Shell not found: #{Shortened.label(id, 100)}. It may have expired."}
      {:error, text} -> {:error, text}
    end
  end

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
