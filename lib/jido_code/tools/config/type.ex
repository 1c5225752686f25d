defmodule JidoCode.Tools.Config.Type do
  @moduledoc false
  # What a key of the configuration takes, as data: `check/2` says whether a value is that, `describe/1` says it to people.

  alias JidoCode.Tools.Tier

  @typedoc """
  `:name` is a string or an atom that names something; `{:pairs, :text, value}` is a map or a list of pairs; `{:keyword, types}`
  knows its keys. The others are shapes of single keys.
  """
  @type t ::
          :boolean
          | :text
          | :name
          | :module
          | :tier
          | :rates
          | :rule
          | :mix_task
          | :ports
          | :every
          | :limit
          | {:bytes, pos_integer()}
          | {:integer, integer(), integer() | :infinity}
          | {:one_of, [atom() | String.t()]}
          | {:either, [t()]}
          | {:list, t()}
          | {:pairs, :text, t()}
          | {:keyword, [{atom(), t()}]}

  @option_kinds [:flag, :integer, :name, :text, :path]

  @doc "`:ok`, or what was expected and the part of the value that is something else."
  @spec check(t(), term()) :: :ok | {:error, expected :: String.t(), got :: term()}
  def check(type, value)

  def check({:list, type}, value) do
    if proper_list?(value), do: each(value, &check(type, &1)), else: {:error, describe({:list, type}), value}
  end

  def check({:pairs, :text, type}, value) do
    with {:ok, pairs} <- pairs(value) do
      each(pairs, fn {name, item} -> with :ok <- tool(name), do: check(type, item) end)
    end
  end

  def check(:rates, value) do
    with {:ok, pairs} <- pairs(value) do
      each(pairs, fn {key, rate} -> with :ok <- limited(key), do: rate(rate) end)
    end
  end

  def check({:keyword, types}, value) do
    if Keyword.keyword?(value),
      do: each(value, &option(types, &1)),
      else: {:error, "a keyword list", value}
  end

  def check({:either, types} = type, value) do
    if Enum.any?(types, &(check(&1, value) == :ok)), do: :ok, else: {:error, describe(type), value}
  end

  def check(type, value) do
    if is?(type, value), do: :ok, else: {:error, describe(type), value}
  end

  defp is?(:boolean, value), do: is_boolean(value)
  defp is?(:text, value), do: is_binary(value) and value != "" and String.valid?(value)
  defp is?(:name, value) when is_atom(value), do: value not in [nil, true, false]
  defp is?(:name, value), do: is?(:text, value)
  defp is?(:module, value), do: is_atom(value) and match?("Elixir." <> _, Atom.to_string(value))
  defp is?(:tier, value), do: Tier.valid?(value)
  defp is?(:limit, nil), do: true
  defp is?(:limit, value), do: is_integer(value) and value > 0
  defp is?(:every, value), do: match?({:every, ms} when is_integer(ms) and ms in 1..3_600_000, value)
  defp is?({:bytes, least}, value), do: is_binary(value) and byte_size(value) >= least
  defp is?({:integer, low, :infinity}, value), do: is_integer(value) and value >= low
  defp is?({:integer, low, high}, value), do: is_integer(value) and value in low..high
  defp is?({:one_of, values}, value), do: value in values

  defp is?(:ports, {:ports, ports}),
    do: proper_list?(ports) and Enum.all?(ports, &(is_integer(&1) and &1 in 0..65_535))

  defp is?(:rule, rule) when is_map(rule) or is_list(rule) do
    if is_map(rule) or Keyword.keyword?(rule) do
      match?(
        %{name: name, pattern: pattern, replacement: replacement}
        when is_binary(name) and is_binary(pattern) and is_binary(replacement),
        Map.new(rule)
      )
    end
  end

  defp is?(:mix_task, {name, options}),
    do: is?(:text, name) and proper_list?(options) and Enum.all?(options, &task_option?/1)

  defp is?(:mix_task, name), do: is?(:text, name)
  defp is?(_type, _value), do: false

  defp task_option?({option, kind}), do: is?(:text, option) and kind in @option_kinds
  defp task_option?(_other), do: false

  # A tier or a tool.
  defp limited(key) when is_atom(key), do: check(:tier, key)
  defp limited(key), do: tool(key)

  defp tool(name), do: if(is?(:text, name), do: :ok, else: {:error, "tools' names as strings", name})

  defp rate({count, window} = rate)
       when is_integer(count) and is_integer(window) do
    if count >= 0 and window > 0, do: :ok, else: {:error, describe(:rates), rate}
  end

  defp rate(other), do: {:error, describe(:rates), other}

  defp option(types, {name, value}) do
    case Keyword.fetch(types, name) do
      {:ok, type} ->
        with {:error, expected, got} <- check(type, value),
             do: {:error, "#{expected} as #{inspect(name)}", got}

      :error ->
        {:error, "only the options #{listed(Keyword.keys(types))}, not #{inspect(name)}", value}
    end
  end

  defp pairs(value) when is_map(value) and not is_struct(value), do: {:ok, Map.to_list(value)}

  defp pairs(value) do
    if proper_list?(value) and Enum.all?(value, &match?({_key, _value}, &1)),
      do: {:ok, value},
      else: {:error, "a map", value}
  end

  defp each(values, check) do
    Enum.find_value(values, :ok, fn value -> with :ok <- check.(value), do: nil end)
  end

  defp proper_list?(value), do: is_list(value) and not List.improper?(value)

  @doc "What the type takes, for a sentence that begins with \"takes\"."
  @spec describe(t()) :: String.t()
  def describe(:boolean), do: "true or false"
  def describe(:text), do: "a string that is not empty"
  def describe(:name), do: "names as strings or atoms"
  def describe(:tier), do: "one of #{listed(Tier.all())}"
  def describe(:module), do: "modules"
  def describe(:limit), do: "a positive integer, or nil for none"
  def describe(:ports), do: "{:ports, [port]}"
  def describe(:every), do: "{:every, milliseconds}"
  def describe(:rates), do: "{count, window_ms} for each tier or tool"
  def describe(:rule), do: "maps with the strings :name, :pattern and :replacement"

  def describe(:mix_task),
    do: "a task's name, or {name, [{\"option\", kind}]} with a kind of #{inspect(@option_kinds)}"

  def describe({:bytes, least}), do: "a binary of at least #{least} bytes"
  def describe({:integer, 1, :infinity}), do: "a positive integer"
  def describe({:integer, 1, high}), do: "a positive integer up to #{number(high)}"
  def describe({:integer, low, :infinity}), do: "an integer from #{number(low)} on"
  def describe({:integer, low, high}), do: "an integer from #{number(low)} to #{number(high)}"
  def describe({:one_of, [value]}), do: inspect(value)
  def describe({:one_of, values}), do: "one of #{listed(values)}"
  def describe({:either, types}), do: Enum.map_join(types, ", or ", &describe/1)
  def describe({:list, type}), do: "a list of #{several(type)}"
  def describe({:pairs, :text, type}), do: "a map of tools' names to #{describe(type)}"
  def describe({:keyword, types}), do: "a keyword list of #{listed(Keyword.keys(types))}"

  defp several(:text), do: "strings"

  defp several(:mix_task),
    do: "names, or of {name, [{\"option\", kind}]} with a kind of #{inspect(@option_kinds)}"

  defp several(type), do: describe(type)

  @doc "An integer as people read it."
  @spec number(integer()) :: String.t()
  def number(integer) do
    integer
    |> Integer.to_string()
    |> String.reverse()
    |> String.replace(~r/(\d{3})(?=\d)/, "\\1_")
    |> String.reverse()
  end

  defp listed(values), do: Enum.map_join(values, ", ", &inspect/1)
end
