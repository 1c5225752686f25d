defmodule JidoCode.Tools.Introspection.Typespecs do
  @moduledoc false
  # Specs, callbacks and types out of a module's debug information, and their text.
  #
  # The form they are stored in names everything by atoms, and so does what writes them out (`Code.Typespec`). A name that no atom
  # of this VM has is written under one of a few that were made beforehand, and put in its place in the text.

  alias JidoCode.Tools.Introspection.ExternalTerm

  @max_unpacked 64_000_000
  @kinds [:spec, :callback, :type, :opaque, :nominal, :export_type]

  # What stands in for an unknown name is as long as it, since the text is broken into lines by its width: `q07qqq`, and
  # `Jq07ZZ` for a module.
  @lent 64
  @lengths 3..24
  @two_digits for n <- 0..(@lent - 1), do: n |> Integer.to_string() |> String.pad_leading(2, "0")
  @names for n <- @two_digits, length <- @lengths, do: String.pad_trailing("q" <> n, length, "q")
  @modules for n <- @two_digits,
               length <- @lengths,
               do: String.pad_trailing("Elixir.Jq" <> n, length + 7, "Z")
  @pool Enum.map(@names ++ Enum.uniq(@modules), &String.to_atom/1)

  @typedoc "`{kind, value}` of an attribute, as the compiler has it, with unknown atoms marked."
  @type attribute :: {atom(), term()}

  @doc "The attributes that tell types, out of the chunks of a module's file; none where there is no debug information."
  @spec attributes(%{String.t() => binary()}) :: [attribute()]
  def attributes(chunks), do: attributes(chunks, @kinds)

  @doc "The attributes of these kinds."
  @spec attributes(%{String.t() => binary()}, [atom()]) :: [attribute()]
  def attributes(%{"Dbgi" => chunk}, kinds) do
    case ExternalTerm.open(chunk, @max_unpacked) do
      {:ok, body} -> forms(body, kinds)
      {:error, _reason} -> []
    end
  catch
    :not_a_term -> []
  end

  def attributes(_chunks, _kinds), do: []

  # {:debug_info_v1, :elixir_erl, {:elixir_v1, definitions, specs}} or {:debug_info_v1, :erl_abstract_code, {forms, options}}.
  # What else the file has, the code of the module above all, is passed over.
  defp forms(body, kinds) do
    with {3, body} <- ExternalTerm.tuple(body),
         {:debug_info_v1, body} <- ExternalTerm.first(body),
         {backend, body} <- ExternalTerm.first(body),
         {_size, body} <- ExternalTerm.tuple(body) do
      case backend do
        :elixir_erl -> body |> ExternalTerm.skip(2) |> listed(kinds)
        :erl_abstract_code -> listed(body, kinds)
        _other -> []
      end
    else
      _other -> []
    end
  end

  defp listed(body, kinds) do
    case ExternalTerm.list(body) do
      {length, body} -> wanted(length, body, kinds, [])
      :error -> []
    end
  end

  defp wanted(0, _body, _kinds, forms), do: Enum.reverse(forms)

  defp wanted(left, body, kinds, forms) do
    with {4, elements} <- ExternalTerm.tuple(body),
         {:attribute, elements} <- ExternalTerm.first(elements),
         {kind, value} <- elements |> ExternalTerm.skip() |> ExternalTerm.first(),
         true <- kind in kinds do
      {value, rest} = ExternalTerm.first(value)
      wanted(left - 1, rest, kinds, [{kind, value} | forms])
    else
      _other -> wanted(left - 1, ExternalTerm.skip(body), kinds, forms)
    end
  end

  @doc """
  The specs or callbacks: `{name, arity, forms}`, as the compiler names them, in no order.
  """
  @spec specs([attribute()], :spec | :callback) :: [{String.t(), arity(), [term()]}]
  def specs(attributes, kind) do
    for {^kind, {function, forms}} <- attributes,
        is_list(forms),
        {name, arity} <- [function(function)],
        name != nil and arity in 0..255,
        do: {name, arity, forms}
  end

  defp function({name, arity}), do: {ExternalTerm.name(name), arity}
  defp function({_module, name, arity}), do: {ExternalTerm.name(name), arity}
  defp function(_other), do: nil

  @doc "The types that others may use: `{name, arity, {kind, form}}`, in no order."
  @spec types([attribute()]) :: [{String.t(), arity(), term()}]
  def types(attributes) do
    exported =
      for {:export_type, types} <- attributes, is_list(types), type <- types, into: MapSet.new(), do: type

    for {kind, {name, _form, arguments} = type} when kind in [:type, :opaque, :nominal] <- attributes,
        is_list(arguments),
        text = ExternalTerm.name(name),
        kind != :type or {name, length(arguments)} in exported,
        do: {text, length(arguments), {kind, type}}
  end

  @doc "A spec as text, without `@spec`; nil where it is none."
  @spec write_spec(String.t(), term()) :: String.t() | nil
  def write_spec(name, form) do
    # The name is written, not used: any atom serves.
    write(form, fn form -> Code.Typespec.spec_to_quoted(:spec_of_nobody, form) end, fn quoted ->
      quoted |> Macro.to_string() |> String.replace("spec_of_nobody", name)
    end)
  end

  @doc "A type as text, with `@type` or `@opaque`; nil where it is none."
  @spec write_type({atom(), term()}) :: String.t() | nil
  def write_type({kind, type}), do: write(type, &Code.Typespec.type_to_quoted/1, &type_text(kind, &1))

  # What an opaque type is made of is nobody's business.
  defp type_text(:opaque, {:"::", _meta, [head, _body]}), do: "@opaque " <> Macro.to_string(head)
  defp type_text(_kind, quoted), do: "@type " <> Macro.to_string(quoted)

  # Code.Typespec isn't documented and may change: no text is a fine answer.
  defp write(form, to_quoted, to_text) do
    {form, unknown} = lend_names(form, %{})
    form |> to_quoted.() |> to_text.() |> give_names(unknown)
  rescue
    _error -> nil
  catch
    :too_many_names -> nil
  end

  defp lend_names({:var, anno, name}, unknown) do
    {name, unknown} = name |> ExternalTerm.name() |> variable() |> lend(unknown)
    {{:var, anno, name}, unknown}
  end

  defp lend_names({:unknown_atom, name}, unknown), do: lend(name, unknown)

  defp lend_names(tuple, unknown) when is_tuple(tuple) do
    {elements, unknown} = tuple |> Tuple.to_list() |> lend_names(unknown)
    {List.to_tuple(elements), unknown}
  end

  defp lend_names([head | tail], unknown) do
    {head, unknown} = lend_names(head, unknown)
    {tail, unknown} = lend_names(tail, unknown)
    {[head | tail], unknown}
  end

  defp lend_names(term, unknown), do: {term, unknown}

  # As Elixir writes them: Erlang's variables start with a capital letter. Otherwise `Code.Typespec` would make the atom.
  defp variable("_" <> name), do: "_" <> lower(name)
  defp variable(name) when is_binary(name), do: lower(name)
  defp variable(nil), do: "_"

  defp lower(<<first::utf8, rest::binary>>), do: String.downcase(<<first::utf8>>) <> rest
  defp lower(other), do: other

  defp lend(name, unknown) do
    {:erlang.binary_to_existing_atom(name, :utf8), unknown}
  catch
    :error, _none ->
      place = map_size(unknown)
      unknown = Map.put_new_lazy(unknown, name, fn -> stand_in(name, place) end)
      {:erlang.binary_to_existing_atom(Map.fetch!(unknown, name), :utf8), unknown}
  end

  defp stand_in(_name, place) when place >= @lent, do: throw(:too_many_names)

  defp stand_in("Elixir." <> name, place),
    do: String.pad_trailing("Elixir.Jq" <> digits(place), fitting(name) + 7, "Z")

  defp stand_in(name, place), do: String.pad_trailing("q" <> digits(place), fitting(name), "q")

  defp digits(place), do: place |> Integer.to_string() |> String.pad_leading(2, "0")
  defp fitting(name), do: name |> String.length() |> max(Enum.min(@lengths)) |> min(Enum.max(@lengths))

  @doc false
  # Keeps the atoms in this module, so that they are there once it is loaded.
  def pool, do: @pool

  defp give_names(text, unknown) do
    Enum.reduce(unknown, text, fn
      {"Elixir." <> name, "Elixir." <> stand_in}, text ->
        String.replace(text, stand_in, name)

      {name, stand_in}, text ->
        text |> String.replace(":" <> stand_in, ":" <> literal(name)) |> String.replace(stand_in, name)
    end)
  end

  defp literal(name), do: if(name =~ ~r/\A[\p{L}_][\p{L}\p{N}_@]*[?!]?\z/u, do: name, else: inspect(name))
end
