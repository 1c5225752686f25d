defmodule JidoCode.Tools.DoctorTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.Command
  alias JidoCode.Tools.Doors.Doctor

  defp confined(confinement, processes \\ "whole tree") do
    {:ok, result} = Command.run(["true"])

    changed = %{
      result
      | confinement: Map.merge(result.confinement, confinement),
        limits: %{"processes" => processes}
    }

    Doctor.linux({:ok, changed})
  end

  test "a machine that gives everything is whole" do
    assert Doctor.whole?(confined(%{"missing" => [], "landlock_abi" => 7}))
  end

  test "what is missing is a promise that isn't kept, with what mends it" do
    found = confined(%{"missing" => ["namespaces: user namespace: Permission denied"], "landlock_abi" => 6})
    refute Doctor.whole?(found)
    assert [%{text: "No command changes git's" <> _, mend: mend}] = Enum.reject(found.promises, & &1.kept?)
    assert is_binary(mend)

    assert %{ok?: false, value: "namespaces: user namespace" <> _} =
             Enum.find(found.facts, &(&1.name == "namespaces"))

    refute Doctor.whole?(confined(%{"missing" => [], "landlock_abi" => 3}))
    refute Doctor.whole?(confined(%{"missing" => [], "landlock_abi" => 7}, "not applied: root is exempt"))
  end

  test "this machine is looked at by running a command, and the task's exit status follows from it" do
    found = Doctor.look()
    {text, status} = System.cmd("mix", ["jido.doctor"], env: [{"MIX_ENV", "test"}], stderr_to_stdout: true)
    assert status == if(Doctor.whole?(found), do: 0, else: 1)
    for promise <- found.promises, do: assert(text =~ promise.text)

    for name <- ["kernel", "namespaces", "bubblewrap", "Landlock", "seccomp", "Elixir", "OTP", "Rust"],
        do: assert(text =~ name)
  end
end
