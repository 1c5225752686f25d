defmodule JidoCode.Tools.Introspection.Compiled do
  @moduledoc false
  # A module as it was compiled: its file, and the debug information in it. Nothing is loaded, and no atom is made.

  alias JidoCode.Tools.Introspection.{BeamFile, DebugInfo, Names, Reference}

  @type t :: %{info: DebugInfo.t(), beam: Path.t()}

  @doc "Reads the module with the text `name` (`Elixir.Shop.Cart`, `lists`), or says why its definitions can't be read."
  @spec read(String.t()) :: {:ok, t()} | {:error, String.t()}
  def read(name) do
    with {:ok, path, _identity} <- BeamFile.find(name),
         {:ok, beam} <- BeamFile.read(path),
         {:ok, chunks} <- BeamFile.chunks(beam),
         {:ok, info} <- DebugInfo.read(name, chunks) do
      {:ok, %{info: info, beam: path}}
    else
      {:error, :no_debug_info} -> {:error, stripped(name)}
      {:error, :malformed} -> {:error, malformed(name)}
      :error -> {:error, missing(name)}
    end
  end

  defp stripped(name) do
    "#{Reference.show_module(name)} was compiled without debug information, as releases are: its lines and calls are not known. " <>
      "grep_search finds it by its name"
  end

  @doc "The error for a module whose debug information has another form than a compiler gives it."
  @spec malformed(String.t()) :: String.t()
  def malformed(name) do
    "The compiled file of #{Reference.show_module(name)} is malformed: its debug information can't be read. Compile the module again"
  end

  defp missing(name) do
    loaded? =
      with {:ok, atom} <- Names.existing(name), do: :erlang.module_loaded(atom), else: (:error -> false)

    if loaded?,
      do: "#{Reference.show_module(name)} is in memory only: it was made by code that ran, and has no file",
      else: "Module not found: there is no compiled #{Reference.show_module(name)}; does the project compile?"
  end
end
