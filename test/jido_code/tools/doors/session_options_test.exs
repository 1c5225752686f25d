defmodule JidoCode.Tools.SessionOptionsTest do
  # The configuration and the environment are the whole VM's.
  use ExUnit.Case, async: false

  alias JidoCode.Tools.Remote
  alias JidoCode.Tools.Doors.SessionOptions

  doctest SessionOptions

  defp parse(argv, defaults \\ %{}) do
    {opts, [], []} = OptionParser.parse(argv, strict: SessionOptions.switches())
    SessionOptions.context(opts, defaults)
  end

  defp configure(options) do
    Application.put_env(:jido_code_tools, :session_options, options)
    on_exit(fn -> Application.delete_env(:jido_code_tools, :session_options) end)
  end

  test "nothing given: read_only, no consent, no node" do
    assert {:ok, context} = parse([], %{session_id: "door", project_root: "/p"})

    assert context == %{
             session_id: "door",
             project_root: "/p",
             granted_tier: :read_only,
             consented_tools: [],
             door: true
           }
  end

  test "what is given becomes the context" do
    argv =
      ~w(--tier execute --consent mix_task --consent ets_inspect --session s1 --node shop@localhost --consent-load)

    assert {:ok, context} = parse(argv, %{session_id: "door"})
    assert %{session_id: "s1", granted_tier: :execute, consented_tools: ["mix_task", "ets_inspect"]} = context
    assert %Remote{node: :shop@localhost, domain: :shortnames, consent_load: true} = context.node
  end

  test "a tool of the project's own is consented to under a name that says so" do
    assert {:ok, %{consented_tools: ["low_stock", "mix_task"]}} =
             parse(~w(--consent project:low_stock,mix_task))
  end

  test "mistakes are told in words" do
    for {argv, words} <- [
          {~w(--tier root), "--tier takes one of"},
          {~w(--consent everything), "--consent takes a tool's name"},
          {~w(--consent low_stock), "or project:NAME for one of the project's own"},
          # It can't be one of the project's.
          {~w(--consent project:mix_task), "--consent takes a tool's name"},
          {["--consent", "project:a b"], "--consent takes a tool's name"},
          {["--node", "a b@c"], "--node takes a node's name"},
          {["--node", "x@localhost", "--cookie-file", "/no/such/file"], "can't read the cookie"},
          {["--node", "x@localhost", "--cookie", "two words"], "--cookie holds no cookie"},
          {~w(--consent-load), "belong to --node"},
          {~w(--cookie abcdef), "belong to --node"}
        ] do
      assert {:error, message} = parse(argv)
      assert message =~ words
      refute message =~ "two words"
    end
  end

  test "the configuration grants too; the command line wins" do
    configure(
      tier: :privileged,
      consent: ["mix_task"],
      node: "shop@10.0.0.7",
      cookie: "configured",
      session: "c"
    )

    assert {:ok, context} = parse([])
    assert %{granted_tier: :privileged, consented_tools: ["mix_task"], session_id: "c"} = context
    assert %Remote{node: :"shop@10.0.0.7", domain: :longnames} = context.node
    assert context.node.cookie.() == "configured"

    assert {:ok, context} = parse(~w(--tier write --consent run_exunit --node other@10.0.0.8))
    assert %{granted_tier: :write, consented_tools: ["run_exunit"]} = context
    # Nor does one node's cookie go to another.
    assert %Remote{node: :"other@10.0.0.8", cookie: nil} = context.node
  end

  test "a wrong configuration is not a silent one" do
    configure(teir: :privileged)
    assert {:error, message} = parse([])
    assert message =~ "only the options :tier,"
    assert message =~ "not :teir"

    configure(%{tier: :privileged})
    assert {:error, message} = parse([])
    assert message =~ "keyword list"

    configure(tier: 3)
    assert {:error, message} = parse([])
    assert message =~ "takes one of :read_only, :write, :execute, :privileged"
    assert message =~ "as :tier"

    configure(consent: "everything")
    assert {:error, message} = parse([])
    assert message =~ "--consent takes"
  end
end
