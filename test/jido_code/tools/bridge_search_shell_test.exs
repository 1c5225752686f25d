# Luerl is the application's. Elixir's build tool takes what a project does not name out of the code path, so the one that is
# installed beside Erlang is looked for there.
ebin = Path.wildcard(Path.join(:code.root_dir(), "lib/luerl-*/ebin"))
Enum.each(ebin, &:code.add_pathz(String.to_charlist(&1)))
luerl? = Code.ensure_loaded?(:luerl)
# The library has looked for it at its start, when this folder was not on the path yet.
JidoCode.Tools.Host.start()

unless luerl? do
  IO.puts(
    :stderr,
    "\nNOT RUN: the scripts of #{Path.relative_to_cwd(__ENV__.file)}: Luerl is not installed (./setup.sh test)"
  )
end

defmodule JidoCode.Tools.LuaBridgeTest do
  use ExUnit.Case, async: true

  alias JidoCode.Tools.{LuaBridge, SecureExecutor}
  alias JidoCode.Tools.Security.{AuditLogger, Permissions, RateLimiter}
  alias JidoCode.Tools.Test.{Generate, Tree}

  doctest LuaBridge

  setup do
    session = "lua-#{System.unique_integer([:positive])}"
    on_exit(fn -> SecureExecutor.end_session(session) end)

    root =
      Tree.new!(%{
        "lib/cart.ex" => "defmodule Cart do\n  def sum(prices), do: Enum.sum(prices)\n\n  def Sum\nend\n",
        "web/cart.js" => "function sum(prices) {\n  return 1\n}\n"
      })

    %{session: session, root: root, opts: [session_id: session, project_root: root]}
  end

  describe "as functions of Elixir values" do
    test "a missing argument names itself, the state goes through", %{root: root} do
      for {function, text} <- [
            {&LuaBridge.lua_grep/3, "grep requires pattern argument"},
            {&LuaBridge.lua_shell/3, "shell requires command argument"},
            {&LuaBridge.lua_shell_background/3, "shell_background requires command argument"},
            {&LuaBridge.lua_shell_output/3, "shell_output requires shell_id argument"},
            {&LuaBridge.lua_shell_kill/3, "shell_kill requires shell_id argument"}
          ],
          args <- [[], [nil], [nil, []]] do
        assert function.(args, {:some, "state"}, root) == {[nil, text], {:some, "state"}}
      end
    end

    test "options come as Luerl decodes them, or as a map", %{root: root} do
      for options <- [
            [{"output_mode", "count"}, {"head_limit", 1.0}],
            %{"output_mode" => "count", "head_limit" => 1}
          ] do
        assert {[%{"count" => 1, "result" => "lib/cart.ex:" <> _}], nil} =
                 LuaBridge.lua_grep(["sum", options], nil, root)
      end
    end

    test "what is not a plain value is refused", %{root: root} do
      for bad <- [self(), fn -> 1 end, {:tref, 1}, ["x"], [{1, "x"}, {"path", "y"}], [{"path", [{2, 3}]}]] do
        assert {[nil, text], nil} = LuaBridge.lua_grep(["sum", bad], nil, root)
        assert text =~ ~r/must be strings|must have either/, inspect({bad, text})
      end
    end

    test "without a grant only searching and reading are open", %{root: root} do
      assert {[nil, "Permission denied" <> _], nil} = LuaBridge.lua_shell(["ls"], nil, root)
      assert {[%{"count" => 1}], nil} = LuaBridge.lua_grep(["def sum"], nil, root)
    end
  end

  describe "a script" do
    @describetag skip: not luerl? and "Luerl is not installed"

    setup %{session: session, opts: opts} do
      {:ok, :execute} = Permissions.grant_tier(session, :execute)
      {:ok, state} = LuaBridge.register(lua().init(), opts)
      %{lua: &run(&1, state)}
    end

    test "searches", %{lua: lua} do
      assert [1, "lib/cart.ex\n2:  def sum(" <> _] =
               lua.("local r = jido.grep('def sum', {file_type = 'elixir'}) return r.count, r.result")

      assert [text] = lua.("return jido.grep('def sum', {context_after = 1, context_before = 1}).result")
      assert text =~ "1-defmodule Cart do\n2:  def sum("
      assert [text] = lua.("return jido.grep('def sum', {context = 2}).result")
      assert text =~ "4-  def Sum"
      assert [2] = lua.("return jido.grep('def sum', {case_insensitive = true}).count")

      assert ["lib/cart.ex\nweb/cart.js"] =
               lua.("return jido.grep('sum', {output_mode = 'files_with_matches'}).result")

      assert [text] = lua.("return jido.grep('prices', {output_mode = 'count'}).result")
      assert text =~ "lib/cart.ex:1"
      assert [1] = lua.("return jido.grep('do\\n  def sum', {multiline = true}).count")
      assert [0] = lua.("return jido.grep('nowhere to be found').count")
    end

    test "gets nil and the reason for what is wrong or not allowed", %{lua: lua} do
      for {call, why} <- [
            {"grep()", "grep requires pattern"},
            {"grep('(')", "regex"},
            {"grep('x', {path = '../..'})", "outside the project"},
            {"grep('x', {head_limit = 'many'})", "head_limit"},
            {"grep('x', {no_such = 1})", "Unknown parameter: no_such"},
            {"grep('x', {pattern = 'y'})", "once"},
            {"grep('x', {'lib'})", "table with names"},
            {"grep('x', {path = print})", "must be strings"},
            {"grep('x', {}, {})", "takes pattern and a table"},
            {"shell('bash -c ls')", "Shell interpreters are blocked"},
            {"shell('rm -rf /')", "outside project"},
            {"shell('cat /etc/passwd')", "outside project"},
            {"shell('ls', {working_directory = '..'})", "inside the project"},
            {"shell_background('sudo ls')", "sudo"},
            {"shell_output('none')", "Shell not found"},
            {"shell_kill('none')", "Shell not found"}
          ] do
        assert [nil, text] = lua.("return jido.#{call}")
        assert text =~ why, inspect({call, text})
      end
    end

    test "goes on after a table that contains itself", %{lua: lua} do
      assert ["plain", 1] =
               lua.("""
               local t = {}
               t.t = t
               local r, why = jido.grep('x', t)
               return string.match(why, 'plain'), jido.grep('def sum').count
               """)
    end

    test "runs commands: both outputs, the exit code, its folder, its time", %{lua: lua, root: root} do
      Tree.pipe!(root, "gate")

      assert ["cart.ex\n", "", 0] =
               lua.(
                 "local r = jido.shell('ls', {working_directory = 'lib'}) return r.stdout, r.stderr, r.exit_code"
               )

      assert ["", "gone" <> _, code] =
               lua.(
                 "local r = jido.shell('cat gone') return r.stdout, string.match(r.stderr, 'gone.*'), r.exit_code"
               )

      assert code > 0
      assert [nil, text] = lua.("return jido.shell('cat gate', {timeout = 300})")
      assert text =~ "timed out"
    end

    test "keeps a background command from call to call, until it kills it", %{lua: lua, root: root} do
      Tree.pipe!(root, "gate")

      assert [first, "running", true, nil, "Shell not found"] =
               lua.("""
               local shell = jido.shell_background('cat gate', {description = 'waits'})
               local output = jido.shell_output(shell.shell_id, {block = false})
               local killed = jido.shell_kill(shell.shell_id)
               local gone, why = jido.shell_output(shell.shell_id)
               return shell.description, output.status, killed, gone, string.match(why, 'Shell not found')
               """)

      assert first == "waits"

      assert ["1\n", "completed", 0, true] =
               lua.("""
               local id = jido.shell_background('echo 1').shell_id
               local output = jido.shell_output(id, {block = true, timeout = 20000})
               return output.output, output.status, output.exit_code, jido.shell_kill(id)
               """)
    end

    test "passes the whole pipeline: redaction, limits, the trail", %{lua: lua, root: root, session: session} do
      {token, _random} = Generate.token(Generate.new(System.unique_integer([:positive])), 34)
      token = "ghp" <> "_" <> token <> "7q"
      File.write!(Path.join(root, "settings"), "token: #{token}\n")

      for call <- ["grep('token').result", "shell('cat settings').stdout"] do
        assert [text] = lua.("return jido.#{call}")
        assert text =~ "REDACTED"
        refute text =~ token
      end

      assert [10, "Rate limit exceeded"] =
               lua.("""
               local n = 1
               while jido.shell('true') do n = n + 1 end
               local r, why = jido.shell('true')
               return n, string.match(why, 'Rate limit exceeded')
               """)

      assert RateLimiter.get_count(session, "bash_execute", 60_000) == 10
      statuses = AuditLogger.get_audit_log(session, order: :asc) |> Enum.map(&{&1.tool, &1.status})
      assert [{"execute", :granted}, {"grep_search", :ok}, {"bash_execute", :ok} | _] = statuses
      assert List.last(statuses) == {"bash_execute", :blocked}
    end

    test "has the tier and the consents of its registration, not of its arguments", %{opts: opts} do
      {:ok, state} = LuaBridge.register(lua().init(), [granted_tier: :read_only] ++ opts)
      assert [nil, "Permission denied" <> _] = run("return jido.shell('ls')", state)
      assert [nil, text] = run("return jido.shell('ls', {granted_tier = 'execute'})", state)
      assert text =~ "Permission denied"

      {:ok, state} =
        LuaBridge.register(
          lua().init(),
          [granted_tier: :read_only, consented_tools: ["bash_execute"]] ++ opts
        )

      assert [0] = run("return jido.shell('ls').exit_code", state)
      assert [nil, "Permission denied" <> _] = run("return jido.shell_background('ls')", state)
    end

    test "of another session sees no shell of this one", %{lua: lua, opts: opts, session: session} do
      assert [id] = lua.("return jido.shell_background('true').shell_id")

      {:ok, other} =
        LuaBridge.register(
          lua().init(),
          [session_id: session <> "-other", granted_tier: :execute] ++ Keyword.delete(opts, :session_id)
        )

      on_exit(fn -> SecureExecutor.end_session(session <> "-other") end)
      assert [nil, "Shell not found" <> _] = run("return jido.shell_output('#{id}')", other)
    end

    test "keeps the application's own jido.shell, unless it is asked to replace it", %{opts: opts} do
      own = "jido = {shell = function() return 'own' end, read_file = function() return 'read' end}"
      {_results, state} = lua().do(own, lua().init())
      {:ok, state} = LuaBridge.register(state, opts)

      assert ["own", "read", 1] =
               run("return jido.shell('ls'), jido.read_file(), jido.grep('def sum').count", state)

      {:ok, state} = LuaBridge.register(state, [replace_shell: true] ++ opts)
      assert [0] = run("return jido.shell('ls').exit_code", state)
    end
  end

  describe "tools by their names" do
    @describetag skip: not luerl? and "Luerl is not installed"

    test "take a table, and pass the pipeline as any call", %{session: session, opts: opts} do
      {:ok, state} = LuaBridge.register(lua().init(), [tools: ["fetch_elixir_docs", "mix_task"]] ++ opts)

      assert ["Enum", text] =
               run(
                 "r = jido.fetch_elixir_docs({module = 'Enum', ['function'] = 'sum'}) return r.module, r.docs[1].doc",
                 state
               )

      assert text =~ "Returns the sum"

      assert [nil, "Permission denied: mix_task" <> _] =
               run("return jido.mix_task({task = 'compile'})", state)

      assert [nil, text] = run("return jido.fetch_elixir_docs()", state)
      assert text =~ "module"
      assert [nil, text] = run("return jido.fetch_elixir_docs({no_such = 1, module = 'Enum'})", state)
      assert text =~ "Unknown parameter: no_such"

      for arguments <- ["'Enum'", "{'Enum'}", "{module = 'Enum'}, 1"] do
        assert [nil, "fetch_elixir_docs takes one table" <> _] =
                 run("return jido.fetch_elixir_docs(#{arguments})", state)
      end

      # What is not named is not there.
      assert [nil] = run("return jido.ets_inspect", state)
      tools = for %{tool: tool, status: :blocked} <- AuditLogger.get_audit_log(session), do: tool
      assert "mix_task" in tools
    end

    test "are refused when there is none of that name, or when the bridge has it", %{opts: opts} do
      assert {:error, text} = LuaBridge.register(lua().init(), [tools: ["reload_module"]] ++ opts)
      assert text =~ "reload_module" and text =~ "no tool of that name"
      assert {:error, text} = LuaBridge.register(lua().init(), [tools: ["shell"]] ++ opts)
      assert text =~ "the bridge's own"
    end
  end

  test "an option that nobody knows is not passed over", %{root: root} do
    assert_raise ArgumentError, ~r/tier/, fn ->
      LuaBridge.register(nil, project_root: root, tier: :execute)
    end
  end

  test "a VM without Luerl gets an answer, not a crash" do
    ebin = Path.join(Application.app_dir(:jido_code_tools), "ebin")

    # A VM of its own, with nothing on its path but what the code needs: Luerl may lie beside Erlang.
    code = ~S"""
    :code.get_path() |> Enum.filter(&(to_string(&1) =~ "luerl")) |> Enum.each(&:code.del_path/1)
    {:error, text} = JidoCode.Tools.LuaBridge.register(:state)
    IO.puts(text)
    """

    assert {"Luerl is missing" <> _, 0} =
             System.cmd("elixir", ["-pa", ebin, "-e", code], stderr_to_stdout: true)
  end

  # The module is reached through a variable: it may not be there when this is compiled.
  defp lua, do: :luerl

  defp run(source, state) do
    assert {:ok, results} = lua().eval(source, state)
    results
  end
end
