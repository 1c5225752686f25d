defmodule JidoCode.Tools.Security.AuditTrail do
  @moduledoc false
  # The audit file as its readers see it: its entries, and whether it is whole.

  alias JidoCode.Tools.{JSON, PlainFile}
  alias JidoCode.Tools.Security.{AuditKey, Native}

  # Read at once.
  @part 4 * 1024 * 1024

  # Longer than any entry's line.
  @max_line 16 * 1024

  # Enough to hold an entry's digest, which no other line has.
  @mark 128

  @type report :: %{entries: non_neg_integer(), head: String.t(), torn_bytes: non_neg_integer()}

  @doc """
  Checks a file with the secret that its chain was made with. With `head`, in hexadecimal digits, the file must also have come by it.
  """
  @spec verify(Path.t(), binary(), String.t() | nil) ::
          {:ok, report()} | {:damaged, String.t(), report()} | {:error, String.t()}
  def verify(path, secret, head \\ nil) do
    case Native.audit_verify_trail(path, AuditKey.derived(secret, "chain")) do
      {:ok, entries, digest, torn} -> came_by(path, head, report(entries, digest, torn))
      {:damaged, text, entries, digest} -> {:damaged, text, report(entries, digest, 0)}
      {:error, text} -> {:error, "the file can't be read: #{text}"}
    end
  end

  defp report(entries, digest, torn),
    do: %{entries: entries, head: Base.encode16(digest, case: :lower), torn_bytes: torn}

  defp came_by(_path, nil, report), do: {:ok, report}

  defp came_by(path, head, report) do
    head = String.downcase(head)

    if head == report.head or there?(path, head),
      do: {:ok, report},
      else:
        {:damaged,
         "No entry has the head #{head}: entries at the end were removed, or the head belongs to another file.",
         report}
  end

  defp there?(path, head) do
    case read(path, start()) do
      {:ok, items, _place} -> Enum.any?(items, &match?(%{"digest" => ^head}, &1))
      _unread -> false
    end
  end

  # Writers of one configured file at a time.
  @writers 99

  @doc """
  Where an audit file's entries are written: in the file, or, while another VM writes that, in the first beside it that none
  writes. Of nil, nowhere.

      iex> JidoCode.Tools.Security.AuditTrail.places("/log/audit.jsonl") |> Enum.take(3)
      ["/log/audit.jsonl", "/log/audit.2.jsonl", "/log/audit.3.jsonl"]
  """
  @spec places(Path.t() | nil) :: [Path.t() | nil]
  def places(nil), do: [nil]

  def places(file) do
    extension = Path.extname(file)
    [file | for(n <- 2..@writers, do: "#{Path.rootname(file, extension)}.#{n}#{extension}")]
  end

  @typedoc """
  Where reading goes on: in which file, and behind how many bytes and lines. The bytes before that tell a file that was cut or
  written anew.
  """
  @opaque place :: %{
            file: {integer(), integer()} | nil,
            offset: non_neg_integer(),
            line: pos_integer(),
            mark: binary(),
            # Within a line that is too long: the rest of it is passed over.
            skip?: boolean()
          }

  @typedoc "An entry, or the number of a line that is none, with its beginning."
  @type item :: map() | {:damaged, line :: pos_integer(), binary()}

  @doc "The beginning of a file."
  @spec start() :: place()
  def start, do: %{file: nil, offset: 0, line: 1, mark: "", skip?: false}

  @doc """
  The whole lines from a place on, and the place behind them. `{:replaced, place}` when what was read is not there any more: the
  file was truncated, or another one has its name.
  """
  @spec read(Path.t(), place()) :: {:ok, [item()], place()} | {:replaced, place()} | {:error, String.t()}
  def read(path, place) do
    with [identity] when identity != nil <- PlainFile.identities([path]),
         {:ok, device} <- :file.open(path, [:read, :raw, :binary]) do
      try do
        read_open(device, place)
      after
        :file.close(device)
      end
    else
      [nil] -> {:error, "the file does not exist, or is not a regular file"}
      {:error, reason} -> unreadable(reason)
    end
  end

  defp read_open(device, place) do
    with {:ok, info} <- :file.read_file_info(device) do
      %{major_device: number, inode: inode} = File.Stat.from_record(info)
      file = {number, inode}

      if place.file in [nil, file] and marked?(device, place),
        do: parts(device, %{place | file: file}, []),
        else: {:replaced, start()}
    else
      {:error, reason} -> unreadable(reason)
    end
  end

  defp marked?(_device, %{mark: ""}), do: true

  defp marked?(device, %{mark: mark, offset: offset}),
    do: :file.pread(device, offset - byte_size(mark), byte_size(mark)) == {:ok, mark}

  defp parts(device, place, found) do
    with {:ok, text} <- :file.pread(device, place.offset, @part),
         {items, further} when further != place <- cut(text, place) do
      parts(device, further, [items | found])
    else
      {:error, reason} -> unreadable(reason)
      _no_further -> {:ok, found |> Enum.reverse() |> Enum.concat(), place}
    end
  end

  defp unreadable(reason), do: {:error, "the file can't be read: #{:file.format_error(reason)}"}

  # The whole lines of a part.
  defp cut(text, %{skip?: true} = place) do
    case :binary.match(text, "\n") do
      {at, 1} -> {[], %{behind(place, binary_part(text, 0, at + 1)) | line: place.line + 1, skip?: false}}
      :nomatch -> {[], behind(place, text)}
    end
  end

  defp cut(text, place) do
    case text |> :binary.matches("\n") |> List.last() do
      {last, 1} -> lines(binary_part(text, 0, last), behind(place, binary_part(text, 0, last + 1)))
      nil when byte_size(text) < @max_line -> {[], place}
      nil -> {[damaged(place.line, text)], %{behind(place, text) | skip?: true}}
    end
  end

  defp behind(%{mark: mark} = place, text) do
    bytes = if byte_size(text) < @mark, do: mark <> text, else: text
    size = min(byte_size(bytes), @mark)
    # A copy, so that the part is not kept.
    mark = bytes |> binary_part(byte_size(bytes) - size, size) |> :binary.copy()
    %{place | offset: place.offset + byte_size(text), mark: mark}
  end

  defp lines(text, %{line: first} = place) do
    lines = String.split(text, "\n")
    items = for {line, number} <- Enum.with_index(lines, first), do: item(line, number)
    {items, %{place | line: first + length(lines)}}
  end

  defp item(line, number) do
    with true <- Native.audit_is_entry(line), {:ok, entry} <- JSON.decode(line) do
      entry
    else
      _no_entry -> damaged(number, line)
    end
  end

  defp damaged(number, line),
    do: {:damaged, number, line |> binary_part(0, min(byte_size(line), 60)) |> :binary.copy()}
end
