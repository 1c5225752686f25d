defmodule JidoCode.Tools.JSONTest do
  use ExUnit.Case, async: true

  import Bitwise

  doctest JidoCode.Tools.JSON

  alias JidoCode.Tools.JSON

  test "every kind of value, there and back" do
    for {text, value} <- [
          {~s(null), nil},
          {~s(true), true},
          {~s(-7), -7},
          {~s(18446744073709551615), 18_446_744_073_709_551_615},
          {~s(2.5), 2.5},
          {~s("é\\n\\"\\\\"), "é\n\"\\"},
          {~s([]), []},
          {~s({}), %{}},
          {~s({"a":[1,{"b":null}],"c":"d"}), %{"a" => [1, %{"b" => nil}], "c" => "d"}}
        ] do
      assert JSON.decode(text) == {:ok, value}
      assert {:ok, encoded} = JSON.encode(value)
      assert JSON.decode(encoded) == {:ok, value}
    end
  end

  test "atoms become strings, keys too, in order" do
    assert JSON.encode(%{status: :ok, b: nil, a: [true, :x]}) ==
             {:ok, ~s({"a":[true,"x"],"b":null,"status":"ok"})}

    assert {:ok, pretty} = JSON.encode(%{a: [1]}, pretty: true)
    assert pretty == "{\n  \"a\": [\n    1\n  ]\n}"
  end

  test "what is no JSON is said in words" do
    for text <- ["", "{", "[1,]", "{'a': 1}", "nul", "1 2", <<255>>, "\"\\ud800\"", ~s({"a":1,}), "NaN"] do
      assert {:error, message} = JSON.decode(text)
      assert is_binary(message) and message != ""
    end
  end

  test "what JSON can't say is said in words" do
    for term <- [
          {1},
          self(),
          make_ref(),
          &self/0,
          [1 | 2],
          %{1 => 2},
          %{{1} => 2},
          <<255>>,
          <<1::3>>,
          1 <<< 64
        ] do
      assert {:error, message} = JSON.encode(%{"x" => term})
      assert is_binary(message)
    end
  end

  test "no atom is made from input" do
    names = for n <- 1..2_000, do: "never_seen_#{n}_#{System.unique_integer([:positive])}"
    text = "{" <> Enum.map_join(names, ",", &~s("#{&1}":"#{&1}x")) <> "}"
    assert {:ok, decoded} = JSON.decode(text)
    assert map_size(decoded) == 2_000

    for name <- names, text <- [name, name <> "x"] do
      assert_raise ArgumentError, fn -> String.to_existing_atom(text) end
    end
  end

  test "nesting is bounded in both directions" do
    nested = fn levels -> String.duplicate("[", levels) <> String.duplicate("]", levels) end
    assert {:ok, _} = JSON.decode(nested.(60))
    for levels <- [100, 100_000, 5_000_000], do: assert({:error, _} = JSON.decode(nested.(levels)))
    assert {:error, _} = JSON.decode(String.duplicate(~s({"a":), 1_000_000))
    assert {:error, _} = JSON.encode(Enum.reduce(1..1_000_000, [], fn _, inner -> [inner] end))
    # Brackets within a string don't nest.
    assert {:ok, _} = JSON.decode(~s("#{String.duplicate("[", 1_000)}"))
  end

  test "the last of two members of one name wins, as in most readers" do
    assert JSON.decode(~s({"a":1,"a":2})) == {:ok, %{"a" => 2}}
  end
end
