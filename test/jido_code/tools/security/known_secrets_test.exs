defmodule JidoCode.Tools.Security.KnownSecretsTest do
  # The environment and the application environment are the whole VM's.
  use ExUnit.Case, async: false

  import ExUnit.CaptureLog

  alias JidoCode.Tools.Security.{KnownSecrets, OutputSanitizer}
  alias JidoCode.Tools.Test.Generate

  @app :jido_code_tools_test_secrets

  setup do
    {secret, _random} = Generate.token(Generate.new(System.unique_integer([:positive])), 24)

    :ok =
      :application.load(
        {:application, @app, [{:vsn, ~c"1"}, {:modules, []}, {:registered, []}, {:applications, []}]}
      )

    on_exit(fn ->
      :application.unload(@app)
      System.delete_env("JIDO_TEST_API_TOKEN")
      System.delete_env("JIDO_TEST_URL")
      System.delete_env("JIDO_TEST_PASSWORD")
      KnownSecrets.refresh()
    end)

    %{secret: secret}
  end

  # No name stands beside it: only who knows the value can find it.
  defp hidden?(secret) do
    text = "the word #{secret} alone"
    clean = OutputSanitizer.sanitize(text, emit_telemetry: false)
    not String.contains?(clean, secret)
  end

  test "a bare opaque word stays while nobody knows it for a secret", %{secret: secret} do
    refute hidden?(secret)
  end

  test "environment variables under sensitive names", %{secret: secret} do
    System.put_env("JIDO_TEST_API_TOKEN", secret)
    KnownSecrets.refresh()
    assert hidden?(secret)
    refute OutputSanitizer.sanitize(Base.encode64("x:" <> secret)) =~ "x"
    System.delete_env("JIDO_TEST_API_TOKEN")
    KnownSecrets.refresh()
    refute hidden?(secret)
  end

  test "passwords of URLs under any name, as written and decoded", %{secret: secret} do
    System.put_env("JIDO_TEST_URL", "ecto://app:#{secret}%2B%40@host/db")
    KnownSecrets.refresh()
    assert hidden?(secret <> "%2B%40")
    assert hidden?(secret <> "+@")
  end

  test "what follows the scheme in a header, a parameter of a URL, a part of a connection string", %{
    secret: secret
  } do
    for value <- [
          "Bearer #{secret}",
          "https://example.test/feed?page=2&api_key=#{secret}",
          "https://example.test/?token=#{secret}#top",
          "host=db user=app password=#{secret} sslmode=require",
          "Server=db;User Id=sa;Password=#{secret};Encrypt=true"
        ] do
      System.put_env("JIDO_TEST_URL", value)
      KnownSecrets.refresh()
      assert hidden?(secret), value |> String.split(secret) |> hd()
    end

    Application.put_env(@app, :headers, [{"authorization", "Bearer " <> secret}, {"accept", "*/*"}])
    KnownSecrets.refresh()
    assert hidden?(secret)

    assert OutputSanitizer.sanitize("host=db and sslmode=require", emit_telemetry: false) ==
             "host=db and sslmode=require"
  end

  test "what is ordinary is not taken, or it would vanish from every text" do
    System.put_env("JIDO_TEST_PASSWORD", "postgres")
    KnownSecrets.refresh()
    refute hidden?("postgres")

    assert OutputSanitizer.sanitize(%{password: "postgres"}, emit_telemetry: false) == %{
             password: "[REDACTED]"
           }
  end

  test "the working folder, which every shell exports as PWD, is no secret", %{secret: secret} do
    before = System.get_env("PWD")
    on_exit(fn -> if before, do: System.put_env("PWD", before), else: System.delete_env("PWD") end)
    System.put_env("PWD", "/home/ann/app2/shop")
    System.put_env("JIDO_TEST_PASSWORD", secret)
    KnownSecrets.refresh()
    refute hidden?("/home/ann/app2/shop")
    assert hidden?(secret)
  end

  test "the application environment, nested, in maps, lists, charlists", %{secret: secret} do
    shapes = [
      [{:api_key, secret}],
      [{Some.Module, [adapter: X, password: secret]}],
      [{:nested, %{"deep" => [%{client_secret: secret}]}}],
      [{:secret_key, String.to_charlist(secret)}],
      [{:url, "amqp://u:#{secret}@host"}]
    ]

    for shape <- shapes do
      Application.put_all_env([{@app, shape}])
      KnownSecrets.refresh()
      assert hidden?(secret), inspect(Keyword.keys(shape))
      for {key, _value} <- shape, do: Application.delete_env(@app, key)
      KnownSecrets.refresh()
      refute hidden?(secret)
    end
  end

  test "odd values in the environment stop nothing and are not logged", %{secret: secret} do
    odd = [
      improper: [?a, ?b | :c],
      improper_secret: [{:password, "x"} | secret],
      bytes: <<255, 0, 254>>,
      function: &self/0,
      pid: self(),
      empty: [[], {}, %{}, ""],
      malformed_url: "http://u:%zz@",
      tuple_key: %{{1, 2} => secret},
      struct: ~D[2026-01-02]
    ]

    Application.put_all_env([{@app, [{:api_key, secret} | odd]}])

    log = capture_log(fn -> KnownSecrets.refresh() end)
    refute log =~ secret
    assert log == ""
    assert hidden?(secret)
  end

  test "registered values stay through refreshes", %{secret: secret} do
    assert OutputSanitizer.register_secret(secret) == :ok
    assert hidden?(secret)
    KnownSecrets.refresh()
    assert hidden?(secret)
  end

  test "the collecting process holds none of them", %{secret: secret} do
    System.put_env("JIDO_TEST_API_TOKEN", secret)
    KnownSecrets.refresh()
    refute inspect(:sys.get_state(KnownSecrets)) =~ secret
    refute inspect(Process.info(Process.whereis(KnownSecrets), [:dictionary, :messages])) =~ secret
  end

  test "messages from nowhere are let go" do
    send(KnownSecrets, :nonsense)
    assert KnownSecrets.refresh() == :ok
  end
end
