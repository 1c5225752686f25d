defmodule JidoCode.Tools.Handlers.Elixir.Logs do
  @moduledoc false
  # The `get_logs` tool: the last events of the VM's own logger. The result has these keys:
  #
  #   "events"     newest last: "number", "time" (UTC), "level", "process", and where known "where" (module, function, file and
  #                line), "application"; "text"
  #   "follow_up"  what the next call's parameter takes to get only what is newer; a call that has one gets the oldest of that
  #   "note"       only when there is something to say

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.Introspection.{Bounded, LogRing, Reach}
  alias JidoCode.Tools.{Answers, Operation, Shortened}

  @levels ~w(debug info notice warning error critical alert emergency)

  @timeout_ms 5_000
  @heap_words 8_000_000

  # Characters of all texts, and of one while others wait.
  @max_characters 24_000
  @max_event 4_000

  # Steps that a regular expression may take on one text; a careless one would otherwise take for ever.
  @match_limit 50_000

  @units %{"s" => 1, "m" => 60, "h" => 3_600, "d" => 86_400}

  @impl true
  def definition do
    %{
      name: "get_logs",
      title: "Read the log",
      summary: "the last events that the project's VM logged, crash reports included",
      tier: :privileged,
      hints: :looks,
      text: &Answers.Logs.text/1,
      event: {:elixir, :get_logs},
      label: {:argument, "text"},
      at_node: true,
      timeout_ms: 10_000,
      description:
        "Show the last log events of the running system, newest last, with time, level, process, place in the code and text; " <>
          "crash reports are readable. The first thing to look at after an error. Filters can be combined. " <>
          "follow_up takes the number that an earlier answer gave and shows only what came since.",
      parameters: [
        %{
          name: "level",
          type: :string,
          required: false,
          enum: @levels,
          default: "debug",
          description: "Lowest level to show: warning shows warnings and errors (default: debug)"
        },
        %{name: "text", type: :string, required: false, description: "Only events that contain this text"},
        %{
          name: "regex",
          type: :string,
          required: false,
          description: "Only events that match this regular expression (PCRE)"
        },
        %{
          name: "since",
          type: :string,
          required: false,
          description: "Only newer events: 30s, 5m, 2h, 1d ago, or a time as 2026-01-31T12:00:00Z"
        },
        %{
          name: "process",
          type: :string,
          required: false,
          description: "Only events of this process: a registered name or #PID<0.1.2>"
        },
        %{
          name: "limit",
          type: :integer,
          required: false,
          default: 50,
          minimum: 1,
          maximum: 500,
          beyond: :cut,
          description: "How many events at most (default: 50, max: 500)"
        },
        %{
          name: "follow_up",
          type: :integer,
          required: false,
          minimum: 0,
          description: "Only events after this number, which an earlier answer gave as follow_up"
        }
      ]
    }
  end

  @doc "Runs the tool."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context), do: Operation.run(Operation.of(__MODULE__), args, context, &read/2)

  defp read(args, context) do
    with :ok <- kept(Reach.of(context).node),
         {:ok, since} <- since(args["since"]),
         {:ok, regex} <- regex(args["regex"]) do
      keep? =
        &(level?(&1, args["level"]) and newer?(&1, since) and of?(&1, args["process"]) and
            says?(&1, args["text"], regex))

      look = fn -> {:ok, look(args["follow_up"], args["limit"], keep?)} end

      words = %{
        timeout: "Reading the log took too long; a simpler regex is faster",
        too_large: "The log can't be read: too much data"
      }

      Bounded.answer(look, words, timeout: @timeout_ms, heap_words: @heap_words)
    end
  end

  # Lent modules have no ring: it takes the library's application, and time to fill. The ring of this node is no other's.
  defp kept(node) do
    if node == node() and LogRing.kept?(),
      do: :ok,
      else: {:error, "This node does not keep its log for us: it would have to run jido_code_tools itself"}
  end

  defp since(nil), do: {:ok, nil}

  defp since(text) do
    with [_all, number, unit] <- Regex.run(~r/\A(\d{1,6})([smhd])\z/, text) do
      {:ok, System.os_time(:microsecond) - String.to_integer(number) * @units[unit] * 1_000_000}
    else
      nil ->
        case DateTime.from_iso8601(text) do
          {:ok, time, _offset} ->
            {:ok, DateTime.to_unix(time, :microsecond)}

          {:error, _reason} ->
            {:error, "Invalid since: write 30s, 5m, 2h, 1d, or a time as 2026-01-31T12:00:00Z"}
        end
    end
  end

  defp regex(nil), do: {:ok, nil}

  defp regex(source) do
    case :re.compile(source, [:unicode]) do
      {:ok, compiled} -> {:ok, compiled}
      {:error, {why, at}} -> {:error, "Invalid regex: #{why} at character #{at}"}
    end
  rescue
    ArgumentError -> {:error, "Invalid regex: it is not text"}
  end

  defp level?(event, lowest), do: :logger.compare_levels(event.level, level(lowest)) != :lt

  for name <- @levels do
    defp level(unquote(name)), do: unquote(String.to_atom(name))
  end

  defp newer?(_event, nil), do: true
  defp newer?(event, since), do: is_integer(event.time_us) and event.time_us >= since

  defp of?(_event, nil), do: true

  # Compared as text, so that nothing is made of what was typed.
  defp of?(%{pid: pid}, typed) when is_pid(pid) do
    printed = inspect(pid)
    typed == printed or "#PID" <> typed == printed or typed == registered(pid)
  end

  defp of?(_event, _typed), do: false

  defp registered(pid) when node(pid) == node() do
    with {:registered_name, name} when is_atom(name) <- Process.info(pid, :registered_name), do: inspect(name)
  end

  defp registered(_pid), do: nil

  defp says?(event, text, regex) do
    (text == nil or String.contains?(event.text, text)) and (regex == nil or matches?(event.text, regex))
  end

  defp matches?(text, regex) do
    options = [
      :report_errors,
      {:capture, :none},
      match_limit: @match_limit,
      match_limit_recursion: @match_limit
    ]

    :re.run(text, regex, options) == :match
  end

  defp look(nil, limit, keep?) do
    {events, newest} = LogRing.events(0, limit, keep?)
    shown = fit(events, @max_characters)
    left = length(events) - length(shown)

    answer(Enum.reverse(shown), newest, [
      left > 0 && "#{left} older events are left out for their length: narrow the filters.",
      length(events) == limit && "There may be older ones: raise limit or narrow the filters."
    ])
  end

  # Whoever follows misses nothing: the oldest first, and the number of the last one that is shown.
  defp look(number, limit, keep?) do
    {events, newest} = LogRing.following(number, limit + 1, keep?)
    shown = events |> Enum.take(limit) |> fit(@max_characters)

    if length(shown) < length(events),
      do:
        answer(shown, List.last(shown)["number"], ["There are newer ones: call again with this follow_up."]),
      else: answer(shown, newest, [])
  end

  defp answer(shown, follow_up, notes) do
    notes = Enum.filter([shown == [] && "No event matches. #{kept_since()}" | notes], &is_binary/1)
    result = %{"events" => shown, "follow_up" => follow_up}
    if notes == [], do: result, else: Map.put(result, "note", Enum.join(notes, " "))
  end

  defp kept_since do
    case LogRing.oldest() do
      nil ->
        "Nothing was logged yet."

      event ->
        "The log is kept since #{time(event.time_us)}; what the logger's own level leaves out never reaches it."
    end
  end

  # The first of them, until the room is used, by their length as they are written.
  defp fit(events, room) do
    {shown, _room} =
      Enum.reduce_while(events, {[], room}, fn event, {shown, room} ->
        event = show(event)
        size = String.length(Answers.Logs.event(event)) + 1
        if size > room, do: {:halt, {shown, 0}}, else: {:cont, {[event | shown], room - size}}
      end)

    Enum.reverse(shown)
  end

  defp show(event) do
    %{
      "number" => event.number,
      "time" => time(event.time_us),
      "level" => Atom.to_string(event.level),
      "process" => inspect(event.pid),
      "text" => Shortened.block(event.text, @max_event)
    }
    |> put("where", where(event))
    |> put("application", event.application && Atom.to_string(event.application))
  end

  defp put(map, _key, nil), do: map
  defp put(map, key, value), do: Map.put(map, key, value)

  defp where(%{mfa: nil}), do: nil

  defp where(%{mfa: {module, function, arity}, place: place}) do
    call = Exception.format_mfa(module, function, arity)
    with {file, line} <- place, do: "#{call} (#{Path.relative_to_cwd(file)}:#{line})", else: (nil -> call)
  end

  defp time(microseconds) when is_integer(microseconds),
    do:
      microseconds
      |> DateTime.from_unix!(:microsecond)
      |> DateTime.truncate(:millisecond)
      |> DateTime.to_iso8601()

  defp time(_unknown), do: "?"
end
