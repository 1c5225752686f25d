defmodule JidoCode.Tools.Introspection.Ownership do
  @moduledoc false
  # Which processes and tables are the project's own. Only these may be looked at.
  #
  # The first rule that answers decides about a process:
  #
  #   1. It has a blocked name, belongs to OTP, Elixir, or JidoCode itself: refused.
  #   2. The application that it runs in is one of the project: allowed.
  #   3. The application of the module that it was started with is: allowed.
  #   4. Its name or that module lies in a namespace of the project: allowed.
  #   5. Refused.
  #
  # A table belongs to the process that owns it.
  #
  # What the project is comes from `project_namespaces` in the call's context, else in `config :jido_code_tools`:
  #
  #   * not set - every application that is neither OTP, Elixir, nor JidoCode, with the modules in it
  #   * `["MyApp", "MyAppWeb"]` (or modules) - what lies below these prefixes, and the applications that have modules there
  #   * `:all` - everything that rule 1 does not refuse

  alias JidoCode.Tools.Config
  alias JidoCode.Tools.Introspection.{At, Names, Observer, Reach}

  @config_key :project_namespaces

  @internal_apps [:jido_code, :jido_code_tools]

  @system_apps [:elixir, :eex, :ex_unit, :iex, :logger, :mix, :hex] ++
                 [
                   :kernel,
                   :stdlib,
                   :erts,
                   :sasl,
                   :asn1,
                   :common_test,
                   :compiler,
                   :crypto,
                   :debugger,
                   :dialyzer
                 ] ++
                 [
                   :diameter,
                   :edoc,
                   :eldap,
                   :erl_docgen,
                   :erl_interface,
                   :et,
                   :eunit,
                   :ftp,
                   :inets,
                   :jinterface
                 ] ++
                 [
                   :megaco,
                   :mnesia,
                   :observer,
                   :odbc,
                   :os_mon,
                   :parsetools,
                   :public_key,
                   :reltool,
                   :runtime_tools
                 ] ++
                 [:snmp, :ssh, :ssl, :syntax_tools, :tftp, :tools, :wx, :xmerl]

  # Their modules run on the project's behalf: a supervisor without a module of its own, an Agent, a Registry.
  @generic_apps [:stdlib, :elixir]

  # Processes of the runtime that belong to no application are known by the module they began in.
  @runtime_modules [:application_controller, :application_master, :code_server, :erl_init, :erl_prim_loader] ++
                     [:erts_code_purger, :erts_dirty_process_signal_handler, :erts_internal] ++
                     [:erts_literal_area_collector, :erts_trace_cleaner, :group, :init, :otp_ring0] ++
                     [:socket_registry, :user, :user_drv]

  # Exact, or a project could not name anything `user_cache` or `auth_worker`.
  @system_names ~w(
    kernel stdlib init code_server user user_drv application_controller error_logger logger logger_sup logger_proxy
    logger_handler_watcher logger_std_h_default global_name_server global_group global_group_check net_kernel net_sup
    auth inet_db inet_gethost_native inet_gethost_native_sup erl_epmd erl_prim_loader file_server_2 erts_code_purger rex
    erl_signal_server ssl_manager ssl_pem_cache ssl_sup disk_log_server disk_log_sup standard_error standard_error_sup
    kernel_sup kernel_safe_sup kernel_refc socket_registry timer_server dets_sup dets elixir_config elixir_sup
    elixir_code_server sasl_sup release_handler alarm_handler overload
  )

  # What a host is told of these names: not all of them, as its own list has them.
  @host_internal ~w(JidoCode.Tools JidoCode.Session JidoCode.Registry)
  @host_system ~w(
    kernel stdlib init code_server user application_controller error_logger logger global_name_server global_group
    net_kernel auth inet_db erl_epmd erl_prim_loader file_server_2 erts_code_purger rex erl_signal_server ssl_manager
    ssl_pem_cache disk_log_server disk_log_sup standard_error standard_error_sup
  )

  # The host's own processes.
  @internal_prefixes @host_internal ++
                       ~w(JidoCode.Supervisor JidoCode.Application JidoCode.AgentSupervisor JidoCode.AgentRegistry) ++
                       ~w(JidoCode.TaskSupervisor JidoCode.PubSub JidoCode.Settings JidoCode.RateLimit) ++
                       ~w(JidoCode.Memory JidoCode.Config JidoCode.Agents JidoCode.TUI JidoCode.Commands)

  @blocked_tables ~w(
    code code_names ac_tab file_io_servers shell_records global_names global_names_ext global_locks global_pid_names
    global_pid_ids global_lost_connections global_node_resources inet_db inet_hosts_byname inet_hosts_byaddr
    inet_hosts_file_byname inet_hosts_file_byaddr inet_cache ssl_otp_session_cache ssl_otp_pem_cache ets_coverage_data
    cover_internal_data_table cover_internal_clause_table cover_binary_code_table logger elixir_config elixir_modules
    timer_tab sys_dist jido_code_rate_limits jido_code_audit_log jido_code_background_shells jido_code_shell_output
  )

  @enforce_keys [:mode, :node]
  defstruct [:mode, :node, :prefixes]

  @typedoc "What the project is, for a call."
  @type scope :: %__MODULE__{mode: :default | :listed | :all, node: node(), prefixes: [String.t()] | nil}

  @type refusal :: :blocked | {:blocked, application :: atom()} | {:foreign, application :: atom() | nil}

  @doc "What the project is, for a call with this context."
  @spec scope(map()) :: scope()
  def scope(context) do
    # A context without the key is one thing, nil in it means the same.
    namespaces = Map.get(context, @config_key) || Config.get(@config_key)
    node = Reach.of(context).node

    case namespaces do
      :all ->
        %__MODULE__{mode: :all, node: node}

      nil ->
        %__MODULE__{mode: :default, node: node}

      list when is_list(list) ->
        %__MODULE__{mode: :listed, node: node, prefixes: Enum.flat_map(list, &prefix/1)}

      one ->
        %__MODULE__{mode: :listed, node: node, prefixes: prefix(one)}
    end
  end

  @doc """
  Beginnings of names that are refused, as a user would type them: with `Elixir.` and with a colon where they have one.
  """
  @spec host_prefixes() :: [String.t()]
  def host_prefixes do
    @host_internal ++ Enum.map(@host_internal, &("Elixir." <> &1)) ++ Enum.map(@host_system, &(":" <> &1))
  end

  @doc "Whether a name is refused whatever stands behind it, with or without colon or `Elixir.`."
  @spec blocked_name?(String.t() | atom()) :: boolean()
  def blocked_name?(name) do
    bare = Names.bare(name)
    bare in @system_names or String.starts_with?(bare, @internal_prefixes)
  end

  @doc "Whether a table of that name is refused."
  @spec blocked_table?(String.t() | atom()) :: boolean()
  def blocked_table?(name), do: Names.bare(name) in @blocked_tables or blocked_name?(name)

  @doc "Decides about a process."
  @spec check(Observer.t(), scope()) :: :ok | {:error, refusal()}
  def check(%Observer{} = process, scope) do
    application = application(process.pid, scope)

    cond do
      process.name != nil and blocked_name?(process.name) -> {:error, :blocked}
      application in @system_apps or application in @internal_apps -> {:error, {:blocked, application}}
      application == nil and runtime?(process, scope) -> {:error, :blocked}
      scope.mode == :all -> :ok
      project_app?(application, scope) -> :ok
      project_app?(application(process.module, scope), scope) -> :ok
      namespaced?(process.name, scope) or namespaced?(process.module, scope) -> :ok
      true -> {:error, {:foreign, application}}
    end
  end

  @doc "Decides about a module's code, as `check/2` does about a process that was started with it."
  @spec check_module(module(), scope()) :: :ok | {:error, refusal()}
  def check_module(module, scope) do
    application = application(module, scope)

    cond do
      blocked_name?(module) -> {:error, :blocked}
      application in @system_apps or application in @internal_apps -> {:error, {:blocked, application}}
      application == nil and :code.is_sticky(module) -> {:error, :blocked}
      scope.mode == :all or project_app?(application, scope) or namespaced?(module, scope) -> :ok
      true -> {:error, {:foreign, application}}
    end
  end

  @doc "As `check/2`; looks closer at the process only where its application does not answer."
  @spec check_pid(pid(), scope()) :: :ok | {:error, refusal()}
  def check_pid(pid, scope) do
    application = application(pid, scope)

    cond do
      application in @system_apps or application in @internal_apps ->
        {:error, {:blocked, application}}

      application != nil and project_app?(application, %{scope | mode: :default}) and scope.mode != :listed ->
        named(pid, scope)

      true ->
        looked_at(pid, scope)
    end
  end

  defp named(pid, scope) do
    case At.call(scope.node, :erlang, :process_info, [pid, :registered_name]) do
      {:registered_name, name} -> if blocked_name?(name), do: {:error, :blocked}, else: :ok
      _unregistered_or_gone -> :ok
    end
  end

  defp looked_at(pid, scope) do
    case Observer.look(pid) do
      {:ok, process} -> check(process, scope)
      :dead -> {:error, :blocked}
    end
  end

  @doc "Whether a name lies in a namespace of the project, where such are listed; all do where none are."
  @spec namespace?(atom(), scope()) :: boolean()
  def namespace?(name, %{mode: :listed} = scope), do: namespaced?(name, scope)
  def namespace?(_name, _scope), do: true

  @doc """
  The text for a refusal. `what` is "Process", "Supervisor" or "Table".
  """
  @spec explain(refusal(), String.t(), String.t()) :: String.t()
  def explain(:blocked, what, name) do
    "#{what} is blocked for security: #{name} belongs to the system or to JidoCode"
  end

  def explain({:blocked, application}, what, name) when application in @internal_apps,
    do: explain(:blocked, what, name)

  def explain({:blocked, application}, what, name) do
    "#{what} is blocked for security: #{name} belongs to #{inspect(application)}, which comes with Erlang or Elixir"
  end

  def explain({:foreign, application}, what, name) do
    owner = if application, do: " (it belongs to the application #{inspect(application)})", else: ""

    "#{what} is blocked: #{name} is not part of the project#{owner}. To allow it, add a module prefix to " <>
      "`config :jido_code_tools, project_namespaces: [...]`"
  end

  # By the group leader for a pid, by the loaded applications' lists for a module; no message either way.
  defp application(nil, _scope), do: nil

  defp application(pid_or_module, %{node: node}) do
    case At.call(node, :application, :get_application, [pid_or_module]) do
      {:ok, application} -> application
      :undefined -> nil
    end
  end

  defp runtime?(process, scope) do
    {began, _function, _arity} = process.initial_call || {nil, nil, 0}
    {now, _function, _arity} = process.current_function || {nil, nil, 0}
    of_module = application(process.module, scope)

    began in @runtime_modules or (process.behaviour in [:plain, :foreign] and now in @runtime_modules) or
      (of_module in @system_apps and of_module not in @generic_apps)
  end

  defp project_app?(nil, _scope), do: false
  defp project_app?(app, _scope) when app in @system_apps or app in @internal_apps, do: false
  defp project_app?(_app, %{mode: :default}), do: true

  defp project_app?(app, %{mode: :listed} = scope) do
    Enum.any?(modules(app, scope.node), &namespaced?(&1, scope))
  end

  defp namespaced?(nil, _scope), do: false

  # Worked out only where no application answers.
  defp namespaced?(name, %{prefixes: nil} = scope),
    do: namespaced?(name, %{scope | prefixes: default_prefixes(scope)})

  defp namespaced?(name, scope) do
    bare = Names.bare(name)

    Enum.any?(scope.prefixes, fn prefix ->
      bare == prefix or String.starts_with?(bare, prefix <> ".") or String.starts_with?(bare, prefix <> "_")
    end)
  end

  defp prefix(prefix) when is_atom(prefix) or is_binary(prefix) do
    case Names.bare(prefix) do
      "" -> []
      bare -> [String.trim_trailing(bare, ".")]
    end
  end

  defp prefix(_other), do: []

  # The applications' names, and the first parts of their modules' names where these are their own: a project also has
  # modules below Mix.Tasks or Inspect.
  defp default_prefixes(%{node: node} = scope) do
    apps =
      for {app, _description, _version} <- At.call(node, :application, :loaded_applications, []),
          project_app?(app, scope),
          do: app

    roots =
      for app <- apps,
          module <- modules(app, node),
          "Elixir." <> name <- [Atom.to_string(module)],
          uniq: true do
        name |> String.split(".", parts: 2) |> hd()
      end

    Enum.map(apps, &Atom.to_string/1) ++ Enum.reject(roots, &system_root?(&1, scope))
  end

  defp system_root?(root, scope) do
    Enum.any?(
      Names.atoms("Elixir." <> root, scope.node),
      &(application(&1, scope) in (@system_apps ++ @internal_apps))
    )
  end

  defp modules(app, node) do
    case At.call(node, :application, :get_key, [app, :modules]) do
      {:ok, modules} -> modules
      :undefined -> []
    end
  end
end
