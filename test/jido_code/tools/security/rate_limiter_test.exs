defmodule JidoCode.Tools.Security.RateLimiterTest do
  use ExUnit.Case, async: true

  doctest JidoCode.Tools.Security.RateLimiter

  alias JidoCode.Tools.Security.{Core, RateLimiter}
  alias JidoCode.Tools.Test.{Events, Generate}

  setup do
    %{core: Core.new(clock: :manual)}
  end

  defp check(core, session, tool, limit, window),
    do: RateLimiter.check_rate(session, tool, limit, window, core: core)

  defp admitted(core, times, limit, window) do
    Enum.count(1..times, fn _ -> check(core, "s", "t", limit, window) == :ok end)
  end

  describe "the window" do
    test "admits up to the limit, then says when to try again", %{core: core} do
      assert admitted(core, 3, 3, 1_000) == 3
      assert check(core, "s", "t", 3, 1_000) == {:error, 1_000}
      Core.advance(core, 400)
      assert check(core, "s", "t", 3, 1_000) == {:error, 600}
    end

    test "slides: each admission leaves it by itself", %{core: core} do
      assert check(core, "s", "t", 2, 1_000) == :ok
      Core.advance(core, 600)
      assert check(core, "s", "t", 2, 1_000) == :ok
      Core.advance(core, 399)
      assert {:error, 1} = check(core, "s", "t", 2, 1_000)
      Core.advance(core, 1)
      assert check(core, "s", "t", 2, 1_000) == :ok
      assert {:error, 600} = check(core, "s", "t", 2, 1_000)
    end

    test "trying again after exactly the time that was named succeeds", %{core: core} do
      for seed <- 1..50 do
        random = Generate.new(seed)
        {limit, random} = Generate.integer(random, 1..5)
        {window, _random} = Generate.integer(random, 1..2_000)
        session = "retry-#{seed}"
        Enum.find(1..10, fn _ -> match?({:error, _}, check(core, session, "t", limit, window)) end)
        assert {:error, retry} = check(core, session, "t", limit, window)
        Core.advance(core, retry)
        assert check(core, session, "t", limit, window) == :ok
      end
    end

    test "a denied call is not recorded", %{core: core} do
      assert admitted(core, 10, 2, 1_000) == 2
      assert RateLimiter.get_count("s", "t", 1_000, core: core) == 2
      Core.advance(core, 1_000)
      assert admitted(core, 10, 2, 1_000) == 2
    end

    test "a limit of nothing denies for the length of the window", %{core: core} do
      assert check(core, "s", "t", 0, 5_000) == {:error, 5_000}
    end

    test "in no window are there ever more admissions than the limit", %{core: core} do
      for seed <- 1..20 do
        {limit, window, admissions} = random_run(core, seed)

        for {start, index} <- Enum.with_index(admissions) do
          inside = admissions |> Enum.drop(index) |> Enum.take_while(&(&1 < start + window))
          assert length(inside) <= limit, "seed #{seed}: #{length(inside)} of #{limit} in #{window} ms"
        end
      end
    end

    # Calls at random times; the times at which one was admitted.
    defp random_run(core, seed) do
      random = Generate.new(seed)
      {limit, random} = Generate.integer(random, 1..8)
      {window, random} = Generate.integer(random, 1..500)

      {_now, admissions, _random} =
        Enum.reduce(1..300, {0, [], random}, fn _step, {now, admissions, random} ->
          {pause, random} = Generate.integer(random, 0..60)
          Core.advance(core, pause)
          now = now + pause

          case check(core, "random-#{seed}", "t", limit, window) do
            :ok -> {now, [now | admissions], random}
            {:error, _retry} -> {now, admissions, random}
          end
        end)

      {limit, window, Enum.reverse(admissions)}
    end
  end

  describe "keys" do
    test "sessions and tools don't share", %{core: core} do
      assert check(core, "a", "t", 1, 1_000) == :ok
      assert check(core, "b", "t", 1, 1_000) == :ok
      assert check(core, "a", "u", 1, 1_000) == :ok
      assert {:error, _} = check(core, "a", "t", 1, 1_000)
    end

    test "where session ends and tool begins matters", %{core: core} do
      assert check(core, "ab", "c", 1, 1_000) == :ok
      assert check(core, "a", "bc", 1, 1_000) == :ok
      assert check(core, "", "abc", 1, 1_000) == :ok
      assert check(core, "abc", "", 1, 1_000) == :ok
    end

    test "names may be any bytes of any length", %{core: core} do
      long = String.duplicate("x", 1_000_000)

      for name <- ["", <<0>>, <<255, 254>>, "ü", long] do
        assert check(core, name, name, 1, 1_000) == :ok
        assert {:error, _} = check(core, name, name, 1, 1_000)
      end

      assert check(core, long <> "y", long, 1, 1_000) == :ok
    end

    test "clearing a session leaves the others", %{core: core} do
      for session <- ["a", "b"], do: check(core, session, "t", 1, 1_000)
      assert RateLimiter.clear_session("a", core: core) == :ok
      assert RateLimiter.clear_session("unknown", core: core) == :ok
      assert check(core, "a", "t", 1, 1_000) == :ok
      assert {:error, _} = check(core, "b", "t", 1, 1_000)
      assert RateLimiter.clear_all(core: core) == :ok
      assert check(core, "b", "t", 1, 1_000) == :ok
    end

    test "cleanup says how many keys went wholly", %{core: core} do
      for tool <- ["t", "u"], do: check(core, "a", tool, 5, 10_000)
      Core.advance(core, 1_000)
      for tool <- ["u", "v"], do: check(core, "a", tool, 5, 10_000)
      assert RateLimiter.cleanup(500, core: core) == 1
      assert RateLimiter.get_count("a", "u", 10_000, core: core) == 1
      assert RateLimiter.cleanup(500, core: core) == 0
    end
  end

  describe "many at once" do
    test "sixteen processes on one key: admitted is the limit, in every run", %{core: core} do
      for {limit, run} <- Enum.zip([1, 7, 100, 1_000, 10_000], 1..5), _repeat <- 1..4 do
        session = "run-#{run}-#{System.unique_integer()}"

        admitted =
          1..16
          |> Enum.map(fn _ ->
            Task.async(fn ->
              receive(do: (:go -> :ok))
              Enum.count(1..(div(limit, 8) + 10), fn _ -> check(core, session, "t", limit, 60_000) == :ok end)
            end)
          end)
          |> Enum.map(fn task ->
            send(task.pid, :go)
            task
          end)
          |> Task.await_many(60_000)
          |> Enum.sum()

        assert admitted == limit
        assert RateLimiter.get_count(session, "t", 60_000, core: core) == limit
      end
    end
  end

  describe "ownership" do
    test "what is counted outlives the process that was first to call" do
      session = "owner-#{System.unique_integer()}"
      {pid, monitor} = spawn_monitor(fn -> RateLimiter.check_rate(session, "t", 1, 60_000) end)
      assert_receive {:DOWN, ^monitor, :process, ^pid, :normal}
      assert {:error, _retry} = RateLimiter.check_rate(session, "t", 1, 60_000)
      RateLimiter.clear_session(session)
    end

    test "nobody is admitted without the core" do
      assert RateLimiter.check_rate("s", "t", 5, 1_000, core: nil) == {:error, 1_000}
    end
  end

  describe "telemetry" do
    @event [:jido_code, :security, :rate_limited]

    test "one event for a denial, none for an admission", %{core: core} do
      Events.record([@event])
      assert check(core, "s", "t", 1, 1_000) == :ok
      refute_received {:event, _, _, _}
      assert {:error, retry} = check(core, "s", "t", 1, 1_000)

      assert_received {:event, @event, %{retry_after_ms: ^retry},
                       %{session_id: "s", tool: "t", limit: 1, window_ms: 1_000} = metadata}

      assert map_size(metadata) == 4

      RateLimiter.check_rate("s", "t", 1, 1_000, core: core, emit_telemetry: false)
      refute_received {:event, _, _, _}
    end
  end
end
