defmodule JidoCode.Tools.Definitions.BashExecute do
  @moduledoc """
  The `bash_execute` tool as data.
  """

  alias JidoCode.Tools.Handlers

  @doc "The definition in a list, as all definition modules have it."
  @spec all() :: [map()]
  def all, do: [bash_execute()]

  @doc "Runs a command line."
  @spec bash_execute() :: map()
  def bash_execute do
    %{
      name: "bash_execute",
      description:
        "Run a command line in the project and get stdout, stderr and the exit code. Commands can be joined by |, &&, || " <>
          "and ;, with redirections to files inside the project. No shell runs it: no variables, substitutions, loops or " <>
          "background jobs. Allowed are text and file tools (cat, head, tail, ls, wc, sort, uniq, diff, cut, grep, rg, find, " <>
          "cp, mv, mkdir, rm, touch, ...), git (local subcommands), mix (tasks of mix_task), rebar3, cargo, npm, make, and " <>
          "elixir, erl, node, python3 to run a file of the project. Paths stay inside the project. For tests prefer " <>
          "run_exunit, to search prefer grep_search, for servers and long jobs use bash_background.",
      handler: Handlers.BashExecute,
      parameters: [
        %{
          name: "command",
          type: :string,
          required: true,
          description: "The command line, e.g. \"git status --short | head -20\"."
        },
        %{
          name: "description",
          type: :string,
          required: false,
          description: "What the command does, in 5 to 10 words."
        },
        %{
          name: "timeout",
          type: :integer,
          required: false,
          default: 120_000,
          description: "Time limit in milliseconds (default 120000, maximum 600000)."
        },
        %{
          name: "working_directory",
          type: :string,
          required: false,
          description: "Folder inside the project to run in (default: the project's root)."
        }
      ]
    }
  end
end
