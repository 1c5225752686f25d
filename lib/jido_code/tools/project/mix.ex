defmodule JidoCode.Tools.Project.Mix do
  @moduledoc false
  # Runs Mix in a project, as an OS process of its own, after the policy has agreed to every step of it.
  #
  # What the project declares (its aliases, its test paths) is read by a confined child that may write nothing and reach no
  # network; nothing of `mix.exs` is evaluated in this VM.
  #
  # ## Configuration
  #
  # Under `config :jido_code_tools`:
  #
  #   * `:mix_network` - the network mode of Mix, default `:all`, for databases and downloads; see `JidoCode.Tools.Command`
  #   * `:command_write_paths` - further folders that Mix and other commands may write, for caches in unusual places
  #   * `:command_read_paths` - further folders and files that they may read
  #   * `:command_confinement` - `:best_effort` (default), `:required` or `:off`

  alias JidoCode.Tools.{Command, Config, Deadline, JSON, Workspace}
  alias JidoCode.Tools.Command.Output
  alias JidoCode.Tools.Project.{Foreground, Places}
  alias JidoCode.Tools.Security.MixPolicy

  @typedoc "A step that is a function is nil."
  @type aliases :: [{String.t(), [String.t() | nil]}]

  @typedoc "What `mix.exs` declares; `apps` are the aliases of each application of an umbrella."
  @type facts :: %{aliases: aliases(), apps: [aliases()], test_paths: [String.t()] | nil}

  # Kept in this module: the library's files may lie in the project, where a command can replace them.
  @scripts Path.expand("../../../../priv", __DIR__)
  @channel Path.join(@scripts, "channel.exs")
  @project Path.join(@scripts, "mix/project.exs")
  @external_resource @channel
  @external_resource @project
  @facts_script File.read!(@channel) <> File.read!(@project)
  @max_facts 1_000_000

  # Mix says that it waits for another Mix within this time of starting to wait.
  @lock_message "Waiting for lock on"
  @lock_patience_ms 5_000

  @doc """
  Reads what the project declares, within the call's time. It takes some hundred milliseconds, on a busy machine seconds.
  """
  @spec facts(String.t(), String.t(), Deadline.t()) ::
          {:ok, facts()} | {:error, String.t() | {:timeout, String.t()}}
  def facts(root, env, deadline) do
    if project?(root),
      do: read_facts(root, env, deadline),
      else: {:error, "There is no mix.exs in the project's root folder"}
  end

  @doc "Whether the folder is a Mix project's."
  @spec project?(String.t()) :: boolean()
  def project?(root), do: File.regular?(Path.join(root, "mix.exs"))

  @doc "What a folder without a project declares."
  @spec no_facts() :: facts()
  def no_facts, do: %{aliases: [], apps: [], test_paths: nil}

  defp read_facts(root, env, deadline) do
    options = [
      cd: root,
      env: environment(env),
      timeout: Deadline.left(deadline),
      keep: {1_000, 1_000},
      channel: @max_facts,
      read: Places.readable(),
      network: :none,
      confinement: Config.get(:command_confinement)
    ]

    case Command.run(["elixir", "-e", @facts_script], options) do
      {:ok, %{status: :exited, exit_code: 0, processes_left: 0} = result} ->
        decode_facts(result.channel)

      {:ok, %{status: :timeout}} ->
        {:error, {:timeout, "The project's mix.exs did not load within #{deadline.timeout} ms"}}

      {:ok, result} ->
        {:error, "The project's mix.exs can't be loaded:\n" <> Output.text(result.stderr)}

      # Seen in releases, which bring neither with them.
      {:error, {:not_started, text}} ->
        {:error, text <> ". Projects use the machine's own Mix: elixir and mix must be on this node's PATH"}

      {:error, reason} ->
        {:error, Command.explain(reason)}
    end
  end

  # The child is the project's code: what it told is checked like any other input. The last line is the script's own.
  defp decode_facts(%Output{cut_bytes: 0, head: text}) do
    with [line | _before] <- text |> String.split("\n", trim: true) |> Enum.reverse(),
         {:ok, %{"aliases" => aliases, "apps" => apps, "test_paths" => paths}} <- JSON.decode(line),
         {:ok, aliases} <- aliases(aliases),
         {:ok, apps} <- all(apps, &aliases/1),
         true <- is_nil(paths) or (is_list(paths) and Enum.all?(paths, &is_binary/1)) do
      {:ok, %{aliases: aliases, apps: apps, test_paths: paths}}
    else
      _other -> unreadable()
    end
  end

  defp decode_facts(_cut), do: unreadable()

  defp unreadable, do: {:error, "The declarations in the project's mix.exs can't be read"}

  defp aliases(aliases), do: all(aliases, &alias_of/1)

  defp alias_of([name, steps]) when is_binary(name) and is_list(steps) do
    if Enum.all?(steps, &(is_nil(&1) or is_binary(&1))), do: {:ok, {name, steps}}, else: :error
  end

  defp alias_of(_other), do: :error

  defp all(list, read) when is_list(list) do
    read = Enum.map(list, read)
    if Enum.all?(read, &match?({:ok, _value}, &1)), do: {:ok, Keyword.values(read)}, else: :error
  end

  defp all(_other, _read), do: :error

  @doc """
  A task's arguments with the absolute paths inside the project, also as an option's value, written from its root: Mix runs there, and
  the policy takes no absolute path.

      iex> root = File.cwd!()
      iex> JidoCode.Tools.Project.Mix.from_root(["--output=" <> root <> "/doc", root <> "/mix.exs", "/etc/passwd"], root)
      ["--output=doc", "mix.exs", "/etc/passwd"]
  """
  @spec from_root([String.t()], Path.t()) :: [String.t()]
  def from_root(arguments, root), do: Enum.map(arguments, &relative(&1, root))

  defp relative("/" <> _path = path, root) do
    if String.starts_with?(path, root <> "/"),
      do: String.replace_prefix(path, root <> "/", ""),
      else: by_another_name(path, root)
  end

  defp relative("-" <> _option = argument, root) do
    case String.split(argument, "=", parts: 2) do
      [option, "/" <> _path = value] -> option <> "=" <> relative(value, root)
      _no_path -> argument
    end
  end

  defp relative(argument, _root), do: argument

  # A link outside may lead to the project. What it led to is what Mix gets: the link may lead elsewhere then.
  defp by_another_name(path, root) do
    case Workspace.resolve(root, path) do
      {:ok, %{relative: relative}} when relative != "" -> relative
      _outside -> path
    end
  end

  @doc """
  Judges a call by the policy, the aliases of the project and of an umbrella's applications included.
  """
  @spec approve(String.t(), [String.t()], String.t(), facts(), :narrow | :wide) :: :ok | {:error, String.t()}
  def approve(task, args, env, facts, list \\ :narrow) do
    with {:ok, steps} <- MixPolicy.expand(task, args, env, facts.aliases, list),
         :ok <- approve_in_apps(steps, env, facts.apps, list) do
      :ok
    else
      {:error, denial} -> {:error, MixPolicy.format(denial)}
    end
  end

  # Mix runs most tasks in each application, by the aliases there. `compile` stands for tasks that compile and are on no list.
  defp approve_in_apps(steps, env, apps, list) do
    calls = for({task, args, _alias} <- steps, task != "", do: {task, args}) ++ [{"compile", []}]

    for(aliases <- apps, {task, args} <- calls, do: MixPolicy.expand(task, args, env, aliases, list))
    |> Enum.find(:ok, &refused_alias?/1)
  end

  # The call itself has been judged with the root's aliases, one of which may allow more than its task alone.
  defp refused_alias?({:error, %{alias: place}}), do: place != nil
  defp refused_alias?({:ok, _steps}), do: false

  @doc """
  Runs `mix` with these arguments, which the policy must have approved, for the call with this context.

  Options: `:env` (the Mix environment), `:deadline` (the call's), `:keep` (see `JidoCode.Tools.Command`), `:set` (further
  variables), `:write` (further folders), `:before` (code that runs before Mix starts), `:channel` (bytes to keep of what that
  code tells), `:report` (a function that is given, about twice a second, what came over the channel, and says what to report as
  progress: `{text, next}` with the function to ask next time, or nil to report what Mix prints).

  `{:error, {:locked, text}}` when another Mix process holds the build: waiting for it would use up the call's time.
  """
  @spec run(String.t(), [String.t()], map(), keyword()) ::
          {:ok, Command.Result.t()} | {:error, Command.reason()}
  def run(root, args, context, opts) do
    command =
      case opts[:before] do
        nil -> ["mix" | args]
        code -> ["elixir", "-e", code, "-S", "mix" | args]
      end

    places =
      Places.options(root, Map.merge(environment(Keyword.fetch!(opts, :env)), Keyword.get(opts, :set, %{})))

    options = [
      cd: root,
      env: places[:env],
      timeout: opts |> Keyword.fetch!(:deadline) |> Deadline.left(),
      keep: Keyword.fetch!(opts, :keep),
      channel: opts[:channel],
      read: places[:read],
      write: Keyword.get(opts, :write, []) ++ places[:write],
      network: Config.get(:mix_network),
      confinement: Config.get(:command_confinement)
    ]

    report = Keyword.get(opts, :report, fn _told -> nil end)
    Foreground.run(command, options, context, {nil, report}, &look/2)
  end

  defp look(%{stdout: text, channel: channel}, {waiting_since, report}) do
    now = System.monotonic_time(:millisecond)
    since = if waits?(text, waiting_since != nil), do: waiting_since || now

    cond do
      since && now - since > @lock_patience_ms ->
        {:halt,
         {:error,
          {:locked,
           "Another Mix process is building this project, and this one waited for it. Try again later."}}}

      told = report.(channel) ->
        {text, report} = told
        {:report, text, {since, report}}

      true ->
        {:cont, {since, report}}
    end
  end

  # Whatever is printed after the message means that the wait is over.
  defp waits?("", waiting?), do: waiting?

  defp waits?(text, _waiting?) do
    case String.split(text, @lock_message) do
      [_text] -> false
      parts -> parts |> List.last() |> String.trim() |> String.split("\n") |> length() <= 1
    end
  end

  # Mix must not be led elsewhere by what this VM was started with.
  defp environment(env) do
    %{"MIX_ENV" => env, "MIX_EXS" => nil, "MIX_TARGET" => nil, "LANG" => "C.UTF-8", "LC_ALL" => "C.UTF-8"}
  end
end
