defmodule JidoCode.Tools.Operation do
  @moduledoc """
  What every handler's `execute/2` has in common: check the arguments, do the work, turn an error into text, emit one
  event.

      def execute(args, context), do: Operation.run(Operation.of(__MODULE__), args, context, &read/2)

  A specification, which `of/1` takes from a handler's definition, has these keys:

    * `:definition` - the tool's definition, by which `JidoCode.Tools.Arguments` checks the call
    * `:event` - one of `JidoCode.Tools.Telemetry.events/0`, in the family `:elixir`, `:search` or `:shell`; nil for none
    * `:label` - what the event calls the work: `{:argument, name}` or a fixed text
    * `:at_node` - optional, true, `:files` or `:compiled` for a tool that looks at a running system: with a node under `:node` in the context
      its handler is run there instead, see `JidoCode.Tools.Remote`
    * `:format_error` - optional, `(reason, label) -> text`; by default the words of `JidoCode.Tools.Handlers.Elixir.format_error/2`

  The work is a function of the checked arguments (defaults filled in) and the context. It answers

    * `{:ok, result}`
    * `{:timeout, result}` - a useful answer, though time ran out; the caller gets `{:ok, result}`
    * `{:error, reason}` - `:timeout` and `{:timeout, text}` count as a timeout in the event

  The event's figure is `result["exit_code"]` or 0 when the work succeeded and 1 when it did not (-1 for `:shell`); for
  `:search` it is `result["count"]` or 0. A call whose arguments are refused emits nothing. Work that raises, throws or
  exits becomes an error: a handler must be safe under an executor that is linked to it.
  """

  alias JidoCode.Tools.{Arguments, Definition, Failure, ProjectVM, Remote, Shortened, Telemetry, Visible}

  # Labels come from the model and go to whoever listens.
  @max_label 100

  @type result :: %{String.t() => term()}
  @type work ::
          (args :: map(), context :: map() ->
             {:ok, result()} | {:timeout, result()} | {:error, term()})
  @type spec :: %{
          required(:definition) => Arguments.definition(),
          required(:event) => Telemetry.event() | nil,
          required(:label) => {:argument, String.t()} | String.t(),
          optional(:at_node) => boolean() | :files | :compiled,
          optional(:format_error) => (term(), String.t() -> String.t())
        }

  @doc "The specification of a handler's work, by its definition."
  @spec of(module()) :: spec()
  def of(handler) do
    definition = Definition.of(handler)

    %{
      definition: definition,
      event: event(definition.event),
      label: definition.label,
      at_node: definition.at_node
    }
  end

  defp event({family, operation}), do: [:jido_code, family, operation]
  defp event(nil), do: nil

  @doc "Runs the work of one tool call."
  @spec run(spec(), term(), map(), work()) :: {:ok, result()} | {:error, String.t()}
  def run(spec, args, context, work) do
    with {:ok, checked} <- Arguments.check(spec.definition, args) do
      started = System.monotonic_time()
      label = label(spec.label, checked)
      outcome = spec |> at(context, work) |> attempt(checked, context)
      emit(spec.event, started, label, context, outcome)
      outcome |> answer(label, spec) |> visible() |> noted(Arguments.cuts(spec.definition, args))
    end
  end

  defp noted({:ok, result}, [_ | _] = cuts) do
    {:ok, Map.update(result, "note", Enum.join(cuts, " "), &Enum.join([&1 | cuts], " "))}
  end

  defp noted(answer, _cuts), do: answer

  # A refusal quotes the arguments, which may hold what moves a terminal's cursor or turns round what is read.
  defp visible({:error, text}), do: {:error, Visible.lines(text)}
  defp visible(answer), do: answer

  @doc """
  Emits an operation's event, if it has one. `started` is `System.monotonic_time/0` in native units.
  """
  @spec emit(
          Telemetry.event() | nil,
          integer(),
          String.t(),
          map(),
          {:ok | :timeout, result()} | {:error, term()}
        ) :: :ok
  def emit(event, started, label, context, outcome)

  def emit(nil, _started, _label, _context, _outcome), do: :ok

  def emit([:jido_code, family, _operation] = event, started, label, context, outcome) do
    duration = System.convert_time_unit(System.monotonic_time() - started, :native, :microsecond)
    {[:duration, figure], [labelled | _same]} = Definition.event_fields()[family]

    Telemetry.execute(event, %{figure => figure(figure, family, outcome), duration: duration}, %{
      labelled => Shortened.label(label, @max_label),
      status: status(outcome),
      session_id: session_id(context)
    })
  end

  # Where the work is done: there by the node's own library, or here on what the node lets be seen. The place of an MCP server's
  # project is a VM that is no node.
  defp at(%{at_node: at_node} = spec, %{node: %place{} = node}, work)
       when at_node != false and place in [Remote, ProjectVM] do
    fn args, context -> place.call(node, spec.definition, work, args, Map.delete(context, :node)) end
  end

  defp at(%{at_node: at_node}, %{node: node}, _work) when at_node != false and node != nil do
    fn _args, _context -> {:error, "The context's :node must come from JidoCode.Tools.Remote.new/2"} end
  end

  defp at(_spec, _context, work), do: work

  defp attempt(work, args, context) do
    work.(args, context)
  rescue
    # The message of an exception may quote the data at hand; its kind is enough for the model.
    exception -> {:error, {:failed, inspect(exception.__struct__)}}
  catch
    :throw, _value -> {:error, {:failed, "uncaught throw"}}
    :exit, _reason -> {:error, {:failed, "exit"}}
  end

  defp answer({kind, result}, _label, _spec) when kind in [:ok, :timeout], do: {:ok, result}
  defp answer({:error, text}, _label, _spec) when is_binary(text), do: {:error, text}

  defp answer({:error, {:timeout, text}}, _label, _spec) when is_binary(text), do: {:error, text}

  defp answer({:error, {:failed, what}}, _label, spec) do
    {:error, "#{Map.get(spec.definition, :name, "The tool")} failed unexpectedly (#{what})"}
  end

  defp answer({:error, reason}, label, spec) do
    format_error = Map.get(spec, :format_error, &Failure.format/2)

    {:error, format_error.(reason, label)}
  end

  defp answer(_nonsense, label, spec) do
    answer({:error, {:failed, "no result"}}, label, spec)
  end

  defp label({:argument, name}, args) do
    case args do
      %{^name => value} when is_binary(value) -> value
      %{} -> ""
    end
  end

  defp label(text, _args) when is_binary(text), do: text

  defp figure(:result_count, _family, {kind, %{"count" => count}}) when kind in [:ok, :timeout], do: count
  defp figure(:result_count, _family, _outcome), do: 0

  defp figure(:exit_code, _family, {kind, %{"exit_code" => code}})
       when kind in [:ok, :timeout] and is_integer(code),
       do: code

  defp figure(:exit_code, _family, {:ok, _result}), do: 0
  # A shell's command that came to no end has no code of its own.
  defp figure(:exit_code, :shell, _outcome), do: -1
  defp figure(:exit_code, _family, _outcome), do: 1

  defp status({:ok, _result}), do: :ok
  defp status({:timeout, _result}), do: :timeout
  defp status({:error, :timeout}), do: :timeout
  defp status({:error, {:timeout, _text}}), do: :timeout
  defp status(_outcome), do: :error

  defp session_id(%{session_id: session_id}), do: session_id
  defp session_id(_context), do: nil
end
