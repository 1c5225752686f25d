# Runs in a release, by `bin/jido_code eval`: there is no Mix in it, no ExUnit, and the project is a folder of sources beside it.
Code.require_file("everything.exs", __DIR__)
{:ok, _apps} = Application.ensure_all_started(:jido_code)

alias JidoCode.Everything
alias JidoCode.Tools.{Catalog, SecureExecutor}
alias JidoCode.Tools.Security.{AuditLogger, Native, Permissions}

false = Code.ensure_loaded?(Mix)
nil = Native.load_error()
true = String.starts_with?(to_string(:code.priv_dir(:jido_code_tools)), to_string(:code.root_dir()))

# As the boot file has them: no module is in two applications.
modules =
  for {app, _, _} <- Application.loaded_applications(),
      module <- Application.spec(app, :modules) || [],
      do: module

[] = modules -- Enum.uniq(modules)

session = Everything.session!(Path.expand("stall", __DIR__))
{:ok, :privileged} = Permissions.grant_tier(session, :privileged)
answers = Everything.all(session, executor: &SecureExecutor.run/3)
[] = Enum.map(answers, &elem(&1, 0)) -- Catalog.names()
# The grant, the consent, and a call of each tool; the chain has an entry of each call's start besides.
calls = length(answers)
^calls = length(AuditLogger.get_audit_log(session)) - 2
{:ok, %{entries: entries}} = AuditLogger.verify()
^entries = 2 + 2 * calls

# Mix and the compiler are programs of the machine, not of the release: where they are not, the tools that run them say so, and
# the others go on.
System.put_env("PATH", "/nowhere")

for {name, args} <- [{"mix_task", %{"task" => "compile"}}, {"run_exunit", %{}}] do
  {:error, text} = Everything.call(name, args, session, executor: &SecureExecutor.run/3)
  IO.puts("  without mix on the PATH, #{name}: #{text}")
  true = text =~ "mix"
end

{:ok, %{"count" => 1}} = Everything.call("grep_search", %{"pattern" => "def price"}, session)

IO.puts("  #{calls} tools answer in the release")
