defmodule JidoCodeTools.MixProject do
  use Mix.Project

  @version "0.1.0"

  def project do
    [
      app: :jido_code_tools,
      version: @version,
      elixir: "~> 1.14",
      description:
        "Tools that let an LLM agent work inside a living Elixir system, behind one security pipeline",
      compilers: [:jido_native] ++ Mix.compilers() ++ [:jido_mcp],
      elixirc_paths: elixirc_paths(Mix.env()),
      start_permanent: Mix.env() == :prod,
      # No Hex package: the library builds where Hex is not installed.
      deps: [],
      aliases: aliases(),
      # Tests read the documentation of modules that they compile; newer versions of Mix leave it out for speed.
      test_elixirc_options: [docs: true, debug_info: true],
      test_coverage: [
        # The tests that need modules as they were built (`as_built`) run apart, and are not counted.
        summary: [threshold: 87],
        ignore_modules: [
          # Stubs that the loaded NIF replaces: no line of them ever runs.
          JidoCode.Tools.Security.Native,
          # Their lines run in another VM: below the launcher, or on the node that is looked at.
          Mix.Tasks.Jido.Mcp.Serve,
          JidoCode.Tools.Introspection.Freshness,
          JidoCode.Tools.Doors.MCP.Consent,
          JidoCode.Tools.Doors.MCP.Options,
          JidoCode.Tools.Doors.MCP.Question,
          JidoCode.Tools.Doors.MCP.ToolsVM,
          JidoCode.Tools.Handlers.RestartProject,
          ~r/^JidoCode\.Tools\.ProjectVM(\.|$)/,
          JidoCode.Tools.Remote.Guest,
          JidoCode.Tools.Remote.Service,
          # OTP 27 and newer alone can trace.
          JidoCode.Tools.Introspection.CallTrace,
          JidoCode.Tools.Handlers.Elixir.TraceCalls,
          JidoCode.Tools.Answers.Trace,
          ~r/^(Inspect\.)?JidoCode\.Tools\.Test\./,
          GenStage,
          :telemetry
        ]
      ],
      package: [
        licenses: ["Apache-2.0"],
        files:
          ~w(lib guides mix.exs README.md CHANGELOG.md LICENSE setup.sh .formatter.exs priv/channel.exs priv/exunit priv/mix) ++
            ~w(native/Cargo.toml native/Cargo.lock native/*/Cargo.toml native/*/src native/*/benches)
      ]
    ]
  end

  def application do
    [
      mod: {JidoCode.Tools.Application, []},
      extra_applications: [:logger, :crypto]
    ]
  end

  defp elixirc_paths(:test), do: ["lib", "test/support"]
  defp elixirc_paths(_env), do: ["lib"]

  defp aliases do
    [
      bench: "run bench/core.exs",
      # Writes the tables of the documentation that come from the code.
      readme: "run --no-start -r test/support/readme.ex -e JidoCode.Tools.Test.Readme.write!()"
    ]
  end
end

defmodule Mix.Tasks.Compile.JidoNative do
  @moduledoc false
  # Builds the cargo workspace under native/ and puts what it made into priv/native.
  #
  # Cargo is asked only when a source is newer than what it made last.
  # The artefacts are always built with the release profile, in every Mix environment: they are shared by
  # dev, test and prod through one priv directory, and an unoptimised redactor would be felt in each call.

  use Mix.Task.Compiler

  # rustler's minimum; an older cargo fails with errors that don't name the cause.
  @minimum_rust "1.91.0"

  @impl true
  def run(_args) do
    root = File.cwd!()
    native = Path.join(root, "native")
    destination = Path.join([root, "priv", "native"])

    # priv must exist before the build structure is made, or _build gets no link to it on the first run.
    File.mkdir_p!(destination)
    Mix.Project.build_structure()

    if fresh?(native, destination), do: {:noop, []}, else: make(native, destination)
  end

  defp make(native, destination) do
    target = System.get_env("CARGO_TARGET_DIR") || Path.join(native, "target")

    with {:ok, cargo} <- find_cargo(),
         :ok <- check_version(cargo),
         :ok <- build(cargo, native, target, File.ls!(destination) == []) do
      for artefact <- artefacts(), do: install(Path.join(target, "release"), destination, artefact)
      {:ok, []}
    else
      {:error, message} ->
        Mix.shell().error(message)

        {:error,
         [
           %Mix.Task.Compiler.Diagnostic{
             compiler_name: "jido_native",
             file: Path.join(native, "Cargo.toml"),
             message: message,
             position: nil,
             severity: :error
           }
         ]}
    end
  end

  @impl true
  def clean do
    File.rm_rf!(Path.join([File.cwd!(), "priv", "native"]))
  end

  # {file that cargo makes, file under priv/native}
  defp artefacts do
    library =
      case :os.type() do
        {:unix, :darwin} -> "libjido_code_tools.dylib"
        _other -> "libjido_code_tools.so"
      end

    [
      {library, "jido_code_tools.so"},
      {"jido_command_runner", "jido_command_runner"},
      {"jido_mcp", "jido_mcp"}
    ]
  end

  defp find_cargo do
    home = Path.join([System.user_home() || "/", ".cargo", "bin", "cargo"])

    cond do
      path = System.find_executable("cargo") ->
        {:ok, path}

      File.exists?(home) ->
        {:ok, home}

      true ->
        {:error,
         "jido_code_tools needs cargo (Rust #{@minimum_rust} or newer) to build native/, and found none on PATH. " <>
           how_to_install()}
    end
  end

  defp check_version(cargo) do
    with {output, 0} <- System.cmd(cargo, ["--version"], stderr_to_stdout: true),
         ["cargo", version | _rest] <- String.split(output),
         {:ok, version} <- Version.parse(version) do
      if Version.compare(%{version | pre: []}, @minimum_rust) == :lt do
        {:error,
         "jido_code_tools needs Rust #{@minimum_rust} or newer, and #{cargo} is #{version}. " <>
           how_to_install()}
      else
        :ok
      end
    else
      _other -> {:error, "#{cargo} --version did not answer as cargo does. " <> how_to_install()}
    end
  end

  defp how_to_install do
    "On Debian, run setup.sh of jido_code_tools; elsewhere install Rust by rustup or your distribution."
  end

  # Quiet, or cargo would end each `mix` command with its "Finished" line; warnings and errors still show. The first build takes
  # minutes, so it shows what cargo does.
  defp build(cargo, native, target, first?) do
    if first?,
      do: IO.puts(:stderr, "Building the native core with cargo (the first time takes some minutes)")

    arguments =
      ~w(build --release --locked --package nif --package command_runner --package mcp_launcher) ++
        ["--target-dir", target] ++ if(first?, do: [], else: ["--quiet"])

    options = [cd: native, into: IO.stream(:stderr, :line), stderr_to_stdout: true]

    case System.cmd(cargo, arguments, options) do
      {_stream, 0} ->
        :ok

      {_stream, status} ->
        {:error, "cargo build in native/ failed with status #{status}; its messages are above"}
    end
  end

  # Cargo would say the same, but takes a lock in its target folder for it: a confined command that only compiles a project
  # which has this library as a path dependency can't write there.
  defp fresh?(native, destination) do
    installed = for {_built, name} <- artefacts(), do: modified(Path.join(destination, name))
    patterns = ~w(Cargo.toml Cargo.lock */Cargo.toml */src/**)
    sources = Enum.flat_map(patterns, &Path.wildcard(Path.join(native, &1)))
    Enum.max(Enum.map(sources, &modified/1), fn -> 0 end) < Enum.min(installed)
  end

  defp modified(path) do
    case File.stat(path, time: :posix) do
      # A folder's time tells of names in it only, and a fresh checkout's folders are as new as what was just installed.
      {:ok, %{type: :regular, mtime: time}} -> time
      _folder_or_missing -> 0
    end
  end

  # A running VM may have the old file mapped: replacing it by rename leaves that mapping whole.
  defp install(from, to, {built, installed}) do
    source = Path.join(from, built)
    target = Path.join(to, installed)

    if same?(source, target) do
      File.touch!(target)
    else
      temporary = "#{target}.#{System.pid()}.new"
      File.cp!(source, temporary)
      File.touch!(temporary)
      File.rename!(temporary, target)
    end
  end

  defp same?(source, target) do
    with {:ok, %{size: size}} <- File.stat(source),
         {:ok, %{size: ^size}} <- File.stat(target) do
      File.read!(source) == File.read!(target)
    else
      _other -> false
    end
  end
end

defmodule Mix.Tasks.Compile.JidoMcp do
  @moduledoc false
  # Writes what the MCP launcher offers beside it, from the definitions that were just compiled.

  use Mix.Task.Compiler

  @impl true
  def run(_args) do
    file = Path.join([File.cwd!(), "priv", "native", "jido_mcp_tools.json"])
    if fresh?(file), do: {:noop, []}, else: write(file)
  end

  defp fresh?(file) do
    with {:ok, %{mtime: written}} <- File.stat(file, time: :posix) do
      [Mix.Project.compile_path(), "Elixir.JidoCode.Tools.*.beam"]
      |> Path.join()
      |> Path.wildcard()
      |> Enum.all?(&(File.stat!(&1, time: :posix).mtime < written))
    else
      _missing -> false
    end
  end

  defp write(file) do
    json = encode(Mix.Project.config()[:version])

    if File.read(file) == {:ok, json} do
      # A confined command that compiles a project with this library in it can't; all that it costs is this look.
      File.touch(file)
    else
      # As a whole: a launcher may start at any time.
      temporary = "#{file}.#{System.pid()}.new"
      File.write!(temporary, json)
      File.rename!(temporary, file)
    end

    {:ok, []}
  end

  # In a VM of its own: native code can be loaded once, and this VM may still compile the module that loads it anew.
  defp encode(version) do
    code = """
    try do
      {:ok, json} = JidoCode.Tools.JSON.encode(JidoCode.Tools.Doors.MCP.Listing.build(#{inspect(version)}))
      IO.binwrite(json)
    rescue
      ErlangError ->
        IO.puts(:stderr, inspect(JidoCode.Tools.Security.Native.load_error()))
        System.halt(1)
    end
    """

    case System.cmd("elixir", ["-pa", Mix.Project.compile_path(), "-e", code]) do
      {json, 0} ->
        json

      {_output, _status} ->
        Mix.raise(
          "the native core of jido_code_tools can't be loaded; the reason is above. It is built anew by mix deps.compile --force"
        )
    end
  end
end
