defmodule JidoCode.Tools.Attack.CommandsTest do
  use ExUnit.Case, async: true

  import JidoCode.Tools.Test.Attack

  alias JidoCode.Tools.Test.CommandProcesses

  @moduletag :attack
  @moduletag timeout: 180_000

  # Where this machine gives no namespaces there is one mode, and the tests of the fence have nothing to speak of.
  setup_all do
    {:ok, result} = JidoCode.Tools.Command.run(["true"])
    %{fence?: result.confinement["fence"] == "whole"}
  end

  setup do
    %{folders: folders!()}
  end

  describe "git's folder" do
    setup %{folders: folders} do
      git!(folders.project, ["init", "-q"])
      File.write!(Path.join(folders.project, "a"), "a")
      git!(folders.project, ["add", "a"])
      git!(folders.project, ["commit", "-qm", "first"])
      :ok
    end

    test "keeps its configuration and hooks, whatever a script does", %{folders: folders} do
      config = File.read!(Path.join(folders.project, ".git/config"))
      hooks = File.ls!(Path.join(folders.project, ".git/hooks"))

      scripts = [
        "printf '[core]\\n\\tfsmonitor = evil\\n' > .git/config",
        "cp -f /bin/true .git/hooks/pre-commit",
        "mkdir -p evil/w/.git && echo x > evil/w/.git/config && cp -rT evil/w .",
        "mv .git/config .git/other && echo x > .git/config",
        "mv .git/hooks .git/old; mkdir .git/hooks; cp /bin/true .git/hooks/post-checkout",
        "mkdir -p .git/info; echo '* filter=evil' > .git/info/attributes",
        "echo /elsewhere > .git/commondir",
        "rm -rf .git/hooks && ln -s /tmp .git/hooks"
      ]

      for mode <- modes(), script <- scripts do
        result = run!(folders, mode, ["sh", "-c", script])
        assert File.read!(Path.join(folders.project, ".git/config")) == config, "#{mode}: #{script}"
        # What a command left instead is kept beside, under a name that git never runs.
        now = folders.project |> Path.join(".git/hooks") |> File.ls!() |> Enum.reject(&(&1 =~ ".set-aside-"))
        assert now -- hooks == [], "#{mode}: #{script}"
        refute File.exists?(Path.join(folders.project, ".git/commondir"))
        refute File.exists?(Path.join(folders.project, ".git/info/attributes"))
        assert git!(folders.project, ["log", "--oneline"]) =~ "first"
        if result.confinement["fence"] == "whole", do: assert(result.put_back == [])
      end
    end

    test "can't be moved away", %{folders: folders, fence?: fence?} do
      if fence? do
        run!(folders, :best_effort, ["sh", "-c", "mv .git gone; rm -rf .git; mkdir -p .git"])
        assert git!(folders.project, ["log", "--oneline"]) =~ "first"
      end
    end

    test "what its configuration names is read-only, in the view of git as well", %{
      folders: folders,
      fence?: fence?
    } do
      git!(folders.project, ["config", "core.hooksPath", ".husky"])
      File.mkdir_p!(Path.join(folders.project, ".husky"))
      File.write!(Path.join(folders.project, ".husky/pre-commit"), "good")

      if fence? do
        run!(folders, :best_effort, [
          "sh",
          "-c",
          "echo evil > .husky/pre-commit; echo evil > .husky/post-merge; mv .husky x"
        ])

        assert File.ls!(Path.join(folders.project, ".husky")) == ["pre-commit"]
        assert File.read!(Path.join(folders.project, ".husky/pre-commit")) == "good"
      end
    end

    test "is for git to write: add, commit, stash, checkout, merge and rebase work", %{folders: folders} do
      File.write!(Path.join(folders.home, ".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.org\n")

      for mode <- modes() do
        branch = "work-#{mode}"
        git = fn arguments -> run!(folders, mode, ["git" | arguments]) end

        ok = fn arguments ->
          assert %{exit_code: 0} = result = git.(arguments), printed(git.(arguments))
          result
        end

        ok.(["checkout", "-q", "-b", branch])
        File.write!(Path.join(folders.project, "b-#{mode}"), "b")
        ok.(["add", "b-#{mode}"])
        ok.(["commit", "-qm", "second"])
        assert printed(ok.(["log", "-1", "--format=%an %ae"])) == "Ada ada@example.org\n"
        File.write!(Path.join(folders.project, "a"), "changed")
        ok.(["stash"])
        assert File.read!(Path.join(folders.project, "a")) == "a"
        ok.(["stash", "pop"])
        ok.(["checkout", "-q", "--", "a"])
        ok.(["checkout", "-q", "-"])
        ok.(["merge", "-q", "--no-edit", branch])
        ok.(["rebase", "-q", branch])
        assert File.exists?(Path.join(folders.project, "b-#{mode}"))
      end
    end

    test "keeps its controls also when git itself is made to write them", %{folders: folders} do
      config = File.read!(Path.join(folders.project, ".git/config"))

      for mode <- modes() do
        run!(folders, mode, ["git", "config", "core.fsmonitor", "evil"])
        run!(folders, mode, ["git", "config", "alias.x", "!evil"])
        assert File.read!(Path.join(folders.project, ".git/config")) == config
      end
    end
  end

  test "a project in a part of a repository: siblings are git's to read, and nobody's to write", %{
    folders: folders,
    fence?: fence?
  } do
    base = Path.join(folders.outside, "repository")
    folders = %{folders | project: Path.join(base, "project"), outside: Path.join(base, "outside")}
    for folder <- [folders.project, folders.outside], do: File.mkdir_p!(folder)
    File.write!(Path.join(folders.outside, "secret"), "outside-secret\n")
    git!(base, ["init", "-q"])
    File.write!(Path.join(folders.project, "mine"), "mine")
    git!(base, ["add", "project", "outside"])
    git!(base, ["commit", "-qm", "all"])
    File.write!(Path.join(folders.project, "mine"), "changed")

    if fence? do
      status = run!(folders, :best_effort, ["git", "status", "--short", "--untracked-files=no"])
      assert printed(status) == " M mine\n"
      assert %{exit_code: 0} = run!(folders, :best_effort, ["git", "add", "mine"])

      assert %{exit_code: 0} =
               run!(folders, :best_effort, [
                 "git",
                 "-c",
                 "user.name=A",
                 "-c",
                 "user.email=a@b",
                 "commit",
                 "-qm",
                 "mine"
               ])

      refute printed(run!(folders, :best_effort, ["cat", "../outside/secret"])) =~ "outside-secret"
      run!(folders, :best_effort, ["git", "rm", "-q", "../outside/secret"])
      assert File.read!(Path.join(folders.outside, "secret")) == "outside-secret\n"
    end
  end

  test "what runs in other projects of the user can't be written", %{folders: folders} do
    for mode <- modes() do
      run!(folders, mode, [
        "sh",
        "-c",
        "echo evil > #{folders.home}/.mix/archives/a; echo evil > #{folders.home}/.mix/archives/b"
      ])

      run!(folders, mode, [
        "sh",
        "-c",
        "echo evil > #{folders.home}/.cargo/bin/cargo; echo evil > #{folders.home}/.profile"
      ])

      assert File.ls!(Path.join(folders.home, ".mix/archives")) == ["a"]
      assert File.read!(Path.join(folders.home, ".mix/archives/a")) == "archive"
      assert File.read!(Path.join(folders.home, ".cargo/bin/cargo")) == "#!/bin/sh\n"
      refute File.exists?(Path.join(folders.home, ".profile"))
    end
  end

  test "contents outside can't be read, by name, by link, by redirection or by a tool's own script", %{
    folders: folders
  } do
    File.ln_s!(Path.join(folders.outside, "secret"), Path.join(folders.project, "link"))
    File.ln_s!("../outside", Path.join(folders.project, "folder"))
    make = "x:\n\t@cat #{folders.outside}/secret\n"

    attacks = [
      ["cat", "link"],
      ["cat", "folder/secret"],
      [{:then, [%{argv: ["head", "-c", "8"], redirect: [{0, :read, "link"}]}]}],
      [{:then, [["printf", make], ["make", "-f", "-", "x"]]}],
      ["sh", "-c", "cp -P link copy; cat copy; cat ../outside/secret; cat #{folders.home}/.ssh/id"],
      ["sh", "-c", "cat /etc/shadow /etc/ssh/* /etc/sudoers"]
    ]

    for mode <- modes(), attack <- attacks do
      text = printed(run!(folders, mode, attack))
      refute text =~ "outside-"
      refute text =~ "home-secret"
      refute text =~ "root:"
    end
  end

  test "a command has no power over the system, root or not", %{folders: folders, fence?: fence?} do
    prelude =
      "import os, ctypes, socket\nlibc = ctypes.CDLL(None, use_errno=True)\ndef call(*a):\n    if libc.syscall(*a) < 0: raise OSError(ctypes.get_errno())"

    attempts = [
      # A block device, and what could be read from it.
      ~s[os.mknod("disk", 0o600 | 0o060000, os.makedev(254, 0))],
      # keyctl, add_key, ptrace, bpf, io_uring_setup, perf_event_open, userfaultfd, unshare, mount, setns.
      "call(250, 0, 0, 0, 0, 0)",
      "call(248, b'user', b'x', b'y', 1, -3)",
      "call(101, 0, 0, 0, 0)",
      "call(321, 0, 0, 0)",
      "call(425, 1, 0)",
      "call(298, 0, 0, -1, -1, 0)",
      "call(323, 1)",
      "call(272, 0x10000000)",
      "call(272, 0x20000)",
      "call(165, b'none', b'/tmp', b'tmpfs', 0, 0)",
      "call(308, 0, 0)",
      "call(56, 0x10000011, 0, 0, 0, 0)",
      ~s[open("/proc/sys/kernel/core_pattern", "w")],
      ~s[open("/proc/sysrq-trigger", "w")]
    ]

    for mode <- modes() do
      text = printed(run!(folders, mode, tries(prelude, attempts)))
      errors = String.split(text, "\n", trim: true)
      assert length(errors) == length(attempts)

      assert Enum.uniq(errors) -- ["OSError", "PermissionError", "FileNotFoundError"] == [],
             "#{mode}: #{text}"

      capabilities = printed(run!(folders, mode, ["grep", "-h", "^Cap", "/proc/self/status"]))
      assert capabilities |> String.split() |> Enum.drop_every(2) |> Enum.uniq() == ["0000000000000000"]
    end

    if fence?,
      do:
        assert(
          printed(run!(folders, :best_effort, ["ls", "/dev"])) ==
            "fd\nfull\nnull\nrandom\nshm\nstderr\nstdin\nstdout\nurandom\nzero\n"
        )
  end

  test "neither the VM nor the runner can be stopped, starved or blinded", %{folders: folders} do
    vm = System.pid()

    script = """
    import os, resource, signal
    own = {os.getpid(), os.getppid()}
    pids = {int(p) for p in os.listdir("/proc") if p.isdigit()} | {#{vm}}
    def runner(pid):
        try: return b"jido_command_runner" in open(f"/proc/{pid}/cmdline", "rb").read()
        except OSError: return False
    def names(): return {pid for pid in pids if runner(pid)}
    for pid in (names() | {#{vm}}) - own - {1}:
        for attempt in (lambda: resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1)),
                        lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, 0)),
                        lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
                        lambda: os.kill(pid, signal.SIGSTOP),
                        lambda: os.kill(pid, signal.SIGKILL),
                        lambda: open(f"/proc/{pid}/environ").read() and print("read", pid)):
            try:
                attempt()
                if pid == #{vm}: print("reached")
            except OSError: pass
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            import time; time.sleep(100)
        os._exit(0)
    os.wait()
    print("end")
    """

    for mode <- modes() do
      mark = CommandProcesses.mark()
      result = run!(folders, mode, ["/usr/bin/python3", "-c", script], env: mark)
      assert {result.status, result.exit_code, result.processes_left} == {:exited, 0, 0}, printed(result)
      assert printed(result) == "end\n"
      assert CommandProcesses.marked(mark) == []
      limits = File.read!("/proc/#{vm}/limits")
      refute limits =~ ~r/Max cpu time +1 /
    end
  end

  test "nothing outside can be changed or even be known to exist", %{folders: folders, fence?: fence?} do
    secret = Path.join(folders.outside, "secret")
    before = File.stat!(secret)
    prelude = "import os\np = #{inspect(secret)}"

    attempts = [
      "os.chmod(p, 0o777)",
      "os.utime(p, (1, 1))",
      "os.chown(p, 1, 1)",
      ~s[os.setxattr(p, "user.x", b"y")],
      "os.stat(p)",
      "os.listdir(os.path.dirname(p))"
    ]

    # Landlock has no rules for the first five.
    if fence? do
      text = printed(run!(folders, :best_effort, tries(prelude, attempts)))
      assert text |> String.split() |> Enum.uniq() == ["FileNotFoundError"]
      assert File.stat!(secret) == before
      result = run!(folders, :best_effort, ["test", "-e", secret])
      assert result.exit_code == 1
    end
  end

  test "sockets of engines, agents and buses are out of reach, those of databases are not", %{
    folders: folders,
    fence?: fence?
  } do
    agent = Path.join(folders.outside, "agent.sock")
    {:ok, _listening} = :gen_tcp.listen(0, ifaddr: {:local, agent})
    abstract = "jido-attack-#{System.unique_integer([:positive])}"
    {:ok, _bus} = :gen_tcp.listen(0, ifaddr: {:local, <<0>> <> abstract})
    database = Path.join(folders.outside, "database.sock")
    {:ok, _database} = :gen_tcp.listen(0, ifaddr: {:local, database})

    prelude = "import socket\ndef connect(a):\n    socket.socket(socket.AF_UNIX).connect(a)"

    attempts = [
      ~s[connect(#{inspect(agent)})],
      ~s[connect("\\0#{abstract}")],
      ~s[connect("/run/docker.sock")],
      ~s[connect(#{inspect(database)})]
    ]

    if fence? do
      options = [network: :all, sockets: [database]]
      lines = folders |> run!(:best_effort, tries(prelude, attempts), options) |> printed() |> String.split()
      assert [agent, abstract, _docker, "done"] = lines
      assert agent == "FileNotFoundError"
      assert abstract == "PermissionError"
    end
  end

  test "what is inherited by accident is not handed on", %{folders: folders} do
    for mode <- modes() do
      text =
        printed(
          run!(folders, mode, [
            "sh",
            "-c",
            "ls /proc/self/fd | tr '\\n' ' '; env | grep -i -E 'ssh|dbus|cookie'"
          ])
        )

      # The last one is the listing's own.
      assert text == "0 1 2 3 "
    end
  end

  test "the word that lets other nodes in is not read", %{folders: folders, fence?: fence?} do
    File.write!(Path.join(folders.home, ".erlang.cookie"), "home-secret")
    word = Path.join(folders.home, ".erlang.cookie")

    script =
      "cat #{word}; cat ~/.erlang.cookie; cat /proc/[0-9]*/environ; tr '\\0' ' ' < /proc/#{System.pid()}/cmdline"

    for mode <- modes() do
      text = printed(run!(folders, mode, ["sh", "-c", script]))
      refute text =~ "home-secret"
      # A word given on the command line is hidden with the process.
      if fence? and mode == :best_effort, do: refute(text =~ "beam.smp")
    end
  end

  test "the place for temporary files is bounded", %{folders: folders, fence?: fence?} do
    if fence? do
      [blocks, size] =
        folders |> run!(:best_effort, ["stat", "-f", "-c", "%b %S", "/tmp"]) |> printed() |> String.split()

      bytes = String.to_integer(blocks) * String.to_integer(size)
      assert bytes == JidoCode.Tools.Config.get(:command_temp_bytes)
    end
  end
end
