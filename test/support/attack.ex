defmodule JidoCode.Tools.Test.Attack do
  @moduledoc """
  A project beside what its commands must not reach, and scripts that try.

  Each attack runs in a whole fence and with Landlock alone, as `modes/0` says; a test asserts for the second what is expected to
  hold there.
  """

  import ExUnit.Callbacks, only: [on_exit: 1]

  alias JidoCode.Tools.Command
  alias JidoCode.Tools.Command.Output
  alias JidoCode.Tools.Project.Places
  alias JidoCode.Tools.Test.Tree

  @doc "A whole fence, and what is left where there are no namespaces."
  @spec modes() :: [atom()]
  def modes, do: [:best_effort, :without_namespaces]

  @doc "The folders of an attack: `project`, `outside` with a secret, and `home`, a person's."
  @spec folders!() :: %{project: String.t(), outside: String.t(), home: String.t()}
  def folders! do
    base = Path.join(System.tmp_dir!(), "jido-attack-#{System.pid()}-#{System.unique_integer([:positive])}")
    on_exit(fn -> Tree.remove!(base) end)
    folders = Map.new([:project, :outside, :home], &{&1, Path.join(base, Atom.to_string(&1))})
    for {_name, folder} <- folders, do: File.mkdir_p!(folder)
    File.write!(Path.join(folders.outside, "secret"), "outside-secret\n")

    for {file, text} <- [
          {".mix/archives/a", "archive"},
          {".cargo/bin/cargo", "#!/bin/sh\n"},
          {".ssh/id", "home-secret\n"}
        ] do
      File.mkdir_p!(Path.dirname(Path.join(folders.home, file)))
      File.write!(Path.join(folders.home, file), text)
    end

    folders
  end

  @doc "Runs a command or a plan as the tools do, with `home` as the person's."
  @spec run!(map(), atom(), [String.t(), ...] | Command.plan(), keyword()) :: Command.Result.t()
  def run!(folders, mode, command, options \\ []) do
    {:ok, result} = try_run(folders, mode, command, options)
    result
  end

  @doc "As `run!/4`, where it may be refused before it starts."
  @spec try_run(map(), atom(), [String.t(), ...] | Command.plan(), keyword()) ::
          {:ok, Command.Result.t()} | {:error, Command.reason()}
  def try_run(folders, mode, command, options \\ []) do
    {env, options} = Keyword.pop(options, :env, %{})
    env = Map.merge(%{"HOME" => folders.home, "MIX_HOME" => Path.join(folders.home, ".mix")}, env)
    places = Places.options(folders.project, env)
    options = Keyword.merge([cd: folders.project, confinement: mode, timeout: 60_000] ++ places, options)
    Command.run(command, options)
  end

  @doc "What it printed, both streams."
  @spec printed(Command.Result.t()) :: String.t()
  def printed(result), do: Output.text(result.stdout) <> Output.text(result.stderr)

  @doc "A Python program as arguments; each of `tries` is a line of its own, and the name of its error is printed, or `done`."
  @spec tries(String.t(), [String.t()]) :: [String.t()]
  def tries(prelude, tries) do
    attempts =
      for try_ <- tries do
        """
        try:
            #{try_}
            print("done")
        except BaseException as error:
            print(type(error).__name__)
        """
      end

    ["/usr/bin/python3", "-c", prelude <> "\n" <> Enum.join(attempts)]
  end

  @doc "Runs git, as a person would, and raises when it fails."
  @spec git!(String.t(), [String.t()]) :: String.t()
  def git!(folder, arguments) do
    identity = [
      "-c",
      "user.name=Person",
      "-c",
      "user.email=person@example.org",
      "-c",
      "init.defaultBranch=main"
    ]

    {text, 0} = System.cmd("git", identity ++ arguments, cd: folder, stderr_to_stdout: true)
    text
  end

  @doc "Evaluates in a VM of its own, started by the given words; the code's value comes back."
  @spec evaluate([String.t()], String.t(), [{String.t(), String.t()}]) :: term()
  def evaluate(words, code, env \\ []), do: evaluate(words, own_code(), code, env)

  @doc """
  As `evaluate/3`, as an ordinary user without a home, behind the given words. This project may lie where only its owner comes, so
  that user has a copy of the library.
  """
  @spec evaluate_as_nobody([String.t()], String.t(), [{String.t(), String.t()}]) :: term()
  def evaluate_as_nobody(words, code, env \\ []) do
    copy = Path.join(System.tmp_dir!(), "jido-copy-#{System.pid()}-#{System.unique_integer([:positive])}")
    on_exit(fn -> Tree.remove!(copy) end)
    File.mkdir_p!(copy)
    # With what its links lead to.
    {_, 0} = System.cmd("cp", ["-rL", Application.app_dir(:jido_code_tools), copy])
    {_, 0} = System.cmd("chmod", ["-R", "a+rX", copy])
    paths = Enum.flat_map(~w(ebin consolidated), &["-pa", Path.join([copy, "jido_code_tools", &1])])
    nobody = ~w(setpriv --reuid=65534 --regid=65534 --clear-groups env -u HOME)
    evaluate(words ++ nobody, paths, code, env)
  end

  defp evaluate(words, paths, code, env) do
    code =
      started(
        ~s|value = (fn -> #{code} end).(); IO.puts("value:" <> Base.encode64(:erlang.term_to_binary(value)))|
      )

    [program | arguments] = words ++ ["elixir"] ++ paths ++ ["-e", code]
    {text, 0} = System.cmd(program, arguments, stderr_to_stdout: true, cd: "/", env: env)
    [_, value] = Regex.run(~r/value:(\S+)/, text)
    value |> Base.decode64!() |> :erlang.binary_to_term()
  end

  @doc "Code that is evaluated with the library started."
  @spec started(String.t()) :: String.t()
  def started(code), do: "{:ok, _} = Application.ensure_all_started(:jido_code_tools)\n" <> code

  @doc "The words that give a VM the library's code."
  @spec own_code() :: [String.t()]
  def own_code do
    for path <- :code.get_path(),
        path = to_string(path),
        path =~ ~r/jido_code_tools/,
        word <- ["-pa", path],
        do: word
  end
end
