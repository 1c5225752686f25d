defmodule JidoCode.Tools.Test.Readme do
  @moduledoc false
  # The tables of the documentation that say what the code knows. `mix readme` writes them between their marks; a test checks that
  # they are current.

  alias JidoCode.Tools.{Catalog, Telemetry}
  alias JidoCode.Tools.Config.{Table, Type}

  @tables [:configuration, :tools, :events]

  @doc "README and guides."
  @spec files() :: [Path.t()]
  def files, do: ["README.md" | Path.wildcard("guides/*.md")]

  @doc "Writes the tables anew."
  @spec write!() :: :ok
  def write! do
    for file <- files(), text = File.read!(file), new = filled(text), new != text, do: File.write!(file, new)
    :ok
  end

  @doc "A document with its tables as the code has them now."
  @spec filled(String.t()) :: String.t()
  def filled(text), do: Enum.reduce(@tables, text, &fill/2)

  defp fill(table, text) do
    first = "<!-- #{table}: written by mix readme -->\n"
    last = "<!-- end of #{table} -->"

    with [before, rest] <- String.split(text, first, parts: 2),
         [_old, behind] <- String.split(rest, last, parts: 2) do
      before <> first <> table(table) <> last <> behind
    else
      _no_marks -> text
    end
  end

  @doc "A table, by its name in the marks."
  @spec table(atom()) :: String.t()
  def table(:configuration) do
    rows =
      for row <- Table.rows() do
        "| `#{inspect(row.key)}`#{if row.host?, do: " \\*"} | #{cell(Type.describe(row.type))} | #{row.shown} | #{row.doc} |\n"
      end

    IO.iodata_to_binary(["| key | takes | default | |\n|---|---|---|---|\n" | rows])
  end

  def table(:tools) do
    rows =
      for tool <- Catalog.own() do
        limits = for parameter <- tool.parameters, text <- [limit(parameter)], text != nil, do: text
        limits = Enum.join(limits ++ List.wrap(tool.limits), "; ")
        "| `#{tool.name}` | #{cell(tool.summary)} | #{tool.tier} | #{limits} |\n"
      end

    IO.iodata_to_binary(["| tool | what it does | tier | limits |\n|---|---|---|---|\n" | rows])
  end

  def table(:events) do
    rows =
      for {event, {measurements, metadata}} <- Enum.sort(Telemetry.events()) do
        "| `#{inspect(event)}` | #{names(measurements)} | #{names(metadata)} |\n"
      end

    IO.iodata_to_binary(["| event | measurements | metadata |\n|---|---|---|\n" | rows])
  end

  defp limit(%{name: "timeout", default: default, maximum: maximum}),
    do: "#{div(default, 1_000)} s, at most #{div(maximum, 1_000)} s"

  defp limit(%{name: name, default: default, maximum: maximum}), do: "#{name} #{default}, at most #{maximum}"
  defp limit(_parameter), do: nil

  defp names(keys), do: Enum.map_join(keys, ", ", &"`#{&1}`")

  defp cell(text), do: String.replace(text, "|", "\\|")
end
