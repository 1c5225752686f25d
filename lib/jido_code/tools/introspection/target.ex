defmodule JidoCode.Tools.Introspection.Target do
  @moduledoc false
  # The process that a model's text means.

  alias JidoCode.Tools.Introspection.{At, Literal, Names, Ownership, Reach}

  @doc """
  The process that is meant, or the text of what is wrong with it. `what` and `noun` name the thing in the text: "Process"
  and "process name".

  A name always means the process that is registered under it. With a wide reach a pid as the tools print it (`#PID<0.1.2>`,
  `<0.1.2>`), `{:via, Registry, {MyApp.Registry, key}}` and `{:global, name}` are understood too.
  """
  @spec find(String.t(), String.t(), String.t(), Reach.t()) :: {:ok, pid()} | {:error, String.t()}
  def find(text, what, noun, reach) do
    cond do
      Names.blank?(text) -> {:error, "Invalid #{noun}: it is blank or too long"}
      Names.identifier?(text) -> identified(text, what, noun, reach)
      String.starts_with?(String.trim(text), "{") -> looked_up(text, what, noun, reach)
      Ownership.blocked_name?(text) -> {:error, Ownership.explain(:blocked, what, text)}
      true -> registered(text, what, reach)
    end
  end

  defp identified(_text, _what, noun, %{wide?: false}),
    do: {:error, "Raw PIDs are not allowed; give the #{noun} it is registered under"}

  defp identified(text, what, noun, reach) do
    with {:ok, pid} when is_pid(pid) <- Literal.parse(String.trim(text), node: reach.node) do
      if node(pid) == reach.node,
        do: {:ok, pid},
        else: {:error, "#{what} not found: #{text} lives on another node, #{node(pid)}"}
    else
      _other -> {:error, "Invalid #{noun}: #{text} is not a pid; one looks like #PID<0.123.0>"}
    end
  end

  defp looked_up(text, _what, noun, %{wide?: false}) do
    {:error, "Invalid #{noun}: #{text} is not a registered name; give the #{noun} it is registered under"}
  end

  defp looked_up(text, what, noun, reach) do
    case Literal.keys(String.trim(text), node: reach.node) do
      {:ok, terms} ->
        case Enum.find_value(terms, &where(&1, reach.node)) do
          pid when is_pid(pid) and node(pid) == reach.node -> {:ok, pid}
          pid when is_pid(pid) -> {:error, "#{what} not found: #{text} lives on another node, #{node(pid)}"}
          :unknown -> {:error, not_found(what, text)}
          nil -> {:error, not_a_name(noun, text)}
        end

      {:error, :unknown_atom} ->
        {:error, not_found(what, text)}

      {:error, :syntax} ->
        {:error, not_a_name(noun, text)}
    end
  end

  defp not_a_name(noun, text) do
    "Invalid #{noun}: #{text} is not a registered name, a pid, {:via, Registry, {registry, key}} or {:global, name}"
  end

  # Other modules of via names are the project's code, which is not called.
  defp where({:global, name}, node), do: pid(At.call(node, :global, :whereis_name, [name]))
  defp where({:via, :global, name}, node), do: where({:global, name}, node)

  defp where({:via, Registry, {registry, _key} = name}, node) when is_atom(registry) do
    pid(At.call(node, Registry, :whereis_name, [name]))
  rescue
    # There is no such registry, or no Elixir.
    _error in [ArgumentError, UndefinedFunctionError] -> :unknown
  end

  defp where(_other, _node), do: nil

  defp pid(pid) when is_pid(pid), do: pid
  defp pid(_undefined), do: :unknown

  defp registered(text, what, %{node: node}) do
    found = text |> Names.atoms(node) |> Enum.map(&At.call(node, :erlang, :whereis, [&1]))

    case {Enum.find(found, &is_pid/1), Enum.find(found, &is_port/1)} do
      {nil, nil} ->
        {:error, not_found(what, text)}

      {nil, port} ->
        {:error, "#{what} not found: #{text} is the name of a port, #{inspect(port)}, not of a process"}

      {pid, _port} ->
        {:ok, pid}
    end
  end

  @doc "The text for a name under which nothing is registered, or a pid of nobody."
  @spec not_found(String.t(), String.t()) :: String.t()
  def not_found(what, text) do
    if Names.identifier?(text),
      do: "#{what} not found: #{text} has ended, or never ran on this node",
      else: "#{what} not found: #{text} is not registered on this node"
  end
end
