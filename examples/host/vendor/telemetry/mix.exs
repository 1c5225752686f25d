defmodule Telemetry.MixProject do
  use Mix.Project

  def project, do: [app: :telemetry, version: "1.3.0", elixir: "~> 1.14", deps: []]
  def application, do: [mod: {:telemetry_app, []}]
end
