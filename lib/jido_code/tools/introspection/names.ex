defmodule JidoCode.Tools.Introspection.Names do
  @moduledoc """
  Names that a model typed, turned into atoms that exist. No atom is ever made from input.

  `"MyApp.Worker"`, `"Elixir.MyApp.Worker"`, `":my_worker"` and `"my_worker"` are all understood.
  """

  alias JidoCode.Tools.Introspection.Ownership

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
  @spec atoms(String.t()) :: [atom()]
  def atoms(text) do
    case trim(text) do
      ":" <> name -> all_existing([unquote_name(name)])
      "Elixir." <> _ = name -> all_existing([name])
      <<first, _::binary>> = name when first in ?A..?Z -> all_existing(["Elixir." <> name, name])
      name -> all_existing([name, "Elixir." <> name])
    end
  end

  @doc "The atom of exactly this text, if there is one."
  @spec existing(String.t()) :: {:ok, atom()} | :error
  def existing(name) do
    {:ok, String.to_existing_atom(name)}
  catch
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

  @doc """
  The process registered under a name, or the text of what is wrong with it. `what` and `noun` name the thing in the
  text: "Process" and "process name".
  """
  @spec find_process(String.t(), String.t(), String.t()) :: {:ok, pid()} | {:error, String.t()}
  def find_process(text, what, noun) do
    cond do
      blank?(text) ->
        {:error, "Invalid #{noun}: it is blank or too long"}

      identifier?(text) ->
        {:error, "Raw PIDs are not allowed; give the #{noun} it is registered under"}

      Ownership.blocked_name?(text) ->
        {:error, Ownership.explain(:blocked, what, text)}

      true ->
        case text |> atoms() |> Enum.map(&Process.whereis/1) |> Enum.find(&is_pid/1) do
          nil -> {:error, not_found(what, text)}
          pid -> {:ok, pid}
        end
    end
  end

  @doc "The text for a name under which nothing is registered."
  @spec not_found(String.t(), String.t()) :: String.t()
  def not_found(what, text), do: "#{what} not found: #{text} is not registered on this node"

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
  defp unquote_name(name), do: name

  defp all_existing(names) do
    for name <- names, name != "", {:ok, atom} <- [existing(name)], do: atom
  end
end
