# The longest single call of each native function that runs on a normal scheduler, over ordinary and hostile inputs of the
# largest size it takes there: beyond, it answers :dirty, and the same work goes to a dirty scheduler.
#
#     MIX_ENV=prod mix run bench/nif_longest.exs
#
# Left out is search_cancel, which sets a flag.
#
# A call that is interrupted by another OS process looks long, so each input is called many times and its least time counts.

alias JidoCode.Tools.Security.{Core, Native}

defmodule Bench.Longest do
  @moduledoc false
  @rounds 25
  @limit_us 1_000

  # {native function, [{what the input is, function of nothing}]}; a fresh input for each call where calls change it.
  def run(cases) do
    rows =
      for {name, inputs} <- cases do
        {us, input, answer} = inputs |> Enum.map(&least/1) |> Enum.max_by(&elem(&1, 0))
        {name, length(inputs), us, input, answer}
      end

    IO.puts("#{pad("native function", 22)} #{pad("inputs", 7)} #{pad("longest us", 11)} input")

    for {name, count, us, input, answer} <- Enum.sort_by(rows, &elem(&1, 2), :desc) do
      note = if answer == :dirty, do: " (until it answers :dirty)", else: ""
      mark = if us > @limit_us, do: "  OVER 1 ms", else: ""
      IO.puts("#{pad(name, 22)} #{pad(count, 7)} #{pad(Float.round(us * 1.0, 1), 11)} #{input}#{note}#{mark}")
    end

    over = for {name, _count, us, _input, _answer} <- rows, us > @limit_us, do: name
    IO.puts(["\nover 1 ms: ", if(over == [], do: "none", else: Enum.join(over, ", "))])
  end

  defp least({input, call}) do
    {us, answer} = for(_ <- 1..@rounds, do: once(call)) |> Enum.min_by(&elem(&1, 0))
    {us, input, answer}
  end

  defp once(call) do
    call = prepared(call)
    start = :erlang.monotonic_time(:nanosecond)
    answer = call.()
    {(:erlang.monotonic_time(:nanosecond) - start) / 1_000, if(answer == :dirty, do: :dirty, else: :done)}
  end

  # {:fresh, prepare, call}: the input is made anew outside the measured time.
  defp prepared({:fresh, prepare, call}) do
    input = prepare.()
    fn -> call.(input) end
  end

  defp prepared(call), do: call

  defp pad(term, width), do: term |> to_string() |> String.pad_trailing(width)
end

core = Core.default()
{:ok, counter} = Agent.start_link(fn -> 0 end)
unique = fn -> "key-#{Agent.get_and_update(counter, &{&1, &1 + 1})}" end
megabyte = String.duplicate("x", 1_000_000)
cut = fn text, size -> binary_part(String.duplicate(text, div(size, byte_size(text)) + 1), 0, size) end

bomb = Enum.reduce(1..40, "x", fn _, inner -> [inner, inner] end)
deep = Enum.reduce(1..1_900, "x", fn _, inner -> [inner] end)
flat_map = for n <- 1..900, into: %{}, do: {"key#{n}", n}
deep_maps = Enum.reduce(1..600, %{}, fn n, inner -> %{"level#{n}" => inner} end)

term_inputs = [
  {"1,900 nested lists", deep},
  {"900 members", flat_map},
  {"600 nested maps", deep_maps},
  {"1,800 integers", Enum.to_list(1..1_800)},
  {"a tuple of 1,800", List.to_tuple(Enum.to_list(1..1_800))},
  {"60 kB of text", cut.("abc ", 60_000)},
  {"1,000 floats", for(n <- 1..1_000, do: n / 7)},
  {"400 big integers", for(n <- 1..400, do: Integer.pow(7, 60 + n))},
  {"structured keys", for(n <- 1..200, into: %{}, do: {{:key, [n, "x"]}, n})},
  {"200 pids and refs", for(_ <- 1..100, do: {self(), make_ref()})},
  {"a term that unfolds", bomb}
]

# Just below what is done on a normal scheduler, from what costs a search most.
size = 4_000

