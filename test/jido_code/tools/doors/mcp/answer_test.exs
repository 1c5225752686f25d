defmodule JidoCode.Tools.Doors.MCP.AnswerTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Doors.MCP.Answer
  alias JidoCode.Tools.SecureExecutor

  doctest Answer

  defp call(result, fields \\ []),
    do: struct!(SecureExecutor.new("grep_search", %{}, %{}), [result: result] ++ fields)

  test "data stands beside the text only when it was asked for, and when clients can hold it" do
    result = {:ok, %{"result" => "lib/cart.ex:1:defmodule Cart do\n", "count" => 1}}
    assert %{"structured" => nil, "text" => "lib/cart.ex:1:" <> _rest} = Answer.build(call(result))
    assert %{"structured" => %{"count" => 1}} = Answer.build(call(result), structured: true)

    long = {:ok, %{"result" => String.duplicate("é\n", 60_000)}}
    assert %{"structured" => nil, "text" => text} = Answer.build(call(long), structured: true)
    assert String.length(text) <= 30_000
    assert text =~ "characters were left out"
  end

  test "a long error is cut and says by how much" do
    assert %{"text" => text, "error" => true} = Answer.build(call({:error, String.duplicate("é", 12_000)}))
    assert String.ends_with?(text, "... 2,000 more characters")
  end

  test "a denial says what the server would have to be started with" do
    denial = {:permission_denied, %{tool: "mix_task", required_tier: :execute, granted_tier: :read_only}}

    assert Answer.build(call({:error, "No."}, reason: denial))["text"] =~
             "--tier execute, or with --consent mix_task"

    needed = {:consent_required, %{tool: "mix_task", tier: :execute}}
    assert Answer.build(call({:error, "No."}, reason: needed))["text"] =~ "--consent mix_task"
  end

  test "what JSON can't hold is text alone, not a crash" do
    result = {:ok, %{"result" => "found\n", "pid" => self()}}

    assert %{"error" => false, "structured" => nil, "text" => "found\n"} =
             Answer.build(call(result), structured: true)
  end
end
