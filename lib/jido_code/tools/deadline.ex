defmodule JidoCode.Tools.Deadline do
  @moduledoc false
  # The time of one call, over all that it does one after the other.

  @enforce_keys [:timeout, :at]
  defstruct @enforce_keys

  @typedoc "`timeout` is the call's whole time in milliseconds, `at` its end in monotonic time."
  @type t :: %__MODULE__{timeout: pos_integer(), at: integer()}

  @default_ms 30_000

  @doc "Milliseconds for a call of a tool that says nothing of its time."
  @spec default_ms() :: pos_integer()
  def default_ms, do: @default_ms

  @doc """
  Starts the time that was asked for: the default unless it is a positive integer, never more than the maximum.

      iex> alias JidoCode.Tools.Deadline
      iex> deadline = Deadline.new(90_000_000, 60_000, 300_000)
      iex> deadline.timeout
      300_000
      iex> Deadline.left(deadline) in 299_000..300_000
      true
      iex> Deadline.new(nil, 60_000, 300_000).timeout
      60_000
  """
  @spec new(term(), pos_integer(), pos_integer()) :: t()
  def new(asked, default, maximum) do
    timeout = if is_integer(asked) and asked > 0, do: min(asked, maximum), else: default
    %__MODULE__{timeout: timeout, at: now() + timeout}
  end

  @doc "Milliseconds left, at least 1: what takes a timeout takes no less."
  @spec left(t()) :: pos_integer()
  def left(%__MODULE__{at: at}), do: max(at - now(), 1)

  defp now, do: System.monotonic_time(:millisecond)
end
