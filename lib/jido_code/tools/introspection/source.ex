defmodule JidoCode.Tools.Introspection.Source do
  @moduledoc false
  # The source file of a module, found and read.
  #
  # Where it was when it was compiled is what the module's file says, and a command may have written that: only sources below the
  # project, its dependencies and the toolchain are read, whatever links stand in between.

  alias JidoCode.Tools.Introspection.DebugInfo
  alias JidoCode.Tools.{PlainFile, Visible, Workspace}
  alias JidoCode.Tools.Project.Places

  @max_bytes 4_000_000
  @kinds ~w(.ex .exs .erl .hrl .yrl .xrl .eex .leex .heex .xrl)

  @enforce_keys [:shown, :lines]
  defstruct [:shown, :lines]

  @typedoc "`shown` is the path as people write it; `lines` is nil where the file is not here or may not be read."
  @type t :: %__MODULE__{shown: String.t(), lines: tuple() | nil}

  @doc """
  A file that the debug information of a module names: `file`, or the module's own for nil. `beam` is where the module's file lies,
  `root` the project.
  """
  @spec find(DebugInfo.t(), String.t() | nil, Path.t(), String.t()) :: t()
  def find(info, file, beam, root) do
    candidates = candidates(info, file, Path.dirname(Path.dirname(beam)))
    found = Enum.find_value(candidates, &read(&1, root))

    found ||
      %__MODULE__{shown: Visible.escape(shown(file || info.relative || info.source || "?", beam)), lines: nil}
  end

  # Where it was compiled, and where it is installed.
  defp candidates(info, file, folder) do
    own = Enum.uniq(for path <- [info.source, info.relative], path != nil, do: path)
    named = if file, do: [file], else: own
    beside = if info.source && file && Path.type(file) == :relative, do: upwards(info, file), else: []

    Enum.uniq(
      for(path <- named, Path.type(path) == :absolute, do: path) ++
        beside ++
        for(path <- named, Path.type(path) == :relative, do: Path.join(folder, path)) ++
        for(path <- named, do: Path.join([folder, "src", Path.basename(path)]))
    )
  end

  # A relative path is meant from the folder of the module's project.
  defp upwards(%{source: source, relative: relative}, file) do
    if relative && String.ends_with?(source, "/" <> relative),
      do: [Path.join(String.replace_suffix(source, relative, ""), file)],
      else: [Path.join(Path.dirname(source), Path.basename(file))]
  end

  defp read(path, root) do
    with true <- Path.extname(path) in @kinds,
         {folder, resolved} <- Enum.find_value(allowed(root), &beneath(&1, path)),
         {:ok, content, _identity} <- PlainFile.read(resolved.absolute, @max_bytes),
         true <- String.valid?(content) do
      shown = if folder == root, do: resolved.relative, else: resolved.absolute
      %__MODULE__{shown: Visible.escape(shown), lines: content |> String.split(~r/\r?\n/) |> List.to_tuple()}
    else
      _not_here -> nil
    end
  end

  defp beneath(folder, path) do
    case Workspace.resolve(folder, path) do
      {:ok, %{exists?: true, directory?: false} = resolved} -> {folder, resolved}
      _outside -> nil
    end
  end

  defp allowed(root), do: Enum.filter([root | Places.readable()] ++ toolchain(), &File.dir?/1)

  defp toolchain do
    elixir = :code.lib_dir(:elixir)

    folders = [
      to_string(:code.root_dir()) | if(is_list(elixir), do: [Path.dirname(to_string(elixir))], else: [])
    ]

    # Links to where it is installed are the toolchain's own.
    Enum.uniq(folders)
  end

  # The folders of the machine that compiled it tell nobody anything.
  defp shown(path, beam) do
    case Path.type(path) do
      :relative -> Path.join(Path.basename(Path.dirname(Path.dirname(beam))), path)
      _absolute -> Path.join(Path.basename(Path.dirname(Path.dirname(beam))), Path.basename(path))
    end
  end

  @doc "A line of it, or nil."
  @spec line(t(), integer()) :: String.t() | nil
  def line(%__MODULE__{lines: lines}, number) when is_tuple(lines) and number in 1..tuple_size(lines)//1,
    do: elem(lines, number - 1)

  def line(_source, _number), do: nil

  @doc """
  The last line of the definition that begins in a line, as people and formatters indent: it goes on while lines are indented
  further, are blank, or close what was opened.
  """
  @spec last_line(t(), pos_integer(), :elixir | :erlang, pos_integer()) :: pos_integer()
  def last_line(source, from, backend, most) do
    indent = indent(line(source, from) || "")
    last(source, from, from + 1, from + most, indent, backend)
  end

  # The last line that belongs to it, and the one looked at.
  defp last(_source, known, number, bound, _indent, _backend) when number >= bound, do: known

  defp last(source, known, number, bound, indent, :erlang) do
    # A form ends with a full stop at the end of a line.
    cond do
      (line(source, number - 1) || ".") =~ ~r/\.\s*(%.*)?$/ -> number - 1
      line(source, number) == nil -> known
      true -> last(source, number, number + 1, bound, indent, :erlang)
    end
  end

  defp last(source, known, number, bound, indent, :elixir) do
    case line(source, number) do
      nil ->
        known

      line ->
        cond do
          String.trim(line) == "" ->
            last(source, known, number + 1, bound, indent, :elixir)

          indent(line) > indent ->
            last(source, number, number + 1, bound, indent, :elixir)

          indent(line) == indent and line =~ ~r/^\s*end\b/ ->
            number

          indent(line) == indent and line =~ ~r/^\s*[\)\]\}|]/ ->
            last(source, number, number + 1, bound, indent, :elixir)

          true ->
            known
        end
    end
  end

  defp indent(line), do: String.length(line) - String.length(String.trim_leading(line))
end
