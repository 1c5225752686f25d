defmodule JidoCode.Tools.Behaviours.SecureHandlerTest do
  use ExUnit.Case, async: true
  doctest JidoCode.Tools.Behaviours.SecureHandler

  alias JidoCode.Tools.Behaviours.SecureHandler
  alias JidoCode.Tools.Test.Events

  defmodule Plain do
    use SecureHandler, ignored: :option

    @impl true
    def security_properties, do: %{tier: :write}
  end

  defmodule Careful do
    use SecureHandler

    @impl true
    def security_properties, do: %{tier: :execute, requires_consent: true}

    @impl true
    def validate_security(%{"ok" => true}, _context), do: :ok
    def validate_security(_args, _context), do: {:error, :not_ok}

    @impl true
    def sanitize_output(_result), do: :clean
  end

  test "defaults let every call pass and leave results alone" do
    assert Plain.validate_security(%{}, %{}) == :ok
    assert Plain.sanitize_output(%{"a" => 1}) == %{"a" => 1}
  end

  test "a handler overrides what it wants" do
    assert Careful.validate_security(%{"ok" => true}, %{}) == :ok
    assert Careful.validate_security(%{}, %{}) == {:error, :not_ok}
    assert Careful.sanitize_output("x") == :clean
  end

  test "tells that a handler was loaded" do
    Events.record([[:jido_code, :security, :handler_loaded]])
    assert Careful.__secure_handler_loaded__() == :ok

    assert_received {:event, _, %{system_time: time}, %{module: Careful, tier: :execute}}
    assert is_integer(time)
  end

  test "a handler without properties does not compile" do
    code = """
    defmodule JidoCode.Tools.Test.Unfinished do
      use JidoCode.Tools.Behaviours.SecureHandler
    end
    """

    ExUnit.CaptureIO.capture_io(:stderr, fn ->
      assert_raise CompileError, fn -> Code.compile_string(code) end
    end)
  end

  test "tiers are ordered and unknown ones are never allowed" do
    tiers = SecureHandler.tier_hierarchy()
    assert tiers == [:read_only, :write, :execute, :privileged]

    for {requested, i} <- Enum.with_index(tiers), {granted, j} <- Enum.with_index(tiers) do
      assert SecureHandler.tier_allowed?(requested, granted) == i <= j
    end

    for odd <- [nil, :root, "write", 1] do
      refute SecureHandler.tier_allowed?(odd, :privileged)
      refute SecureHandler.tier_allowed?(:read_only, odd)
      refute SecureHandler.valid_tier?(odd)
    end
  end

  test "properties are checked one by one" do
    good = %{tier: :write, rate_limit: {1, 1}, timeout_ms: 1, requires_consent: false, other: 1}
    assert SecureHandler.validate_properties(good) == :ok

    for {properties, text} <- [
          {nil, "security_properties must return a map"},
          {[tier: :write], "security_properties must return a map"},
          {%{}, "tier is required"},
          {%{tier: "write", rate_limit: 1}, ~s(invalid tier: "write")},
          {%{good | rate_limit: {0, 1}, timeout_ms: 0}, "rate_limit must be"},
          {%{good | rate_limit: 5}, "rate_limit must be"},
          {%{good | timeout_ms: 0, requires_consent: 1}, "timeout_ms must be a positive integer"},
          {%{good | requires_consent: nil}, "requires_consent must be a boolean"}
        ] do
      assert {:error, message} = SecureHandler.validate_properties(properties)
      assert message =~ text
    end
  end
end
