defmodule JidoCode.Tools.Definitions.BashBackground do
  @moduledoc """
  The `bash_background` tool as data.
  """

  alias JidoCode.Tools.Handlers

  @doc "The definition in a list, as all definition modules have it."
  @spec all() :: [map()]
  def all, do: [bash_background()]

  @doc "Starts a command line in the background."
  @spec bash_background() :: map()
  def bash_background do
    %{
      name: "bash_background",
      description:
        "Start a command line in the background and get a shell_id at once. The same commands are allowed as in " <>
          "bash_execute. Read its output with bash_output, end it with kill_shell. It lives as long as this session, at most " <>
          "one hour; ten minutes after its end its output is gone.",
      handler: Handlers.BashBackground,
      parameters: [
        %{name: "command", type: :string, required: true, description: "The command line to run."},
        %{
          name: "description",
          type: :string,
          required: false,
          description: "What it is for, to tell it from others."
        }
      ]
    }
  end
end
