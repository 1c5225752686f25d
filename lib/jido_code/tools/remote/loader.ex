defmodule JidoCode.Tools.Remote.Loader do
  @moduledoc """
  Finds what answers on a node (`JidoCode.Tools.Remote.Service`), and lends it to a node that has none.

  Lent are the handlers that look and what they need: modules without native code, which call nothing but OTP, Elixir and each
  other. They are loaded into memory, all or none, under a lock of the node, and never over modules that the node has by
  itself. `JidoCode.Tools.Remote.Guest` takes them out again.

  `config :jido_code_tools, node_linger_ms:` (default 30,000) is how long they stay after the last call.
  """

  alias JidoCode.Tools.{Config, Remote}
  alias JidoCode.Tools.Remote.{Guest, Service}

  @lent [
    JidoCode.Tools.Arguments,
    JidoCode.Tools.Behaviours.SecureHandler,
    JidoCode.Tools.Config,
    JidoCode.Tools.Config.Table,
    JidoCode.Tools.Config.Type,
    JidoCode.Tools.Definitions.Elixir,
    JidoCode.Tools.Handlers.Elixir,
    JidoCode.Tools.Handlers.Elixir.Constants,
    JidoCode.Tools.Handlers.Elixir.EtsInspect,
    JidoCode.Tools.Handlers.Elixir.FetchDocs,
    JidoCode.Tools.Handlers.Elixir.ProcessState,
    JidoCode.Tools.Handlers.Elixir.SupervisorTree,
    JidoCode.Tools.Introspection.At,
    JidoCode.Tools.Introspection.Bounded,
    JidoCode.Tools.Introspection.Docs,
    JidoCode.Tools.Introspection.Excerpt,
    JidoCode.Tools.Introspection.Facts,
    JidoCode.Tools.Introspection.Literal,
    JidoCode.Tools.Introspection.Markup,
    JidoCode.Tools.Introspection.Names,
    JidoCode.Tools.Introspection.Observer,
    JidoCode.Tools.Introspection.Ownership,
    JidoCode.Tools.Introspection.Pace,
    JidoCode.Tools.Introspection.Reach,
    JidoCode.Tools.Introspection.Records,
    JidoCode.Tools.Introspection.State,
    JidoCode.Tools.Operation,
    JidoCode.Tools.Remote.Guest,
    JidoCode.Tools.Remote.Service,
    JidoCode.Tools.Render,
    JidoCode.Tools.Render.Derived,
    JidoCode.Tools.Render.Layout,
    JidoCode.Tools.Render.SensitiveName,
    JidoCode.Tools.Render.Struct,
    JidoCode.Tools.Render.Text,
    JidoCode.Tools.Telemetry
  ]

  @ask_ms 8_000
  @load_ms 10_000
  # While another session loads.
  @wait_ms 8_000
  @pause_ms 20

  # The runtime loads what was compiled for it or for one of the two releases before.
  @newer_otp 2

  @doc "The modules that a node can borrow."
  @spec modules() :: [module()]
  def modules, do: @lent

  @doc "What answers on the node, lent to it first if need be."
  @spec open(Remote.t()) :: {:ok, Service.about()} | {:error, String.t() | {:timeout, String.t()}}
  def open(%Remote{node: node} = remote) do
    case about(node) do
      # Lent to it by another session: that one's consent is not this one's.
      {:ok, %{lent?: true} = about} -> with :ok <- consented(remote), do: fits(about, node)
      {:ok, about} -> fits(about, node)
      :none -> with :ok <- consented(remote), :ok <- bearable(node), do: lend(node)
      {:error, failure} -> {:error, Remote.explain(failure, node)}
    end
  end

  defp about(node) do
    case Remote.ask(node, Service, :open, [], @ask_ms) do
      {:ok, :going} -> :none
      {:ok, about} -> {:ok, about}
      {:error, :undefined} -> :none
      # It may be on its way out with its modules.
      {:error, :crashed} -> :none
      {:error, failure} -> {:error, failure}
    end
  end

  defp fits(%{protocol: protocol, version: _, lent?: _, redacts?: _} = about, node) do
    if protocol == Service.protocol(), do: {:ok, about}, else: {:error, other_version(node)}
  end

  defp fits(_unknown, node), do: {:error, other_version(node)}

  defp other_version(node) do
    "Node #{node} has a version of jido_code_tools that this one (#{Service.version()}) can't talk to. Bring both to the same version"
  end

  defp consented(%Remote{consent_load: true}), do: :ok

  defp consented(%Remote{node: node}) do
    {:error,
     "Node #{node} does not have jido_code_tools. Add it there as a dependency, or let a person allow this session to load " <>
       "what looking takes into that node's memory for the time of the calls: --consent-load"}
  end

  # Whether the node can run modules that were compiled here.
  defp bearable(node) do
    with {:ok, otp} <- fact(node, :erlang, :system_info, [:otp_release]),
         {:ok, elixir} <- fact(node, System, :version, []) do
      check_versions(node, otp |> List.to_integer(), elixir)
    end
  end

  defp fact(node, module, function, args) do
    case Remote.ask(node, module, function, args, @ask_ms) do
      {:ok, value} -> {:ok, value}
      {:error, :undefined} -> {:error, "Node #{node} runs no Elixir; only nodes that do can be looked at"}
      {:error, failure} -> {:error, Remote.explain(failure, node)}
    end
  end

  @doc false
  @spec check_versions(node(), pos_integer(), String.t()) :: :ok | {:error, String.t()}
  def check_versions(node, otp, elixir) do
    here = :erlang.system_info(:otp_release) |> List.to_integer()

    cond do
      otp not in here..(here + @newer_otp) ->
        {:error,
         "Node #{node} runs OTP #{otp}, and modules compiled here with OTP #{here} can't be loaded there. Use the node's version " <>
           "here, or add jido_code_tools there as a dependency"}

      older?(elixir, System.version()) ->
        {:error,
         "Node #{node} runs Elixir #{elixir}, and modules compiled here with Elixir #{System.version()} may need more. Use the " <>
           "node's version here, or add jido_code_tools there as a dependency"}

      true ->
        :ok
    end
  end

  # Patches of one minor version are the same to compiled code.
  defp older?(elixir, than) do
    minor = fn version -> with {:ok, parsed} <- Version.parse(version), do: {parsed.major, parsed.minor} end
    minor.(elixir) < minor.(than)
  end

  defp lend(node), do: lend(node, System.monotonic_time(:millisecond) + @wait_ms)

  defp lend(node, deadline) do
    lock = Guest.lock(self())

    cond do
      :global.set_lock(lock, [node], 0) ->
        try do
          lend_once(node)
        after
          :global.del_lock(lock, [node])
        end

      System.monotonic_time(:millisecond) > deadline ->
        {:error, "Another session is loading on node #{node}, and did not finish. Try again"}

      true ->
        Process.sleep(@pause_ms)
        lend(node, deadline)
    end
  end

  # Under the lock: another session may have been faster.
  defp lend_once(node) do
    with :none <- about(node),
         :ok <- nothing_else(node),
         :ok <- load(node),
         linger = Config.get(:node_linger_ms),
         {:ok, :ok} <- Remote.ask(node, Guest, :start, [@lent, linger], @ask_ms),
         {:ok, about} <- about(node) do
      fits(about, node)
    else
      {:ok, :error} -> {:error, Remote.explain(:crashed, node)}
      {:ok, about} -> fits(about, node)
      {:error, failure} when is_atom(failure) -> {:error, Remote.explain(failure, node)}
      {:error, text} -> {:error, text}
      :none -> {:error, Remote.explain(:crashed, node)}
    end
  end

  # An older version of the library, which has no service, is not written over.
  defp nothing_else(node) do
    with {:ok, places} <- Remote.ask(node, :lists, :map, [&:code.which/1, @lent], @ask_ms) do
      if Enum.all?(places, &(&1 in [:non_existing, Guest.origin()])),
        do: :ok,
        else: {:error, other_version(node)}
    end
  end

  defp load(node) do
    # Modules that lost their keeper are replaced, which takes that none has old code.
    with {:ok, binaries} <- binaries(),
         {:ok, _purged} <- Remote.ask(node, :lists, :map, [&:code.soft_purge/1, @lent], @ask_ms) do
      case Remote.ask(node, :code, :atomic_load, [binaries], @load_ms) do
        {:ok, :ok} ->
          :ok

        {:ok, {:error, [{module, reason} | _rest]}} ->
          {:error, "Node #{node} does not load what looking takes: #{inspect(module)}, #{inspect(reason)}"}

        {:error, failure} ->
          {:error, failure}
      end
    end
  end

  # Without debug information and documentation, which are two thirds of a module's file.
  defp binaries do
    found =
      for module <- @lent, {^module, binary, _file} <- [:code.get_object_code(module)], do: {module, binary}

    if length(found) == length(@lent) do
      {:ok, stripped} = :beam_lib.strip_files(for {_module, binary} <- found, do: binary)
      {:ok, for({module, binary} <- stripped, do: {module, Guest.origin(), binary})}
    else
      {:error, "This VM does not find the files of jido_code_tools, so it can't lend its modules"}
    end
  end
end
