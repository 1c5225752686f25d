defmodule JidoCode.Tools.Attack.RunnerFailuresTest do
  # What a caller and the trail are told when the program that runs commands fails itself.
  use ExUnit.Case, async: true

  import JidoCode.Tools.Test.Attack

  @moduletag :attack
  @moduletag timeout: 180_000

  @runner Path.join(:code.priv_dir(:jido_code_tools), "native/jido_command_runner")

  # The answer of a call in a VM with that program as its runner, and the entry that it leaves.
  defp call(runner, meanwhile \\ "fn -> :ok end") do
    project = folders!().project
    File.write!(Path.join(project, "wait.exs"), "Process.sleep(:infinity)")

    evaluate(~w(unshare --fork --pid --mount-proc --kill-child), """
    #{runner && "Application.put_env(:jido_code_tools, :command_runner, #{inspect(runner)})"}
    context = %{project_root: #{inspect(project)}, session_id: "s", granted_tier: :execute}
    meanwhile = #{meanwhile}

    call = Task.async(fn ->
      JidoCode.Tools.SecureExecutor.call("bash_execute", %{"command" => "elixir wait.exs"}, context)
    end)

    meanwhile.()
    answer = Task.await(call, :infinity)
    JidoCode.Tools.Security.AuditWatch.settle()
    [entry] = JidoCode.Tools.Security.AuditLogger.get_audit_log("s")
    {answer, entry.status, entry.tool}
    """)
  end

  # What a runner reports that could not end all of a command: the kernel has no way to make one here.
  test "a command that could not be ended is an error, whatever its exit code says" do
    folder = folders!().outside
    output = %{"head" => "", "tail" => "", "size" => 0, "bytes" => 0, "lines" => 0}

    report = %{
      "event" => "done",
      "status" => "exited",
      "exit_code" => 0,
      "stages" => [],
      "stdout" => output,
      "stderr" => output,
      "failure" => nil,
      "processes_left" => 2,
      "confinement" => %{}
    }

    body = :erlang.term_to_binary(report)
    File.write!(Path.join(folder, "report"), <<byte_size(body)::32, body::binary>>)
    program = Path.join(folder, "runner")

    File.write!(program, """
    #!/bin/sh
    if [ "$1" = --hold ]; then exec #{@runner} "$@"; fi
    cat #{folder}/report
    """)

    File.chmod!(program, 0o755)
    assert {{:error, text}, :error, "bash_execute"} = call(program)
    assert text =~ "could not be ended: 2 of its processes are left"
  end

  test "a runner that is no runner is told as what failed" do
    assert {{:error, text}, :error, "bash_execute"} = call("/bin/false")
    assert text =~ "The command runner failed"
  end

  # Both processes of the runner at once, so that nobody is left to say how the command ended. In a process namespace of the
  # VM's own, so that nothing else can be meant.
  @kill """
  fn ->
    lines = fn ->
      for id <- File.ls!("/proc"), id =~ ~r/^[0-9]+$/, id != System.pid(),
          {:ok, line} <- [File.read("/proc/\#{id}/cmdline")], do: {id, line}
    end

    wait = fn wait ->
      unless Enum.any?(lines.(), fn {_id, line} -> line =~ "wait.exs" end) do
        Process.sleep(20)
        wait.(wait)
      end
    end

    wait.(wait)
    runners = for {id, line} <- lines.(), line =~ ~r/^jido_command_runner/, not (line =~ "--hold"), do: id
    System.cmd("kill", ["-9" | runners])
  end
  """

  test "a runner that is killed is an error in the answer and in the trail" do
    assert {{:error, text}, :error, "bash_execute"} = call(nil, @kill)
    assert text =~ "The command runner failed"
  end
end
