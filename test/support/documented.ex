defmodule JidoCode.Tools.Test.Documented do
  @moduledoc """
  A module to read about.

  Its second paragraph.
  """

  @typedoc "An identifier."
  @type id :: pos_integer()

  @opaque secret :: {:inner, binary()}

  @doc "Called when it begins. Not before."
  @callback begin(id()) :: :ok

  @doc """
  Adds things up. The second sentence.

  More text about adding.
  """
  @doc since: "1.2.0"
  @spec add(id(), integer(), integer()) :: integer()
  def add(id, a \\ 1, b \\ 2), do: id + a + b

  @doc deprecated: "use add/3"
  @doc "Adds two."
  @deprecated "Use add/3 instead"
  def plus(a, b), do: a + b

  @doc "Twice."
  @spec twice(Macro.t()) :: Macro.t()
  defmacro twice(x), do: quote(do: unquote(x) * 2)

  @doc false
  def hidden(x), do: x

  @spec undocumented(secret()) :: :ok
  def undocumented(_secret), do: :ok
end

defmodule JidoCode.Tools.Test.Undocumented do
  @moduledoc false
  @spec visible(integer()) :: integer()
  def visible(x), do: x
end
