defmodule JidoCode.Tools.Handlers.Elixir do
  @moduledoc """
  What the six Elixir tools share and what a host asks about them: which Mix tasks and environments they allow, and how
  their errors read.

  The tools themselves are modules below this one: `MixTask`, `RunExunit`, `ProcessState`, `SupervisorTree`,
  `EtsInspect` and `FetchDocs`.
  """

  alias JidoCode.Tools.{Failure, Telemetry, Workspace}
  alias JidoCode.Tools.Introspection.Ownership
  alias JidoCode.Tools.Render.SensitiveName

  @allowed_tasks ~w(compile test format deps.get deps.compile deps.tree deps.unlock help credo dialyzer docs hex.info)
  @blocked_tasks ~w(release archive.install escript.build local.hex local.rebar hex.publish deps.update do ecto.drop) ++
                   ~w(ecto.reset phx.gen.secret)
  @allowed_envs ~w(dev test)

  @doc "Mix tasks that may run."
  @spec allowed_tasks() :: [String.t()]
  def allowed_tasks, do: @allowed_tasks

  @doc "Mix tasks that never run, whatever is added to the allowed ones."
  @spec blocked_tasks() :: [String.t()]
  def blocked_tasks, do: @blocked_tasks

  @doc "Values of `MIX_ENV` that may be used."
  @spec allowed_envs() :: [String.t()]
  def allowed_envs, do: @allowed_envs

  @doc "Beginnings of process names that are refused."
  @spec blocked_prefixes() :: [String.t()]
  defdelegate blocked_prefixes, to: Ownership, as: :host_prefixes

  @doc "Names of fields whose values are never shown."
  @spec sensitive_fields() :: [String.t()]
  defdelegate sensitive_fields, to: SensitiveName, as: :host_names

  @doc """
  Whether a Mix task may run.

      iex> JidoCode.Tools.Handlers.Elixir.validate_task("test")
      {:ok, "test"}
      iex> JidoCode.Tools.Handlers.Elixir.validate_task("hex.publish")
      {:error, :task_blocked}
      iex> JidoCode.Tools.Handlers.Elixir.validate_task("run; rm")
      {:error, :invalid_task_name}
  """
  @spec validate_task(term()) ::
          {:ok, String.t()} | {:error, :invalid_task_name | :task_blocked | :task_not_allowed}
  def validate_task(task) do
    cond do
      not task_name?(task) -> {:error, :invalid_task_name}
      task in @blocked_tasks -> {:error, :task_blocked}
      task in @allowed_tasks -> {:ok, task}
      true -> {:error, :task_not_allowed}
    end
  end

  @doc "Whether a Mix environment may be used; nil means dev."
  @spec validate_env(term()) :: {:ok, String.t()} | {:error, :env_blocked}
  def validate_env(nil), do: {:ok, "dev"}
  def validate_env(env) when env in @allowed_envs, do: {:ok, env}
  def validate_env(_env), do: {:error, :env_blocked}

  @doc """
  The text for an error. `subject` is the task, process, table or module that the call was about.
  """
  @spec format_error(term(), String.t()) :: String.t()
  defdelegate format_error(reason, subject), to: Failure, as: :format

  @doc """
  The project's root folder: the host's own answer when it had one as this library started, else the context's, else the current folder.
  """
  @spec get_project_root(map()) :: {:ok, String.t()} | {:error, atom()}
  defdelegate get_project_root(context), to: Workspace, as: :given_root

  @doc """
  Emits `[:jido_code, :elixir, operation]`. `started` is monotonic time in microseconds.
  """
  @spec emit_elixir_telemetry(atom(), integer(), String.t(), map(), atom(), integer()) :: :ok
  def emit_elixir_telemetry(operation, started, task, context, status, exit_code) do
    Telemetry.execute(
      [:jido_code, :elixir, operation],
      %{duration: System.monotonic_time(:microsecond) - started, exit_code: exit_code},
      %{task: task, status: status, session_id: Map.get(context, :session_id)}
    )
  end

  # A letter, then letters, digits, dots, underscores and hyphens.
  defp task_name?(<<first, rest::binary>>) when first in ?a..?z or first in ?A..?Z do
    rest
    |> String.to_charlist()
    |> Enum.all?(&(&1 in ?a..?z or &1 in ?A..?Z or &1 in ?0..?9 or &1 in [?., ?_, ?-]))
  rescue
    UnicodeConversionError -> false
  end

  defp task_name?(_other), do: false
end
