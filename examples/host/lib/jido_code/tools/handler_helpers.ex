defmodule JidoCode.Tools.HandlerHelpers do
  @moduledoc "What handlers share."

  alias JidoCode.Session

  @uuid ~S"\A[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\z"

  @doc "The session's root, even if the context has another; without a session, the context's; else the current folder."
  @spec get_project_root(map()) :: {:ok, String.t()} | {:error, atom()}
  def get_project_root(%{session_id: session_id}) when is_binary(session_id) do
    if Regex.match?(Regex.compile!(@uuid, "i"), session_id),
      do: Session.Manager.project_root(session_id),
      else: {:error, :invalid_session_id}
  end

  def get_project_root(%{project_root: root}) when is_binary(root), do: {:ok, root}
  def get_project_root(_context), do: File.cwd()
end
