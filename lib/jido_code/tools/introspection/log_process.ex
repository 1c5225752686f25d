defmodule JidoCode.Tools.Introspection.LogProcess do
  @moduledoc false
  # Which events are of the process that somebody typed: a pid as it is printed, a registered name, or a server's module.
  #
  # A name is that of the process when it logged; who bears it today may be its successor. Names are compared as text, so that
  # nothing is made of what was typed: `Shop.Pay`, `:my_worker`, `my_worker`, `'my_worker'`.

  @type t :: %{typed: String.t(), bare: String.t()}

  @doc "What was typed, to be compared."
  @spec named(String.t()) :: t()
  def named(typed) do
    bare = typed |> String.trim() |> without(":") |> unquoted("'") |> unquoted("\"") |> without("Elixir.")
    %{typed: typed, bare: bare}
  end

  defp without(name, prefix), do: String.replace_prefix(name, prefix, "")

  defp unquoted(name, mark) do
    if String.starts_with?(name, mark) and String.ends_with?(name, mark),
      do: String.trim(name, mark),
      else: name
  end

  @doc "Whether the event is of that process."
  @spec of?(map(), t()) :: boolean()
  def of?(event, process) do
    pid?(event.pid, process.bare) or
      Enum.any?(event.names ++ registered(event.pid), &name?(&1, process.bare))
  end

  @doc "Whether it is a pid, or the name of a process that lives."
  @spec known?(t()) :: boolean()
  def known?(process),
    do: process.bare =~ ~r/\A(#PID)?<[\d.]+>\z/ or Enum.any?(Process.registered(), &name?(&1, process.bare))

  defp pid?(pid, bare) when is_pid(pid), do: inspect(pid) in [bare, "#PID" <> bare]
  defp pid?(_none, _bare), do: false

  defp name?(name, bare), do: name |> Atom.to_string() |> without("Elixir.") == bare

  # It may have taken a name since.
  defp registered(pid) when is_pid(pid) and node(pid) == node() do
    case Process.info(pid, :registered_name) do
      {:registered_name, name} when is_atom(name) -> [name]
      _none -> []
    end
  end

  defp registered(_pid), do: []
end
