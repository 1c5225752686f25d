defmodule JidoCode.Tools.Remote do
  @moduledoc """
  A node that already runs, for inspection from here.

      mix jido.tool call get_process_state '{"process": "Shop.Payments"}' --tier privileged --node shop@localhost

  With such a node under `:node` in a call's context, the tools that look at a running system (`get_process_state`,
  `list_processes`, `inspect_supervisor`, `ets_inspect`, ...) look at that node, behind the same guards. Limits, tiers, consent, the
  audit trail and the redaction of the whole output are those of this side, as ever. All other tools work in the project's folder here.

  A result names the node under `"node"`.

  ## A node with the library

      session ─► checks ─► worker ── call/5 ──► Service on the node ─► handler.execute
                              ◄──── redaction ──── answer ────────────┘

  The handlers work there: a busy process is watched there, sensitive fields are hidden there, before anything travels. Both sides
  must have the same protocol. When the library's application is started there, the values that only that node is known to keep
  secret are redacted there.

  ## A node without it, in Elixir or in Erlang alone

      session ─► checks ─► worker ─► handler ── functions of OTP's, one by one ──► the node

  The handlers work here, with this side's settings, and ask the node by functions that every Erlang node has. Processes, trees and
  lists of tables need nothing else. To read a state or a row without copying it whole, the node borrows three small modules, if a person
  consents to loading code there: `--consent-load`. Nothing is written to its disk, and
  no code is left a moment after the last call, even when this VM is killed. The terms travel unredacted and are redacted here;
  exact values that only that node knows to be secret are not covered, and each answer says so. Documentation is read on this side.

  ## Connecting

  The first call connects, and so does the first one after a connection was lost. This VM gets a unique name of its own when
  it has none, accepts no connections and needs no epmd; the connection is hidden, so that this VM joins no cluster.

  The cookie is the `:cookie` or the `:cookie_file` given, else the environment's `JIDO_NODE_COOKIE`, else its
  `RELEASE_COOKIE`, else the cookie of this VM, which Erlang takes from its own options or from `~/.erlang.cookie`.

  Connected nodes trust each other with everything: look only at nodes that you would let run code here.

  ## Errors

  Each says what to do about it: the host is unknown, no epmd answers, no node of that name runs there (and which do), its port
  is closed, it refuses the connection (the cookie), it does not answer in time, the connection was lost during the call, or its
  OTP or library has a version that does not fit.
  """

  alias JidoCode.Tools.Definition
  alias JidoCode.Tools.Introspection.At
  alias JidoCode.Tools.Remote.{Connection, Guest, Loader, RPC, Service}
  alias JidoCode.Tools.Security.OutputSanitizer
  alias JidoCode.Tools.Shortened

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
    shown = if is_binary(text), do: Shortened.label(text, 100), else: inspect(text, limit: 5)
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

  @typedoc "What a handler does with checked arguments, on the node that its context names or on this one."
  @type work :: (map(), map() -> {:ok, map()} | {:timeout, map()} | {:error, term()})

  @doc """
  Runs the handler of a looking tool on the node, or its `work` here on what the node lets be seen, on arguments that were
  checked. The work ends when the caller does.

  The answer is the handler's, with `"node"` in a result and what is to be said of the node in its `"note"`; `{:error, text}` when
  the node can't be asked, `{:error, {:timeout, text}}` when it does not answer in time.
  """
  @spec call(t(), Definition.t(), work(), map(), map()) :: {:ok, map()} | {:timeout, map()} | {:error, term()}
  def call(%__MODULE__{} = remote, definition, work, args, context) do
    with :ok <- connect(remote),
         {:ok, place} <- Loader.open(remote) do
      case place do
        {:there, about} ->
          remote |> there(about, definition, args, context) |> answer(remote, about)

        {:here, _lent?} when definition.at_node in [:files, :compiled] ->
          args |> work.(context) |> told([documented_here()])

        {:here, lent?} ->
          here(remote, lent?, work, args, context)
      end
    end
  end

  defp there(remote, about, definition, args, context) do
    timeout = timeout(definition, args)
    redactor = if about.redacts?, do: OutputSanitizer
    options = %{owner: self(), timeout: timeout, redactor: redactor}
    context = told_elsewhere(context)
    RPC.call(remote.node, Service, :run, [definition.handler, args, context, options], timeout + @way_ms)
  end

  defp here(%{node: node} = remote, lent?, work, args, context) do
    # What was lent stays for as long as this process works.
    if lent?, do: RPC.call(node, Guest, :lease, [self()], @way_ms)

    case work.(args, Map.put(context, :at, %{node: node, states?: lent?})) do
      {kind, result} when kind in [:ok, :timeout] and is_map(result) ->
        told({kind, result |> own_numbers(node) |> Map.put("node", Atom.to_string(node))}, [unknown_secrets()])

      {:error, text} when is_binary(text) ->
        {:error, own_numbers(text, node)}

      error ->
        error
    end
  rescue
    lost in At.Lost -> {:error, RPC.explain(lost.reason, remote.node)}
  end

  # A pid of another node is printed with that node's number here; the node itself, and who gives the pid back, has 0 there.
  defp own_numbers(result, node) do
    "<" <> rest = node |> At.call(:erlang, :whereis, [:init]) |> :erlang.pid_to_list() |> List.to_string()
    [number, _rest] = String.split(rest, ".", parts: 2)
    replace(result, ["#PID<#{number}.", "#Reference<#{number}.", "#Port<#{number}."])
  end

  defp replace(map, foreign) when is_map(map),
    do: Map.new(map, fn {key, value} -> {key, replace(value, foreign)} end)

  defp replace(list, foreign) when is_list(list), do: Enum.map(list, &replace(&1, foreign))

  defp replace(text, foreign) when is_binary(text) do
    String.replace(text, foreign, fn prefix -> hd(String.split(prefix, "<")) <> "<0." end)
  end

  defp replace(other, _foreign), do: other

  defp told({kind, result}, notes) when kind in [:ok, :timeout] do
    text = [result["note"] | notes] |> Enum.filter(&is_binary/1) |> Enum.join(" ")
    {kind, if(text == "", do: result, else: Map.put(result, "note", text))}
  end

  defp told(error, _notes), do: error

  defp documented_here,
    do: "The node does not have jido_code_tools: this was read on this side, from this project's files."

  defp unknown_secrets do
    "The node does not have jido_code_tools: values that only it knows to be secret are not redacted, unless their name or " <>
      "form gives them away."
  end

  @doc """
  Tells a node that has borrowed modules that they are no longer needed. They would go by themselves a moment after the last
  call; this makes the moment shorter.
  """
  @spec release(t()) :: :ok
  def release(%__MODULE__{node: node}) do
    # A node that has nothing, or does not answer, needs nothing.
    if node in Node.list(:connected), do: RPC.call(node, Guest, :release, [], @way_ms)
    :ok
  end

  @doc false
  # For connecting to a node and lending it modules, which is a matter of milliseconds unless it is busy or far away.
  @spec way_ms(t()) :: pos_integer()
  def way_ms(%__MODULE__{}), do: 10_000

  @doc false
  # Of a node that is connected; nothing is connected to find out.
  @spec otp_release(t()) :: pos_integer() | nil
  def otp_release(%__MODULE__{node: node}) do
    with true <- node in Node.list(:connected),
         {:ok, release} <- RPC.call(node, :erlang, :system_info, [:otp_release], @way_ms),
         {number, ""} <- Integer.parse(List.to_string(release)) do
      number
    else
      _unknown -> nil
    end
  end

  @doc false
  # What of a call's context a handler gets that runs in another VM.
  @spec told_elsewhere(map()) :: map()
  def told_elsewhere(context), do: Map.take(context, [:session_id, :project_namespaces, :wide_reach])

  @doc false
  @spec timeout(Definition.t(), map()) :: pos_integer()
  def timeout(definition, args) do
    case args do
      %{"timeout" => asked} when is_integer(asked) -> max(definition.timeout_ms, asked + @way_ms)
      _args -> definition.timeout_ms
    end
  end

  defp answer({:ok, {:ok, {:ok, result}}}, remote, about) when is_map(result),
    do: told({:ok, Map.put(result, "node", Atom.to_string(remote.node))}, notes(about))

  defp answer({:ok, {:ok, {:error, text}}}, _remote, _about) when is_binary(text), do: {:error, text}
  defp answer({:ok, {:error, :timeout}}, remote, _about), do: {:error, RPC.explain(:timeout, remote.node)}
  defp answer({:ok, _failed}, remote, _about), do: {:error, RPC.explain(:crashed, remote.node)}
  defp answer({:error, failure}, remote, _about), do: {:error, RPC.explain(failure, remote.node)}

  defp notes(about) do
    [
      not about.redacts? &&
        "jido_code_tools is not started on the node: values that only it knows to be secret are not redacted, unless their " <>
          "name or form gives them away.",
      about.version != Service.version() &&
        "The node has version #{about.version} of jido_code_tools, this side #{Service.version()}."
    ]
  end
end
