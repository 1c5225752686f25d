defmodule JidoCode.Tools.Project.Line do
  @moduledoc false
  # A command line of the shell tools, judged and made ready to run.

  alias JidoCode.Tools.{Command, Config, Deadline, Project, Workspace}
  alias JidoCode.Tools.Project.Places
  alias JidoCode.Tools.Security.{CommandPolicy, Refusal}

  # The parameter that names the folder.
  @folder "working_directory"

  @typedoc "What `JidoCode.Tools.Command` takes, the plan and its options, and the line as it was understood."
  @type t :: %{plan: Command.plan(), options: keyword(), shown: String.t()}

  @doc """
  Judges a line of `tool` by the command policy and, for calls of Mix in it, by the project's aliases.

  The network mode is the one that the line's commands need; `config :jido_code_tools, tool_network: %{"bash_execute" => :none}` sets
  another for a tool. Reading what a project declares takes no more than the call's time.
  """
  @spec prepare(String.t(), String.t(), String.t() | nil, map(), Deadline.t()) ::
          {:ok, t()} | {:error, String.t() | {:timeout, String.t()}}
  def prepare(tool, line, folder, context, deadline) do
    with {:ok, root} <- root(context),
         {:ok, folder} <- folder(root, folder),
         list = CommandPolicy.list(),
         {:ok, plan} <- CommandPolicy.plan(line, root, folder, aliases: true, list: list),
         :ok <- Project.Repository.approve(plan.commands, root, Path.join(root, plan.folder)),
         :ok <- approve_mix(plan, list, root, deadline) do
      {:ok, %{plan: plan.line, options: options(tool, plan, list, root), shown: plan.shown}}
    end
  end

  defp root(context) do
    with {:error, reason} <- Workspace.root(context),
         do: {:error, "The project to work in is not known: #{reason}"}
  end

  defp folder(_root, nil), do: {:ok, ""}

  defp folder(root, folder) do
    case Workspace.resolve(root, folder) do
      {:ok, %{directory?: true, relative: relative}} -> {:ok, relative}
      {:ok, _file} -> {:error, Refusal.folder(@folder, folder, :not_a_folder)}
      {:error, reason} -> {:error, Refusal.folder(@folder, folder, reason)}
    end
  end

  # Mix reads the project of the folder it runs in.
  defp approve_mix(plan, list, root, deadline) do
    Enum.reduce_while(plan.mix, :ok, fn call, :ok ->
      env = call.env || "dev"

      with {:ok, facts} <- mix_facts(list, Path.join(root, call.cwd), env, deadline),
           :ok <- Project.Mix.approve(call.task, call.args, env, facts, list) do
        {:cont, :ok}
      else
        error -> {:halt, error}
      end
    end)
  end

  # Outside a project Mix has no aliases: `mix new` makes one, and a folder that the line makes has none yet.
  defp mix_facts(list, folder, env, deadline) do
    if list == :wide and not Project.Mix.project?(folder),
      do: {:ok, Project.Mix.no_facts()},
      else: Project.Mix.facts(folder, env, deadline)
  end

  defp options(tool, plan, list, root) do
    # Mix must not be led elsewhere by what this VM was started with.
    env = %{"LANG" => "C.UTF-8", "LC_ALL" => "C.UTF-8", "MIX_EXS" => nil, "MIX_TARGET" => nil}

    Places.options(root, env) ++
      [
        cd: Path.join(root, plan.folder),
        network: Map.get(Map.new(Config.get(:tool_network)), tool, plan.network),
        confinement: confinement(list)
      ]
  end

  # What the wide list lets through is for a whole fence to hold, and nothing less.
  defp confinement(:wide), do: :required
  defp confinement(:narrow), do: Config.get(:command_confinement)
end
