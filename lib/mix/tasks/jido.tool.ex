defmodule Mix.Tasks.Jido.Tool do
  @shortdoc "Lists and calls the tools that work inside this project"

  @moduledoc """
  Lists and calls the tools, on this project, as it runs.

      mix jido.tool list [--json]
      mix jido.tool call NAME 'JSON' [options]
      mix jido.tool run [FILE] [options]

  The tools run in the VM of this task, where the project's code and configuration run, too: with your rights, and in no fence.
  Commands, Mix tasks and tests that a call starts run in the fence. The MCP server keeps the project's VM in it as well.

  `call` starts the project's application, makes one call and prints its result. `run` reads calls from a file or from
  standard input, one JSON object a line, `{"name": "...", "arguments": {...}}`, and answers each as it comes; all calls of a run
  share one session, with its rate limits and its audit trail.

      mix jido.tool call fetch_elixir_docs '{"module": "Enum", "function": "chunk_every"}'
      mix jido.tool call get_process_state '{"process": "MyApp.Worker"}' --tier privileged
      mix jido.tool call ets_inspect '{"operation": "list"}' --consent ets_inspect --audit
      mix jido.tool call inspect_supervisor '{"supervisor": "MyApp.Supervisor"}' --tier privileged --node my_app@localhost

  ## Options

    * `--json` - prints JSON for machines, a line a result: `{"name", "ok", "status", "result" or "error", "duration_us"}`
    * `--audit` - prints the audit trail at the end
    * `--audit-file FILE` - writes it to this file as well, each entry before its call is answered; see `mix jido.audit`
    * `--repository` - where the project is a part of a git repository, commands read and write all of it; otherwise git lines that
      change more than the project are refused
    * `--no-start` - does not start the project's application; there is little to inspect then, except on another node. With
      `--node` it is started only by `--start`

  What this run may do, and where:

  #{JidoCode.Tools.Doors.SessionOptions.help()}
  `config :jido_code_tools, session_options: [tier: :privileged, consent: ["mix_task"], node: "shop@localhost"]` sets these for a
  project, with the same names and `_` for `-`. The command line wins over it, one option at a time.

  Results go to standard output; everything that Mix, the project and its logs print goes to standard error.

  ## Exit status

  0 when every call succeeded, 1 when one failed or was denied, 2 when the command line or the input could not be
  understood.
  """

  use Mix.Task

  alias JidoCode.Tools.{Answers, Catalog, JSON, SecureExecutor}
  alias JidoCode.Tools.Doors.{Console, SessionOptions, Trail}
  alias JidoCode.Tools.Project.Places
  alias JidoCode.Tools.Security.AuditLogger

  @switches [json: :boolean, audit: :boolean, audit_file: :string, repository: :boolean, start: :boolean]

  # The longest line that `run` reads.
  @max_line 10_000_000

  @impl true
  def run(argv), do: Console.helped?(argv, "jido.tool") || understand(argv)

  defp understand(argv) do
    case OptionParser.parse(argv, strict: @switches ++ SessionOptions.switches()) do
      {opts, arguments, []} ->
        dispatch(arguments, opts)

      {_opts, _arguments, [{switch, _value} | _rest]} ->
        usage("unknown option, or one without its value: #{switch}")
    end
  end

  defp dispatch(["list"], opts), do: list(opts)
  defp dispatch(["call", name], opts), do: dispatch(["call", name, "{}"], opts)

  defp dispatch(["call", name, json], opts) do
    with_session(opts, fn session -> [call(session, name, json)] end)
  end

  defp dispatch(["run"], opts), do: dispatch(["run", "-"], opts)

  defp dispatch(["run", file], opts) do
    with_session(opts, fn session ->
      file |> lines() |> Stream.map(&call_line(session, &1)) |> Enum.reject(&(&1 == :blank))
    end)
  end

  defp dispatch([], _opts), do: usage("nothing to do")
  defp dispatch([word | _rest], _opts), do: usage("can't make sense of: #{word}")

  defp list(opts) do
    # The library's own application knows the tools; the project need not run.
    start(Keyword.merge(opts, start: false, trail: false))

    for definition <- Catalog.all() do
      if opts[:json], do: print_json(described(definition)), else: print_described(definition)
    end

    :ok
  end

  defp described(definition) do
    %{
      "name" => definition.name,
      "description" => definition.description,
      "inputSchema" => Catalog.schema(definition)
    }
  end

  defp print_described(definition) do
    IO.puts([definition.name, "\n  ", definition.description])

    for parameter <- definition.parameters do
      kind = if parameter.required, do: "required", else: "optional"
      allowed = if parameter[:enum], do: [" One of: ", Enum.join(parameter.enum, ", "), "."], else: []
      IO.puts(["    ", parameter.name, " (#{parameter.type}, #{kind}): ", parameter.description, allowed])
    end

    IO.puts("")
  end

  defp with_session(opts, calls) do
    context = context(opts)
    start(opts)
    Trail.begin(context)
    results = calls.(%{context: context, json?: Keyword.get(opts, :json, false)})
    if opts[:audit], do: audit(context.session_id, opts)
    SecureExecutor.end_session(context.session_id)
    Trail.finish()
    SessionOptions.close(context)
    finish(results)
  end

  defp context(opts) do
    defaults = %{session_id: "cli-#{System.pid()}", project_root: File.cwd!()}

    case SessionOptions.context(opts, defaults) do
      {:ok, context} -> context
      {:error, problem} -> usage(problem)
    end
  end

  defp start(opts) do
    Console.quietly(fn ->
      Console.logs_to_stderr()

      for {option, key} <- [audit_file: :audit_file, repository: :command_repository],
          value = opts[option],
          do: Application.put_env(:jido_code_tools, key, value, persistent: true)

      Mix.Task.run(if(SessionOptions.start?(opts), do: "app.start", else: "app.config"))
      if opts[:trail] == false, do: Application.put_env(:jido_code_tools, :audit_file, nil, persistent: true)
      {:ok, _started} = Application.ensure_all_started(:jido_code_tools)
      Places.take_path_dependencies(File.cwd!())
    end)
  end

  defp call(session, name, json) do
    case JSON.decode(json) do
      {:ok, args} when is_map(args) ->
        make(session, name, args)

      {:ok, _other} ->
        unreadable(session, name, "The arguments must be a JSON object, like #{example(name)}")

      {:error, message} ->
        unreadable(session, name, "The arguments are not JSON (#{message}). They look like #{example(name)}")
    end
  end

  defp call_line(session, line) do
    case String.trim(line) do
      "" -> :blank
      line -> decoded_line(session, line)
    end
  end

  defp decoded_line(session, line) do
    case JSON.decode(line) do
      {:ok, %{"name" => name} = call} when is_binary(name) ->
        case Map.get(call, "arguments", %{}) do
          args when is_map(args) -> session |> asked(name, args) |> make(name, args)
          _other -> unreadable(session, name, "\"arguments\" must be a JSON object, like #{example(name)}")
        end

      {:ok, _other} ->
        unreadable(session, "?", ~s(A line must be {"name": "...", "arguments": {...}}))

      {:error, message} ->
        unreadable(session, "?", "The line is not JSON (#{message})")
    end
  end

  # Above its answer, so that a run of many reads like a conversation.
  defp asked(%{json?: true} = session, _name, _args), do: session

  defp asked(session, name, args) do
    with {:ok, json} <- JSON.encode(args), do: IO.puts(["> ", name, " ", json])
    session
  end

  defp example(name) do
    with {:ok, definition} <- Catalog.fetch(name),
         required = for(parameter <- definition.parameters, parameter.required, do: {parameter.name, "..."}),
         {:ok, json} <- JSON.encode(Map.new(required)) do
      json
    else
      _other -> ~s({"name": "value"})
    end
  end

  defp make(session, name, args) do
    call = name |> SecureExecutor.new(args, session.context) |> SecureExecutor.execute()
    shown = %{"name" => name, "status" => Atom.to_string(call.status), "duration_us" => call.duration_us}
    report(session, shown, call.result, call.tool)
  end

  defp unreadable(session, name, message) do
    report(session, %{"name" => name, "status" => "unreadable", "duration_us" => 0}, {:error, message})
    :unreadable
  end

  defp report(session, shown, result, tool \\ nil)

  defp report(%{json?: true}, shown, {:ok, value}, _tool),
    do: done(Map.merge(shown, %{"ok" => true, "result" => value}))

  defp report(%{json?: true}, shown, {:error, text}, _tool),
    do: done(Map.merge(shown, %{"ok" => false, "error" => text}))

  defp report(_session, shown, {:ok, value}, tool) do
    IO.puts([shown["name"], ": ok in ", milliseconds(shown["duration_us"])])
    IO.puts(tool |> Answers.text(value) |> indented())
    :ok
  end

  defp report(_session, shown, {:error, text}, _tool) do
    IO.puts([shown["name"], ": ", shown["status"]])
    IO.puts(text |> to_text() |> indented())
    :failed
  end

  defp done(%{"ok" => ok} = shown) do
    print_json(shown)
    if ok, do: :ok, else: :failed
  end

  defp print_json(term) do
    case JSON.encode(term) do
      {:ok, json} -> IO.puts(json)
      {:error, message} -> IO.puts(:stderr, "The result can't be written as JSON: #{message}")
    end
  end

  defp to_text(text) when is_binary(text), do: text
  defp to_text(term), do: inspect(term)

  defp indented(text) do
    text
    |> IO.iodata_to_binary()
    |> String.trim_trailing()
    |> String.split("\n")
    |> Enum.map_intersperse("\n", &if(&1 == "", do: "", else: ["  ", &1]))
    |> then(&[&1, "\n"])
  end

  defp milliseconds(us), do: "#{Float.round(us / 1000, 1)} ms"

  defp audit(session_id, opts) do
    entries = AuditLogger.get_audit_log(session_id, order: :asc)

    for entry <- entries do
      if opts[:json] do
        print_json(%{"audit" => %{entry | timestamp: DateTime.to_iso8601(entry.timestamp)}})
      else
        hash = entry.args_hash || "-"
        time = Calendar.strftime(entry.timestamp, "%H:%M:%S")

        confined = if entry.confinement, do: ["  confined: ", entry.confinement], else: []

        IO.puts([
          "audit #{entry.id}  #{time}  #{AuditLogger.plain(entry.tool)}  #{entry.status}  #{entry.duration_us} us  args #{hash}",
          confined
        ])
      end
    end

    unless opts[:json], do: IO.puts(["the chain of digests ", verified(AuditLogger.verify())])
  end

  defp verified({:ok, %{head: head}}), do: "verifies, its head is #{String.slice(head, 0, 16)}"
  defp verified({:error, {kind, id}}), do: "is broken at entry #{id} (#{kind})"

  # "run -" reads standard input as it comes, so that each call is answered before the next is sent.
  defp lines("-"), do: IO.stream(:stdio, :line) |> Stream.map(&bounded/1)

  defp lines(file) do
    case File.stat(file) do
      {:ok, %{type: :regular}} -> file |> File.stream!() |> Stream.map(&bounded/1)
      {:ok, %{type: type}} -> usage("#{file} is a #{type}, not a file of calls")
      {:error, reason} -> usage("can't read #{file}: #{:file.format_error(reason)}")
    end
  end

  defp bounded(line) when byte_size(line) <= @max_line, do: line
  defp bounded(_line), do: usage("a line is longer than #{@max_line} bytes")

  defp finish(results) do
    cond do
      :unreadable in results -> exit({:shutdown, 2})
      :failed in results -> exit({:shutdown, 1})
      true -> :ok
    end
  end

  @spec usage(String.t()) :: no_return()
  defp usage(problem) do
    IO.puts(:stderr, """
    mix jido.tool: #{problem}

      mix jido.tool list [--json]
      mix jido.tool call NAME 'JSON' [--json] [--audit] [--no-start] [SESSION]
      mix jido.tool run [FILE] [the same options]

    SESSION: #{SessionOptions.usage()}

    mix help jido.tool says more.\
    """)

    exit({:shutdown, 2})
  end
end
