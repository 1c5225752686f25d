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

  alias JidoCode.Tools.{Command, Deadline, Definitions, Operation, Project}
  alias JidoCode.Tools.Command.Result
  alias JidoCode.Tools.Project.Foreground

  @default_timeout 120_000
  @max_timeout 600_000
  @keep [stdout: {10_000, 10_000}, stderr: {4_500, 4_500}]

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
    deadline = Deadline.new(args["timeout"], @default_timeout, @max_timeout)

    with {:ok, {plan, options}} <-
           Project.Line.prepare("bash_execute", line, args["working_directory"], context, deadline) do
      plan
      |> Foreground.run([timeout: Deadline.left(deadline), keep: @keep] ++ options, context)
      |> answer(deadline)
    end
  end

  defp answer({:ok, %Result{status: :timeout} = result}, deadline),
    do: {:error, Result.timed_out(result, "The command timed out: it was", deadline.timeout)}

  defp answer({:ok, %Result{} = result}, _deadline), do: {:ok, Result.report(result)}
  defp answer({:error, reason}, _deadline), do: {:error, Command.explain(reason)}
end
