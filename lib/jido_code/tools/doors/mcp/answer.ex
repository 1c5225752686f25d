defmodule JidoCode.Tools.Doors.MCP.Answer do
  @moduledoc false
  # A finished call as an MCP client gets it: the text that `mix jido.tool call` prints (`JidoCode.Tools.Answers`), and with
  # `structured: true` the same as data. Clients that find data drop the text, so it is there only when it was asked for.
  #
  # Clients cut results at 50,000 characters, or put them aside in a file; the tools' own limit of 30,000 characters lies below that.

  alias JidoCode.Tools.{Answers, Call, Definition, JSON, Shortened}
  alias JidoCode.Tools.Doors.SessionOptions

  @max_characters 50_000
  # Clients cut the text of an error earlier.
  @max_error_characters 10_000

  @type t :: %{String.t() => term()}

  @doc """
  The answer to a call that has its result. Options: `:structured` (default false), `:spoken` (what a person said, for a denial).

      iex> alias JidoCode.Tools.Doors.MCP.Answer
      iex> call = JidoCode.Tools.SecureExecutor.new("bash_execute", %{}, %{})
      iex> call = %{call | status: :ok, result: {:ok, %{"stdout" => "M lib/shop.ex\\n", "stderr" => "", "exit_code" => 0}}}
      iex> Answer.build(call)
      %{"text" => "M lib/shop.ex\\n", "structured" => nil, "error" => false}
      iex> Answer.build(call, structured: true)["structured"]["exit_code"]
      0
      iex> Answer.build(%{call | status: :timeout, result: {:error, "bash_execute timed out"}})
      %{"text" => "bash_execute timed out", "structured" => nil, "error" => true}
  """
  @spec build(Call.t(), keyword()) :: t()
  def build(call, opts \\ [])

  def build(%Call{result: {:ok, value}} = call, opts) do
    text = Answers.text(call.tool, value)
    structured = if opts[:structured] == true, do: structured(value)
    %{"text" => text, "structured" => structured, "error" => false}
  end

  def build(%Call{result: {:error, text}} = call, opts) when is_binary(text),
    do: failure(text <> (opts[:spoken] || hint(call)))

  def build(%Call{result: {:error, reason}}, _opts), do: failure(inspect(reason))

  @doc "The answer that says why there is no result."
  @spec failure(String.t()) :: t()
  def failure(text) do
    %{"text" => Shortened.block(text, @max_error_characters), "structured" => nil, "error" => true}
  end

  # Clients of the older era take objects only, and none that can't be written.
  defp structured(value) when is_map(value) do
    case JSON.encode(value) do
      {:ok, json} when byte_size(json) <= 4 * @max_characters -> value
      _other -> nil
    end
  end

  defp structured(_value), do: nil

  # What a person does about it is known here, where the session has its options from.
  defp hint(%Call{reason: {:permission_denied, %{required_tier: tier, tool: tool}}} = call) do
    " This server would have to be started with --tier #{tier}, or with --consent #{named(call.tool, tool)}."
  end

  defp hint(%Call{reason: {:consent_required, %{tool: tool}}} = call) do
    " This server would have to be started with --consent #{named(call.tool, tool)}."
  end

  defp hint(_call), do: ""

  defp named(definition, name),
    do: if(Definition.offered?(definition), do: SessionOptions.of_project(name), else: name)
end
