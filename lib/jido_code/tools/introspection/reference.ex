defmodule JidoCode.Tools.Introspection.Reference do
  @moduledoc false
  # What a model writes for a module or something in it: `Shop.Cart`, `:lists`, `Shop.Cart.add/2`, `lists:map/2`, `c:GenServer.init/1`,
  # `GenServer.c:init/1`, `t:Enum.t/0`, `%Shop.Cart{}`. Texts only: no atom is made, none need exist.

  alias JidoCode.Tools.Introspection.Names
  alias JidoCode.Tools.Visible

  @max_bytes 600

  @enforce_keys [:module]
  defstruct [:module, :name, :arity, kind: :any]

  @typedoc "`module` is the text of its atom: `Elixir.Shop.Cart`, `lists`. A name of nil means the module as a whole."
  @type t :: %__MODULE__{
          module: String.t(),
          name: String.t() | nil,
          arity: arity() | nil,
          kind: :any | :callback | :type | :struct
        }

  @module "(?:Elixir\\.)?\\p{Lu}[\\p{L}\\p{N}_]*(?:\\.\\p{Lu}[\\p{L}\\p{N}_]*)*|:?[\\p{Ll}_][\\p{L}\\p{N}_@]*"

  @doc """
  Reads a reference.

      iex> JidoCode.Tools.Introspection.Reference.parse("Shop.Cart.add!/2")
      {:ok, %JidoCode.Tools.Introspection.Reference{module: "Elixir.Shop.Cart", name: "add!", arity: 2, kind: :any}}
      iex> {:ok, callback} = JidoCode.Tools.Introspection.Reference.parse("GenServer.c:init/1")
      iex> {callback.kind, callback.name, callback.arity}
      {:callback, "init", 1}
      iex> {:ok, function} = JidoCode.Tools.Introspection.Reference.parse(":lists.map")
      iex> {function.module, function.name, function.arity}
      {"lists", "map", nil}
      iex> JidoCode.Tools.Introspection.Reference.parse("not a name")
      :error
  """
  @spec parse(String.t()) :: {:ok, t()} | :error
  def parse(text) when byte_size(text) > @max_bytes, do: :error

  def parse(text) do
    text = text |> String.trim() |> String.trim_leading("&")

    with [_all, kind, module, rest] <- Regex.run(~r/\A(%|[ct]:)?(#{@module})(.*)\z/su, text),
         {:ok, inner, name, arity} <- inside(rest) do
      {:ok,
       %__MODULE__{module: module(module), name: name, arity: arity, kind: kind(kind <> (inner || ""), rest)}}
    else
      _other -> :error
    end
  end

  @doc "As `parse/1`, with the error in words."
  @spec read(String.t()) :: {:ok, t()} | {:error, String.t()}
  def read(text) do
    with :error <- parse(text) do
      {:error,
       "Invalid reference: write a module and what is meant in it: MyApp.Cart, MyApp.Cart.add/2, :lists.map/2, " <>
         "c:GenServer.init/1, t:Enum.t/0, %MyApp.Cart{}"}
    end
  end

  defp inside(rest) when rest in ["", "{}", "."], do: {:ok, nil, nil, nil}

  defp inside(<<separator, rest::binary>>) when separator in [?., ?:] do
    case Regex.run(~r/\A([ct]:)?("?)([^\s"]+?)\2(?:\/(\d{1,3}))?(?:\(\))?\z/u, rest) do
      [_all, inner, _quote, name] -> {:ok, inner, name, nil}
      [_all, inner, _quote, name, arity] -> with {:ok, arity} <- arity(arity), do: {:ok, inner, name, arity}
      nil -> :error
    end
  end

  defp inside(_other), do: :error

  defp arity(""), do: {:ok, nil}

  defp arity(digits) do
    case String.to_integer(digits) do
      arity when arity <= 255 -> {:ok, arity}
      _more -> :error
    end
  end

  defp module(":" <> name), do: name
  defp module("Elixir." <> _ = name), do: name
  defp module(<<first::utf8, _::binary>> = name), do: if(upper?(first), do: "Elixir." <> name, else: name)

  defp upper?(char), do: <<char::utf8>> =~ ~r/\p{Lu}/u

  defp kind("%", _rest), do: :struct
  defp kind("", "{}"), do: :struct
  defp kind("c:", _rest), do: :callback
  defp kind("t:", _rest), do: :type
  defp kind(_none, _rest), do: :any

  @doc "As it is written: `Shop.Cart.add/2`."
  @spec show(t()) :: String.t()
  def show(%__MODULE__{name: nil} = reference), do: show_module(reference.module)

  def show(reference) do
    arity = if reference.arity, do: "/#{reference.arity}", else: ""
    prefix = %{callback: "c:", type: "t:"}[reference.kind] || ""
    prefix <> show_module(reference.module) <> "." <> Visible.escape(reference.name) <> arity
  end

  @doc "A module's name as it is written."
  @spec show_module(String.t()) :: String.t()
  def show_module("Elixir." <> name), do: Visible.escape(name)
  def show_module(name), do: ":" <> Visible.escape(name)

  @doc "Whether a function of the node is meant. Atoms of the node are compared, so that a list of many is gone through fast."
  @spec matcher(t(), node()) :: (mfa() -> boolean())
  def matcher(reference, node) do
    with {:ok, module} <- Names.existing(reference.module, node),
         {:ok, name} <- if(reference.name, do: Names.existing(reference.name, node), else: {:ok, nil}) do
      arity = reference.arity
      fn {m, f, a} -> m == module and (name == nil or f == name) and (arity == nil or a == arity) end
    else
      :error -> fn _function -> false end
    end
  end
end
