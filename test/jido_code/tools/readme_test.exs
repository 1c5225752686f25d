defmodule JidoCode.Tools.ReadmeTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.{Catalog, SessionOptions, Telemetry}
  alias JidoCode.Tools.Test.Readme

  setup_all do
    {:ok, readme: File.read!("README.md")}
  end

  test "names every tool, every event's last part and every option of a session", %{readme: readme} do
    for name <- Catalog.names(), do: assert(readme =~ "`#{name}`")
    for {event, _fields} <- Telemetry.events(), do: assert(readme =~ inspect(List.last(event)))

    for {option, _type} <- SessionOptions.switches(), option not in [:session, :cookie] do
      assert readme =~ "--" <> String.replace(Atom.to_string(option), "_", "-")
    end
  end

  test "its tables are what the code says; mix readme writes them" do
    for file <- Readme.files() do
      text = File.read!(file)
      assert Readme.filled(text) == text, "#{file} is not current: run mix readme"
    end

    assert Enum.any?(Readme.files(), &(File.read!(&1) =~ Readme.table(:configuration)))
  end
end
