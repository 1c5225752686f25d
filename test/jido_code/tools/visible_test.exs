defmodule JidoCode.Tools.VisibleTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Visible

  doctest Visible

  test "a text may have lines, a line may not; neither may hide anything" do
    for seen <- ["", "plain", "día 日本 🎉"], do: assert(Visible.text?(seen) and Visible.line?(seen))
    assert Visible.text?("a\n\tb")

    for hidden <- ["\e[2J", "\r", "\0", "\u202E", "\u200B", "\u2028", "\uFEFF", <<255>>],
        do: refute(Visible.text?("a" <> hidden) or Visible.line?("a" <> hidden))

    for lines <- ["a\nb", "a\tb"], do: refute(Visible.line?(lines))
  end
end
