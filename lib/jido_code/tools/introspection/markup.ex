defmodule JidoCode.Tools.Introspection.Markup do
  @moduledoc false
  # The documentation format of older Erlang releases, a tree of HTML-like tags, as Markdown.

  @doc """
  The text of a tree of `{tag, attributes, content}`, lists and strings; anything else is left out.

      iex> JidoCode.Tools.Introspection.Markup.to_text([{:p, [], ["Like ", {:code, [], "map/2"}, "."]}])
      "Like `map/2`."
  """
  @spec to_text(term()) :: String.t()
  def to_text(tree) do
    tree
    |> block()
    |> IO.iodata_to_binary()
    |> String.replace(~r/\n{3,}/, "\n\n")
    |> String.trim()
  end

  defp block(nodes) when is_list(nodes), do: Enum.map(nodes, &block/1)
  defp block(text) when is_binary(text), do: text
  defp block({:p, _attributes, content}), do: [block(content), "\n\n"]
  defp block({:div, _attributes, content}), do: [block(content), "\n\n"]
  defp block({:pre, _attributes, content}), do: ["```\n", plain(content), "\n```\n\n"]
  defp block({:br, _attributes, _content}), do: "\n"
  defp block({tag, _attributes, content}) when tag in [:code, :tt], do: ["`", plain(content), "`"]
  defp block({tag, _attributes, content}) when tag in [:em, :i], do: ["*", block(content), "*"]
  defp block({tag, _attributes, content}) when tag in [:b, :strong], do: ["**", block(content), "**"]
  defp block({tag, _attributes, content}) when tag in [:h1, :h2, :h3], do: ["\n\n## ", block(content), "\n\n"]

  defp block({tag, _attributes, content}) when tag in [:h4, :h5, :h6],
    do: ["\n\n### ", block(content), "\n\n"]

  defp block({tag, _attributes, items}) when tag in [:ul, :ol],
    do: [Enum.map(List.wrap(items), &item/1), "\n"]

  defp block({:dl, _attributes, content}), do: [block(content), "\n"]
  defp block({:dt, _attributes, content}), do: ["- ", block(content), "\n"]
  defp block({:dd, _attributes, content}), do: ["  ", content |> block() |> trimmed(), "\n"]
  defp block({_tag, _attributes, content}), do: block(content)
  defp block(_unknown), do: []

  defp item({_li, _attributes, content}), do: ["- ", content |> block() |> trimmed(), "\n"]
  defp item(_other), do: []

  defp trimmed(iodata), do: iodata |> IO.iodata_to_binary() |> String.trim()

  defp plain(nodes) when is_list(nodes), do: Enum.map(nodes, &plain/1)
  defp plain(text) when is_binary(text), do: text
  defp plain({_tag, _attributes, content}), do: plain(content)
  defp plain(_unknown), do: []
end
