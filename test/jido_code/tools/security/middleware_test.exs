defmodule JidoCode.Tools.Security.MiddlewareTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Security.{AuditLogger, Middleware, Permissions, RateLimiter}
  alias JidoCode.Tools.Test.{Careless, Consenting, Declared, Events}

  setup do
    session = "middleware-#{System.unique_integer([:positive])}"

    on_exit(fn ->
      Permissions.clear_session(session)
      RateLimiter.clear_session(session)
    end)

    %{session: session, context: %{session_id: session}}
  end

  defp checks(tool, context), do: Middleware.run_checks(tool, %{}, context)

  describe "tiers" do
    test "without a grant only what is for reading", %{context: context} do
      assert checks("grep", context) == :ok

      for {tool, tier} <- [
            {"write_file", :write},
            {"mix_task", :execute},
            {"ets_inspect", :privileged},
            {"nope", :privileged}
          ] do
        assert checks(tool, context) ==
                 {:error, {:permission_denied, %{tool: tool, required_tier: tier, granted_tier: :read_only}}}
      end
    end

    test "the context's grant wins over the stored one, whether more or less", %{
      session: session,
      context: context
    } do
      assert checks("mix_task", Map.put(context, :granted_tier, :execute)) == :ok
      {:ok, :privileged} = Permissions.grant_tier(session, :privileged)
      assert checks("mix_task", context) == :ok

      for granted <- [:read_only, nil, :root, "privileged", 3] do
        assert {:error, {:permission_denied, %{granted_tier: ^granted}}} =
                 checks("mix_task", Map.put(context, :granted_tier, granted))
      end
    end

    test "a handler's tier wins over the table's", %{context: context} do
      tool = %{name: "grep", handler: Declared}
      assert {:error, {:permission_denied, %{required_tier: :write}}} = checks(tool, context)
      assert checks(tool, Map.put(context, :granted_tier, :write)) == :ok
    end

    test "a handler whose declaration fails or is none is for nobody", %{context: context} do
      context = Map.put(context, :granted_tier, :privileged)

      for name <- [:Raises, :Throws, :Exits, :Nonsense, :Generous] do
        tool = %{name: "grep", handler: Module.concat(Careless, name)}

        assert {:error, {:permission_denied, %{tool: "grep", required_tier: :privileged}}} =
                 checks(tool, context)
      end
    end

    test "a handler that is not loaded yet counts with what it declares", %{context: context} do
      handler = JidoCode.Tools.Test.NotLoadedYet
      :code.delete(handler)
      :code.purge(handler)
      refute :code.is_loaded(handler)

      tool = %{name: "grep", handler: handler}
      assert {:error, {:permission_denied, %{required_tier: :privileged}}} = checks(tool, context)
      assert :code.is_loaded(handler)

      assert {:error, {:consent_required, %{tier: :privileged}}} =
               checks(tool, Map.put(context, :granted_tier, :privileged))
    end
  end

  describe "consent" do
    test "lifts any tier, for this tool only", %{context: context} do
      context = Map.put(context, :consented_tools, ["ets_inspect"])
      assert checks("ets_inspect", context) == :ok
      assert {:error, {:permission_denied, _}} = checks("inspect_supervisor", context)
    end

    test "the stored one does, until it is revoked", %{session: session, context: context} do
      {:ok, _} = Permissions.record_consent(session, "ets_inspect")
      assert checks("ets_inspect", context) == :ok
      assert {:error, _} = checks("ets_inspect", Map.put(context, :consented_tools, []))
      {:ok, []} = Permissions.revoke_consent(session, "ets_inspect")
      assert {:error, _} = checks("ets_inspect", context)
    end

    test "is needed at any tier where the handler wants it", %{context: context} do
      tool = %{name: "careful", handler: Consenting}

      assert checks(tool, Map.put(context, :granted_tier, :privileged)) ==
               {:error, {:consent_required, %{tool: "careful", tier: :read_only}}}

      assert checks(tool, Map.put(context, :consented_tools, ["careful"])) == :ok
    end

    test "may be a set; anything else consents to nothing", %{context: context} do
      assert checks("ets_inspect", Map.put(context, :consented_tools, MapSet.new(["ets_inspect"]))) == :ok

      for none <- [nil, "ets_inspect", :all, %{"ets_inspect" => true}, [:ets_inspect]] do
        assert {:error, _} = checks("ets_inspect", Map.put(context, :consented_tools, none))
      end
    end
  end

  describe "rates" do
    test "the tier's, per session and tool", %{session: session, context: context} do
      context = Map.put(context, :granted_tier, :privileged)
      assert for(_ <- 1..5, do: checks("ets_inspect", context)) == List.duplicate(:ok, 5)

      assert {:error,
              {:rate_limited, %{tool: "ets_inspect", limit: 5, window_ms: 60_000, retry_after_ms: retry}}} =
               checks("ets_inspect", context)

      assert retry in 1..60_000
      assert checks("inspect_supervisor", context) == :ok
      assert checks("ets_inspect", %{context | session_id: session <> "-other"}) == :ok
      RateLimiter.clear_session(session <> "-other")
    end

    test "a handler's own wins", %{context: context} do
      tool = %{name: "careful", handler: Consenting}
      context = Map.put(context, :consented_tools, ["careful"])
      for _ <- 1..3, do: assert(checks(tool, context) == :ok)
      assert {:error, {:rate_limited, %{limit: 3}}} = checks(tool, context)
    end

    test "come first: a denied call has used its slot", %{context: context} do
      for _ <- 1..5, do: assert({:error, {:permission_denied, _}} = checks("ets_inspect", context))
      assert {:error, {:rate_limited, _}} = checks("ets_inspect", context)
      # Neither does a grant that comes later give it back.
      assert {:error, {:rate_limited, _}} =
               checks("ets_inspect", Map.put(context, :granted_tier, :privileged))
    end

    test "hold exactly under sixteen processes", %{context: context} do
      context = Map.put(context, :granted_tier, :execute)

      allowed =
        1..16
        |> Enum.map(fn _ ->
          Task.async(fn -> Enum.count(1..5, fn _ -> checks("mix_task", context) == :ok end) end)
        end)
        |> Task.await_many(60_000)
        |> Enum.sum()

      assert allowed == 10
    end

    test "a session's id may be any term" do
      for session <- [:atom, 1, {:a, "b"}, <<255>>] do
        assert checks("grep", %{session_id: session}) == :ok
      end
    end
  end

  describe "one question alone" do
    test "rate", %{context: context} do
      for _ <- 1..5, do: assert(Middleware.check_rate_limit("ets_inspect", context) == :ok)
      assert {:error, {:rate_limited, _}} = Middleware.check_rate_limit("ets_inspect", context)
    end

    test "tier, which costs no slot", %{context: context} do
      for _ <- 1..10 do
        assert {:error, {:permission_denied, _}} = Middleware.check_permission_tier("ets_inspect", context)
        assert Middleware.check_permission_tier("grep", context) == :ok
      end

      assert {:error, {:permission_denied, _}} = checks("ets_inspect", context)
    end

    test "consent", %{context: context} do
      tool = %{name: "careful", handler: Consenting}
      assert {:error, {:consent_required, _}} = Middleware.check_consent_requirement(tool, context)

      assert Middleware.check_consent_requirement(tool, Map.put(context, :consented_tools, ["careful"])) ==
               :ok

      assert Middleware.check_consent_requirement("ets_inspect", context) == :ok
    end
  end

  describe "what names the tool" do
    test "a map or struct with a name, a string; anything else is an unknown tool", %{context: context} do
      assert checks(%{name: "grep"}, context) == :ok
      assert checks(%{name: "grep", handler: nil}, context) == :ok
      assert checks(%{name: "grep", handler: :no_such_module}, context) == :ok

      for odd <- [nil, %{}, %{name: :grep}, %{"name" => "grep"}, 7] do
        assert {:error, {:permission_denied, %{tool: "unknown", required_tier: :privileged}}} =
                 checks(odd, context)
      end
    end
  end

  describe "what is said" do
    test "one middleware event a check, with the documented keys", %{session: session, context: context} do
      event = [:jido_code, :security, :middleware_check]

      Events.record([
        event,
        [:jido_code, :security, :permission_denied],
        [:jido_code, :security, :rate_limited]
      ])

      checks("grep", context)
      assert_received {:event, ^event, %{duration: duration} = measurements, metadata}
      assert duration >= 0 and map_size(measurements) == 1
      assert metadata == %{tool: "grep", session_id: session, result: :allowed, reason: nil}
      refute_received {:event, _, _, _}

      checks("mix_task", context)
      assert_received {:event, ^event, _, %{result: :blocked, reason: :permission_denied}}

      assert_received {:event, [_, _, :permission_denied], _,
                       %{tool: "mix_task", required_tier: :execute, granted_tier: :read_only}}

      for _ <- 1..9, do: checks("mix_task", context)
      checks("mix_task", context)
      assert_received {:event, ^event, _, %{result: :blocked, reason: :rate_limited}}

      assert_received {:event, [_, _, :rate_limited], %{retry_after_ms: _},
                       %{session_id: ^session, limit: 10}}
    end

    test "without a session the event says so, and all share one key" do
      event = [:jido_code, :security, :middleware_check]
      Events.record([event])
      checks("list_dir", %{})
      assert_received {:event, ^event, _, %{session_id: nil}}
      assert RateLimiter.get_count("__global__", "list_dir", 60_000) >= 1
    end

    test "checks alone leave no audit entry", %{session: session, context: context} do
      checks("mix_task", context)
      assert AuditLogger.get_audit_log(session) == []
    end

    test "denials as sentences" do
      assert Middleware.format_denial(
               {:rate_limited, %{tool: "t", limit: 5, window_ms: 60_000, retry_after_ms: 1_234}}
             ) == "Rate limit exceeded for t: 5 calls in 60 s are allowed. Try again in 1234 ms."

      assert Middleware.format_denial(
               {:rate_limited, %{tool: "t", limit: 5, window_ms: 1_500, retry_after_ms: 12_345}}
             ) =~ "5 calls in 1500 ms are allowed. Try again in 13 s."

      assert Middleware.format_denial(
               {:permission_denied, %{tool: "t", required_tier: :execute, granted_tier: nil}}
             ) =~
               "Permission denied: t needs the tier execute, this session has none."

      assert Middleware.format_denial({:consent_required, %{tool: "t", tier: :write}}) =~
               "Consent required: t"
    end
  end
end
