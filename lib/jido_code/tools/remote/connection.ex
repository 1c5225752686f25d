defmodule JidoCode.Tools.Remote.Connection do
  @moduledoc false
  # Connects this VM to a node, and finds out why it can't.
  #
  # A VM without a name gets one: unique, hidden, and without a listening port, so it needs no epmd and nobody can connect to it.
  # A VM that has a name keeps it, with its own cookie; the node's cookie is set for that node alone.

  alias JidoCode.Tools.Introspection.Bounded
  alias JidoCode.Tools.Remote
  alias JidoCode.Tools.Security.KnownSecrets

  @connect_ms 5_000
  @diagnose_ms 2_000
  @listed_names 10

  @doc """
  The name as the runtime takes it. The one place where a text becomes an atom: it comes from the person who runs this VM, once
  a session, and its shape was checked; nothing that a model typed gets here.
  """
  @spec name(String.t()) :: node()
  def name(text), do: :erlang.binary_to_atom(text, :utf8)

  @doc "The short name of this machine, as nodes with short names have it."
  @spec this_host() :: String.t()
  def this_host do
    {:ok, host} = :inet.gethostname()
    host |> List.to_string() |> String.split(".", parts: 2) |> hd()
  end

  @doc "See `JidoCode.Tools.Remote.connect/1`."
  @spec ensure(Remote.t()) :: :ok | {:error, String.t()}
  def ensure(%{node: node} = remote) do
    if node == node() or node in Node.list(:connected) do
      :ok
    else
      with :ok <- named(remote), do: connect(remote)
    end
  end

  # This VM has a name of the node's kind.
  defp named(%{domain: domain} = remote) do
    case {Node.alive?(), :net_kernel.longnames()} do
      {false, _longnames} -> start(remote)
      {true, true} when domain == :longnames -> :ok
      {true, false} when domain == :shortnames -> :ok
      {true, _other} -> {:error, other_domain(remote)}
    end
  end

  defp other_domain(remote) do
    {kind, option} = if remote.domain == :longnames, do: {"a long", "--name"}, else: {"a short", "--sname"}

    "Node #{remote.node} has #{kind} name, and this VM (#{node()}) does not; such nodes can't be connected. " <>
      "Start this VM without a name, or with #{option}"
  end

  defp start(remote) do
    unique = Base.encode16(:crypto.strong_rand_bytes(4), case: :lower)
    name = name("jido-#{System.pid()}-#{unique}@#{own_host(remote.domain)}")

    case :net_kernel.start(name, %{name_domain: remote.domain, hidden: true, dist_listen: false}) do
      {:ok, _pid} ->
        :ok

      {:error, reason} ->
        # Another call may have started it in this moment.
        if Node.alive?(), do: named(remote), else: {:error, unstarted(reason)}
    end
  end

  # Nobody connects to this VM, so the host in its name need not lead to it.
  defp own_host(:shortnames), do: this_host()
  defp own_host(:longnames), do: "127.0.0.1"

  defp unstarted(reason) do
    hint =
      if inspect(reason, printable_limit: 500) =~ "cookie",
        do:
          "Erlang keeps a cookie in the home folder and can't make or read it there. Set HOME to a folder that can be written",
        else: "Erlang says: #{inspect(reason, limit: 5, printable_limit: 100)}"

    "This VM can't take part in distributed Erlang. #{hint}"
  end

  defp connect(%{node: node} = remote) do
    before = :erlang.get_cookie(node)
    if remote.cookie, do: :erlang.set_cookie(node, name(remote.cookie.()))

    case Bounded.run(fn -> :net_kernel.hidden_connect_node(node) end, timeout: @connect_ms) do
      {:ok, true} ->
        # The cookie of this connection must not show in any output.
        KnownSecrets.refresh()
        :ok

      outcome ->
        # The rest of this VM may connect to that node with another cookie.
        :erlang.set_cookie(node, before)
        {:error, "Node #{node} can't be reached: #{why(outcome, remote)}"}
    end
  end

  defp why(outcome, remote) do
    [name, host] = remote.node |> Atom.to_string() |> String.split("@", parts: 2)

    case Bounded.run(fn -> diagnose(to_charlist(name), to_charlist(host)) end, timeout: @diagnose_ms) do
      {:ok, :unknown_host} ->
        "this machine does not know the host #{host}. Write the host as in the node's own name"

      {:ok, :no_epmd} ->
        "no epmd answers on #{host}, so no node with a name runs there, or port 4369 is closed. Start the node with --sname or --name"

      {:ok, {:no_name, []}} ->
        "no node with a name runs on #{host}. Start it with --sname or --name"

      {:ok, {:no_name, names}} ->
        "no node named #{name} runs on #{host}. Those that do: #{Enum.join(names, ", ")}"

      {:ok, {:closed, port}} ->
        "its port #{port} on #{host} is closed, or it ended just now"

      {:ok, :open} when outcome == {:ok, false} ->
        "it refuses the connection. Most often the cookies differ: give the node's by JIDO_NODE_COOKIE or --cookie-file. " <>
          "It may also have another full name than #{remote.node}"

      _slow ->
        "it did not answer within #{div(@connect_ms, 1000)} seconds. It is busy or stopped, or something between the machines drops packets"
    end
  end

  defp diagnose(name, host) do
    with :erl_epmd <- :net_kernel.epmd_module(),
         {:ok, address} <- address(host),
         {:ok, names} <- names(address) do
      case List.keyfind(names, name, 0) do
        {_name, port} -> port(address, port)
        nil -> {:no_name, names |> Enum.map(&elem(&1, 0)) |> Enum.sort() |> Enum.take(@listed_names)}
      end
    end
  end

  defp address(host) do
    with {:error, _reason} <- :inet.getaddr(host, :inet),
         {:error, _reason} <- :inet.getaddr(host, :inet6),
         do: :unknown_host
  end

  defp names(address) do
    with {:error, _reason} <- :erl_epmd.names(address), do: :no_epmd
  end

  defp port(address, port) do
    case :gen_tcp.connect(address, port, [], 1_000) do
      {:ok, socket} ->
        :gen_tcp.close(socket)
        :open

      {:error, _reason} ->
        {:closed, port}
    end
  end
end
