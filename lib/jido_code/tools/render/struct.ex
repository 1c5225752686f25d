defmodule JidoCode.Tools.Render.Struct do
  @moduledoc false
  # How a struct is shown, decided without running code of its module.

  alias JidoCode.Tools.Render.Derived

  @type view ::
          {:text, String.t()}
          | {:hidden, String.t()}
          | {:fields, open :: String.t(), map()}
          | {:some, open :: String.t(), map()}
          | {:keys, open :: String.t(), map(), close :: String.t()}

  # Structs whose Inspect implementation comes with Elixir and hides nothing, shown from their fields. Decimal isn't
  # Elixir's, but is in every second state and hides nothing either.
  @open [Date.Range, Decimal, File.Stat, File.Stream, IO.Stream, Inspect.Opts, Macro.Env] ++
          [MapSet, Range, Regex, Stream, Task, URI, Version, Version.Requirement] ++
          [Date, DateTime, NaiveDateTime, Time]

  @year_limit 1_000_000

  @typedoc "What an `Inspect` implementation lets be seen of its struct."
  @type inspected :: :all | {:only, [atom()]} | :hidden

  @doc "The struct as text, by fields, by some of its fields, by the keys of a map inside it, or by name only."
  @spec view(struct(), (module() -> inspected())) :: view()
  def view(%{__struct__: module} = struct, inspected) do
    with nil <- known(struct) do
      case inspected.(module) do
        :all -> fields(struct)
        {:only, fields} -> {:some, "%#{name(module)}{", Map.take(struct, fields)}
        :hidden -> hidden(module)
      end
    end
  end

  @doc "What this node's code lets be seen of a module's structs. Nothing is loaded for it."
  @spec inspected(module()) :: inspected()
  def inspected(module) do
    if own_inspect?(module), do: Derived.shown(module), else: :all
  end

  defp hidden(module), do: {:hidden, "##{name(module)}<not shown: it has its own Inspect implementation>"}

  defp fields(%{__struct__: module} = struct) do
    {:fields, "%#{name(module)}{", struct |> Map.delete(:__struct__) |> Map.delete(:__exception__)}
  end

  defp name(module), do: Macro.inspect_atom(:literal, module)

  # A struct made by hand can carry anything in its fields, so each shape is checked before it is believed.
  defp known(%{__struct__: Range, first: first, last: last, step: step}) do
    if small?(first) and small?(last) and small?(step) do
      plain? = step == if(first <= last, do: 1, else: -1)
      {:text, if(plain?, do: "#{first}..#{last}", else: "#{first}..#{last}//#{step}")}
    end
  end

  defp known(%{__struct__: MapSet, map: map}) when is_map(map) and not is_struct(map) do
    {:keys, "MapSet.new([", map, "])"}
  end

  defp known(%{__struct__: Regex, source: source, opts: opts} = struct) do
    fields(%{__struct__: struct.__struct__, opts: opts, source: source})
  end

  defp known(%{__struct__: URI, userinfo: userinfo, authority: _} = uri) when userinfo != nil do
    # The authority repeats the user's password.
    fields(%{uri | userinfo: "[REDACTED]", authority: "[REDACTED]"})
  end

  defp known(%{__struct__: module, calendar: Calendar.ISO} = struct)
       when module in [Date, Time, NaiveDateTime, DateTime] do
    time(struct)
  rescue
    _invalid -> fields(struct)
  end

  defp known(%{__struct__: module} = struct) when module in @open, do: fields(struct)
  defp known(_struct), do: nil

  defp time(%{__struct__: Date} = date), do: {:text, "~D[#{day(date)}]"}
  defp time(%{__struct__: Time} = time), do: {:text, "~T[#{clock(time)}]"}
  defp time(%{__struct__: NaiveDateTime} = time), do: {:text, "~N[#{day(time)} #{clock(time)}]"}

  defp time(%{__struct__: DateTime, time_zone: "Etc/UTC", utc_offset: 0, std_offset: 0} = time) do
    {:text, "~U[#{day(time)} #{clock(time)}Z]"}
  end

  defp time(%{__struct__: DateTime, time_zone: zone} = time) when byte_size(zone) < 64 do
    {:text, "#DateTime<#{day(time)} #{clock(time)} #{zone}>"}
  end

  defp day(%{year: year, month: month, day: day}) when year in -@year_limit..@year_limit do
    Calendar.ISO.date_to_string(year, month, day)
  end

  defp clock(%{hour: hour, minute: minute, second: second, microsecond: {_, _} = microsecond}) do
    Calendar.ISO.time_to_string(hour, minute, second, microsecond)
  end

  defp small?(integer), do: is_integer(integer) and abs(integer) < 1_000_000_000_000_000_000

  # Whether the module asked for a say in how it is shown. Protocol dispatch of a consolidated protocol is a function
  # with one clause for each implementation; it loads nothing. An implementation that came later is a loaded module. In a
  # system without consolidation an implementation may lie on disk unseen, and looking would make names and send
  # messages, so there the struct counts as having one.
  defp own_inspect?(module) do
    loaded_implementation?(module) or not Protocol.consolidated?(Inspect) or
      Inspect.impl_for(%{__struct__: module}) != Inspect.Any
  end

  defp loaded_implementation?(module) do
    "Elixir.Inspect."
    |> Kernel.<>(String.replace_prefix(Atom.to_string(module), "Elixir.", ""))
    |> String.to_existing_atom()
    |> function_exported?(:__impl__, 1)
  rescue
    # No module of that name was ever loaded, or the name is too long to be one.
    _error -> false
  end
end
