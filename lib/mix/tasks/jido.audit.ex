defmodule Mix.Tasks.Jido.Audit do
  @shortdoc "Shows and verifies the audit trail of the tools"

  @moduledoc """
  Shows the file that `config :jido_code_tools, audit_file:` names: which tool was called, by which session, when, how long it took,
  how it ended, and how the kernel confined it.

      mix jido.audit                                 # the configured file
      mix jido.audit log/audit.jsonl --status blocked --since 2h
      mix jido.audit --follow                        # beside an agent at work
      mix jido.audit verify log/audit.jsonl

  ## Options

    * `--session ID`, `--tool NAME`, `--status STATUS` - only these entries; each may be given several times
    * `--since TIME`, `--until TIME` - `2026-01-31T12:00:00Z`, or how long ago: `90s`, `30m`, `2h`, `7d`
    * `--limit N` - the last N of them
    * `--follow` - goes on with new entries as they are written, starts of calls included
    * `--json` - a line of JSON for each entry, with the fields that it has in the file

  A line that is not an entry is shown as damaged (with `--json` on standard error), and those after it are read. The exit status is
  then 1, unless `--follow` was given. `--follow` goes on with the new file, and says so, when the file is moved away or truncated.

  A call has one line. One that says `started` is still running, or was cut off with its VM. `consented` is a person's consent to a tool, by the
  command line or in the conversation; `declined` and `unanswered` are a question in the conversation that got a no, or no answer.

  ## verify

  Checks that no entry was changed, removed or moved. If so, the exit status is 0 and the head is printed. Otherwise it is 1,
  and the first entry that does not fit is named, and the head up to which the trail is intact. Anyone who keeps the head of a trail
  elsewhere can check later that everything up to it is still there: `--head HEX` asks for that head.

  The chain is made with a key: `config :jido_code_tools, audit_key:`, or the one that was made in the user's folder when the
  file was first written. `--key-file FILE` takes it from elsewhere.
  """

  use Mix.Task

  alias JidoCode.Tools.{Config, JSON, PlainFile}
  alias JidoCode.Tools.Doors.Console
  alias JidoCode.Tools.Security.{AuditKey, AuditLogger, AuditTrail}

  @switches [
    session: :keep,
    tool: :keep,
    status: :keep,
    since: :string,
    until: :string,
    limit: :integer,
    follow: :boolean,
    json: :boolean,
    key_file: :string,
    head: :string
  ]

  @follow_ms 300

  @impl true
  def run(argv), do: Console.helped?(argv, "jido.audit") || understand(argv)

  defp understand(argv) do
    case OptionParser.parse(argv, strict: @switches) do
      {opts, ["verify" | rest], []} -> rest |> file() |> verify(opts)
      {opts, rest, []} -> rest |> file() |> show(opts)
      {_opts, _rest, [{option, _value} | _]} -> fail("unknown option, or one without its value: #{option}")
    end
  end

  defp file([path]), do: loaded(path)
  defp file([]), do: loaded(nil)
  defp file(_several), do: fail("give one file")

  # The project's configuration, which names the file and perhaps the key; its application is not started.
  defp loaded(path) do
    Mix.Task.run("app.config")

    path =
      path || Config.get(:audit_file) ||
        fail("no file is configured (config :jido_code_tools, audit_file:): give one")

    [identity] = PlainFile.identities([path])

    if identity == nil,
      do: fail("#{AuditLogger.plain(path)} does not exist, or is not a regular file"),
      else: path
  end

  defp verify(path, opts) do
    case AuditTrail.verify(path, key!(opts), opts[:head]) do
      {:ok, report} ->
        IO.puts("#{report.entries} entries, unchanged. The head is #{report.head}")

        if report.torn_bytes > 0,
          do:
            IO.puts(
              "The last #{report.torn_bytes} bytes are the beginning of an entry whose call was not answered."
            )

      {:damaged, text, report} ->
        IO.puts(text)
        IO.puts("The trail is intact up to entry #{report.entries}, the head #{report.head}")
        exit({:shutdown, 1})

      {:error, text} ->
        fail(text)
    end
  end

  defp key!(opts) do
    result =
      case opts[:key_file] do
        nil -> AuditKey.known()
        file -> with {:ok, key, _identity} <- PlainFile.read(file, 1_000), do: {:ok, key}
      end

    case result do
      {:ok, key} -> key
      {:error, text} -> fail("the key can't be read: #{text}")
    end
  end

  defp show(path, opts) do
    filter = filter(opts)

    case AuditTrail.read(path, AuditTrail.start()) do
      {:ok, items, place} ->
        over = for %{"of" => id} when id != nil <- items, into: MapSet.new(), do: id
        over? = &(match?(%{"status" => "started"}, &1) and &1["id"] in over)
        items |> Enum.filter(&(filter.(&1) and not over?.(&1))) |> last(opts[:limit]) |> print(opts)
        if opts[:follow], do: follow(path, place, filter, opts), else: tell_damage(items)

      {:error, text} ->
        fail(text)
    end
  end

  defp tell_damage(items) do
    case Enum.count(items, &is_tuple/1) do
      0 -> :ok
      1 -> fail("a line is damaged: it is not an entry as it was written")
      damaged -> fail("#{damaged} lines are damaged: they are not entries as they were written")
    end
  end

  # `told` is why the file can't be read, once that was said.
  defp follow(path, place, filter, opts, told \\ nil) do
    Process.sleep(@follow_ms)

    case AuditTrail.read(path, place) do
      {:ok, items, place} ->
        items |> Enum.filter(filter) |> print(opts)
        follow(path, place, filter, opts)

      {:replaced, place} ->
        note("the file was truncated or replaced: it is read from its beginning")
        follow(path, place, filter, opts)

      {:error, text} ->
        if text != told, do: note("#{text}; waiting for it")
        follow(path, place, filter, opts, text)
    end
  end

  defp last(entries, nil), do: entries
  defp last(entries, limit) when limit >= 0, do: Enum.take(entries, -limit)
  defp last(_entries, _limit), do: fail("--limit takes a number of at least 0")

  defp filter(opts) do
    given = fn name -> for {^name, value} <- opts, do: value end
    [sessions, tools, statuses] = Enum.map([:session, :tool, :status], given)
    {since, until} = {time(opts[:since], 0), time(opts[:until], nil)}

    fn
      # Damage is nobody's.
      {:damaged, _number, _line} ->
        true

      entry ->
        (sessions == [] or entry["session_id"] in sessions) and (tools == [] or entry["tool"] in tools) and
          (statuses == [] or entry["status"] in statuses) and entry["timestamp_us"] >= since and
          (until == nil or entry["timestamp_us"] <= until)
    end
  end

  @units %{"s" => 1, "m" => 60, "h" => 3_600, "d" => 86_400}

  defp time(nil, default), do: default

  defp time(text, _default) do
    case {Regex.run(~r/\A(\d{1,9})([smhd])\z/, text), DateTime.from_iso8601(text)} do
      {[_all, number, unit], _time} ->
        System.os_time(:microsecond) - String.to_integer(number) * @units[unit] * 1_000_000

      {nil, {:ok, time, _offset}} ->
        DateTime.to_unix(time, :microsecond)

      _neither ->
        fail("#{text} is neither a time (2026-01-31T12:00:00Z) nor how long ago (90s, 30m, 2h, 7d)")
    end
  end

  defp print(items, opts), do: Enum.each(items, &print_item(&1, opts[:json]))

  defp print_item({:damaged, number, line}, json?) do
    text = "line #{number} is damaged, it is not an entry: #{AuditLogger.plain(line)}"
    if json?, do: note(text), else: IO.puts(IO.ANSI.format([:red, text, :reset]))
  end

  defp print_item(entry, true) do
    {:ok, json} = JSON.encode(entry)
    IO.puts(String.replace(json, ~r/[\p{C}\x{2028}\x{2029}]/u, &escaped/1))
  end

  defp print_item(entry, _json?), do: IO.puts(IO.ANSI.format(line(entry)))

  # Characters that move a terminal's cursor or turn its text around stand in strings only.
  defp escaped(char) do
    for <<unit::16 <- :unicode.characters_to_binary(char, :utf8, :utf16)>>,
      into: "",
      do: "\\u" <> (unit |> Integer.to_string(16) |> String.pad_leading(4, "0") |> String.downcase())
  end

  defp line(entry) do
    [
      :faint,
      "#{at(entry["timestamp_us"])}  #{entry["id"]}  ",
      :reset,
      "#{shown(entry["session_id"])}  ",
      :bright,
      shown(entry["tool"]),
      :reset,
      "  ",
      colour(entry["status"]),
      shown(entry["status"]),
      :reset,
      "  #{took(entry)}",
      held(entry["confinement"])
    ]
  end

  # No calendar goes as far as the field does.
  defp at(us) do
    case DateTime.from_unix(us, :microsecond) do
      {:ok, time} -> time |> DateTime.truncate(:millisecond) |> DateTime.to_string()
      {:error, _reason} -> "#{us} us"
    end
  end

  # What is not text is written as its bytes.
  defp shown(%{"hex" => hex}), do: "bytes " <> AuditLogger.plain(hex)
  defp shown(text), do: AuditLogger.plain(text)

  defp colour("ok"), do: :green
  defp colour(status) when status in ["started", "cancelled"], do: :cyan
  defp colour(status) when status in ["granted", "consented", "revoked"], do: :magenta
  defp colour(status) when status in ["blocked", "declined", "unanswered"], do: :yellow
  defp colour(_status), do: :red

  # What no call was took no time.
  defp took(%{"status" => "consented", "args_hash" => nil}), do: "for the session"
  defp took(%{"status" => "consented"}), do: "for one call"
  defp took(%{"status" => status}) when status in ~w(granted revoked declined unanswered), do: ""
  defp took(entry), do: duration(entry["duration_us"])

  defp duration(us) when us >= 1_000_000, do: "#{Float.round(us / 1_000_000, 1)} s"
  defp duration(us) when us >= 1_000, do: "#{Float.round(us / 1_000, 1)} ms"
  defp duration(us), do: "#{us} us"

  defp held(nil), do: []
  defp held(confinement), do: ["  ", :faint, "held by: #{shown(confinement)}", :reset]

  @spec fail(String.t()) :: no_return()
  defp fail(text) do
    note(text)
    exit({:shutdown, 1})
  end

  defp note(text), do: IO.puts(:stderr, "mix jido.audit: #{text}")
end
