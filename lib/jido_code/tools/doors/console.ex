defmodule JidoCode.Tools.Doors.Console do
  @moduledoc false
  # The terminal kept clean for results.

  @doc """
  Runs `fun` with everything that it and the processes it starts print sent to standard error, so that standard output
  carries results only: Mix prints there when it compiles, and so may a project when it starts.
  """
  @spec quietly((() -> result)) :: result when result: var
  def quietly(fun) do
    group_leader = Process.group_leader()
    Process.group_leader(self(), Process.whereis(:standard_error))

    try do
      fun.()
    after
      Process.group_leader(self(), group_leader)
    end
  end

  @doc "Prints what a task's documentation says where `--help` or `-h` asks for it, and says whether it did."
  @spec helped?([String.t()], String.t()) :: boolean()
  def helped?(argv, task) do
    asked? = Enum.any?(argv, &(&1 in ["--help", "-h"]))
    if asked?, do: Mix.Task.rerun("help", [task])
    asked?
  end

  @doc "Sends log messages to standard error, on every supported Elixir."
  @spec logs_to_stderr() :: :ok
  def logs_to_stderr do
    # Up to Elixir 1.14 the console is a backend of Logger, from 1.15 on a handler of :logger.
    case :logger.get_handler_config(:default) do
      {:ok, %{module: :logger_std_h} = handler} ->
        config = Map.merge(Map.get(handler, :config, %{}), %{type: :standard_error})
        :logger.remove_handler(:default)
        :logger.add_handler(:default, :logger_std_h, %{handler | config: Map.take(config, [:type])})
        :ok

      _other ->
        # A newer Logger, which never comes here, has it no more.
        apply(Logger, :configure_backend, [:console, [device: :standard_error]])
        :ok
    end
  end
end
