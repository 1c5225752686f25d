defmodule JidoCode.Tools.Handlers.Shell do
  @moduledoc "The host's own handler, as plain as they come: it declares nothing, and fails as it likes."

  @spec execute(map(), map()) :: {:ok, String.t()}
  def execute(%{"command" => "crash"}, _context), do: raise("the host's handler fails")
  def execute(%{"command" => "say", "args" => words}, _context), do: {:ok, Enum.join(words, " ")}
end
