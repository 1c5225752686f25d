defmodule JidoCode.Tools.RenderTest do
  use ExUnit.Case, async: true
  doctest JidoCode.Tools.Render
  doctest JidoCode.Tools.Render.SensitiveName

  alias JidoCode.Tools.Introspection.Excerpt
  alias JidoCode.Tools.Render
  alias JidoCode.Tools.Render.SensitiveName
  alias JidoCode.Tools.Test.{Custom, Derived, Plain}

  # Defined after the Inspect protocol was consolidated, as in a script or a live shell; Elixir warns about that.
  ExUnit.CaptureIO.capture_io(:stderr, fn ->
    defmodule Late do
      @derive {Inspect, only: [:shown]}
      defstruct [:shown, :inner]
    end
  end)

  # Made at run time, so that no part of it is in a source file.
  @secret Enum.map_join(1..4, &Integer.to_string(&1 * 7_919, 36))

  defp text(term, options \\ []), do: term |> Render.render(options) |> elem(0)
  defp summary(term, options \\ []), do: term |> Render.render(options) |> elem(1)

  describe "reads like inspect" do
    test "for ordinary terms" do
      for term <- [
            nil,
            :ok,
            :"odd atom",
            Enum,
            0,
            -12,
            1.5,
            "text",
            "q\"uo\\te \#{x} \n\t é 漢",
            "",
            <<1, 2, 255>>,
            <<1::3>>,
            <<1, 2, 3::7>>,
            [],
            {},
            %{},
            [1, 2],
            [1 | 2],
            [a: 1, b: [c: 2]],
            [{:a, 1}, :b],
            [{Enum, 1}],
            {:ok, %{1 => 2, "a" => :b}},
            # One atom a map: since OTP 26 their order is that in which the VM met them; ours is the alphabet's.
            %{a: %{c: {1, 2}}},
            %{Enum => 1},
            1..3,
            1..9//2,
            MapSet.new([1, 2]),
            ~D[2024-02-29],
            ~T[10:00:00.123],
            ~N[2024-02-29 10:00:00],
            ~U[2024-02-29 10:00:00Z],
            &Enum.map/2,
            self()
          ] do
        assert text(term) == inspect(term, pretty: true), "differs for #{inspect(term)}"
      end
    end

    test "for what does not fit on a line" do
      assert text(%{list: Enum.to_list(1..40), name: String.duplicate("x", 60)}) == """
             %{
               list: [
                 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40
               ],
               name: "#{String.duplicate("x", 60)}"
             }\
             """
    end

    test "charlists have one form in every version" do
      assert text(~c"abc\"d\n") == ~S(~c"abc\"d\n")
      assert text([0, 1]) == "[0, 1]"
    end

    test "functions show where they come from and nothing of their environment" do
      inner = @secret
      assert text(fn -> inner end) =~ ~r/^#Function<JidoCode\.Tools\.RenderTest\..*, arity 0>$/
      refute text(fn -> inner end) =~ inner
    end
  end

  describe "says what it left out" do
    test "of lists, tuples, maps and sets" do
      assert text(Enum.to_list(1..1_000), max_bytes: 100) =~ ~r/^\[1, 2, .*, \.\.\. 99\d more\]$/
      assert text(List.to_tuple(Enum.to_list(1..1_000)), max_bytes: 100) =~ ~r/\.\.\. 99\d more}$/
      assert text(Map.new(1..1_000, &{&1, &1}), max_bytes: 150) =~ ~r/\.\.\. 99\d more\n?}$/
      assert text(MapSet.new(1..1_000), max_bytes: 150) =~ ~r/\.\.\. 9\d\d more\n?\]\)$/
      assert summary(Enum.to_list(1..1_000), max_bytes: 100).truncated
      refute summary([1, 2]).truncated
    end

    test "shown and left out add up" do
      text = text(Enum.to_list(1..9_999))
      [_, shown, left] = Regex.run(~r/(\d+),\s+\.\.\. ([\d,]+) more/, text)
      assert String.to_integer(shown) + String.to_integer(String.replace(left, ",", "")) == 9_999
    end

    test "of strings and binaries" do
      assert text(String.duplicate("é", 50_000)) =~ ~r/^"é+" <> \.\.\. [\d,]+ more bytes$/u
      assert text(:binary.copy(<<0, 255>>, 50_000)) =~ "... 99,936 more bytes>>"
      assert text(List.duplicate(?a, 50_000)) =~ ~r/^~c"a+" \+\+ \.\.\. more$/
    end

    test "of deep nesting" do
      deep = Enum.reduce(1..100_000, :bottom, fn _, inner -> [inner] end)
      assert text(deep) =~ "[...]"
      refute text(deep) =~ "bottom"
    end

    test "a large first element leaves room for the others" do
      text = text(%{a: Enum.to_list(1..100_000), b: Map.new(1..10_000, &{&1, &1}), z: :last})
      assert text =~ "z: :last"
    end
  end

  describe "costs what the budget allows" do
    # Work in the VM's own unit, since time depends on what else the machine does.
    @max_reductions 10_000_000

    test "whatever the term" do
      bomb = Enum.reduce(1..80, [:x, :y], fn _, inner -> [inner, inner] end)
      map_bomb = Enum.reduce(1..60, %{a: 1}, fn _, inner -> %{left: inner, right: inner} end)
      key_bomb = %{bomb => 1, [bomb] => 2}
      big = Map.new(1..300_000, &{&1, &1})

      for term <- [
            bomb,
            map_bomb,
            key_bomb,
            big,
            [big, big],
            Enum.to_list(1..2_000_000),
            List.duplicate(?a, 2_000_000),
            List.duplicate(List.duplicate(1, 100_000), 1_000),
            :binary.copy("a", 100_000_000),
            :binary.copy(<<0>>, 100_000_000),
            Bitwise.bsl(1, 4_000_000),
            :erlang.make_tuple(1_000_000, 0),
            MapSet.new(1..100_000)
          ] do
        {:reductions, before} = Process.info(self(), :reductions)
        {text, summary} = Render.render(term)
        {:reductions, now} = Process.info(self(), :reductions)
        assert now - before < @max_reductions
        assert summary.truncated
        assert byte_size(text) <= 24_000
      end
    end

    test "never more bytes than asked for, never torn characters, never an exception" do
      seed = :erlang.phash2(make_ref())
      :rand.seed(:exsss, {seed, 1, 2})

      for round <- 1..3_000 do
        term = random_term(5)
        max = Enum.random([100, 101, 130, 200, 500, 2_000])
        {text, _summary} = Render.render(term, max_bytes: max)

        unless byte_size(text) <= max and String.valid?(text) and text != "#Unreadable<>" do
          flunk("seed #{seed}, round #{round}, at most #{max}: #{inspect(term, limit: :infinity)}")
        end
      end
    end

    test "what was cut is a part of the whole" do
      for max <- [100, 500, 5_000] do
        assert byte_size(text(Enum.map(1..1_000, &%{id: &1, name: "n#{&1}"}), max_bytes: max)) > div(max, 3)
      end
    end
  end

  describe "hides what stands under a sensitive name" do
    test "wherever the name stands" do
      for term <- [
            %{password: @secret},
            %{"password" => @secret},
            %{~c"password" => @secret},
            %{"apiKey" => @secret},
            %{DB_PASSWORD: @secret},
            %{"X-Api-Key" => @secret},
            %{password: String.to_charlist(@secret)},
            %{password: {:plain, @secret}},
            %{password: %{value: @secret}},
            %{password: [@secret]},
            [password: @secret],
            [{"authorization", "Bearer " <> @secret}],
            {:password, @secret},
            {:state, {:token, @secret}},
            {"secret", 1, @secret},
            {:setting, :api_key, @secret},
            {{:tenant, :api_key}, @secret},
            %{{:tenant, "token"} => @secret},
            {:basic_auth, "user", @secret},
            %Plain{password: @secret},
            %{nested: [%{deep: %{client_secret: @secret}}]},
            %{name: "api_key", value: @secret},
            %{"key" => "password", "value" => @secret},
            [{:a, 1}, {:b, [{~c"passwd", @secret}]}],
            [1 | {:token, @secret}],
            %{{:token, @secret} => 1},
            %URI{scheme: "https", userinfo: "u:" <> @secret, host: "h", authority: "u:" <> @secret <> "@h"}
          ] do
        {text, summary} = Render.render(term)
        refute text =~ @secret, text
        refute text =~ inspect(String.to_charlist(@secret)), text
        assert text =~ ~s("[REDACTED]")
        assert summary.redacted > 0 or is_struct(term, URI)
      end
    end

    test "in a container that is cut as well" do
      term = %{
        a: Enum.to_list(1..10_000),
        password: @secret,
        z: Enum.map(1..10_000, &{:token, "#{@secret}#{&1}"})
      }

      for max <- 100..3_000//50, do: refute(text(term, max_bytes: max) =~ @secret)
    end

    test "and not what merely sounds like it" do
      for term <- [
            %{bypass: true},
            %{max_token: 5},
            %{token_count: "12"},
            %{author: "ada"},
            %{passed: 3, compass: "n"},
            %{password_policy: "long"},
            %{token: nil, password: "", secret: false},
            %{monkey: "x", keyboard: "y"},
            %{secretary: "x"},
            %{auth_module: Enum},
            {:ok, "x"},
            ["password", "x"]
          ] do
        assert text(term) == inspect(term, custom_options: [sort_maps: true])
        assert summary(term).redacted == 0
      end
    end

    test "names in the configuration are added" do
      extra = MapSet.new(["badgenumber"])
      assert SensitiveName.secret?(:badge_number, "x", extra)
      assert SensitiveName.secret?("userBadgeNumber", "x", extra)
      refute SensitiveName.secret?(:badge, "x", extra)
    end

    test "odd names are not names" do
      for name <- [
            1,
            nil,
            "",
            %{},
            [],
            [1 | 2],
            self(),
            <<255>>,
            String.duplicate("password", 100),
            {:password}
          ] do
        refute SensitiveName.secret?(name, "x")
      end
    end
  end

  describe "structs" do
    test "with an Inspect implementation of their own are shown by name only, and it never runs" do
      Process.register(self(), :render_test)

      for struct <- [%Custom{inner: @secret}, struct(__MODULE__.Late, inner: @secret)] do
        {text, summary} = Render.render(%{state: [struct]})
        refute text =~ @secret
        assert text =~ "##{inspect(struct.__struct__)}<not shown"
        assert summary.hidden == [struct.__struct__]
      end

      refute_received :project_code_ran
    end

    @tag :as_built
    test "with a derived Inspect implementation show the fields that it shows" do
      {text, summary} = Render.render(%{state: [%Derived{name: "ada", inner: @secret}]})
      assert text == ~S(%{state: [%JidoCode.Tools.Test.Derived{name: "ada", ...}]})
      assert summary == %{truncated: false, redacted: 0, hidden: []}

      # Cut or not.
      excerpt = Excerpt.take(%Derived{name: String.duplicate("x", 100_000), inner: @secret})
      {text, _summary} = Render.render(excerpt, max_bytes: 200)
      assert text =~ "%JidoCode.Tools.Test.Derived{"
      refute text =~ @secret
    end

    test "made by hand can't break the renderer" do
      for fake <- [
            %{__struct__: Date, year: "x", month: 1, day: 1, calendar: Calendar.ISO},
            %{__struct__: Date, year: Integer.pow(9, 100_000), month: 1, day: 1, calendar: Calendar.ISO},
            %{__struct__: DateTime, calendar: Calendar.ISO},
            %{__struct__: Time, calendar: Enum, hour: 1},
            %{__struct__: MapSet, map: 5},
            %{__struct__: Range, first: "a", last: nil, step: 1},
            %{__struct__: Regex, source: self(), opts: %{}},
            %{__struct__: URI},
            %{__struct__: "not an atom", a: 1},
            %{__struct__: :no_such_module_at_all, a: 1},
            %{__struct__: Elixir, a: 1}
          ] do
        refute text(fake) == "#Unreadable<>", inspect(fake, structs: false)
      end
    end

    test "exceptions and unknown structs by their fields" do
      assert text(%Plain{name: "n"}) == ~s(%JidoCode.Tools.Test.Plain{count: 0, name: "n", password: nil})
      assert text(%RuntimeError{message: "m"}) == ~s(%RuntimeError{message: "m"})
      assert text(~r/a.b/i) =~ ~s(source: "a.b")
    end
  end

  defp random_term(0), do: random_scalar()

  defp random_term(depth) do
    size = :rand.uniform(7) - 1
    items = fn -> for(_ <- 1..size//1, do: random_term(depth - 1)) end

    case :rand.uniform(8) do
      1 -> items.()
      2 -> List.to_tuple(items.())
      3 -> Map.new(items.(), &{random_term(1), &1})
      4 -> Enum.map(items.(), &{random_atom(), &1})
      5 -> [random_scalar() | random_scalar()]
      6 -> MapSet.new(items.())
      7 -> %Plain{name: random_term(depth - 1)}
      8 -> random_scalar()
    end
  end

  defp random_scalar do
    case :rand.uniform(9) do
      1 ->
        :rand.uniform(1_000_000_000)

      2 ->
        :rand.uniform()

      3 ->
        random_atom()

      4 ->
        Enum.map_join(1..:rand.uniform(80), fn _ ->
          <<Enum.random([?a, ?", ?\n, ?é, 0x1F600, ?\\])::utf8>>
        end)

      5 ->
        :rand.bytes(:rand.uniform(90))

      6 ->
        Enum.map(1..:rand.uniform(90), fn _ -> Enum.random(?a..?z) end)

      7 ->
        self()

      8 ->
        <<:rand.uniform(7)::3>>

      9 ->
        &Enum.map/2
    end
  end

  defp random_atom, do: Enum.random([:a, :ok, nil, true, Enum, :"odd one", :token, :count, :+, :é])
end
