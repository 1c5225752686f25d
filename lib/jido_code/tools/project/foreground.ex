defmodule JidoCode.Tools.Project.Foreground do
  @moduledoc false
  # Runs a command for a tool call that waits for it: the audit trail is told what confines it, the caller what it prints
  # meanwhile, and it ends with the call.

  alias JidoCode.Tools.{Command, Progress, Temporary}
  alias JidoCode.Tools.Command.Confinement

  @typedoc """
  Looks at what came since the last time, about twice a second: goes on (what the command printed is then reported as progress),
  goes on with another report in its place, or ends the command with an answer of its own.
  """
  @type look(acc) ::
          (%{stdout: String.t(), stderr: String.t(), channel: String.t()}, acc ->
             {:cont, acc} | {:report, String.t() | nil, acc} | {:halt, term()})

  @doc """
  Runs to the end. `command` and `options` are those of `JidoCode.Tools.Command.run/2`.
  """
  @spec run([String.t(), ...] | Command.plan(), keyword(), map(), acc, look(acc)) ::
          {:ok, Command.Result.t()} | {:error, Command.reason()} | term()
        when acc: term()
  def run(command, options, context, acc \\ nil, look \\ fn _new, acc -> {:cont, acc} end) do
    with {:ok, temporary} <- Temporary.options(context),
         {:ok, running} <- Command.start(command, temporary ++ options) do
      try do
        Confinement.tell(context, Command.confinement(running))

        Command.watch(running, {Progress.start(), acc}, fn new, {seen, acc} ->
          case look.(new, acc) do
            {:cont, acc} ->
              {:cont, {Progress.follow(context, seen, new), acc}}

            {:report, text, acc} ->
              Progress.report(context, text)
              {:cont, {seen, acc}}

            {:halt, answer} ->
              {:halt, answer}
          end
        end)
      after
        Command.close(running)
      end
    end
  end
end
