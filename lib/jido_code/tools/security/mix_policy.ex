defmodule JidoCode.Tools.Security.MixPolicy do
  @moduledoc """
  Which Mix tasks an agent may run, and with which arguments.

  A task must be on the list and off the block list, the environment `dev` or `test`, and every argument must fit the task's
  grammar: what evaluates another file, leaves the project or changes the machine is refused, and so is every option that
  nobody has thought about.

      iex> JidoCode.Tools.Security.MixPolicy.check("test", ["test/cart_test.exs:12", "--seed", "0"], "test")
      :ok
      iex> {:error, denial} = JidoCode.Tools.Security.MixPolicy.check("format", ["--dot-formatter", "/tmp/x.exs"])
      iex> {denial.kind, denial.argument}
      {"option_refused", "--dot-formatter"}
      iex> {:error, denial} = JidoCode.Tools.Security.MixPolicy.check("release")
      iex> JidoCode.Tools.Security.MixPolicy.format(denial)
      "Mix task is blocked: release. It is never run by a tool."

  A project's aliases are expanded with `expand/4`, and each step is judged like a call of its own.

  ## Configuration

  Under `config :jido_code_tools`, read at start and by `JidoCode.Tools.Config.reload/0`; a blocked task stays blocked.

    * `:allowed_tasks` - further tasks: a name (any option, but values that are paths stay in the project), or
      `{name, [{"option", kind}]}` with the kinds `:flag`, `:integer`, `:name`, `:text`, `:path`
    * `:alias_tasks` - the same, for tasks that only a step of an alias may run
    * `:trusted_aliases` - aliases whose steps may be functions
    * `:test_paths` - where tests are, default `["test", "apps/*/test"]`
  """

  alias JidoCode.Tools.Config
  alias JidoCode.Tools.Security.Native

  import JidoCode.Tools.Security.Refusal, only: [because: 1, instead: 1, instead: 2]

  @typedoc """
  `kind` and `reason` are words of the native core, such as `"unknown_option"` and `"evaluates_code"`; `allowed` is what may
  stand in the argument's place; `alias` is the alias and the number of its step, from 0, when a step was refused.
  """
  @type denial :: %{
          kind: String.t(),
          task: String.t(),
          argument: String.t() | nil,
          reason: String.t(),
          allowed: [String.t()],
          alias: {String.t(), non_neg_integer()} | nil
        }

  @typedoc "What a call runs: a task with its arguments, from an alias or not. The task is `\"\"` for a trusted function."
  @type step :: {task :: String.t(), args :: [String.t()], alias :: String.t() | nil}

  @opaque policy :: reference()

  @doc "Judges a call by the configured policy."
  @spec check(String.t(), [String.t()], String.t() | nil) :: :ok | {:error, denial()}
  def check(task, args \\ [], env \\ nil), do: check_with(policy(), task, args, env)

  defp check_with(policy, task, args, env) do
    verdict =
      with :dirty <- judge(policy, task, args, env) do
        Native.mix_policy_check_dirty(policy, task, args, env)
      end

    with {:error, denial} <- verdict, do: {:error, denial(denial)}
  end

  # A list is read whole before the core can say that it is too long for a normal scheduler.
  defp judge(_policy, _task, args, _env) when length(args) > 1_000, do: :dirty
  defp judge(policy, task, args, env), do: Native.mix_policy_check(policy, task, args, env)

  @doc """
  Judges a call in a project with these aliases, `{name, steps}` each, a step being a string, or nil for a function; answers
  what it runs.

      iex> aliases = [{"test", ["ecto.create --quiet", "test"]}]
      iex> JidoCode.Tools.Security.MixPolicy.expand("test", ["--trace"], "test", aliases)
      {:ok, [{"ecto.create", ["--quiet"], "test"}, {"test", ["--trace"], "test"}]}
  """
  @spec expand(String.t(), [String.t()], String.t() | nil, [{String.t(), [String.t() | nil]}]) ::
          {:ok, [step()]} | {:error, denial()}
  def expand(task, args, env, aliases) do
    with {:error, denial} <- Native.mix_policy_expand(policy(), task, args, env, aliases) do
      {:error, denial(denial)}
    end
  end

  @doc "A denial as a sentence: what was refused, why, and what is allowed."
  @spec format(denial()) :: String.t()
  def format(%{alias: {name, step}} = denial) do
    "Step #{step + 1} of the alias #{name}: " <> format(%{denial | alias: nil}) <> alias_hint(denial.kind)
  end

  def format(%{kind: kind, task: task, argument: argument} = denial) do
    about = "mix #{task}: "
    argument = argument || ""

    case kind do
      "invalid_task_name" ->
        "Invalid task name format: #{task}"

      "task_blocked" ->
        "Mix task is blocked: #{task}. It is never run by a tool."

      "task_not_allowed" ->
        "Mix task not allowed: #{task}." <> instead(denial.allowed)

      "env_blocked" ->
        "Environment '#{argument}' is blocked for safety." <> instead(denial.allowed)

      "too_many_arguments" ->
        about <> "too many arguments"

      "too_long" ->
        about <> "an argument is too long"

      "invalid_characters" ->
        about <> "an argument holds control characters"

      "path_traversal_blocked" ->
        "Path traversal not allowed in argument: #{argument}"

      "absolute_path_blocked" ->
        about <> "paths outside the project are not allowed: #{argument}"

      "protected_path" ->
        about <> "this path is not for tools: #{argument}"

      "unknown_option" ->
        about <> "option not allowed: #{argument}." <> instead(denial.allowed)

      "option_refused" ->
        about <> "option not allowed: #{argument}#{because(denial.reason)}." <> instead(denial.allowed)

      "missing_value" ->
        about <> "#{argument} needs a value"

      "unexpected_value" ->
        about <> "#{argument} takes no value"

      "invalid_value" ->
        about <> "wrong value: #{argument}." <> instead(denial.allowed, "Expected")

      "unexpected_argument" ->
        about <> "takes no such argument: #{argument}." <> instead(denial.allowed, "Expected")

      "outside_test_paths" ->
        about <>
          "#{argument} is not in the project's test/ directory (#{Enum.join(Config.get(:test_paths), ", ")}). " <>
          "A person can name other folders in config :jido_code_tools, test_paths:."

      "not_a_test_file" ->
        about <> "#{argument} is no test file; their names end in _test.exs"

      "alias_function_step" ->
        "it is a function, which can't be judged"

      "alias_invalid_step" ->
        "it can't be read as a command"

      _other ->
        about <> "not allowed (#{kind})"
    end
  end

  defp alias_hint("alias_function_step"),
    do: ". A person can add the alias to config :jido_code_tools, trusted_aliases:."

  defp alias_hint(kind) when kind in ["task_not_allowed", "task_blocked"],
    do: " A person can add a task to config :jido_code_tools, alias_tasks:."

  defp alias_hint(_kind), do: ""

  defp denial({kind, task, argument, reason, allowed, place}) do
    %{kind: kind, task: task, argument: argument, reason: reason, allowed: allowed, alias: place}
  end

  @doc false
  # For the command policy, which judges the calls of `mix` in a line by this one.
  @spec native() :: policy()
  def native, do: policy()

  @doc false
  # The policy of the configuration. Raises `ArgumentError` for a wrong value.
  @spec load!() :: policy()
  def load!, do: Native.mix_policy_new(settings())

  @doc false
  @spec put(policy()) :: :ok
  def put(policy), do: :persistent_term.put(__MODULE__, policy)

  # Not there where the application was never started: the policy works without it.
  defp policy, do: :persistent_term.get(__MODULE__, nil) || load!()

  defp settings do
    %{
      tasks: tasks(:allowed_tasks),
      alias_tasks: tasks(:alias_tasks),
      trusted_aliases: Config.get(:trusted_aliases),
      test_paths: Config.get(:test_paths)
    }
  end

  defp tasks(key), do: for(task <- Config.get(key), do: task(task))

  defp task({name, options}),
    do: {name, for({option, kind} <- options, do: {String.trim_leading(option, "-"), kind})}

  defp task(name), do: {name, nil}
end
