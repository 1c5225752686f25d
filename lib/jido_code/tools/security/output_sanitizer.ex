defmodule JidoCode.Tools.Security.OutputSanitizer do
  @moduledoc """
  Takes secrets out of any term before a model sees it.

  One pass of the native core over the whole term, however deep it is nested: text is searched for token families, for
  secrets that a name or a syntax around them gives away, for private keys, and for the values that this node is known
  to keep secret (from its environment variables, the applications' environments, its cookies, and `register_secret/1`); maps, keyword lists and `{name, value}` pairs are judged by their
  names. Only the value goes, so that JSON stays JSON and Elixir stays Elixir. A term without secrets comes back as it was,
  uncopied.

      iex> JidoCode.Tools.Security.OutputSanitizer.sanitize(%{"user" => "ada", "password" => "correct horse"})
      %{"user" => "ada", "password" => "[REDACTED]"}
      iex> JidoCode.Tools.Security.OutputSanitizer.sanitize(bypass: true, max_tokens: 5)
      [bypass: true, max_tokens: 5]
      iex> JidoCode.Tools.Security.OutputSanitizer.sanitize({:error, "no route to postgres://app:wD4kq9Zt@db/shop"})
      {:error, "no route to postgres://app:[REDACTED_DB_URL]@db/shop"}

  Text that is too large to be searched within the core's budget is replaced by a note that says so; it is never passed through.
  When the core does not answer at all, the whole term is replaced.
  """

  import JidoCode.Tools.Security.Fitting, only: [fitting: 1]

  alias JidoCode.Tools.Render.SensitiveName
  alias JidoCode.Tools.Security.{Core, KnownSecrets, Native}
  alias JidoCode.Tools.Telemetry

  # The atoms are made when this is compiled, from the library's own list.
  @fields MapSet.new(SensitiveName.names() ++ Enum.map(SensitiveName.names(), &String.to_atom/1))

  @unavailable "[REDACTED: the redactor is not available]"

  @doc """
  The term without secrets, of the same kind.

  Options: `:emit_telemetry` (default true) for one `[:jido_code, :security, :output_sanitized]` event when anything was
  redacted; `:context`, a map merged into its metadata; `:session`, the id of the session whose output this is; `:core`.
  `:max_depth` is accepted and ignored: there is no depth at which redaction stops.

  With a `:session`, a random-looking value that stood under a sensitive name in one output is redacted wherever it stands in the
  session's later ones (the last 64 of them, never in another session's), until the session ends.
  """
  @spec sanitize(term(), keyword()) :: term()
  def sanitize(term, opts \\ []), do: term |> redact(opts) |> elem(0)

  @doc """
  As `sanitize/2`, with a note for whoever reads the term: how many values were replaced, of which kinds, and where two of them
  are compared, whether they are equal. `nil` when nothing was redacted.

      iex> JidoCode.Tools.Security.OutputSanitizer.redact(~s(password: "winter5508"), emit_telemetry: false)
      {~s(password: "[REDACTED]"), "Redacted: 1 value (password)."}
      iex> JidoCode.Tools.Security.OutputSanitizer.redact("nothing to see")
      {"nothing to see", nil}
  """
  @spec redact(term(), keyword()) :: {term(), String.t() | nil}
  def redact(term, opts \\ []) do
    case ask(opts, term) do
      :clean ->
        {term, nil}

      {redacted, count, note} ->
        if Keyword.get(opts, :emit_telemetry, true) do
          Telemetry.execute(
            [:jido_code, :security, :output_sanitized],
            %{redaction_count: count},
            Map.put(Keyword.get(opts, :context, %{}), :type, type(term))
          )
        end

        {redacted, note}
    end
  end

  defp ask(opts, term) do
    fitting(Native.sanitize(core(opts), session(opts), term))
  rescue
    _error in [ErlangError, ArgumentError, UndefinedFunctionError] ->
      {withheld(term), 1, "Redacted: everything."}
  end

  defp withheld({tag, _value}) when tag in [:ok, :error], do: {tag, @unavailable}
  defp withheld(_term), do: @unavailable

  defp type({tag, value}) when tag in [:ok, :error], do: type(value)
  defp type(term) when is_binary(term), do: :string
  defp type(term) when is_map(term), do: :map
  defp type(term) when is_list(term), do: :list
  defp type(_term), do: :other

  @doc """
  Whether `sanitize/2` would redact anything; true if that can't be determined.

      iex> JidoCode.Tools.Security.OutputSanitizer.contains_sensitive?(%{token_count: 12})
      false
  """
  @spec contains_sensitive?(term(), keyword()) :: boolean()
  def contains_sensitive?(term, opts \\ []), do: ask(opts, term) != :clean

  @doc """
  Registers a value that must never appear in any output, nor in any of its usual encodings. It holds until the
  application stops, and can't be read back.

  Accepts strings of at least 4 bytes, without the white space around them. A value that would blank out ordinary text
  is refused: `{:error, :blank}` for nothing but white space, `{:error, :too_short}`, and `{:error, :one_character}` for one
  character over and over.

      iex> JidoCode.Tools.Security.OutputSanitizer.register_secret("  \\n")
      {:error, :blank}
      iex> JidoCode.Tools.Security.OutputSanitizer.register_secret("----")
      {:error, :one_character}
  """
  @spec register_secret(String.t()) :: :ok | {:error, :blank | :too_short | :one_character}
  def register_secret(value) when is_binary(value), do: KnownSecrets.register(value)

  @doc """
  The rules in the order they are tried: name, replacement, and a description of what they find.
  """
  @spec rules() :: [%{name: String.t(), replacement: String.t(), description: String.t()}]
  def rules do
    for {name, replacement, description} <- Native.sanitizer_rules() do
      %{name: name, replacement: replacement, description: description}
    end
  end

  @doc """
  Patterns that give an idea of the rules, as `{regex, replacement}`: the form in which JidoCode asks for them. Redaction
  itself does not run on them; see `rules/0`.
  """
  @spec sensitive_patterns() :: [{Regex.t(), String.t()}]
  def sensitive_patterns do
    [
      {~r/(?i)\b(?:password|passwd|secret|api_?key|token)\s*[:=]\s*\S+/, "[REDACTED]"},
      {~r/(?i)\bbearer\s+[a-z0-9._~+\/-]{8,}/, "[REDACTED_BEARER]"},
      {~r/\bsk-[A-Za-z0-9_-]{20,}/, "[REDACTED_API_KEY]"},
      {~r/\bgh[pousr]_[A-Za-z0-9]{36,}/, "[REDACTED_GITHUB_TOKEN]"},
      {~r/\b(?:AKIA|ASIA)[A-Z2-7]{16}\b/, "[REDACTED_AWS_KEY]"},
      {~r/\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]*/, "[REDACTED_JWT]"},
      {~r/-----BEGIN [A-Z ]*PRIVATE KEY-----/, "[REDACTED_SSH_KEY]"},
      {~r/(?i)\b[a-z][a-z0-9+.-]*:\/\/[^\s:@\/]*:[^\s@]+@/, "[REDACTED_DB_URL]"}
    ]
  end

  @doc "The names whose values are secret as they stand, as strings and as atoms. Compound names are split into words."
  @spec sensitive_fields() :: MapSet.t()
  def sensitive_fields, do: @fields

  # When the session has ended.
  @doc false
  @spec forget(String.t(), Core.t()) :: :ok
  def forget(session, core \\ Core.default()) when is_binary(session),
    do: Native.sanitizer_forget(core, session)

  defp core(opts), do: Keyword.get_lazy(opts, :core, &Core.default/0)

  # A host's session may be anything; only names are remembered.
  defp session(opts) do
    case opts[:session] do
      session when is_binary(session) -> session
      _none -> nil
    end
  end
end
