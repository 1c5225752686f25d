defmodule JidoCode.Tools.ProjectVM.OwnTools do
  @moduledoc false
  # Runs the project's own tools in the project's VM, for the VM that decides: it has checked rate, tier, consent and arguments by
  # the definition that it was offered, and redacts and records the answer. Here the handler is isolated as everywhere, and what
  # this VM knows to be secret is taken out before it travels.

  alias JidoCode.Tools.{Answers, Call, Catalog, SecureExecutor}
  alias JidoCode.Tools.ProjectVM.{Offer, Wire}

  @doc "The answer for `JidoCode.Tools.ProjectVM.Side` to send, but for its type and number."
  @spec call(%{name: String.t(), digest: String.t(), write?: boolean()}, map(), map()) :: map()
  def call(%{name: name, digest: digest, write?: write?}, args, context) do
    definition = Enum.find(Catalog.declared(), &(&1.name == name))

    if definition && Offer.digest(definition) == digest do
      definition |> run(args, context) |> answer(definition, write?)
    else
      %{"error" => "#{name} has changed since it was listed. List the tools again."}
    end
  end

  defp run(definition, args, context) do
    call = %Call{
      name: definition.name,
      tool: definition,
      handler: definition.handler,
      args: args,
      context: context,
      checked?: true
    }

    (call |> SecureExecutor.identify() |> SecureExecutor.isolate()).result
  end

  # By the project's own words where it has any, and not for whoever wants data.
  defp answer({:ok, result}, %{text: write} = definition, true) when is_function(write, 1),
    do: sendable(%{"text" => Answers.text(definition, result)}, definition)

  defp answer({:ok, result}, definition, _write?), do: sendable(%{"result" => Wire.plain(result)}, definition)
  defp answer({:error, why}, _definition, _write?), do: %{"error" => Wire.plain(why)}

  defp sendable(answer, definition) do
    if Wire.sendable?(answer),
      do: %{"ok" => answer},
      else: %{"error" => "The result of #{definition.name} is larger than 4 MB, or nests too deep to be sent"}
  end
end
