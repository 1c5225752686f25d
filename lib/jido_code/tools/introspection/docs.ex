defmodule JidoCode.Tools.Introspection.Docs do
  @moduledoc false
  # The documentation, exports, specs and types of a module, read from its file without loading it.
  #
  # Loading a module runs its `@on_load` function, so it isn't done. A module that exists in memory only (made in a shell)
  # has exports and nothing else.
  #
  # A name that was typed becomes no atom, and none is made of what a file holds. A command may have written that file: what is
  # taken of it is bounded, and nothing of it is run.

  alias JidoCode.Tools.Introspection.{
    BeamFile,
    DocsIndex,
    ExternalTerm,
    Markup,
    ModuleFacts,
    Names,
    Typespecs
  }

  alias JidoCode.Tools.PlainFile

  @max_name 255
  # Of a module's documentation.
  @max_unpacked 32_000_000
  @max_summary 200

  @type kind :: :function | :macro | :callback | :macrocallback | :type

  @typedoc """
  `doc` is nil where there is none, `:hidden` where the author hid it. `summary` is its first sentence, `length` counts its
  characters.
  """
  @type entry :: %{
          kind: kind(),
          name: String.t(),
          arity: arity(),
          signature: String.t() | nil,
          doc: String.t() | :hidden | nil,
          summary: String.t() | nil,
          length: non_neg_integer(),
          defaults: non_neg_integer(),
          deprecated: String.t() | nil,
          since: String.t() | nil,
          line: pos_integer() | nil
        }

  @typedoc "Specs are unevaluated, since writing one out costs more than reading it: `{name, arity, write}`."
  @type spec :: {String.t(), arity(), (() -> [String.t()])}

  @type t :: %{
          name: String.t(),
          facts: ModuleFacts.t(),
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
      found =
        case BeamFile.find(file) do
          {:ok, path, identity} -> on_disk(path, identity, file)
          :error -> in_memory(Names.existing(file))
        end

      with {:ok, docs} <- found, do: {:ok, Map.put(docs, :name, file)}
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

  defp in_memory({:ok, module}) do
    if :erlang.module_loaded(module),
      do: {:ok, module |> :erlang.get_module_info(:exports) |> Enum.map(&named/1) |> undocumented()},
      else: {:error, :not_found}
  end

  defp in_memory(:error), do: {:error, :not_found}

  defp named({name, arity}), do: {Atom.to_string(name), arity}

  # Kept by the identities of both files that it may be read from.
  defp on_disk(path, identity, file) do
    beside = beside(path, file)
    key = if identity != nil, do: {path, [identity | PlainFile.identities([beside])]}

    with {:ok, docs} <- DocsIndex.fetch(key, fn -> read(path, beside) end) do
      {:ok,
       %{
         docs
         | specs: writers(docs.specs, key, :spec, &Typespecs.write_spec/2),
           callbacks: writers(docs.callbacks, key, :callback, &Typespecs.write_spec/2),
           types: writers(docs.types, key, :type, fn _name, type -> Typespecs.write_type(type) end)
       }}
    end
  end

  # As older Erlang releases have it.
  defp beside(path, file),
    do: Path.join([Path.dirname(Path.dirname(path)), "doc", "chunks", file <> ".chunk"])

  defp read(path, beside) do
    with {:ok, beam} <- BeamFile.read(path),
         {:ok, chunks} <- BeamFile.chunks(beam),
         {:ok, exports} <- BeamFile.exports(chunks) do
      docs =
        case docs_v1(chunks["Docs"]) || docs_v1(beside) do
          nil -> undocumented(exports)
          {format, moduledoc, entries} -> documented(moduledoc, entries, format)
        end

      attributes = Typespecs.attributes(chunks)

      {:ok,
       %{
         docs
         | facts: ModuleFacts.of(chunks, exports),
           specs: attributes |> Typespecs.specs(:spec) |> sorted(),
           callbacks: attributes |> Typespecs.specs(:callback) |> sorted(),
           types: attributes |> Typespecs.types() |> sorted()
       }}
    else
      :error -> {:error, :unreadable}
    end
  end

  defp docs_v1(nil), do: nil

  defp docs_v1("/" <> _path = beside) do
    case BeamFile.read(beside) do
      {:ok, chunk} -> docs_v1(chunk)
      :error -> nil
    end
  end

  defp docs_v1(chunk) do
    with {:ok, body} <- ExternalTerm.open(chunk, @max_unpacked),
         {:ok, {:docs_v1, _anno, _language, format, moduledoc, _meta, entries}} when is_list(entries) <-
           ExternalTerm.decode(body) do
      {format, moduledoc, entries}
    else
      _other -> nil
    end
  end

  # Under the names that they are written with, and in their order.
  defp sorted(specs) do
    specs |> Enum.sort_by(fn {name, arity, _forms} -> {name, arity} end) |> Enum.map(&under_plain_name/1)
  end

  defp under_plain_name({name, arity, forms}) do
    {_kind, name, arity} = plain(name, arity)
    {name, arity, forms}
  end

  # Written when they are wanted, since writing one costs more than reading it; and once.
  defp writers(specs, key, kind, write) do
    for {{name, arity, forms}, place} <- Enum.with_index(specs) do
      texts = fn -> for form <- List.wrap(forms), text = write.(name, form), do: text end
      {name, arity, fn -> DocsIndex.text(key, {kind, place}, texts) end}
    end
  end

  defp documented(moduledoc, entries, format) do
    %{
      facts: ModuleFacts.none(),
      moduledoc: moduledoc |> text(format) |> visible(),
      documented: true,
      entries: for(entry <- entries, entry = entry(entry, format), do: entry),
      specs: [],
      callbacks: [],
      types: []
    }
  end

  defp undocumented(exports) do
    entries =
      for {name, arity} <- Enum.sort(exports), name not in ~w(module_info __info__ behaviour_info) do
        {kind, name, arity} = plain(name, arity)

        %{
          kind: kind,
          name: name,
          arity: arity,
          signature: "#{name}/#{arity}",
          doc: nil,
          summary: nil,
          length: 0,
          defaults: 0,
          deprecated: nil,
          since: nil,
          line: nil
        }
      end

    %{
      facts: ModuleFacts.none(),
      moduledoc: nil,
      documented: false,
      entries: entries,
      specs: [],
      callbacks: [],
      types: []
    }
  end

  # A macro is compiled to a function with another name and one more argument.
  defp plain("MACRO-" <> macro, arity) when arity > 0, do: {:macro, macro, arity - 1}
  defp plain(function, arity), do: {:function, function, arity}

  # The first sentence of the first paragraph.
  defp summary(doc) when not is_binary(doc), do: nil

  defp summary(doc) do
    paragraph = doc |> String.trim_leading() |> String.split(~r/\n\s*\n/, parts: 2) |> hd()

    sentence =
      paragraph |> String.replace(~r/\s+/, " ") |> String.split(~r/(?<=[.!?]) (?=\p{Lu})/u, parts: 2) |> hd()

    sentence = String.trim(sentence)

    if String.length(sentence) > @max_summary,
      do: String.slice(sentence, 0, @max_summary) <> "…",
      else: sentence
  end

  @kinds [:function, :macro, :callback, :macrocallback, :type]

  # Whatever else stands there is no entry: anybody may have written it.
  defp entry({{kind, name, arity}, anno, signatures, doc, meta}, format)
       when kind in @kinds and arity in 0..255 do
    meta = if is_map(meta), do: meta, else: %{}

    if name = ExternalTerm.name(name) do
      doc = text(doc, format)

      %{
        kind: kind,
        name: name,
        arity: arity,
        signature: signature(signatures),
        doc: doc,
        summary: summary(doc),
        length: if(is_binary(doc), do: String.length(doc), else: 0),
        defaults: defaults(meta, arity),
        deprecated: string(meta[:deprecated]),
        since: string(meta[:since]),
        line: line(anno)
      }
    end
  end

  defp entry(_other, _format), do: nil

  # As the compilers annotate: a line, a line and a column, or a list that has one of them.
  defp line(line) when is_integer(line) and line > 0, do: line
  defp line({line, _column}), do: line(line)

  defp line([_ | _] = anno) do
    if not List.improper?(anno), do: Enum.find_value(anno, &location/1)
  end

  defp line(_none), do: nil

  defp location({:location, at}), do: line(at)
  defp location(_other), do: nil

  defp defaults(%{defaults: defaults}, arity) when defaults in 0..255, do: min(defaults, arity)
  defp defaults(_meta, _arity), do: 0

  defp signature([signature | _]), do: string(signature)
  defp signature(_none), do: nil

  defp string(text) when is_binary(text), do: if(String.valid?(text), do: text)
  defp string(_other), do: nil

  defp visible(:hidden), do: nil
  defp visible(text), do: text

  defp text(:hidden, _format), do: :hidden

  defp text(%{} = languages, format) when map_size(languages) > 0 do
    doc = Map.get_lazy(languages, "en", fn -> languages |> Map.values() |> hd() end)
    if format == "application/erlang+html", do: doc |> Markup.to_text() |> string(), else: string(doc)
  end

  defp text(_none, _format), do: nil
end
