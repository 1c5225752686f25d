defmodule JidoCode.MixProject do
  use Mix.Project

  def project do
    [
      app: :jido_code,
      version: "0.1.0",
      elixir: "~> 1.14",
      start_permanent: Mix.env() == :prod,
      deps: deps(),
      # Documentation stays in the release, for fetch_elixir_docs.
      releases: [jido_code: [strip_beams: [keep: ["Docs"]]]]
    ]
  end

  def application, do: [mod: {JidoCode.Application, []}, extra_applications: [:logger]]

  defp deps do
    [
      {:jido_code_tools, path: "../jido_code_tools"},
      # Stand-ins for the packages of these names, so that all this runs without a package registry.
      {:telemetry, path: "vendor/telemetry"},
      {:jason, path: "vendor/jason"},
      # What the agent works on: running in the same node, and its sources beside.
      {:stall, path: "stall"}
    ]
  end
end
