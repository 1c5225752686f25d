defmodule JidoCode.Tools.ProjectVM do
  @moduledoc false
  # The project's VM as the VM that runs the tools sees it: a place to look at, as a node is for `JidoCode.Tools.Remote`.
  #
  #     pipeline ─► handler ─► call/4 ─► Keeper ── socket ── Side in the project's VM, in the fence
  #
  # Documentation needs no running project: that of Elixir and OTP is read here, and while the project does not run, what lies
  # compiled is read by a confined child. What a command may have written is never read by this VM.

  alias JidoCode.Tools.{Command, Definition, Remote}
  alias JidoCode.Tools.Introspection.BeamFile
  alias JidoCode.Tools.ProjectVM.{Keeper, Launch, Side, Wire}

  @enforce_keys [:keeper, :root, :env]
  defstruct @enforce_keys

  @type t :: %__MODULE__{keeper: pid(), root: Path.t(), env: %{String.t() => String.t()}}

  # A client gives up on a call after 60 seconds, and a call that it gave up on tells it nothing.
  @patience_ms 45_000
  @child_ms 12_000
  # For ending a tool of the project's whose time is up, and for what it says then.
  @stopping_ms 1_500
  @child_keep 4_000_000

  @doc """
  Begins to start the project in `root`.

  Options: `:env` (variables for it, beyond the usual few), `:start` (false: compiled, not started), `:connection` (asked for the
  lock under which a project is compiled).
  """
  @spec start(Path.t(), keyword()) :: t()
  def start(root, opts) do
    env = Map.new(Keyword.get(opts, :env, []))
    {:ok, keeper} = Keeper.start(root, Keyword.put(opts, :env, env))
    %__MODULE__{keeper: keeper, root: root, env: env}
  end

  @doc "Runs a handler there, as `JidoCode.Tools.Remote.call/5` does on a node; its work is never done here."
  @spec call(t(), Definition.t(), Remote.work(), map(), map()) ::
          {:ok, map()} | {:error, String.t() | {:timeout, String.t()}}
  def call(
        %__MODULE__{} = vm,
        %{at_node: :files, label: {:argument, subject}} = definition,
        work,
        args,
        context
      ) do
    cond do
      here?(args[subject]) -> work.(args, context)
      Keeper.ready?(vm.keeper) -> ask(vm, definition, args, context)
      true -> compiled_or_asked(vm, definition, args, context)
    end
  end

  # The project's own files, whatever it is about.
  def call(%__MODULE__{} = vm, %{at_node: :compiled} = definition, _work, args, context) do
    if Keeper.ready?(vm.keeper),
      do: ask(vm, definition, args, context),
      else: compiled_or_asked(vm, definition, args, context)
  end

  def call(vm, definition, _work, args, context), do: ask(vm, definition, args, context)

  @doc "Runs a tool that the project's VM offered; it has `time` milliseconds there."
  @spec call_tool(t(), Definition.t(), map(), pos_integer(), map()) ::
          {:ok, map()} | {:error, String.t() | {:timeout, String.t()}}
  def call_tool(%__MODULE__{} = vm, definition, args, time, context) do
    Keeper.ask(vm.keeper, %{
      tool: %{name: definition.name, digest: definition.offered, write?: context[:structured] != true},
      args: args,
      context: Map.take(context, [:session_id, :project_root]),
      # Over there the time is kept, and said in the answer.
      timeout: time + @stopping_ms,
      patience: @patience_ms,
      progress: context[:progress]
    })
  end

  defp ask(vm, definition, args, context) do
    Keeper.ask(vm.keeper, %{
      handler: definition.handler,
      args: args,
      context: Remote.told_elsewhere(context),
      timeout: Remote.timeout(definition, args),
      patience: @patience_ms,
      progress: context[:progress]
    })
  end

  @doc "What waiting for the project to start may add to a call's time."
  @spec way_ms(t()) :: pos_integer()
  def way_ms(%__MODULE__{}), do: @patience_ms + @stopping_ms + 2_000

  @doc "The release of OTP that it says it runs on; nil while it does not run."
  @spec otp_release(t()) :: pos_integer() | nil
  def otp_release(vm), do: Keeper.otp_release(vm.keeper)

  @doc "Ends the project's VM and starts it anew. Answers when it takes questions, or why it does not."
  @spec restart(t(), map()) :: {:ok, String.t()} | {:error, String.t()}
  def restart(vm, context), do: Keeper.restart(vm.keeper, @patience_ms, context[:progress])

  @doc "Ends the project's VM, by force after `grace` milliseconds."
  @spec stop(t(), non_neg_integer()) :: :ok
  def stop(vm, grace), do: Keeper.stop(vm.keeper, grace)

  # A module of Elixir's, OTP's or this library's.
  defp here?(name) do
    name = name |> String.trim() |> String.trim_leading(":")

    file =
      if name =~ ~r/\A\p{Lu}/u and not String.starts_with?(name, "Elixir."), do: "Elixir." <> name, else: name

    # The code server would list every folder of the path for a name that none has.
    file =~ ~r/\A[\p{L}\p{N}_@.]+\z/u and byte_size(file) < 200 and
      match?({:ok, _path, _id}, BeamFile.find(file))
  end

  # What lies compiled may not be all, or nothing yet: a project that starts is waited for before it is said that there is nothing.
  defp compiled_or_asked(vm, definition, args, context) do
    answer = read_compiled(vm, definition.handler, args, context)

    if nothing?(answer) and Keeper.starting?(vm.keeper),
      do: ask(vm, definition, args, context),
      else: answer
  end

  defp nothing?({:ok, %{"total" => 0}}), do: true
  defp nothing?(answer), do: match?({:error, _why}, answer)

  defp read_compiled(vm, handler, args, context) do
    question =
      {handler, args, Map.take(context, [:session_id])} |> :erlang.term_to_binary() |> Base.encode64()

    paths = Path.join(["_build", vm.env["MIX_ENV"] || System.get_env("MIX_ENV") || "dev", "lib", "*", "ebin"])
    code = "#{inspect(Side)}.answer_once()"
    command = Launch.elixir(["-pa", paths, "-e", code, "--", question])
    options = [timeout: @child_ms, keep: {@child_keep, 1_000}, network: :none, write: []]

    with {:ok, %{status: :exited, exit_code: 0, stdout: output}} <-
           Command.run(command, Keyword.merge(Launch.options(vm.root, %{}), options)),
         {:ok, frame} <- Base.decode64(output.head, padding: false, ignore: :whitespace),
         {:ok, answer} <- Wire.decode(frame) do
      compiled(answer, Keeper.state_text(vm.keeper))
    else
      {:error, {_kind, _text} = reason} ->
        {:error, Command.explain(reason)}

      _unreadable ->
        {:error, "The project's compiled code can't be read, and #{Keeper.state_text(vm.keeper)}."}
    end
  end

  defp compiled(%{"ok" => %{} = result}, state) do
    note = "Read from the compiled code: #{state}."
    {:ok, Map.update(result, "note", note, &if(is_binary(&1), do: &1 <> " " <> note, else: note))}
  end

  defp compiled(%{"error" => why}, state) when is_binary(why),
    do: {:error, "#{why} Only the compiled code was searched: #{state}."}

  defp compiled(_other, _state), do: {:error, "The project's compiled code can't be read."}
end