anchors = [
  "eyJ",
  "ghp_",
  "sk-",
  "key=",
  "password: ",
  "postgres://a",
  "://:@",
  "-----BEGIN",
  "-----BEGIN PRIVATE KEY-----",
  "\\\"",
  "\e[31m",
  "Bearer ",
  "secret = \"",
  "AKIA",
  "a:b@",
  "token",
  "{\"name\":\"",
  "--password ",
  "<password>",
  "xox",
  "%40",
  "=\"=\"",
  "'",
  <<0xE2, 0x80, 0x8B>>,
  <<255>>
]

text_inputs =
  for anchor <- anchors do
    text = cut.(anchor, size)
    {"4 kB of #{inspect(anchor)}", fn -> Native.sanitize(core, nil, text) end}
  end

sources =
  for path <- Path.wildcard("lib/**/*.ex") ++ ["mix.exs", "native/Cargo.lock"], reduce: "" do
    text -> if byte_size(text) < 400_000, do: text <> File.read!(path), else: text
  end

source_inputs =
  for n <- 0..min(40, div(byte_size(sources), size) - 1) do
    text = binary_part(sources, n * size, size)
    {"4 kB of this project's text", fn -> Native.sanitize(core, nil, text) end}
  end

walked = [
  {"990 integers", Enum.to_list(1..990)},
  {"990 short strings", for(n <- 1..990, do: "s#{n}")},
  {"240 pairs under sensitive names", for(n <- 1..240, do: {:password, "value#{n}"})},
  {"490 members", for(n <- 1..490, into: %{}, do: {"password_#{n}", n})},
  {"490 atoms as keys", for(n <- 1..400, into: %{}, do: {:"bench_secret_#{n}", "v"})},
  {"990 nested lists", Enum.reduce(1..990, "x", fn _, inner -> [inner] end)},
  {"330 nested maps", Enum.reduce(1..330, %{}, fn _, inner -> %{a: inner} end)},
  {"a charlist of 900", String.to_charlist(cut.("key=", 900))},
  {"400 lines", for(n <- 1..400, do: "line key=#{n}")},
  {"iodata of 900 pieces", for(n <- 1..450, into: [], do: [rem(n, 90) + 32, "token="])},
  {"long keys", for(n <- 1..25, into: %{}, do: {String.duplicate("secret_", 35) <> "#{n}", "v"})},
  {"a term that unfolds", bomb}
]

walked_inputs = for {name, term} <- walked, do: {name, fn -> Native.sanitize(core, nil, term) end}

# A busy limiter and store: many keys, one of them full.
for n <- 1..20_000, do: Native.rate_check(core, "filler-#{n}", "t", 5, 60_000)
for _ <- 1..100_000, do: Native.rate_check(core, "full", "t", 100_000, 60_000)
for n <- 1..20_000, do: Native.grant_tier(core, "filler-#{n}", :write)
for n <- 1..5_000, do: Native.consent_record(core, "many", "tool-#{n}")
for n <- 1..20_000, do: Native.audit_append(core, {"s#{rem(n, 10)}", "tool", :ok, n, %{"a" => n}, nil, nil})

decide = fn session, tool ->
  Native.decide(core, :all, session, tool, nil, nil, false, :session, :session)
end

rate_names = [
  {"a new key", {:fresh, unique, &Native.rate_check(core, &1, "t", 5, 60_000)}},
  {"a full key of 100,000 stamps", fn -> Native.rate_check(core, "full", "t", 100_000, 60_000) end},
  {"the same, another window", fn -> Native.rate_check(core, "full", "t", 50_000, 1_000) end},
  {"names of 1 MB", fn -> Native.rate_check(core, megabyte, megabyte, 5, 60_000) end}
]

# The policy of a configuration of some size.
settings =
  JidoCode.Tools.Security.Core.settings!()
  |> Map.put(:manual_clock, false)
  |> Map.put(:tool_tiers, for(n <- 1..500, do: {"tool_#{n}", :write}))
  |> Map.put(:tool_rates, for(n <- 1..500, do: {"tool_#{n}", {5, 60_000}}))

spare = Core.new(clock: :manual)

