defmodule JidoCode.Tools.ReadmeTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.{Catalog, Telemetry}
  alias JidoCode.Tools.Doors.SessionOptions
  alias JidoCode.Tools.Test.Readme

  test "names every tool" do
    readme = File.read!("README.md")
    for name <- Catalog.names(), do: assert(readme =~ "`#{name}`")
  end

  test "links to every guide, and the guides name every event and every option of a session" do
    readme = File.read!("README.md")
    guides = Path.wildcard("guides/*.md")
    for guide <- guides, do: assert(readme =~ "(#{guide})")

    text = Enum.map_join(guides, &File.read!/1)
    for {event, _fields} <- Telemetry.events(), do: assert(text =~ inspect(List.last(event)))

    for {option, _type} <- SessionOptions.switches(), option not in [:session, :cookie] do
      assert text =~ "--" <> String.replace(Atom.to_string(option), "_", "-")
    end
  end

  test "its tables are what the code says; mix readme writes them" do
    for file <- Readme.files() do
      text = File.read!(file)
      assert Readme.filled(text) == text, "#{file} is not current: run mix readme"
    end

    written = Enum.map_join(Readme.files(), &File.read!/1)
    for table <- [:configuration, :tools, :events], do: assert(written =~ Readme.table(table))
  end

  test "the guide to tools of one's own shows what is in the example" do
    blocks = Regex.scan(~r/```elixir\n(.*?)```/s, File.read!("guides/own_tools.md"), capture: :all_but_first)
    [handler, config, test] = Enum.map(blocks, fn [block] -> block end)

    # Without the words for readers of the source.
    assert squeezed(handler) ==
             squeezed(without_docs(File.read!("examples/shop/lib/shop/tools/low_stock.ex")))

    assert File.read!("examples/shop/config/config.exs") =~ config |> String.split("\n") |> Enum.at(1)

    assert squeezed(File.read!("examples/shop/test/low_stock_test.exs")) =~
             ~s("low_stock", %{"at_most" => 1_000})

    assert test =~ ~s("low_stock", %{"at_most" => 1_000})
  end

  defp without_docs(source) do
    source
    |> String.replace(~r/^  @moduledoc """.*?"""\n/ms, "")
    |> String.replace(~r/^  @(doc|spec) .*\n/m, "")
  end

  defp squeezed(source), do: source |> String.split() |> Enum.join(" ")
end
