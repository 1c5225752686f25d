defmodule SomeProject.Application do
  @moduledoc false
  # A project's application, as the introspection tools would find one on a user's node. It is defined here, and not with
  # the other fixtures, so that its modules belong to no other application.
  use Application

  @name :some_project

  @doc "Loads and starts it, as if it had been installed."
  def start do
    specification =
      {:application, @name,
       [
         description: ~c"test",
         vsn: ~c"1",
         modules: [SomeProject.Application, SomeProject.Worker, OddlyNamed.Worker],
         registered: [],
         applications: [:kernel, :stdlib],
         mod: {__MODULE__, []}
       ]}

    with :ok <- :application.load(specification), do: :application.start(@name)
  end

  @doc "Stops and unloads it."
  def stop do
    :application.stop(@name)
    :application.unload(@name)
  end

  @impl true
  def start(_type, _arguments) do
    children = [{SomeProject.Worker, :some_worker}, {Registry, keys: :unique, name: :some_registry}]
    Supervisor.start_link(children, strategy: :one_for_one, name: SomeProject.Supervisor)
  end
end

defmodule SomeProject.Worker do
  @moduledoc false
  use GenServer

  def start_link(name), do: GenServer.start_link(__MODULE__, name, name: name)

  @impl true
  def init(name) do
    table = :ets.new(:"#{name}_table", [:named_table, :public])
    :ets.insert(table, {:k, 1})
    {:ok, %{name: name, badge_number: "17"}}
  end
end

defmodule OddlyNamed.Worker do
  @moduledoc false
  # Belongs to the application, though its name doesn't say so.
  use GenServer

  def start_link(name), do: GenServer.start_link(__MODULE__, name, name: name)

  @impl true
  def init(name), do: {:ok, name}
end

