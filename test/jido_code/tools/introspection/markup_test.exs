defmodule JidoCode.Tools.Introspection.MarkupTest do
  use ExUnit.Case, async: true
  doctest JidoCode.Tools.Introspection.Markup

  alias JidoCode.Tools.Introspection.Markup

  test "blocks, lists, code and headings" do
    tree = [
      {:h2, [], ["Title"]},
      {:p, [], ["A ", {:em, [], ["word"]}, {:br, [], []}, {:a, [href: "x"], [{:code, [], ["map/2"]}]}]},
      {:ul, [], [{:li, [], [{:p, [], ["one"]}]}, {:li, [], ["two"]}]},
      {:pre, [], [{:code, [], ["1> lists:map(F, L).\n2"]}]},
      {:dl, [], [{:dt, [], ["Key"]}, {:dd, [], [{:p, [], ["Value"]}]}]}
    ]

    assert Markup.to_text(tree) == """
           ## Title

           A *word*
           `map/2`

           - one
           - two

           ```
           1> lists:map(F, L).
           2
           ```

           - Key
             Value\
           """
  end

  test "what it doesn't know is left out" do
    assert Markup.to_text([{:odd, [], ["in"]}, 5, nil, {:p, []}]) == "in"
  end
end
