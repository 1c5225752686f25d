defmodule JidoCode.Tools.Handlers.BashExecute do
  @moduledoc """
  The `bash_execute` tool: a command line, without a shell.

  The result has these keys:

    * `"stdout"`, `"stderr"` - head and tail, 30,000 characters together; a line says what was cut
    * `"exit_code"` - of the last command; one that fails is a normal answer
    * `"confinement"` - what the kernel held the commands to, and what of it is missing on this machine
    * `"note"` - only when there is something to say, such as the signal that ended the command

  `JidoCode.Tools.Security.CommandPolicy` decides what may run. Everything that was started is gone when the answer comes.

  `timeout` is 120 seconds by default and at most 600. A line that is ended by it is an error that carries its output so far.
  """

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.{Command, Definitions, Operation, Project}
  alias JidoCode.Tools.Command.Output

  @default_timeout 120_000
  @max_timeout 600_000
  @keep [stdout: {10_000, 10_000}, stderr: {4_500, 4_500}]
  @keep_on_error 4_000

  @impl true
  def security_properties, do: %{tier: :execute, timeout_ms: @default_timeout}

  @doc "Runs the tool; see the module's documentation for the result."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context) do
    Operation.run(
      %{
        definition: Definitions.BashExecute.bash_execute(),
        event: [:jido_code, :shell, :bash_execute],
        label: {:argument, "command"}
      },
      args,
      context,
      &run/2
    )
  end

  defp run(%{"command" => line} = args, context) do
    timeout = timeout(args["timeout"])
    deadline = now() + timeout

    with {:ok, {plan, options}} <-
           Project.Line.prepare("bash_execute", line, args["working_directory"], context) do
      plan
      |> Command.run([timeout: max(deadline - now(), 1), keep: @keep] ++ options)
      |> answer(timeout)
    end
  end

  defp timeout(timeout) when is_integer(timeout) and timeout > 0, do: min(timeout, @max_timeout)
  defp timeout(_invalid), do: @default_timeout

  defp answer({:ok, %Command.Result{status: :timeout} = result}, timeout) do
    so_far = last(Output.text(result.stdout) <> Output.text(result.stderr))

    {:error,
     {:timeout, "The command timed out: it was ended after #{timeout} ms. Its last output:\n#{so_far}"}}
  end

  defp answer({:ok, %Command.Result{} = result}, _timeout) do
    report = %{
      "stdout" => Output.text(result.stdout),
      "stderr" => Output.text(result.stderr),
      "exit_code" => result.exit_code,
      "confinement" => result.confinement
    }

    {:ok, if(result.signal, do: Map.put(report, "note", "It was ended by #{result.signal}."), else: report)}
  end

  defp answer({:error, reason}, _timeout), do: {:error, Command.explain(reason)}

  defp last(text) do
    length = String.length(text)
    if length > @keep_on_error, do: String.slice(text, length - @keep_on_error, @keep_on_error), else: text
  end

  defp now, do: System.monotonic_time(:millisecond)
end
