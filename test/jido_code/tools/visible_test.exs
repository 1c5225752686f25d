defmodule JidoCode.Tools.VisibleTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Visible

  doctest Visible

  test "a text may have lines, a line may not; neither may hide anything" do
    for seen <- ["", "plain", "día 日本 🎉 ❤️"], do: assert(Visible.text?(seen) and Visible.line?(seen))
    assert Visible.text?("a\n\tb")

    for hidden <- ["\e[2J", "\r", "\0", "\u202E", "\u200B", "\u2028", "\uFEFF", <<255>>] ++ unseen(),
        do: refute(Visible.text?("a" <> hidden) or Visible.line?("a" <> hidden))

    for lines <- ["a\nb", "a\tb"], do: refute(Visible.line?(lines))
  end

  test "letters, marks and symbols that show nothing are shown as their numbers" do
    for <<character::utf8>> = hidden <- unseen() do
      number = "\\u{" <> Integer.to_string(character, 16) <> "}"
      assert Visible.escape("rm a#{hidden}b") == "rm a#{number}b"
      assert Visible.lines("rm\na#{hidden}b") == "rm\na#{number}b"
    end

    for seen <- ["rm día", "日本", "🎉", "한글"], do: assert(Visible.escape(seen) == seen)
  end

  # Fillers, joiners, a blank symbol, and variation selectors, in which whole texts have been hidden.
  defp unseen do
    for character <- [0x034F, 0x115F, 0x1160, 0x180B, 0x2800, 0x3164, 0xFE01, 0xFFA0, 0x1D159, 0xE0101],
        do: <<character::utf8>>
  end
end
