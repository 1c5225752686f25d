defmodule JidoCode.Tools.Handlers.Elixir.Logs do
  @moduledoc false
  # The `get_logs` tool: the last events of the VM's own logger. The result has these keys:
  #
  #   "events"     newest last: "number", "time" (UTC), "level", "text", and where known "process", "where" (module, function,
  #                file and line), "application"
  #   "follow_up"  what the next call's parameter takes to get only what is newer; a call that has one gets the oldest of that
  #   "note"       only when there is something to say

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.Introspection.{Bounded, LogProcess, LogRing, Reach}
  alias JidoCode.Tools.{Answers, Operation, Shortened, Visible}
  alias JidoCode.Tools.Security.Native

  @levels ~w(debug info notice warning error critical alert emergency)

  @timeout_ms 5_000
  @heap_words 8_000_000

  # Characters of all texts, and of one while others wait.
  @max_characters 24_000
  @max_event 4_000
  # Of a name that is quoted.
  @max_name 200

  # Events that a regular expression is tried on at once: their texts have 4 MB at most.
  @at_once 500

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
          description:
            "Only events that match this regular expression, in grep_search's syntax, at most 1,000 bytes; ^ and $ are a line's ends"
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
          description:
            "Only events of this process: #PID<0.1.2>, or a registered name or a server's module, also of one that has ended"
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
    with {:ok, lost} <- kept(Reach.of(context).node),
         {:ok, since} <- since(args["since"]),
         :ok <- regex(args["regex"]) do
      process = args["process"] && LogProcess.named(args["process"])

      keep? =
        &(level?(&1, args["level"]) and newer?(&1, since) and (process == nil or LogProcess.of?(&1, process)) and
            (args["text"] == nil or String.contains?(&1.text, args["text"])))

      narrow = &(&1 |> Stream.filter(keep?) |> matching(args["regex"]))

      words = %{
        timeout: "Reading the log took too long; narrow the filters",
        too_large: "The log can't be read: too much data"
      }

      fn -> look(args["follow_up"], args["limit"], narrow, [lost, process && nobody(process)]) end
      |> Bounded.answer(words, timeout: @timeout_ms, heap_words: @heap_words)
    end
  end

  # Lent modules have no ring: it takes the library's application, and time to fill. The ring of this node is no other's.
  defp kept(node) do
    case if(node == node(), do: LogRing.ensure(), else: :none) do
      :kept ->
        {:ok, nil}

      :put_back ->
        {:ok,
         "The handler that keeps the log had been removed and is back now: events are missing until now."}

      :none ->
        {:error, "This node does not keep its log for us: it would have to run jido_code_tools itself"}
    end
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

  defp regex(nil), do: :ok
  defp regex(source), do: with({:ok, []} <- matches(source, []), do: :ok)

  defp matches(source, texts) do
    with {:error, why} <- Native.text_matches(source, texts), do: {:error, "Invalid regex: #{why}"}
  end

  defp level?(event, lowest), do: :logger.compare_levels(event.level, level(lowest)) != :lt

  for name <- @levels do
    defp level(unquote(name)), do: unquote(String.to_atom(name))
  end

  defp newer?(_event, nil), do: true
  defp newer?(event, since), do: event.time_us >= since

  defp matching(events, nil), do: events

  defp matching(events, source) do
    events
    |> Stream.chunk_every(@at_once)
    |> Stream.flat_map(fn events ->
      case matches(source, Enum.map(events, & &1.text)) do
        {:ok, found} -> for {event, true} <- Enum.zip(events, found), do: event
        {:error, why} -> throw({:error, why})
      end
    end)
  end

  # What `process` adds to an answer without events.
  defp nobody(process) do
    if not LogProcess.known?(process) do
      name = process.typed |> Shortened.label(@max_name) |> Visible.escape()
      {:if_empty, "No process is registered as #{name}, and no event that is kept says it is of one."}
    end
  end

  defp look(nil, limit, narrow, notes) do
    newest = LogRing.newest()
    events = newest |> LogRing.preceding(0) |> narrow.() |> Enum.take(limit)
    shown = fit(events, @max_characters)
    left = length(events) - length(shown)

    answer(Enum.reverse(shown), newest, [
      left > 0 && "#{left} older events are left out for their length: narrow the filters.",
      length(events) == limit && "There may be older ones: raise limit or narrow the filters."
      | notes
    ])
  catch
    {:error, _why} = error -> error
  end

  # Whoever follows misses nothing: the oldest first, and the number of the last one that is shown.
  defp look(number, limit, narrow, notes) do
    newest = LogRing.newest()
    {number, notes} = from(number, newest, notes)
    events = number |> LogRing.following(newest) |> narrow.() |> Enum.take(limit + 1)
    shown = events |> Enum.take(limit) |> fit(@max_characters)

    if length(shown) < length(events),
      do:
        answer(shown, List.last(shown)["number"], [
          "There are newer ones: call again with this follow_up." | notes
        ]),
      else: answer(shown, newest, notes)
  catch
    {:error, _why} = error -> error
  end

  # A VM that was started anew counts from one.
  defp from(number, newest, notes) when number > newest do
    {0,
     [
       "follow_up #{number} is of an earlier start of this system, which has #{newest} events: these are from its first ones on."
       | notes
     ]}
  end

  defp from(number, _newest, notes), do: {number, notes}

  defp answer(shown, follow_up, notes) do
    notes = [shown == [] && "No event matches. #{kept_since()}" | notes]
    notes = notes |> Enum.map(&said(&1, shown)) |> Enum.filter(&is_binary/1)
    result = %{"events" => shown, "follow_up" => follow_up}
    {:ok, if(notes == [], do: result, else: Map.put(result, "note", Enum.join(notes, " ")))}
  end

  defp said({:if_empty, note}, shown), do: shown == [] && note
  defp said(note, _shown), do: note

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
      "text" => Shortened.block(event.text, @max_event)
    }
    |> put("process", event.pid && inspect(event.pid))
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

  defp time(microseconds) do
    microseconds
    |> DateTime.from_unix!(:microsecond)
    |> DateTime.truncate(:millisecond)
    |> DateTime.to_iso8601()
  end
end
