defmodule JidoCode.Tools.Remote.Guest do
  @moduledoc false
  # The process on a node that keeps the modules which the node has borrowed, and takes them out of it again.
  #
  # Each call holds a lease while it runs. When none is held and none was asked for during a short time, the modules are unloaded
  # and this process, whose own module is one of them, ends. The calls end with the processes that made them, so nothing stays on
  # the node when the VM that lent the modules is gone, however it went.
  #
  # Only code that nobody runs is purged: a process that is being looked at is never hurt.
  #
  # This module is lent itself, to nodes of Erlang alone too, so it calls nothing but functions of OTP.

  # Tells lent modules from those that the node has by itself.
  @origin ~c"lent by jido_code_tools"

  # Sessions that end say so; the moment is left for calls that are on their way.
  @release_ms 1_000

  # A request to a process that may end at any moment.
  @answer_ms 5_000

  @doc "What `:code.which/1` says of a lent module."
  @spec origin() :: charlist()
  def origin, do: @origin

  @doc "Whether this node has a module on loan."
  @spec lent?(module()) :: boolean()
  def lent?(module), do: :code.is_loaded(module) == {:file, @origin}

  @doc "Starts keeping `modules`; an error when somebody does. `linger` in milliseconds is how long they stay unused."
  @spec start([module()], pos_integer()) :: :ok | :error
  def start(modules, linger) do
    {guest, monitor} = :erlang.spawn_monitor(__MODULE__, :init, [modules, linger, self()])

    receive do
      {^guest, :ready} ->
        :erlang.demonitor(monitor, [:flush])
        :ok

      {:DOWN, ^monitor, :process, ^guest, _reason} ->
        :error
    end
  end

  @doc "Begins the time of waiting anew. `:none` when nothing is lent, `:gone` when it goes in this moment."
  @spec touch() :: :ok | :none | :gone
  def touch, do: request(:touch)

  @doc "Keeps the modules as long as the process lives."
  @spec lease(pid()) :: :ok | :none | :gone
  def lease(pid), do: request({:lease, pid})

  @doc "Shortens the time of waiting."
  @spec release() :: :ok
  def release do
    request(:release)
    :ok
  end

  defp request(request) do
    case :erlang.whereis(__MODULE__) do
      :undefined -> :none
      guest -> request(guest, request)
    end
  end

  defp request(guest, request) do
    monitor = :erlang.monitor(:process, guest)
    send(guest, {request, self(), monitor})

    receive do
      {^monitor, :ok} ->
        :erlang.demonitor(monitor, [:flush])
        :ok

      {:DOWN, ^monitor, :process, ^guest, _reason} ->
        :gone
    after
      @answer_ms ->
        :erlang.demonitor(monitor, [:flush])
        :gone
    end
  end

  @doc false
  @spec init([module()], pos_integer(), pid()) :: term()
  def init(modules, linger, starter) do
    # The starter's group leader is on the node that lends.
    :erlang.group_leader(:erlang.whereis(:init), self())
    :erlang.register(__MODULE__, self())
    send(starter, {self(), :ready})
    keep(%{modules: modules, linger: linger, leases: %{}})
  end

  defp keep(state) do
    receive do
      {:touch, from, tag} ->
        send(from, {tag, :ok})
        keep(state)

      {{:lease, pid}, from, tag} ->
        lease = :erlang.monitor(:process, pid)
        send(from, {tag, :ok})
        keep(%{state | leases: :maps.put(lease, pid, state.leases)})

      {:release, from, tag} ->
        send(from, {tag, :ok})
        keep(%{state | linger: :erlang.min(state.linger, @release_ms)})

      {:DOWN, lease, :process, _pid, _reason} ->
        keep(%{state | leases: :maps.remove(lease, state.leases)})

      _stray ->
        keep(state)
    after
      if(state.leases == %{}, do: state.linger, else: :infinity) -> leave(state)
    end
  end

  # Nobody may lend while the modules go; the runtime frees the lock when this process has ended.
  defp leave(state) do
    if :global.set_lock(lock(self()), [node()], 0) do
      lent = :lists.filter(&lent?/1, state.modules)
      # A module with old code is not deleted.
      :lists.foreach(&:code.soft_purge/1, lent)
      :lists.foreach(&:code.delete/1, lent)

      # The last call, from which nothing returns here: this module's code is no longer in use then and goes with the others.
      :lists.foreach(&:code.soft_purge/1, lent)
    else
      keep(state)
    end
  end

  @doc "The lock of `:global` under which modules come and go, for the process that takes it."
  @spec lock(pid()) :: {term(), pid()}
  def lock(pid), do: {__MODULE__, pid}
end
