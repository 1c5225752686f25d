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

  Under `config :jido_code`, read at start and by `JidoCode.Tools.Config.reload/0`:

    * `:allowed_commands` - names of further commands. They take any arguments, as long as no path among them leaves the
      project. Shells and programs that run other programs stay refused
    * `:git_network` - allows `git fetch` and `git pull`; default false
    * `:git_push` - allows `git push`; default false
  """

  alias JidoCode.Tools.{Command, Config}
  alias JidoCode.Tools.Security.{MixPolicy, Native}

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

  @doc """
  Judges a line that is to run in `folder`, relative to the project's root, and follows its paths on disk.
  """
  @spec plan(String.t(), String.t(), String.t()) :: {:ok, plan()} | {:error, String.t()}
  def plan(line, root, folder \\ "") when is_binary(line) and is_binary(root) and is_binary(folder) do
    case Native.command_plan(policy(), root, folder, line) do
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
        "Command not allowed: #{subject}." <> allowed(allowed)

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
        "#{about}subcommand not allowed: #{subject}#{why(reason)}." <> allowed(allowed)

      "network_blocked" ->
        "#{about}talks to other machines, which is off. " <> config_hint(allowed)

      "unknown_option" ->
        "#{about}option not allowed: #{subject}." <> allowed(allowed)

      "option_refused" ->
        "#{about}option not allowed: #{subject}#{why(reason)}." <> allowed(allowed)

      "missing_value" ->
        "#{about}#{subject} needs a value." <> allowed(allowed)

      "unexpected_value" ->
        "#{about}#{subject} takes no value"

      "invalid_value" ->
        "#{about}wrong value: #{subject}#{why(reason)}." <> allowed(allowed)

      "unexpected_argument" ->
        "#{about}one argument too many: #{subject}." <> allowed(allowed)

      "missing_argument" ->
        "#{about}an argument is missing." <> allowed(allowed)

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

  defp allowed([]), do: ""
  defp allowed(allowed), do: " Allowed: " <> Enum.join(allowed, ", ")

  defp config_hint([key | _rest]), do: "A person can set config :jido_code, #{key}: true."
  defp config_hint([]), do: "A person can allow it in config :jido_code."

  defp why("runs_program"), do: ", it runs another program"
  defp why("evaluates_code"), do: ", it runs code that is not a file of the project"
  defp why("follows_links"), do: ", it follows links, which may lead out of the project"
  defp why("leaves_project"), do: ", it works outside the project"
  defp why("changes_settings"), do: ", it changes settings"
  defp why("interactive"), do: ", it waits for a person"
  defp why("never_ends"), do: ", it never ends by itself"
  defp why("deletes_by_search"), do: ", it removes files by a search"
  defp why("writes_file"), do: ", it writes a file that can't be checked"
  defp why("changes_dependencies"), do: ", it changes what the project depends on"
  defp why("use_parameter"), do: ", the tool has a parameter for it"
  defp why(_other), do: ""

  defp on_disk("outside", text), do: "Path traversal not allowed: #{text} (it leads out of the project)"
  defp on_disk("protected_path", text), do: "This path must not be changed by a tool: #{text}"
  defp on_disk(_kind, text), do: text

  @doc false
  # Reads the configuration and builds the policy; at start, and by `JidoCode.Tools.Config.reload/0`.
  @spec reload() :: reference()
  def reload do
    network? = Config.get(:git_network, false) == true
    push? = Config.get(:git_push, false) == true
    policy = Native.command_policy_new(MixPolicy.native(), names!(), network?, push?)
    :persistent_term.put(__MODULE__, policy)
    policy
  end

  defp policy, do: :persistent_term.get(__MODULE__, nil) || reload()

  defp names! do
    names = Config.get(:allowed_commands, [])

    if is_list(names) and Enum.all?(names, &is_binary/1) do
      names
    else
      raise ArgumentError,
            "config :jido_code, :allowed_commands takes a list of strings, got: #{inspect(names, limit: 5)}"
    end
  end
end
