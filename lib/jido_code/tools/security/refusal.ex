defmodule JidoCode.Tools.Security.Refusal do
  @moduledoc false
  # What the native policies refuse, and the words for it: one shape, one sentence for each kind. A kind without a sentence raises, and a tool
  # that raises has refused.

  alias JidoCode.Tools.Config

  @typedoc """
  `kind` says what is refused and `reason` why; `command` or `task` is what was at fault, `argument` the word in it, `index` that word's place and
  `offset` the byte of the line; `allowed` is what may stand there instead; `alias` is the step of a Mix alias, counted from 0; `list` is the list
  of commands that was in force.
  """
  @type t :: %{
          kind: atom(),
          reason: atom(),
          command: String.t() | nil,
          task: String.t() | nil,
          argument: String.t() | nil,
          index: non_neg_integer() | nil,
          offset: non_neg_integer() | nil,
          allowed: [String.t()],
          alias: %{name: String.t(), step: non_neg_integer()} | nil,
          list: :narrow | :wide | nil
        }

  # What is wrong with a path on disk, beside leading out of the project.
  @path_kinds [:invalid_root, :nul_byte, :too_long, :too_many_links, :not_found, :not_a_directory] ++
                [:wrong_type, :changing, :io]

  # More names than that help nobody to choose.
  @most_names 60

  @doc "A refusal as a sentence: what was refused, why, and what is allowed instead."
  @spec format(t()) :: String.t()
  def format(%{alias: %{name: name, step: step}} = refusal) do
    "Step #{step + 1} of the alias #{name}: " <> format(%{refusal | alias: nil}) <> alias_hint(refusal)
  end

  def format(refusal) do
    said = say(refusal.kind, refusal, refusal.argument || refusal.command || refusal.task || "")
    said <> in_force(refusal)
  end

  @doc "What a refusal begins with, where no more than its subject is known."
  @spec brief(atom(), String.t()) :: String.t()
  def brief(:invalid_task_name, task), do: "Invalid task name format: #{task}"
  def brief(:task_blocked, task), do: "Mix task is blocked: #{task}"
  def brief(:task_not_allowed, task), do: "Mix task not allowed: #{task}"
  def brief(:env_blocked, env), do: "Environment '#{env}' is blocked for safety"
  def brief(:path_traversal_blocked, argument), do: "Path traversal not allowed in argument: #{argument}"

  @doc "What the disk says against a path of a command line; `text` is the core's, with the command and the path."
  @spec on_disk(atom(), String.t()) :: String.t()
  def on_disk(:outside, text), do: "Path traversal not allowed: #{text}"
  def on_disk(kind, text) when kind in [:protected_path, :too_many_matches | @path_kinds], do: text

  @doc "The same for a path that is a parameter of its own."
  @spec parameter(atom(), String.t(), String.t()) :: String.t()
  def parameter(:outside, path, _text), do: "Path traversal not allowed: #{path} leads outside of the project"
  def parameter(kind, _path, text) when kind in @path_kinds, do: "The path is invalid: #{text}"

  @doc "The same for a parameter that is to be a folder of the project."
  @spec folder(String.t(), String.t(), {atom(), String.t()} | :not_a_folder) :: String.t()
  def folder(parameter, path, :not_a_folder), do: "#{parameter} is not a folder: #{path}"
  def folder(parameter, path, {:outside, _text}), do: "#{parameter} must be inside the project: #{path}"

  def folder(parameter, _path, {kind, text}) when kind in @path_kinds,
    do: "#{parameter} can't be used: #{text}"

  @doc "What follows the refusal of a path by which a link outside leads to the project."
  @spec own_name(String.t()) :: String.t()
  def own_name(absolute), do: ". This one is in the project: write it as #{absolute}"

  @doc "A path that is in none of the folders of tests."
  @spec outside_tests(String.t(), [String.t()]) :: String.t()
  def outside_tests(path, folders),
    do: "#{path} is not in the project's test/ directory (#{Enum.join(folders, ", ")})"

  defp alias_hint(%{kind: :alias_function_step}),
    do: ". A person can add the alias to config :jido_code_tools, trusted_aliases:."

  # What is never run by a tool isn't by an alias either, whatever a person adds.
  defp alias_hint(%{kind: kind, reason: reason})
       when kind == :task_not_allowed or (kind == :task_blocked and reason != :not_listed),
       do: " A person can add a task to config :jido_code_tools, alias_tasks:."

  defp alias_hint(_refusal), do: ""

  # Where the list is what is in the way, the refusal names it.
  @by_list [:command_not_allowed, :launcher_blocked, :subcommand_not_allowed, :task_not_allowed, :subshell] ++
             [
               :expansion,
               :brace_expansion,
               :here_document,
               :comment,
               :negation,
               :assignment,
               :builtin_blocked
             ]

  defp in_force(%{list: :narrow, kind: kind}) when kind in @by_list,
    do: " (The narrow list is in force: this machine has no whole fence for commands.)"

  defp in_force(%{list: :wide, kind: kind}) when kind in @by_list, do: " (The wide list is in force.)"

  defp in_force(_refusal), do: ""

  # Lines and their syntax

  defp say(:empty_command, _refusal, _subject), do: "The command is empty"
  defp say(:too_long, %{task: nil}, _subject), do: "The command is too long"
  defp say(:too_long, refusal, _subject), do: about(refusal) <> "an argument is too long"
  defp say(:too_many_commands, _refusal, _subject), do: "The line has too many commands"
  defp say(:too_many_arguments, refusal, _subject), do: about(refusal) <> "too many arguments"

  defp say(:invalid_characters, %{task: nil}, _subject), do: "The command holds control characters"

  defp say(:invalid_characters, refusal, _subject),
    do: about(refusal) <> "an argument holds control characters"

  defp say(:unterminated_quote, _refusal, _subject), do: "The command has a quote that is not closed"

  defp say(:substitution, _refusal, subject),
    do: syntax("substitutions are not run; run the inner command first and use its output.", subject)

  defp say(:expansion, %{list: :narrow}, subject),
    do: syntax("variables and ~ are not expanded; write the value itself.", subject)

  defp say(:expansion, _refusal, subject),
    do:
      syntax(
        "only $NAME, ${NAME} and $? are expanded; write the value itself, and paths from the project's root.",
        subject
      )

  defp say(:unknown_variable, _refusal, subject),
    do:
      syntax(
        "only variables that the line itself sets, and $PWD, have a value; write the value itself.",
        subject
      )

  defp say(:unquoted_variable, _refusal, subject),
    do: syntax("the value has blanks or pattern characters; put the variable in double quotes.", subject)

  defp say(:brace_expansion, _refusal, subject),
    do: syntax("braces are not expanded; write the words themselves.", subject)

  defp say(:subshell, _refusal, _subject),
    do: syntax("subshells are not run; join commands with && || ; and |.")

  defp say(:here_document, _refusal, _subject), do: syntax("here-documents are not supported.")

  defp say(:here_document_unquoted, _refusal, _subject),
    do:
      syntax(
        "a here-document must end with its word on a line of its own, and with something to expand in it, quote the word: <<'EOF'."
      )

  defp say(:comment, _refusal, _subject), do: syntax("leave comments out.")
  defp say(:negation, _refusal, _subject), do: syntax("`!` before a command is not supported.")
  defp say(:background, _refusal, _subject), do: syntax("`&` is not supported; use bash_background.")

  defp say(:assignment, %{list: :narrow}, subject),
    do: syntax("variables can't be set (only MIX_ENV=dev or test before mix).", subject)

  defp say(:assignment, _refusal, subject),
    do: syntax("a variable can be set before a program, or by export NAME=value.", subject)

  defp say(:variable_blocked, _refusal, subject),
    do:
      "Variable not allowed: #{subject}. It makes programs load or run something else; give options to the program instead."

  defp say(:control_structure, _refusal, subject),
    do:
      syntax(
        "loops, conditions and functions are not run; use several calls, xargs or find -exec for many files, and " <>
          "&& and || for conditions.",
        subject
      )

  defp say(:syntax_error, _refusal, subject), do: syntax("this can't be understood.", subject)

  defp say(:redirection_refused, _refusal, subject),
    do: "Redirection not allowed: #{subject}. Files inside the project and 2>&1 are."

  # Commands

  defp say(:shell_interpreter_blocked, _refusal, subject),
    do: "Shell interpreters are blocked: #{subject}. Give the command itself."

  defp say(:launcher_blocked, _refusal, subject),
    do: "Command not allowed: #{subject} runs other programs. Give the program itself."

  defp say(:builtin_blocked, %{list: :wide}, "cd"),
    do: "Command not allowed: cd goes to one folder of the project: cd DIR."

  defp say(:builtin_blocked, _refusal, subject),
    do: "Command not allowed: #{subject} is a statement of a shell, and no shell runs this."

  defp say(:command_not_allowed, refusal, subject),
    do: "Command not allowed: #{subject}." <> instead(refusal.allowed)

  defp say(:subcommand_not_allowed, refusal, subject),
    do:
      "#{about(refusal)}subcommand not allowed: #{subject}#{because(refusal.reason)}." <>
        instead(refusal.allowed)

  defp say(:network_blocked, %{allowed: [key | _rest]} = refusal, _subject),
    do:
      about(refusal) <>
        "talks to other machines, which is off. A person can set config :jido_code_tools, #{key}: true."

  defp say(:script_refused, refusal, subject),
    do:
      about(refusal) <>
        "this program is not run: #{subject}. Programs of awk and sed may read and print; use the line's own pipes and " <>
        "redirections for the rest."

  # Options and arguments

  defp say(:unknown_option, refusal, subject),
    do: about(refusal) <> "option not allowed: #{subject}." <> instead(refusal.allowed)

  defp say(:option_refused, refusal, subject),
    do:
      about(refusal) <>
        "option not allowed: #{subject}#{because(refusal.reason)}." <> instead(refusal.allowed)

  defp say(:missing_value, %{task: nil} = refusal, subject),
    do: "#{about(refusal)}#{subject} needs a value." <> instead(refusal.allowed)

  defp say(:missing_value, refusal, subject), do: "#{about(refusal)}#{subject} needs a value"
  defp say(:unexpected_value, refusal, subject), do: "#{about(refusal)}#{subject} takes no value"

  defp say(:invalid_value, refusal, subject),
    do: "#{about(refusal)}wrong value: #{subject}." <> instead(refusal.allowed, "Expected")

  defp say(:unexpected_argument, %{task: nil} = refusal, subject),
    do: "#{about(refusal)}one argument too many: #{subject}." <> instead(refusal.allowed, "Expected")

  defp say(:unexpected_argument, refusal, subject),
    do: "#{about(refusal)}takes no such argument: #{subject}." <> instead(refusal.allowed, "Expected")

  defp say(:missing_argument, refusal, _subject),
    do: about(refusal) <> "an argument is missing." <> instead(refusal.allowed)

  defp say(:glob_not_allowed, refusal, subject),
    do: "#{about(refusal)}a file name pattern is not allowed here: #{subject}"

  # Paths

  defp say(:path_traversal_blocked, _refusal, subject),
    do: brief(:path_traversal_blocked, subject)

  defp say(:absolute_path_blocked, %{task: nil}, subject),
    do: "Absolute paths outside project not allowed: #{subject}"

  defp say(:absolute_path_blocked, refusal, subject),
    do: "#{about(refusal)}paths outside the project are not allowed: #{subject}"

  defp say(:protected_path, %{task: nil} = refusal, subject),
    do: "#{about(refusal)}this path must not be changed by a tool: #{subject}"

  defp say(:protected_path, refusal, subject), do: "#{about(refusal)}tools may not use this path: #{subject}"

  # Mix

  defp say(:invalid_task_name, %{task: task}, _subject), do: brief(:invalid_task_name, task)

  defp say(:task_blocked, %{task: task, reason: :not_listed}, _subject),
    do: brief(:task_blocked, task) <> ". It is never run by a tool."

  defp say(:task_blocked, %{task: task, reason: reason}, _subject),
    do: brief(:task_blocked, task) <> because(reason) <> "."

  defp say(:task_not_allowed, %{task: task} = refusal, _subject),
    do: brief(:task_not_allowed, task) <> "." <> instead(refusal.allowed)

  defp say(:env_blocked, refusal, subject),
    do: brief(:env_blocked, subject) <> "." <> instead(refusal.allowed)

  defp say(:outside_test_paths, refusal, subject) do
    about(refusal) <>
      outside_tests(subject, Config.get(:test_paths)) <>
      ". A person can name other folders in config :jido_code_tools, test_paths:."
  end

  defp say(:not_a_test_file, refusal, subject),
    do: about(refusal) <> "#{subject} is not a test file; their names end in _test.exs"

  defp say(:alias_function_step, _refusal, _subject), do: "it is a function, which can't be judged"
  defp say(:alias_invalid_step, _refusal, _subject), do: "it can't be read as a command"
  defp say(:alias_too_long, _refusal, _subject), do: "the alias has too many steps"

  defp about(%{command: nil, task: nil}), do: ""
  defp about(%{command: nil, task: task}), do: "mix #{task}: "
  defp about(%{command: command}), do: "#{command}: "

  defp syntax(text, subject \\ ""), do: String.trim_trailing("Shell syntax not allowed: #{text} #{subject}")

  # Why something that exists is refused, to follow its name; nothing for what is merely on no list.
  defp because(:runs_program), do: ", it runs another program"
  defp because(:evaluates_code), do: ", it runs code of the caller's choice"
  defp because(:leaves_project), do: ", it works outside the project"
  defp because(:follows_links), do: ", it follows links, which may lead out of the project"
  defp because(:waits_for_input), do: ", it waits for input, which is closed"
  defp because(:never_ends), do: ", it never ends by itself"
  defp because(:writes_file), do: ", it writes a file that nobody named"
  defp because(:deletes_by_search), do: ", it removes files by a search"
  defp because(:changes_settings), do: ", it changes settings"
  defp because(:changes_dependencies), do: ", it changes what the project depends on"
  defp because(:hides_failure), do: ", it makes a failure look like success"
  defp because(:use_parameter), do: ", the tool has a parameter for it"
  defp because(:needs_dashes), do: ", names that it reads could be options; put -- before them"
  defp because(:not_listed), do: ""

  # What may stand there instead, as a sentence of its own.
  defp instead(allowed, label \\ "Allowed")
  defp instead([], _label), do: ""

  defp instead(allowed, label) do
    {named, more} = Enum.split(allowed, @most_names)
    " #{label}: " <> Enum.join(named, ", ") <> if(more == [], do: "", else: ", and #{length(more)} more")
  end
end
