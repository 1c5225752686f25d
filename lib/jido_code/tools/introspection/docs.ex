defmodule JidoCode.Tools.Introspection.Docs do
  @moduledoc """
  The documentation, exports, specs and types of a module, read from its file without loading it.

  Loading a module runs its `@on_load` function, so it isn't done. A module that exists in memory only (made in a shell)
  has exports and nothing else.

  A name that was typed becomes no atom. It is looked for as a file on the code path; what that file holds is bounded by
  what is installed.
  """

  alias JidoCode.Tools.Introspection.{Markup, Names}

  @max_name 255
  @max_beam_bytes 50_000_000

  @type kind :: :function | :macro | :callback | :macrocallback | :type

  @typedoc "`doc` is nil where there is none, `:hidden` where the author hid it."
  @type entry :: %{
          kind: kind(),
          name: String.t(),
          arity: arity(),
          signature: String.t() | nil,
          doc: String.t() | :hidden | nil,
          defaults: non_neg_integer(),
          deprecated: String.t() | nil,
          since: String.t() | nil
        }

  @typedoc "Specs are unevaluated, since writing one out costs more than reading it: `{name, arity, write}`."
  @type spec :: {String.t(), arity(), (() -> [String.t()])}

  @type t :: %{
          moduledoc: String.t() | nil,
          documented: boolean(),
          entries: [entry()],
          specs: [spec()],
          callbacks: [spec()],
          types: [spec()]
        }

  @doc """
  Everything about a module: `"Enum"`, `"Elixir.Enum"`, `":lists"` or `"lists"`.
  """
  @spec fetch(String.t()) :: {:ok, t()} | {:error, :not_a_name | :not_found | :unreadable}
  def fetch(name) do
    with {:ok, file} <- file_name(name) do
      case object_code(file) do
        {:ok, beam, path} -> read(beam, path, file)
        {:memory, module} -> {:ok, undocumented(module.module_info(:exports))}
        :error -> {:error, :not_found}
      end
    end
  end

  # The name of the module as its file and its atom have it.
  defp file_name(name) do
    name = name |> String.trim() |> String.trim_leading(":")

    cond do
      # A name goes into a path, so nothing that means something there may be in it.
      byte_size(name) > @max_name or
          not (name =~ ~r/\A[\p{L}_][\p{L}\p{N}_@]*(\.[\p{L}_][\p{L}\p{N}_@]*)*\z/u) ->
        {:error, :not_a_name}

      String.starts_with?(name, "Elixir.") ->
        {:ok, name}

      name =~ ~r/\A\p{Lu}/u ->
        {:ok, "Elixir." <> name}

      true ->
        {:ok, name}
    end
  end

  defp object_code(file) do
    case on_path(file <> ".beam") do
      nil -> in_system(Names.existing(file))
      path -> read_file(path)
    end
  end

  # :code.where_is_file/1 does the same through a process, forty times slower.
  defp on_path(file) do
    Enum.find_value(:code.get_path(), fn folder ->
      path = Path.join(List.to_string(folder), file)
      if File.regular?(path, [:raw]), do: path
    end)
  end

  defp read_file(path) do
    with {:ok, %{size: size}} when size <= @max_beam_bytes <- File.stat(path),
         {:ok, beam} <- File.read(path) do
      {:ok, beam, path}
    else
      _unreadable -> :error
    end
  end

  # In an archive, or in memory only.
  defp in_system(:error), do: :error

  defp in_system({:ok, module}) do
    case :code.get_object_code(module) do
      {^module, beam, path} -> {:ok, beam, List.to_string(path)}
      :error -> if :erlang.module_loaded(module), do: {:memory, module}, else: :error
    end
  end

  defp read(beam, path, file) do
    case :beam_lib.chunks(beam, [:exports]) do
      {:ok, {_module, exports: exports}} ->
        docs =
          case chunk(beam, path, file) do
            {:docs_v1, _anno, _language, format, moduledoc, _meta, entries} ->
              documented(moduledoc, entries, format)

            nil ->
              undocumented(exports)
          end

        {:ok,
         %{
           docs
           | specs: typespecs(:fetch_specs, beam, &spec/2),
             callbacks: typespecs(:fetch_callbacks, beam, &spec/2),
             types: types(beam)
         }}

      {:error, :beam_lib, _reason} ->
        {:error, :unreadable}
    end
  end

  # Inside the file, or beside it, as older Erlang releases have it.
  defp chunk(beam, path, file) do
    case :beam_lib.chunks(beam, [~c"Docs"], [:allow_missing_chunks]) do
      {:ok, {_module, [{~c"Docs", docs}]}} when is_binary(docs) -> term(docs)
      _missing -> beside(path, file)
    end
  end

  defp beside(path, file) do
    case File.read(Path.join([Path.dirname(Path.dirname(path)), "doc", "chunks", file <> ".chunk"])) do
      {:ok, docs} -> term(docs)
      {:error, _reason} -> nil
    end
  end

  defp term(binary) do
    case :erlang.binary_to_term(binary) do
      docs when elem(docs, 0) == :docs_v1 and tuple_size(docs) == 7 -> docs
      _other -> nil
    end
  rescue
    ArgumentError -> nil
  end

  defp documented(moduledoc, entries, format) do
    %{
      moduledoc: moduledoc |> text(format) |> visible(),
      documented: true,
      entries: for({{_, _, _}, _, _, _, _} = entry <- entries, do: entry(entry, format)),
      specs: [],
      callbacks: [],
      types: []
    }
  end

  defp undocumented(exports) do
    entries =
      for {name, arity} <- Enum.sort(exports), name not in [:module_info, :__info__, :behaviour_info] do
        {kind, name, arity} = plain(name, arity)

        %{
          kind: kind,
          name: name,
          arity: arity,
          signature: "#{name}/#{arity}",
          doc: nil,
          defaults: 0,
          deprecated: nil,
          since: nil
        }
      end

    %{moduledoc: nil, documented: false, entries: entries, specs: [], callbacks: [], types: []}
  end

  # A macro is compiled to a function with another name and one more argument.
  defp plain(name, arity) do
    case Atom.to_string(name) do
      "MACRO-" <> macro -> {:macro, macro, arity - 1}
      function -> {:function, function, arity}
    end
  end

  defp entry({{kind, name, arity}, _anno, signatures, doc, meta}, format) do
    meta = if is_map(meta), do: meta, else: %{}

    %{
      kind: kind,
      name: Atom.to_string(name),
      arity: arity,
      signature: signature(signatures),
      doc: text(doc, format),
      defaults: Map.get(meta, :defaults, 0),
      deprecated: string(meta[:deprecated]),
      since: string(meta[:since])
    }
  end

  defp signature([signature | _]) when is_binary(signature), do: signature
  defp signature(_none), do: nil

  defp string(text) when is_binary(text), do: text
  defp string(_other), do: nil

  defp visible(:hidden), do: nil
  defp visible(text), do: text

  defp text(:hidden, _format), do: :hidden

  defp text(%{} = languages, format) when map_size(languages) > 0 do
    doc = Map.get_lazy(languages, "en", fn -> languages |> Map.values() |> hd() end)
    if format == "application/erlang+html", do: Markup.to_text(doc), else: string(doc)
  end

  defp text(_none, _format), do: nil

  # Code.Typespec isn't documented and may change, and it needs debug information: no specs is a fine answer.
  defp typespecs(function, beam, write) do
    with true <- Code.ensure_loaded?(Code.Typespec) and function_exported?(Code.Typespec, function, 1),
         {:ok, specs} <- apply(Code.Typespec, function, [beam]) do
      for {{name, arity}, forms} <- Enum.sort_by(specs, &elem(&1, 0)) do
        {_kind, plain_name, plain_arity} = plain(name, arity)
        {plain_name, plain_arity, fn -> Enum.map(forms, &write.(plain_name, &1)) end}
      end
    else
      _none -> []
    end
  rescue
    _error -> []
  end

  defp spec(name, form) do
    # The name is written, not used: any atom serves.
    :spec_of_nobody
    |> Code.Typespec.spec_to_quoted(form)
    |> Macro.to_string()
    |> String.replace("spec_of_nobody", name)
  end

  defp types(beam) do
    with true <- Code.ensure_loaded?(Code.Typespec) and function_exported?(Code.Typespec, :fetch_types, 1),
         {:ok, types} <- Code.Typespec.fetch_types(beam) do
      for {kind, {name, _form, arguments} = type} <- types, kind != :typep do
        {Atom.to_string(name), length(arguments), fn -> [write_type(kind, type)] end}
      end
      |> Enum.sort_by(fn {name, arity, _write} -> {name, arity} end)
    else
      _none -> []
    end
  rescue
    _error -> []
  end

  # What an opaque type is made of is nobody's business.
  defp write_type(kind, type) do
    quoted = Code.Typespec.type_to_quoted(type)

    case {kind, quoted} do
      {:opaque, {:"::", _meta, [head, _body]}} -> "@opaque " <> Macro.to_string(head)
      _type -> "@type " <> Macro.to_string(quoted)
    end
  end
end
