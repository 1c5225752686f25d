defmodule Jason.MixProject do
  use Mix.Project

  def project, do: [app: :jason, version: "1.4.4", elixir: "~> 1.14", deps: []]
  def application, do: []
end
