defmodule JidoCode.Tools.Security.CommandPolicy do
  @moduledoc """
  Which command lines an agent may run, and what they come to without a shell.

  A line is read by a real shell parser. What runs is a closed list of commands, each with its own options and paths, joined by
  `|`, `&&`, `||` and `;`, with redirections inside the project. Substitutions, expansions, interpreters and whatever the
  parser does not fully understand are refused, with the reason and what is allowed instead. No shell takes part afterwards.

      iex> root = File.cwd!()
      iex> {:ok, plan} = JidoCode.Tools.Security.CommandPolicy.plan("grep -c def mix.exs | sort", root)
      iex> [{:then, [%{argv: ["grep" | _]}, %{argv: ["sort"]}]}] = plan.steps
      iex> plan.network
      :none
      iex> {:error, text} = JidoCode.Tools.Security.CommandPolicy.plan("bash -c 'rm -rf /'", root)
      iex> text
      "Shell interpreters are blocked: bash. Give the command itself."

  ## Configuration

  Under `config :jido_code_tools`, read at start and by `JidoCode.Tools.Config.reload/0`:

    * `:allowed_commands` - names of further commands. They take any arguments, as long as no path among them leaves the
      project. Shells and programs that run other programs stay refused
    * `:git_network` - allows `git fetch` and `git pull`; default false
    * `:git_push` - allows `git push`; default false
  """

  alias JidoCode.Tools.{Command, Config}
  alias JidoCode.Tools.Security.{MixPolicy, Native}

  import JidoCode.Tools.Security.Refusal, only: [because: 1, instead: 1]

  @typedoc """
  `steps` is a plan for `JidoCode.Tools.Command`, `cwd` the folder it runs in, `network` what it needs, and `mix` the calls of
  Mix in it, whose aliases are still to be judged.
  """
  @type plan :: %{
          cwd: String.t(),
          steps: Command.plan(),
          network: :none | :all,
          mix: [{task :: String.t(), args :: [String.t()], env :: String.t() | nil}]
        }

  @opaque policy :: reference()

  @doc """
  Judges a line that is to run in `folder`, relative to the project's root, and follows its paths on disk.

  With `aliases: true` a Mix task that is on no list, and not blocked, is left in `mix` for the caller, who must judge all of
  these calls with the project's aliases; without it, such a task is refused.
  """
  @spec plan(String.t(), String.t(), String.t(), aliases: boolean()) :: {:ok, plan()} | {:error, String.t()}
  def plan(line, root, folder \\ "", opts \\ [])
      when is_binary(line) and is_binary(root) and is_binary(folder) do
    case Native.command_plan(policy(), root, folder, line, Keyword.get(opts, :aliases, false)) do
      {:ok, cwd, steps} -> assemble(cwd, steps)
      {:denied, denial} -> {:error, format(denial)}
      {:error, kind, text} -> {:error, on_disk(kind, text)}
    end
  rescue
    # A line that is not UTF-8 does not reach the core.
    ArgumentError -> {:error, "The command is not text in UTF-8"}
  end

  @doc "The names of the commands that may be run, sorted."
  @spec commands() :: [String.t()]
  def commands, do: policy() |> Native.command_policy_names() |> Enum.sort()

  defp assemble(cwd, steps) do
    if Enum.any?(steps, fn {_connector, negated?, _commands} -> negated? end) do
      {:error, "Shell syntax not allowed: `!` before a command"}
    else
      commands = for {_connector, _negated, commands} <- steps, command <- commands, do: command

      {:ok,
       %{
         cwd: cwd,
         steps: for({connector, _negated, commands} <- steps, do: {connector, Enum.map(commands, &stage/1)}),
         network: if(Enum.any?(commands, &elem(&1, 2)), do: :all, else: :none),
         mix: for({_argv, _redirections, _network, _git, mix} <- commands, mix != nil, do: mix)
       }}
    end
  end

  defp stage({argv, redirections, _network?, git?, mix}) do
    env = if git?, do: Map.new(Native.command_git_environment()), else: %{}

    env =
      case mix do
        {_task, _args, env_name} -> Map.put(env, "MIX_ENV", env_name || "dev")
        nil -> env
      end

    %{argv: argv, redirect: redirections, env: env}
  end

  # Wording of the first two as the host has it.
  defp format({kind, command, argument, reason, allowed, mix}) do
    subject = argument || command || ""
    about = if command, do: "#{command}: ", else: ""

    case kind do
      "command_not_allowed" ->
        "Command not allowed: #{subject}." <> instead(allowed)

      "shell_interpreter_blocked" ->
        "Shell interpreters are blocked: #{subject}. Give the command itself."

      "launcher_blocked" ->
        "Command not allowed: #{subject} runs other programs. Give the program itself."

      "builtin_blocked" ->
        "Command not allowed: #{subject} is a statement of a shell, and no shell runs this."

      "path_traversal_blocked" ->
        "Path traversal not allowed in argument: #{subject}"

      "absolute_path_blocked" ->
        "Absolute paths outside project not allowed: #{subject}"

      "protected_path" ->
        "#{about}this path must not be changed by a tool: #{subject}"

      "empty_command" ->
        "The command is empty"

      "too_long" ->
        "The command is too long"

      "too_many_commands" ->
        "The line has too many commands"

      "invalid_characters" ->
        "The command holds control characters"

      "unterminated_quote" ->
        "The command has a quote that is not closed"

      "mix_refused" ->
        mix_refused(mix)

      "subcommand_not_allowed" ->
        "#{about}subcommand not allowed: #{subject}#{because(reason)}." <> instead(allowed)

      "network_blocked" ->
        "#{about}talks to other machines, which is off. " <> config_hint(allowed)

      "unknown_option" ->
        "#{about}option not allowed: #{subject}." <> instead(allowed)

      "option_refused" ->
        "#{about}option not allowed: #{subject}#{because(reason)}." <> instead(allowed)

      "missing_value" ->
        "#{about}#{subject} needs a value." <> instead(allowed)

      "unexpected_value" ->
        "#{about}#{subject} takes no value"

      "invalid_value" ->
        "#{about}wrong value: #{subject}#{because(reason)}." <> instead(allowed)

      "unexpected_argument" ->
        "#{about}one argument too many: #{subject}." <> instead(allowed)

      "missing_argument" ->
        "#{about}an argument is missing." <> instead(allowed)

      "glob_not_allowed" ->
        "#{about}a file name pattern is not allowed here: #{subject}"

      "redirection_refused" ->
        "Redirection not allowed: #{subject}. Files inside the project and 2>&1 are."

      syntax ->
        "Shell syntax not allowed: #{syntax(syntax)} #{subject}" |> String.trim_trailing()
    end
  end

  defp syntax("substitution"),
    do: "substitutions are not run; run the inner command first and use its output."

  defp syntax("expansion"), do: "variables and ~ are not expanded; write the value itself."
  defp syntax("brace_expansion"), do: "braces are not expanded; write the words themselves."
  defp syntax("subshell"), do: "subshells are not run; join commands with && || ; and |."
  defp syntax("here_document"), do: "here-documents are not supported."
  defp syntax("comment"), do: "leave comments out."
  defp syntax("background"), do: "`&` is not supported; use bash_background."
  defp syntax("assignment"), do: "variables can't be set (only MIX_ENV=dev or test before mix)."
  defp syntax("control_structure"), do: "loops, conditions and functions are not run."
  defp syntax(_other), do: "this can't be understood."

  defp mix_refused(nil), do: "This call of mix is not allowed"

  defp mix_refused({kind, task, argument, reason, allowed, place}) do
    MixPolicy.format(%{
      kind: kind,
      task: task,
      argument: argument,
      reason: reason,
      allowed: allowed,
      alias: place
    })
  end

  defp config_hint([key | _rest]), do: "A person can set config :jido_code_tools, #{key}: true."
  defp config_hint([]), do: "A person can allow it in config :jido_code_tools."

  defp on_disk("outside", text), do: "Path traversal not allowed: #{text} (it leads out of the project)"
  defp on_disk("protected_path", text), do: "This path must not be changed by a tool: #{text}"
  defp on_disk(_kind, text), do: text

  @doc false
  # The policy of the configuration, with this policy for `mix`. Raises `ArgumentError` for a wrong value.
  @spec load!(MixPolicy.policy()) :: policy()
  def load!(mix) do
    Native.command_policy_new(
      mix,
      Config.get(:allowed_commands),
      Config.get(:git_network),
      Config.get(:git_push)
    )
  end

  @doc false
  @spec put(policy()) :: :ok
  def put(policy), do: :persistent_term.put(__MODULE__, policy)

  # Not there where the application was never started: the policy works without it.
  defp policy, do: :persistent_term.get(__MODULE__, nil) || load!(MixPolicy.native())
end
