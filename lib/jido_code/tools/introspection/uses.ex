defmodule JidoCode.Tools.Introspection.Uses do
  @moduledoc false
  # What the functions of a module use of other modules and of their own, out of its debug information.
  #
  # | kind | what the source has |
  # |---|---|
  # | `:call` | `Cart.add(a, b)`, `add(a, b)` |
  # | `:capture` | `&Cart.add/2` |
  # | `:apply` | `apply(Cart, :add, [a, b])`, `{Cart, :add, [a, b]}`, and module, function and list one after the other in a call |
  # | `:message` | `GenServer.call(Cart, ...)` and the like: the module as the name of a process |
  # | `:struct` | `%Cart{}` |
  # | `:type` | `Cart.t()` in a spec or type |
  # | `:macro` | code that a macro of the module made. Which macro it was the compiler does not keep |
  # | `:implements` | `@behaviour Cart`, `defimpl Cart, for: ...` |
  # | `:refers` | the name itself, as an argument or in data |
  #
  # Names are compared as the file has them; see `JidoCode.Tools.Introspection.DebugInfo`.

  alias JidoCode.Tools.Introspection.{DebugInfo, ExternalTerm, Reference}
  alias JidoCode.Tools.Visible

  @type kind :: :call | :capture | :apply | :message | :struct | :type | :macro | :implements | :refers

  @typedoc """
  `from` is the definition that uses it, nil for the module itself; `name` and `arity` are nil where none are meant or known. `file` is
  that of the definition, nil for the module's own.
  """
  @type t :: %{
          kind: kind(),
          module: DebugInfo.name(),
          name: DebugInfo.name() | nil,
          arity: arity() | nil,
          line: non_neg_integer(),
          from: {DebugInfo.name(), arity()} | nil,
          file: String.t() | nil
        }

  # Whose first argument is the name of a process.
  @senders [GenServer, :gen_server, :gen_statem, :gen_event, Agent, Process, Supervisor, DynamicSupervisor] ++
             [Task.Supervisor, Registry, :supervisor]
  @spawners [:apply, :spawn, :spawn_link, :spawn_monitor, :spawn_opt]

  @doc "All uses, in the order of the source as far as the compiler keeps it. `self` is the module's own name."
  @spec all(DebugInfo.t(), DebugInfo.name()) :: [t()]
  def all(info, self) do
    own = MapSet.new(info.definitions, &{&1.name, &1.arity})

    definitions =
      for definition <- info.definitions,
          {line, clause} <- definition.clauses,
          use <- clause(info.backend, definition, line, clause) do
        finish(use, definition, self, own)
      end

    (of_module(info) ++ Enum.filter(definitions, & &1) ++ Enum.flat_map(info.types, &of_type/1))
    |> Enum.uniq()
    |> Enum.sort_by(& &1.line)
  end

  defp of_module(info) do
    line = info.line || 1
    behaviours = for name <- info.behaviours, do: use(:implements, name, nil, nil, line)

    protocol =
      case info.impl do
        {protocol, for} -> [use(:implements, protocol, nil, nil, line), use(:refers, for, nil, nil, line)]
        nil -> []
      end

    Enum.map(Enum.uniq(behaviours ++ protocol), &Map.merge(&1, %{from: nil, file: nil}))
  end

  defp of_type(type) do
    for use <- erlang(type.form, type.line, []),
        use.kind == :type,
        do: Map.merge(use, %{from: nil, file: nil, line: if(use.line == 0, do: type.line, else: use.line)})
  end

  # Code that a macro of elsewhere made has that one's lines.
  defp finish(use, definition, self, own) do
    line = if definition.written || use.line == 0, do: definition.site, else: use.line
    use = Map.merge(use, %{line: line, from: {definition.name, definition.arity}, file: definition.file})

    case use do
      %{module: :local} -> if {use.name, use.arity} in own, do: %{use | module: self}
      _other -> use
    end
  end

  defp clause(:elixir, definition, line, {_meta, arguments, guards, body}) do
    made = if definition.macro, do: [use(:macro, definition.macro, nil, nil, definition.site)], else: []
    made ++ elixir([arguments, guards, body], line, [])
  end

  defp clause(:erlang, _definition, line, clause), do: erlang(clause, line, [])
  defp clause(_backend, _definition, _line, _unknown), do: []

  defp use(kind, module, name, arity, line),
    do: %{kind: kind, module: module, name: name, arity: arity, line: line}

  # Elixir's, expanded: macros are gone, aliases are whole.
  defp elixir({:unknown_atom, text} = name, line, uses) when is_binary(text),
    do: [use(:refers, name, nil, nil, line) | uses]

  defp elixir({{:., _dot, [module, name]}, meta, arguments}, line, uses)
       when is_list(meta) and is_list(arguments) do
    line = line(meta, line)
    uses = made(meta, line, uses)

    if DebugInfo.name?(module) and DebugInfo.name?(name) do
      uses = [
        use(:call, module, name, length(arguments), line)
        | applied(arguments, line, uses, module == :erlang and name in @spawners)
      ]

      {uses, arguments} = sent(module, name, arguments, line, uses)
      elixir(arguments, line, uses)
    else
      elixir(arguments, line, elixir([module], line, uses))
    end
  end

  defp elixir({:&, meta, [{:/, _slash, [{{:., _dot, [module, name]}, _, _}, arity]}]}, line, uses)
       when is_integer(arity),
       do: [use(:capture, module, name, arity, line(meta, line)) | uses]

  defp elixir({:&, meta, [{:/, _slash, [{name, _, context}, arity]}]}, line, uses)
       when is_integer(arity) and is_atom(context),
       do: [use(:capture, :local, name, arity, line(meta, line)) | uses]

  defp elixir({:%, meta, [module, fields]}, line, uses) do
    line = line(meta, line)

    if DebugInfo.name?(module),
      do: elixir(fields, line, [use(:struct, module, nil, nil, line) | uses]),
      else: elixir([module, fields], line, uses)
  end

  defp elixir({:{}, meta, elements}, line, uses) when is_list(meta) and is_list(elements) do
    line = line(meta, line)
    elixir(elements, line, applied(elements, line, uses, false))
  end

  defp elixir({name, meta, arguments}, line, uses) when is_list(meta) and is_list(arguments) do
    line = line(meta, line)
    uses = made(meta, line, uses)

    if DebugInfo.name?(name),
      do:
        elixir(arguments, line, [
          use(:call, :local, name, length(arguments), line) | applied(arguments, line, uses, false)
        ]),
      else: elixir(arguments, line, elixir(name, line, uses))
  end

  # A variable.
  defp elixir({_name, meta, context}, _line, uses) when is_list(meta) and is_atom(context), do: uses

  defp elixir([_module, _name, arguments] = list, line, uses) when is_list(arguments),
    do: Enum.reduce(list, applied(list, line, uses, false), &elixir(&1, line, &2))

  defp elixir([head | tail], line, uses), do: elixir(tail, line, elixir(head, line, uses))
  defp elixir([], _line, uses), do: uses
  defp elixir({left, right}, line, uses), do: elixir(right, line, elixir(left, line, uses))

  defp elixir(name, line, uses) do
    if DebugInfo.name?(name), do: [use(:refers, name, nil, nil, line) | uses], else: uses
  end

  defp line(meta, line) when is_list(meta) do
    case meta do
      [{key, _value} | _] when is_atom(key) -> DebugInfo.line(meta) |> own_line(line)
      _none -> line
    end
  end

  defp line(_other, line), do: line

  defp own_line(none, line) when none in [nil, 0], do: line
  defp own_line(own, _line), do: own

  defp made(meta, line, uses) do
    case DebugInfo.macro(meta) do
      nil -> uses
      macro -> [use(:macro, macro, nil, nil, line) | uses]
    end
  end

  # Module, function and list of arguments one after the other; where `computed?`, the list may be a variable.
  defp applied([module, name, arguments | rest], line, uses, computed?) do
    uses = applied([name, arguments | rest], line, uses, computed?)

    if DebugInfo.name?(module) and DebugInfo.name?(name) and (is_list(arguments) or computed?),
      do: [use(:apply, module, name, arity_of(arguments), line) | uses],
      else: uses
  end

  defp applied(_fewer, _line, uses, _computed?), do: uses

  # A tail that is known only when it runs.
  defp arity_of(arguments) when is_list(arguments) do
    if Enum.any?(arguments, &match?({:|, _meta, _pair}, &1)), do: nil, else: length(arguments)
  end

  defp arity_of(_computed), do: nil

  defp sent(module, _function, [name | rest] = arguments, line, uses) when module in @senders do
    if DebugInfo.name?(name),
      do: {[use(:message, name, nil, nil, line) | uses], rest},
      else: {uses, arguments}
  end

  defp sent(:erlang, :send, [name | rest] = arguments, line, uses) do
    if DebugInfo.name?(name),
      do: {[use(:message, name, nil, nil, line) | uses], rest},
      else: {uses, arguments}
  end

  defp sent(_module, _function, arguments, _line, uses), do: {uses, arguments}

  # Erlang's abstract form.
  defp erlang(
         {:call, anno, {:remote, _remote, {:atom, _m, module}, {:atom, _f, name}}, arguments},
         line,
         uses
       )
       when is_list(arguments) do
    line = own_line(DebugInfo.line(anno), line)
    uses = [use(:call, module, name, length(arguments), line) | erlang_applied(arguments, line, uses)]
    {uses, arguments} = erlang_sent(module, arguments, line, uses)
    erlang(arguments, line, uses)
  end

  defp erlang({:call, anno, {:atom, _f, name}, arguments}, line, uses) when is_list(arguments) do
    line = own_line(DebugInfo.line(anno), line)
    uses = if name in @spawners, do: erlang_applied(arguments, line, uses), else: uses
    erlang(arguments, line, [use(:call, :local, name, length(arguments), line) | uses])
  end

  defp erlang(
         {:fun, anno, {:function, {:atom, _m, module}, {:atom, _f, name}, {:integer, _a, arity}}},
         line,
         uses
       ),
       do: [use(:capture, module, name, arity, own_line(DebugInfo.line(anno), line)) | uses]

  defp erlang({:fun, anno, {:function, name, arity}}, line, uses) when is_integer(arity),
    do: [use(:capture, :local, name, arity, own_line(DebugInfo.line(anno), line)) | uses]

  defp erlang({:tuple, anno, elements}, line, uses) when is_list(elements) do
    line = own_line(DebugInfo.line(anno), line)
    erlang(elements, line, erlang_applied(elements, line, uses))
  end

  defp erlang({:remote_type, anno, [{:atom, _m, module}, {:atom, _t, name}, arguments]}, line, uses)
       when is_list(arguments) do
    line = own_line(DebugInfo.line(anno), line)
    erlang(arguments, line, [use(:type, module, name, length(arguments), line) | uses])
  end

  defp erlang({:atom, anno, name}, line, uses) do
    if DebugInfo.name?(name),
      do: [use(:refers, name, nil, nil, own_line(DebugInfo.line(anno), line)) | uses],
      else: uses
  end

  defp erlang([head | tail], line, uses), do: erlang(tail, line, erlang(head, line, uses))
  defp erlang(tuple, line, uses) when is_tuple(tuple), do: tuple |> Tuple.to_list() |> erlang(line, uses)
  defp erlang(_leaf, _line, uses), do: uses

  defp erlang_applied([{:atom, _m, module}, {:atom, _f, name}, arguments | _rest], line, uses) do
    case erlang_length(arguments, 0) do
      :none -> uses
      arity -> [use(:apply, module, name, arity, line) | uses]
    end
  end

  defp erlang_applied([_first | rest], line, uses), do: erlang_applied(rest, line, uses)
  defp erlang_applied(_none, _line, uses), do: uses

  defp erlang_length({nil, _anno}, count), do: count
  defp erlang_length({:cons, _anno, _head, tail}, count), do: erlang_length(tail, count + 1)
  defp erlang_length({kind, _anno, _computed}, _count) when kind in [:var], do: nil
  defp erlang_length({:call, _anno, _function, _arguments}, _count), do: nil
  defp erlang_length(_other, 0), do: :none
  defp erlang_length(_other, _count), do: nil

  defp erlang_sent(module, [{:atom, _n, name} | rest], line, uses) when module in @senders,
    do: {[use(:message, name, nil, nil, line) | uses], rest}

  defp erlang_sent(_module, arguments, _line, uses), do: {uses, arguments}

  @doc "A use as it would be written: `Cart.add/2`, `Cart`."
  @spec show(t()) :: String.t()
  def show(%{module: module, name: nil}), do: show_module(module)
  def show(%{name: name, arity: nil} = use), do: "#{show_module(use.module)}.#{show_name(name)}"
  def show(use), do: "#{show_module(use.module)}.#{show_name(use.name)}/#{use.arity}"

  defp show_module(module), do: module |> ExternalTerm.name() |> to_string() |> Reference.show_module()
  defp show_name(name), do: name |> ExternalTerm.name() |> to_string() |> Visible.escape()
end
