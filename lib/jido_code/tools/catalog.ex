defmodule JidoCode.Tools.Catalog do
  @moduledoc """
  The tools by name: the library's own, which are its modules with a `definition/0`, and the project's, which
  `config :jido_code_tools, tools: [MyApp.Tools.Orders]` names.

      iex> JidoCode.Tools.Catalog.names()
      ...> |> Enum.filter(&(&1 in ["ets_inspect", "fetch_elixir_docs"]))
      ["ets_inspect", "fetch_elixir_docs"]
      iex> JidoCode.Tools.Catalog.fetch("reload_module")
      :error
  """

  alias JidoCode.Tools.{Config, Definition}

  @doc "All tools in the form that a host's own structures take, in a stable order."
  @spec all() :: [map()]
  def all, do: Enum.map(definitions(), &Definition.for_host/1)

  @doc "All definitions."
  @spec definitions() :: [Definition.t()]
  def definitions, do: loaded().list

  @doc "The names of all tools."
  @spec names() :: [String.t()]
  def names, do: Enum.map(definitions(), & &1.name)

  @doc "The names in one line, for messages."
  @spec names_text() :: String.t()
  def names_text, do: Enum.join(names(), ", ")

  @doc "The definition of a tool."
  @spec fetch(String.t()) :: {:ok, Definition.t()} | :error
  def fetch(name), do: Map.fetch(loaded().by_name, name)

  @doc "A tool's parameters as a JSON Schema object; see `JidoCode.Tools.Definition.schema/1`."
  @spec schema(%{:name => String.t(), optional(any()) => any()}) :: map()
  def schema(%{name: name} = tool) do
    case fetch(name) do
      {:ok, definition} -> Definition.schema(definition)
      :error -> Definition.schema(tool)
    end
  end

  @doc false
  # {default, maximum, whether the handler keeps the time itself}; nils for a tool that is not ours.
  @spec timeout(String.t()) :: {pos_integer() | nil, pos_integer() | nil, boolean()}
  def timeout(name) do
    case fetch(name) do
      {:ok, definition} -> Definition.times(definition)
      :error -> {nil, nil, false}
    end
  end

  @doc false
  # The library's own. Found in its list of modules, so that no module below a handler has to know the handlers.
  @spec own() :: [Definition.t()]
  def own do
    Application.load(:jido_code_tools)
    {:ok, modules} = :application.get_key(:jido_code_tools, :modules)

    for(module <- modules, tool?(module), do: Definition.of(module))
    |> Enum.sort_by(&{family(&1.event), &1.name})
  end

  # A tool without an event stands behind those that have one: an atom sorts behind numbers.
  defp family(nil), do: nil

  defp family({family, _operation}), do: Enum.find_index(Definition.families(), &(&1 == family))

  @doc false
  # The project's.
  @spec declared() :: [Definition.t()]
  def declared, do: Enum.reject(definitions(), &own?/1)

  @doc false
  # Whether it is one of the library's.
  @spec own?(Definition.t()) :: boolean()
  def own?(%{handler: handler}), do: handler?(handler)

  defp handler?(module), do: match?("Elixir.JidoCode.Tools.Handlers." <> _, Atom.to_string(module))

  defp tool?(module),
    do: handler?(module) and Code.ensure_loaded?(module) and function_exported?(module, :definition, 0)

  @doc false
  # The definition that a handler was taken in with. Only one that was never taken in is asked for its definition: a later answer
  # of `definition/0` was not checked, and must not change what was.
  @spec held(module()) :: Definition.t()
  def held(handler) do
    case :persistent_term.get(__MODULE__, nil) do
      %{by_handler: %{^handler => definition}} -> definition
      _never_taken_in -> Definition.of(handler)
    end
  end

  @doc false
  # Takes in the project's tools. Raises `ArgumentError` for one that can't be offered, and changes nothing then.
  @spec load!() :: :ok
  def load! do
    list = Enum.reduce(Config.get(:tools), own(), &(&2 ++ [checked!(&1, &2)]))
    :persistent_term.put(__MODULE__, index(list))
  end

  defp checked!(handler, known) do
    case Definition.checked(handler) do
      {:ok, definition} -> free!(definition, known)
      {:error, problems} -> refuse!(handler, problems)
    end
  end

  # No other tool may have the name.
  defp free!(definition, known) do
    case Enum.find(known, &(&1.name == definition.name)) do
      nil -> definition
      other -> refuse!(definition.handler, ["the name #{other.name} is taken by #{inspect(other.handler)}"])
    end
  end

  @spec refuse!(module(), [String.t()]) :: no_return()
  defp refuse!(handler, problems) do
    raise ArgumentError,
          "config :jido_code_tools, :tools: #{inspect(handler)} can't be a tool: #{Enum.join(problems, "; ")}"
  end

  # Not there where the application was never started, as when the library is compiled.
  defp loaded, do: :persistent_term.get(__MODULE__, nil) || index(own())

  defp index(list) do
    list = Enum.reject(list, & &1.launcher?)
    %{list: list, by_name: Map.new(list, &{&1.name, &1}), by_handler: Map.new(list, &{&1.handler, &1})}
  end
end
