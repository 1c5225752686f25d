defmodule JidoCode.Tools.Security.OutputSanitizerTest do
  use ExUnit.Case, async: true

  doctest JidoCode.Tools.Security.OutputSanitizer
  doctest JidoCode.Tools.Security.RedactionNote

  alias JidoCode.Tools.JSON
  alias JidoCode.Tools.Security.{Core, Native, OutputSanitizer}
  alias JidoCode.Tools.Test.{Events, Generate}

  # Secrets are made, never written: this file holds none, and each run from another seed proves that no list of them helps.
  defp token(length, seed \\ 1) do
    {token, _random} = Generate.token(Generate.new(seed), length - 2)
    token <> "7q"
  end

  defp github(seed \\ 1), do: "ghp" <> "_" <> token(36, seed)
  defp anthropic(seed \\ 1), do: "sk-" <> "ant-api03-" <> token(93, seed) <> "AA"

  defp pem_lines(seed \\ 1) do
    {body, _random} = Generate.list(Generate.new(seed), 6, &Generate.token(&1, 64))
    [pem_edge("BEGIN")] ++ body ++ [pem_edge("END")]
  end

  defp pem_edge(edge), do: "-----#{edge} RSA PRIVATE" <> " KEY-----"

  defp sanitize(term), do: OutputSanitizer.sanitize(term, emit_telemetry: false)

  # Every byte of a term, text, charlists and atoms alike; unlike `inspect/2` it leaves nothing out and runs no protocol.
  defp shown(term), do: :erlang.term_to_binary(term)

  defp assert_gone(term, secret) do
    clean = sanitize(term)
    refute shown(clean) =~ secret
    assert OutputSanitizer.contains_sensitive?(term)
    clean
  end

  defp assert_kept(term) do
    assert sanitize(term) == term
    refute OutputSanitizer.contains_sensitive?(term)
  end

  describe "text" do
    test "tokens go, what is around them stays" do
      for secret <- [github(), anthropic()] do
        clean = assert_gone("before #{secret} after", secret)
        assert clean =~ ~r/\Abefore \[REDACTED[A-Z_]*\] after\z/
      end
    end

    test "a value goes, its name stays" do
      secret = token(24)

      for {text, pattern} <- [
            {"password=#{secret}", ~r/\Apassword=\[REDACTED/},
            {"DB_PASSWORD: #{secret} rest", ~r/\ADB_PASSWORD: \[REDACTED[^ ]* rest\z/},
            {"Authorization: Bearer #{secret}", ~r/\AAuthorization: Bearer \[REDACTED/},
            {"postgres://app:#{secret}@db:5432/shop", ~r/\Apostgres:\/\/app:\[REDACTED.*@db:5432\/shop\z/},
            {~s(%{api_key: "#{secret}", port: 80}), ~r/\A%\{api_key: "\[REDACTED[^"]*", port: 80\}\z/}
          ] do
        assert assert_gone(text, secret) =~ pattern
      end
    end

    test "what is not a secret stays as it was" do
      for text <- [
            "bypass: true",
            "max_token: 5",
            "max_tokens=4096 and token_count: 12",
            "password is required",
            ~s({:system, "DB_PASSWORD"}),
            ~s|password: System.fetch_env!("DB_PASSWORD")|,
            "token: nil, secret: false",
            "id: 6f1ed002-ab59-11ee-a506-0242ac120002",
            ~s("jason": {:hex, :jason, "1.4.1", "af1504e35f629ddcdd6addb3513c3853991f694921b1b9368b0bd32beb9f1b63", [:mix], []}),
            "commit 1b4e28ba2fa1d2f0a3a3a3b0c9d8e7f6a5b4c3d2",
            "the author passed a compass to the secretary",
            "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOC\n-----END PUBLIC KEY-----",
            "Finished in 0.1 seconds\n3 tests, 0 failures",
            ""
          ] do
        assert sanitize(text) == text, text
      end
    end

    test "a private key goes whole" do
      lines = pem_lines()
      text = Enum.join(["before" | lines] ++ ["after"], "\n")
      clean = sanitize(text)
      assert clean =~ ~r/\Abefore\n(.*\n)?\[REDACTED[^\n]*\](\n.*)?\nafter\z/
      for line <- Enum.slice(lines, 1..-2//1), do: refute(clean =~ line)
    end

    test "bytes that are not text are searched all the same" do
      secret = github()
      clean = sanitize(<<255, 0, 254>> <> secret <> <<0, 255>>)
      assert :binary.match(clean, secret) == :nomatch
      assert <<255, 0, 254, _::binary>> = clean
    end
  end

  describe "terms keep their kind" do
    test "maps, by atom, string and charlist names, at any depth" do
      secret = token(20)
      assert sanitize(%{password: secret, user: "ada"}) == %{password: "[REDACTED]", user: "ada"}
      assert sanitize(%{"api_key" => secret}) == %{"api_key" => "[REDACTED]"}
      assert sanitize(%{~c"secret" => secret}) == %{~c"secret" => "[REDACTED]"}
      deep = Enum.reduce(1..200, %{"password" => secret}, fn _, inner -> %{"inner" => inner} end)
      assert_gone(deep, secret)
    end

    test "keyword lists and pairs" do
      secret = token(20)
      assert sanitize(user: "ada", password: secret) == [user: "ada", password: "[REDACTED]"]
      assert sanitize({:password, secret}) == {:password, "[REDACTED]"}

      assert sanitize([{"x-api-key", secret}, {"accept", "*/*"}]) == [
               {"x-api-key", "[REDACTED]"},
               {"accept", "*/*"}
             ]

      assert {:error, {:econnrefused, clean}} = sanitize({:error, {:econnrefused, "token=#{secret}"}})
      refute clean =~ secret
    end

    test "header tuples keep the scheme" do
      secret = token(40)
      assert [{"authorization", value}] = assert_gone([{"authorization", "Bearer " <> secret}], secret)
      assert value =~ "REDACTED"
    end

    test "name and value in two members" do
      secret = token(20)

      assert %{"name" => "DB_PASSWORD", "value" => "[REDACTED]"} =
               sanitize(%{"name" => "DB_PASSWORD", "value" => secret})

      assert %{name: "LANG", value: "C.UTF-8"} = sanitize(%{name: "LANG", value: "C.UTF-8"})
    end

    test "structs, without their protocols" do
      for struct <- [
            ~U[2026-01-02 03:04:05Z],
            ~D[2026-01-02],
            ~r/a+/,
            1..3,
            MapSet.new([1]),
            URI.parse("https://example.com/a?b=c"),
            Version.parse!("1.2.3")
          ] do
        assert_kept(struct)
      end

      secret = token(20)
      clean = assert_gone(%JidoCode.Tools.Test.Plain{name: "n", password: secret}, secret)
      assert %JidoCode.Tools.Test.Plain{name: "n", password: "[REDACTED]", count: 0} = clean
    end

    test "a parsed URL" do
      secret = token(16)
      clean = assert_gone(URI.parse("https://ada:#{secret}@example.com/path"), secret)
      assert %URI{host: "example.com", path: "/path", userinfo: "ada:" <> _} = clean
    end

    test "charlists stay charlists" do
      secret = github()
      clean = assert_gone(String.to_charlist("see #{secret}"), secret)
      assert is_list(clean)
      assert List.to_string(clean) =~ ~r/\Asee \[REDACTED/
      assert_kept(~c"nothing to see")
      assert_kept([1, 2, 3, 1_000_000_000_000])
    end

    test "improper lists" do
      secret = github()
      assert [1, :two | clean] = assert_gone([1, :two | secret], secret)
      assert clean =~ "REDACTED"
      assert_kept([1 | 2])
      assert_kept([[:a | :b], "c" | %{}])
    end

    test "iodata whose pieces make up a secret, however it is nested" do
      secret = github()
      {left, right} = String.split_at(secret, 10)

      for iodata <- [
            ["a ", left, right, ?\n, "b"],
            ["a ", left, [right, ?\n], "b"],
            ["a ", [[left]], [[[right]], "\n", "b"]],
            ["a ", [left | right], "\nb"],
            [["a ", left], String.to_charlist(right), "\nb"],
            # The first piece alone is a token too: what follows belongs to it.
            ["a ", secret, ["tail" <> right], "\nb"]
          ] do
        for term <- [iodata, {:ok, iodata}, %{log: iodata, n: 1}, [:log, iodata]] do
          clean = sanitize(term)
          refute shown(clean) =~ right
          refute shown(clean) =~ secret
        end

        assert IO.iodata_to_binary(sanitize(iodata)) =~ ~r/\Aa \[REDACTED[A-Z_]*\]\nb\z/
      end
    end

    test "a list of lines with a private key across them" do
      lines = ["first" | pem_lines()] ++ ["last"]
      clean = sanitize(lines)
      assert hd(clean) == "first"
      assert List.last(clean) == "last"
      for line <- Enum.slice(lines, 2..-3//1), do: refute(shown(clean) =~ line)
    end

    test "keys can be secrets too" do
      secret = github()
      clean = assert_gone(%{secret => 1, "plain" => 2}, secret)
      assert clean["plain"] == 2
      assert map_size(clean) == 2
    end

    test "atoms can" do
      secret = github()
      assert_gone([String.to_atom(secret)], secret)
      assert_gone(%{cookie: String.to_atom(token(20))}, token(20))
    end

    test "ok and error tuples keep their tag, nested ones as well" do
      secret = github()
      assert {:ok, {:error, clean}} = assert_gone({:ok, {:error, "password=" <> secret}}, secret)
      assert is_binary(clean)
    end

    test "references stay" do
      assert_kept(%{password: {:system, "DB_PASSWORD"}})
      assert_kept(password: {:system, "DB_PASSWORD"})
      assert_kept(%{password: nil, token: false, secret: ""})
    end

    test "numbers, pids, references, functions, bitstrings" do
      for term <- [1, -1.5, 1.0e300, self(), make_ref(), &self/0, <<1::3>>, nil, :ok, {}, [], %{}],
          do: assert_kept(term)
    end
  end

  describe "innocent terms" do
    test "come back as they are, whatever their shape" do
      for seed <- 1..300 do
        {term, _random} = Generate.term(Generate.new(seed), 4)
        assert {seed, sanitize(term)} == {seed, term}
      end
    end

    test "come back uncopied" do
      text = String.duplicate("an innocent line\n", 5_000)
      assert :erts_debug.same(sanitize(text), text)
      term = %{"a" => [text, {1, text}], b: ~c"chars"}
      assert :erts_debug.same(sanitize(term), term)
    end

    test "what is clean of a term with a secret is not copied either" do
      text = String.duplicate("an innocent line\n", 5_000)
      clean = sanitize(%{"text" => text, "password" => token(20)})
      assert :erts_debug.same(clean["text"], text)
    end
  end

  describe "a secret planted anywhere" do
    test "is found in every place of every shape" do
      secret = github(7)

      for seed <- 1..200 do
        random = Generate.new(seed)
        {term, random} = Generate.term(random, 3)
        {planted, _random} = plant(random, term, secret)
        assert_gone(planted, secret)
      end
    end

    # Wraps the secret and a term around each other.
    defp plant(random, term, secret) do
      {wrap, random} =
        Generate.member(random, [
          &[&1, &2],
          &{&1, &2},
          &%{"x" => &1, "y" => &2},
          &%{{&2, 1} => &1},
          &[&1 | &2],
          &[nested: [deeper: {&1, [&2]}]],
          &%{a: %{b: [[[&2]], &1]}},
          &{:ok, %{log: "line one\n#{&2}\nline two", rest: &1}}
        ])

      {wrap.(term, secret), random}
    end
  end

  describe "JSON text stays JSON" do
    test "with secrets in members, nested and escaped" do
      secret = token(24)

      for document <- [
            %{"exit_code" => 0, "output" => "token=#{secret}"},
            %{"password" => secret, "next" => "member"},
            %{"a" => [%{"api_key" => secret}, "text \"quoted\" password=\"#{secret}\""]},
            %{"output" => ~s({"password":"#{secret}"})},
            %{"log" => "line\nAuthorization: Bearer #{secret}\nline"}
          ] do
        {:ok, text} = JSON.encode(document)
        clean = assert_gone(text, secret)
        assert {:ok, decoded} = JSON.decode(clean)
        assert Map.keys(decoded) == Map.keys(document)
      end
    end
  end

  describe "hostile terms" do
    test "a million levels" do
      secret = github()
      nested = Enum.reduce(1..1_000_000, secret, fn _, inner -> [inner] end)
      assert :erts_debug.flat_size(nested) > 1_000_000
      clean = sanitize(nested)
      assert unwrap(clean) =~ "REDACTED"

      tuples = Enum.reduce(1..1_000_000, 1, fn _, inner -> {inner} end)
      assert :erts_debug.same(sanitize(tuples), tuples)

      maps = Enum.reduce(1..300_000, secret, fn _, inner -> %{a: inner} end)
      refute :erts_debug.same(sanitize(maps), maps)
    end

    defp unwrap([inner]), do: unwrap(inner)
    defp unwrap(inner), do: inner

    test "iodata nested deep costs linear time" do
      for inner <- ["x", :no_iodata, github()] do
        nested = Enum.reduce(1..100_000, inner, fn _, inner -> [?a, "b ", inner] end)
        {micros, clean} = :timer.tc(fn -> sanitize(nested) end)
        assert micros < 5_000_000
        refute shown(clean) =~ github()
      end
    end

    test "a small term that unfolds without end is withheld within bounded time and memory" do
      bomb = Enum.reduce(1..40, "x", fn _, inner -> [inner, inner] end)
      before = :erlang.memory(:total)
      clean = sanitize(%{"bomb" => bomb, "password" => token(20)})
      assert :erlang.memory(:total) - before < 600_000_000
      # It was not passed through, nor was what came after it: that may be withheld with its name.
      assert clean["bomb"] != bomb
      assert Map.get(clean, "password", "[REDACTED]") == "[REDACTED]"
    end

    test "more text than is searched is withheld, and says so" do
      huge = :binary.copy(<<"a ">>, 40_000_000)
      assert sanitize(huge) =~ ~r/\A\[REDACTED: too large/
      assert {:ok, "[REDACTED: too large" <> _} = sanitize({:ok, huge})
    end

    test "repeated anchors cost linear time" do
      for anchor <- ["eyJ", "ghp_", "key=", "postgres://a", "-----BEGIN", "password: \"", "\\\"", "://:@"] do
        text = :binary.copy(anchor, div(240_000, byte_size(anchor)))
        # The least of some: the machine does other things, too.
        micros = for(_ <- 1..3, do: elem(:timer.tc(fn -> sanitize(text) end), 0)) |> Enum.min()
        assert micros < 500_000, "#{anchor}: #{micros} us"
      end
    end
  end

  describe "exact values" do
    test "registered ones go in every usual encoding, and can't be read back" do
      core = Core.new()
      secret = "Kz7" <> token(15, 99) <> "/+=&?é"
      :ok = Native.core_put_known(core, :keep, [secret])
      sanitize = &OutputSanitizer.sanitize(&1, core: core, emit_telemetry: false)
      {:ok, json} = JSON.encode(secret)

      for encoded <- [
            secret,
            URI.encode_www_form(secret),
            URI.encode(secret, &URI.char_unreserved?/1),
            Base.encode64(secret),
            Base.url_encode64(secret),
            Base.encode64(secret, padding: false),
            Base.encode16(secret),
            Base.encode16(secret, case: :lower),
            String.slice(json, 1..-2//1)
          ] do
        clean = sanitize.("before #{encoded} after")
        refute clean =~ encoded
        # Of base64 the last characters may stay: they depend on what follows, and tell some bits at most.
        assert clean =~ ~r/\Abefore .{0,3}\[REDACTED[^\]]*\].{0,4} after\z/
        assert %{x: ["before " <> _]} = sanitize.(%{x: ["before " <> encoded]})
        refute shown(sanitize.(encoded: encoded)) =~ encoded
      end

      refute inspect(core) =~ secret
      # Another core does not know it.
      plain = "word " <> secret
      assert OutputSanitizer.sanitize(plain, core: Core.new(), emit_telemetry: false) == plain
    end

    test "those that would blank out ordinary text are refused" do
      assert OutputSanitizer.register_secret("abc") == {:error, :too_short}
      assert OutputSanitizer.register_secret("  ab \n") == {:error, :too_short}

      for blank <- ["", "    ", "\n\t      \r\n", <<0, 0, 0, 0, 0>>],
          do: assert(OutputSanitizer.register_secret(blank) == {:error, :blank})

      for same <- ["----", "aaaaaaaa", String.duplicate("0", 64)],
          do: assert(OutputSanitizer.register_secret(same) == {:error, :one_character})

      indented = "    defp a, do: ---- aaaaaaaa 00000000"
      assert sanitize(indented) == indented
      assert_raise FunctionClauseError, fn -> OutputSanitizer.register_secret(:abcdef) end
    end
  end

  describe "registered with white space around it" do
    test "a value goes without it" do
      secret = "Kz8" <> token(15, 98)
      assert OutputSanitizer.register_secret(" " <> secret <> "\n") == :ok
      assert sanitize("a #{secret}, b") == "a [REDACTED], b"
    end
  end

  describe "when the core does not answer" do
    test "everything is withheld" do
      assert OutputSanitizer.sanitize("anything", core: nil) =~ ~r/\A\[REDACTED/
      assert {:ok, "[REDACTED" <> _} = OutputSanitizer.sanitize({:ok, %{a: 1}}, core: nil)
      assert {:error, "[REDACTED" <> _} = OutputSanitizer.sanitize({:error, :x}, core: make_ref())
      assert OutputSanitizer.contains_sensitive?("anything", core: nil)
    end
  end

  describe "telemetry" do
    @event [:jido_code, :security, :output_sanitized]

    test "one event for what was redacted, none for nothing" do
      Events.record([@event])
      OutputSanitizer.sanitize("innocent")
      OutputSanitizer.sanitize("x #{github()}", emit_telemetry: false)
      refute_received {:event, _, _, _}

      OutputSanitizer.sanitize("x #{github()} y #{github(2)}", context: %{tool: "t"})
      assert_received {:event, @event, %{redaction_count: 2}, %{type: :string, tool: "t"}}
      OutputSanitizer.sanitize({:ok, %{password: token(20)}})
      assert_received {:event, @event, %{redaction_count: 1}, %{type: :map}}
      refute_received {:event, _, _, _}
    end
  end

  describe "what it tells about itself" do
    test "rules, in words" do
      rules = OutputSanitizer.rules()
      assert length(rules) > 30

      for rule <- rules,
          do: assert(rule.name != "" and rule.description != "" and rule.replacement != "")

      assert rules |> Enum.map(& &1.name) |> Enum.uniq() |> length() == length(rules)
    end

    test "patterns and fields in the host's form" do
      for {regex, replacement} <- OutputSanitizer.sensitive_patterns() do
        assert %Regex{} = regex
        assert is_binary(replacement)
      end

      for name <- ["password", :password, "api_key", :aws_secret_access_key] do
        assert name in OutputSanitizer.sensitive_fields()
      end

      assert Enum.all?(
               OutputSanitizer.sensitive_fields(),
               &(sanitize(%{&1 => token(24)}) == %{&1 => "[REDACTED]"})
             )
    end
  end
end
