defmodule JidoCode.Tools.Host do
  @moduledoc false
  # Which code of others this library calls, decided when it starts.
  #
  # A command may write the build of the project that this VM runs in. So a module that appears later is not taken for the host's,
  # and one that was not loaded yet is loaded only from a file that has not changed since: the time of a file's last change is
  # the kernel's, and no command can set it back.

  alias JidoCode.Tools.PlainFile

  @helpers Module.concat(["JidoCode", "Tools", "HandlerHelpers"])

  # Each with a function that it must have, and the application whose further modules are loaded with it: what a call to it would
  # load later is the same question.
  @others [
    {@helpers, {:get_project_root, 1}, nil},
    {:telemetry, {:execute, 3}, :telemetry},
    {:luerl, {:encode, 2}, :luerl}
  ]

  @max_beam_bytes 50_000_000

  @doc "Looks once; before anything else of this library runs."
  @spec start() :: :ok
  def start do
    found = for {module, function, app} <- @others, there?(module, function, app), do: module
    state = %{found: found, started_ns: System.os_time(:nanosecond)}
    :persistent_term.put(__MODULE__, state)
  end

  defp there?(module, {name, arity}, app) do
    there? = Code.ensure_loaded?(module) and function_exported?(module, name, arity)

    if there? and app != nil do
      _loaded = Application.load(app)
      app |> Application.spec(:modules) |> List.wrap() |> :code.ensure_modules_loaded()
    end

    there?
  end

  @doc "Whether the host had this module when the library started."
  @spec has?(module()) :: boolean()
  def has?(module), do: module in Map.get(state(), :found, [])

  @doc "The host's own way to a session's root folder, when it has one."
  @spec helpers() :: module() | nil
  def helpers, do: Enum.find(Map.get(state(), :found, []), &(&1 == @helpers))

  @doc """
  Makes sure that a handler which the host gave is loaded. `:changed` when its file is newer than this library's start.
  """
  @spec load(module()) :: :ok | {:error, :not_found | :changed}
  def load(module) do
    if :erlang.module_loaded(module), do: :ok, else: load_unchanged(module)
  end

  # What is read is what is loaded, and not what the code server would find a moment later.
  defp load_unchanged(module) do
    folders = for folder <- :code.get_path(), do: :unicode.characters_to_binary(folder)

    with {:ok, path, _identity} <- PlainFile.find(folders, "#{module}.beam"),
         {:ok, beam, identity} <- PlainFile.read(path, @max_beam_bytes) do
      if PlainFile.changed_ns(identity) < Map.get(state(), :started_ns, 0),
        do: load_binary(module, path, beam),
        else: {:error, :changed}
    else
      _none -> {:error, :not_found}
    end
  end

  defp load_binary(module, path, beam) do
    case :code.load_binary(module, String.to_charlist(path), beam) do
      {:module, ^module} -> :ok
      {:error, _reason} -> {:error, :not_found}
    end
  end

  defp state, do: :persistent_term.get(__MODULE__, %{})
end
