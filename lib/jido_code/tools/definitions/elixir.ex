defmodule JidoCode.Tools.Definitions.Elixir do
  @moduledoc """
  The six Elixir tools as a host takes them, one by one; `JidoCode.Tools.Catalog.all/0` has all tools.

  Each is a map with `:name`, `:description`, `:handler` and `:parameters`; a parameter has `:name`, `:type`,
  `:required`, `:description` and where it applies `:enum`, `:items` and `:default`. A host builds its own tool
  structures from them.
  """

  alias JidoCode.Tools.Definition

  alias JidoCode.Tools.Handlers.Elixir.{
    EtsInspect,
    FetchDocs,
    MixTask,
    ProcessState,
    RunExunit,
    SupervisorTree
  }

  @doc "All six, in a stable order."
  @spec all() :: [map()]
  def all do
    [
      mix_task(),
      run_exunit(),
      get_process_state(),
      inspect_supervisor(),
      ets_inspect(),
      fetch_elixir_docs()
    ]
  end

  @doc "Runs a Mix task of the project."
  @spec mix_task() :: map()
  def mix_task, do: for_host(MixTask)

  @doc "Runs the project's tests."
  @spec run_exunit() :: map()
  def run_exunit, do: for_host(RunExunit)

  @doc "Shows the state of a process."
  @spec get_process_state() :: map()
  def get_process_state, do: for_host(ProcessState)

  @doc "Shows a supervision tree."
  @spec inspect_supervisor() :: map()
  def inspect_supervisor, do: for_host(SupervisorTree)

  @doc "Looks into ETS tables."
  @spec ets_inspect() :: map()
  def ets_inspect, do: for_host(EtsInspect)

  @doc "Reads documentation."
  @spec fetch_elixir_docs() :: map()
  def fetch_elixir_docs, do: for_host(FetchDocs)

  defp for_host(handler), do: handler |> Definition.of() |> Definition.for_host()
end
