defmodule JidoCode.Tools.Handlers.Elixir.MixTask do
  @moduledoc """
  The `mix_task` tool: one Mix task in the project.

  The result has these keys:

    * `"output"`, `"stderr"` - what the task printed, head and tail, 30,000 characters together; a line says what was cut
    * `"exit_code"` - a task that fails is a normal answer
    * `"confinement"` - what the kernel held the task to, and what of it is missing on this machine
    * `"note"` - only when there is something to say, such as the signal that ended the task

  The task, its arguments, the environment and every step of an alias are judged by
  `JidoCode.Tools.Security.MixPolicy` before anything runs. Everything that the task started is gone when the answer comes.

  `timeout` is 60 seconds by default and at most 300. A task that is ended by it is an error that carries its output so far.
  """

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.{Command, Definitions, Operation, Project, Workspace}
  alias JidoCode.Tools.Command.Output
  alias JidoCode.Tools.Security.MixPolicy

  @default_timeout 60_000
  @max_timeout 300_000

  # Characters of both streams together; each keeps its head and its tail.
  @keep [stdout: {10_000, 10_000}, stderr: {4_500, 4_500}]
  @keep_on_error 4_000

  @impl true
  def security_properties, do: %{tier: :execute, timeout_ms: @default_timeout}

  @doc "Runs the tool; see the module's documentation for the result."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context) do
    Operation.run(
      %{
        definition: Definitions.Elixir.mix_task(),
        event: [:jido_code, :elixir, :mix_task],
        label: {:argument, "task"}
      },
      args,
      context,
      &run/2
    )
  end

  defp run(%{"task" => task} = args, context) do
    arguments = args["args"] || []
    env = args["env"] || "dev"
    timeout = timeout(args["timeout"])
    deadline = now() + timeout

    with :ok <- plausible(task, arguments, env),
         {:ok, root} <- Workspace.root(context),
         {:ok, facts} <- Project.Mix.facts(root, env, timeout),
         :ok <- Project.Mix.approve(task, arguments, env, facts) do
      options = [env: env, timeout: max(deadline - now(), 1), keep: @keep]

      root
      |> Project.Mix.run([task | arguments], options)
      |> answer(task, timeout)
    end
  end

  # What no alias can make right is refused before a child is started to ask for the aliases.
  defp plausible(task, arguments, env) do
    case MixPolicy.check(task, arguments, env) do
      :ok -> :ok
      {:error, %{kind: "task_not_allowed"}} -> :ok
      {:error, denial} -> {:error, MixPolicy.format(denial)}
    end
  end

  defp timeout(timeout) when is_integer(timeout) and timeout > 0, do: min(timeout, @max_timeout)
  defp timeout(_invalid), do: @default_timeout

  defp answer({:ok, %Command.Result{status: :timeout} = result}, task, timeout) do
    so_far = last(Output.text(result.stdout) <> Output.text(result.stderr))

    {:error,
     {:timeout, "Mix task timed out: #{task}. It was ended after #{timeout} ms. Its last output:\n#{so_far}"}}
  end

  defp answer({:ok, %Command.Result{} = result}, _task, _timeout) do
    report = %{
      "output" => Output.text(result.stdout),
      "stderr" => Output.text(result.stderr),
      "exit_code" => result.exit_code,
      "confinement" => result.confinement
    }

    {:ok,
     if(result.signal, do: Map.put(report, "note", "The task was ended by #{result.signal}."), else: report)}
  end

  defp answer({:error, {:locked, text}}, _task, _timeout), do: {:error, text}
  defp answer({:error, reason}, _task, _timeout), do: {:error, Command.explain(reason)}

  defp last(text) do
    length = String.length(text)
    if length > @keep_on_error, do: String.slice(text, length - @keep_on_error, @keep_on_error), else: text
  end

  defp now, do: System.monotonic_time(:millisecond)
end
