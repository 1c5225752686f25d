# What the core's operations take, beside plain Elixir of the same meaning in the same run: ETS for state, regexes for text.
#
#     MIX_ENV=prod mix bench
#
# Medians of five rounds. Compare the ratios: absolute times are this machine's.

defmodule Bench.Baseline do
  @moduledoc false
  # The plain forms. They are not exact under concurrency and cover a fraction of the redactor's rules: they show what the
  # usual way costs.

  def start do
    :ets.new(:bench_rates, [:named_table, :public, :set, write_concurrency: true])
    :ets.new(:bench_audit, [:named_table, :public, :ordered_set])
    :persistent_term.put(:bench_counter, :atomics.new(1, signed: false))
  end

  def check_rate(session, tool, limit, window) do
    now = System.monotonic_time(:millisecond)
    key = {session, tool}

    stamps =
      case :ets.lookup(:bench_rates, key) do
        [{^key, stamps}] -> Enum.filter(stamps, &(&1 > now - window))
        [] -> []
      end

    if length(stamps) < limit do
      :ets.insert(:bench_rates, {key, [now | stamps]})
      :ok
    else
      {:error, List.last(stamps) + window - now}
    end
  end

  @tiers %{"grep" => :read_only, "mix_task" => :execute, "ets_inspect" => :privileged}
  @order [:read_only, :write, :execute, :privileged]

  def decide(session, tool, granted, consented) do
    with :ok <- check_rate(session, tool, 100, 60_000) do
      needed = Map.get(@tiers, tool, :privileged)

      if tool in consented or index(needed) <= index(granted), do: :ok, else: {:error, :permission_denied}
    end
  end

  defp index(tier), do: Enum.find_index(@order, &(&1 == tier))

  def audit(session, tool, status, duration, args) do
    id = :atomics.add_get(:persistent_term.get(:bench_counter), 1, 1)

    hash =
      :crypto.hash(:sha256, :erlang.term_to_binary(args)) |> Base.encode16(case: :lower) |> binary_part(0, 32)

    entry = %{
      id: id,
      timestamp: DateTime.utc_now(),
      session_id: session,
      tool: tool,
      status: status,
      duration_us: duration,
      args_hash: hash
    }

    if :ets.info(:bench_audit, :size) >= 10_000, do: :ets.delete(:bench_audit, :ets.first(:bench_audit))
    :ets.insert(:bench_audit, {id, entry})
    id
  end

  def query(session, limit) do
    :ets.tab2list(:bench_audit)
    |> Enum.map(&elem(&1, 1))
    |> Enum.filter(&(&1.session_id == session))
    |> Enum.sort_by(& &1.id, :desc)
    |> Enum.take(limit)
  end

  def patterns do
    [
      ~r/(?i)(password|passwd|secret|api_?key|token)\s*[:=]\s*\S+/,
      ~r/(?i)bearer\s+[a-z0-9._-]+/,
      ~r/sk-[a-zA-Z0-9]{20,}/,
      ~r/ghp_[a-zA-Z0-9]{36,}/,
      ~r/gho_[a-zA-Z0-9]{36,}/,
      ~r/AKIA[A-Z0-9]{16}/,
      ~r/(?i)aws_secret_access_key\s*[:=]\s*[A-Za-z0-9\/+=]{40}/,
      ~r/xox[bapr]-[A-Za-z0-9-]+/,
      ~r/sk-ant-[A-Za-z0-9-]+/,
      ~r/AIza[A-Za-z0-9_-]{35}/,
      ~r/(?i)(AccountKey|SharedAccessKey)\s*[:=]\s*[A-Za-z0-9\/+=]{40,}/,
      ~r/eyJ[A-Za-z0-9_-]+\.eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+/,
      ~r/-----BEGIN (?:RSA |EC |DSA |OPENSSH )?PRIVATE KEY-----/,
      ~r/(?i)(mysql|postgres|mongodb|redis):\/\/[^:\s]+:[^@\s]+@/
    ]
  end

  def redact(patterns, text), do: Enum.reduce(patterns, text, &Regex.replace(&1, &2, "[REDACTED]"))

  def mix_task(task),
    do: task in ~w(compile test format deps.get deps.compile deps.tree deps.unlock help credo dialyzer docs)
