defmodule JidoCode.Tools.Remote.Loader do
  @moduledoc false
  # Finds what answers on a node (`JidoCode.Tools.Remote.Service`); and lends to a node without the library what looking takes there.
  #
  # Such a node is looked at from here, by functions that every Erlang node has. Only what can't be done from afar is lent, if a
  # person consents: taking a bounded excerpt of a state or of a row where it is. These are three small modules that call nothing
  # but OTP, so that Erlang nodes without Elixir take them as well. They are loaded into memory, all or none, under a lock of the
  # node, and never over modules that the node has by itself. `JidoCode.Tools.Remote.Guest` takes them out again.
  #
  # `config :jido_code_tools, node_linger_ms:` (default 30,000) is how long they stay after the last call. Unloading takes out the
  # code; the few atoms in it stay, as atoms do.

  alias JidoCode.Tools.{Config, PlainFile, Remote}
  alias JidoCode.Tools.Introspection.{Excerpt, Rows}
  alias JidoCode.Tools.Remote.{Guest, RPC, Service}

  @lent [Excerpt, Rows, Guest]

  @ask_ms 8_000
  @load_ms 10_000
  # While another session loads.
  @wait_ms 8_000
  @pause_ms 20
  @max_beam_bytes 10_000_000

  # The runtime loads what was compiled for it or for one of the two releases before.
  @newer_otp 2

  @typedoc """
  Where the looking is done: on the node by its own library, or from here, with or without what was lent for it.
  """
  @type place :: {:there, Service.about()} | {:here, lent? :: boolean()}

  @doc "The modules that a node can borrow."
  @spec modules() :: [module()]
  def modules, do: @lent

  @doc "Where to look at the node. What can be lent to it is, with consent."
  @spec open(Remote.t()) :: {:ok, place()} | {:error, String.t() | {:timeout, String.t()}}
  def open(%{node: node} = remote) do
    case about(node) do
      {:ok, about} -> fits(about, node)
      :none -> if remote.consent_load, do: borrow(node), else: {:ok, {:here, false}}
      {:error, failure} -> {:error, RPC.explain(failure, node)}
    end
  end

  defp about(node) do
    case RPC.call(node, Service, :open, [], @ask_ms) do
      {:ok, about} -> {:ok, about}
      {:error, :undefined} -> :none
      {:error, failure} -> {:error, failure}
    end
  end

  defp fits(%{protocol: protocol, version: _, redacts?: _} = about, node) do
    if protocol == Service.protocol(), do: {:ok, {:there, about}}, else: {:error, other_version(node)}
  end

  defp fits(_unknown, node), do: {:error, other_version(node)}

  defp other_version(node) do
    "Node #{node} has a version of jido_code_tools that this one (#{Service.version()}) can't talk to. Bring both to the same version"
  end

  # Lent already, perhaps by another session, or lent now.
  defp borrow(node) do
    case RPC.call(node, Guest, :touch, [], @ask_ms) do
      {:ok, :ok} -> {:ok, {:here, true}}
      {:ok, _going} -> with :ok <- bearable(node), do: lend(node)
      {:error, :undefined} -> with :ok <- bearable(node), do: lend(node)
      # It may be on its way out with its modules.
      {:error, :crashed} -> with :ok <- bearable(node), do: lend(node)
      {:error, failure} -> {:error, RPC.explain(failure, node)}
    end
  end

  # Whether the node can run modules that were compiled here.
  defp bearable(node) do
    case RPC.call(node, :erlang, :system_info, [:otp_release], @ask_ms) do
      {:ok, otp} -> check_version(node, List.to_integer(otp))
      {:error, failure} -> {:error, RPC.explain(failure, node)}
    end
  end

  @doc false
  @spec check_version(node(), pos_integer()) :: :ok | {:error, String.t()}
  def check_version(node, otp) do
    here = :erlang.system_info(:otp_release) |> List.to_integer()

    if otp in here..(here + @newer_otp) do
      :ok
    else
      {:error,
       "Node #{node} runs OTP #{otp}, and modules compiled here with OTP #{here} can't be loaded there. Use the node's version " <>
         "here, or leave out --consent-load: processes, trees and lists of tables are shown, states and rows are not"}
    end
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
    case RPC.call(node, Guest, :touch, [], @ask_ms) do
      {:ok, :ok} -> {:ok, {:here, true}}
      _nobody_keeps_them -> load_and_keep(node)
    end
  end

  defp load_and_keep(node) do
    with :ok <- nothing_else(node),
         :ok <- load(node),
         {:ok, :ok} <- RPC.call(node, Guest, :start, [@lent, Config.get(:node_linger_ms)], @ask_ms) do
      {:ok, {:here, true}}
    else
      {:ok, :error} -> {:error, RPC.explain(:crashed, node)}
      {:error, failure} when is_atom(failure) -> {:error, RPC.explain(failure, node)}
      {:error, text} -> {:error, text}
    end
  end

  # Modules of another version of the library, which has no service, are not written over.
  defp nothing_else(node) do
    with {:ok, places} <- RPC.call(node, :lists, :map, [&:code.which/1, @lent], @ask_ms) do
      if Enum.all?(places, &(&1 in [:non_existing, Guest.origin()])),
        do: :ok,
        else: {:error, other_version(node)}
    end
  end

  defp load(node) do
    # Modules that lost their keeper are replaced, which takes that none has old code.
    with {:ok, binaries} <- own_code(),
         {:ok, _purged} <- RPC.call(node, :lists, :map, [&:code.soft_purge/1, @lent], @ask_ms) do
      case RPC.call(node, :code, :atomic_load, [binaries], @load_ms) do
        {:ok, :ok} ->
          :ok

        {:ok, {:error, [{module, reason} | _rest]}} ->
          {:error,
           "Node #{node} can't load the modules that inspection needs: #{inspect(module)}, #{inspect(reason)}"}

        {:error, failure} ->
          {:error, failure}
      end
    end
  end

  @doc false
  # Without debug information and documentation, which are two thirds of a module's file.
  @spec own_code() :: {:ok, [{module(), charlist(), binary()}]} | {:error, String.t()}
  def own_code do
    found = for module <- @lent, {:ok, binary} <- [own_code(module)], do: binary

    if length(found) == length(@lent) do
      {:ok, stripped} = :beam_lib.strip_files(found)
      {:ok, for({module, binary} <- stripped, do: {module, Guest.origin(), binary})}
    else
      {:error,
       "The files of jido_code_tools are gone or have changed since this VM started from them, so it can't lend its modules"}
    end
  end

  # The files may lie in a project whose commands can write them. Only what runs here is lent.
  defp own_code(module) do
    with file when is_list(file) <- :code.which(module),
         {:ok, binary, _identity} <- PlainFile.read(List.to_string(file), @max_beam_bytes),
         "FOR1" <> _rest <- binary,
         {:ok, {^module, md5}} <- :beam_lib.md5(binary),
         ^md5 <- :erlang.get_module_info(module, :md5) do
      {:ok, binary}
    else
      _other -> :error
    end
  end
end
