defmodule JidoCode.Tools.Security.SessionMemoryTest do
  use ExUnit.Case, async: true

  import JidoCode.Tools.Test.CommandProcesses, only: [eventually: 2]

  alias JidoCode.Tools.SecureExecutor
  alias JidoCode.Tools.Security.{Core, OutputSanitizer, RateLimiter}
  alias JidoCode.Tools.Test.{Generate, Runs, Tree}

  setup do
    session = "memory-#{System.unique_integer([:positive])}"
    for id <- [session, session <> "-other"], do: on_exit(fn -> SecureExecutor.end_session(id) end)
    %{here: context(session), there: context(session <> "-other")}
  end

  defp context(session), do: %{session_id: session, granted_tier: :privileged}

  # Made, not written; random to the eye whatever the seed, and of no vendor's form.
  defp value(seed) do
    {token, _random} = Generate.token(Generate.new(seed), 20)
    token <> "7qX4"
  end

  defp call(context, result) do
    run = fn _context -> result end
    # Limits have tests of their own.
    RateLimiter.clear_session(context[:session_id] || "")
    SecureExecutor.run(%{name: "memory_tool", handler: Runs}, %{"run" => run}, context)
  end

  test "what a name gave away in one call goes bare in the session's next ones", %{here: here, there: there} do
    secret = value(1)
    bare = "connected with #{secret} at last"
    assert {:ok, ^bare} = call(here, {:ok, bare})

    {:ok, told} = call(here, {:ok, "api_token: \"#{secret}\""})
    refute told =~ secret

    for result <- [{:ok, bare}, {:ok, %{"lines" => [bare]}}, {:error, bare}, {:ok, String.to_charlist(bare)}] do
      {tag, clean} = call(here, result)
      assert tag == elem(result, 0)
      refute inspect(clean, limit: :infinity, charlists: :as_charlists) =~ secret
      assert inspect(clean, charlists: :as_charlists) =~ "connected with [REDACTED]"
    end

    assert {:ok, ^bare} = call(there, {:ok, bare})
    assert {:ok, ^bare} = call(Map.delete(here, :session_id), {:ok, bare})
  end

  test "a member of a map and the words of a crash tell, too", %{here: here} do
    secret = value(2)
    {:ok, _told} = call(here, {:ok, %{"user" => "ann", "api_token" => secret}})

    run = fn _context -> raise ArgumentError, "no such user: #{secret}" end
    assert {:error, text} = SecureExecutor.run(%{name: "t", handler: Runs}, %{"run" => run}, here)
    assert text =~ "no such user: [REDACTED]"
    refute text =~ secret
  end

  test "the other parts of the same answer lose it as well", %{here: here} do
    secret = value(3)
    answer = %{"stderr" => "401 for #{secret}", "stdout" => "API_TOKEN=#{secret}\n"}
    {:ok, clean} = call(here, {:ok, answer})
    refute inspect(clean) =~ secret
    assert clean["stderr"] =~ "401 for [REDACTED"
  end

  test "is gone with its session", %{here: here} do
    secret = value(4)
    bare = "connected with #{secret} at last"
    {:ok, _told} = call(here, {:ok, "api_token: \"#{secret}\""})
    {:ok, clean} = call(here, {:ok, bare})
    refute clean =~ secret

    :ok = SecureExecutor.end_session(here.session_id)
    assert {:ok, ^bare} = call(here, {:ok, bare})
  end

  test "words that stand in any text are not remembered", %{here: here} do
    {:ok, told} = call(here, {:ok, "password: \"postgres\", token: \"winter\""})
    assert told =~ "[REDACTED]"
    text = "postgres is ready this winter"
    assert {:ok, ^text} = call(here, {:ok, text})
  end

  test "a background shell's first piece tells for its second", %{here: here} do
    secret = value(5)
    root = Tree.new!(%{"first" => "api_token=#{secret}\n", "then" => "got #{secret} back\n"})
    gate = Tree.pipe!(root, "gate")
    context = Map.merge(here, %{project_root: root, consented_tools: ["bash_background"]})

    {:ok, %{"shell_id" => id}} =
      SecureExecutor.call("bash_background", %{"command" => "cat first; cat gate; cat then"}, context)

    read = fn args -> SecureExecutor.call("bash_output", Map.put(args, "shell_id", id), context) end

    # From the beginning each time, so that nothing is missed by asking twice.
    printed? = fn ->
      {:ok, %{"output" => first}} = read.(%{"cursor" => "0:0", "block" => false})
      first =~ "api_token=[REDACTED"
    end

    eventually(printed?, 60_000)

    Tree.let_through(gate)
    {:ok, ended} = read.(%{"timeout" => 60_000})
    assert ended["output"] =~ "got [REDACTED"
    refute inspect(ended) =~ secret
  end

  test "the clock forgets a session that nobody uses" do
    core = Core.new(clock: :manual)
    secret = value(6)
    look = &OutputSanitizer.sanitize(&1, core: core, session: "idle", emit_telemetry: false)
    bare = "got #{secret} back"
    look.("api_token: \"#{secret}\"")
    refute look.(bare) =~ secret
    Core.advance(core, 3_600_000)
    assert look.(bare) == bare
  end

  test "the oldest values go when there are too many", %{here: here} do
    for seed <- 100..164, do: {:ok, _told} = call(here, {:ok, "api_token: \"#{value(seed)}\""})
    oldest = "got #{value(100)} back"
    assert {:ok, ^oldest} = call(here, {:ok, oldest})

    for seed <- [101, 164] do
      {:ok, clean} = call(here, {:ok, "got #{value(seed)} back"})
      assert clean =~ "got [REDACTED"
    end
  end
end
