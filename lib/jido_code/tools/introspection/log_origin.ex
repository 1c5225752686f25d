defmodule JidoCode.Tools.Introspection.LogOrigin do
  @moduledoc false
  # When, by whom and where an event was logged: what is kept of its metadata.
  #
  # Metadata is whatever the caller wrote. Each field is looked at when the event is taken: what has not its usual shape is left
  # out then, so that neither the ring's size nor a later reader depends on it, and what is kept is a copy that holds nothing else alive.

  # Characters of a file's name.
  @max_file 1_000

  # What a row weighs besides its text and its file's name.
  @row 150

  # Years 0 to 9999, in microseconds since 1970.
  @times -62_167_219_200_000_000..253_402_300_799_999_999

  @type t :: {integer(), pid() | nil, [atom()], mfa() | nil, {String.t(), pos_integer()} | nil, atom()}

  @doc "What is kept of the metadata, and how many bytes that is."
  @spec keep(map()) :: {t(), pos_integer()}
  def keep(meta) do
    place = place(meta)
    bytes = if place, do: @row + byte_size(elem(place, 0)), else: @row
    pid = with pid when not is_pid(pid) <- meta[:pid], do: nil
    {{time(meta[:time]), pid, names(pid, meta), mfa(meta[:mfa]), place, atom(meta[:application])}, bytes}
  end

  @doc "The same with names."
  @spec read(t()) :: map()
  def read({time, pid, names, mfa, place, application}),
    do: %{time_us: time, pid: pid, names: names, mfa: mfa, place: place, application: application}

  defp time(time) when time in @times, do: time
  defp time(_odd), do: System.os_time(:microsecond)

  # The name and the module of the process that logs, which may long have ended when somebody asks.
  defp names(pid, _meta) when pid == self() do
    call = module(:erlang.get(:"$initial_call"))

    case :erlang.process_info(pid, :registered_name) do
      {:registered_name, name} -> [name | call]
      [] -> call
    end
  end

  defp names(_other, %{registered_name: name}) when is_atom(name), do: [name]
  defp names(_other, _meta), do: []

  defp module({module, _function, _arity}) when is_atom(module), do: [module]
  defp module(_none), do: []

  defp mfa({module, function, arity} = mfa)
       when is_atom(module) and is_atom(function) and arity in 0..255,
       do: mfa

  defp mfa(_odd), do: nil

  defp atom(atom) when is_atom(atom), do: atom
  defp atom(_odd), do: nil

  defp place(%{file: file, line: line}) when line in 1..100_000_000 do
    with name when is_binary(name) <- file(file), do: {name, line}
  end

  defp place(_meta), do: nil

  defp file(name) when is_binary(name) and byte_size(name) <= @max_file,
    do: if(String.valid?(name), do: :binary.copy(name))

  defp file([_ | _] = name), do: if(short?(name, @max_file), do: text(:unicode.characters_to_binary(name)))
  defp file(_odd), do: nil

  # A list may be as long as its writer liked.
  defp short?([], _left), do: true

  defp short?([character | rest], left) when character in 1..0x10FFFF and left > 0,
    do: short?(rest, left - 1)

  defp short?(_long_or_odd, _left), do: false

  defp text(text) when is_binary(text), do: text
  defp text(_surrogates), do: nil
end
