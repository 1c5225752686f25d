defmodule JidoCode.Tools.ReadmeTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.{Catalog, SessionOptions, Telemetry}

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

  test "names every key of the configuration that is read", %{readme: readme} do
    read =
      for file <- Path.wildcard("lib/**/*.ex"),
          [_all, key] <- Regex.scan(~r/Config\.get\(\s*:([a-z_]+)/, File.read!(file)),
          do: key

    assert length(read) > 5
    missing = Enum.reject(Enum.uniq(read), &(readme =~ "`:#{&1}`"))
    assert missing == []
  end
end
