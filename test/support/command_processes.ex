defmodule JidoCode.Tools.Test.CommandProcesses do
  @moduledoc """
  Sees the OS processes that a test's commands left, by a variable that only they have in their environment.
  """

  @variable "JIDO_TEST_MARK"

  @doc "A mark that no other process has, for the option `:env`."
  @spec mark() :: %{String.t() => String.t()}
  def mark, do: %{@variable => "mark-#{System.pid()}-#{System.unique_integer([:positive])}"}

  @doc "Ids of the living processes that have these variables."
  @spec marked(%{String.t() => String.t()}) :: [pos_integer()]
  def marked(variables) do
    wanted = for {name, value} <- variables, do: "#{name}=#{value}"

    for pid <- all(),
        {:ok, environment} <- [File.read("/proc/#{pid}/environ")],
        wanted -- String.split(environment, <<0>>) == [],
        do: pid
  end

  @doc "The parent's id, or `nil` for a process that is gone."
  @spec parent(pos_integer()) :: pos_integer() | nil
  def parent(pid) do
    with {:ok, stat} <- File.read("/proc/#{pid}/stat") do
      [_state, parent | _rest] = stat |> String.split(")") |> List.last() |> String.split()
      String.to_integer(parent)
    else
      _gone -> nil
    end
  end

  @doc "True while the process exists and is no zombie."
  @spec alive?(pos_integer()) :: boolean()
  def alive?(pid) do
    with {:ok, stat} <- File.read("/proc/#{pid}/stat"),
         [state | _rest] <- stat |> String.split(")") |> List.last() |> String.split() do
      state not in ["Z", "X"]
    else
      _gone -> false
    end
  end

  @doc "Sends a signal by the system's kill."
  @spec kill(pos_integer(), String.t()) :: :ok
  def kill(pid, signal) do
    System.cmd("kill", ["-#{signal}", Integer.to_string(pid)], stderr_to_stdout: true)
    :ok
  end

  @doc """
  Waits until the function's answer is truthy, and returns it; for the state of the system, which sends no message.
  """
  @spec eventually((() -> result), pos_integer()) :: result when result: term()
  def eventually(check, timeout \\ 10_000) do
    eventually_until(check, System.monotonic_time(:millisecond) + timeout)
  end

  defp eventually_until(check, deadline) do
    cond do
      result = check.() ->
        result

      System.monotonic_time(:millisecond) > deadline ->
        raise ExUnit.AssertionError, message: "it did not come true in time"

      true ->
        Process.sleep(10)
        eventually_until(check, deadline)
    end
  end

  defp all do
    for name <- File.ls!("/proc"), {pid, ""} <- [Integer.parse(name)], do: pid
  end
end
