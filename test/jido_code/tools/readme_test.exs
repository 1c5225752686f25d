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
end
