defmodule JidoCode.Tools.Introspection.LiteralTest do
  use ExUnit.Case, async: true
  doctest JidoCode.Tools.Introspection.Literal

  alias JidoCode.Tools.Introspection.Literal

  test "what inspect writes is read back" do
    for term <- [
          0,
          -17,
          1_000_000,
          1.5,
          -0.25,
          1.0e20,
          "",
          "a b",
          "q\"uo\\te\n\té",
          :ok,
          :"odd atom",
          :a?,
          true,
          nil,
          Enum,
          Enum.EmptyError,
          {},
          {1, {2, {3}}},
          [],
          [1, [2, []]],
          {:user, "a", [1.5, nil]},
          <<1, 2, 255>>
        ] do
      assert Literal.parse(inspect(term)) == {:ok, term}
    end

    assert Literal.parse("~c\"abc\"") == {:ok, ~c"abc"}
    assert Literal.parse("'abc'") == {:ok, ~c"abc"}
    assert Literal.parse(" { :ok ,\n 1 } ") == {:ok, {:ok, 1}}
    assert Literal.parse("{:nil, :false}") == {:ok, {nil, false}}
    assert Literal.parse("1_000") == {:ok, 1_000}
  end

  test "what is not a literal is refused, without making atoms" do
    for text <- [
          "",
          "{",
          "{1",
          "{1,}",
          "[1 | 2]",
          "\"open",
          "1 2",
          "1.",
          "-",
          "- 1",
          "~r/x/",
          "%{}",
          "fn -> 1 end",
          "System.halt()",
          "a",
          "<<256>>",
          "<<1",
          "1.0e999",
          String.duplicate("[", 5_000),
          String.duplicate("{", 12) <> String.duplicate("}", 12),
          "&Enum.map/2"
        ] do
      assert Literal.parse(text) == {:error, :syntax}, text
    end

    for text <- [":surely_unknown_1", "{:ok, :surely_unknown_2}", "SurelyUnknown3", ":\"surely unknown 4\""] do
      assert Literal.parse(text) == {:error, :unknown_atom}
    end

    assert Literal.parse(":" <> String.duplicate("x", 300)) == {:error, :unknown_atom}
    assert_raise ArgumentError, fn -> String.to_existing_atom("surely_unknown_1") end
  end

  test "keys: plain text is a string, words have two meanings" do
    assert Literal.keys("user:17") == {:ok, ["user:17"]}
    assert Literal.keys(" 5 apples ") == {:ok, ["5 apples"]}
    assert Literal.keys("SurelyUnknown5") == {:ok, ["SurelyUnknown5"]}
    assert Literal.keys("true") == {:ok, [true, "true"]}
    assert Literal.keys("'abc'") == {:ok, [~c"abc", "abc"]}
    assert Literal.keys(":ok") == {:ok, [:ok]}
    assert Literal.keys(":surely_unknown_6") == {:error, :unknown_atom}
    assert Literal.keys("{:a, ") == {:error, :syntax}
  end
end
