defmodule JidoCode.Tools.Arguments do
  @moduledoc """
  Checks a tool call's arguments against the tool's definition.

  A definition is a map with a list of `:parameters`, each with `:name`, `:type` (`:string`, `:integer`, `:number`,
  `:boolean`, `:array` or `:object`), `:required` (true unless it says false) and optionally `:enum`, `:default`,
  `:items` (the type of an array's items, strings unless said otherwise), `:minimum` and `:maximum`. A value beyond them is refused; with
  `beyond: :cut` the maximum holds for a value above it, and the default for one below the minimum. `:refusal`
  replaces the usual message for a value that is not in `:enum` or beyond a bound; `{value}` stands for the value.

  Nothing is coerced, with one exception: JSON has one number type, so `5.0` is accepted where an integer is asked for.
  A number sent as text is refused with a message that says so. A nil for an optional parameter means that the
  parameter was left out. All mistakes of a call are reported together, joined by `"; "`.

      iex> definition = %{name: "t", parameters: [%{name: "depth", type: :integer, required: false, default: 2}]}
      iex> JidoCode.Tools.Arguments.check(definition, %{})
      {:ok, %{"depth" => 2}}
      iex> JidoCode.Tools.Arguments.check(definition, %{"depth" => "3"})
      {:error, ~s(Invalid depth: expected integer, got a string that holds a number; send it without quotes)}
  """

  # What the texts call a parameter, where its bare name would be a poor noun.
  alias JidoCode.Tools.{Shortened, Visible}

  @nouns %{"process" => "process name", "supervisor" => "supervisor name"}

  @types [:string, :integer, :number, :boolean, :array, :object]

  # A message never grows with the input.
  @max_listed 5
  @max_shown 40

  # Of a parameter.
  @max_description 2_000

  @type definition :: %{required(:parameters) => [map()], optional(atom()) => term()}

  @doc """
  Returns the arguments with defaults filled in and nils dropped, or the text of all that is wrong with them.
  """
  @spec check(definition(), term()) :: {:ok, %{String.t() => term()}} | {:error, String.t()}
  def check(%{parameters: parameters}, args) when is_map(args) and not is_struct(args) do
    given = for {key, value} <- args, value != nil, into: %{}, do: {key, value}

    {checked, errors} =
      Enum.reduce(parameters, {%{}, []}, fn parameter, {checked, errors} ->
        case check_parameter(parameter, given) do
          {:ok, value} -> {Map.put(checked, parameter.name, value), errors}
          :absent -> {checked, errors}
          {:error, message} -> {checked, [message | errors]}
        end
      end)

    case Enum.reverse(errors) ++ unknown(parameters, args) do
      [] -> {:ok, checked}
      errors -> {:error, Enum.join(errors, "; ")}
    end
  end

  def check(%{parameters: _}, _args) do
    {:error, "Invalid arguments: expected a map of parameter names (strings) to values"}
  end

  defp check_parameter(%{name: name} = parameter, given) do
    case given do
      %{^name => value} ->
        with {:ok, value} <- check_type(parameter, value),
             :ok <- check_enum(parameter, value),
             {:ok, value} <- check_range(parameter, value) do
          {:ok, value}
        else
          {:refused, text} -> {:error, text}
          {:error, why} -> {:error, "Invalid #{noun(name)}: #{why}"}
        end

      %{} ->
        case parameter do
          %{default: default} when default != nil -> {:ok, default}
          %{required: false} -> :absent
          %{} -> {:error, "Missing required parameter: #{name}"}
        end
    end
  end

  defp check_type(%{type: :array} = parameter, value) do
    items = Map.get(parameter, :items) || :string

    if proper_list?(value) do
      check_items(items, value)
    else
      {:error, "must be a list of #{items}s, got #{kind(value)}"}
    end
  end

  defp check_type(%{type: type}, value), do: check_scalar(type, value)

  defp check_items(type, values) do
    checked = Enum.map(values, &check_scalar(type, &1))

    case Enum.find_index(checked, &match?({:error, _}, &1)) do
      nil ->
        {:ok, Enum.map(checked, fn {:ok, value} -> value end)}

      index ->
        {:error, "all items must be #{type}s; item #{index + 1} is #{kind(Enum.at(values, index))}"}
    end
  end

  defp check_scalar(:string, value) when is_binary(value) do
    if String.valid?(value), do: {:ok, value}, else: {:error, "expected string, got bytes that are not UTF-8"}
  end

  defp check_scalar(:integer, value) when is_integer(value), do: {:ok, value}

  defp check_scalar(:integer, value) when is_float(value) and value == trunc(value) do
    {:ok, trunc(value)}
  end

  defp check_scalar(:number, value) when is_number(value), do: {:ok, value}
  defp check_scalar(:boolean, value) when is_boolean(value), do: {:ok, value}
  defp check_scalar(:object, value) when is_map(value) and not is_struct(value), do: {:ok, value}

  defp check_scalar(type, value) when type in [:integer, :number] and is_binary(value) do
    if numeric?(value) do
      {:error, "expected #{type}, got a string that holds a number; send it without quotes"}
    else
      {:error, "expected #{type}, got a string"}
    end
  end

  defp check_scalar(:boolean, value) when value in ["true", "false"] do
    {:error, "expected boolean, got the string #{value}; send it without quotes"}
  end

  defp check_scalar(type, value), do: {:error, "expected #{type}, got #{kind(value)}"}

  defp check_enum(%{enum: [_ | _] = enum} = parameter, value) do
    cond do
      value in enum -> :ok
      refusal = parameter[:refusal] -> {:refused, String.replace(refusal, "{value}", shown(value))}
      true -> {:error, "#{shown(value)} is not one of #{Enum.join(enum, ", ")}"}
    end
  end

  defp check_enum(_parameter, _value), do: :ok

  # Beyond its bounds, and cut: the maximum holds, or the default.
  defp check_range(%{maximum: maximum, beyond: :cut}, value) when is_number(value) and value > maximum,
    do: {:ok, maximum}

  defp check_range(%{minimum: minimum, default: default, beyond: :cut}, value)
       when is_number(value) and value < minimum,
       do: {:ok, default}

  defp check_range(%{minimum: minimum} = parameter, value) when is_number(value) and value < minimum,
    do: out_of_range(parameter, "must be at least #{minimum}")

  defp check_range(%{maximum: maximum} = parameter, value) when is_number(value) and value > maximum,
    do: out_of_range(parameter, "must be at most #{maximum}")

  defp check_range(_parameter, value), do: {:ok, value}

  defp out_of_range(%{refusal: refusal}, _why), do: {:refused, refusal}
  defp out_of_range(_parameter, why), do: {:error, why}

  @doc """
  What `check/2` made of values that are beyond their bounds, in sentences.

      iex> definition = %{parameters: [%{name: "depth", type: :integer, required: false, maximum: 5, beyond: :cut}]}
      iex> JidoCode.Tools.Arguments.check(definition, %{"depth" => 9})
      {:ok, %{"depth" => 5}}
      iex> JidoCode.Tools.Arguments.cuts(definition, %{"depth" => 9})
      ["More than allowed was asked for; applied: depth 5."]
  """
  @spec cuts(definition(), map()) :: [String.t()]
  def cuts(%{parameters: parameters}, args) do
    applied =
      for %{name: name, beyond: :cut} = parameter <- parameters,
          %{^name => value} when is_number(value) <- [args],
          {:ok, held} <- [check_range(parameter, value)],
          held != value,
          do: {held < value, "#{name} #{held}"}

    for {above?, what} <- [{true, "More"}, {false, "Less"}],
        [_ | _] = listed <- [for({^above?, text} <- applied, do: text)],
        do: "#{what} than allowed was asked for; applied: #{Enum.join(listed, ", ")}."
  end

  @doc false
  @spec all_problems([term()]) :: [String.t()]
  def all_problems(parameters) do
    names = for %{name: name} <- parameters, do: name
    twice = Enum.uniq(names -- Enum.uniq(names))

    Enum.flat_map(parameters, &problems/1) ++
      for(name <- twice, do: "the parameter #{inspect(name, limit: 5)} is listed twice")
  end

  @doc "What is wrong with a parameter of a definition, in sentences."
  @spec problems(term()) :: [String.t()]
  def problems(%{name: name} = parameter) when is_binary(name) do
    for {key, right?, takes} <- [
          # What clients take as the key of a property.
          {:name, name =~ ~r/\A[A-Za-z0-9_.-]{1,64}\z/, "1 to 64 letters, digits, _, . and -"},
          {:type, parameter[:type] in @types, "one of #{inspect(@types)}"},
          {:items, parameter[:items] in [nil | @types], "one of #{inspect(@types)}"},
          {:required, is_boolean(Map.get(parameter, :required, true)), "true or false"},
          {:description, description?(parameter[:description]),
           "a text of up to #{@max_description} characters without invisible ones"},
          {:enum, parameter[:enum] == nil or enum?(parameter[:enum]), "a list of texts or numbers"},
          {:refusal, parameter[:refusal] == nil or is_binary(parameter[:refusal]), "a text"},
          {:minimum, parameter[:minimum] == nil or is_number(parameter[:minimum]), "a number"},
          {:maximum, parameter[:maximum] == nil or is_number(parameter[:maximum]), "a number"},
          {:default, default?(parameter), "a value that the parameter itself takes"}
        ],
        not right?,
        do:
          "its parameter #{shown(name)}: #{inspect(key)} takes #{takes}, got: #{inspect(parameter[key], limit: 5)}"
  end

  def problems(other), do: ["a parameter is a map with a :name, got: #{inspect(other, limit: 5)}"]

  defp description?(text) do
    is_binary(text) and text != "" and Visible.text?(text) and String.length(text) <= @max_description
  end

  defp enum?(values) do
    values != [] and proper_list?(values) and Enum.all?(values, &(is_number(&1) or is_binary(&1)))
  end

  defp default?(%{default: default, type: type} = parameter) when default != nil and type in @types,
    do: match?({:ok, _value}, check_parameter(parameter, %{parameter.name => default}))

  defp default?(_parameter), do: true

  defp unknown(parameters, args) do
    names = Enum.map(parameters, & &1.name)

    case args |> Map.keys() |> Enum.reject(&(&1 in names)) do
      [] ->
        []

      unknown ->
        {listed, rest} = Enum.split(unknown, @max_listed)
        more = if rest == [], do: "", else: " and #{length(rest)} more"

        [
          "Unknown parameter: #{Enum.map_join(listed, ", ", &shown/1)}#{more} (allowed: #{Enum.join(names, ", ")})"
        ]
    end
  end

  defp noun(name), do: Map.get(@nouns, name, name)

  defp proper_list?(value), do: is_list(value) and List.improper?(value) == false

  defp numeric?(text) do
    byte_size(text) < 400 and match?({_number, ""}, Float.parse(String.trim(text)))
  end

  defp kind(value) when is_binary(value), do: "a string"
  defp kind(value) when is_boolean(value), do: "a boolean"
  defp kind(nil), do: "null"
  defp kind(value) when is_integer(value), do: "an integer"
  defp kind(value) when is_float(value), do: "a number"
  defp kind(value) when is_list(value), do: "a list"
  defp kind(value) when is_map(value), do: "an object"
  defp kind(_value), do: "a value of another type"

  defp shown(value) when is_binary(value) do
    if String.valid?(value),
      do: value |> Shortened.label(@max_shown) |> Visible.escape(),
      else: "(not UTF-8)"
  end

  defp shown(value) when is_atom(value), do: "#{value} (an atom; names must be strings)"
  defp shown(value) when is_integer(value), do: "a number"
  defp shown(value), do: kind(value)
end
