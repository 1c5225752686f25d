defmodule JidoCode.Tools.Test.Readme do
  @moduledoc false
  # The tables of the documentation that say what the code knows. `mix readme` writes them between their marks; a test checks that
  # they are current.

  alias JidoCode.Tools.Config.{Table, Type}

  @tables [:configuration]

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

  defp cell(text), do: String.replace(text, "|", "\\|")
end
