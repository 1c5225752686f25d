defmodule JidoCode.Tools.Definitions.BashOutput do
  @moduledoc """
  The `bash_output` tool as data.
  """

  alias JidoCode.Tools.Handlers

  @doc "The definition in a list, as all definition modules have it."
  @spec all() :: [map()]
  def all, do: [bash_output()]

  @doc "Reads a background command's output."
  @spec bash_output() :: map()
  def bash_output do
    %{
      name: "bash_output",
      description:
        "Read what a background command has printed since the last call, and whether it still runs. By default waits for its " <>
          "end up to timeout; when the wait is over it answers with what there is.",
      handler: Handlers.BashOutput,
      parameters: [
        %{name: "shell_id", type: :string, required: true, description: "The id that bash_background gave."},
        %{
          name: "block",
          type: :boolean,
          required: false,
          default: true,
          description: "Wait for the command's end (default true); false answers at once."
        },
        %{
          name: "timeout",
          type: :integer,
          required: false,
          default: 30_000,
          description: "How long to wait at most, in milliseconds (default 30000, maximum 600000)."
        },
        %{
          name: "cursor",
          type: :string,
          required: false,
          description: "Read from this earlier cursor again instead of going on; \"0:0\" is the beginning."
        }
      ]
    }
  end
end
