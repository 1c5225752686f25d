defmodule JidoCode.Tools.Test.Tree do
  @moduledoc false
  # Project folders for tests, outside this repository so that its own ignore rules don't reach them.

  @doc "A new folder with the given files, gone when the test ends. Its path has no links in it."
  def new!(files) do
    parent = Path.join(System.tmp_dir!(), "jido-tree-#{System.pid()}-#{System.unique_integer([:positive])}")
    root = Path.join(parent, "project")
    File.mkdir_p!(root)
    ExUnit.Callbacks.on_exit(fn -> remove!(parent) end)
    write!(root, files)
    root
  end

  @remove_ms 20_000

  @doc "Removes a folder. A server that a test left ends its VM a moment later, which may still write there until then."
  def remove!(folder, waited \\ 0) do
    case File.rm_rf(folder) do
      {:error, _reason, _file} when waited < @remove_ms -> Process.sleep(50) && remove!(folder, waited + 50)
      {:error, reason, file} -> raise File.Error, reason: reason, action: "remove", path: file
      {:ok, _removed} -> :ok
    end
  end

  def write!(root, files) do
    for {path, content} <- files do
      path = Path.join(root, path)
      File.mkdir_p!(Path.dirname(path))
      File.write!(path, content)
    end

    :ok
  end

  @doc "A named pipe: whoever opens it for reading waits until `release/1`."
  def pipe!(root, path) do
    path = Path.join(root, path)
    File.mkdir_p!(Path.dirname(path))
    {"", 0} = System.cmd("mkfifo", [path])
    path
  end

  @doc "Waits for the reader of a pipe, and lets it go on."
  def let_through(pipe) do
    {"", 0} = System.cmd("timeout", ["60", "sh", "-c", ~s(: > "$0"), pipe])
    :ok
  end

  @doc "Lets the readers of a pipe go on. Opened both ways, it does not wait for a reader itself."
  def release(pipe) do
    if File.exists?(pipe), do: System.cmd("sh", ["-c", ~s(exec 3<>"$0"), pipe])
    :ok
  end
end
