# What the command runner costs: time beside System.cmd, what of it the fence adds, and memory under a flood.
#
#     mix run bench/command.exs [gigabytes]

defmodule Bench.Command do
  alias JidoCode.Tools.Command

  @rounds 200

  def run(gigabytes) do
    overhead("true", ["true"])
    overhead("git status", ["git", "status"])
    if gigabytes > 0, do: flood(gigabytes)
  end

  # Taken in turns, so that what else the machine does meets both alike.
  defp overhead(name, [program | arguments] = command) do
    root = File.cwd!()
    run = fn options -> {:ok, %{exit_code: 0}} = Command.run(command, [write: [root]] ++ options) end

    subjects = [
      {"System.cmd", fn -> {_text, 0} = System.cmd(program, arguments) end},
      {"Command.run, in the fence", fn -> run.([]) end},
      {"Command.run, Landlock only", fn -> run.(confinement: :without_namespaces) end},
      {"Command.run, nothing", fn -> run.(confinement: :off) end},
      {"Command.run, nothing, no limit", fn -> run.(confinement: :off, limits: [processes: nil]) end}
    ]

    for _ <- 1..10, {_name, subject} <- subjects, do: subject.()
    times = for _ <- 1..@rounds, {name, subject} <- subjects, do: {name, elem(:timer.tc(subject), 0)}
    medians = for {name, times} <- Enum.group_by(times, &elem(&1, 0), &elem(&1, 1)), do: {name, median(times)}
    base = Map.new(medians)["System.cmd"]

    IO.puts("`#{name}`, start to result, median of #{@rounds}:")

    for {name, median} <- Enum.sort_by(medians, &elem(&1, 1)) do
      IO.puts(
        "  #{String.pad_trailing(name, 32)} #{milliseconds(median)} ms   x#{Float.round(median / base, 2)}"
      )
    end
  end

  defp flood(gigabytes) do
    bytes = gigabytes * 1024 * 1024 * 1024
    before = peak(System.pid())
    started = System.monotonic_time(:millisecond)
    {:ok, command} = Command.start(["head", "-c", "#{bytes}", "/dev/zero"], timeout: :infinity)
    runner = watch(command, %{})
    {:ok, result} = Command.await(command)
    took = System.monotonic_time(:millisecond) - started
    ^bytes = result.stdout.bytes

    IO.puts("a flood of #{gigabytes} GiB (#{took} ms), peak resident memory:")
    IO.puts("  runner, both processes   #{div(Enum.sum(Map.values(runner)), 1024)} MB")
    IO.puts("  BEAM, more than before   #{div(peak(System.pid()) - before, 1024)} MB")
  end

  defp watch(command, peaks) do
    peaks = Map.merge(peaks, Map.new(runners(), &{&1, peak(&1)}), fn _pid, a, b -> max(a, b) end)

    case Command.await(command, 20) do
      {:error, :running} -> watch(command, peaks)
      {:ok, _result} -> peaks
    end
  end

  defp runners do
    for name <- File.ls!("/proc"),
        {pid, ""} <- [Integer.parse(name)],
        {:ok, line} <- [File.read("/proc/#{pid}/cmdline")],
        [program | _] <- [String.split(line, <<0>>)],
        Path.basename(program) == "jido_command_runner",
        do: pid
  end

  # In kB; 0 for a process that is gone.
  defp peak(pid) do
    with {:ok, status} <- File.read("/proc/#{pid}/status"),
         [_, peak] <- Regex.run(~r/VmHWM:\s+(\d+)/, status) do
      String.to_integer(peak)
    else
      _gone -> 0
    end
  end

  defp median(times), do: times |> Enum.sort() |> Enum.at(div(length(times), 2))
  defp milliseconds(microseconds), do: :erlang.float_to_binary(microseconds / 1000, decimals: 2)
end

gigabytes = with [text | _] <- System.argv(), {count, ""} <- Integer.parse(text), do: count, else: (_ -> 10)
Bench.Command.run(gigabytes)
