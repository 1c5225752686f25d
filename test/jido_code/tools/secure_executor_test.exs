defmodule JidoCode.Tools.SecureExecutorTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.{Call, CallTime, SecureExecutor, Telemetry}
  alias JidoCode.Tools.Command.Confinement
  alias JidoCode.Tools.Security.{AuditLogger, RateLimiter}
  alias JidoCode.Tools.Test.{Careless, Consenting, Declared, Events, Generate, Printing, Runs}

  setup do
    session = "executor-#{System.unique_integer([:positive])}"
    on_exit(fn -> SecureExecutor.end_session(session) end)
    %{session: session, context: %{session_id: session, granted_tier: :privileged}}
  end

  # Limits have tests of their own: elsewhere a test makes as many calls as it likes.
  defp run(context, run, more \\ %{}, handler \\ Runs) do
    RateLimiter.clear_session(context.session_id)
    limited(context, run, more, handler)
  end

  defp limited(context, run, more \\ %{}, handler \\ Runs) do
    args = Map.put(more, "run", run)
    {SecureExecutor.run(%{name: "test_tool", handler: handler}, args, context), args}
  end

  defp entry(session), do: hd(AuditLogger.get_audit_log(session, limit: 1))

  defp secret do
    {token, _random} = Generate.token(Generate.new(System.unique_integer([:positive])), 34)
    "ghp" <> "_" <> token <> "7q"
  end

  defmodule Failing do
    defexception [:how]

    @impl true
    def message(%{how: how}), do: how.()
  end

  describe "what the caller gets" do
    test "results and the handler's own errors, as they are", %{context: context, session: session} do
      for result <- [{:ok, %{"a" => 1}}, {:ok, nil}] do
        assert {^result, _} = run(context, fn _ -> result end)
        assert entry(session).status == :ok
      end

      # Whatever an error looks like, it is the handler's.
      for reason <- [
            "text",
            :atom,
            %{kind: :odd},
            :timeout,
            {:killed, :max_heap_size},
            {:crashed, {:exception, 1, 2}},
            {:crashed, {:throw, :x}},
            {:refused, "no"}
          ] do
        assert {{:error, ^reason}, _} = run(context, fn _ -> {:error, reason} end)
        assert entry(session).status == :error
      end
    end

    test "clear words for every way to fail, and an audit entry of its kind", %{
      context: context,
      session: session
    } do
      for {run, status, words} <- [
            {fn _ -> raise ArgumentError, "bad input" end, :crashed,
             "test_tool crashed: ** (ArgumentError) bad input"},
            {fn _ -> throw({:a, 1}) end, :crashed, "test_tool crashed: it threw {:a, 1}"},
            {fn _ -> exit(:tired) end, :crashed, "test_tool crashed: it exited with :tired"},
            {fn _ -> :nonsense end, :crashed, "it returned neither {:ok, _} nor {:error, _}, but: :nonsense"},
            {fn _ -> Process.exit(self(), :kill) end, :crashed,
             "was killed, which happens when it uses more memory than a tool may"},
            {fn _ -> spawn_link(fn -> exit(:peer) end) && Process.sleep(:infinity) end, :crashed,
             "its process ended with :peer"}
          ] do
        assert {{:error, text}, _} = run(context, run)
        assert text =~ words
        assert entry(session).status == status
      end
    end

    test "a handler over its time is stopped; the time is in the answer", %{
      context: context,
      session: session
    } do
      assert {{:error, text}, _} = run(context, fn _ -> Process.sleep(:infinity) end, %{"timeout" => 60})
      assert text == "test_tool timed out: it was stopped after 60 ms"
      assert entry(session).status == :timeout
    end

    test "an unknown tool is named, with those that are known", %{context: context, session: session} do
      assert {:error, text} = SecureExecutor.call("iex_eval", %{"code" => "1"}, context)
      assert text =~ "Unknown tool: iex_eval. The tools are: "
      assert text =~ "fetch_elixir_docs"
      assert entry(session).status == :error

      assert {:error, text} = SecureExecutor.call("a\e[2J\u202Eb", %{}, context)
      assert text =~ ~S(Unknown tool: a\u{1B}[2J\u{202E}b.)

      assert {:error, text} = SecureExecutor.call(String.duplicate("x", 100_000), %{}, context)
      assert byte_size(text) < 2_000
    end

    test "a handler that is none", %{context: context} do
      assert {:error, text} = SecureExecutor.run(%{name: "t", handler: :no_such_module}, %{}, context)
      assert text =~ "has no handler that can be run"
      assert {:error, _} = SecureExecutor.run(%{name: "t", handler: String}, %{}, context)
    end

    test "arguments that unfold without end are refused", %{context: context, session: session} do
      bomb = Enum.reduce(1..40, [], fn _, inner -> [inner | inner] end)
      before = :erlang.memory(:total)
      assert {{:error, text}, _} = run(context, fn _ -> {:ok, 1} end, %{"bomb" => bomb})
      assert text =~ "memory"
      # Unfolded it would take 2^40 words; tests beside this one may take some hundred megabytes.
      assert :erlang.memory(:total) - before < 1_000_000_000
      assert entry(session).args_hash == nil
    end
  end

  describe "the caller is never hurt" do
    test "by an exception whose message fails, hangs or never ends", %{context: context} do
      for how <- [
            fn -> raise "again" end,
            fn -> throw(:ball) end,
            fn -> exit(:tired) end,
            fn -> :no_string end,
            fn -> String.duplicate("x", 10_000_000) end,
            fn -> Process.sleep(:infinity) end
          ] do
        raising = fn _ -> raise %Failing{how: how} end
        assert {{:error, text}, _} = run(context, raising, %{"timeout" => 300})
        assert text =~ ~r/crashed|timed out/
        assert byte_size(text) < 1_000
      end
    end

    test "by thrown values and exit reasons that print themselves", %{context: context} do
      for how <- [fn -> raise "x" end, fn -> exit(:x) end, fn -> Process.sleep(:infinity) end],
          fail <- [&throw/1, &exit/1] do
        assert {{:error, text}, _} =
                 run(context, fn _ -> fail.(%Printing{how: how}) end, %{"timeout" => 2_000})

        assert text =~ "Printing"
      end
    end

    test "by declarations that fail", %{context: context} do
      for name <- [:Raises, :Throws, :Exits, :Nonsense] do
        tool = %{name: "careless", handler: Module.concat(Careless, name)}
        assert {:error, "Permission denied: careless" <> _} = SecureExecutor.run(tool, %{}, context)
      end
    end

    test "nothing is left in its mailbox", %{context: context} do
      for run <- [fn _ -> {:ok, 1} end, fn _ -> raise "x" end, fn _ -> Process.sleep(:infinity) end] do
        run(context, run, %{"timeout" => 20})
      end

      assert Process.info(self(), :messages) == {:messages, []}
    end
  end

  describe "redaction" do
    test "of results, errors and everything a failure says", %{context: context} do
      secret = secret()

      for run <- [
            fn _ -> {:ok, %{"password" => secret, "text" => "token=#{secret}"}} end,
            fn _ -> {:error, "can't log in with #{secret}"} end,
            fn _ -> {:error, {:auth, password: secret}} end,
            fn _ -> raise "can't log in with #{secret}" end,
            fn _ -> throw({:auth, secret}) end,
            fn _ -> throw(password: secret) end,
            fn _ -> exit({:auth, %{token: secret}}) end,
            fn _ -> spawn_link(fn -> exit({:auth, secret}) end) && Process.sleep(:infinity) end,
            fn _ -> Keyword.fetch!([{:password, secret}], :missing) end,
            fn _ -> :erlang.error({:badmatch, secret}) end
          ] do
        {result, _args} = run(context, run)
        refute inspect(result, limit: :infinity, printable_limit: :infinity) =~ secret
      end
    end

    test "is told, with the kinds and how many there were", %{context: context} do
      said = fn answer -> context |> run(fn _ -> answer end) |> elem(0) end
      line = ~s(password: "winter5508")
      gone = ~s(password: "[REDACTED]")

      assert said.({:ok, %{"a" => line, "b" => %{"c" => line}}}) ==
               {:ok, %{"a" => gone, "b" => %{"c" => gone}, "note" => "Redacted: 2 values (password)."}}

      assert said.({:ok, %{"a" => line, "note" => "Cut."}}) ==
               {:ok, %{"a" => gone, "note" => "Cut. Redacted: 1 value (password)."}}

      assert said.({:ok, line <> "\n"}) == {:ok, gone <> "\nRedacted: 1 value (password)."}
      assert said.({:error, line}) == {:error, gone <> "\nRedacted: 1 value (password)."}
      # A document stays one, and what holds no secret is left alone.
      assert said.({:ok, ~s({"password":"winter5508"})}) == {:ok, ~s({"password":"[REDACTED]"})}
      assert said.({:ok, %{"a" => 1}}) == {:ok, %{"a" => 1}}
      # What was redacted elsewhere before, and here.
      once = "Redacted: 2 values (1 token, 1 password); they differ."
      both = "Redacted: 3 values (1 token, 2 password); they differ."

      assert said.({:ok, %{"a" => line, "note" => "Cut. #{once} More."}}) ==
               {:ok, %{"a" => gone, "note" => "Cut. #{both} More."}}

      assert said.({:error, "#{line}\n#{once}"}) == {:error, "#{gone}\n#{both}"}
      # Words of the answer's own about it are not counted.
      assert {:error, text} = said.({:error, "#{once} says #{line}"})
      assert text == "#{once} says #{gone}\nRedacted: 1 value (password)."
    end

    test "is told of what an exception says, too", %{context: context} do
      {{:error, text}, _args} = run(context, fn _ -> raise ~s(password: "winter5508") end)
      assert text =~ ~s(password: "[REDACTED]"\nRedacted: 1 value)
      {{:error, text}, _args} = run(context, fn _ -> throw({:no, %{password: "winter5508"}}) end)
      assert text =~ "Redacted: 1 value"
    end

    test "says whether two sides of a failed assertion differ, which they no longer show", %{context: context} do
      failure = fn left, right ->
        ~s(code:  assert user.password == expected\nleft:  %{password: "#{left}"}\nright: %{password: "#{right}"}\n)
      end

      said = fn text -> context |> run(fn _ -> {:ok, %{"failure" => text}} end) |> elem(0) end
      assert {:ok, %{"note" => note}} = said.(failure.("winter5508", "winter5509"))
      assert note =~ ~r/\ARedacted: 2 values \(.*\); they differ\.\z/
      assert {:ok, %{"note" => note}} = said.(failure.("winter5508", "winter5508"))
      assert note =~ ~r/\ARedacted: 2 values \(.*\); they are equal\.\z/
    end

    test "of what refuses a call", %{context: context} do
      secret = secret()
      args = %{"validate" => fn _ -> {:error, "bad key #{secret}"} end}

      assert {{:error, "Refused by test_tool: bad key " <> rest}, _} =
               run(context, fn _ -> {:ok, 1} end, args, Declared)

      refute rest =~ secret
    end

    test "a Call shows neither arguments, context nor result when it is printed" do
      call = %{
        SecureExecutor.new("ets_inspect", %{"key" => "hunter2"}, %{password: "hunter2"})
        | result: {:ok, "hunter2"},
          status: :ok
      }

      text = inspect(call)
      assert text =~ "ets_inspect"
      refute text =~ "hunter2"
    end
  end

  describe "the handler's own callbacks" do
    test "validate_security refuses before the work", %{context: context, session: session} do
      test = self()
      ran = fn _ -> send(test, :ran) && {:ok, 1} end

      for {validate, words, status} <- [
            {fn _ -> {:error, "outside the project"} end, "Refused by test_tool: outside the project",
             :blocked},
            {fn _ -> {:error, {:outside, "/etc"}} end, ~s(Refused by test_tool: {:outside, "/etc"}),
             :blocked},
            {fn _ -> true end, "Refused by test_tool: its handler's security check gave no clear answer",
             :blocked},
            {fn _ -> nil end, "no clear answer", :blocked},
            {fn _ -> raise "validating failed" end, "crashed", :crashed},
            {fn _ -> throw(:ok) end, "crashed", :crashed},
            {fn _ -> Process.sleep(:infinity) end, "timed out", :timeout}
          ] do
        args = %{"validate" => validate, "timeout" => 100}
        assert {{:error, text}, _} = run(context, ran, args, Declared)
        assert text =~ words
        assert entry(session).status == status
      end

      refute_received :ran
    end

    test "validate_security sees arguments and context", %{context: context} do
      test = self()
      args = %{"validate" => fn context -> send(test, {:saw, context}) && :ok end}
      assert {{:ok, 1}, _} = run(context, fn _ -> {:ok, 1} end, args, Declared)
      assert_received {:saw, seen}
      assert Map.delete(seen, :confined) == context
    end

    test "sanitize_output works on what the handler returned, before the general redaction", %{
      context: context
    } do
      secret = secret()
      sanitize = fn value -> Map.put(value, "added", "token #{secret}") end

      assert {{:ok, %{"kept" => 1, "added" => "token " <> rest}}, _} =
               run(context, fn _ -> {:ok, {:sanitize, sanitize, %{"kept" => 1}}} end, %{}, Declared)

      refute rest =~ secret
    end

    test "a sanitize_output that fails lets nothing out", %{context: context, session: session} do
      for sanitize <- [fn _ -> raise "x" end, fn _ -> throw(:x) end, fn _ -> exit(:x) end] do
        result = fn _ -> {:ok, {:sanitize, sanitize, "what must not get out"}} end
        assert {{:error, text}, _} = run(context, result, %{}, Declared)
        refute text =~ "must not get out"
        assert entry(session).status == :crashed
      end
    end

    test "handlers without callbacks run without", %{context: context} do
      assert {{:ok, 1}, _} = run(context, fn _ -> {:ok, 1} end)
    end
  end

  describe "time" do
    defp timeout(name, handler, args),
      do: CallTime.of(%Call{name: name, tool: name, handler: handler, args: args, context: %{}})

    test "the call's, else the handler's, else the tool's, else 30 s" do
      assert timeout("foreign", Runs, %{}) == 30_000
      assert timeout("foreign", Declared, %{}) == 5_000
      assert timeout("foreign", Declared, %{"timeout" => 70}) == 70
    end

    test "never above the tool's maximum, and nonsense counts as none" do
      assert timeout("foreign", Runs, %{"timeout" => 10_000_000}) == 600_000

      for odd <- [0, -1, "60", 1.5, nil, :infinity],
          do: assert(timeout("foreign", Runs, %{"timeout" => odd}) == 30_000)

      # A tool that keeps the time itself gets a little more, to answer with what it has.
      assert timeout("get_process_state", Runs, %{"timeout" => 1_000}) in 1_001..5_000
    end

    test "a :timeout in the context is the host's own affair", %{context: context} do
      assert {{:ok, 1}, _} = run(Map.put(context, :timeout, 1), fn _ -> Process.sleep(50) && {:ok, 1} end)
    end

    test "a handler's timeout_ms that fails counts as none" do
      assert timeout("foreign", Careless.Raises, %{}) == 30_000
      assert timeout("foreign", Careless.Throws, %{}) == 30_000
    end
  end

  describe "checks" do
    test "a denied call does not reach its handler, and is audited as blocked", %{session: session} do
      test = self()
      context = %{session_id: session}
      assert {{:error, text}, _} = run(context, fn _ -> send(test, :ran) && {:ok, 1} end)
      assert text =~ "Permission denied: test_tool needs the tier privileged, this session has read_only."
      refute_received :ran
      assert %{status: :blocked, tool: "test_tool"} = entry(session)
    end

    test "consent that a handler wants", %{context: context, session: session} do
      tool = %{name: "careful", handler: Consenting}
      assert {:error, "Consent required: careful" <> _} = SecureExecutor.run(tool, %{}, context)
      assert entry(session).status == :blocked

      assert {:ok, %{"done" => true}} =
               SecureExecutor.run(tool, %{}, Map.put(context, :consented_tools, ["careful"]))
    end

    test "one call uses one rate slot", %{context: context, session: session} do
      run(context, fn _ -> {:ok, 1} end)
      assert RateLimiter.get_count(session, "test_tool", 60_000) == 1
    end

    test "rapid calls are limited, and the answer says when to come back", %{
      context: context,
      session: session
    } do
      results = for _ <- 1..7, do: elem(limited(context, fn _ -> {:ok, 1} end), 0)
      assert Enum.take(results, 5) == List.duplicate({:ok, 1}, 5)

      assert {:error, "Rate limit exceeded for test_tool: 5 calls in 60 s are allowed. Try again in " <> _} =
               List.last(results)

      assert entry(session).status == :blocked
    end
  end

  describe "audit" do
    test "every call has one entry with the keyed hash of its real arguments", %{
      context: context,
      session: session
    } do
      {_result, args} = run(context, fn _ -> {:ok, 1} end, %{"path" => "a"})
      entry = entry(session)
      assert entry.args_hash == AuditLogger.hash_args(args)
      assert entry.tool == "test_tool"
      assert entry.duration_us > 0
      assert length(AuditLogger.get_audit_log(session)) == 1

      # Denied calls too: it can be shown what was asked.
      SecureExecutor.call("ets_inspect", %{"operation" => "list"}, %{session_id: session})
      assert entry(session).status == :blocked
      assert entry(session).args_hash == AuditLogger.hash_args(%{"operation" => "list"})
    end

    test "the entry says what confined the call's commands, however the call ended", %{
      context: context,
      session: session
    } do
      confinement = %{
        "filesystem" => "landlock",
        "network" => "seccomp",
        "network_mode" => "none",
        "signals" => "landlock",
        "missing" => []
      }

      text = Confinement.summary(confinement)

      for {ending, status} <- [
            {fn -> {:ok, 1} end, :ok},
            {fn -> {:error, "failed"} end, :error},
            {fn -> raise "no" end, :crashed},
            {fn -> Process.sleep(:infinity) end, :timeout}
          ] do
        told = fn context ->
          Confinement.tell(context, confinement)
          ending.()
        end

        run(context, told, %{"timeout" => 200})
        assert %{status: ^status, confinement: ^text} = entry(session)
      end

      run(context, fn _context -> {:ok, 1} end)
      assert %{status: :ok, confinement: nil} = entry(session)
    end

    test "what a handler tells too late reaches nobody", %{context: context, session: session} do
      test = self()
      run(context, fn context -> send(test, {:late, context.confined}) && {:ok, 1} end)
      assert_received {:late, tell}
      tell.("filesystem landlock")
      assert {:messages, []} = Process.info(self(), :messages)
      assert entry(session).confinement == nil
    end

    test "execute/1 says what happened and which entry tells it", %{context: context, session: session} do
      call =
        "fetch_elixir_docs"
        |> SecureExecutor.new(%{"module" => "Enum", "function" => "sum"}, context)
        |> SecureExecutor.execute()

      assert %Call{status: :ok, reason: nil, result: {:ok, _}, audit_id: id, duration_us: duration} = call
      assert %{id: ^id, duration_us: ^duration} = entry(session)

      call = "nope" |> SecureExecutor.new(%{}, context) |> SecureExecutor.execute()
      assert %Call{status: :error, reason: :unknown_tool} = call

      call = "ets_inspect" |> SecureExecutor.new(%{}, %{session_id: session}) |> SecureExecutor.execute()
      assert %Call{status: :blocked, reason: {:permission_denied, %{tool: "ets_inspect"}}} = call
    end

    test "without a session it belongs to all that have none" do
      SecureExecutor.call("fetch_elixir_docs", %{"module" => "NoSuchModule.AtAll"})
      assert Enum.any?(AuditLogger.get_audit_log("__global__"), &(&1.tool == "fetch_elixir_docs"))
    end
  end

  describe "events" do
    test "of one call: check, isolation, redaction, audit, each once, with the documented keys", %{
      context: context,
      session: session
    } do
      events = for [_, :security, _] = event <- Map.keys(Telemetry.events()), do: event
      Events.record(events)
      secret = secret()
      run(context, fn _ -> {:ok, "x " <> secret} end)

      assert_events(%{
        middleware_check: %{tool: "test_tool", session_id: session, result: :allowed, reason: nil},
        isolation: %{handler: Runs, result: :ok, reason: nil},
        output_sanitized: %{type: :string, tool: "test_tool", session_id: session},
        audit: %{session_id: session, tool: "test_tool", status: :ok}
      })
    end

    test "of a denied call: no isolation", %{session: session} do
      events = for [_, :security, _] = event <- Map.keys(Telemetry.events()), do: event
      Events.record(events)
      run(%{session_id: session}, fn _ -> {:ok, 1} end)

      assert_events(%{
        middleware_check: %{result: :blocked, reason: :permission_denied},
        permission_denied: %{tool: "test_tool", required_tier: :privileged, granted_tier: :read_only},
        audit: %{status: :blocked}
      })
    end

    test "of a handler's first use, once" do
      name = Module.concat(__MODULE__, "Announced#{System.unique_integer([:positive])}")

      [{^name, _beam}] =
        Code.compile_string("""
        defmodule #{inspect(name)} do
          use JidoCode.Tools.Behaviours.SecureHandler
          def security_properties, do: %{tier: :read_only}
          def execute(_args, _context), do: {:ok, 1}
        end
        """)

      event = [:jido_code, :security, :handler_loaded]
      Events.record([event])
      tool = %{name: "announced", handler: name}
      for _ <- 1..2, do: assert(SecureExecutor.run(tool, %{}, %{session_id: "announced"}) == {:ok, 1})
      assert_received {:event, ^event, %{system_time: time}, %{module: ^name, tier: :read_only}}
      assert is_integer(time)
      refute_received {:event, ^event, _, _}
    end

    # Exactly these events, each with its documented keys and at least this metadata.
    defp assert_events(expected) do
      got = received([])

      assert got |> Enum.map(fn {name, _, _} -> name end) |> Enum.sort() ==
               expected |> Map.keys() |> Enum.sort()

      for {name, measurements, metadata} <- got do
        {measurement_keys, metadata_keys} = Telemetry.events()[[:jido_code, :security, name]]
        assert Enum.sort(Map.keys(measurements)) == Enum.sort(measurement_keys)
        assert metadata_keys -- Map.keys(metadata) == []
        assert Map.take(metadata, Map.keys(expected[name])) == expected[name]
      end
    end

    defp received(events) do
      receive do
        {:event, [:jido_code, :security, name], measurements, metadata} ->
          received([{name, measurements, metadata} | events])
      after
        0 -> events
      end
    end
  end

  test "many callers at once, each with its own answer and entry", %{context: context} do
    1..100
    |> Task.async_stream(
      fn n ->
        context = %{context | session_id: "#{context.session_id}-#{n}"}

        {n, elem(run(context, fn _ -> {:ok, n} end), 0), AuditLogger.get_audit_log(context.session_id),
         context}
      end,
      max_concurrency: 16,
      timeout: 60_000
    )
    |> Enum.each(fn {:ok, {n, result, entries, context}} ->
      assert result == {:ok, n}
      assert [%{status: :ok}] = entries
      SecureExecutor.end_session(context.session_id)
    end)
  end
end
