defmodule JidoCode.Tools.ProjectVM.Run do
  @moduledoc false
  # One run of the project's VM: the command in its fence, the socket that it connects to, and what it printed last.
  #
  # The owner, a `Keeper`, is told `{:connected, socket}`, `{:printed, id, text}` and at last `{:over, id, how}`.

  alias JidoCode.Tools.{Command, Temporary}
  alias JidoCode.Tools.ProjectVM.{Launch, Wire}
  alias JidoCode.Tools.Security.{OutputSanitizer, RedactionNote}
  alias JidoCode.Tools.Shortened

  @enforce_keys [:id, :command, :folder, :listener, :follower]
  defstruct @enforce_keys ++ [socket: nil, printed: ""]

  @type t :: %__MODULE__{}

  @kept_bytes 4_096
  @line_characters 200
  @kept_of_output 65_536
  @look_ms 500

  @doc "Starts `mix jido.mcp.serve` in the project's folder."
  @spec start(Path.t(), keyword()) :: {:ok, t()} | {:error, String.t()}
  def start(root, opts) do
    with {:ok, folder} <- claim(), do: start(folder, root, opts)
  end

  defp claim do
    with {:error, reason} <- Temporary.claim(), do: {:error, Command.explain(reason)}
  end

  defp start(folder, root, opts) do
    path = Path.join(folder, "s")
    {:ok, listener} = :gen_tcp.listen(0, [active: false, ifaddr: {:local, path}] ++ Wire.socket_options())
    accept(listener, folder)

    switches = if Keyword.get(opts, :start, true), do: [], else: ["--no-start"]
    argv = Launch.elixir(["-S", "mix", "jido.mcp.serve", "--socket", path | switches])
    # As it would be read on a terminal, both streams in their order.
    plan = [{:then, [%{argv: argv, redirect: [{2, :same, 1}]}]}]
    options = [timeout: :infinity, keep: {0, @kept_of_output}] ++ Launch.options(root, opts[:env])
    # To connect to a socket its folder need not be writable.
    options = Keyword.update!(options, :read, &[folder | &1])

    case Command.start(plan, options) do
      {:ok, command} ->
        id = make_ref()
        follower = follow(id, command)
        {:ok, %__MODULE__{id: id, command: command, folder: folder, listener: listener, follower: follower}}

      {:error, reason} ->
        :gen_tcp.close(listener)
        Temporary.release(folder)
        {:error, Command.explain(reason)}
    end
  end

  # The first connection is the VM's; then there is nothing left to connect to.
  defp accept(listener, folder) do
    owner = self()

    spawn_link(fn ->
      with {:ok, socket} <- :gen_tcp.accept(listener) do
        :gen_tcp.controlling_process(socket, owner)
        send(owner, {:connected, socket})
      end

      :gen_tcp.close(listener)
      Temporary.release(folder)
    end)
  end

  defp follow(id, command) do
    owner = self()
    spawn_link(fn -> follow(owner, id, command, 0) end)
  end

  defp follow(owner, id, command, position) do
    outcome = Command.await(command, @look_ms)
    position = pass_on(owner, id, command, position)

    if outcome == {:error, :running} do
      follow(owner, id, command, position)
    else
      Command.close(command)
      send(owner, {:over, id, how(outcome)})
    end
  end

  defp pass_on(owner, id, command, position) do
    case Command.read(command, {position, 0}, limit: @kept_of_output) do
      {:ok, %{stdout: %{text: "", next: next}}} ->
        next

      {:ok, %{stdout: %{text: text, next: next}}} ->
        IO.write(:stderr, text)
        send(owner, {:printed, id, text})
        next

      {:error, _reason} ->
        position
    end
  end

  defp how({:ok, %{signal: signal}}) when is_binary(signal), do: "by #{signal}"
  defp how({:ok, %{exit_code: code}}) when is_integer(code), do: "exit status #{code}"
  defp how({:ok, %{status: status}}), do: Atom.to_string(status)
  defp how({:error, reason}), do: Command.explain(reason)

  @doc "The VM has connected."
  @spec connected(t(), :gen_tcp.socket()) :: t()
  def connected(vm, socket) do
    :inet.setopts(socket, active: :once)
    %{vm | socket: socket}
  end

  @doc "Sends a message; a channel that is gone is noticed where it is read."
  @spec tell(t() | nil, term()) :: :ok
  def tell(%{socket: socket}, message) when socket != nil do
    :gen_tcp.send(socket, Wire.encode(message))
    :ok
  end

  def tell(_vm, _message), do: :ok

  @doc "Lets it end by itself, and ends it after `grace`. Returns at once; `{:over, id, how}` comes."
  @spec stop_soon(t(), non_neg_integer()) :: :ok
  def stop_soon(vm, grace) do
    if vm.socket, do: :gen_tcp.shutdown(vm.socket, :write)
    command = vm.command

    spawn(fn ->
      with {:error, :running} <- Command.await(command, grace), do: Command.stop(command)
    end)

    :ok
  end

  @doc "The same, and waits until nothing of it is left."
  @spec stop(t(), non_neg_integer()) :: :ok
  def stop(vm, grace) do
    if vm.socket, do: :gen_tcp.close(vm.socket)
    with {:error, :running} <- Command.await(vm.command, grace), do: Command.close(vm.command)
    clean(vm)
  end

  @spec clean(t()) :: :ok
  def clean(vm) do
    if vm.socket, do: :gen_tcp.close(vm.socket)
    :gen_tcp.close(vm.listener)
    Temporary.release(vm.folder)
    :ok
  end

  @doc "Keeps the end of what it printed."
  @spec printed(t(), String.t()) :: t()
  def printed(vm, text) do
    text = vm.printed <> text
    over = byte_size(text) - @kept_bytes
    %{vm | printed: if(over > 0, do: whole(binary_part(text, over, @kept_bytes)), else: text)}
  end

  # The first line may have lost its beginning, and with it what tells a secret.
  defp whole(text) do
    case String.split(text, "\n", parts: 2) do
      [_part, rest] -> rest
      [_one_line] -> ""
    end
  end

  @doc "`why`, and what it printed last, redacted. `note` says what was redacted in `why`."
  @spec last_words(t(), String.t(), String.t() | nil) :: String.t()
  def last_words(vm, why, note) do
    {printed, more} = OutputSanitizer.redact(vm.printed, emit_telemetry: false)

    case String.trim(printed) do
      "" -> why
      printed -> "#{why}. It printed last:\n#{printed}"
    end
    |> RedactionNote.add(note)
    |> RedactionNote.add(more)
  end

  @doc "The last line that it printed, redacted."
  @spec last_line(t()) :: String.t()
  def last_line(vm) do
    printed = OutputSanitizer.sanitize(vm.printed, emit_telemetry: false)
    lines = printed |> String.trim() |> String.split("\n")

    lines
    |> Enum.reverse()
    |> Enum.find("", &(String.trim(&1) != ""))
    |> String.trim()
    |> Shortened.label(@line_characters)
  end
end
