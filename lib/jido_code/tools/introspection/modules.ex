defmodule JidoCode.Tools.Introspection.Modules do
  @moduledoc false
  # The names of the modules that this VM could load, as texts: none is loaded, and no atom is made.

  alias JidoCode.Tools.Introspection.DocsIndex

  @seconds 5
  @similar 0.82
  @most 5
  # What may have been typed too little or too much.
  @longer 3
  @most_beginning 200

  @doc """
  A module's name as it is written in Elixir.

      iex> Enum.map(["Elixir.Enum", "lists"], &JidoCode.Tools.Introspection.Modules.show/1)
      ["Enum", ":lists"]
  """
  @spec show(String.t()) :: String.t()
  def show("Elixir." <> name), do: name
  def show(name), do: ":" <> name

  @doc """
  Names that may have been meant, the likeliest first: those that end in it, those that are spelled nearly so.

      iex> JidoCode.Tools.Introspection.Modules.similar("Elixir.Enumm")
      ...> |> hd()
      "Enum"
  """
  @spec similar(String.t()) :: [String.t()]
  def similar(name) do
    wanted = name |> plain() |> lower()

    scored = for known <- all(), score = score(plain(known), wanted), known != name, do: {-score, show(known)}

    scored |> Enum.sort() |> Enum.take(@most) |> Enum.map(&elem(&1, 1))
  end

  defp plain("Elixir." <> name), do: name
  defp plain(name), do: name

  defp lower(name), do: String.downcase(name, :ascii)

  # Most names are told apart by their size; comparing letters costs a hundred times as much.
  defp score(known, wanted) when byte_size(known) > byte_size(wanted) + @longer do
    cut = byte_size(known) - byte_size(wanted)

    if :binary.at(known, cut - 1) == ?. and lower(binary_part(known, cut, byte_size(wanted))) == wanted,
      do: 2.0
  end

  defp score(known, wanted) when byte_size(known) < byte_size(wanted) - @longer, do: nil

  defp score(known, wanted) do
    known = lower(known)

    cond do
      known == wanted -> 3.0
      String.ends_with?(known, "." <> wanted) -> 2.0
      alike?(known, wanted) -> likeness(String.jaro_distance(known, wanted))
      true -> nil
    end
  end

  # A name mistyped in one place keeps its beginning or its end.
  defp alike?(known, wanted) do
    least = div(byte_size(wanted), 2)

    :binary.longest_common_prefix([known, wanted]) >= least or
      :binary.longest_common_suffix([known, wanted]) >= least
  end

  defp likeness(distance) when distance >= @similar, do: distance
  defp likeness(_distance), do: nil

  @doc "The full names that begin so, in order, at most two hundred."
  @spec beginning(String.t()) :: [String.t()]
  def beginning(prefix) do
    all()
    |> Enum.filter(&String.starts_with?(&1, prefix))
    |> Enum.uniq()
    |> Enum.sort()
    |> Enum.take(@most_beginning)
  end

  # Going through all folders takes tens of milliseconds, so what was found serves for some seconds.
  defp all do
    {:ok, names} = DocsIndex.fetch({"names", [div(System.monotonic_time(:second), @seconds)]}, &read/0)
    names
  end

  defp read do
    names =
      for {name, _file, _loaded?} <- :code.all_available(),
          text = :unicode.characters_to_binary(name),
          is_binary(text),
          do: text

    {:ok, Enum.uniq(names)}
  end
end
