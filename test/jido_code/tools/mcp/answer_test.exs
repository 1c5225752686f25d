defmodule JidoCode.Tools.MCP.AnswerTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.MCP.Answer
  alias JidoCode.Tools.SecureExecutor

  doctest Answer

  defp call(result, fields \\ []),
    do: struct!(SecureExecutor.new("grep_search", %{}, %{}), [result: result] ++ fields)

  test "a result that escaping makes too long for clients is plain text, without the data beside it" do
    lines = String.duplicate("\"\n", 14_000)

    assert %{"text" => text, "structured" => nil, "error" => false} =
             Answer.build(call({:ok, %{"result" => lines}}))

    assert String.length(text) <= 50_000 + 40
    assert String.starts_with?(text, "result:\n")
  end

  test "a long error is cut and says by how much" do
    assert %{"text" => text, "error" => true} = Answer.build(call({:error, String.duplicate("é", 12_000)}))
    assert String.ends_with?(text, "... 2000 more characters")
  end

  test "a denial says what the server would have to be started with" do
    denial = {:permission_denied, %{tool: "mix_task", required_tier: :execute, granted_tier: :read_only}}

    assert Answer.build(call({:error, "No."}, reason: denial))["text"] =~
             "--tier execute, or with --consent mix_task"

    needed = {:consent_required, %{tool: "mix_task", tier: :execute}}
    assert Answer.build(call({:error, "No."}, reason: needed))["text"] =~ "--consent mix_task"
  end

  test "what JSON can't hold is an error, not a crash" do
    assert %{"error" => true, "text" => text} = Answer.build(call({:ok, %{"pid" => self()}}))
    assert text =~ "JSON"
  end
end
