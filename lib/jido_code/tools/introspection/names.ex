defmodule JidoCode.Tools.Introspection.Names do
  @moduledoc false
  # Names that a model typed, turned into atoms that exist. No atom is ever made from input.
  #
  # `"MyApp.Worker"`, `"Elixir.MyApp.Worker"`, `":my_worker"`, `"my_worker"` and Erlang's `"'my worker'"` are all understood.

  alias JidoCode.Tools.Introspection.At

  # An atom has 255 characters at most, of four bytes at most.
  @max_bytes 1_020

  @doc """
  The existing atoms that a text may mean, the likeliest first.

      iex> "Enum" |> JidoCode.Tools.Introspection.Names.atoms() |> hd()
      Enum
      iex> JidoCode.Tools.Introspection.Names.atoms(":kernel")
      [:kernel]
      iex> JidoCode.Tools.Introspection.Names.atoms("no such name anywhere")
      []
  """
  @spec atoms(String.t(), node()) :: [atom()]
  def atoms(text, node \\ node()) do
    case trim(text) do
      ":" <> name -> all_existing([unquote_name(name)], node)
      "'" <> _ = name -> all_existing([unquote_name(name)], node)
      "Elixir." <> _ = name -> all_existing([name], node)
      <<first, _::binary>> = name when first in ?A..?Z -> all_existing(["Elixir." <> name, name], node)
      name -> all_existing([name, "Elixir." <> name], node)
    end
  end

  @doc "The atom of exactly this text, if there is one on the node."
  @spec existing(String.t(), node()) :: {:ok, atom()} | :error
  def existing(name, node \\ node()) do
    {:ok, At.call(node, :erlang, :binary_to_existing_atom, [name, :utf8])}
  catch
    :error, %At.Lost{} = lost -> raise lost
    # No such atom, or longer than any; caught raw, because making an exception of it takes longer than all else here.
    :error, _reason -> :error
  end

  @doc """
  The name without what may be typed before it: a colon, `Elixir.`, quotes.
  """
  @spec bare(String.t() | atom()) :: String.t()
  def bare(name) when is_atom(name), do: name |> Atom.to_string() |> bare()

  def bare(text) do
    case trim(text) do
      ":" <> name -> bare(name)
      "Elixir." <> name -> bare(name)
      "\"" <> _ = quoted -> unquote_name(quoted)
      "'" <> _ = quoted -> unquote_name(quoted)
      name -> name
    end
  end

  @doc "Whether the text is a pid, a reference or a port and not a name."
  @spec identifier?(String.t()) :: boolean()
  def identifier?(text) do
    String.starts_with?(trim(text), "#") or (String.contains?(text, "<") and String.contains?(text, "."))
  end

  @doc "Whether there is nothing in the text."
  @spec blank?(String.t()) :: boolean()
  def blank?(text), do: trim(text) in ["", ":", "Elixir", "Elixir."]

  @doc "An atom as a person writes it: `MyApp.Worker`, `:my_worker`."
  @spec show(atom()) :: String.t()
  def show(atom), do: Macro.inspect_atom(:literal, atom)

  @doc "An atom as the tools take it for a name: `MyApp.Worker`, `my_worker`."
  @spec typed(atom()) :: String.t()
  def typed(atom) do
    case show(atom) do
      ":\"" <> _ = quoted -> quoted
      ":" <> name -> name
      name -> name
    end
  end

  defp trim(text), do: if(byte_size(text) > @max_bytes + 20, do: "", else: String.trim(text))

  defp unquote_name("\"" <> rest), do: String.replace_suffix(rest, "\"", "")
  defp unquote_name("'" <> rest), do: String.replace_suffix(rest, "'", "")
  defp unquote_name(name), do: name

  defp all_existing(names, node) do
    for name <- names, name != "", {:ok, atom} <- [existing(name, node)], do: atom
  end
end