end

defmodule Bench do
  @moduledoc false

  alias Bench.Baseline
  alias JidoCode.Tools.SecureExecutor

  alias JidoCode.Tools.Security.{
    AuditLogger,
    IsolatedExecutor,
    Middleware,
    MixPolicy,
    OutputSanitizer,
    RateLimiter
  }

  defmodule Empty do
    @moduledoc false
    def execute(_args, _context), do: {:ok, %{}}
  end

  def run do
    Logger.configure(level: :error)

    Application.put_env(:jido_code_tools, :tool_rate_limits, %{
      "empty" => {100_000, 1},
      "grep" => {100_000, 1}
    })

    JidoCode.Tools.Config.reload()
    Baseline.start()

    IO.puts(
      "#{System.schedulers_online()} schedulers, OTP #{System.otp_release()}, Elixir #{System.version()}\n"
    )

    row("operation", "ours", "plain Elixir", "ratio")

    limiter()
    decisions()
    audit()
    redaction()
    policies()
    pipeline()
  end

  defp limiter do
    for limit <- [10, 100, 1_000] do
      tool = "limit-#{limit}"

      compare(
        "rate check, limit #{limit}",
        fn -> RateLimiter.check_rate("bench", tool, limit, 60_000, emit_telemetry: false) end,
        fn -> Baseline.check_rate("bench", tool, limit, 60_000) end,
        20_000
      )
    end

    for n <- 1..1_000_000, do: RateLimiter.check_rate("many-#{n}", "t", 10, 60_000, emit_telemetry: false)

    figure("rate check, 1,000,000 keys known", fn ->
      RateLimiter.check_rate("many-777", "t", 10, 60_000, emit_telemetry: false)
    end)

    one = parallel(1)
    eight = parallel(8)
    row("rate check, 1 process, all schedulers' time a call", ns(one), "", "")
    row("rate check, 8 processes, all schedulers' time a call", ns(eight), "", "")
    RateLimiter.clear_all()
  end

  # Time of all schedulers for a call: equal for one process and for eight if none waits for another.
  defp parallel(processes) do
    calls = 100_000
    schedulers = min(processes, System.schedulers_online())

    median(fn ->
      {us, _result} =
        :timer.tc(fn ->
          1..processes
          |> Enum.map(fn n ->
            Task.async(fn ->
              repeat(calls, fn -> RateLimiter.check_rate("p#{n}", "t", 100, 60_000, emit_telemetry: false) end)
            end)
          end)
          |> Task.await_many(:infinity)
        end)

      us * 1000 * schedulers / (calls * processes)
    end)
  end

  defp decisions do
    context = %{session_id: "bench", granted_tier: :execute, consented_tools: []}

    compare(
      "whole decision: rate, tier, consent, event",
      fn -> Middleware.run_checks(%{name: "grep", handler: nil}, %{}, context) end,
      fn -> Baseline.decide("bench", "mix_task", :execute, []) end,
      50_000
    )
  end

  defp audit do
    args = %{
      "pattern" => String.duplicate("defmodule ", 8),
      "path" => String.duplicate("lib/shop/", 10),
      "limit" => 10
    }

    compare(
      "audit entry, 200 bytes of arguments",
      fn -> AuditLogger.log_invocation("bench", "grep", :ok, 17, args: args) end,
      fn -> Baseline.audit("bench", "grep", :ok, 17, args) end,
      50_000
    )

    for n <- 1..10_000 do
      AuditLogger.log_invocation("s#{rem(n, 100)}", "grep", :ok, 17, args: args, emit_telemetry: false)
      Baseline.audit("s#{rem(n, 100)}", "grep", :ok, 17, args)
    end

    compare(
      "audit query, 100 of 10,000 by session",
      fn -> AuditLogger.get_audit_log("s7", limit: 100) end,
      fn -> Baseline.query("s7", 100) end,
      200
    )
  end

  defp redaction do
    source = for file <- Path.wildcard("lib/**/*.ex"), into: "", do: File.read!(file)

    # Sources speak of secrets and show none; what the redactor finds in examples is taken out, so that this is clean text.
    clean =
      source
      |> String.duplicate(div(1_000_000, byte_size(source)) + 1)
      |> binary_part(0, 1_000_000)
      |> ascii()

    clean = OutputSanitizer.sanitize(clean, emit_telemetry: false)
    clean = OutputSanitizer.sanitize(clean, emit_telemetry: false)
    secret = "\nAPI_TOKEN=" <> Base.encode16(:crypto.strong_rand_bytes(20), case: :lower) <> "\n"
    dense = for <<chunk::binary-size(2000) <- clean>>, into: "", do: chunk <> secret
    patterns = Baseline.patterns()

    for {name, text} <- [{"redaction, 1 MB clean source", clean}, {"redaction, a secret every 2 KB", dense}] do
      ours = median(fn -> time(1, fn -> OutputSanitizer.sanitize(text, emit_telemetry: false) end) end)
      plain = time(1, fn -> Baseline.redact(patterns, text) end)
      row(name, speed(text, ours), speed(text, plain), ratio(plain, ours))
    end

    small =
      binary_part(
        "the quick brown fox reads lib/shop/cart.ex and finds 3 functions " |> String.duplicate(4),
        0,
        200
      )

    compare(
      "redaction, 200 clean bytes",
      fn -> OutputSanitizer.sanitize(small, emit_telemetry: false) end,
      fn -> Baseline.redact(patterns, small) end,
      20_000
    )
  end

  defp ascii(text), do: for(<<byte <- text>>, byte < 128, into: "", do: <<byte>>)

  defp policies do
    compare(
      "mix policy, name only",
      fn -> MixPolicy.check("compile", [], nil) end,
      fn -> Baseline.mix_task("compile") end,
      50_000
    )

    ten = ~w(--trace --seed 0 --max-failures 1 --only cart --exclude slow test/shop/cart_test.exs)
    figure("mix policy, ten arguments", fn -> MixPolicy.check("test", ten, "test") end)
  end

  defp pipeline do
    context = %{session_id: "bench", granted_tier: :privileged, consented_tools: []}
    tool = %{name: "empty", handler: Empty}

    bare =
      median(fn -> time(5_000, fn -> Task.await(Task.async(fn -> Empty.execute(%{}, context) end)) end) end)

    ours = median(fn -> time(5_000, fn -> SecureExecutor.run(tool, %{}, context) end) end)
    isolated = median(fn -> time(5_000, fn -> IsolatedExecutor.execute_isolated(Empty, %{}, context) end) end)
    row("isolation alone, empty handler; plain: Task.async", ns(isolated), ns(bare), ratio(bare, isolated))
    row("whole pipeline, empty handler; plain: Task.async", ns(ours), ns(bare), ratio(bare, ours))
  end

  defp compare(name, ours, plain, rounds) do
    ours = median(fn -> time(rounds, ours) end)
    plain = median(fn -> time(rounds, plain) end)
    row(name, ns(ours), ns(plain), ratio(plain, ours))
  end

  defp figure(name, fun), do: row(name, ns(median(fn -> time(20_000, fun) end)), "", "")

  # Nanoseconds a call.
  defp time(rounds, fun) do
    repeat(min(rounds, 100), fun)
    {us, :ok} = :timer.tc(fn -> repeat(rounds, fun) end)
    us * 1000 / rounds
  end

  defp repeat(0, _fun), do: :ok

  defp repeat(n, fun) do
    fun.()
    repeat(n - 1, fun)
  end

  defp median(fun), do: for(_round <- 1..5, do: fun.()) |> Enum.sort() |> Enum.at(2)

  defp ns(ns) when ns < 10_000, do: "#{round(ns)} ns"
  defp ns(ns), do: "#{Float.round(ns / 1000, 1)} us"

  defp speed(text, ns), do: "#{Float.round(byte_size(text) / ns * 1000, 1)} MB/s"
  defp ratio(plain, ours), do: "#{Float.round(plain / ours, 1)}"

  defp row(name, ours, plain, ratio) do
    IO.puts([
      String.pad_trailing(name, 54),
      String.pad_leading(ours, 14),
      String.pad_leading(plain, 14),
      String.pad_leading(ratio, 8)
    ])
  end
end

Bench.run()
