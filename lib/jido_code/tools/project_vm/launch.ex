defmodule JidoCode.Tools.ProjectVM.Launch do
  @moduledoc false
  # How a VM that may run the project's code is started: by what command, and confined to what.

  alias JidoCode.Tools.Config
  alias JidoCode.Tools.Project.Places

  @doc "The command that runs Elixir with this library's code."
  @spec elixir([String.t()]) :: [String.t()]
  def elixir(arguments), do: ["elixir", "-pa", Application.app_dir(:jido_code_tools, "ebin") | arguments]

  @doc "What confines it, as options of `JidoCode.Tools.Command`."
  @spec options(Path.t(), %{String.t() => String.t()}) :: keyword()
  def options(root, env) do
    env =
      Map.merge(%{"LANG" => "C.UTF-8", "LC_ALL" => "C.UTF-8", "MIX_ENV" => System.get_env("MIX_ENV")}, env)

    places = Places.options(root, env)
    own = Enum.map(~w(ebin priv), &Application.app_dir(:jido_code_tools, &1))

    Keyword.update!(places, :read, &(own ++ &1)) ++
      [cd: root, network: :all, confinement: Config.get(:command_confinement)]
  end
end
