defmodule JidoCode.Tools.Test.Host do
  @moduledoc """
  The host of examples/host in this VM: its Executor, with the library's tools registered, and two whose handlers do what a test
  tells them (`JidoCode.Tools.Test.Runs` as `runs`, `JidoCode.Tools.Test.Declared` as `declared`).

  Its modules are loaded when the tests start, since they are compiled against the library, as any host's are; the calls to them
  go through apply.
  """

  alias JidoCode.Tools.{Catalog, JSON}
  alias JidoCode.Tools.Test.{Declared, Runs}

  @executor JidoCode.Tools.Executor
  @tool JidoCode.Tools.Tool
  @registry JidoCode.Tools.Registry

  # Not its HandlerHelpers: with them, each session would have to be a process of the host's.
  @files ~w(vendor/jason/lib/jason.ex lib/jido_code/session/manager.ex lib/jido_code/tools/param.ex) ++
           ~w(lib/jido_code/tools/tool.ex lib/jido_code/tools/registry.ex lib/jido_code/tools/result.ex) ++
           ~w(lib/jido_code/tools/executor.ex)

  @spec load() :: :ok
  def load do
    # One by one, in an order in which each finds those before it: required side by side, files do not wait for each other.
    for file <- @files, do: Code.require_file("examples/host/#{file}")

    for definition <- Catalog.all() ++ [told("runs", Runs), told("declared", Declared)] do
      :ok = apply(@registry, :register, [apply(@tool, :new!, [definition])])
    end

    :ok
  end

  defp told(name, handler) do
    parameters =
      for {name, type} <- [{"run", :object}, {"validate", :object}, {"timeout", :integer}],
          do: %{name: name, type: type, required: name == "run", description: "What the test says."}

    %{name: name, description: "Does what it is told.", handler: handler, parameters: parameters}
  end

  @doc "Arguments as the host takes them: JSON has no functions, so one stands in a map."
  @spec arguments(map()) :: map()
  def arguments(args) do
    Map.new(args, fn {name, value} -> {name, if(is_function(value), do: %{call: value}, else: value)} end)
  end

  @doc """
  Calls a tool by the host's Executor, and takes the text that its Result has apart again. Options: `:context`, `:timeout`,
  `:executor`.
  """
  @spec execute(String.t(), map(), keyword()) :: {:ok, term()} | {:error, String.t() | :timeout}
  def execute(name, args, opts) do
    call = %{id: "call-1", name: name, arguments: arguments(args)}
    {:ok, %{tool_call_id: "call-1", tool_name: ^name} = result} = apply(@executor, :execute, [call, opts])

    case result do
      %{status: :ok, content: "{" <> _ = json} -> JSON.decode(json)
      %{status: :ok, content: text} -> {:ok, text}
      %{status: :error, content: text} -> {:error, text}
      %{status: :timeout} -> {:error, :timeout}
    end
  end
end
