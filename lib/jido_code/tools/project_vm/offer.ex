defmodule JidoCode.Tools.ProjectVM.Offer do
  @moduledoc false
  # The project's own tools on their way to the VM that decides: written in the project's VM, and read over there as what anybody
  # may have written.
  #
  #     Catalog ── write/1 ──► plain data ── socket ──► read/1 ──► definitions, and why others were refused
  #
  # Such a definition says what the client is shown and how its arguments are checked. What it can't do is lower what a person
  # demands: its handler is the project's code and may do whatever the project's VM may, as a task or a test of the project, so it
  # has at least their tier, and the hints of what may do anything. A person who knows better says so in a file of their own
  # (`--config`, `tool_tiers`), or consents to the tool by its name.

  alias JidoCode.Tools.Behaviours.SecureHandler
  alias JidoCode.Tools.{Catalog, Definition, Render, Visible}
  alias JidoCode.Tools.ProjectVM.Wire
  alias JidoCode.Tools.Security.{OutputSanitizer, Permissions}

  require Logger

  # A client reads all of it to the model.
  @max_tools 50
  @max_entry_bytes 16_000
  @max_told 10

  @lowest_tier :execute

  @tiers Map.new(SecureHandler.tier_hierarchy(), &{Atom.to_string(&1), &1})
  @types Map.new(~w(string integer number boolean array object)a, &{Atom.to_string(&1), &1})
  @parameter_keys Map.new(
                    ~w(name type required description enum items default minimum maximum beyond refusal)a,
                    &{Atom.to_string(&1), &1}
                  )

  @doc """
  The tools as plain data, with one more than are taken, so that the other side knows of it. One that it would not take for its
  size is left out, and told in this VM's log.
  """
  @spec write([Definition.t()]) :: [Wire.plain()]
  def write(definitions) do
    {sent, large} =
      definitions |> Enum.map(&entry/1) |> Enum.split_with(&(small(&1) == :ok and Wire.sendable?(&1)))

    for %{"name" => name} <- large do
      Logger.warning(
        "MCP clients don't get the tool #{name}: its definition is larger than #{@max_entry_bytes} bytes"
      )
    end

    Enum.take(sent, @max_tools + 1)
  end

  defp entry(definition) do
    entry =
      definition
      |> Map.take([:name, :title, :description, :tier, :timeout_ms, :requires_consent, :parameters])
      |> Map.put(:rate_limit, rate(definition[:rate_limit]))
      |> Wire.plain()

    Map.put(entry, "digest", entry |> :erlang.term_to_binary([:deterministic]) |> hash())
  end

  defp rate({count, window}), do: [count, window]
  defp rate(_none), do: nil

  defp hash(bytes), do: :sha256 |> :crypto.hash(bytes) |> Base.encode16(case: :lower)

  @doc "What tells a definition from a later version of itself."
  @spec digest(Definition.t()) :: String.t()
  def digest(definition), do: entry(definition)["digest"]

  @doc "What `write/1` made, read by whoever trusts none of it: definitions, and in sentences why others were refused."
  @spec read([Wire.plain()]) :: {[Definition.t()], [String.t()]}
  def read(entries) do
    {entries, beyond} = Enum.split(entries, @max_tools)
    taken = Map.new(Catalog.own(), &{&1.name, "one of the server's"})

    {tools, refused, _taken} =
      Enum.reduce(entries, {[], [], taken}, fn entry, {tools, refused, taken} ->
        case definition(entry, taken) do
          {:ok, tool} -> {[tool | tools], refused, Map.put(taken, tool.name, "one before it")}
          {:error, why} -> {tools, [refusal(entry, why) | refused], taken}
        end
      end)

    {Enum.reverse(tools), told(Enum.reverse(refused), beyond != [])}
  end

  defp told(refused, beyond?) do
    {first, rest} = Enum.split(refused, @max_told)
    more = if rest == [], do: [], else: ["#{length(rest)} more of the project's tools are refused."]
    many = "The project offers more than #{@max_tools} tools; only that many are taken."
    first ++ more ++ if(beyond?, do: [many], else: [])
  end

  defp refusal(entry, why) do
    name = if is_map(entry), do: entry["name"]
    {shown, _summary} = Render.render(name, max_bytes: 100)
    OutputSanitizer.sanitize("The project's tool #{shown} is not offered: #{why}.", emit_telemetry: false)
  end

  defp definition(%{} = entry, taken) do
    with :ok <- small(entry),
         :ok <- legible(entry),
         {:ok, digest} <- marked(entry),
         entry = entry |> Map.delete("digest") |> OutputSanitizer.sanitize(emit_telemetry: false),
         {:ok, definition} <- known(entry),
         :ok <- sound(definition),
         :ok <- free(definition.name, taken) do
      # Its handler is put in when it is called (`JidoCode.Tools.ProjectVM.Tool`).
      {:ok, definition |> bounded() |> Definition.complete(nil) |> Map.put(:offered, digest)}
    end
  end

  defp definition(_other, _taken), do: {:error, "it is not a definition"}

  defp small(entry) do
    if :erlang.external_size(entry) <= @max_entry_bytes,
      do: :ok,
      else: {:error, "its definition is larger than #{@max_entry_bytes} bytes"}
  end

  # Nothing that a person would not see, in what a model reads.
  defp legible(text) when is_binary(text) do
    if Visible.text?(text), do: :ok, else: {:error, "its texts contain invisible characters"}
  end

  defp legible(list) when is_list(list),
    do: Enum.find_value(list, :ok, &if(legible(&1) != :ok, do: legible(&1)))

  defp legible(map) when is_map(map), do: map |> Enum.flat_map(&Tuple.to_list/1) |> legible()
  defp legible(_other), do: :ok

  defp marked(%{"digest" => digest}) when is_binary(digest), do: {:ok, digest}
  defp marked(_entry), do: {:error, "it has no digest"}

  # With the atoms that a definition has, none of them made from a text.
  defp known(entry) do
    with {:ok, tier} <- word(@tiers, entry["tier"], "tier"),
         {:ok, parameters} <- parameters(entry["parameters"]) do
      {:ok,
       %{
         name: entry["name"],
         title: entry["title"],
         description: entry["description"],
         timeout_ms: entry["timeout_ms"],
         requires_consent: entry["requires_consent"] == true,
         tier: tier,
         parameters: parameters,
         rate_limit: limit(entry["rate_limit"])
       }}
    end
  end

  defp limit([count, window]), do: {count, window}
  defp limit(_none), do: nil

  defp word(known, word, what) do
    case known do
      %{^word => atom} -> {:ok, atom}
      _other -> {:error, "its #{what} is not one of #{Enum.join(Map.keys(known), ", ")}"}
    end
  end

  defp parameters(list) when is_list(list) do
    Enum.reduce_while(list, {:ok, []}, fn given, {:ok, done} ->
      case parameter(given) do
        {:ok, parameter} -> {:cont, {:ok, done ++ [parameter]}}
        error -> {:halt, error}
      end
    end)
  end

  defp parameters(_other), do: {:error, "it has no list of parameters"}

  defp parameter(%{} = given) do
    parameter =
      for {key, value} <- given, atom = @parameter_keys[key], value != nil, into: %{}, do: {atom, value}

    with {:ok, type} <- word(@types, parameter[:type], "parameters' type"),
         {:ok, parameter} <- items(parameter) do
      beyond = if parameter[:beyond] == "cut", do: %{beyond: :cut}, else: %{}
      {:ok, parameter |> Map.delete(:beyond) |> Map.put(:type, type) |> Map.merge(beyond)}
    end
  end

  defp parameter(_other), do: {:error, "one of its parameters is not a map"}

  defp items(%{items: items} = parameter) do
    with {:ok, type} <- word(@types, items, "parameters' items"), do: {:ok, %{parameter | items: type}}
  end

  defp items(parameter), do: {:ok, parameter}

  # The checks that a tool of this VM's own configuration gets.
  defp sound(definition) do
    case Definition.problems_of(definition) do
      [] -> :ok
      problems -> {:error, Enum.join(problems, "; ")}
    end
  end

  defp free(name, taken) do
    case taken do
      %{^name => by} -> {:error, "its name is taken by #{by}"}
      _free -> :ok
    end
  end

  defp bounded(definition) do
    tier =
      if SecureHandler.tier_allowed?(definition.tier, @lowest_tier), do: @lowest_tier, else: definition.tier

    present = Map.reject(definition, &match?({_key, nil}, &1))
    %{present | tier: tier} |> slower()
  end

  # A limit of its own counts where it is the stricter one.
  defp slower(%{rate_limit: {count, window}, tier: tier} = definition) do
    {most, stretch} = Permissions.default_rate_limit(tier)
    if count * stretch <= most * window, do: definition, else: Map.delete(definition, :rate_limit)
  end

  defp slower(definition), do: definition
end
