defmodule JidoCode.Tools.Workspace do
  @moduledoc false
  # The folder that a call's tools stay in, and whether a path lies inside it.
  #
  # Links are followed wherever they stand in a path; a path that leads out of the project by its own text or through a link is
  # refused, and so are a NUL byte and a loop of links. An absolute path inside the project is accepted, also one that comes to it by
  # a link outside: use what it is resolved to, since such a link may lead elsewhere the next time.
  #
  # What is resolved here may be changed before it is used; commands are therefore confined by the kernel as well, and what the
  # native core opens itself it opens beneath the project's folder.

  alias JidoCode.Tools.Host
  alias JidoCode.Tools.Security.Native

  @type resolved :: %{
          absolute: String.t(),
          relative: String.t(),
          exists?: boolean(),
          directory?: boolean()
        }

  @type error_kind ::
          :invalid_root
          | :nul_byte
          | :too_long
          | :outside
          | :too_many_links
          | :not_found
          | :not_a_directory
          | :wrong_type
          | :changing
          | :io

  @doc "The project's root of a call, when there is such a folder; see `given_root/1`."
  @spec root(map()) :: {:ok, String.t()} | {:error, atom()}
  def root(context) do
    case given_root(context) do
      {:ok, root} -> if File.dir?(root), do: {:ok, root}, else: {:error, :project_root_not_found}
      error -> error
    end
  end

  @doc """
  The host's own answer when it had one as this library started, else the context's `:project_root`, else the current folder.
  """
  @spec given_root(map()) :: {:ok, String.t()} | {:error, atom()}
  def given_root(context) do
    helpers = Host.helpers()

    cond do
      helpers != nil -> helpers.get_project_root(context)
      is_binary(context[:project_root]) -> {:ok, context[:project_root]}
      true -> File.cwd()
    end
  end

  @doc """
  The path without links, from the root of the file system and from the project's root (`""` for that itself). What does not
  exist yet is resolved as far as it does.

      iex> root = File.cwd!()
      iex> {:ok, path} = JidoCode.Tools.Workspace.resolve(root, "lib/../mix.exs")
      iex> {path.relative, path.exists?}
      {"mix.exs", true}
      iex> {:error, {:outside, _text}} = JidoCode.Tools.Workspace.resolve(root, "../other/mix.exs")
      iex> {:error, {:outside, _text}} = JidoCode.Tools.Workspace.resolve(root, root <> "-evil/mix.exs")
      iex> {:error, {:nul_byte, _text}} = JidoCode.Tools.Workspace.resolve(root, "mix.exs\\0.txt")
  """
  @spec resolve(String.t(), String.t()) :: {:ok, resolved()} | {:error, {error_kind(), String.t()}}
  def resolve(root, path) when is_binary(root) and is_binary(path) do
    case Native.path_resolve(root, path) do
      {:ok, absolute, relative, exists?, directory?} ->
        {:ok, %{absolute: absolute, relative: relative, exists?: exists?, directory?: directory?}}

      {:error, kind, text} ->
        {:error, {kind, text}}
    end
  end
end
