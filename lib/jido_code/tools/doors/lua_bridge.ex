defmodule JidoCode.Tools.LuaBridge do
  @moduledoc """
  The search and shell tools for Lua scripts that run in [Luerl](https://github.com/rvirding/luerl).

  | in Lua | tool | answers |
  |---|---|---|
  | `jido.grep(pattern, options)` | `grep_search` | a table: `result`, `count`, ... |
  | `jido.shell(command, options)` | `bash_execute` | a table: `stdout`, `stderr`, `exit_code`, ... |
  | `jido.shell_background(command, options)` | `bash_background` | a table: `shell_id`, `description` |
  | `jido.shell_output(shell_id, options)` | `bash_output` | a table: `output`, `status`, `exit_code`, ... |
  | `jido.shell_kill(shell_id)` | `kill_shell` | `true`; the shell is gone, whether it was still running or not |

  `options` is a table of the tool's other parameters, and may be left out. Any failure, a refusal included, is answered by
  `nil` and a message:

      local found, why = jido.grep("def sum", {file_type = "elixir", head_limit = 20})
      if not found then return why end

  Every other tool, the project's own among them, is a function by its name where `:tools` lists it. It takes a table of the tool's
  parameters, and answers a table:

      {:ok, state} = JidoCode.Tools.LuaBridge.register(:luerl.init(), session_id: "s1", tools: ["low_stock"])

      local scarce, why = jido.low_stock({at_most = 15})

  Each call goes through `JidoCode.Tools.SecureExecutor.call/3`: rate limit, tier, consent, isolation, redaction, audit. The
  script says what to do, the application says for which session:

      {:ok, state} = JidoCode.Tools.LuaBridge.register(:luerl.init(), session_id: "s1", project_root: "/srv/shop")

  ## Options

  | key | meaning |
  |---|---|
  | `:session_id` | whose limits, grants and shells count; without one, `jido.shell_background` is refused |
  | `:project_root` | the folder that the tools stay in; `register/2` takes the current one by default |
  | `:granted_tier`, `:consented_tools` | win over what the library remembers of the session; without both it is `:read_only` |
  | `:tools` | names of tools that become functions too (default: none); an unknown name is an error of `register/2` |
  | `:replace_shell` | `true`: `jido.shell` is set although the state has one already (`register/2`; default `false`) |

  ## Values

  From Lua: a table with the keys 1 to n is a list, any other a map with string keys; a number that is whole is an integer.
  To Lua: a map is a table by its keys, a list one from 1; nil values are left out; what Lua has no value for (an atom, a
  pid) is text.

  The tool runs elsewhere, but the script waits for it: the time that the application allows a script includes its calls.
  """

  alias JidoCode.Tools.{Catalog, SecureExecutor}
  alias JidoCode.Tools.LuaBridge.Luerl

  @table "jido"
  @plain "arguments must be strings, numbers, booleans, nil or tables of them"

  @typedoc "`[result]`, or `[nil, message]`."
  @type results :: [term()]
  @type option ::
          {:session_id, String.t()}
          | {:project_root, String.t()}
          | {:granted_tier, JidoCode.Tools.Security.Permissions.tier()}
          | {:consented_tools, [String.t()]}
          | {:tools, [String.t()]}
          | {:replace_shell, boolean()}

  @doc """
  Puts the functions into the table `jido` of a Luerl state, which is made where it is missing.

  `jido.shell` is left alone where the state has one, unless `replace_shell: true`. Without Luerl, or with one whose interface
  is unknown, the answer is `{:error, text}`.
  """
  @spec register(state, [option()]) :: {:ok, state} | {:error, String.t()} when state: term()
  def register(state, opts \\ []) do
    known = [:session_id, :project_root, :granted_tier, :consented_tools, :tools, :replace_shell]
    {replace_shell?, opts} = opts |> Keyword.validate!(known) |> Keyword.pop(:replace_shell, false)
    {root, opts} = Keyword.pop_lazy(opts, :project_root, &File.cwd!/0)
    {tools, opts} = Keyword.pop(opts, :tools, [])

    with :ok <- available(),
         {:ok, named} <- named(tools),
         do: {:ok, put_all(state, functions() ++ named, root, opts, replace_shell?)}
  end

  defp available do
    if Luerl.available?(),
      do: :ok,
      else: {:error, "Luerl is missing, or older than 0.4: add :luerl to the application's dependencies"}
  end

  defp named(tools) do
    {own, _functions} = Enum.unzip(functions())

    case Enum.find(tools, &(&1 in own or Catalog.fetch(&1) == :error)) do
      nil ->
        {:ok, for(tool <- tools, do: {tool, &lua_tool(tool, &1, &2, &3, &4)})}

      tool ->
        text = if tool in own, do: "jido.#{tool} is the bridge's own", else: "there is no tool of that name"
        {:error, ":tools takes names of tools, got: #{inspect(tool)} (#{text})"}
    end
  end

  defp put_all(state, functions, root, opts, replace_shell?) do
    state = if Luerl.get(state, [@table]) == nil, do: Luerl.put_table(state, [@table]), else: state

    for {name, function} <- functions,
        replace_shell? or name != "shell" or Luerl.get(state, [@table, name]) == nil,
        reduce: state do
      state ->
        Luerl.put_function(state, [@table, name], fn args, state -> function.(args, state, root, opts) end)
    end
  end

  defp functions do
    [
      {"grep", &lua_grep/4},
      {"shell", &lua_shell/4},
      {"shell_background", &lua_shell_background/4},
      {"shell_output", &lua_shell_output/4},
      {"shell_kill", &lua_shell_kill/4}
    ]
  end

  @doc """
  `jido.grep` as a function of Elixir values: `args` is `[pattern]` or `[pattern, options]`, the state goes through untouched.

      iex> {[%{"result" => "mix.exs\\n1:" <> _, "count" => 1}], :state} =
      ...>   JidoCode.Tools.LuaBridge.lua_grep(["defmodule JidoCodeTools", %{"path" => "mix.exs"}], :state, File.cwd!())
      iex> JidoCode.Tools.LuaBridge.lua_grep([], :state, File.cwd!())
      {[nil, "grep requires pattern argument"], :state}
  """
  @spec lua_grep([term()], state, String.t(), [option()]) :: {results(), state} when state: term()
  def lua_grep(args, state, project_root, opts \\ []) do
    {call("grep_search", "grep", "pattern", args, project_root, opts), state}
  end

  @doc "`jido.shell`: `[command]` or `[command, options]`."
  @spec lua_shell([term()], state, String.t(), [option()]) :: {results(), state} when state: term()
  def lua_shell(args, state, project_root, opts \\ []) do
    {call("bash_execute", "shell", "command", args, project_root, opts), state}
  end

  @doc "`jido.shell_background`: `[command]` or `[command, options]`."
  @spec lua_shell_background([term()], state, String.t(), [option()]) :: {results(), state} when state: term()
  def lua_shell_background(args, state, project_root, opts \\ []) do
    {call("bash_background", "shell_background", "command", args, project_root, opts), state}
  end

  @doc "`jido.shell_output`: `[shell_id]` or `[shell_id, options]`."
  @spec lua_shell_output([term()], state, String.t(), [option()]) :: {results(), state} when state: term()
  def lua_shell_output(args, state, project_root, opts \\ []) do
    {call("bash_output", "shell_output", "shell_id", args, project_root, opts), state}
  end

  @doc "`jido.shell_kill`: `[shell_id]`."
  @spec lua_shell_kill([term()], state, String.t(), [option()]) :: {results(), state} when state: term()
  def lua_shell_kill(args, state, project_root, opts \\ []) do
    case call("kill_shell", "shell_kill", "shell_id", args, project_root, opts) do
      [%{"killed" => _running?}] -> {[true], state}
      failure -> {failure, state}
    end
  end

  defp lua_tool(tool, args, state, project_root, opts),
    do: {make(tool, table(tool, args), project_root, opts), state}

  defp table(_tool, args) when args in [[], [nil]], do: {:ok, %{}}

  defp table(tool, args) do
    with [pairs] <- args, {:ok, table} when is_map(table) <- from_lua(pairs) do
      {:ok, table}
    else
      {:error, text} -> {:error, text}
      _other -> {:error, "#{tool} takes one table, of its parameters by their names"}
    end
  end

  defp call(tool, name, main, args, project_root, opts),
    do: make(tool, arguments(name, main, args), project_root, opts)

  defp make(tool, args, project_root, opts) do
    context = opts |> Map.new() |> Map.put(:project_root, project_root)

    with {:ok, args} <- args,
         {:ok, result} <- SecureExecutor.call(tool, args, context) do
      [to_lua(result)]
    else
      {:error, message} when is_binary(message) -> [nil, message]
      {:error, reason} -> [nil, inspect(reason, limit: 10, printable_limit: 200)]
    end
  end

  defp arguments(name, main, [value]) when value != nil, do: arguments(name, main, [value, []])
  defp arguments(name, main, [value, nil]) when value != nil, do: arguments(name, main, [value, []])

  defp arguments(name, main, [value, options]) when value != nil do
    with {:ok, value} <- from_lua(value), {:ok, options} <- from_lua(options) do
      cond do
        not is_map(options) -> {:error, "#{name} takes its options as a table with names"}
        # Of what is given twice, two readers would take different ones.
        is_map_key(options, main) -> {:error, "#{name} takes #{main} once, not in its options"}
        true -> {:ok, Map.put(options, main, value)}
      end
    end
  end

  defp arguments(name, main, [value | _more]) when value != nil,
    do: {:error, "#{name} takes #{main} and a table of options"}

  defp arguments(name, main, _args), do: {:error, "#{name} requires #{main} argument"}

  # Luerl decodes a table to a list of pairs, in no promised order.
  defp from_lua(pairs) when is_list(pairs) do
    with {:ok, pairs} <- each(pairs, &pair/1) do
      {keys, values} = Enum.unzip(Enum.sort(pairs))

      cond do
        pairs != [] and keys == Enum.to_list(1..length(keys)) -> {:ok, values}
        Enum.all?(keys, &is_binary/1) -> {:ok, Map.new(pairs)}
        true -> {:error, "a table must have either names or the numbers from 1 as its keys"}
      end
    end
  end

  defp from_lua(map) when is_map(map), do: from_lua(Map.to_list(map))

  defp from_lua(value) when is_binary(value) or is_number(value) or is_boolean(value) or value == nil,
    do: {:ok, whole(value)}

  defp from_lua(_function_or_other),
    do: {:error, @plain}

  defp pair({key, value}) do
    with {:ok, value} <- from_lua(value), do: {:ok, {whole(key), value}}
  end

  defp pair(_other), do: {:error, @plain}

  defp each(values, convert) do
    Enum.reduce_while(values, {:ok, []}, fn value, {:ok, converted} ->
      case convert.(value) do
        {:ok, value} -> {:cont, {:ok, [value | converted]}}
        error -> {:halt, error}
      end
    end)
  end

  # In Lua a number is a number; older versions of Luerl know floats alone.
  defp whole(number) when is_float(number) and number == trunc(number), do: trunc(number)
  defp whole(value), do: value

  defp to_lua(map) when is_map(map) and not is_struct(map),
    do: for({key, value} <- map, value != nil, into: %{}, do: {to_lua(key), to_lua(value)})

  defp to_lua(list) when is_list(list), do: Enum.map(list, &to_lua/1)

  defp to_lua(value) when is_binary(value) or is_number(value) or is_boolean(value) or value == nil,
    do: value

  defp to_lua(value) when is_atom(value), do: Atom.to_string(value)
  defp to_lua(other), do: inspect(other, limit: 50, printable_limit: 1_000)
end