defmodule JidoCode.Tools.Introspection.OwnershipTest do
  # Loads an application and changes the configuration.
  use ExUnit.Case, async: false
  doctest JidoCode.Tools.Introspection.Names

  alias JidoCode.Tools.Handlers.Elixir.{EtsInspect, ProcessState, SupervisorTree}
  alias JidoCode.Tools.Introspection.{Observer, Ownership}
  alias JidoCode.Tools.Test.Processes
  alias JidoCode.Tools.Test.Processes.{Hiding, Server}

  setup_all do
    ExUnit.CaptureLog.capture_log(fn -> :ok = SomeProject.Application.start() end)
    on_exit(fn -> ExUnit.CaptureLog.capture_log(fn -> SomeProject.Application.stop() end) end)
  end

  defp check(pid, context) do
    {:ok, process} = Observer.look(pid)
    Ownership.check(process, Ownership.scope(context))
  end

  defp configure(key, value) do
    Application.put_env(:jido_code_tools, key, value)
    on_exit(fn -> Application.delete_env(:jido_code_tools, key) end)
  end

  describe "without any setting" do
    test "the processes and tables of the project's applications are its own" do
      for name <- ["some_worker", ":some_worker", ":some_registry"] do
        assert {:ok, _result} = ProcessState.execute(%{"process" => name}, %{})
      end

      assert {:ok, %{"children_count" => 2, "tree" => tree}} =
               SupervisorTree.execute(%{"supervisor" => "SomeProject.Supervisor"}, %{})

      assert tree =~ "SomeProject.Worker"

      assert {:ok, %{"result" => ["{:k, 1}"]}} =
               EtsInspect.execute(
                 %{"operation" => "lookup", "table" => "some_worker_table", "key" => ":k"},
                 %{}
               )

      assert {:ok, %{"result" => tables}} = EtsInspect.execute(%{"operation" => "list"}, %{})
      assert "some_worker_table" in Enum.map(tables, & &1["name"])
    end

    test "so is a process with one of its modules, or a name below them, wherever it runs" do
      by_module = start_supervised!({SomeProject.Worker, :elsewhere})

      by_name =
        start_supervised!(%{id: :a, start: {Agent, :start_link, [Map, :new, [], [name: SomeProject.Cache]]}})

      by_app_name =
        start_supervised!(%{id: :b, start: {Agent, :start_link, [Map, :new, [], [name: :some_project_x]]}})

      for pid <- [by_module, by_name, by_app_name], do: assert(check(pid, %{}) == :ok)
    end

    test "and no other" do
      stranger = start_supervised!({Server, {Processes.unique(:stranger), 1}})
      # Begins like the project's name, but isn't below it.
      near = start_supervised!(%{id: :a, start: {Agent, :start_link, [Map, :new, [], [name: SomeProjector]]}})
      for pid <- [stranger, near], do: assert({:error, {:foreign, nil}} = check(pid, %{}))
    end
  end

  describe "with namespaces" do
    test "the context wins over the configuration" do
      configure(:project_namespaces, ["Elsewhere"])
      worker = Process.whereis(:some_worker)
      assert {:error, {:foreign, :some_project}} = check(worker, %{})
      assert check(worker, %{project_namespaces: [SomeProject]}) == :ok
      assert check(worker, %{project_namespaces: "SomeProject"}) == :ok
      assert check(worker, %{project_namespaces: :all}) == :ok
      configure(:project_namespaces, ["SomeProject"])
      assert check(worker, %{project_namespaces: nil}) == :ok
      assert {:error, _} = check(worker, %{project_namespaces: [""]})
    end

    test "an application that has modules there is the project's, with all that runs in it" do
      # Its module is Elixir's, its name has no prefix: only the application tells.
      assert check(Process.whereis(:some_registry), %{project_namespaces: ["SomeProject"]}) == :ok
    end

    test "so are processes with its modules, wherever they run" do
      odd = start_supervised!({OddlyNamed.Worker, :odd_worker})
      assert check(odd, %{project_namespaces: ["SomeProject"]}) == :ok
      assert {:error, {:foreign, nil}} = check(odd, %{project_namespaces: ["SomeOtherProject"]})
    end

    test "nothing of the system, whatever is listed" do
      names = [
        :kernel_sup,
        :logger_sup,
        :code_server,
        :init,
        :elixir_sup,
        Logger.Supervisor,
        :application_controller
      ]

      for name <- names,
          namespaces <- [:all, ["Logger", "kernel", "code_server", "init", "Elixir", "elixir", "application"]] do
        assert {:error, refusal} = check(Process.whereis(name), %{project_namespaces: namespaces})
        assert refusal == :blocked or match?({:blocked, _application}, refusal)
      end
    end
  end

  test "names that only look like the system's are not blocked" do
    for name <- [
          "user_cache",
          ":users",
          "authority",
          "kernelize",
          "init_worker",
          "loggers",
          "MyApp.JidoCode.Tools"
        ] do
      refute Ownership.blocked_name?(name)
    end

    for name <- [
          "user",
          ":user",
          "auth",
          "kernel_sup",
          "Elixir.JidoCode.Tools.X",
          "JidoCode.SessionRegistry",
          ":logger"
        ] do
      assert Ownership.blocked_name?(name)
    end
  end

  describe "other settings" do
    test "read_format_status shows what the module's own format_status gives" do
      name = Processes.unique(:hiding)
      start_supervised!({Hiding, {name, %{inner: "unseen", shown: 17}}})
      context = %{project_namespaces: :all}

      assert {:ok, %{"state" => nil}} = ProcessState.execute(%{"process" => inspect(name)}, context)
      configure(:read_format_status, true)
      assert {:ok, %{"state" => state}} = ProcessState.execute(%{"process" => inspect(name)}, context)
      assert state =~ "shown: 17"
      refute state =~ "unseen"
    end

    test "redaction_fields adds names, also in the process that is looked at" do
      assert {:ok, %{"state" => state}} = ProcessState.execute(%{"process" => "some_worker"}, %{})
      assert state =~ ~s(badge_number: "17")
      configure(:redaction_fields, [:badge_number])
      assert {:ok, %{"state" => state}} = ProcessState.execute(%{"process" => "some_worker"}, %{})
      assert state =~ ~s(badge_number: "[REDACTED]")
    end
  end
end
