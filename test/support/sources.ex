defmodule JidoCode.Tools.Test.Sources do
  @moduledoc """
  A small compiled project whose modules this VM never loaded, so that it has none of their atoms. Compiled by programs of their own.
  """

  alias JidoCode.Tools.Test.Tree

  # Names are put together here, so that they are no atoms of the tests' either.
  @files %{
    "lib/macros.ex" => """
    defmodule QSrc.Macros do
      defmacro __using__(_options) do
        quote do
          def qsrc_made(x), do: x
        end
      end

      defmacro qsrc_keep(name) do
        quote location: :keep do
          def unquote(name)(a), do: a + 1
        end
      end

      defmacro qsrc_plus(x), do: quote(do: unquote(x) + 1)
    end
    """,
    "lib/store.ex" => """
    defmodule QSrc.Store do
      use GenServer
      use QSrc.Macros
      require QSrc.Macros
      QSrc.Macros.qsrc_keep(:qsrc_kept)

      defstruct [:items, token: nil]
      @type t :: %__MODULE__{}
      @callback qsrc_price(item :: term()) :: integer()

      @impl true
      def init(items), do: {:ok, items}

      @doc "Several clauses."
      def qsrc_sum([]), do: 0

      def qsrc_sum([first | rest]) do
        first + qsrc_sum(rest)
      end

      def qsrc_default(a, b \\\\ 2), do: a * b

      for name <- [:qsrc_left, :qsrc_right] do
        def unquote(name)(), do: unquote(name)
      end
    end
    """,
    "lib/user.ex" => """
    defmodule QSrc.User do
      @behaviour QSrc.Store
      alias QSrc.Store, as: S
      import QSrc.Store, only: [qsrc_sum: 1]
      require QSrc.Macros

      # QSrc.Store.qsrc_sum is named in a comment, which is no call.
      def qsrc_direct(x), do: S.qsrc_sum(x)
      def qsrc_imported(x), do: x |> qsrc_sum()
      def qsrc_captured, do: &S.qsrc_sum/1
      def qsrc_applied(x), do: apply(S, :qsrc_sum, [x])
      def qsrc_spec, do: {Task, :start_link, [S, :qsrc_sum, [[1]]]}
      def qsrc_asks, do: GenServer.call(S, :all)
      def qsrc_struct, do: %S{}
      def qsrc_names, do: [S]
      def qsrc_computed(name, x), do: apply(S, name, [x])

      def qsrc_macro(x) do
        QSrc.Macros.qsrc_plus(x)
      end

      @spec qsrc_typed(S.t()) :: S.t()
      def qsrc_typed(s), do: s

      @impl true
      def qsrc_price(_item), do: 1
    end
    """,
    "lib/proto.ex" => """
    defprotocol QSrc.Proto do
      def qsrc_show(x)
    end

    defimpl QSrc.Proto, for: QSrc.Store do
      def qsrc_show(_x), do: "store"
    end
    """,
    "src/qsrc_erl.erl" => """
    -module(qsrc_erl).
    -export([add/2, both/1]).
    -behaviour(gen_server).
    -export([init/1, handle_call/3, handle_cast/2]).
    -record(row, {id}).

    add(A, B) ->
        A + B.

    both([]) -> 0;
    both(L) ->
        X = lists:sum(L),
        F = fun qsrc_erl:add/2,
        G = fun add/2,
        spawn('Elixir.QSrc.Store', qsrc_sum, [[X]]),
        'Elixir.QSrc.Store':qsrc_sum([F(1, 2), G(1, 2), add(X, X), #row{id = 1}]).

    init(S) -> {ok, S}.
    handle_call(_, _, S) -> {reply, ok, S}.
    handle_cast(_, S) -> {noreply, S}.
    """
  }

  @doc "The project's folder; its modules are on this VM's path until the test ends, or in `setup_all` all of them."
  @spec compiled!() :: Path.t()
  def compiled! do
    root = Tree.new!(@files)
    ebin = Path.join(root, "_build/dev/lib/qsrc/ebin")
    File.mkdir_p!(ebin)
    run!("elixirc", ["-o", ebin | Enum.filter(Map.keys(@files), &String.ends_with?(&1, ".ex"))], root)
    run!("erlc", ["+debug_info", "-o", ebin, "src/qsrc_erl.erl"], root)
    Code.prepend_path(ebin)
    ExUnit.Callbacks.on_exit(fn -> Code.delete_path(ebin) end)
    root
  end

  @doc "Where the compiled modules lie."
  @spec ebin(Path.t()) :: Path.t()
  def ebin(root), do: Path.join(root, "_build/dev/lib/qsrc/ebin")

  @doc "Runs a compiler."
  @spec run!(String.t(), [String.t()], Path.t()) :: :ok
  def run!(program, arguments, root) do
    {_output, 0} = System.cmd(program, arguments, cd: root, stderr_to_stdout: true)
    :ok
  end

  @doc """
  Writes a compiled file whose debug information holds these definitions and file names, as anybody might write one. It is removed
  when the test ends.
  """
  @spec forged!(Path.t(), String.t(), term(), keyword()) :: :ok
  def forged!(root, name, definitions, files \\ []) do
    map = %{
      definitions: definitions,
      attributes: [],
      file: files[:file] || Path.join(root, "lib/store.ex"),
      relative_file: files[:relative],
      line: 1
    }

    chunk = :erlang.term_to_binary({:debug_info_v1, :elixir_erl, {:elixir_v1, map, []}})
    padding = :binary.copy(<<0>>, rem(4 - rem(byte_size(chunk), 4), 4))
    form = "BEAMDbgi" <> <<byte_size(chunk)::32>> <> chunk <> padding
    path = Path.join(ebin(root), "Elixir.#{name}.beam")
    File.write!(path, "FOR1" <> <<byte_size(form)::32>> <> form)
    ExUnit.Callbacks.on_exit(fn -> File.rm(path) end)
  end
end
