defmodule JidoCode.Tools.Introspection.Freshness do
  @moduledoc false
  # Whether the code that runs is the code that is written: what was compiled after it was loaded, and what was changed after it
  # was compiled. Looked at are the applications that Mix builds from the project's own folder.

  @named 5

  @doc "Adds a note to a result, or to why there is none, when it speaks of older code than what is written."
  @spec note(map() | String.t()) :: map() | String.t()
  def note(answer), do: with_note(answer, text(stale()))

  defp with_note(answer, nil), do: answer
  defp with_note(why, text) when is_binary(why), do: why <> "\n" <> text
  defp with_note(result, text), do: Map.update(result, "note", text, &(&1 <> " " <> text))

  @doc "Loaded modules that lie compiled otherwise, and source files changed since the last compile."
  @spec stale() :: %{modules: [module()], sources: [String.t()]}
  def stale do
    apps = apps()
    %{modules: Enum.flat_map(apps, &modules/1), sources: apps |> Enum.flat_map(&sources/1) |> Enum.uniq()}
  end

  @spec text(%{modules: [module()], sources: [String.t()]}) :: String.t() | nil
  def text(%{modules: [], sources: []}), do: nil

  def text(%{modules: modules, sources: sources}) do
    [
      modules != [] &&
        "This VM runs older code than the compiled code of #{named(Enum.map(modules, &inspect/1))}; " <>
          "restart_project starts it anew.",
      sources != [] && "Changed since the last compile: #{named(sources)}."
    ]
    |> Enum.filter(&is_binary/1)
    |> Enum.join(" ")
  end

  defp named(names) do
    {shown, rest} = names |> Enum.sort() |> Enum.split(@named)
    Enum.join(shown, ", ") <> if(rest == [], do: "", else: " and #{length(rest)} more")
  end

  # Without Mix nobody knows where the sources are, and nobody compiles.
  defp apps do
    if Code.ensure_loaded?(Mix.Project) and Process.whereis(Mix.State) != nil and Mix.Project.get() != nil,
      do: Map.keys(Mix.Project.apps_paths() || %{Mix.Project.config()[:app] => "."}),
      else: []
  end

  defp modules(app) do
    for module <- listed(app),
        {:file, [_ | _] = path} <- [:code.is_loaded(module)],
        changed?(module, path),
        do: module
  end

  defp listed(app) do
    case :application.get_key(app, :modules) do
      {:ok, modules} -> modules
      :undefined -> []
    end
  end

  # The file's own time says when it need not be read.
  defp changed?(module, path) do
    stat = stat(path)
    key = {__MODULE__, module}

    case :persistent_term.get(key, nil) do
      {^stat, changed?} ->
        changed?

      _other ->
        changed? = differs?(module, path)
        :persistent_term.put(key, {stat, changed?})
        changed?
    end
  end

  defp differs?(module, path) do
    case :beam_lib.md5(path) do
      {:ok, {^module, md5}} -> md5 != module.module_info(:md5)
      _missing -> false
    end
  end

  defp sources(app) do
    case app |> Application.app_dir(".mix/compile.elixir") |> stat() do
      {compiled, _size} ->
        for source <- listed_sources(app), {time, _} <- [stat(source)], time > compiled, do: relative(source)

      nil ->
        []
    end
  rescue
    ArgumentError -> []
  end

  defp listed_sources(app) do
    for module <- listed(app),
        :code.is_loaded(module) != false,
        source = module.module_info(:compile)[:source],
        uniq: true,
        do: List.to_string(source)
  end

  defp relative(source), do: Path.relative_to_cwd(source)

  defp stat(path) do
    case File.stat(path, time: :posix) do
      {:ok, %{mtime: mtime, size: size}} -> {mtime, size}
      {:error, _reason} -> nil
    end
  end
end
