defmodule JidoCode.Tools.Introspection.Literal do
  @moduledoc false
  # Text into a term, for the keys of tables. Literals only: nothing is evaluated and no atom is made.
  #
  # Understood are integers, floats, `"strings"`, `'charlists'` and `~c"charlists"`, `:atoms` that exist, `true`, `false`,
  # `nil`, names of modules, tuples, lists, `<<1, 2>>` and `<<"text">>`, pids and references as the tools print them, records as
  # `#name{field: value}` with all fields in their order, nested ten levels deep.
  #
  # `keys/2` also understands Erlang's spelling: `{resource, <<"/">>, 'odd name', "charlist"}`.

  alias JidoCode.Tools.Introspection.{At, Names}

  @max_bytes 4_096
  @max_depth 10

  @blank [?\s, ?\t, ?\n, ?\r]

  defguardp is_digit(char) when char in ?0..?9
  defguardp is_lower(char) when char in ?a..?z or char == ?_
  defguardp is_upper(char) when char in ?A..?Z
  defguardp is_word(char) when is_lower(char) or is_upper(char) or is_digit(char) or char in [??, ?!, ?@]

  @typep style :: :elixir | :mixed | :erlang

  @doc """
  The term that the text writes. With the option `:node`, atoms and pids are that node's.

      iex> JidoCode.Tools.Introspection.Literal.parse(~S({:ok, [1, -2.5], "a\\"b", Enum}))
      {:ok, {:ok, [1, -2.5], "a\\"b", Enum}}
      iex> JidoCode.Tools.Introspection.Literal.parse(":no_such_atom_in_this_node")
      {:error, :unknown_atom}
      iex> JidoCode.Tools.Introspection.Literal.parse("System.halt()")
      {:error, :syntax}
  """
  @spec parse(String.t(), keyword()) :: {:ok, term()} | {:error, :unknown_atom | :syntax}
  def parse(text, options \\ []), do: parse(text, :elixir, options)

  @spec parse(String.t(), style(), keyword()) :: {:ok, term()} | {:error, :unknown_atom | :syntax}
  defp parse(text, _style, _options) when byte_size(text) > @max_bytes, do: {:error, :syntax}

  defp parse(text, style, options) do
    by = %{depth: 0, style: style, node: Keyword.get(options, :node, node())}
    {term, rest} = text |> skip() |> term(by)
    if skip(rest) == "", do: {:ok, term}, else: {:error, :syntax}
  catch
    # From the descent below; it is shallower than @max_depth.
    reason when reason in [:unknown_atom, :syntax] -> {:error, reason}
  end

  @doc """
  What a key may mean, the likeliest first. Text that is not a literal is a string; so is, as a second guess, a word that could
  be one: `true`, a module's name, `'quoted'`. Takes the option of `parse/2`.

      iex> JidoCode.Tools.Introspection.Literal.keys("user 17")
      {:ok, ["user 17"]}
      iex> JidoCode.Tools.Introspection.Literal.keys("Enum")
      {:ok, [Enum, "Enum"]}
      iex> JidoCode.Tools.Introspection.Literal.keys("17")
      {:ok, [17]}
      iex> JidoCode.Tools.Introspection.Literal.keys(~S({ok, <<"/">>}))
      {:ok, [{:ok, "/"}]}
  """
  @spec keys(String.t(), keyword()) :: {:ok, [term(), ...]} | {:error, :unknown_atom | :syntax}
  def keys(text, options \\ []) do
    text = String.trim(text)

    # A word alone is a string first, as it always was; inside brackets it can only be an atom of Erlang's spelling.
    styles = if bracketed?(text), do: [:elixir, :mixed, :erlang], else: [:elixir]
    read = Enum.map(styles, &parse(text, &1, options))

    case for({:ok, term} <- read, uniq: true, do: term) do
      [] -> unread(text, read)
      [term | _] = terms -> {:ok, Enum.uniq(terms ++ second_guess(text, term))}
    end
  end

  defp unread(text, read) do
    cond do
      not marked?(text) -> {:ok, [text]}
      {:error, :unknown_atom} in read -> {:error, :unknown_atom}
      true -> {:error, :syntax}
    end
  end

  defp second_guess("'" <> _, charlist), do: [List.to_string(charlist)]
  defp second_guess(text, atom) when is_atom(atom), do: if(marked?(text), do: [], else: [text])
  defp second_guess(_text, _term), do: []

  # Who wrote one of these meant a literal.
  defp marked?(text), do: bracketed?(text) or String.starts_with?(text, [":", "\"", "'", "~c"])
  defp bracketed?(text), do: text =~ ~r/\A([{\[]|<<|<\d|#PID<|#Ref|#['a-z][^\s{]*{)/

  defp term(_text, %{depth: depth}) when depth > @max_depth, do: throw(:syntax)
  defp term("{" <> rest, by), do: sequence(rest, "}", by, &List.to_tuple/1)
  defp term("[" <> rest, by), do: sequence(rest, "]", by, & &1)
  # What a binary is made of is written the same in both languages.
  defp term("<<" <> rest, by), do: sequence(rest, ">>", %{by | style: :elixir}, &bytes/1)
  defp term("#PID<" <> rest, by), do: identifier("<" <> rest, :list_to_pid, by)
  defp term("#Reference<" <> rest, by), do: identifier("#Ref<" <> rest, :list_to_ref, by)
  defp term("#Ref<" <> _ = text, by), do: identifier(text, :list_to_ref, by)
  defp term("#" <> rest, by), do: record(rest, by)
  defp term("<" <> _ = text, by), do: identifier(text, :list_to_pid, by)
  defp term("\"" <> rest, %{style: :erlang}), do: rest |> quoted(?", []) |> charlist()
  defp term("\"" <> rest, _by), do: quoted(rest, ?", [])
  defp term("~c\"" <> rest, _by), do: rest |> quoted(?", []) |> charlist()
  defp term("'" <> rest, %{style: :elixir}), do: rest |> quoted(?', []) |> charlist()
  defp term("'" <> rest, by), do: rest |> quoted(?', []) |> atom(by)
  defp term(":\"" <> rest, by), do: rest |> quoted(?", []) |> atom(by)

  defp term(<<":", char, _::binary>> = text, by) when is_lower(char) or is_upper(char),
    do: text |> tail() |> word() |> atom(by)

  defp term(<<char, _::binary>> = text, by) when is_upper(char), do: text |> word() |> module(by)
  defp term(<<"-", char, _::binary>> = text, _by) when is_digit(char), do: number(text)
  defp term(<<char, _::binary>> = text, _by) when is_digit(char), do: number(text)

  defp term(text, by) do
    case word(text) do
      {name, rest} when name in ["true", "false", "nil"] -> {String.to_existing_atom(name), rest}
      {<<char, _::binary>>, _rest} = word when is_lower(char) and by.style != :elixir -> atom(word, by)
      _other -> throw(:syntax)
    end
  end

  # <0.1.2> and #Ref<0.1.2.3>, as the node itself prints them.
  defp identifier(text, read, by) do
    with [whole] <- Regex.run(~r/\A(#Ref)?<\d+(\.\d+){2,4}>/, text, capture: :first) do
      {At.call(by.node, :erlang, read, [String.to_charlist(whole)]), cut(text, whole)}
    else
      nil -> throw(:syntax)
    end
  rescue
    ArgumentError -> throw(:syntax)
  end

  # #name{field: value, ...}, which the tools print for a tuple {:name, value, ...}.
  defp record(text, by) do
    {name, rest} = if match?("'" <> _, text), do: text |> tail() |> quoted(?', []), else: word(text)

    case rest do
      "{" <> rest ->
        {tag, rest} = atom({name, rest}, by)
        sequence(rest, "}", %{by | depth: by.depth + 1}, &List.to_tuple([tag | &1]), &field/2)

      _other ->
        throw(:syntax)
    end
  end

  defp field(text, by) do
    case Regex.run(~r/\A[a-z][A-Za-z0-9_@]*\s*[:=]\s+/, text) do
      [label] -> text |> cut(label) |> term(by)
      nil -> throw(:syntax)
    end
  end

  defp sequence(text, close, by, build, element \\ &term/2) do
    text = skip(text)

    {terms, rest} =
      if String.starts_with?(text, close),
        do: {[], text},
        else: elements(text, %{by | depth: by.depth + 1}, element, [])

    if String.starts_with?(rest, close), do: {build.(terms), cut(rest, close)}, else: throw(:syntax)
  end

  defp elements(text, by, element, terms) do
    {term, rest} = element.(text, by)

    case skip(rest) do
      "," <> rest -> rest |> skip() |> elements(by, element, [term | terms])
      rest -> {Enum.reverse([term | terms]), rest}
    end
  end

  defp bytes(terms) do
    if Enum.all?(terms, &(is_binary(&1) or (is_integer(&1) and &1 in 0..255))),
      do: IO.iodata_to_binary(terms),
      else: throw(:syntax)
  end

  defp quoted(<<quote, rest::binary>>, quote, text),
    do: {text |> Enum.reverse() |> IO.iodata_to_binary(), rest}

  defp quoted("\\n" <> rest, quote, text), do: quoted(rest, quote, [?\n | text])
  defp quoted("\\t" <> rest, quote, text), do: quoted(rest, quote, [?\t | text])
  defp quoted("\\r" <> rest, quote, text), do: quoted(rest, quote, [?\r | text])

  defp quoted(<<"\\", char::utf8, rest::binary>>, quote, text),
    do: quoted(rest, quote, [<<char::utf8>> | text])

  defp quoted(<<char::utf8, rest::binary>>, quote, text), do: quoted(rest, quote, [<<char::utf8>> | text])
  defp quoted(_end, _quote, _text), do: throw(:syntax)

  defp charlist({text, rest}), do: {String.to_charlist(text), rest}

  defp module({name, rest}, by), do: atom({"Elixir." <> name, rest}, by)

  defp atom({name, rest}, by) do
    case Names.existing(name, by.node) do
      {:ok, atom} -> {atom, rest}
      :error -> throw(:unknown_atom)
    end
  end

  # Letters, digits and what may stand inside a name; a dot only between two parts of a module's name.
  defp word(text), do: word(text, [])

  defp word(<<".", char, rest::binary>>, [_ | _] = name) when is_upper(char),
    do: word(rest, [char, ?. | name])

  defp word(<<char, rest::binary>>, name) when is_word(char), do: word(rest, [char | name])
  defp word(rest, name), do: {name |> Enum.reverse() |> List.to_string(), rest}

  defp number("-" <> text) do
    {number, rest} = number(text)
    {-number, rest}
  end

  defp number(text) do
    {digits, rest} = digits(text, [])

    case rest do
      <<".", char, _::binary>> when is_digit(char) -> float(text)
      _integer -> {List.to_integer(digits), rest}
    end
  end

  defp float(text) do
    case Float.parse(text) do
      {float, rest} -> {float, rest}
      :error -> throw(:syntax)
    end
  rescue
    # Too large for a float.
    ArgumentError -> throw(:syntax)
  end

  defp digits(<<char, rest::binary>>, digits) when is_digit(char), do: digits(rest, [char | digits])

  defp digits(<<"_", char, rest::binary>>, [_ | _] = digits) when is_digit(char),
    do: digits(rest, [char | digits])

  defp digits(rest, digits), do: {Enum.reverse(digits), rest}

  defp skip(<<char, rest::binary>>) when char in @blank, do: skip(rest)
  defp skip(text), do: text

  defp tail(<<_, rest::binary>>), do: rest
  defp cut(text, prefix), do: binary_part(text, byte_size(prefix), byte_size(text) - byte_size(prefix))
end
