defmodule JidoCode.Tools.Config do
  @moduledoc """
  The library's configuration, under `config :jido_code_tools`.

  All of it is checked when the application starts. A value of the wrong shape, or a key that does not exist, stops the start
  with a message that says what is allowed: a security setting that is silently ignored would be worse than none.

  Some keys are JidoCode's as well, and are also read under `config :jido_code`, where the library's own place has nothing. A
  value of the wrong shape there may be meant for somebody else, so it does not stop the start: a warning says so, and the strictest
  value applies.

  ## Changes at run time

  A host that changes its environment while it runs (`Application.put_env/3`) calls `reload/0` afterwards. It applies the tiers,
  limits, and the policies for Mix and for command lines, all or nothing: a wrong value raises and changes nothing. Without it,
  keys that are read at each call apply from the next call on (among them `:unknown_tool_tier`, `:security_middleware`,
  `:project_namespaces`, `:audit_buffer_size`, the time limits and the network of commands). `:redaction_rules`, `:redaction_fields`, `:audit_key`
  and `:session_idle_ms` need a restart of the application.

  `config_change/3` of the application, which releases call, is a reload.
  """

  alias JidoCode.Tools.Config.{Table, Type}

  @app :jido_code_tools
  @host :jido_code

  # Not a key of ours: the runtime puts it there.
  @foreign [:included_applications]

  @doc """
  Checks the configuration again and applies it; see the module. Raises `ArgumentError` for a wrong value and changes nothing then.
  """
  @spec reload() :: :ok
  def reload do
    # By way of the application's own callback, since who keeps something of the configuration is above this module.
    {:ok, {application, _args}} = :application.get_key(@app, :mod)
    application.config_change([], [], [])
  end

  @doc """
  The value of a key that holds now, its default when nothing is configured. A value of the wrong shape, which can only have come
  after the start or from a host, counts as the strictest one; a warning says so, once.
  """
  @spec get(atom()) :: term()
  def get(key) do
    case fetch(key) do
      {:ok, value} ->
        value

      {:error, text} ->
        %{strict: strict} = Table.fetch!(key)
        once(key, text, fn -> text <> ". Until it does, #{inspect(strict)} applies." end)
        strict
    end
  end

  @doc "As `get/1`, for callers that can tell a person of a wrong value: the error is a text that says what the key takes."
  @spec fetch(atom()) :: {:ok, term()} | {:error, String.t()}
  def fetch(key) do
    row = Table.fetch!(key)

    case configured(row) do
      :none -> {:ok, row.default}
      {app, value} -> checked(app, row, value)
    end
  end

  defp checked(app, row, value) do
    case Type.check(row.type, value) do
      :ok -> {:ok, value}
      {:error, expected, got} -> {:error, wrong(app, row, expected, got)}
    end
  end

  @doc """
  Checks every key. Raises `ArgumentError` for a wrong value or an unknown key under `config :jido_code_tools`, and warns of wrong
  ones under `config :jido_code`.
  """
  @spec check!() :: :ok
  def check! do
    for {key, _value} <- Application.get_all_env(@app), do: known!(key)

    for row <- Table.rows() do
      case {fetch(row.key), configured(row)} do
        {{:error, text}, {@app, _value}} -> raise ArgumentError, text
        # Of a wrong one in the host's place it warns.
        _other -> get(row.key)
      end
    end

    warn_of_moved()
  end

  # nil says nothing, as in `key: System.get_env("KEY")`.
  defp configured(%{key: key} = row) do
    case Application.get_env(@app, key) do
      nil -> if row.host?, do: hosts(key), else: :none
      value -> {@app, value}
    end
  end

  defp hosts(key) do
    case Application.get_env(@host, key) do
      nil -> :none
      value -> {@host, value}
    end
  end

  defp known!(key) do
    keys = Enum.map(Table.rows(), & &1.key)

    unless key in keys or key in @foreign do
      raise ArgumentError,
            "config #{inspect(@app)} has no key #{inspect(key)}. Did you mean #{inspect(nearest(key, keys))}?"
    end
  end

  defp nearest(key, keys), do: Enum.max_by(keys, &String.jaro_distance(inspect(&1), inspect(key)))

  defp wrong(app, row, expected, got) do
    # The value of such a key isn't shown: it was meant to be a secret.
    got = if row.secret?, do: "", else: ", got: #{inspect(got, limit: 5, printable_limit: 200)}"
    "config #{inspect(app)}, #{inspect(row.key)} takes #{expected}" <> got
  end

  # The first release read all of its keys there. None of these holds any longer, which nobody should find out by a leak.
  defp warn_of_moved do
    moved = for row <- Table.rows(), not row.host?, Application.get_env(@host, row.key) != nil, do: row.key

    if moved != [] do
      once(:moved, moved, fn ->
        "Keys under config #{inspect(@host)} that jido_code_tools does not read there: #{Enum.map_join(moved, ", ", &inspect/1)}. " <>
          "If they are meant for it, move them to config #{inspect(@app)}."
      end)
    end

    :ok
  end

  # A value is told of once, however often it is read.
  defp once(key, value, text) do
    place = {__MODULE__, :told, key}
    told = :erlang.phash2(value)

    if :persistent_term.get(place, nil) != told do
      :persistent_term.put(place, told)
      # Not by the module Logger, which a node that borrows this may not have.
      :logger.warning(text.())
    end
  end
end
