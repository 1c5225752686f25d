# Commands that resist their end, ended in every way there is; then a count of what was left.
#
#     mix run bench/orphans.exs [commands]
#
# Five kinds of command (ignores SIGTERM, forks a tree, double-forks into a session of its own, floods its output, aims limits,
# priorities, SIGSTOP and SIGKILL at every process of ours that it can see before it hides a child) meet five ends at random moments: a timeout, the death of the calling process, SIGKILL of one of the runner's two processes, and
# SIGKILL of a whole BEAM that runs twelve of them; the attackers also come to their own end, whose result must be the right one.
# Exits with 1 if a process or a temporary folder is left, or a result was wrong.

Code.require_file("../test/support/command_processes.ex", __DIR__)
Code.require_file("../test/support/command_programs.ex", __DIR__)

defmodule Bench.Orphans do
  alias JidoCode.Tools.Command
  alias JidoCode.Tools.Test.{CommandPrograms, CommandProcesses}

  @per_beam 12
  @at_once 8

  def run(count) do
    :rand.seed(:exsss, {1, 2, 3})
    mark = CommandProcesses.mark()
    base = Path.join(System.tmp_dir!(), "orphans-#{System.pid()}")
    File.mkdir_p!(base)
    Application.put_env(:jido_code_tools, :command_temp_dir, base)

    beams = div(count * 3, 10 * @per_beam)
    here = count - beams * @per_beam

    jobs =
      Enum.shuffle(
        List.duplicate(:beam, beams) ++
          Enum.map(1..here, fn _ -> Enum.random([:timeout, :caller, :runner, :attack]) end)
      )

    started = System.monotonic_time(:millisecond)

    ends =
      jobs
      |> Enum.map(&{&1, Enum.random(0..4), Enum.random(5..400)})
      |> Task.async_stream(&job(&1, mark, base), max_concurrency: @at_once, timeout: :infinity, ordered: false)
      |> Enum.flat_map(fn {:ok, ends} -> ends end)
      |> Enum.frequencies()

    took = System.monotonic_time(:millisecond) - started
    IO.puts("#{count} commands in #{div(took, 1000)} s; how they ended: #{inspect(ends)}")
    wrong = for {{:wrong, _answer}, count} <- ends, do: count
    IO.puts("wrong results = #{Enum.sum(wrong)}")
    report(mark, base, wrong != [])
  end

  # A killed BEAM or worker leaves the work to processes that nobody waits for: give them the grace time and a little.
  defp report(mark, base, wrong?) do
    orphans = settle(fn -> CommandProcesses.marked(mark) end)
    runners = settle(fn -> runners(base) end)
    folders = settle(fn -> File.ls!(base) end)

    IO.puts(
      "orphans left = #{length(orphans)}, runners left = #{length(runners)}, folders left = #{length(folders)}"
    )

    if orphans ++ runners ++ folders != [] or wrong?, do: System.halt(1)
    File.rmdir!(base)
  end

  defp settle(left, tries \\ 500) do
    case left.() do
      [] -> []
      rest when tries == 0 -> rest
      _some -> Process.sleep(10) && settle(left, tries - 1)
    end
  end

  defp runners(base) do
    for name <- File.ls!("/proc"),
        {pid, ""} <- [Integer.parse(name)],
        [_runner, scratch | _] <- [runner_arguments(pid)],
        String.starts_with?(scratch, base),
        do: pid
  end

  defp runner_above(nil), do: nil

  defp runner_above(pid),
    do: if(runner_arguments(pid), do: pid, else: runner_above(CommandProcesses.parent(pid)))

  defp runner_arguments(pid) do
    with {:ok, line} <- File.read("/proc/#{pid}/cmdline"),
         [program | _] = arguments <- String.split(line, <<0>>),
         "jido_command_runner" <- Path.basename(program) do
      arguments
    else
      _other -> nil
    end
  end

  defp job({:timeout, kind, moment}, mark, _base) do
    # Not the last kind, which comes to an end of its own.
    {:ok, %{status: :timeout, processes_left: 0}} =
      Command.run(program(rem(kind, 4)), options(mark) ++ [timeout: moment])

    [:timeout]
  end

  defp job({:attack, _kind, _moment}, mark, _base) do
    case Command.run(CommandPrograms.attacks(System.pid()), options(mark) ++ [timeout: 60_000]) do
      {:ok, %{status: :exited, exit_code: 7, processes_left: 0, stdout: %{head: "end\n"}}} -> [:attack]
      wrong -> [{:wrong, inspect(wrong, limit: 20)}]
    end
  end

  defp job({:caller, kind, moment}, mark, _base) do
    {caller, monitor} = spawn_monitor(fn -> Command.run(program(kind), options(mark)) end)
    Process.sleep(moment)
    Process.exit(caller, :kill)
    receive do: ({:DOWN, ^monitor, _, _, _} -> [:caller])
  end

  defp job({:runner, kind, moment}, mark, _base) do
    own = %{"JIDO_BENCH_JOB" => "#{System.unique_integer([:positive])}"}
    {caller, monitor} = spawn_monitor(fn -> Command.run(program(kind), options(Map.merge(mark, own))) end)
    Process.sleep(moment)

    # Its worker or its guard; a command that has not started yet loses its caller instead.
    case own |> CommandProcesses.marked() |> Enum.find_value(&runner_above/1) do
      nil -> Process.exit(caller, :kill)
      worker -> [worker, CommandProcesses.parent(worker)] |> Enum.random() |> CommandProcesses.kill("KILL")
    end

    receive do: ({:DOWN, ^monitor, _, _, _} -> [:runner])
  end

  defp job({:beam, _kind, moment}, mark, base) do
    programs = for kind <- 0..3, _ <- 1..div(@per_beam, 4), do: program(kind)

    code = """
    Application.put_env(:jido_code_tools, :command_temp_dir, #{inspect(base)})
    Application.put_env(:jido_code_tools, :command_runner, #{inspect(runner())})
    for program <- #{inspect(programs)},
      do: spawn(fn -> JidoCode.Tools.Command.run(program, #{inspect(options(mark))}) end)
    IO.puts("ready")
    Process.sleep(:infinity)
    """

    paths = Path.dirname(to_string(:code.which(Command)))
    arguments = ["-pa", paths, "-e", code]
    elixir = System.find_executable("elixir")
    port = Port.open({:spawn_executable, elixir}, [:binary, :exit_status, args: arguments])
    receive do: ({^port, {:data, "ready\n"}} -> :ok)
    {:os_pid, pid} = Port.info(port, :os_pid)
    Process.sleep(moment)
    CommandProcesses.kill(pid, "KILL")
    receive do: ({^port, {:exit_status, 137}} -> List.duplicate(:beam, @per_beam))
  end

  defp options(mark), do: [env: mark, grace: 100, keep: {1_000, 1_000}]

  defp program(0), do: CommandPrograms.ignores_term()
  defp program(1), do: CommandPrograms.forks()
  defp program(2), do: CommandPrograms.escapes()
  defp program(3), do: CommandPrograms.floods()
  defp program(4), do: CommandPrograms.attacks(System.pid())

  defp runner do
    Application.get_env(:jido_code_tools, :command_runner) ||
      Application.app_dir(:jido_code_tools, "priv/native/jido_command_runner")
  end
end

count = with [text | _] <- System.argv(), {count, ""} <- Integer.parse(text), do: count, else: (_ -> 1_000)
Bench.Orphans.run(count)
