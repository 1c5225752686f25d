defmodule JidoCode.Tools.Remote do
  @moduledoc """
  A node that already runs, to be looked at from here.
  """

  # The cookie is in a function, so that no report shows it in whatever form it prints its terms.
  @enforce_keys [:node, :domain]
  defstruct [:node, :domain, :cookie, consent_load: false]

  @type t :: %__MODULE__{
          node: node(),
          domain: :shortnames | :longnames,
          cookie: (() -> String.t()) | nil,
          consent_load: boolean()
        }

  # What Erlang itself accepts as a name; of a host also addresses.
  @max_bytes 255
  @cookie_variables ["JIDO_NODE_COOKIE", "RELEASE_COOKIE"]

  @doc """
  A node by the name that a person gave it: `"shop@localhost"`, `"shop@10.0.0.7"`, or `"shop"` for one on this machine. Nothing is
  connected yet.

  Options:

    * `:cookie` - the node's cookie
    * `:cookie_file` - a file with it; default the environment's `JIDO_NODE_COOKIE`, else its `RELEASE_COOKIE`, else the
      cookie of this VM, which Erlang takes from its own options or from `~/.erlang.cookie`
    * `:consent_load` - whether modules may be loaded there when the node doesn't have this library
  """
  @spec new(String.t(), keyword()) :: {:ok, t()} | {:error, String.t()}
  def new(name, opts \\ []) do
    with {:ok, name, host} <- name(name),
         {:ok, cookie} <- cookie(opts) do
      {:ok,
       %__MODULE__{
         node: atom(name <> "@" <> host),
         domain: if(String.contains?(host, [".", ":"]), do: :longnames, else: :shortnames),
         cookie: cookie && fn -> cookie end,
         consent_load: Keyword.get(opts, :consent_load, false) == true
       }}
    end
  end

  defp name(text) when is_binary(text) and byte_size(text) <= @max_bytes do
    case Regex.run(~r/\A([A-Za-z0-9_-]+)(?:@([A-Za-z0-9._:-]+))?\z/, text) do
      [_all, name, host] -> {:ok, name, host}
      [_all, name] -> with {:ok, host} <- :inet.gethostname(), do: {:ok, name, List.to_string(host)}
      nil -> not_a_name(text)
    end
  end

  defp name(text), do: not_a_name(text)

  defp not_a_name(text) do
    shown = if is_binary(text), do: String.slice(text, 0, 100), else: inspect(text, limit: 5)
    {:error, "--node takes a node's name, like shop@localhost, got: #{shown}"}
  end

  defp cookie(opts) do
    variable = Enum.find(@cookie_variables, &(System.get_env(&1, "") != ""))

    cond do
      opts[:cookie] -> checked_cookie(opts[:cookie], "--cookie")
      opts[:cookie_file] -> read_cookie(opts[:cookie_file])
      variable -> checked_cookie(System.get_env(variable), variable)
      true -> {:ok, nil}
    end
  end

  defp read_cookie(file) do
    case is_binary(file) and File.read(file) do
      {:ok, content} -> content |> String.trim() |> checked_cookie(file)
      {:error, reason} -> {:error, "can't read the cookie in #{file}: #{:file.format_error(reason)}"}
      false -> {:error, "--cookie-file takes the name of a file"}
    end
  end

  # The value is not shown: it was meant to be a secret.
  defp checked_cookie(cookie, source) do
    if is_binary(cookie) and byte_size(cookie) in 1..@max_bytes and cookie =~ ~r/\A[!-~]+\z/,
      do: {:ok, cookie},
      else:
        {:error, "#{source} holds no cookie: one is 1 to #{@max_bytes} printable characters without spaces"}
  end

  # The one place where names become atoms: the runtime takes nothing else. They come from the person who runs this VM, once
  # a session, and their shape was checked; nothing that a model typed gets here.
  defp atom(name), do: :erlang.binary_to_atom(name, :utf8)

  @doc "Lets go of the node."
  @spec release(t()) :: :ok
  def release(%__MODULE__{}), do: :ok
end
