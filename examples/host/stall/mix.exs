defmodule Stall.MixProject do
  use Mix.Project

  def project, do: [app: :stall, version: "0.1.0", elixir: "~> 1.14", deps: []]
  def application, do: [mod: {Stall.Application, []}, extra_applications: [:logger]]
end
