defmodule JidoCode.Tools.Handlers.Elixir.MixTask do
  @moduledoc false
  # The `mix_task` tool: one Mix task in the project.
  #
  # The result has these keys:
  #
  #   * `"output"`, `"stderr"` - what the task printed, head and tail, 30,000 characters together; a line says what was cut
  #   * `"exit_code"` - a task that fails is a normal answer
  #   * `"confinement"` - what the kernel held the task to, and what of it is missing on this machine
  #   * `"note"` - only when there is something to say, such as the signal that ended the task
  #
  # The task, its arguments, the environment and every step of an alias are judged by
  # `JidoCode.Tools.Security.MixPolicy` before anything runs. Everything that the task started is gone when the answer comes.
  #
  # `timeout` is 60 seconds by default and at most 300. A task that is ended by it is an error that carries its output so far.

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.{Answers, Command, Deadline, Operation, Project, Workspace}
  alias JidoCode.Tools.Handlers.Elixir, as: Facade
  alias JidoCode.Tools.Security.MixPolicy

  @default_timeout 60_000
  @max_timeout 300_000

  # Characters of both streams together; each keeps its head and its tail.
  @keep [stdout: {10_000, 10_000}, stderr: {4_500, 4_500}]

  @impl true
  def definition do
    %{
      name: "mix_task",
      title: "Run a Mix task",
      summary: "a Mix task, by an allowlist and a grammar of its options",
      tier: :execute,
      hints: :runs,
      text: &Answers.Command.text/1,
      event: {:elixir, :mix_task},
      label: {:argument, "task"},
      description:
        "Run one Mix task in the project and get its output and exit code. Allowed: " <>
          Enum.join(Facade.allowed_tasks(), ", ") <>
          ". Each task takes a limited set of options; anything that runs other code, leaves the project or " <>
          "publishes is refused. A non-zero exit code is a normal answer. To run tests prefer run_exunit, which " <>
          "returns structured results.",
      parameters: [
        %{
          name: "task",
          type: :string,
          required: true,
          description: "Mix task name, e.g. \"compile\" or \"deps.tree\"."
        },
        %{
          name: "args",
          type: :array,
          items: :string,
          required: false,
          default: [],
          description:
            "Arguments of the task, one list item each, e.g. [\"--warnings-as-errors\"]. No shell is involved."
        },
        %{
          name: "env",
          type: :string,
          required: false,
          enum: Facade.allowed_envs(),
          # The host's words.
          refusal:
            "Environment '{value}' is blocked for safety. Allowed: " <> Enum.join(Facade.allowed_envs(), ", "),
          description: "Mix environment (default dev; prod is never allowed)."
        },
        %{
          name: "timeout",
          type: :integer,
          required: false,
          default: @default_timeout,
          minimum: 1,
          maximum: @max_timeout,
          beyond: :cut,
          description: "Time limit in milliseconds (default #{@default_timeout}, maximum #{@max_timeout})."
        }
      ]
    }
  end

  @doc "Runs the tool; see the module's documentation for the result."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context), do: Operation.run(Operation.of(__MODULE__), args, context, &run/2)

  defp run(%{"task" => task} = args, context) do
    place = Workspace.root(context)
    arguments = inside(args["args"] || [], place)
    env = args["env"] || "dev"
    deadline = Deadline.new(args["timeout"], @default_timeout, @max_timeout)

    with {:ok, unlisted} <- plausible(task, arguments, env),
         {:ok, root} <- place,
         :ok <- may_be_alias(root, unlisted),
         {:ok, facts} <- Project.Mix.facts(root, env, deadline),
         :ok <- Project.Mix.approve(task, arguments, env, facts) do
      root
      |> Project.Mix.run([task | arguments], context, env: env, deadline: deadline, keep: @keep)
      |> Command.answer(
        stdout: "output",
        timed_out: "Mix task timed out: #{task}. It was",
        timeout: deadline.timeout
      )
    end
  end

  defp inside(arguments, {:ok, root}), do: Project.Mix.from_root(arguments, root)
  defp inside(arguments, {:error, _no_root}), do: arguments

  # What no alias can make right is refused before a child is started to ask for the aliases. A task that is on no list may be
  # one; its denial comes along.
  defp plausible(task, arguments, env) do
    case MixPolicy.check(task, arguments, env) do
      :ok -> {:ok, nil}
      {:error, %{kind: :task_not_allowed} = denial} -> {:ok, denial}
      {:error, denial} -> {:error, MixPolicy.format(denial)}
    end
  end

  defp may_be_alias(_root, nil), do: :ok

  defp may_be_alias(root, denial) do
    if Project.Mix.project?(root), do: :ok, else: {:error, MixPolicy.format(denial)}
  end
end
