defmodule JidoCode.Tools.Security.KnownSecrets do
  @moduledoc false
  # The secrets that this node already knows, handed to the native core so that they vanish from every output, whatever
  # surrounds them: verbatim and in their URL-, base64-, hex- and JSON-encoded forms.
  #
  # They come from the environment variables and the application environments: values under names that promise a secret, and
  # under any name the secret parts of URLs, of headers (`Bearer ...`) and of connection strings. Further from the Erlang
  # cookies, and from what the host registers with `JidoCode.Tools.Security.OutputSanitizer.register_secret/1`. Short or wordlike values are not taken (a development
  # password `postgres` must not vanish from every text); those are redacted beside their names only.
  #
  # The values live in the core alone, are not logged and can't be read back. They are collected anew every
  # `config :jido_code_tools, known_secrets_refresh_ms:` (default 15,000), as the environment may change.

  use GenServer

  alias JidoCode.Tools.Config
  alias JidoCode.Tools.Security.{Core, Native}

  # Fewer would stand in any text by chance.
  @min_bytes 4

  # What is nested deeper in an application's environment is not looked at.
  @max_depth 12

  # Every shell sets it. Among passwords' names it is one, too, and the project's own path would vanish from every text.
  @working_folder "PWD"

  @doc false
  @spec start_link(keyword()) :: GenServer.on_start()
  def start_link(_opts), do: GenServer.start_link(__MODULE__, [], name: __MODULE__)

  @doc false
  @spec register(String.t()) :: :ok | {:error, :blank | :too_short | :one_character}
  def register(value) do
    # White space around it belongs to the file or the line that it was read from.
    value = trim(value)

    cond do
      value == "" -> {:error, :blank}
      byte_size(value) < @min_bytes -> {:error, :too_short}
      value == String.duplicate(binary_part(value, 0, 1), byte_size(value)) -> {:error, :one_character}
      true -> Native.core_put_known(Core.default(), :keep, [value])
    end
  end

  # Of any bytes, text or not.
  defp trim(value), do: Regex.replace(~r/\A[\s\0]+|[\s\0]+\z/, value, "")

  # For the VM that runs the tools of an MCP client, when this one is the project's.
  @doc false
  @spec values() :: [String.t()]
  def values do
    Enum.uniq(cookies() ++ Enum.filter(collect(Core.default()), &String.valid?/1))
  end

  @doc "Collects now instead of at the next turn."
  @spec refresh() :: :ok
  def refresh, do: GenServer.call(__MODULE__, :refresh)

  @impl true
  def init([]) do
    collect_into(Core.default())
    schedule()
    # The state holds no secret: a crash report prints it.
    {:ok, nil}
  end

  @impl true
  def handle_call(:refresh, _from, state) do
    collect_into(Core.default())
    {:reply, :ok, state}
  end

  @impl true
  def handle_info(:refresh, state) do
    collect_into(Core.default())
    schedule()
    {:noreply, state}
  end

  def handle_info(_message, state), do: {:noreply, state}

  defp schedule do
    Process.send_after(self(), :refresh, Config.get(:known_secrets_refresh_ms))
  end

  # In a process of its own, so that the values are gone from memory with it instead of lingering in this one's heap.
  defp collect_into(core) do
    {pid, monitor} = spawn_monitor(fn -> Native.core_put_known(core, {collect(core), cookies()}, []) end)

    receive do
      {:DOWN, ^monitor, :process, ^pid, _reason} -> :ok
    end
  end

  defp collect(core) do
    environment =
      for {name, value} <- System.get_env(),
          name != @working_folder,
          secret <- secrets(core, name, value),
          do: secret

    applications =
      for {app, _description, _version} <- Application.loaded_applications(),
          {key, value} <- Application.get_all_env(app),
          secret <- walk(core, Atom.to_string(key), value, @max_depth),
          do: secret

    Enum.uniq(environment ++ applications)
  end

  # This node's, and those of the nodes that it is connected to: secret whatever they look like, as whoever has one runs any
  # code on the node. A cookie of fewer than four characters would blank out ordinary text.
  defp cookies do
    for node <- [node() | Node.list(:connected)],
        cookie = Atom.to_string(:erlang.get_cookie(node)),
        cookie != "nocookie" and byte_size(cookie) >= @min_bytes,
        uniq: true,
        do: cookie
  end

  defp walk(_core, _name, _value, 0), do: []
  defp walk(core, name, value, _depth) when is_binary(value), do: secrets(core, name, value)

  defp walk(core, name, [_ | _] = list, depth) do
    cond do
      List.improper?(list) -> []
      List.ascii_printable?(list) -> secrets(core, name, List.to_string(list))
      true -> Enum.flat_map(list, &walk(core, name, &1, depth - 1))
    end
  end

  defp walk(core, _name, {key, value}, depth) when is_atom(key) or is_binary(key),
    do: walk(core, to_string(key), value, depth - 1)

  defp walk(core, name, tuple, depth) when is_tuple(tuple),
    do: tuple |> Tuple.to_list() |> Enum.flat_map(&walk(core, name, &1, depth - 1))

  defp walk(core, name, map, depth) when is_map(map),
    do: map |> Map.to_list() |> Enum.flat_map(&walk(core, name, &1, depth - 1))

  defp walk(_core, _name, _value, _depth), do: []

  # A part of a URL has its escapes; programs print it with them and without.
  defp secrets(core, name, value) do
    for part <- Native.sanitizer_secrets_in(core, name, value),
        form <- [part, unescape(part)],
        uniq: true,
        do: form
  end

  defp unescape(text) do
    URI.decode(text)
  rescue
    ArgumentError -> text
  end
end
