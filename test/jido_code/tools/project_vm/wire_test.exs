defmodule JidoCode.Tools.ProjectVM.WireTest do
  # What the project's VM sends may be anything: a model wrote what runs there.
  use ExUnit.Case, async: true

  alias JidoCode.Tools.ProjectVM.Wire

  defp frame(term, options \\ []), do: :erlang.term_to_binary(term, options)

  test "plain data arrives as it was" do
    message = %{"type" => "answer", "id" => 1, "ok" => %{"list" => [1, 2.5, nil, true, "ü"], "empty" => []}}
    {:ok, frame} = Wire.encode_bounded(message)
    assert Wire.decode(frame) == {:ok, message}
  end

  test "results become plain data" do
    assert Wire.plain(%{state: :ok, list: [:a, nil, 1]}) == %{"state" => "ok", "list" => ["a", nil, 1]}
    assert Wire.encode_bounded(String.duplicate("x", 5_000_000)) == :too_large
  end

  test "nothing else does" do
    nested = Enum.reduce(1..100, "deep", fn _level, inner -> [inner] end)

    for hostile <- [
          # Unfolds to far more than it is.
          frame(%{"a" => List.duplicate(0, 1_000_000)}, compressed: 9),
          frame(%{"a" => self()}),
          frame(%{"a" => make_ref()}),
          frame(%{"a" => &String.length/1}),
          frame(%{"a" => {1, 2}}),
          frame(%{"a" => :ok}),
          frame(%{"a" => [1 | 2]}),
          frame(%{"a" => <<255>>}),
          frame(%{"a" => Integer.pow(10, 1_000)}),
          frame(%{"a" => nested}),
          frame(%{a: 1}),
          frame(%{1 => 1}),
          frame("no map"),
          frame(%{"a" => String.duplicate("x", 5_000_000)}),
          frame(%{"a" => 1}) |> binary_part(0, 8),
          "",
          "{}"
        ] do
      assert Wire.decode(hostile) == :error
    end
  end

  test "no atom is made" do
    name = "never_an_atom_#{System.unique_integer([:positive])}"
    atom = <<131, 116, 0, 0, 0, 1, 109, 0, 0, 0, 1, "a", 119, byte_size(name), name::binary>>
    assert Wire.decode(atom) == :error
    assert_raise ArgumentError, fn -> String.to_existing_atom(name) end
  end
end
