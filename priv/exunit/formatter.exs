defmodule JidoCode.Tools.ExUnitFormatter do
  @moduledoc false
  # An ExUnit formatter that tells what happens, as it happens: a run that is ended early still tells which tests were done and
  # which one was running. It is compiled by the project's own Elixir when the tests start, so it depends on nothing but ExUnit
  # and priv/channel.exs, which is put before it, and keeps to what Elixir 1.14 has.
  #
  # A line of the channel is one event. What a test prints goes elsewhere.

  use GenServer

  @max_text 4_000

  @impl true
  def init(opts) do
    {:ok, %{channel: JidoCode.Tools.Channel.open(), width: Keyword.get(opts, :width, 100), counter: 0}}
  end

  @impl true
  def handle_cast({:suite_started, opts}, state) do
    write(state, %{"event" => "suite_started", "seed" => opts[:seed]})
    {:noreply, state}
  end

  def handle_cast({:test_started, %ExUnit.Test{} = test}, state) do
    # A test that is skipped or excluded is told of in the same way, with its state from the beginning.
    write(state, Map.merge(place(test), %{"event" => "test_started", "runs" => test.state == nil}))
    {:noreply, state}
  end

  def handle_cast({:test_finished, %ExUnit.Test{} = test}, state) do
    {status, failures, state} = outcome(test, state)

    event = %{
      "event" => "test_finished",
      "status" => status,
      "time_us" => test.time,
      "failures" => failures
    }

    write(state, Map.merge(place(test), event))
    {:noreply, state}
  end

  def handle_cast({:module_finished, %ExUnit.TestModule{state: {:failed, failures}} = module}, state) do
    counter = state.counter + 1
    details = details(:format_test_all_failure, module, failures, counter, state.width)
    tags = %{file: module.file}
    failed = for {kind, reason, stack} <- failures, do: failure(kind, reason, stack, tags, details)

    event = %{
      "event" => "module_failed",
      "module" => inspect(module.name),
      "file" => relative(module.file),
      "failures" => told(failed, details, "")
    }

    write(state, event)
    {:noreply, %{state | counter: counter}}
  end

  def handle_cast({:suite_finished, times}, state) do
    # A map of microseconds from 1.12 on.
    write(state, %{
      "event" => "suite_finished",
      "run_us" => times[:run],
      "async_us" => times[:async],
      "load_us" => times[:load]
    })

    {:noreply, state}
  end

  def handle_cast(:max_failures_reached, state) do
    write(state, %{"event" => "max_failures_reached"})
    {:noreply, state}
  end

  def handle_cast(_event, state), do: {:noreply, state}

  defp place(test) do
    %{
      "test" => test.name |> Atom.to_string() |> String.replace_prefix("test ", ""),
      "module" => inspect(test.module),
      "file" => relative(test.tags[:file]),
      "line" => test.tags[:line],
      "type" => to_string(test.tags[:test_type] || :test)
    }
  end

  defp outcome(%{state: nil}, state), do: {"passed", [], state}
  defp outcome(%{state: {:skipped, reason}}, state), do: {"skipped", [%{"message" => text(reason)}], state}
  defp outcome(%{state: {:excluded, _reason}}, state), do: {"excluded", [], state}
  defp outcome(%{state: {:invalid, _module}}, state), do: {"invalid", [], state}

  defp outcome(%{state: {:failed, failures}} = test, state) do
    counter = state.counter + 1
    details = details(:format_test_failure, test, failures, counter, state.width)
    failures = for {kind, reason, stack} <- failures, do: failure(kind, reason, stack, test.tags, details)
    {"failed", told(failures, details, test.logs), %{state | counter: counter}}
  end

  # What ExUnit shows is of the test as a whole, and so are the logs that it captured.
  defp told([first | others], details, logs) do
    texts =
      for {key, text} <- [{"details", details}, {"logs", logs}],
          text not in [nil, ""],
          do: {key, cut(text(text))}

    [Map.merge(first, Map.new(texts)) | others]
  end

  # Diffs of large terms may be slow or fail; a failure without its diff is better than none.
  defp details(format, of, failures, counter, width) do
    apply(ExUnit.Formatter, format, [of, failures, counter, width, fn _key, value -> value end])
  rescue
    _error -> ""
  catch
    _kind, _reason -> ""
  end

  defp failure(kind, reason, stack, tags, details) do
    %{
      "kind" => kind(kind, reason),
      "message" => message(kind, reason, stack),
      "diff" => diff(reason, details),
      "line" => line(stack, tags),
      "stacktrace" => stacktrace(stack)
    }
  end

  defp kind(:error, %ExUnit.AssertionError{}), do: "assertion"
  defp kind(:error, %struct{}), do: inspect(struct)
  defp kind({:EXIT, _pid}, _reason), do: "linked process exit"
  defp kind(kind, _reason), do: to_string(kind)

  defp message(:error, %ExUnit.AssertionError{message: message} = error, _stack) do
    code =
      if error.expr != ExUnit.AssertionError.no_value(), do: "\n" <> Macro.to_string(error.expr), else: ""

    cut(text(message) <> code)
  rescue
    _error -> cut(text(message))
  end

  defp message(kind, reason, stack) do
    cut(Exception.format_banner(kind, reason, stack))
  rescue
    _error -> "the failure's message can't be shown"
  end

  # Left and right as ExUnit prints them.
  defp diff(%ExUnit.AssertionError{left: left}, details) do
    if left == ExUnit.AssertionError.no_value() do
      nil
    else
      details
      |> String.split("\n")
      |> Enum.map(&String.trim/1)
      |> Enum.drop_while(&(not String.starts_with?(&1, "left:")))
      |> Enum.take_while(&(not String.starts_with?(&1, "stacktrace:")))
      |> Enum.join("\n")
      |> cut()
    end
  end

  defp diff(_reason, _details), do: nil

  defp line(stack, tags) when is_list(stack) do
    file = tags && tags[:file]

    found =
      Enum.find_value(stack, fn
        {_module, _function, _arity, location} when is_list(location) ->
          if file && location[:file] && Path.expand(to_string(location[:file])) == file, do: location[:line]

        _other ->
          nil
      end)

    found || (tags && tags[:line])
  end

  defp line(_stack, tags), do: tags && tags[:line]

  defp stacktrace(stack) when is_list(stack) do
    stack |> Enum.take(8) |> Enum.map(&entry/1)
  end

  defp stacktrace(_stack), do: []

  # Arguments that a stack trace may hold are data, and say little.
  defp entry({module, function, args, location}) when is_list(args),
    do: entry({module, function, length(args), location})

  defp entry(entry) do
    entry |> Exception.format_stacktrace_entry() |> cut()
  rescue
    _error -> "?"
  end

  defp relative(nil), do: nil
  defp relative(file), do: Path.relative_to_cwd(to_string(file))

  defp text(value) when is_binary(value), do: value
  defp text(value), do: inspect(value, limit: 50, printable_limit: @max_text)

  defp cut(text) do
    text = if String.valid?(text), do: text, else: inspect(text, printable_limit: @max_text)
    if String.length(text) > @max_text, do: String.slice(text, 0, @max_text) <> " [cut]", else: text
  end

  # With its time: a run that is asked to end may still finish tests, or fail them, before it does.
  defp write(%{channel: channel}, event) do
    JidoCode.Tools.Channel.tell(channel, Map.put(event, "at_ms", System.os_time(:millisecond)))
  end
end
