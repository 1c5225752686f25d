defmodule JidoCode.Tools.Attack.McpTest do
  # The attacks as an agent makes them: it has written a Makefile into the project, and calls tools of the MCP server.
  use ExUnit.Case, async: false

  import JidoCode.Tools.Test.Attack, only: [git!: 2]
  import JidoCode.Tools.Test.CommandProcesses, only: [alive?: 1]

  alias JidoCode.Tools.Command
  alias JidoCode.Tools.Test.{McpClient, MixProject}

  @moduletag :attack
  @moduletag timeout: 300_000

  @mix """
  defmodule Sample.MixProject do
    use Mix.Project
    def project, do: [app: :sample, version: "0.1.0"]
  end
  """

  setup_all do
    %{fence?: Command.fence() == :whole}
  end

  setup do
    root = MixProject.new!(%{"mix.exs" => @mix, "lib/sample.ex" => "defmodule Sample do\nend\n"})
    outside = Path.join(Path.dirname(root), "outside")
    File.mkdir_p!(outside)
    File.write!(Path.join(outside, "secret"), "outside-secret\n")
    git!(root, ["init", "-q"])
    %{root: root, outside: outside}
  end

  defp makefile(root, pid) do
    rules = [
      read: "cat ../outside/secret /etc/shadow",
      write: "echo evil > ../outside/new",
      hook: "echo evil > .git/hooks/pre-commit; echo evil >> .git/config; mv .git gone",
      kill: "kill -9 #{pid}; kill -9 -1; true",
      stay: "setsid sleep 4217 & true",
      nested: "git init -q lib/nested",
      link: "ln -s ../outside here"
    ]

    text = for {name, line} <- rules, do: ".PHONY: #{name}\n#{name}:\n\t-@#{line}\n"
    File.write!(Path.join(root, "Makefile"), text)
  end

  test "what a command must not reach it does not reach through the server either", context do
    %{root: root, outside: outside} = context
    config = File.read!(Path.join(root, ".git/config"))
    client = McpClient.start!(root, ["--tier", "execute", "--no-start"])
    McpClient.initialize(client)
    makefile(root, client.pid)
    tool = fn arguments -> McpClient.tool(client, "bash_execute", arguments) end
    make = fn name -> tool.(%{"command" => "make #{name}"}) end

    if context.fence? do
      for name <- ~w(read write hook kill stay) do
        {_status, text} = make.(name)
        refute text =~ "outside-secret"
        refute text =~ "root:"
      end

      assert File.ls!(outside) == ["secret"]
      assert File.read!(Path.join(root, ".git/config")) == config
      refute File.exists?(Path.join(root, ".git/hooks/pre-commit"))
      assert alive?(client.pid)
      {sleeping, _status} = System.cmd("sh", ["-c", "cat /proc/[0-9]*/cmdline 2> /dev/null | tr '\\0' ' '"])
      refute sleeping =~ "sleep 4217 "

      assert {:ok, text} = make.("nested")
      assert text =~ "lib/nested/.git is a new git repository"

      {:ok, _text} = make.("link")
      assert {:error, _text} = tool.(%{"command" => "cat secret", "working_directory" => "here"})
      assert {:error, _text} = tool.(%{"command" => "cat here/secret"})

      assert {:error, _text} =
               McpClient.tool(client, "grep_search", %{"pattern" => "secret", "path" => "here"})
    else
      # Nothing runs where the fence is not whole, unless a person says so.
      assert {:error, _text} = make.("read")
    end

    McpClient.leave(client)
  end

  # The folder of the socket, in a folder for temporary files of the test's own.
  defp folders(base), do: base |> File.ls!() |> Enum.filter(&String.starts_with?(&1, "jido-mcp-held-"))

  # A launcher that is killed as soon as it has made its folder. Where its VM was quicker there is none left, and the next one
  # is tried.
  defp killed_early(root, base, tries \\ 20) do
    client =
      McpClient.start!(root, ["--tier", "execute", "--no-start"], env: [{~c"TMPDIR", to_charlist(base)}])

    wait_for(fn -> folders(base) != [] end)
    {_, 0} = System.cmd("kill", ["-9", Integer.to_string(client.pid)])
    wait_for(fn -> not alive?(client.pid) end)

    case folders(base) do
      [_ | _] = left -> left
      [] when tries > 0 -> killed_early(root, base, tries - 1)
    end
  end

  defp wait_for(look), do: look.() || (Process.sleep(1) && wait_for(look))

  # A child that the killed one had not yet handed over to its program holds the lock until it does.
  defp next_start(root, base, left, tries \\ 20) do
    client =
      McpClient.start!(root, ["--tier", "execute", "--no-start"], env: [{~c"TMPDIR", to_charlist(base)}])

    McpClient.initialize(client)
    McpClient.tool(client, "grep_search", %{"pattern" => "defmodule"})
    stays = Enum.filter(folders(base), &(&1 in left))
    McpClient.leave(client)
    if stays != [] and tries > 0, do: next_start(root, base, left, tries - 1), else: stays
  end

  test "the folder of a launcher that is killed before its VM connects goes with the next start", context do
    left = killed_early(context.root, context.outside)
    assert next_start(context.root, context.outside, left) == []
  end

  test "code that a command left in the project reaches nothing when the launcher starts the VM again",
       context do
    %{root: root, outside: outside} = context
    client = McpClient.start!(root, ["--tier", "execute"])
    McpClient.initialize(client)

    if context.fence? do
      File.write!(Path.join(root, "lib/rr.ex"), """
      File.write(#{inspect(Path.join(outside, "new"))}, "ran")
      File.write(#{inspect(Path.join(root, ".git/hooks/pre-commit"))}, "ran")
      File.write!(#{inspect(Path.join(root, "ran"))}, inspect(File.read(#{inspect(Path.join(outside, "secret"))})))
      """)

      assert {:ok, _text} = McpClient.tool(client, "restart_project")
      assert File.read!(Path.join(root, "ran")) == "{:error, :enoent}"
      assert File.ls!(outside) == ["secret"]
      refute File.exists?(Path.join(root, ".git/hooks/pre-commit"))
    end

    McpClient.leave(client)
  end

  test "a second request with the id of one that runs is answered, and so is the first", %{root: root} do
    client = McpClient.start!(root, ["--tier", "execute", "--no-start"])
    McpClient.initialize(client)

    call =
      ~s({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"grep_search","arguments":{"pattern":"Sample"}}})

    # In one piece, so that the second is read before any VM could answer the first.
    McpClient.write(client, call <> "\n" <> call)
    assert %{"error" => %{"message" => text}} = McpClient.await(client, 7)
    assert text =~ "has no answer yet"
    assert %{"result" => %{"content" => [%{"text" => found}]}} = McpClient.await(client, 7)
    assert found =~ "lib/sample.ex"
    McpClient.leave(client)
  end
end
