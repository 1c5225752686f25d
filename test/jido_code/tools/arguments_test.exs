defmodule JidoCode.Tools.ArgumentsTest do
  use ExUnit.Case, async: true
  doctest JidoCode.Tools.Arguments

  alias JidoCode.Tools.Arguments

  @definition %{
    name: "tool",
    parameters: [
      %{name: "process", type: :string, required: true},
      %{name: "mode", type: :string, required: false, enum: ["fast", "slow"]},
      %{name: "args", type: :array, items: :string, required: false},
      %{name: "timeout", type: :integer, required: false, default: 5, minimum: 1, maximum: 100},
      %{name: "ratio", type: :number, required: false},
      %{name: "trace", type: :boolean, required: false},
      %{name: "extra", type: :object, required: false}
    ]
  }

  defp check(args), do: Arguments.check(@definition, args)
  defp error(args), do: args |> check() |> elem(1)

  test "returns what was given, with defaults filled in" do
    assert check(%{"process" => "p"}) == {:ok, %{"process" => "p", "timeout" => 5}}

    all = %{
      "process" => "p",
      "mode" => "slow",
      "args" => ["a", "b"],
      "timeout" => 7,
      "ratio" => 0.5,
      "trace" => false,
      "extra" => %{"x" => 1}
    }

    assert check(all) == {:ok, all}
  end

  test "null for an optional parameter means that it was left out" do
    assert check(%{"process" => "p", "mode" => nil, "timeout" => nil}) ==
             {:ok, %{"process" => "p", "timeout" => 5}}

    assert error(%{"process" => nil}) =~ "Missing required parameter: process"
  end

  test "an integer may arrive as a float without a fraction" do
    assert {:ok, %{"timeout" => 7}} = check(%{"process" => "p", "timeout" => 7.0})
    assert error(%{"process" => "p", "timeout" => 7.5}) =~ "Invalid timeout: expected integer"
  end

  test "says what is wrong with a value" do
    for {args, text} <- [
          {%{}, "Missing required parameter: process"},
          {%{"process" => 5}, "Invalid process name: expected string, got an integer"},
          {%{"process" => <<255>>}, "Invalid process name: expected string, got bytes that are not UTF-8"},
          {%{"process" => "p", "mode" => "warp"}, "Invalid mode: warp is not one of fast, slow"},
          {%{"process" => "p", "args" => "a"}, "Invalid args: must be a list of strings, got a string"},
          {%{"process" => "p", "args" => ["a" | "b"]}, "Invalid args: must be a list"},
          {%{"process" => "p", "args" => ["a", 2]}, "all items must be strings; item 2 is an integer"},
          {%{"process" => "p", "timeout" => "5000"},
           "got a string that holds a number; send it without quotes"},
          {%{"process" => "p", "timeout" => "soon"}, "Invalid timeout: expected integer, got a string"},
          {%{"process" => "p", "timeout" => 0}, "Invalid timeout: must be at least 1"},
          {%{"process" => "p", "timeout" => 101}, "Invalid timeout: must be at most 100"},
          {%{"process" => "p", "ratio" => true}, "Invalid ratio: expected number, got a boolean"},
          {%{"process" => "p", "trace" => "true"}, "expected boolean, got the string true"},
          {%{"process" => "p", "extra" => []}, "Invalid extra: expected object, got a list"},
          {%{"process" => "p", "proces" => "q"},
           "Unknown parameter: proces (allowed: process, mode, args, timeout, ratio, trace, extra)"},
          {%{process: "p"}, "Unknown parameter: process (an atom; names must be strings)"}
        ] do
      assert error(args) =~ text
    end
  end

  test "reports all mistakes of a call together" do
    message = error(%{"timeout" => "5", "trace" => 1, "foo" => 1})

    for part <- [
          "Missing required parameter: process",
          "Invalid timeout",
          "Invalid trace",
          "Unknown parameter: foo"
        ] do
      assert message =~ part
    end
  end

  test "arguments must be a map" do
    for args <- [nil, [], "process", [process: "p"], %URI{}] do
      assert error(args) =~ "Invalid arguments: expected a map"
    end
  end

  test "what a message quotes can be seen" do
    hidden = "a\e[2J\u202Eb\u3164\n"

    assert error(%{"process" => "p", "mode" => hidden}) =~
             ~S(a\u{1B}[2J\u{202E}b\u{3164}\n is not one of fast, slow)

    assert error(%{"process" => "p", hidden => 1}) =~ ~S(Unknown parameter: a\u{1B}[2J\u{202E}b\u{3164}\n)
  end

  test "a message stays short whatever was sent" do
    hostile = for n <- 1..10_000, into: %{}, do: {String.duplicate("k", 500) <> "#{n}", n}
    assert String.length(error(hostile)) < 600
    assert String.length(error(%{"process" => "p", "mode" => String.duplicate("é", 9_999)})) < 200
  end
end
