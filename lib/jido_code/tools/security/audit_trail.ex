defmodule JidoCode.Tools.Security.AuditTrail do
  @moduledoc false
  # The audit file as its readers see it: its entries, and whether it is whole.

  alias JidoCode.Tools.JSON
  alias JidoCode.Tools.Security.{AuditKey, Native}

  # Read at once.
  @part 4 * 1024 * 1024

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

    if head == report.head or there?(path, 0, head),
      do: {:ok, report},
      else:
        {:damaged,
         "No entry has the head #{head}: entries at the end were removed, or the head belongs to another file.",
         report}
  end

  defp there?(path, offset, head) do
    case read(path, offset) do
      {:ok, [], _offset} -> false
      {:ok, entries, offset} -> Enum.any?(entries, &(&1["digest"] == head)) or there?(path, offset, head)
      {:error, _text} -> false
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

  @doc "The entries from an offset on, and the offset behind the last whole line. What is not an entry is passed over."
  @spec read(Path.t(), non_neg_integer()) :: {:ok, [map()], non_neg_integer()} | {:error, String.t()}
  def read(path, offset), do: read(path, offset, [])

  defp read(path, offset, parts) do
    case part(path, offset) do
      {:ok, ""} -> {:ok, parts |> Enum.reverse() |> Enum.concat(), offset}
      {:ok, lines} -> read(path, offset + byte_size(lines), [entries(lines) | parts])
      {:error, text} -> {:error, text}
    end
  end

  # Whole lines of a part, or of nothing.
  defp part(path, offset) do
    with {:ok, device} <- :file.open(path, [:read, :raw, :binary]),
         read = :file.pread(device, offset, @part),
         :ok = :file.close(device) do
      case read do
        {:ok, text} -> {:ok, whole(text)}
        :eof -> {:ok, ""}
        {:error, reason} -> {:error, "the file can't be read: #{:file.format_error(reason)}"}
      end
    else
      {:error, reason} -> {:error, "the file can't be read: #{:file.format_error(reason)}"}
    end
  end

  defp whole(text) do
    case text |> :binary.matches("\n") |> List.last() do
      {last, 1} -> binary_part(text, 0, last + 1)
      nil -> ""
    end
  end

  defp entries(lines) do
    for line <- String.split(lines, "\n", trim: true),
        {:ok, %{"id" => _id, "timestamp_us" => _at} = entry} <- [JSON.decode(line)],
        do: entry
  end
end
