defmodule JidoCode.Tools.Failure do
  @moduledoc false
  # The words for a reason that a tool's work answers, and that is no text yet.

  alias JidoCode.Tools.Security.Refusal

  @refusals [:task_not_allowed, :task_blocked, :invalid_task_name]

  @doc """
  The text for a reason. `subject` is the task, process, table or module that the call was about. A reason without words of its
  own is shown as it is.
  """
  @spec format(term(), String.t()) :: String.t()
  def format(kind, task) when kind in @refusals, do: Refusal.brief(kind, task)
  def format(:env_blocked, _task), do: Refusal.brief(:env_blocked, "prod")
  def format(:path_traversal_blocked, _task), do: "Path traversal not allowed in arguments"
  def format({:path_traversal_blocked, arg}, _task), do: Refusal.brief(:path_traversal_blocked, arg)
  def format(:timeout, task), do: "Mix task timed out: #{task}"
  def format(:project_root_not_found, _subject), do: "The project's folder does not exist"
  def format(:enoent, subject), do: "Command or file not found: #{subject}"
  def format(text, _subject) when is_binary(text), do: text
  def format(reason, subject) when is_atom(reason), do: "Error (#{reason}): #{subject}"

  def format(reason, subject) do
    "Error (#{inspect(reason, limit: 10, printable_limit: 200)}): #{subject}"
  end
end
