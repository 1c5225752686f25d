defmodule JidoCode.Tools.Doors.SessionOptions do
  @moduledoc false
  # What a person grants to a session, from the command line or the configuration, as the context of its calls.
  #
  # Every door that a person opens from a shell takes the same options; `help/0` says what each means.
  #
  # `config :jido_code_tools, session_options: [tier: :privileged, consent: ["mix_task"], node: "shop@localhost"]` sets them for a
  # project, with the same names and `_` for `-`. The command line wins over it, one option at a time.

  alias JidoCode.Tools.Behaviours.SecureHandler
  alias JidoCode.Tools.{Config, Remote}
  alias JidoCode.Tools.Doors.MCP

  @of_project "project:"

  @switches [
    tier: :string,
    consent: :keep,
    session: :string,
    node: :string,
    cookie_file: :string,
    cookie: :string,
    consent_load: :boolean
  ]

  # In the order of @switches.
  @help """
    * `--tier TIER` - what the session may do: `read_only` (default), `write`, `execute` or `privileged`, each with what the ones before
      it allow
    * `--consent TOOL` - allows one tool whatever its tier, `project:NAME` for one of the project's own; may be given several times,
      or with several names between commas
    * `--session ID` - the session's name in the audit trail and telemetry
    * `--node NAME` - looks at the processes, tables and documentation of a node that already runs; see `JidoCode.Tools.Remote`
    * `--cookie-file FILE` - the file with that node's cookie; default: the cookie that `JidoCode.Tools.Remote` finds
    * `--cookie COOKIE` - the cookie itself; other users of the machine see it in the list of processes
    * `--consent-load` - lets modules be loaded on that node for the time of the calls, when it does not have this library
  """

  @doc "The options with what they mean, as a list in Markdown for the doors' own documentation."
  @spec help() :: String.t()
  def help, do: @help

  @doc "The options, for `OptionParser`'s `:strict`."
  @spec switches() :: keyword()
  def switches, do: @switches

  @doc "The options in a line, for a usage message."
  @spec usage() :: String.t()
  def usage do
    "[--tier TIER] [--consent TOOL] [--session ID] [--node NAME [--cookie-file FILE] [--consent-load]]"
  end

  @doc """
  Whether the door starts the project's application in its own VM: as `--start` or `--no-start` says (the door's own switch), else
  unless a node is looked at. A second copy of what runs there would want the same ports and do the same work.

      iex> JidoCode.Tools.Doors.SessionOptions.start?([])
      true
      iex> JidoCode.Tools.Doors.SessionOptions.start?(node: "shop@localhost")
      false
      iex> JidoCode.Tools.Doors.SessionOptions.start?(node: "shop@localhost", start: true)
      true
  """
  @spec start?(keyword()) :: boolean()
  def start?(opts) do
    case {Keyword.fetch(opts, :start), configured(opts)} do
      {{:ok, start?}, _opts} -> start?
      {:error, {:ok, opts}} -> not Keyword.has_key?(opts, :node)
      {:error, {:error, _told_by_context}} -> true
    end
  end

  @doc """
  The context for parsed options, on top of `defaults` (the door's own `:session_id` and `:project_root`).

  With `--node` it has `:node`, a `t:JidoCode.Tools.Remote.t/0`; nothing is connected yet, the first call does that, or
  `JidoCode.Tools.Remote.connect/1` at once. `close/1` is its end.

  The error is a text for the person who gave the options.

      iex> alias JidoCode.Tools.Doors.SessionOptions
      iex> {opts, [], []} = OptionParser.parse(["--consent", "mix_task"], strict: SessionOptions.switches())
      iex> {:ok, context} = SessionOptions.context(opts, %{session_id: "s1"})
      iex> context
      %{session_id: "s1", granted_tier: :read_only, consented_tools: ["mix_task"], door: true}
      iex> SessionOptions.context([tier: "root"], %{})
      {:error, "--tier takes one of read_only, write, execute, privileged, got: root"}
  """
  @spec context(keyword(), map()) :: {:ok, map()} | {:error, String.t()}
  def context(opts, defaults) do
    with {:ok, opts} <- configured(opts),
         {:ok, tier} <- tier(Keyword.get(opts, :tier, "read_only")),
         {:ok, consented} <- consented(Keyword.get_values(opts, :consent)),
         {:ok, node} <- remote(opts) do
      session = if id = opts[:session], do: %{session_id: id}, else: %{}

      {:ok,
       defaults
       |> Map.merge(%{granted_tier: tier, consented_tools: consented, door: true})
       |> Map.merge(session)
       |> Map.merge(node)}
    end
  end

  @doc "Lets go of what a session with this context holds elsewhere: the modules lent to another node."
  @spec close(map()) :: :ok
  def close(%{node: %Remote{} = remote}), do: Remote.release(remote)
  def close(_context), do: :ok

  defp configured(opts) do
    with {:ok, configured} <- Config.fetch(:session_options) do
      given = Keyword.keys(opts)

      # A cookie belongs to its node: the configured one must not go to a node that the command line names.
      belonging = if :node in given, do: [:cookie, :cookie_file, :consent_load], else: []
      {:ok, configured |> Keyword.drop(given ++ belonging) |> Enum.flat_map(&as_given/1) |> Enum.concat(opts)}
    end
  end

  defp as_given({:consent, tools}) when is_list(tools), do: for(tool <- tools, do: {:consent, tool})

  defp as_given({key, value}) when is_atom(value) and not is_boolean(value) and value != nil,
    do: [{key, Atom.to_string(value)}]

  defp as_given(option), do: [option]

  defp tier(tier) do
    case Enum.find(SecureHandler.tier_hierarchy(), &(Atom.to_string(&1) == tier)) do
      nil ->
        {:error,
         "--tier takes one of #{Enum.join(SecureHandler.tier_hierarchy(), ", ")}, got: #{shown(tier)}"}

      tier ->
        {:ok, tier}
    end
  end

  @doc """
  How a tool of the project's own is named where one is consented to. No such tool can have the name of one of the library's, but
  whoever mistypes one of those must not consent to what a project may offer under that name.
  """
  @spec of_project(String.t()) :: String.t()
  def of_project(name), do: @of_project <> name

  defp consented(given) do
    tools = Enum.flat_map(given, &if(is_binary(&1), do: String.split(&1, ",", trim: true), else: [&1]))

    case Enum.reject(tools, &consentable?/1) do
      [] ->
        {:ok, Enum.map(tools, &String.replace_prefix(&1, @of_project, ""))}

      [tool | _rest] ->
        {:error,
         "--consent takes a tool's name (#{Enum.join(MCP.Tools.names(), ", ")}, or #{of_project("NAME")} for one of the " <>
           "project's own), got: #{shown(tool)}"}
    end
  end

  defp consentable?(@of_project <> name),
    do: name =~ ~r/\A[a-z][a-z0-9_]*\z/ and name not in MCP.Tools.names()

  defp consentable?(name), do: name in MCP.Tools.names()

  defp remote(opts) do
    belonging = Keyword.take(opts, [:cookie, :cookie_file, :consent_load])

    case Keyword.fetch(opts, :node) do
      {:ok, name} -> with {:ok, remote} <- Remote.new(name, belonging), do: {:ok, %{node: remote}}
      :error when belonging == [] -> {:ok, %{}}
      :error -> {:error, "--cookie, --cookie-file and --consent-load belong to --node"}
    end
  end

  defp shown(text) when is_binary(text), do: text
  defp shown(other), do: inspect(other)
end
