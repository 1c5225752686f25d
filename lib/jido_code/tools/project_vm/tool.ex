defmodule JidoCode.Tools.ProjectVM.Tool do
  @moduledoc false
  # A tool of the project's own as the VM that decides sees it: the handler of every definition that the project's VM offered
  # (`JidoCode.Tools.ProjectVM.Offer`). The work is done over there.

  alias JidoCode.Tools.{Call, CallTime, Definition, ProjectVM}

  @doc "A call of an offered tool, for `JidoCode.Tools.SecureExecutor.execute/1`."
  @spec call(Definition.t(), map(), map()) :: Call.t()
  def call(definition, args, context) do
    context = Map.put(context, :offered, definition)
    tool = %{definition | handler: __MODULE__}
    %Call{name: tool.name, tool: tool, handler: __MODULE__, args: args, context: context}
  end

  @doc "Runs the tool on arguments that were checked. The result is what its handler gives, as plain data or written as text."
  @spec execute(map(), map()) :: {:ok, term()} | {:error, String.t()}
  def execute(args, %{node: %ProjectVM{} = vm, offered: definition} = context) do
    time = CallTime.of(call(definition, args, %{}))

    case ProjectVM.call_tool(vm, definition, args, time, context) do
      {:ok, %{"text" => text} = answer} when is_binary(text) -> {:ok, noted(text, answer["note"])}
      {:ok, %{"result" => result} = answer} -> {:ok, noted(result, answer["note"])}
      {:ok, _other} -> {:error, "The project's VM gave no result for #{definition.name}"}
      {:error, {:timeout, why}} -> {:error, why}
      {:error, why} -> {:error, why}
    end
  end

  # The line's end comes with whoever prints it.
  defp noted(text, note) when is_binary(text),
    do: Enum.join([String.trim_trailing(text, "\n") | List.wrap(note)], "\n")

  defp noted(%{} = result, note) when is_binary(note),
    do: Map.update(result, "note", note, &if(is_binary(&1), do: &1 <> " " <> note, else: note))

  defp noted(result, _none), do: result
end
