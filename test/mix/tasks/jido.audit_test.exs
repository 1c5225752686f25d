defmodule Mix.Tasks.Jido.AuditTest do
  # The configuration is the whole VM's.
  use ExUnit.Case, async: false

  import ExUnit.CaptureIO
  import JidoCode.Tools.Test.CommandProcesses, only: [eventually: 2]

  alias JidoCode.Tools.JSON
  alias JidoCode.Tools.Security.{AuditLogger, Core}

  @key "a key of the audit test's own"

  setup do
    file = Path.join(System.tmp_dir!(), "audit-#{System.unique_integer([:positive])}.jsonl")
    Application.put_env(:jido_code_tools, :audit_file, file)
    Application.put_env(:jido_code_tools, :audit_key, @key)

    on_exit(fn ->
      Application.delete_env(:jido_code_tools, :audit_file)
      Application.delete_env(:jido_code_tools, :audit_key)
      File.rm(file)
    end)

    core = Core.new(trail: true)
    AuditLogger.log_invocation("s1", "grep_search", :ok, 1_500, core: core)
    AuditLogger.log_invocation("s2", "bash\e[2Kexecute", :blocked, 3, core: core, log_blocked: false)
    AuditLogger.log_invocation("s2", "mix_task", :timeout, 2_000_000, core: core)
    {:ok, trail: file, core: core}
  end

  defp audit(args), do: capture_io(fn -> Mix.Tasks.Jido.Audit.run(args) end)

  test "shows entries to people, filtered, with nothing that moves a cursor", %{trail: file} do
    shown = audit([file])
    assert shown =~ ~r/s1  .*grep_search.*  .*ok.*  1.5 ms/
    assert shown =~ "2.0 s"
    refute shown =~ "\e[2K"
    assert audit([file, "--status", "timeout"]) |> String.split("\n", trim: true) |> length() == 1
    assert audit([file, "--session", "s2", "--limit", "1"]) =~ "mix_task"
    assert audit([file, "--since", "1h"]) == shown
    assert audit([file, "--until", "2020-01-01T00:00:00Z"]) == ""
    assert audit([file, "--tool", "mix_task", "--json"]) =~ ~s("status":"timeout")
  end

  test "--json has the fields of the file, a line for each entry", %{trail: file} do
    lines = &(&1 |> String.split("\n", trim: true) |> Enum.map(fn line -> JSON.decode(line) end))
    assert lines.(audit([file, "--json"])) == lines.(File.read!(file))
  end

  test "has colours by the status where the terminal has them", %{trail: file} do
    before = Application.fetch_env(:elixir, :ansi_enabled)

    on_exit(fn ->
      case before do
        {:ok, enabled?} -> Application.put_env(:elixir, :ansi_enabled, enabled?)
        :error -> Application.delete_env(:elixir, :ansi_enabled)
      end
    end)

    Application.put_env(:elixir, :ansi_enabled, true)
    [ok, blocked, timeout] = audit([file]) |> String.split("\n", trim: true)
    assert ok =~ IO.ANSI.green() <> "ok" <> IO.ANSI.reset()
    assert blocked =~ IO.ANSI.yellow() <> "blocked" <> IO.ANSI.reset()
    assert timeout =~ IO.ANSI.red() <> "timeout" <> IO.ANSI.reset()
    refute audit([file, "--json"]) =~ "\e"

    Application.put_env(:elixir, :ansi_enabled, false)
    refute audit([file]) =~ "\e"
  end

  test "verifies, and names what was changed", %{trail: file} do
    assert audit(["verify", file]) =~ "3 entries, unchanged"
    File.write!(file, String.replace(File.read!(file), "mix_task", "grep_search"))

    out =
      capture_io(fn ->
        assert catch_exit(Mix.Tasks.Jido.Audit.run(["verify", file])) == {:shutdown, 1}
      end)

    assert out =~ "entry 3 was changed"
    assert out =~ "up to entry 2"
  end

  test "a head that was kept elsewhere tells that entries at the end were removed", %{trail: file} do
    [_all, head] = Regex.run(~r/head is (\w+)/, audit(["verify", file]))
    assert audit(["verify", file, "--head", head]) =~ "unchanged"
    lines = file |> File.read!() |> String.split("\n", trim: true)
    File.write!(file, Enum.join(Enum.take(lines, 2), "\n") <> "\n")

    capture_io(fn ->
      assert catch_exit(Mix.Tasks.Jido.Audit.run(["verify", file, "--head", head])) == {:shutdown, 1}
    end)
  end

  defp lines(file), do: file |> File.read!() |> String.split("\n", trim: true)

  # What a run that ends with exit status 1 prints, and says on standard error.
  defp failed(args) do
    told = self()

    said =
      capture_io(:stderr, fn ->
        out = capture_io(fn -> assert catch_exit(Mix.Tasks.Jido.Audit.run(args)) == {:shutdown, 1} end)

        send(told, {:out, out})
      end)

    assert_received {:out, out}
    {out, said}
  end

  test "a line that is not an entry is shown as damaged, and those after it are read", %{trail: file} do
    [first, second, third] = lines(file)

    odd = [
      ~s({"id":30,"timestamp_us":1,"status":"ok"}),
      ~s({"id":30,"timestamp_us":"1"}),
      String.replace(first, ~s("ok"), ~s("\e[2J")),
      String.replace(first, ~s("session_id":"s1"), ~s("session_id":{"hex":"\e[2J"})),
      String.replace(first, ~s("tool":), ~s("tool":"harmless","tool":)),
      "\xff\e[2J\u{9B}2J\u{202E}",
      "",
      "[]",
      String.duplicate(<<0>>, 5_000_000),
      String.duplicate("x", 17_000)
    ]

    for line <- odd do
      File.write!(file, Enum.map([first, line, second, third], &[&1, "\n"]))
      {out, said} = failed([file])
      assert said =~ "a line is damaged"
      assert [one, damaged, two, three] = String.split(out, "\n", trim: true)
      assert one =~ "grep_search" and two =~ "bash" and three =~ "mix_task"
      assert damaged =~ "line 2 is damaged"
      refute out =~ "\e[2J" or out =~ "\u{9B}" or out =~ "\u{202E}" or out =~ <<0>>

      {json, said} = failed([file, "--json", "--limit", "3"])
      assert length(String.split(json, "\n", trim: true)) == 2
      assert said =~ "line 2 is damaged"
      refute said =~ "\e[2J" or said =~ "\u{9B}" or said =~ "\u{202E}" or said =~ <<0>>
    end
  end

  test "a time that no calendar has is a number", %{trail: file} do
    changed = Regex.replace(~r/"timestamp_us":\d+/, File.read!(file), ~s("timestamp_us":18446744073709551615))
    File.write!(file, changed)
    assert audit([file]) =~ "18446744073709551615 us"
  end

  test "--json escapes what moves a cursor or turns text around", %{trail: file, core: core} do
    session = "a\e\u{7F}\u{9B}2J\u{202E}\u{2066}\u{E0041}\u{2028}é"
    AuditLogger.log_invocation(session, "grep_search", :ok, 1, core: core)
    json = audit([file, "--json", "--limit", "1"])
    assert json =~ ~S(a\u001b\u007f\u009b2J\u202e\u2066\udb40\udc41\u2028é)
    assert {:ok, %{"session_id" => ^session}} = JSON.decode(String.trim(json))
  end

  test "a doubled key is a change", %{trail: file} do
    File.write!(file, String.replace(File.read!(file), ~s("tool":"mix), ~s("tool":"harmless","tool":"mix)))
    {out, _said} = failed(["verify", file])
    assert out =~ "entry 3 was changed"
  end

  test "a path with a NUL character is named as text" do
    path = "/tmp/audit\0.jsonl"
    {_out, said} = failed([path])
    assert said =~ ~S(/tmp/audit\u{0}.jsonl does not exist)
    Application.put_env(:jido_code_tools, :audit_file, path)
    error = catch_error(Core.new(trail: true))
    assert Exception.message(error) =~ ~S(/tmp/audit\0.jsonl can't be written: no path may contain a NUL)
  end

  test "--follow goes on with the new file, and says so", %{trail: file} do
    whole = File.read!(file)
    [first, second, third] = lines(file)
    File.write!(file, [first, "\n"])
    {:ok, out} = StringIO.open("")
    shown = fn -> out |> StringIO.contents() |> elem(1) end

    said =
      capture_io(:stderr, fn ->
        follower =
          spawn(fn ->
            Process.group_leader(self(), out)
            Mix.Tasks.Jido.Audit.run([file, "--follow"])
          end)

        watch = Process.monitor(follower)
        eventually(fn -> shown.() =~ "grep_search" end, 60_000)

        # Another file of the name, longer than the one before.
        File.write!(file <> ".new", [second, "\n", third, "\n"])
        File.rename!(file <> ".new", file)
        eventually(fn -> shown.() =~ "mix_task" end, 60_000)

        # Truncated, and grown beyond where it was before anybody looked.
        File.write!(file, whole <> whole)
        eventually(fn -> length(Regex.scan(~r/grep_search/, shown.())) == 3 end, 60_000)

        # Gone, and there again, shorter.
        File.rm!(file)
        File.write!(file, [third, "\n"])
        eventually(fn -> length(Regex.scan(~r/mix_task/, shown.())) == 4 end, 60_000)

        Process.exit(follower, :kill)
        assert_receive {:DOWN, ^watch, :process, _pid, :killed}, 60_000
      end)

    assert length(Regex.scan(~r/truncated or replaced/, said)) == 3
  end
end
