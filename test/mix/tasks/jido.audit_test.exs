defmodule Mix.Tasks.Jido.AuditTest do
  # The configuration is the whole VM's.
  use ExUnit.Case, async: false

  import ExUnit.CaptureIO

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
    {:ok, trail: file}
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
end
