defmodule JidoCode.Tools.Handlers.Elixir.TraceCalls do
  @moduledoc false
  # The `trace_calls` tool: calls of one function of the project, as they happen. The result has these keys:
  #
  #   "calls"     in their order: "process", "after_ms" (since the first), "arguments" (a list of texts), "result" or "exception", and
  #               "took_us"; without the last three the call had not ended
  #   "stopped"   "count", "time" or "rate"
  #   "took_ms"
  #   "note"      only when there is something to say
  #
  # `JidoCode.Tools.Introspection.CallTrace` says what it does to the system.

  use JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.{Answers, Operation}
  alias JidoCode.Tools.Introspection.{Bounded, CallTrace, Facts, Names, Ownership, Reach, Reference}

  @default_timeout 10_000
  @max_timeout 60_000
  @grace_ms 3_000
  @heap_words 16_000_000
  @max_characters 24_000
  @least_otp 27

  @impl true
  def definition do
    %{
      name: "trace_calls",
      title: "Trace calls",
      summary:
        "calls of one function of the project as they happen, with arguments, results and times (OTP 27 and newer)",
      tier: :privileged,
      requires_consent: true,
      hints: :looks,
      text: &Answers.Trace.text/1,
      event: {:elixir, :trace_calls},
      label: {:argument, "reference"},
      at_node: true,
      # Told before a person is asked to allow it.
      unavailable: &unavailable/1,
      description:
        "Watch calls of one function of the project in the running system: process, arguments, result or exception, and time. Ends " <>
          "after count calls or timeout milliseconds, whichever is first, and by itself when the function is called too often. Needs " <>
          "OTP 27. Arguments are copied to be shown: with very large ones set arguments to false.",
      parameters: [
        %{
          name: "reference",
          type: :string,
          required: true,
          description: "The function: MyApp.Cart.add/2, or MyApp.Cart.add for every arity"
        },
        %{
          name: "count",
          type: :integer,
          required: false,
          default: 10,
          minimum: 1,
          maximum: 100,
          beyond: :cut,
          description: "How many calls at most (default: 10, max: 100)"
        },
        %{
          name: "arguments",
          type: :boolean,
          required: false,
          default: true,
          description: "Whether to show the arguments (default: true)"
        },
        %{
          name: "timeout",
          type: :integer,
          required: false,
          default: @default_timeout,
          minimum: 100,
          maximum: @max_timeout,
          beyond: :cut,
          description:
            "How long to watch, in milliseconds (default #{@default_timeout}, maximum #{@max_timeout})"
        }
      ]
    }
  end

  @doc "Runs the tool."
  @spec execute(map(), map()) :: {:ok, map()} | {:error, String.t()}
  def execute(args, context), do: Operation.run(Operation.of(__MODULE__), args, context, &trace/2)

  defp trace(args, context) do
    with :ok <- possible(Reach.of(context).node),
         {:ok, reference} <- reference(args["reference"]),
         {:ok, function} <- function(reference),
         :ok <- own(function, reference, context) do
      options = %{count: args["count"], timeout_ms: args["timeout"], arguments?: args["arguments"]}
      work = fn -> CallTrace.run(function, options) end

      case Bounded.run(work, timeout: args["timeout"] + @grace_ms, heap_words: @heap_words) do
        {:ok, {:ok, trace}} ->
          {:ok, answer(trace)}

        {:ok, {:error, :no_function}} ->
          {:error, missing(reference)}

        {:error, :too_large} ->
          {:error,
           "Tracing stopped by itself: the arguments or results are too large. Set arguments to false"}

        {:error, _failure} ->
          {:error, "The calls can't be traced"}
      end
    end
  end

  defp possible(node) do
    cond do
      node != node() ->
        {:error, "Tracing needs jido_code_tools on the node itself: a tracer must run where the calls are"}

      CallTrace.available?() ->
        :ok

      true ->
        {:error, too_old(System.otp_release())}
    end
  end

  defp unavailable(%{node: %place{} = node}) do
    release = place.otp_release(node)
    if release != nil and release < @least_otp, do: too_old(release)
  end

  defp unavailable(_context), do: if(not CallTrace.available?(), do: too_old(System.otp_release()))

  defp too_old(release) do
    "Tracing needs OTP #{@least_otp} or newer, whose trace sessions don't interfere with other tracers; this is OTP #{release}"
  end

  defp reference(text) do
    case Reference.parse(text) do
      {:ok, %{name: name, kind: :any} = reference} when name != nil -> {:ok, reference}
      _other -> {:error, "Invalid reference: write one function, like MyApp.Cart.add/2"}
    end
  end

  defp function(reference) do
    with {:ok, module} <- Names.existing(reference.module),
         true <- :erlang.module_loaded(module),
         {:ok, name} <- Names.existing(reference.name) do
      {:ok, {module, name, reference.arity || :_}}
    else
      _unknown -> {:error, missing(reference)}
    end
  end

  defp missing(reference) do
    "Function not found: #{Reference.show(reference)} is not loaded in the running system. A macro, and a function that was " <>
      "inlined, can't be traced"
  end

  defp own({module, _name, _arity}, reference, context) do
    case Ownership.check_module(module, Ownership.scope(context)) do
      :ok -> :ok
      {:error, refusal} -> {:error, Ownership.explain(refusal, "Function", Reference.show(reference))}
    end
  end

  defp answer(trace) do
    first = with [call | _] <- trace.calls, do: call.at_ns, else: ([] -> 0)
    calls = trace.calls |> Enum.map(&show(&1, first)) |> fit(@max_characters)
    {stopped, note} = stopped(trace, length(calls))
    result = %{"calls" => calls, "stopped" => stopped, "took_ms" => trace.took_ms}
    if note, do: Map.put(result, "note", note), else: result
  end

  defp show(call, first) do
    %{"process" => Facts.show(call.pid), "after_ms" => Float.round((call.at_ns - first) / 1_000_000, 2)}
    |> put("arguments", call.arguments)
    |> put("took_us", call.took_ns && Float.round(call.took_ns / 1_000, 1))
    |> ended(call.ended)
  end

  defp put(map, _key, nil), do: map
  defp put(map, key, value), do: Map.put(map, key, value)

  defp ended(map, nil), do: map
  defp ended(map, {:returned, text}), do: Map.put(map, "result", text)
  defp ended(map, {:raised, text}), do: Map.put(map, "exception", text)

  defp fit(calls, room) do
    {fitting, _room} =
      Enum.reduce_while(calls, {[], room}, fn call, {fitting, room} ->
        size = call |> Map.values() |> List.flatten() |> Enum.map(&String.length("#{&1}")) |> Enum.sum()
        if size > room, do: {:halt, {fitting, 0}}, else: {:cont, {[call | fitting], room - size}}
      end)

    Enum.reverse(fitting)
  end

  defp stopped(%{stopped: {:rate, rate}} = trace, shown) do
    {"rate",
     "The function is called about #{rate} times a second, so tracing stopped by itself after #{trace.took_ms} ms. " <>
       cut(trace, shown)}
  end

  defp stopped(%{stopped: :time, calls: []} = trace, _shown),
    do: {"time", "It was not called within #{trace.took_ms} ms."}

  defp stopped(%{stopped: stopped} = trace, shown) do
    case cut(trace, shown) do
      "" -> {Atom.to_string(stopped), nil}
      note -> {Atom.to_string(stopped), note}
    end
  end

  defp cut(%{calls: calls}, shown) when length(calls) > shown,
    do: "#{length(calls) - shown} calls are left out for their length."

  defp cut(_trace, _shown), do: ""
end
