defmodule JidoCode.Tools.ProjectVM.Wire do
  @moduledoc false
  # What the tools' VM and the project's VM say to each other, each message behind its length in four bytes.
  #
  # The project's VM runs what a model wrote, so all that it sends is untrusted: a frame is bounded, is never unpacked (a term of
  # 1 MB can unfold to gigabytes), makes no atoms, and holds nothing but plain data.

  @max_frame 4_000_000
  # Terms take more room than their frames; a list of numbers sixteen times as much.
  @max_words 12_000_000
  @max_depth 64
  # Writing out a number of a million digits takes minutes.
  @max_integer Bitwise.bsl(1, 256)

  @typedoc "Texts, numbers, true, false, nil, lists of these and maps of them under texts."
  @type plain :: String.t() | number() | boolean() | nil | [plain()] | %{String.t() => plain()}

  @doc "The options of both ends' sockets."
  @spec socket_options() :: [:gen_tcp.option()]
  def socket_options, do: [:binary, packet: 4, packet_size: @max_frame, send_timeout: 30_000]

  @doc "A message to the project's VM, which trusts it."
  @spec encode(term()) :: binary()
  def encode(message), do: :erlang.term_to_binary(message)

  @doc """
  A message of the project's VM; `:too_large` for what no frame may hold.
  """
  @spec encode_bounded(plain()) :: {:ok, binary()} | :too_large
  def encode_bounded(message) do
    frame = :erlang.term_to_binary(message)
    if byte_size(frame) <= @max_frame, do: {:ok, frame}, else: :too_large
  end

  @doc "Whether the other side takes a term."
  @spec sendable?(term()) :: boolean()
  def sendable?(term) do
    message = %{"term" => [term]}
    match?({:ok, ^message}, message |> :erlang.term_to_binary() |> decode())
  end

  @doc """
  A result of a tool as plain data: what JSON would make strings of are strings, and what is no data is shown as Elixir shows it.
  """
  @spec plain(term()) :: plain()
  def plain(term) when is_boolean(term) or is_nil(term) or is_number(term), do: term
  def plain(text) when is_binary(text), do: if(String.valid?(text), do: text, else: inspect(text))
  def plain(term) when is_atom(term), do: Atom.to_string(term)

  def plain(list) when is_list(list),
    do: if(List.improper?(list), do: inspect(list), else: Enum.map(list, &plain/1))

  def plain(map) when is_map(map) and not is_struct(map),
    do: Map.new(map, fn {key, value} -> {key(key), plain(value)} end)

  def plain(other), do: inspect(other)

  defp key(key) when is_atom(key), do: Atom.to_string(key)
  defp key(key), do: with(key when not is_binary(key) <- plain(key), do: inspect(key))

  @doc """
  Reads a frame of the project's VM. Decoding happens in a process of its own, whose memory is bounded.
  """
  @spec decode(binary()) :: {:ok, %{String.t() => plain()}} | :error
  def decode(<<131, tag, _rest::binary>> = frame) when tag != 80 and byte_size(frame) <= @max_frame do
    reply_to = :erlang.alias([:reply])
    heap = %{size: @max_words, kill: true, error_logger: false}

    {reader, monitor} =
      :erlang.spawn_opt(fn -> send(reply_to, {reply_to, read(frame)}) end, [:monitor, max_heap_size: heap])

    receive do
      {^reply_to, answer} ->
        Process.demonitor(monitor, [:flush])
        answer

      {:DOWN, ^monitor, :process, ^reader, _killed} ->
        :erlang.unalias(reply_to)
        :error
    end
  end

  def decode(_frame), do: :error

  defp read(frame) do
    term = :erlang.binary_to_term(frame, [:safe])
    if is_map(term) and plain?(term, @max_depth), do: {:ok, term}, else: :error
  rescue
    ArgumentError -> :error
  end

  defp plain?(_term, 0), do: false
  defp plain?(term, _depth) when is_boolean(term) or is_nil(term) or is_float(term), do: true
  defp plain?(term, _depth) when is_integer(term), do: abs(term) < @max_integer
  defp plain?(term, _depth) when is_binary(term), do: String.valid?(term)

  defp plain?([head | tail], depth), do: plain?(head, depth - 1) and rest?(tail, depth)
  defp plain?([], _depth), do: true

  defp plain?(term, depth) when is_map(term) do
    Enum.all?(:maps.to_list(term), fn {key, value} ->
      is_binary(key) and String.valid?(key) and plain?(value, depth - 1)
    end)
  end

  defp plain?(_term, _depth), do: false

  defp rest?([], _depth), do: true
  defp rest?([head | tail], depth), do: plain?(head, depth - 1) and rest?(tail, depth)
  defp rest?(_improper, _depth), do: false
end
