defmodule JidoCode.Tools.ShortenedTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Shortened

  doctest Shortened

  test "a letter with many accents is as long as it is" do
    tall = "e" <> String.duplicate("\u0301", 100_000)
    assert Shortened.label(tall, 10) == "e" <> String.duplicate("\u0301", 6) <> "..."
    assert Shortened.block(tall, 3) == "e\u0301\u0301\n... 99,998 more characters"
    assert Shortened.ending(tall, 2) == "[... 99,999 characters cut ...]\n\u0301\u0301"
  end

  test "bytes that are no text count, too, and stay" do
    assert Shortened.over(<<255, 254, ?a>>, 1) == 2
    assert Shortened.first(<<255, 254, ?a>>, 2) == <<255, 254>>
  end
end
