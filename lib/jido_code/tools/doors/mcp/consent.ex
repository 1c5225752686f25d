defmodule JidoCode.Tools.Doors.MCP.Consent do
  @moduledoc false
  # What the person at the client was asked in a session, and said.

  alias JidoCode.Tools.{Call, Visible}
  alias JidoCode.Tools.Doors.MCP.{Answer, Question}
  alias JidoCode.Tools.Doors.Trail
  alias JidoCode.Tools.Security.{OutputSanitizer, RedactionNote}

  defstruct granted: [], refused: nil, open: nil

  @typedoc "The tools granted for the session, the call that was refused last, and the one whose question the client holds."
  @type t :: %__MODULE__{granted: [String.t()], refused: term(), open: {String.t(), map()} | nil}

  @answers ~w(once session no unanswered)

  @spec new() :: t()
  def new, do: %__MODULE__{}

  @doc "Takes in that the client holds the question about this call. It holds one: the one before stays without an answer."
  @spec asked(t(), String.t(), map(), map()) :: t()
  def asked(consent, name, args, context), do: %{close(consent, context) | open: {name, args}}

  @doc "Records the question that the client still holds: nobody has answered it."
  @spec close(t(), map()) :: t()
  def close(%{open: nil} = consent, _context), do: consent

  def close(%{open: {name, args}} = consent, context) do
    Trail.answered(context.session_id, name, args, "unanswered")
    %{consent | open: nil}
  end

  @doc """
  Takes in what was said to the question about this call, nil when nobody was asked: with the context of the call, and what a
  denial of it says.
  """
  @spec take(t(), String.t() | nil, String.t(), map(), map()) :: {t(), map(), String.t() | nil}
  def take(consent, said, name, args, context) do
    if said in @answers, do: Trail.answered(context.session_id, name, args, said)
    consent = consent |> remember(said, name, args) |> settle(said, {name, args})
    context = Map.update(context, :consented_tools, [], &(&1 ++ granted(consent, said, name)))
    {consent, context, spoken(said, refused?(consent, name, args))}
  end

  defp remember(consent, "session", name, _args),
    do: %{consent | granted: Enum.uniq([name | consent.granted]), refused: nil}

  defp remember(consent, "once", _name, _args), do: %{consent | refused: nil}
  defp remember(consent, "no", name, args), do: %{consent | refused: {name, args}}
  defp remember(consent, _nothing, _name, _args), do: consent

  # Whatever was granted meanwhile: a no to this call is about this call.
  defp granted(_consent, said, _name) when said in ["no", "unanswered"], do: []
  defp granted(consent, "once", name), do: [name | consent.granted]
  defp granted(consent, _said, _name), do: consent.granted

  defp settle(%{open: call} = consent, said, call) when said != nil, do: %{consent | open: nil}
  defp settle(consent, _said, _call), do: consent

  @doc "Whether this call was refused last: then nobody is asked again."
  @spec refused?(t(), String.t(), map()) :: boolean()
  def refused?(consent, name, args), do: consent.refused == {name, args}

  defp spoken("no", _refused?), do: " The person at the client was asked, and said no."
  defp spoken("unanswered", _refused?), do: " The person at the client was asked, and did not answer."
  defp spoken(_said, true), do: " The person at the client has already said no to this call."
  defp spoken(_said, false), do: nil

  @doc "The answer to a denied call, with the question when a person may allow it; a refusal by policy is never one."
  @spec question(Call.t(), map()) :: map()
  def question(%Call{status: :blocked, reason: {kind, _details}} = call, answer)
      when kind in [:permission_denied, :consent_required] do
    case Question.build(call) do
      {:ok, text} -> Map.put(answer, "question", redacted(text, call))
      {:error, why} -> why |> Visible.lines() |> redacted(call) |> Answer.failure()
      :none -> answer
    end
  end

  def question(_call, answer), do: answer

  # Like any output of the session's.
  defp redacted(text, call) do
    {clean, note} = OutputSanitizer.redact(text, emit_telemetry: false, session: call.context[:session_id])
    RedactionNote.add(clean, note)
  end
end
