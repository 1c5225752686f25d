defmodule JidoCode.Tools.Introspection.Names do
  @moduledoc false
  # Names that a model typed, turned into atoms that exist. No atom is ever made from input.
  #
  # `"MyApp.Worker"`, `"Elixir.MyApp.Worker"`, `":my_worker"`, `"my_worker"` and Erlang's `"'my worker'"` are all understood.

  alias JidoCode.Tools.Introspection.{At, Literal, Ownership, Reach}

  # An atom has 255 characters at most, of four bytes at most.
  @max_bytes 1_020

  @doc """
  The existing atoms that a text may mean, the likeliest first.

      iex> "Enum" |> JidoCode.Tools.Introspection.Names.atoms() |> hd()
      Enum
      iex> JidoCode.Tools.Introspection.Names.atoms(":kernel")
      [:kernel]
      iex> JidoCode.Tools.Introspection.Names.atoms("no such name anywhere")
      []
  """
  @spec atoms(String.t(), node()) :: [atom()]
  def atoms(text, node \\ node()) do
    case trim(text) do
      ":" <> name -> all_existing([unquote_name(name)], node)
      "'" <> _ = name -> all_existing([unquote_name(name)], node)
      "Elixir." <> _ = name -> all_existing([name], node)
      <<first, _::binary>> = name when first in ?A..?Z -> all_existing(["Elixir." <> name, name], node)
      name -> all_existing([name, "Elixir." <> name], node)
    end
  end

  @doc "The atom of exactly this text, if there is one on the node."
  @spec existing(String.t(), node()) :: {:ok, atom()} | :error
  def existing(name, node \\ node()) do
    {:ok, At.call(node, :erlang, :binary_to_existing_atom, [name, :utf8])}
  catch
    :error, %At.Lost{} = lost -> raise lost
    # No such atom, or longer than any; caught raw, because making an exception of it takes longer than all else here.
    :error, _reason -> :error
  end

  @doc """
  The name without what may be typed before it: a colon, `Elixir.`, quotes.
  """
  @spec bare(String.t() | atom()) :: String.t()
  def bare(name) when is_atom(name), do: name |> Atom.to_string() |> bare()

  def bare(text) do
    case trim(text) do
      ":" <> name -> bare(name)
      "Elixir." <> name -> bare(name)
      "\"" <> _ = quoted -> unquote_name(quoted)
      "'" <> _ = quoted -> unquote_name(quoted)
      name -> name
    end
  end

  @doc "Whether the text is a pid, a reference or a port and not a name."
  @spec identifier?(String.t()) :: boolean()
  def identifier?(text) do
    String.starts_with?(trim(text), "#") or (String.contains?(text, "<") and String.contains?(text, "."))
  end

  @doc "Whether there is nothing in the text."
  @spec blank?(String.t()) :: boolean()
  def blank?(text), do: trim(text) in ["", ":", "Elixir", "Elixir."]

  @doc """
  The process that is meant, or the text of what is wrong with it. `what` and `noun` name the thing in the text: "Process"
  and "process name".

  A name always means the process that is registered under it. With a wide reach a pid as the tools print it (`#PID<0.1.2>`,
  `<0.1.2>`), `{:via, Registry, {MyApp.Registry, key}}` and `{:global, name}` are understood too.
  """
  @spec find_process(String.t(), String.t(), String.t(), Reach.t()) :: {:ok, pid()} | {:error, String.t()}
  def find_process(text, what, noun, reach) do
    cond do
      blank?(text) -> {:error, "Invalid #{noun}: it is blank or too long"}
      identifier?(text) -> identified(text, what, noun, reach)
      String.starts_with?(trim(text), "{") -> looked_up(text, what, noun, reach)
      Ownership.blocked_name?(text) -> {:error, Ownership.explain(:blocked, what, text)}
      true -> registered(text, what, reach)
    end
  end

  defp identified(_text, _what, noun, %{wide?: false}),
    do: {:error, "Raw PIDs are not allowed; give the #{noun} it is registered under"}

  defp identified(text, what, noun, reach) do
    with {:ok, pid} when is_pid(pid) <- Literal.parse(trim(text), node: reach.node) do
      if node(pid) == reach.node,
        do: {:ok, pid},
        else: {:error, "#{what} not found: #{text} lives on another node, #{node(pid)}"}
    else
      _other -> {:error, "Invalid #{noun}: #{text} is no pid; one looks like #PID<0.123.0>"}
    end
  end

  defp looked_up(text, _what, noun, %{wide?: false}) do
    {:error, "Invalid #{noun}: #{text} is no registered name; give the #{noun} it is registered under"}
  end

  defp looked_up(text, what, noun, reach) do
    case Literal.keys(trim(text), node: reach.node) do
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
    "Invalid #{noun}: #{text} is none of a registered name, a pid, {:via, Registry, {registry, key}} and {:global, name}"
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
    found = text |> atoms(node) |> Enum.map(&At.call(node, :erlang, :whereis, [&1]))

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
    if identifier?(text),
      do: "#{what} not found: #{text} has ended, or never ran on this node",
      else: "#{what} not found: #{text} is not registered on this node"
  end

  @doc "An atom as a person writes it: `MyApp.Worker`, `:my_worker`."
  @spec show(atom()) :: String.t()
  def show(atom), do: Macro.inspect_atom(:literal, atom)

  @doc "An atom as the tools take it for a name: `MyApp.Worker`, `my_worker`."
  @spec typed(atom()) :: String.t()
  def typed(atom) do
    case show(atom) do
      ":\"" <> _ = quoted -> quoted
      ":" <> name -> name
      name -> name
    end
  end

  defp trim(text), do: if(byte_size(text) > @max_bytes + 20, do: "", else: String.trim(text))

  defp unquote_name("\"" <> rest), do: String.replace_suffix(rest, "\"", "")
  defp unquote_name("'" <> rest), do: String.replace_suffix(rest, "'", "")
  defp unquote_name(name), do: name

  defp all_existing(names, node) do
    for name <- names, name != "", {:ok, atom} <- [existing(name, node)], do: atom
  end
end
