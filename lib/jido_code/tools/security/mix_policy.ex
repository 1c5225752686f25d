defmodule JidoCode.Tools.Security.MixPolicy do
  @moduledoc """
  Which Mix tasks an agent may run, and with which arguments.

  A task must be on the list and off the block list, the environment `dev` or `test`, and every argument must fit the task's
  grammar: anything that evaluates another file, leaves the project or changes the machine is refused, and so is every
  option that nobody has thought about.

      iex> JidoCode.Tools.Security.MixPolicy.check("test", ["test/cart_test.exs:12", "--seed", "0"], "test")
      :ok
      iex> {:error, denial} = JidoCode.Tools.Security.MixPolicy.check("format", ["--dot-formatter", "/tmp/x.exs"])
      iex> {denial.kind, denial.argument}
      {:option_refused, "--dot-formatter"}
      iex> {:error, denial} = JidoCode.Tools.Security.MixPolicy.check("release")
      iex> JidoCode.Tools.Security.MixPolicy.format(denial)
      "Mix task is blocked: release. It is never run by a tool."

  A project's aliases are expanded with `expand/4`, and each step is judged like a call of its own.

  ## Configuration

  Under `config :jido_code_tools`, read at start and by `JidoCode.Tools.Config.reload/0`; a blocked task stays blocked.

    * `:allowed_tasks` - further tasks: a name (any options, but paths among their values must stay in the project), or
      `{name, [{"option", kind}]}` with the kinds `:flag`, `:integer`, `:name`, `:text`, `:path`
    * `:alias_tasks` - the same, for tasks that only a step of an alias may run
    * `:trusted_aliases` - aliases whose steps may be functions
    * `:test_paths` - where tests are, default `["test", "apps/*/test"]`
  """

  import JidoCode.Tools.Security.Fitting, only: [fitting: 1]

  alias JidoCode.Tools.Config
  alias JidoCode.Tools.Security.{Native, Refusal}

  @typedoc """
  `kind` and `reason` are words of the native core, such as `:unknown_option` and `:evaluates_code`; `allowed` is what may
  stand in the argument's place; `alias` is the alias and the number of its step, from 0, when a step was refused.
  """
  @type denial :: Refusal.t()

  @typedoc "What a call runs: a task with its arguments, from an alias or not. The task is `\"\"` for a trusted function."
  @type step :: {task :: String.t(), args :: [String.t()], alias :: String.t() | nil}

  @opaque policy :: reference()

  @doc "Judges a call by the configured policy."
  @spec check(String.t(), [String.t()], String.t() | nil) :: :ok | {:error, denial()}
  def check(task, args \\ [], env \\ nil),
    do: fitting(Native.mix_policy_check(policy(), task, args, env))

  @doc """
  Judges a call in a project with these aliases, `{name, steps}` each, a step being a string, or nil for a function; answers
  what it runs.

      iex> aliases = [{"test", ["ecto.create --quiet", "test"]}]
      iex> JidoCode.Tools.Security.MixPolicy.expand("test", ["--trace"], "test", aliases)
      {:ok, [{"ecto.create", ["--quiet"], "test"}, {"test", ["--trace"], "test"}]}

  With `:wide` a command line is judged that runs inside a whole fence: every task may run but the blocked ones, and those that
  take code in their arguments or change settings.
  """
  @spec expand(
          String.t(),
          [String.t()],
          String.t() | nil,
          [{String.t(), [String.t() | nil]}],
          :narrow | :wide
        ) ::
          {:ok, [step()]} | {:error, denial()}
  def expand(task, args, env, aliases, list \\ :narrow),
    do: Native.mix_policy_expand(policy(), task, args, env, aliases, list == :wide)

  @doc "A denial as a sentence: what was refused, why, and what is allowed."
  @spec format(denial()) :: String.t()
  defdelegate format(denial), to: Refusal

  @doc false
  # For the command policy, which judges the calls of `mix` in a line by this one.
  @spec native() :: policy()
  def native, do: policy()

  @doc false
  # The policy of the configuration. Raises `ArgumentError` for a wrong value.
  @spec load!() :: policy()
  def load! do
    # The core names kinds and fields by atoms that exist, and they do once this module is there.
    Code.ensure_loaded!(Refusal)
    Native.mix_policy_new(settings())
  end

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
