defmodule JidoCode.Tools.Introspection.DebugInfo do
  @moduledoc false
  # What a module's file says of its source: where each definition stands, which behaviours it has, what its functions are made of.
  #
  # Read without loading or running anything, and without making an atom: names that no atom of this VM has stand as
  # `{:unknown_atom, "name"}`, see `JidoCode.Tools.Introspection.ExternalTerm`. A command may have written the file, so that nothing
  # in it is believed to have the form that the compiler gives it.

  alias JidoCode.Tools.Introspection.{BeamFile, ExternalTerm}

  @max_unpacked 64_000_000

  @enforce_keys [:backend, :module]
  defstruct [:backend, :module, :source, :relative, :line, :impl, behaviours: [], definitions: [], types: []]

  @typedoc "An atom, or the mark of one that this VM does not have."
  @type name :: atom() | {:unknown_atom, String.t()}

  @typedoc """
  A function or macro. `site` is the line in the module's own source. `macro` is the module of the macro that generated it, and
  `written` the file and line of the code in that macro, where the compiler kept them. `clauses` are the compiler's.
  """
  @type definition :: %{
          kind: :def | :defp | :defmacro | :defmacrop | :function,
          name: name(),
          arity: arity(),
          site: non_neg_integer(),
          file: String.t() | nil,
          macro: name() | nil,
          written: {String.t(), non_neg_integer()} | nil,
          clauses: [{line :: non_neg_integer(), clause :: term()}]
        }

  @typedoc "A callback or type: `form` is what the compiler has of it."
  @type type :: %{
          kind: :callback | :macrocallback | :type | :spec,
          name: String.t(),
          arity: arity(),
          line: non_neg_integer(),
          form: term()
        }

  @typedoc """
  `source` is the file's path when it was compiled, `relative` the same from the folder of its project, where it is known. `impl` is
  the protocol that the module implements, and for what.
  """
  @type t :: %__MODULE__{
          backend: :elixir | :erlang,
          module: String.t(),
          source: String.t() | nil,
          relative: String.t() | nil,
          line: non_neg_integer() | nil,
          impl: {name(), name()} | nil,
          behaviours: [name()],
          definitions: [definition()],
          types: [type()]
        }

  @doc """
  What the chunks of a module's file say; `module` is its name. An error when it was compiled without debug information, or when
  what stands in its place can't be read.
  """
  @spec read(String.t(), BeamFile.chunks()) :: {:ok, t()} | {:error, :no_debug_info | :malformed}
  def read(module, chunks) do
    with {:ok, body} <- body(chunks),
         {:ok, {:debug_info_v1, backend, data}} <- ExternalTerm.decode(body),
         {:ok, info} <- formed(fn -> info(backend, data) end) do
      {:ok, %{info | module: module, source: source(chunks) || info.source}}
    else
      {:error, :malformed} -> {:error, :malformed}
      _other -> {:error, :no_debug_info}
    end
  end

  @doc "What `fun` makes of debug information, or an error where that has not the form that a compiler gives it, as with improper lists."
  @spec formed((() -> result)) :: result | {:error, :malformed} when result: term()
  def formed(fun) do
    fun.()
  rescue
    _unformed in [ArgumentError, FunctionClauseError, CaseClauseError, Protocol.UndefinedError] ->
      {:error, :malformed}
  end

  @doc "Its bytes, unpacked: whoever looks for a name finds it in them as it is written."
  @spec body(BeamFile.chunks()) :: {:ok, binary()} | :error
  def body(%{"Dbgi" => chunk}) do
    with {:error, _reason} <- ExternalTerm.open(chunk, @max_unpacked), do: :error
  end

  def body(_stripped), do: :error

  defp source(%{"CInf" => chunk}) do
    with {:ok, body} <- ExternalTerm.open(chunk, @max_unpacked),
         {:ok, [_ | _] = options} <- ExternalTerm.decode(body),
         {:source, path} <- List.keyfind(options, :source, 0) do
      text(path)
    else
      _other -> nil
    end
  end

  defp source(_without), do: nil

  defp text(text) when is_binary(text), do: if(String.valid?(text), do: text)

  defp text(text) when is_list(text) do
    List.to_string(text)
  rescue
    _no_text in [ArgumentError, UnicodeConversionError] -> nil
  end

  defp text(_other), do: nil

  defp info(:elixir_erl, {:elixir_v1, %{definitions: definitions} = map, types}) when is_list(definitions) do
    attributes = list(map[:attributes])

    {:ok,
     %__MODULE__{
       backend: :elixir,
       module: nil,
       source: text(map[:file]),
       relative: text(map[:relative_file]),
       line: line(map[:line]) || line(map[:anno]),
       impl: impl(attributes),
       behaviours: for({:behaviour, name} <- attributes, name?(name), do: name),
       definitions: for(definition <- definitions, definition = elixir(definition), do: definition),
       types: types |> list() |> Enum.flat_map(&type/1)
     }}
  end

  defp info(:erl_abstract_code, {forms, _options}) when is_list(forms) do
    {definitions, _file} = Enum.flat_map_reduce(forms, nil, &erlang/2)

    {:ok,
     %__MODULE__{
       backend: :erlang,
       module: nil,
       line: Enum.find_value(forms, &module_line/1),
       behaviours: Enum.flat_map(forms, &behaviour/1),
       definitions: definitions,
       types: Enum.flat_map(forms, &type/1)
     }}
  end

  defp info(_backend, _none), do: :error

  defp list(list) when is_list(list), do: list
  defp list(_other), do: []

  defp impl(attributes) do
    with {:__impl__, impl} when is_list(impl) <- List.keyfind(attributes, :__impl__, 0),
         {:protocol, protocol} <- List.keyfind(impl, :protocol, 0),
         {:for, for} <- List.keyfind(impl, :for, 0) do
      {protocol, for}
    else
      _none -> nil
    end
  end

  @kinds [:def, :defp, :defmacro, :defmacrop]

  defp elixir({{name, arity}, kind, meta, clauses})
       when kind in @kinds and is_list(meta) and is_list(clauses) do
    if name?(name) and arity in 0..255 do
      %{
        kind: kind,
        name: name,
        arity: arity,
        site: line(meta[:line]) || 0,
        file: nil,
        macro: macro(meta),
        written: written(meta[:file]),
        clauses: for({meta, _, _, _} = clause <- clauses, is_list(meta), do: {line(meta[:line]) || 0, clause})
      }
    end
  end

  defp elixir(_other), do: nil

  defp written({file, line}) when is_binary(file) and is_integer(line), do: {file, line}
  defp written(_not_kept), do: nil

  # With the file that the forms are of by now.
  defp erlang({:attribute, _anno, :file, {file, _line}}, _file), do: {[], text(file)}

  defp erlang({:function, anno, name, arity, clauses}, file) when arity in 0..255 and is_list(clauses) do
    definition = %{
      kind: :function,
      name: name,
      arity: arity,
      site: line(anno) || 0,
      file: file,
      macro: nil,
      written: nil,
      clauses: for({:clause, anno, _, _, _} = clause <- clauses, do: {line(anno) || 0, clause})
    }

    {if(name?(name), do: [definition], else: []), file}
  end

  defp erlang(_other, file), do: {[], file}

  defp behaviour({:attribute, _anno, kind, name}) when kind in [:behaviour, :behavior],
    do: if(name?(name), do: [name], else: [])

  defp behaviour(_other), do: []

  defp module_line({:attribute, anno, :module, _name}), do: line(anno)
  defp module_line(_other), do: nil

  defp type({:attribute, anno, kind, {{name, arity}, form}})
       when kind in [:callback, :spec] and arity in 0..255 do
    case ExternalTerm.name(name) do
      nil ->
        []

      "MACRO-" <> name when kind == :callback and arity > 0 ->
        [%{kind: :macrocallback, name: name, arity: arity - 1, line: line(anno) || 0, form: form}]

      name ->
        [%{kind: kind, name: name, arity: arity, line: line(anno) || 0, form: form}]
    end
  end

  defp type({:attribute, anno, kind, {name, form, arguments}})
       when kind in [:type, :opaque, :nominal] and is_list(arguments) do
    case ExternalTerm.name(name) do
      nil -> []
      name -> [%{kind: :type, name: name, arity: length(arguments), line: line(anno) || 0, form: form}]
    end
  rescue
    # An improper list.
    ArgumentError -> []
  end

  defp type(_other), do: []

  @doc "The line of an annotation of either compiler; nil where there is none."
  @spec line(term()) :: non_neg_integer() | nil
  def line(line) when is_integer(line) and line >= 0, do: line
  def line({line, column}) when is_integer(line) and is_integer(column), do: line

  def line([{key, _value} | _] = anno) when is_atom(key) do
    case List.keyfind(anno, :location, 0) || List.keyfind(anno, :line, 0) do
      {_key, location} when not is_list(location) -> line(location)
      _none -> nil
    end
  end

  def line(_none), do: nil

  @doc "The module of the macro that made what carries this metadata; nil where somebody wrote it."
  @spec macro(keyword()) :: term()
  def macro(meta) do
    case List.keyfind(meta, :context, 0) do
      # Since Elixir 1.20, the function that fills in a default.
      {:context, :elixir_def} -> nil
      {:context, macro} -> if name?(macro), do: macro
      _none -> nil
    end
  end

  @doc "Whether it is a name: an atom, or the mark of one."
  @spec name?(term()) :: boolean()
  def name?(name) when is_boolean(name) or name == nil, do: false
  def name?(name), do: is_atom(name) or match?({:unknown_atom, _text}, name)
end
