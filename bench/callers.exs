# What find_callers, `mix xref callers` and grep for the name each find of the modules of the project it is run in, and how
# long each takes, in one run. A line is FILE:LINE; xref gives files only, so files are what all three are compared by.
#
#     mix run --no-start bench/callers.exs [MODULE ...]
#
# By default ten of this library's modules that many use.

defmodule Bench.Callers do
  alias JidoCode.Tools.Handlers.Elixir.FindCallers

  @few ~w(Shortened Visible Workspace Operation Introspection.Bounded Introspection.Names Introspection.At Security.Native
          Command.Output Introspection.Source)

  def main(modules) do
    {:ok, _} = Application.ensure_all_started(:jido_code_tools)
    modules = if modules == [], do: Enum.map(@few, &("JidoCode.Tools." <> &1)), else: modules
    # A name that is misspelled would be measured as one that nobody uses.
    for module <- modules, do: Code.ensure_loaded!(Module.concat([module]))

    IO.puts("files: tool, only tool, only xref | lines: grep, only grep, only tool | ms: tool, xref, grep\n")

    for module <- modules do
      {tool_us, uses} = :timer.tc(fn -> uses(module) end)
      {xref_us, xref} = :timer.tc(fn -> xref(module) end)
      {grep_us, named} = :timer.tc(fn -> named(module) end)
      files = for {file, _line} <- uses, uniq: true, do: file

      IO.puts(
        "#{module}: #{length(files)}, #{shown(files -- xref)}, #{shown(xref -- files)} | " <>
          "#{length(named)}, #{length(named -- uses)}, #{length(uses -- named)} | #{ms(tool_us)}, #{ms(xref_us)}, #{ms(grep_us)}"
      )
    end
  end

  defp uses(module) do
    context = %{project_namespaces: :all, project_root: File.cwd!(), session_id: "bench"}
    {:ok, %{"uses" => uses}} = FindCallers.execute(%{"reference" => module, "limit" => 500}, context)
    for %{"file" => file, "line" => line} <- uses, uniq: true, do: {file, line}
  end

  # Without compiling: what is compared is the question, not the build.
  defp xref(module) do
    {out, 0} = System.cmd("mix", ["xref", "callers", module, "--no-compile"], stderr_to_stdout: true)
    for [_, file] <- Regex.scan(~r/^(\S+\.ex)\b/m, out), uniq: true, do: file
  end

  # As one searches who does not know what is aliased: the last part of the name.
  defp named(module) do
    name = module |> String.split(".") |> List.last()

    {out, 0} = System.cmd("grep", ["-rnw", "--include=*.ex", name, "lib"])
    for [_, file, line] <- Regex.scan(~r/^(\S+\.ex):(\d+):/m, out), do: {file, String.to_integer(line)}
  end

  defp shown([]), do: "0"
  defp shown(files), do: "#{length(files)} (#{Enum.join(files, " ")})"

  defp ms(us), do: div(us, 1_000)
end

Bench.Callers.main(System.argv())
