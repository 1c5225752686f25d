defmodule JidoCode.Tools.Security.CommandPolicy do
  @moduledoc """
  Which command lines an agent may run, and how they are carried out without a shell.

  A line is read by a real shell parser, and every command in it is judged by its own options and paths. Anything that the parser or a
  command's grammar does not fully understand is refused, with the reason and the way to write it instead. No shell takes part
  afterwards: the command runner carries the plan out, and looks again at each command when it starts.

  There are two lists. The narrow one is closed: text and file tools, git, mix and build tools, joined by `|`, `&&`, `||` and
  `;`. The wide one has what an engineer types (`sed`, `awk`, `jq`, `xargs`, `find -exec`, most Mix tasks, subshells,
  here-documents, variables that the line sets) and is in force where a whole fence keeps commands in, see `list/0`. Neither
  allows shells, inline code, substitutions, loops, or variables that make programs load something else.

      iex> root = File.cwd!()
      iex> {:ok, plan} = JidoCode.Tools.Security.CommandPolicy.plan("grep -c def mix.exs | sort", root)
      iex> plan.commands
      [["grep", "-c", "def", "mix.exs"], ["sort"]]
      iex> plan.network
      :none
      iex> {:error, text} = JidoCode.Tools.Security.CommandPolicy.plan("bash -c 'rm -rf /'", root)
      iex> text
      "Shell interpreters are blocked: bash. Give the command itself."
      iex> {:ok, plan} = JidoCode.Tools.Security.CommandPolicy.plan("(cd lib && ls) | wc -l", root, "", list: :wide)
      iex> plan.commands
      [["ls"], ["wc", "-l"]]

  ## Configuration

  Under `config :jido_code_tools`, read at start and by `JidoCode.Tools.Config.reload/0`:

    * `:allowed_commands` - names of further commands. They take any arguments, as long as no path among them leaves the
      project. Shells and programs that run other programs stay refused
    * `:git_network` - allows `git fetch` and `git pull`; default false
    * `:git_push` - allows `git push`; default false
  """

  alias JidoCode.Tools.{Command, Config}
  alias JidoCode.Tools.Security.{MixPolicy, Native, Refusal}

  @typedoc """
  `line` is what `JidoCode.Tools.Command` runs, `folder` where, below the project's root, `network` what it needs, `mix` the
  calls of Mix in it, whose aliases are still to be judged, each with its folder, `commands` the words of every program, and
  `shown` the line as the parser understood it.
  """
  @type plan :: %{
          line: {:line, String.t()},
          folder: String.t(),
          network: :none | :all,
          mix: [%{task: String.t(), args: [String.t()], env: String.t() | nil, cwd: String.t()}],
          commands: [[String.t()]],
          shown: String.t()
        }

  @type breadth :: :narrow | :wide

  @opaque policy :: reference()

  @doc """
  Judges a line that is to run in `folder`, relative to the project's root, and follows its paths on disk.

  With `aliases: true` a Mix task that is on no list, and not blocked, is left in `mix` for the caller, who must judge all of
  these calls with the project's aliases; without it, such a task is refused.
  """
  @spec plan(String.t(), String.t(), String.t(), aliases: boolean(), list: breadth()) ::
          {:ok, plan()} | {:error, String.t()}
  def plan(line, root, folder \\ "", opts \\ [])
      when is_binary(line) and is_binary(root) and is_binary(folder) do
    opts = Keyword.validate!(opts, aliases: false, list: :narrow)

    case Native.command_plan(policy(), root, folder, line, opts[:aliases], opts[:list] == :wide) do
      {:ok, plan} -> {:ok, Map.update!(plan, :line, &{:line, &1})}
      {:denied, refusal} -> {:error, Refusal.format(refusal) <> own_name(refusal, root)}
      {:error, kind, text} -> {:error, Refusal.on_disk(kind, text)}
    end
  rescue
    # A line that is not UTF-8 does not reach the core.
    ArgumentError -> {:error, "The command is not text in UTF-8"}
  end

  @doc """
  The list in force for the shell tools: the wide one where commands run in a whole fence.
  """
  @spec list() :: breadth()
  def list, do: if(Command.fence() == :whole, do: :wide, else: :narrow)

  @doc "The names of the commands that may be run, sorted."
  @spec commands(breadth()) :: [String.t()]
  def commands(list \\ list()),
    do: policy() |> Native.command_policy_names(list == :wide) |> Enum.sort()

  # A link outside that leads to the project: a line is run as it was typed, so it is typed without the link.
  defp own_name(%{kind: :absolute_path_blocked, argument: "/" <> _rest = path}, root) do
    case Native.path_resolve(root, path) do
      {:ok, absolute, _relative, _exists?, _directory?} -> Refusal.own_name(absolute)
      {:error, _kind, _text} -> ""
    end
  end

  defp own_name(_refusal, _root), do: ""

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
