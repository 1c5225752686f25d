defmodule JidoCode.Tools.MCP.Answer do
  @moduledoc """
  A finished call as an MCP client gets it: text for the model, and the same as data.

      iex> alias JidoCode.Tools.MCP.Answer
      iex> call = JidoCode.Tools.SecureExecutor.new("grep_search", %{}, %{})
      iex> Answer.build(%{call | status: :ok, result: {:ok, %{"count" => 0}}})
      %{"text" => ~s({"count":0}), "structured" => %{"count" => 0}, "error" => false}
      iex> Answer.build(%{call | status: :timeout, result: {:error, "grep_search timed out"}})
      %{"text" => "grep_search timed out", "structured" => nil, "error" => true}

  The text is JSON. Clients cut results at 50,000 characters, or put them aside in a file; the tools' own limit of 30,000
  characters of text lies below that, but JSON escapes what it quotes. A result that grows over the limit by that is given as
  plain indented text, without the data beside it.
  """

  alias JidoCode.Tools.{Call, Console, JSON}

  @max_characters 50_000
  # Clients cut the text of an error earlier.
  @max_error_characters 10_000

  @type t :: %{String.t() => term()}

  @doc "The answer to a call that has its result."
  @spec build(Call.t()) :: t()
  def build(%Call{result: {:ok, value}}), do: success(value)
  def build(%Call{result: {:error, text}} = call) when is_binary(text), do: failure(text <> hint(call))
  def build(%Call{result: {:error, reason}}), do: failure(inspect(reason))

  @doc "The answer that says why there is no result."
  @spec failure(String.t()) :: t()
  def failure(text) do
    %{"text" => shorten(text, @max_error_characters), "structured" => nil, "error" => true}
  end

  defp success(value) do
    case JSON.encode(value) do
      {:ok, json} ->
        if String.length(json) <= @max_characters,
          do: %{"text" => json, "structured" => structured(value), "error" => false},
          else: %{"text" => plain(value), "structured" => nil, "error" => false}

      {:error, message} ->
        failure("The result can't be written as JSON: #{message}")
    end
  end

  # Clients of the older era take objects only.
  defp structured(value) when is_map(value), do: value
  defp structured(_value), do: nil

  defp plain(value) do
    value |> Console.format() |> IO.iodata_to_binary() |> shorten(@max_characters)
  end

  # What a person does about it is known here, where the session has its options from.
  defp hint(%Call{reason: {:permission_denied, %{required_tier: tier, tool: tool}}}) do
    " This server would have to be started with --tier #{tier}, or with --consent #{tool}."
  end

  defp hint(%Call{reason: {:consent_required, %{tool: tool}}}) do
    " This server would have to be started with --consent #{tool}."
  end

  defp hint(_call), do: ""

  defp shorten(text, limit) do
    case String.length(text) - limit do
      over when over > 0 -> String.slice(text, 0, limit) <> "\n... #{over} more characters"
      _within -> text
    end
  end
end
