defmodule Mix.Tasks.Jido.Doctor do
  @shortdoc "Says how commands are confined on this machine, and what is missing"

  @moduledoc """
  Says what this machine provides for confining the commands that tools run, which promises can be kept with that, and how to fix what
  is missing.

      mix jido.doctor

  It finds out by running a command that does nothing. Exit status: 0 when every promise can be kept, 1 when one can't, 2 when it was given
  arguments.
  """

  use Mix.Task

  alias JidoCode.Tools.Doors.{Console, Doctor}

  @impl true
  def run([]), do: look()
  def run(argv), do: Console.helped?(argv, "jido.doctor") || refuse(argv)

  defp refuse([argument | _rest]) do
    IO.puts(:stderr, "mix jido.doctor: takes no arguments, got: #{argument}")
    exit({:shutdown, 2})
  end

  defp look do
    Console.quietly(fn ->
      Mix.Task.run("app.config")
      # No call is made here.
      Application.put_env(:jido_code_tools, :audit_file, nil, persistent: true)
      {:ok, _started} = Application.ensure_all_started(:jido_code_tools)
    end)

    found = Doctor.look()
    width = found.facts |> Enum.map(&String.length(&1.name)) |> Enum.max()

    for fact <- found.facts do
      IO.puts(["  ", mark(fact.ok?), " ", String.pad_trailing(fact.name, width), "  ", fact.value])
    end

    IO.puts("")

    for promise <- found.promises do
      IO.puts([mark(promise.kept?), " ", promise.text, "."])
      if promise.mend, do: IO.puts(["     to fix it: ", promise.mend])
    end

    unless Doctor.whole?(found), do: exit({:shutdown, 1})
  end

  defp mark(true), do: "yes"
  defp mark(false), do: "NO "
end