mix_policy = JidoCode.Tools.Security.MixPolicy.native()
mix = fn task, args -> fn -> Native.mix_policy_check(mix_policy, task, args, "test") end end

mix_inputs = [
  {"mix test with options", mix.("test", ["test/a_test.exs:12", "--only", "tag:value", "--seed", "0"])},
  {"1,000 empty arguments", mix.("test", List.duplicate("", 1_000))},
  {"1,000 arguments", mix.("test", List.duplicate("--only=some:tag", 1_000))},
  {"1,000 paths", mix.("format", List.duplicate("lib/a/../b.ex", 1_000))},
  {"one argument of 16 kB", mix.("test", [cut.("../", 16_000)])},
  {"one option of 16 kB", mix.("test", ["--" <> cut.("only-", 16_000)])},
  {"a task of 16 kB", mix.(cut.("deps.", 16_000), [])}
]

Bench.Longest.run([
  {"core_put_policy", [{"500 tiers and rates", fn -> Native.core_put_policy(spare, settings) end}]},
  {"clock_advance", [{"any", fn -> Native.clock_advance(spare, 1) end}]},
  {"mix_policy_check", mix_inputs},
  {"decide",
   [
     {"a known session", fn -> decide.("filler-1", "grep") end},
     {"a new session", {:fresh, unique, &decide.(&1, "grep")}},
     {"many consents", fn -> decide.("many", "ets_inspect") end},
     {"an unknown tool", fn -> decide.("s", "nope") end},
     {"names of 1 MB",
      fn -> Native.decide(core, :all, megabyte, megabyte, :write, {5, 1_000}, true, :session, :session) end}
   ]},
  {"rate_check", rate_names},
  {"tier_of",
   [{"known", fn -> Native.tier_of(core, "grep") end}, {"1 MB", fn -> Native.tier_of(core, megabyte) end}]},
  {"tier_rate", [{"any", fn -> Native.tier_rate(core, :write) end}]},
  {"grant_tier",
   [
     {"a new session", {:fresh, unique, &Native.grant_tier(core, &1, :write)}},
     {"1 MB", fn -> Native.grant_tier(core, megabyte, :write) end}
   ]},
  {"grant_get", [{"many consents", fn -> Native.grant_get(core, "many") end}]},
  {"grant_clear",
   [
     {"many consents",
      {:fresh,
       fn ->
         for n <- 1..5_000, do: Native.consent_record(core, "clear", "tool-#{n}")
         "clear"
       end, &Native.grant_clear(core, &1)}}
   ]},
  {"consent_record",
   [
     {"a new tool", {:fresh, unique, &Native.consent_record(core, "s", &1)}},
     {"beside many", {:fresh, unique, &Native.consent_record(core, "many", &1)}}
   ]},
  {"consent_revoke", [{"beside many", fn -> Native.consent_revoke(core, "many", "nope") end}]},
  {"audit_append",
   [
     {"a full ring", fn -> Native.audit_append(core, {"s", "t", :ok, 1, nil, nil, nil}) end},
     {"names of 1 MB", fn -> Native.audit_append(core, {megabyte, megabyte, :ok, 1, nil, megabyte, nil}) end}
     | for {name, term} <- term_inputs do
         {name, fn -> Native.audit_append(core, {"s", "t", :ok, 1, %{"a" => term}, nil, nil}) end}
       end
   ]},
  {"audit_query",
   [
     {"100 of all", fn -> Native.audit_query(core, nil, 100, :desc) end},
     {"100 of a session", fn -> Native.audit_query(core, "s1", 100, :asc) end},
     {"none of an unknown session", fn -> Native.audit_query(core, megabyte, 100, :asc) end}
   ]},
  {"audit_count", [{"any", fn -> Native.audit_count(core) end}]},
  {"args_hash",
   for({name, term} <- term_inputs, do: {name, fn -> Native.args_hash(core, %{"a" => term}) end})},
  {"sanitize (text)", text_inputs},
  {"sanitize (sources)", source_inputs},
  {"sanitize (terms)", walked_inputs},
  {"term_within",
   for({name, term} <- term_inputs, do: {name, fn -> Native.term_within(term, 1_000_000_000) end})}
])
