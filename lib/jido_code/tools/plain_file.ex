defmodule JidoCode.Tools.PlainFile do
  @moduledoc false
  # Files that a command or the project's own code may have made. Only regular ones are read, up to a size, and reading never
  # waits: Erlang's own file functions open a named pipe and stay there, and with them, one by one, every thread that the VM
  # reads files with.

  alias JidoCode.Tools.Security.Native

  @typedoc """
  Tells one state of a file from every other: device, inode, size, and the times of the last change of its content and of
  anything about it, in nanoseconds. The last one is the kernel's own, and no program can set it.
  """
  @type identity ::
          {non_neg_integer(), non_neg_integer(), non_neg_integer(), modified_ns :: integer(),
           changed_ns :: integer()}

  @typedoc "`\"io\"` is any reason of the system's that has no name here."
  @type reason :: String.t()

  @doc ~S"""
  The content and identity of a regular file of at most `limit` bytes. The reasons are `"not_found"`, `"not_regular"`,
  `"too_large"`, `"changing"` and `"io"`.

      iex> {:ok, "defmodule" <> _, _identity} = JidoCode.Tools.PlainFile.read("mix.exs", 1_000_000)
      iex> JidoCode.Tools.PlainFile.read("/dev/null", 10)
      {:error, "not_regular"}
  """
  @spec read(Path.t(), pos_integer()) :: {:ok, binary(), identity()} | {:error, reason()}
  def read(path, limit), do: Native.file_read(path, limit)

  @doc "The identities of files, nil for what is not a regular file."
  @spec identities([Path.t()]) :: [identity() | nil]
  def identities(paths), do: Native.file_identities(paths)

  @doc "The first of the folders that holds a regular file of this name."
  @spec find([Path.t()], String.t()) :: {:ok, Path.t(), identity()} | :error
  def find(folders, name), do: Native.file_find(folders, name)

  @doc "When anything about a file changed last, in nanoseconds of system time."
  @spec changed_ns(identity()) :: integer()
  def changed_ns({_device, _inode, _size, _modified_ns, changed_ns}), do: changed_ns
end
