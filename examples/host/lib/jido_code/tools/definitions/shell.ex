defmodule JidoCode.Tools.Definitions.Shell do
  @moduledoc "The host's own shell tools. Three of them have names that the library has as well."

  alias JidoCode.Tools.{Handlers, Tool}

  @spec all() :: [Tool.t()]
  def all do
    command = %{name: "command", type: :string, description: "The program."}
    args = %{name: "args", type: :array, required: false, description: "Its arguments."}
    shell = %{name: "shell_id", type: :string, description: "A background shell."}

    for {name, parameters} <- [
          {"run_command", [command, args]},
          {"bash_background", [command, args]},
          {"bash_output", [shell]},
          {"kill_shell", [shell]}
        ] do
      Tool.new!(%{
        name: name,
        description: "The host's #{name}.",
        handler: Handlers.Shell,
        parameters: parameters
      })
    end
  end
end
