defmodule JidoCode.Tools.Introspection.ExcerptTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Introspection.Excerpt
  alias JidoCode.Tools.Render

  test "what fits is taken as it is, but for functions" do
    for term <- [
          %{a: [1, 2.5, "text", :atom], b: {self(), make_ref()}, c: %{}},
          [1 | 2],
          %{{:a, 1} => 2},
          <<1::3>>,
          ~D[2000-01-01],
          [a: nil, b: []]
        ] do
      assert Render.render(Excerpt.take(term)) == Render.render(term)
    end

    fun = &Enum.map/2
    assert Render.render(Excerpt.take({:f, fun})) == Render.render({:f, fun})
    assert {:f, {mark, :fun, Enum, :map, 2, :external}} = Excerpt.take({:f, fun})
    assert mark == Excerpt.mark()
  end

  test "what doesn't is told, as the rendering of the whole would tell it" do
    for term <- [
          Enum.to_list(1..100_000),
          Map.new(1..50_000, &{&1, &1}),
          String.duplicate("é", 100_000),
          List.to_tuple(Enum.to_list(1..20_000)),
          Integer.pow(10, 5_000),
          %{list: Enum.to_list(1..9_000), rest: 1}
        ] do
      {whole, _summary} = Render.render(term, max_bytes: 400)
      {cut, summary} = Render.render(Excerpt.take(term), max_bytes: 400)
      assert cut == whole
      assert summary.truncated
    end
  end

  test "a term of shared parts stays small, wherever it is sent" do
    term = Enum.reduce(1..40, [:x], fn _, inner -> [inner | inner] end)
    excerpt = Excerpt.take(term)
    assert :erts_debug.flat_size(excerpt) < 400_000
    # A whole function environment would be sent along.
    big = Enum.to_list(1..100_000)
    assert :erts_debug.flat_size(Excerpt.take(fn -> big end)) < 100
  end
end
