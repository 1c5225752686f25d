defmodule JidoCode.Tools.Render.SensitiveName do
  @moduledoc false
  # Whether a value must be hidden because of the name it stands under.
  #
  # A name is split into words (`db_password`, `db-password`, `dbPassword` and `DB_PASSWORD` all are db, password). It is
  # sensitive when one of the known terms is among its words, unless its last word says that it is about the secret and
  # not the secret itself: `token_count`, `password_policy`, `secret_name`.
  #
  # What stands under a sensitive name is hidden whatever its type, except for what can't be a secret: nil, booleans,
  # empty strings and lists, pids and functions. Numbers are hidden under an exact name (`token: 5`) and under terms for
  # passwords, but not under looser names (`max_token: 5`).

  alias JidoCode.Tools.Config

  # The native core reads the same list. It is read when this is compiled: no native code runs where this is lent to a node.
  @list Path.expand("../../../../native/security_core/src/sanitizer/fields.txt", __DIR__)
  @external_resource @list

  @named for line <- File.stream!(@list),
             not String.starts_with?(line, "#"),
             [name | tags] = String.split(line),
             do: {name, tags}

  @names Enum.map(@named, &elem(&1, 0))
  @host_names for {name, tags} <- @named, "host" in tags, do: name
  # Under these a number is a secret too: a PIN used as a password is still one.
  @strong for {name, tags} <- @named, "strong" in tags, do: name

  # A name that ends with one of these tells something about a secret.
  @about ~w(
    count counts length len size limit max min total type types kind name names module mod function path file filename
    dir ttl expiry expires expiration at in on policy required enabled disabled valid invalid validity age timeout
    interval window format algorithm alg encoding provider source strategy mode status server table registry
    supervisor pid ref store manager worker index position usage bucket field fields column version scope scopes
    issuer audience realm attempts failures rules rule min_length
  )

  @join &String.replace(&1, "_", "")
  @terms MapSet.new(@names, @join)
  @strong_terms MapSet.new(@strong, @join)
  @about_words MapSet.new(@about)

  # Longer texts are data, not names.
  @max_name 128

  # The longest term has four words; windows of three find all of them, since a part of each longer one is a term.
  @max_window 3

  @doc "The names, in snake case."
  @spec names() :: [String.t()]
  def names, do: @names

  @doc "Those of them that JidoCode's own list has."
  @spec host_names() :: [String.t()]
  def host_names, do: @host_names

  @typedoc "Terms that the configuration adds, joined and in lower case."
  @type extra :: MapSet.t(String.t())

  @doc """
  The terms that `config :jido_code_tools, redaction_fields: [...]` adds.
  """
  @spec configured() :: extra()
  def configured do
    MapSet.new(Config.get(:redaction_fields), &joined/1)
  end

  @doc """
  Whether `value` must be hidden when it stands under `name` (an atom, a string or a charlist; anything else is not a name).

      iex> alias JidoCode.Tools.Render.SensitiveName
      iex> SensitiveName.secret?(:db_password, "x")
      true
      iex> SensitiveName.secret?("apiKey", "x")
      true
      iex> SensitiveName.secret?(:bypass, true)
      false
      iex> SensitiveName.secret?(:max_token, 5)
      false
  """
  @spec secret?(term(), term(), extra()) :: boolean()
  def secret?(name, value, extra \\ MapSet.new()) do
    not harmless?(value) and
      case class(name, extra) do
        :none -> false
        :strong -> true
        :weak -> not is_number(value)
      end
  end

  defp harmless?(value) do
    is_nil(value) or is_boolean(value) or value == "" or value == [] or is_pid(value) or is_function(value)
  end

  defp class(name, extra) do
    case text(name) do
      nil -> :none
      text -> text |> words() |> classify(extra)
    end
  end

  defp classify([], _extra), do: :none

  defp classify(words, extra) do
    whole = Enum.join(words)

    cond do
      term(whole, extra) -> :strong
      MapSet.member?(@about_words, List.last(words)) -> :none
      true -> words |> windows() |> Enum.reduce(:none, &stronger(&2, term(&1, extra)))
    end
  end

  defp stronger(:strong, _term), do: :strong
  defp stronger(class, nil), do: class
  defp stronger(_class, term), do: if(MapSet.member?(@strong_terms, term), do: :strong, else: :weak)

  # The known term that a window is, also in the plural.
  defp term(window, extra) do
    Enum.find([window, String.trim_trailing(window, "s")], fn candidate ->
      MapSet.member?(@terms, candidate) or MapSet.member?(extra, candidate)
    end)
  end

  defp windows(words) do
    for size <- 1..@max_window, window <- Enum.chunk_every(words, size, 1, :discard), do: Enum.join(window)
  end

  defp joined(field), do: field |> to_string() |> words() |> Enum.join()

  defp text(name) when is_atom(name), do: Atom.to_string(name)
  defp text(name) when is_binary(name) and byte_size(name) <= @max_name, do: name
  defp text([char | _] = name) when char in ?!..?~, do: charlist(name, [], 0)
  defp text(_other), do: nil

  defp charlist([char | rest], text, length) when char in ?\s..?~ and length < @max_name do
    charlist(rest, [char | text], length + 1)
  end

  defp charlist([], text, _length), do: text |> Enum.reverse() |> List.to_string()
  defp charlist(_other, _text, _length), do: nil

  # Bytes above ASCII separate words: no known term has one.
  defp words(text), do: words(text, :start, [], [])

  defp words(<<>>, _before, word, words), do: [word | words] |> finish()

  defp words(<<char, rest::binary>>, before, word, words) do
    case kind(char) do
      :other ->
        words(rest, :other, [], [word | words])

      # The last capital of a run begins the next word: APIKey is API, Key.
      :upper when before == :upper ->
        if match?(<<next, _::binary>> when next in ?a..?z, rest) do
          words(rest, :upper, [char + 32], [word | words])
        else
          words(rest, :upper, [char + 32 | word], words)
        end

      :upper ->
        words(rest, :upper, [char + 32], [word | words])

      :lower when before in [:upper, :lower] ->
        words(rest, :lower, [char | word], words)

      kind when kind == before ->
        words(rest, kind, [char | word], words)

      kind ->
        words(rest, kind, [char], [word | words])
    end
  end

  defp kind(char) when char in ?a..?z, do: :lower
  defp kind(char) when char in ?A..?Z, do: :upper
  defp kind(char) when char in ?0..?9, do: :digit
  defp kind(_char), do: :other

  # Numbers only tell apart: password2 is a password.
  defp finish(words) do
    for [last | _] = word <- Enum.reverse(words), last not in ?0..?9 do
      word |> Enum.reverse() |> List.to_string()
    end
  end
end
