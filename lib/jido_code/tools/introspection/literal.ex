defmodule JidoCode.Tools.Introspection.Literal do
  @moduledoc """
  Text into a term, for the keys of tables. Literals only: nothing is evaluated and no atom is made.

  Understood are integers, floats, `"strings"`, `'charlists'` and `~c"charlists"`, `:atoms` that exist, `true`, `false`,
  `nil`, names of modules, tuples, lists, `<<1, 2>>`, nested ten levels deep.

      iex> JidoCode.Tools.Introspection.Literal.parse(~S({:ok, [1, -2.5], "a\\"b", Enum}))
      {:ok, {:ok, [1, -2.5], "a\\"b", Enum}}
      iex> JidoCode.Tools.Introspection.Literal.parse(":no_such_atom_in_this_node")
      {:error, :unknown_atom}
      iex> JidoCode.Tools.Introspection.Literal.parse("System.halt()")
      {:error, :syntax}
  """

  alias JidoCode.Tools.Introspection.Names

  @max_bytes 4_096
  @max_depth 10

  @blank [?\s, ?\t, ?\n, ?\r]

  defguardp is_digit(char) when char in ?0..?9
  defguardp is_lower(char) when char in ?a..?z or char == ?_
  defguardp is_upper(char) when char in ?A..?Z
  defguardp is_word(char) when is_lower(char) or is_upper(char) or is_digit(char) or char in [??, ?!, ?@]

  @doc "The term that the text writes."
  @spec parse(String.t()) :: {:ok, term()} | {:error, :unknown_atom | :syntax}
  def parse(text) when byte_size(text) > @max_bytes, do: {:error, :syntax}

  def parse(text) do
    {term, rest} = text |> skip() |> term(0)
    if skip(rest) == "", do: {:ok, term}, else: {:error, :syntax}
  catch
    # From the descent below; it is shallower than @max_depth.
    reason when reason in [:unknown_atom, :syntax] -> {:error, reason}
  end

  @doc """
  What a key may mean, the likeliest first. Text that is no literal is a string; so is, as a second guess, a word that could
  be one: `true`, a module's name, `'quoted'`.

      iex> JidoCode.Tools.Introspection.Literal.keys("user 17")
      {:ok, ["user 17"]}
      iex> JidoCode.Tools.Introspection.Literal.keys("Enum")
      {:ok, [Enum, "Enum"]}
      iex> JidoCode.Tools.Introspection.Literal.keys("17")
      {:ok, [17]}
  """
  @spec keys(String.t()) :: {:ok, [term(), ...]} | {:error, :unknown_atom | :syntax}
  def keys(text) do
    text = String.trim(text)

    case parse(text) do
      {:ok, term} -> {:ok, Enum.uniq([term | second_guess(text, term)])}
      {:error, reason} -> if marked?(text), do: {:error, reason}, else: {:ok, [text]}
    end
  end

  defp second_guess("'" <> _, charlist), do: [List.to_string(charlist)]
  defp second_guess(text, atom) when is_atom(atom), do: if(marked?(text), do: [], else: [text])
  defp second_guess(_text, _term), do: []

  # Who wrote one of these meant a literal.
  defp marked?(text), do: String.starts_with?(text, [":", "{", "[", "\"", "'", "~c", "<<"])

  defp term(_text, depth) when depth > @max_depth, do: throw(:syntax)
  defp term("{" <> rest, depth), do: sequence(rest, "}", depth, &List.to_tuple/1)
  defp term("[" <> rest, depth), do: sequence(rest, "]", depth, & &1)
  defp term("<<" <> rest, depth), do: sequence(rest, ">>", depth, &bytes/1)
  defp term("\"" <> rest, _depth), do: quoted(rest, ?", [])
  defp term("~c\"" <> rest, _depth), do: rest |> quoted(?", []) |> charlist()
  defp term("'" <> rest, _depth), do: rest |> quoted(?', []) |> charlist()
  defp term(":\"" <> rest, _depth), do: rest |> quoted(?", []) |> atom()

  defp term(<<":", char, _::binary>> = text, _depth) when is_lower(char) or is_upper(char),
    do: text |> tail() |> word() |> atom()

  defp term(<<char, _::binary>> = text, _depth) when is_upper(char), do: text |> word() |> module()
  defp term(<<"-", char, _::binary>> = text, _depth) when is_digit(char), do: number(text)
  defp term(<<char, _::binary>> = text, _depth) when is_digit(char), do: number(text)

  defp term(text, _depth) do
    case word(text) do
      {name, rest} when name in ["true", "false", "nil"] -> {String.to_existing_atom(name), rest}
      _other -> throw(:syntax)
    end
  end

  defp sequence(text, close, depth, build) do
    text = skip(text)

    {terms, rest} = if String.starts_with?(text, close), do: {[], text}, else: elements(text, depth + 1, [])

    if String.starts_with?(rest, close), do: {build.(terms), cut(rest, close)}, else: throw(:syntax)
  end

  defp elements(text, depth, terms) do
    {term, rest} = term(text, depth)

    case skip(rest) do
      "," <> rest -> rest |> skip() |> elements(depth, [term | terms])
      rest -> {Enum.reverse([term | terms]), rest}
    end
  end

  defp bytes(terms) do
    if Enum.all?(terms, &(is_integer(&1) and &1 in 0..255)),
      do: :erlang.list_to_binary(terms),
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

  defp module({name, rest}), do: atom({"Elixir." <> name, rest})

  defp atom({name, rest}) do
    case Names.existing(name) do
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
