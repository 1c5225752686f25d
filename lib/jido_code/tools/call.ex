defmodule JidoCode.Tools.Call do
  @moduledoc false
  # One tool call on its way through the pipeline.
  #
  # Every stage of `JidoCode.Tools.SecureExecutor` takes it and returns it; once `status` is set, the stages that are left out
  # pass it on. `Inspect` shows neither arguments, context nor result: a call may be printed anywhere.

  alias JidoCode.Tools.Security.AuditLogger

  @enforce_keys [:name, :tool, :handler, :args, :context]
  defstruct [
    :name,
    :tool,
    :handler,
    :args,
    :context,
    :started_at,
    :started_id,
    :status,
    :reason,
    :result,
    :duration_us,
    :audit_id,
    :confinement,
    checked?: false
  ]

  @typedoc """
  `status` is nil until it is decided; `reason` then says why it is not `:ok`: the denial, `:timeout`, `{:killed, _}`,
  `{:crashed, _}`, or `:handler` for the handler's own error. `result` is what the caller gets. `confinement` says what its
  commands were confined by, if it ran any.
  """
  @type t :: %__MODULE__{
          name: String.t(),
          tool: term(),
          handler: module() | nil,
          args: map(),
          context: map(),
          started_at: integer() | nil,
          status: AuditLogger.status() | nil,
          reason: term(),
          result: {:ok, term()} | {:error, term()} | nil,
          duration_us: non_neg_integer() | nil,
          audit_id: pos_integer() | nil,
          confinement: String.t() | nil,
          checked?: boolean()
        }

  defimpl Inspect do
    import Inspect.Algebra

    def inspect(call, opts) do
      shown = [tool: call.name, status: call.status, duration_us: call.duration_us, audit_id: call.audit_id]
      concat(["#JidoCode.Tools.Call<", to_doc(shown, opts), ">"])
    end
  end
end
