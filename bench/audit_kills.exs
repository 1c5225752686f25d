# Kills VMs that make calls, with SIGKILL at random moments, some while they start, and looks at the audit file each time: it must
# verify, with no more than the beginning of an entry at its end, and every call that was answered must be in it.
#
#     MIX_ENV=prod mix run --no-start bench/audit_kills.exs 1000

defmodule Bench.AuditKills do
  alias JidoCode.Tools.Security.AuditTrail

  # What was answered is told to a file as soon as it is there: the page cache outlives the VM.
  @child """
  [file, key, told] = System.argv()
  Application.put_env(:jido_code_tools, :audit_file, file)
  Application.put_env(:jido_code_tools, :audit_key, key)
  Application.put_env(:jido_code_tools, :tool_rate_limits, %{read_only: {100_000, 1_000}})
  {:ok, _} = Application.ensure_all_started(:jido_code_tools)
  alias JidoCode.Tools.SecureExecutor

  for _worker <- 1..4 do
    spawn_link(fn ->
      {:ok, device} = :file.open(told, [:append, :raw])

      Stream.repeatedly(fn ->
        call = SecureExecutor.new("fetch_elixir_docs", %{"module" => "no name"}, %{session_id: "kills"})
        :ok = :file.write(device, [Integer.to_string(SecureExecutor.execute(call).audit_id), 10])
      end)
      |> Stream.run()
    end)
  end

  Process.sleep(:infinity)
  """

  @kills_a_file 50
  @patience_ms 30_000

  def main([kills]) do
    {:ok, _} = Application.ensure_all_started(:jido_code_tools)
    kills = String.to_integer(kills)
    folder = Path.join(System.tmp_dir!(), "audit-kills-#{System.pid()}")
    File.mkdir_p!(folder)

    sums =
      Enum.reduce(
        1..kills,
        %{entries: 0, answered: 0, torn: 0, early: 0, wrong: 0},
        &kill(&1, folder, kills, &2)
      )

    IO.inspect(sums, label: "#{kills} kills")
    File.rm_rf!(folder)
    if sums.wrong > 0, do: exit({:shutdown, 1})
  end

  defp kill(number, folder, kills, sums) do
    file = Path.join(folder, "audit-#{div(number - 1, @kills_a_file)}.jsonl")
    told = Path.join(folder, "told-#{number}")
    port = start([file, "a key that outlives all of them", told])
    {:os_pid, pid} = Port.info(port, :os_pid)
    early? = rem(number, 10) == 0

    if early?,
      do: Process.sleep(:rand.uniform(700)),
      else: until(fn -> File.exists?(told) and File.stat!(told).size > 0 end)

    Process.sleep(:rand.uniform(40))
    System.cmd("kill", ["-KILL", Integer.to_string(pid)], stderr_to_stdout: true)

    receive do
      {^port, {:exit_status, _status}} -> :ok
    after
      @patience_ms -> raise "the killed VM #{pid} has not ended"
    end

    sums = Map.update!(sums, :early, &(&1 + if(early?, do: 1, else: 0)))
    sums = check(number, file, told, sums)
    if rem(number, 50) == 0, do: IO.inspect(sums, label: "#{number} of #{kills}")
    sums
  end

  defp start(arguments) do
    paths = Enum.flat_map([:jido_code_tools, :elixir, :logger], &["-pa", Application.app_dir(&1, "ebin")])
    command = ["exec \"$0\" \"$@\" >/dev/null 2>&1 </dev/null", System.find_executable("elixir") | paths]

    Port.open({:spawn_executable, "/bin/sh"}, [
      :exit_status,
      args: ["-c" | command] ++ ["-e", @child, "--" | arguments]
    ])
  end

  defp until(condition, waited \\ 0) do
    cond do
      condition.() -> :ok
      waited > @patience_ms -> raise "no call was answered in #{@patience_ms} ms"
      true -> Process.sleep(5) && until(condition, waited + 5)
    end
  end

  defp check(number, file, told, sums) do
    answered = answered(told)

    case File.exists?(file) && AuditTrail.verify(file, "a key that outlives all of them") do
      false ->
        wrong(number, "no file", answered != [], sums)

      {:ok, report} ->
        {:ok, entries, _offset} = AuditTrail.read(file, AuditTrail.start())

        written =
          for %{"id" => id, "status" => status} when status != "started" <- entries,
              into: MapSet.new(),
              do: id

        missing = Enum.reject(answered, &(&1 in written))

        sums = %{
          sums
          | answered: sums.answered + length(answered),
            torn: sums.torn + if(report.torn_bytes > 0, do: 1, else: 0)
        }

        sums =
          if rem(number, @kills_a_file) == 0, do: %{sums | entries: sums.entries + report.entries}, else: sums

        wrong(number, "not in the file: #{inspect(missing)}", missing != [], sums)

      other ->
        wrong(number, inspect(other), true, sums)
    end
  end

  # A line that the kill cut short was not told.
  defp answered(told) do
    case File.read(told) do
      {:ok, text} -> text |> String.split("\n") |> Enum.drop(-1) |> Enum.map(&String.to_integer/1)
      {:error, _none} -> []
    end
  end

  defp wrong(_number, _what, false, sums), do: sums

  defp wrong(number, what, true, sums) do
    IO.puts("kill #{number}: #{what}")
    %{sums | wrong: sums.wrong + 1}
  end
end

Bench.AuditKills.main(System.argv())
