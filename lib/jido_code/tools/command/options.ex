defmodule JidoCode.Tools.Command.Options do
  @moduledoc false
  # Pure: from a command and options to the spec that the runner reads. What is wrong with a value is an error for
  # the caller, since values come from a model; an unknown option is a mistake in the tool and raises.

  alias JidoCode.Tools.Command.{Environment, Runner}
  alias JidoCode.Tools.Config

  @version 4
  @max_grace 10_000
  @max_keep 4 * 1024 * 1024

  # Of each stream that nobody set another for: its head and its tail, in bytes.
  @keep {15_000, 15_000}
  @max_channel 64 * 1024 * 1024
  # Past any use, and far from where the arithmetic of deadlines ends.
  @for_ever 100 * 365 * 24 * 3_600_000

  @limits [
    cpu_seconds: nil,
    memory_bytes: 4 * 1024 * 1024 * 1024,
    open_files: 4_096,
    file_bytes: 2 * 1024 * 1024 * 1024,
    processes: 2_048
  ]

  @defaults [
    cd: nil,
    env: [],
    timeout: 120_000,
    grace: 2_000,
    keep: @keep,
    channel: nil,
    write: [],
    read: [],
    network: :none,
    sockets: [],
    temporary: nil,
    confinement: :best_effort,
    limits: []
  ]

  @doc "The spec with all that the runner needs, and `:scratch`, the path of the private temporary folder."
  @spec spec(term(), keyword()) :: {:ok, map()} | {:error, {:invalid, String.t()}}
  def spec(command, options) do
    options = Keyword.validate!(options, @defaults)
    scratch = Runner.temporary_folder()

    {:ok,
     %{
       single?: single?(command),
       executable: executable(),
       scratch: scratch,
       request: request(command, options, scratch)
     }}
  catch
    {:invalid, text} -> {:error, {:invalid, text}}
  end

  defp request(command, options, scratch) do
    %{
      version: @version,
      plan: plan(command, cd(options[:cd])),
      cd: cd(options[:cd]),
      env: Environment.build(environment(options[:env]), scratch),
      timeout: timeout(options[:timeout]),
      grace: integer(:grace, options[:grace], 0..@max_grace),
      stdout: keep(options[:keep], :stdout),
      stderr: keep(options[:keep], :stderr),
      channel: channel(options[:channel]),
      limits: limits(options[:limits]),
      confine: confine(options)
    }
  end

  defp confine(options) do
    {temporary, holder} = temporary(options[:temporary])

    %{
      read: readable(options[:read]),
      write: paths(:write, options[:write]),
      network: network(options[:network]),
      sockets: paths(:sockets, options[:sockets] ++ Config.get(:command_sockets)),
      temporary: temporary,
      holder: holder,
      temporary_bytes: Config.get(:command_temp_bytes),
      mode: mode(options[:confinement])
    }
  end

  @spec invalid(String.t()) :: no_return()
  defp invalid(text), do: throw({:invalid, text})

  @spec invalid(term(), String.t(), term()) :: no_return()
  defp invalid(name, expected, value),
    do: invalid("expected #{name} to be #{expected}, got: #{inspect(value)}")

  defp single?([argument | _rest]), do: is_binary(argument)
  defp single?(_command), do: false

  defp executable do
    case Runner.path() do
      {:ok, path} -> path
      {:error, text} -> invalid(text)
    end
  end

  defp plan([], _cd), do: invalid("the command is empty")

  # What the command policy wrote, for the runner alone to read.
  defp plan({:line, line}, _cd) when is_binary(line), do: line

  defp plan(command, cd) when is_list(command) do
    if single?(command), do: [{:then, [stage(command, cd)]}], else: Enum.map(command, &step(&1, cd))
  end

  defp plan(command, _cd), do: invalid("the command", "a list", command)

  defp step({connector, [_ | _] = stages}, cd) when connector in [:then, :and, :or],
    do: {connector, Enum.map(stages, &stage(&1, cd))}

  defp step(step, _cd), do: invalid("a pipeline", "{:then | :and | :or, stages}", step)

  defp stage(argv, cd) when is_list(argv), do: stage(%{argv: argv}, cd)

  defp stage(%{argv: [_ | _] = argv} = stage, cd) do
    case Map.keys(stage) -- [:argv, :env, :redirect] do
      [] -> :ok
      [key | _] -> invalid("a stage", "a map of :argv, :env and :redirect", %{key => stage[key]})
    end

    %{
      argv: Enum.map(argv, &string("an argument", &1)),
      env: environment(Map.get(stage, :env, [])),
      redirect: stage |> Map.get(:redirect, []) |> Enum.map(&redirect(&1, cd))
    }
  end

  defp stage(stage, _cd), do: invalid("a stage", "a list of strings", stage)

  defp redirect({from, :same, to}, _cd) when from in 0..2 and to in 0..2, do: {from, :same, to}

  defp redirect({from, kind, path}, cd) when from in 0..2 and kind in [:read, :write, :append],
    do: {from, kind, Path.expand(string("a redirection's path", path), cd)}

  defp redirect(redirect, _cd), do: invalid("a redirection", "{descriptor, kind, target}", redirect)

  defp cd(nil), do: File.cwd!()
  defp cd(path), do: Path.expand(string(":cd", path))

  defp environment(pairs) when is_map(pairs) or is_list(pairs), do: Enum.map(pairs, &variable/1)
  defp environment(pairs), do: invalid(":env", "a map", pairs)

  defp variable({name, nil}), do: {name(name), nil}
  defp variable({name, value}), do: {name(name), string("a variable", value)}
  # The value may be a secret.
  defp variable(_pair), do: invalid("expected :env to hold pairs of a name and a value")

  defp name(name) do
    name = string("a variable's name", name)

    if name == "" or String.contains?(name, "="),
      do: invalid("a variable's name", "without =", name),
      else: name
  end

  defp string(_what, value) when is_binary(value) do
    # The system cuts strings at a NUL: what was checked would not be what is run.
    if String.contains?(value, <<0>>), do: invalid("a string of the command holds a NUL byte"), else: value
  end

  defp string(what, value), do: invalid(what, "a string", value)

  defp timeout(:infinity), do: @for_ever
  defp timeout(timeout), do: integer(:timeout, timeout, 1..@for_ever)

  defp integer(_name, value, range) when is_integer(value) do
    if value in range, do: value, else: invalid("a number", "within #{inspect(range)}", value)
  end

  defp integer(name, value, _range), do: invalid(inspect(name), "an integer", value)

  defp keep({head, tail}, _stream),
    do: {integer(:keep, head, 0..(@max_keep - 1)), integer(:keep, tail, 0..(@max_keep - 1))}

  defp keep([{_, _} | _] = streams, stream),
    do: streams |> Keyword.get(stream, @keep) |> keep(stream)

  defp keep(keep, _stream), do: invalid(":keep", "{head, tail} in bytes", keep)

  defp channel(nil), do: nil
  defp channel(bytes), do: {integer(:channel, bytes, 1..(@max_channel - 1)), 0}

  defp limits(limits) do
    defaults = Keyword.merge(@limits, Config.get(:command_limits))

    for {name, value} <- Keyword.validate!(limits, defaults), into: %{} do
      {name, value && integer(name, value, 1..@for_ever)}
    end
  end

  defp paths(_name, :all), do: nil
  defp paths(name, paths) when is_list(paths), do: Enum.map(paths, &Path.expand(string(inspect(name), &1)))
  defp paths(name, value), do: invalid(inspect(name), ":all or a list of paths", value)

  # This Erlang and Elixir lie where this VM runs from, whatever `PATH` says.
  defp readable(:all), do: nil

  defp readable(paths),
    do:
      paths(:read, paths) ++
        Enum.map(Config.get(:command_read_paths), &Path.expand/1) ++ runtime_paths()

  defp runtime_paths,
    do: [to_string(:code.root_dir()), Path.expand("..", to_string(:code.lib_dir(:elixir)))]

  defp network(mode) when mode in [:none, :all], do: mode
  defp network({:ports, ports}) when is_list(ports), do: Enum.map(ports, &integer(:network, &1, 0..65_535))
  defp network(mode), do: invalid(":network", ":none, {:ports, list} or :all", mode)

  defp temporary(nil), do: {nil, nil}
  defp temporary(%{folder: folder, holder: holder}), do: {folder, holder}
  defp temporary(path), do: {Path.expand(string(":temporary", path)), nil}

  defp mode(mode) when mode in [:required, :best_effort, :without_namespaces, :off], do: mode

  defp mode(value),
    do: invalid(":confinement", ":best_effort, :required, :without_namespaces or :off", value)
end
