defmodule JidoCode.Tools.Doors.MCP.Question do
  @moduledoc false
  # What the person at the client is asked about a call that was denied: exactly what would run, as this library parsed it, where,
  # and with what reach. Composed of nothing that a model words but the call itself, which stands in it with every character
  # visible.

  alias JidoCode.Tools.{
    Arguments,
    Call,
    Catalog,
    Config,
    Deadline,
    Definition,
    JSON,
    Project,
    Shortened,
    Visible,
    Workspace
  }

  alias JidoCode.Tools.Handlers.Elixir.RunExunit

  # Whoever reads must see all of it.
  @max_characters 2_000
  @time_ms 10_000

  @doc """
  The question; an error when the call would be refused whatever a person says; `:none` when it can't be asked about.
  """
  @spec build(Call.t()) :: {:ok, String.t()} | {:error, String.t()} | :none
  def build(%Call{tool: %{hints: _of_ours} = definition} = call) do
    with {:ok, args} <- Arguments.check(definition, call.args),
         {:ok, what} <- subject(call, args) do
      shown = Visible.escape(what.shown)
      if Shortened.over(shown, @max_characters) > 0, do: :none, else: {:ok, text(call, what, shown)}
    else
      {:error, {:timeout, why}} -> {:error, why}
      {:error, why} -> {:error, why}
    end
  end

  def build(_call), do: :none

  defp text(call, what, shown) do
    """
    A model asks to run this with #{called(call)}, which this session may not use:

    #{indented(shown)}

    Folder: #{Visible.escape(what.folder)}
    #{what.reach}
    Allow it?\
    """
  end

  defp called(call) do
    if Definition.offered?(call.tool), do: "#{call.name}, one of the project's own tools", else: call.name
  end

  defp subject(%{tool: tool} = call, args) do
    cond do
      Catalog.own?(tool) ->
        subject(call.name, args, call)

      # Its handler is code of the project in the project's VM, whatever it says of itself.
      Definition.offered?(tool) ->
        with {:ok, root} <- Workspace.root(call.context), do: plain(call, args, reached(root, :all))

      true ->
        plain(call, args, by_hints(tool, :declared))
    end
  end

  defp indented(text), do: text |> String.split("\n") |> Enum.map_join("\n", &("  " <> &1))

  defp subject(name, %{"command" => line} = args, call) when name in ["bash_execute", "bash_background"] do
    with {:ok, root} <- Workspace.root(call.context),
         {:ok, judged} <-
           Project.Line.prepare(name, line, args["working_directory"], call.context, deadline()) do
      options = judged.options
      what(judged.shown, options[:cd], reached(root, options[:network], options[:confinement]))
    end
  end

  defp subject("mix_task", %{"task" => task} = args, call) do
    env = args["env"] || "dev"

    with {:ok, root} <- Workspace.root(call.context),
         arguments = Project.Mix.from_root(args["args"] || [], root),
         {:ok, facts} <- Project.Mix.facts(root, env, deadline()),
         :ok <- Project.Mix.approve(task, arguments, env, facts) do
      what(
        "MIX_ENV=#{env} " <> words(["mix", task | arguments]),
        root,
        reached(root, Config.get(:mix_network))
      )
    end
  end

  defp subject("run_exunit", args, call) do
    with {:ok, root} <- Workspace.root(call.context),
         {:ok, arguments} <- RunExunit.line(args, root) do
      line = words(["mix", "test" | arguments])
      what("MIX_ENV=test " <> line, root, reached(root, Config.get(:mix_network)))
    end
  end

  # Compiling runs mix.exs and the project's macros, and starting runs the rest of it.
  defp subject("restart_project", _args, call) do
    with {:ok, root} <- Workspace.root(call.context) do
      what("end the project's VM, compile the project, and start it anew", root, reached(root, :all))
    end
  end

  defp subject("kill_shell", args, call) do
    plain(call, args, "It ends that background shell with everything that it started, and writes nothing.")
  end

  defp subject(_name, args, call), do: plain(call, args, by_hints(call.tool, :own))

  defp plain(call, args, reach) do
    with {:ok, root} <- Workspace.root(call.context),
         {:ok, json} <- JSON.encode(args),
         do: what("#{call.name} #{json}", root, reach)
  end

  defp what(shown, folder, reach), do: {:ok, %{shown: shown, folder: folder, reach: reach}}

  defp deadline, do: Deadline.new(nil, @time_ms, @time_ms)

  defp by_hints(%{hints: %{read_only: true}}, :own), do: "It runs no command and writes nothing."
  defp by_hints(%{hints: %{read_only: true}}, :declared), do: "It declares that it changes nothing."
  defp by_hints(%{hints: _hints}, _whose), do: "It may run commands, and change what it reaches."

  defp reached(root, network), do: reached(root, network, Config.get(:command_confinement))

  # Nothing holds it to what it was given.
  defp reached(_root, _network, :off) do
    "It may write whatever the person may who started this server; network: all; confined by the kernel: no."
  end

  defp reached(root, network, confinement) do
    added = Enum.map(Project.Places.written(root), &", #{Visible.escape(&1)}")

    "It may write the project#{added} and the caches of its build tools; network: #{network(network)}; confined by the kernel: " <>
      confined(confinement) <> "."
  end

  defp network(:none), do: "none"
  defp network(:all), do: "all"
  defp network({:ports, ports}), do: "the ports #{Enum.join(ports, ", ")}"

  defp confined(:required), do: "yes, or it does not run"
  defp confined(_best_effort), do: "as far as this machine can"

  defp words(argv), do: Enum.map_join(argv, " ", &word/1)

  defp word(word) do
    if word =~ ~r/\A[A-Za-z0-9_\/.:=@+,%^-]+\z/,
      do: word,
      else: "'" <> String.replace(word, "'", "'\\''") <> "'"
  end
end
