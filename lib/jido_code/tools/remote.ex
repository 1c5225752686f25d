defmodule JidoCode.Tools.Remote do
  @moduledoc """
  A node that already runs, to be looked at from here.

      mix jido.tool call get_process_state '{"process": "Shop.Payments"}' --tier privileged --node shop@localhost

  With such a node under `:node` in a call's context, the four tools that look at a running system (`get_process_state`,
  `inspect_supervisor`, `ets_inspect`, `fetch_elixir_docs`) do their work there, behind the same guards: what is the project's is
  decided there, a busy process is watched there, a state is rendered and its sensitive fields are hidden there, before it
  travels. Limits, tiers, consent, the audit trail and the redaction of the whole output are this side's, as ever. All other
  tools work in the project's folder here.

      session ─► checks ─► worker ── call/4 ──► Service on the node ─► handler.execute
                              ◄──── redaction ──── answer ────────────┘

  A result names the node under `"node"`.

  ## What the node must have

  The library as a dependency, of the same protocol. When its application is started there too, the values that only that
  node is known to keep secret are redacted there.

  A node without the library can borrow what looking takes (`JidoCode.Tools.Remote.Loader`), if a person consents to loading
  code there: `--consent-load`. Nothing is written to its disk, and nothing is left a moment after the last call, even when this
  VM is killed. Exact values that only that node knows to be secret are not covered then, and each answer says so.

  ## Connecting

  The first call connects, and so does the first one after a connection was lost. This VM gets a unique name of its own when
  it has none, accepts no connections and needs no epmd; the connection is hidden, so that this VM joins no cluster.

  The cookie is the `:cookie` or the `:cookie_file` given, else the environment's `JIDO_NODE_COOKIE`, else its
  `RELEASE_COOKIE`, else the cookie of this VM, which Erlang takes from its own options or from `~/.erlang.cookie`.

  Connected nodes trust each other with everything: look only at nodes that you would let run code here.

  ## Errors

  Each says what to do about it: the host is unknown, no epmd answers, no node of that name is there (and which are), its port
  is closed, it refuses the connection (the cookie), it does not answer in time, the connection was lost during the call, it
  has no library and nobody consented to loading, or its Elixir, OTP or library is of a version that does not fit.
  """

  alias JidoCode.Tools.Config
  alias JidoCode.Tools.Remote.{Connection, Loader, Service}
  alias JidoCode.Tools.Security.OutputSanitizer

  # The cookie is in a function, so that no report shows it in whatever form it prints its terms.
  @enforce_keys [:node, :domain]
  defstruct [:node, :domain, :cookie, consent_load: false]

  @type t :: %__MODULE__{
          node: node(),
          domain: :shortnames | :longnames,
          cookie: (() -> String.t()) | nil,
          consent_load: boolean()
        }

  # What Erlang itself accepts as a name; of a host also addresses.
  @max_bytes 255
  @cookie_variables ["JIDO_NODE_COOKIE", "RELEASE_COOKIE"]

  # For a handler that says nothing about its time.
  @default_timeout_ms 15_000
  # The handler over there keeps the time; the way there and back takes some more.
  @way_ms 1_000

  @doc """
  A node by the name that a person gave it: `"shop@localhost"`, `"shop@10.0.0.7"`, or `"shop"` for one on this machine.
  Nothing is connected yet.

  Options: `:cookie`, `:cookie_file`, and `:consent_load` (default false), see the module. The error is a text.

      iex> {:ok, remote} = JidoCode.Tools.Remote.new("shop@10.0.0.7")
      iex> {remote.node, remote.domain, remote.consent_load}
      {:"shop@10.0.0.7", :longnames, false}
      iex> JidoCode.Tools.Remote.new("no name")
      {:error, "--node takes a node's name, like shop@localhost, got: no name"}
  """
  @spec new(String.t(), keyword()) :: {:ok, t()} | {:error, String.t()}
  def new(name, opts \\ []) do
    with {:ok, name, host} <- name(name),
         {:ok, cookie} <- cookie(opts) do
      {:ok,
       %__MODULE__{
         node: Connection.name(name <> "@" <> host),
         domain: if(String.contains?(host, [".", ":"]), do: :longnames, else: :shortnames),
         cookie: cookie && fn -> cookie end,
         consent_load: Keyword.get(opts, :consent_load, false) == true
       }}
    end
  end

  defp name(text) when is_binary(text) and byte_size(text) <= @max_bytes do
    case Regex.run(~r/\A([A-Za-z0-9_-]+)(?:@([A-Za-z0-9._:-]+))?\z/, text) do
      [_all, name, host] -> {:ok, name, host}
      [_all, name] -> {:ok, name, Connection.this_host()}
      nil -> not_a_name(text)
    end
  end

  defp name(text), do: not_a_name(text)

  defp not_a_name(text) do
    shown = if is_binary(text), do: String.slice(text, 0, 100), else: inspect(text, limit: 5)
    {:error, "--node takes a node's name, like shop@localhost, got: #{shown}"}
  end

  defp cookie(opts) do
    variable = Enum.find(@cookie_variables, &(System.get_env(&1, "") != ""))

    cond do
      opts[:cookie] -> checked_cookie(opts[:cookie], "--cookie")
      opts[:cookie_file] -> read_cookie(opts[:cookie_file])
      variable -> checked_cookie(System.get_env(variable), variable)
      true -> {:ok, nil}
    end
  end

  defp read_cookie(file) do
    case is_binary(file) and File.read(file) do
      {:ok, content} -> content |> String.trim() |> checked_cookie(file)
      {:error, reason} -> {:error, "can't read the cookie in #{file}: #{:file.format_error(reason)}"}
      false -> {:error, "--cookie-file takes the name of a file"}
    end
  end

  # The value is not shown: it was meant to be a secret.
  defp checked_cookie(cookie, source) do
    if is_binary(cookie) and byte_size(cookie) in 1..@max_bytes and cookie =~ ~r/\A[!-~]+\z/,
      do: {:ok, cookie},
      else:
        {:error, "#{source} holds no cookie: one is 1 to #{@max_bytes} printable characters without spaces"}
  end

  @doc "Connects to the node, unless it is connected. The error is a text that says what to do."
  @spec connect(t()) :: :ok | {:error, String.t()}
  defdelegate connect(remote), to: Connection, as: :ensure

  @doc """
  Runs one of the looking handlers on the node, on arguments that were checked. The work ends when the caller does.

  The answer is the handler's, with `"node"` in a result and what is to be said of the node in its `"note"`; `{:error, text}` when
  the node can't be asked, `{:error, {:timeout, text}}` when it does not answer in time.
  """
  @spec call(t(), module(), map(), map()) ::
          {:ok, map()} | {:error, String.t()} | {:error, {:timeout, String.t()}}
  def call(%__MODULE__{} = remote, handler, args, context) do
    with :ok <- connect(remote),
         {:ok, service} <- Loader.open(remote) do
      timeout = timeout(handler, args)
      redactor = if service.redacts?, do: OutputSanitizer
      options = %{owner: self(), timeout: timeout, redactor: redactor}

      remote.node
      |> ask(Service, :run, [handler, args, sent(context, service), options], timeout + @way_ms)
      |> answer(remote, service)
    end
  end

  @doc """
  Tells a node that has borrowed modules that they are no longer needed. They would go by themselves a moment after the last
  call; this makes the moment shorter.
  """
  @spec release(t()) :: :ok
  def release(%__MODULE__{node: node}) do
    # A node that has nothing, or does not answer, needs nothing.
    if node in Node.list(:connected), do: ask(node, Service, :release, [], @way_ms)
    :ok
  end

  @doc false
  # For connecting to a node and lending it modules, which is a matter of milliseconds unless it is busy or far away.
  @spec way_ms(t()) :: pos_integer()
  def way_ms(%__MODULE__{}), do: 10_000

  @typedoc false
  @type failure :: :timeout | :noconnection | :undefined | :crashed

  @doc false
  # A function on the node, in a process of its own. What goes wrong there is neither logged nor raised here.
  @spec ask(node(), module(), atom(), [term()], pos_integer()) :: {:ok, term()} | {:error, failure()}
  def ask(node, module, function, args, timeout) do
    {:ok, :erpc.call(node, module, function, args, timeout)}
  catch
    :error, {:erpc, :timeout} -> {:error, :timeout}
    :error, {:erpc, _noconnection} -> {:error, :noconnection}
    :error, {:exception, :undef, [{^module, ^function, _args, _location} | _]} -> {:error, :undefined}
    _kind, _reason -> {:error, :crashed}
  end

  @doc false
  @spec explain(failure(), node()) :: String.t() | {:timeout, String.t()}
  def explain(:timeout, node) do
    {:timeout,
     "Node #{node} did not answer in time: it is busy or stopped, or the connection to it is slow or cut"}
  end

  def explain(:noconnection, node) do
    "The connection to node #{node} was lost during the call. The next call connects again"
  end

  def explain(_failure, node), do: "Node #{node} could not do it: its side of the call failed"

  @doc false
  @spec timeout(module(), map()) :: pos_integer()
  def timeout(handler, args) do
    declared = Map.get(handler.security_properties(), :timeout_ms, @default_timeout_ms)

    case args do
      %{"timeout" => asked} when is_integer(asked) -> max(declared, asked + @way_ms)
      _args -> declared
    end
  end

  # Of the context only what the handlers read. Nobody has configured a node that borrows what looks at it, so this side's
  # idea of the project holds there; elsewhere the node's own does, unless this session has one.
  defp sent(context, %{lent?: true}) do
    case Map.get(context, :project_namespaces) || Config.get(:project_namespaces) do
      nil -> Map.take(context, [:session_id])
      namespaces -> context |> Map.take([:session_id]) |> Map.put(:project_namespaces, namespaces)
    end
  end

  defp sent(context, _service), do: Map.take(context, [:session_id, :project_namespaces])

  defp answer({:ok, {:ok, {:ok, result}}}, remote, service) when is_map(result) do
    notes = [result["note"] | notes(service)] |> Enum.filter(&is_binary/1) |> Enum.join(" ")
    result = Map.put(result, "node", Atom.to_string(remote.node))
    {:ok, if(notes == "", do: result, else: Map.put(result, "note", notes))}
  end

  defp answer({:ok, {:ok, {:error, text}}}, _remote, _service) when is_binary(text), do: {:error, text}
  defp answer({:ok, {:error, :timeout}}, remote, _service), do: {:error, explain(:timeout, remote.node)}
  defp answer({:ok, _failed}, remote, _service), do: {:error, explain(:crashed, remote.node)}

  # Between the question and the call the modules went: another session of this library let go of them.
  defp answer({:error, :undefined}, remote, _service) do
    {:error, "Node #{remote.node} no longer has what looking at it takes. The next call brings it again"}
  end

  defp answer({:error, failure}, remote, _service), do: {:error, explain(failure, remote.node)}

  defp notes(service) do
    [
      service.lent? &&
        "The node does not have jido_code_tools: values that only it knows to be secret are not redacted, unless their name or " <>
          "form gives them away.",
      not service.lent? and not service.redacts? &&
        "jido_code_tools is not started on the node: values that only it knows to be secret are not redacted, unless their " <>
          "name or form gives them away.",
      service.version != Service.version() &&
        "The node has version #{service.version} of jido_code_tools, this side #{Service.version()}."
    ]
  end
end
