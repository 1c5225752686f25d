defmodule JidoCode.Tools.Security.PermissionsTest do
  use ExUnit.Case, async: true

  doctest JidoCode.Tools.Security.Permissions

  alias JidoCode.Tools.Catalog
  alias JidoCode.Tools.Security.Permissions
  alias JidoCode.Tools.Test.Events

  @tiers [:read_only, :write, :execute, :privileged]

  defp session, do: "permissions-#{System.unique_integer([:positive])}"

  describe "tiers" do
    test "four, in order" do
      assert Permissions.valid_tiers() == @tiers
      assert Enum.map(@tiers, &Permissions.tier_level/1) == [0, 1, 2, 3]
      assert Permissions.tier_level(:root) == 0
      for tier <- @tiers, do: assert(Permissions.valid_tier?(tier))
      for other <- ["write", nil, 1, :root], do: refute(Permissions.valid_tier?(other))
    end

    test "every tool that JidoCode registers has one" do
      registered = %{
        read_only:
          ~w(read_file list_directory list_dir file_info grep find_files glob_search fetch_elixir_docs grep_search
          bash_output web_fetch web_search get_source_location find_callers get_diagnostics get_hover_info go_to_definition
          find_references recall todo_read
          knowledge_recall knowledge_context knowledge_graph_query project_conventions project_decisions project_risks),
        write:
          ~w(write_file edit_file multi_edit_file create_directory delete_file livebook_edit remember forget todo_write
          knowledge_remember knowledge_update knowledge_supersede),
        execute:
          ~w(run_command bash_execute bash_background kill_shell mix_task run_exunit git_command lsp_request),
        privileged:
          ~w(get_process_state inspect_supervisor ets_inspect get_logs list_processes system_overview trace_calls spawn_task)
      }

      for {tier, tools} <- registered, tool <- tools, do: assert(Permissions.get_tool_tier(tool) == tier)
      assert Permissions.tools_for_tier(:root) == []

      # The rest are tools of the library, whose definitions say it.
      registered = for {tier, tools} <- registered, tool <- tools, into: %{}, do: {tool, tier}
      defined = Map.new(Catalog.definitions(), &{&1.name, &1.tier})
      assert Permissions.all_tool_tiers() == Map.merge(registered, defined)

      for {tool, tier} <- Permissions.all_tool_tiers(), do: assert(tool in Permissions.tools_for_tier(tier))
    end

    test "the tools of one tier come sorted" do
      tools = Permissions.tools_for_tier(:write)
      assert "edit_file" in tools and tools == Enum.sort(tools)
    end

    test "what nobody has classified is for nobody" do
      for tool <- ["no_such_tool", "", "Grep", "grep ", <<255>>] do
        assert Permissions.get_tool_tier(tool) == :privileged
        assert {:error, {:permission_denied, _}} = Permissions.check_permission(tool, :execute)
      end
    end

    test "default rates" do
      assert Permissions.all_rate_limits() ==
               %{
                 read_only: {100, 60_000},
                 write: {30, 60_000},
                 execute: {10, 60_000},
                 privileged: {5, 60_000}
               }

      assert Permissions.default_rate_limit(:root) == {100, 60_000}
    end
  end

  describe "check_permission" do
    test "a tier allows itself and what is below it" do
      tools = %{read_only: "grep", write: "write_file", execute: "mix_task", privileged: "ets_inspect"}

      for {required, tool} <- tools, granted <- @tiers do
        result = Permissions.check_permission(tool, granted)

        if Permissions.tier_level(granted) >= Permissions.tier_level(required) do
          assert result == :ok
        else
          assert result ==
                   {:error,
                    {:permission_denied, %{tool: tool, required_tier: required, granted_tier: granted}}}
        end
      end
    end

    test "no tier, or what is none, allows nothing" do
      for granted <- [nil, :root, "read_only", 3] do
        assert {:error, {:permission_denied, %{granted_tier: ^granted}}} =
                 Permissions.check_permission("grep", granted)
      end
    end

    test "consent to this very name lifts any tier" do
      assert Permissions.check_permission("ets_inspect", :read_only, ["other", "ets_inspect"]) == :ok
      assert Permissions.check_permission("ets_inspect", nil, ["ets_inspect"]) == :ok

      for near <- ["ETS_INSPECT", "ets_inspect ", :ets_inspect, "ets"] do
        assert {:error, _} = Permissions.check_permission("ets_inspect", :execute, [near])
      end
    end

    test "one event for a denial" do
      event = [:jido_code, :security, :permission_denied]
      Events.record([event])
      Permissions.check_permission("grep", :read_only)
      Permissions.check_permission("mix_task", :read_only, [], emit_telemetry: false)
      refute_received {:event, _, _, _}
      Permissions.check_permission("mix_task", :write)

      assert_received {:event, ^event, measurements, metadata}
      assert measurements == %{}
      assert metadata == %{tool: "mix_task", required_tier: :execute, granted_tier: :write}
    end
  end

  describe "the pure forms" do
    test "a tier goes up or stays" do
      for current <- @tiers, new <- @tiers do
        expected =
          if Permissions.tier_level(new) >= Permissions.tier_level(current),
            do: {:ok, new},
            else: {:error, :tier_downgrade}

        assert Permissions.grant_tier(current, new) == expected
      end

      for {current, new} <- [
            {:root, :write},
            {:write, :root},
            {nil, :write},
            {:write, nil},
            {:privileged, :root}
          ] do
        assert Permissions.grant_tier(current, new) == {:error, :invalid_tier}
      end
    end

    test "consents" do
      assert {:ok, ["b", "a"]} = Permissions.record_consent(["a"], "b")
      assert Permissions.record_consent(["a"], "a") == {:error, :already_consented}
      assert Permissions.revoke_consent(["b", "a"], "b") == {:ok, ["a"]}
      assert Permissions.revoke_consent(["a"], "b") == {:error, :not_consented}
    end
  end

  describe "the session store" do
    test "a session starts at the bottom and rises" do
      session = session()
      assert Permissions.session_grants(session) == %{granted_tier: :read_only, consented_tools: []}
      assert Permissions.grant_tier(session, :execute) == {:ok, :execute}
      assert Permissions.grant_tier(session, :execute) == {:ok, :execute}
      assert Permissions.grant_tier(session, :write) == {:error, :tier_downgrade}
      assert Permissions.grant_tier(session, :root) == {:error, :invalid_tier}
      assert Permissions.record_consent(session, "ets_inspect") == {:ok, ["ets_inspect"]}
      assert Permissions.record_consent(session, "ets_inspect") == {:error, :already_consented}

      assert Permissions.session_grants(session) ==
               %{granted_tier: :execute, consented_tools: ["ets_inspect"]}

      assert Permissions.revoke_consent(session, "ets_inspect") == {:ok, []}
      assert Permissions.revoke_consent(session, "ets_inspect") == {:error, :not_consented}
      assert Permissions.clear_session(session) == :ok
      assert Permissions.session_grants(session).granted_tier == :read_only
    end

    test "belongs to nobody's process, and sessions don't mix" do
      session = session()
      {pid, monitor} = spawn_monitor(fn -> {:ok, _} = Permissions.grant_tier(session, :write) end)
      assert_receive {:DOWN, ^monitor, :process, ^pid, :normal}
      assert Permissions.session_grants(session).granted_tier == :write
      assert Permissions.session_grants(session <> "x").granted_tier == :read_only
      Permissions.clear_session(session)
    end

    test "is bounded: a name or a number that is too large is refused, not stored" do
      session = session()
      results = for n <- 1..2_000, do: Permissions.record_consent(session, "tool_#{n}")
      assert {:ok, _} = hd(results)
      assert {:error, :too_many_consents} = List.last(results)
      assert {:error, :name_too_long} = Permissions.record_consent(session, String.duplicate("x", 1_000_000))
      Permissions.clear_session(session)
    end
  end
end
