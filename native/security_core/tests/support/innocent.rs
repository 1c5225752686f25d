//! Material that holds no secret and must come back unchanged: lines that look like one, and
//! ordinary documents.

use std::fs;
use std::path::{Path, PathBuf};

use super::rng::Rng;

/// Lines that tempt a redactor, by what tempts it. The same `§` placeholders as in samples stand
/// for invented filler.
pub const TRICKY: &[(&str, &[&str])] = &[
    (
        "numbers and words that hold a key word",
        &[
            "max_token: 5",
            "max_tokens: 4096,",
            "total_tokens: 1532",
            "input_tokens=812 output_tokens=64",
            "\"completion_tokens\": 128",
            "prompt_tokens: 1024, cached_tokens: 512",
            "token_count = 17",
            "token_type: \"bearer\"",
            "\"token_type\":\"Bearer\",\"expires_in\":3600",
            "token_id: 4711",
            "tokens_per_second: 87.5",
            "bypass: true",
            "{bypass: :ok}",
            "bypass_proxy = \"enabled\"",
            "[[\"ls\"], [\"pwd\"], [\"date\"]]",
            "{\"commands\":[[\"pwd\"],[\"whoami\", \"--all\"]]}",
            "compass: \"north-northwest\"",
            "passing: 12, failing: 0",
            "passed: 120, skipped: 3",
            "12 tests passed in 3.4 seconds",
            "passenger: \"Ada Lovelace\"",
            "secretary: \"Grace Hopper 1906\"",
            "author: \"José Valim\"",
            "authors = [\"Jane Doe <jane@acme.test>\"]",
            "authority: \"localhost:4000\"",
            "keyboard: \"dvorak-programmer-2\"",
            "keyword: \"elixir1234\"",
            "monkey: \"banana42\"",
            "hockey_team: \"Rangers1994\"",
            "turkey: \"Istanbul34\"",
            "primary_key: \"users_pkey_v2\"",
            "foreign_key: :account_id",
            "partition_key = \"tenant#2026-11\"",
            "sort_key: \"created_at#0001\"",
            "cache_key: \"v2:users:4711:profile\"",
            "idempotency_key: \"order-4711-attempt-2\"",
            "public_key: \"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\"",
            "public-key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI§~rand:43§ jane@laptop",
            "key_size: 2048",
            "key: \"users\"",
            "keys: [:id, :name, :email]",
            "hash_key: \"pk\"",
            "salt_rounds: 12",
            "saltwater: \"Atlantic2026\"",
            "cookie_consent: \"accepted-2026\"",
            "cookie: %{max_age: 3600, http_only: true}",
            "same_site_cookie: \"Lax\"",
            "pat: \"unknown pattern\"",
            "patch: \"0001-fix-build.patch\"",
            "path: \"/usr/local/lib/node\"",
            "pass: 3, fail: 1",
            "pass_rate: 99.2",
            "pwd: /home/jane/project",
            "PWD=/home/jane/acme",
            "OLDPWD=/var/lib/acme2",
            "dsn_enabled: true",
            "password_min_length: 12",
            "password_max_age_days = 90",
            "password_reset_sent_at: ~U[2026-11-01 10:00:00Z]",
            "has_password: true",
            "secret_count: 2",
            "secrets: []",
            "passwords: 0",
        ],
    ),
    (
        "absent, typed or redacted values",
        &[
            "password: nil",
            "\"password\": null",
            "password=None",
            "password: undefined,",
            "password: \"\"",
            "password: ''",
            "{password, undefined}",
            "password: true",
            "password = false",
            "password: \"[FILTERED]\"",
            "%{\"password\" => \"[FILTERED]\"}",
            "password: \"[REDACTED]\"",
            "password: \"**redacted**\"",
            "password: \"*****\"",
            "password=********",
            "api_key: \"xxxxxxxxxxxxxxxx\"",
            "API_KEY=XXXXXXXX-XXXX-XXXX",
            "token: \"<token>\"",
            "TOKEN=<your token here>",
            "token: \"your-token-here\"",
            "API_KEY=your_api_key",
            "api_key: \"YOUR_API_KEY\"",
            "SECRET_KEY_BASE=",
            "export GITHUB_TOKEN=",
            "password: string",
            "password: String,",
            "password: String.t() | nil",
            "@type t :: %__MODULE__{password: binary() | nil, token: String.t()}",
            "field :password, :string, virtual: true, redact: true",
            "field :hashed_password, :string",
            "add :password_hash, :string, null: false",
            "add :token, :binary, null: false",
            "password_hash VARCHAR(255) NOT NULL,",
            "password text NOT NULL DEFAULT '',",
            "  token     bytea        not null,",
            "ALTER TABLE users ADD COLUMN api_key varchar(64);",
            "create unique_index(:users_tokens, [:context, :token])",
            "secret: SecretString,",
            "apiKey?: string;",
            "private readonly token: string",
            "let token: Option<String> = None;",
            "pub password: Option<SecretBox<str>>,",
            "def login(user, password), do: verify(user, password)",
            "fn verify(token: &str, key: &[u8]) -> bool {",
            "password :: binary()",
            "-spec login(Password :: binary()) -> ok.",
        ],
    ),
    (
        "references",
        &[
            "password: $DB_PASSWORD",
            "password: ${DB_PASSWORD}",
            "PASSWORD=\"${DB_PASSWORD:?missing}\"",
            "TOKEN=$(cat /run/secrets/token)",
            "TOKEN=`vault read -field=token secret/acme`",
            "token: ${{ secrets.GITHUB_TOKEN }}",
            "GITHUB_TOKEN: ${{ secrets.DEPLOY_TOKEN_2 }}",
            "password = var.db_password",
            "password = data.aws_secretsmanager_secret_version.db.secret_string",
            "password: {{ .Values.postgres.password }}",
            "password: \"{{ vault_db_password }}\"",
            "set PASSWORD=%DB_PASSWORD%",
            "password: op://Production/acme-db/password",
            "api_key: vault:secret/data/acme#api_key",
            "token = \"arn:aws:secretsmanager:eu-west-1:123456789012:secret:acme-db-AbCdEf\"",
            "password: System.get_env(\"DB_PASSWORD\")",
            "password: System.fetch_env!(\"DB_PASSWORD\"),",
            "secret_key_base: System.fetch_env!(\"SECRET_KEY_BASE\")",
            "api_key: {:system, \"SENDGRID_API_KEY\"}",
            "token: Application.fetch_env!(:acme, :token)",
            "password = os.environ[\"DB_PASSWORD\"]",
            "password = os.getenv(\"DB_PASSWORD\")",
            "apiKey: process.env.STRIPE_API_KEY,",
            "token := os.Getenv(\"ACME_TOKEN\")",
            "let token = std::env::var(\"ACME_TOKEN\")?;",
            "password: config.database.password",
            "password: @password",
            "token = conn.assigns.current_token",
            "token = get_session(conn, :user_token)",
            "key = Keyword.fetch!(opts, :signing_key)",
            "password: params[\"password\"]",
            "password: user_params.password",
            "token: &token",
            "token: *token,",
            "token = self.token",
            "password = getpass.getpass()",
            "api_key = read_api_key(path)",
            "secret = generate_secret(32)",
            "token = Base.encode64(:crypto.strong_rand_bytes(32))",
            "secretName: acme-tls",
            "secretKeyRef:",
            "        secretKeyRef: {name: acme-db, key: password}",
            "password_file: /run/secrets/db_password",
            "POSTGRES_PASSWORD_FILE=/run/secrets/postgres",
            "private_key_path: \"priv/keys/server.pem\"",
            "token_url: https://acme.test/oauth/token",
            "auth_url = \"https://acme.test/oauth/authorize\"",
            "credentials_file = \"~/.aws/credentials\"",
            "keyfile: \"priv/cert/selfsigned_key.pem\"",
            "api_key_id: acme-ci-2026",
            "~p\"/users/reset_password/#{token}\"",
            "url(~p\"/confirm/#{token}\")",
            "href={~p\"/users/log_in?token=#{@token}\"}",
            "Authorization: Bearer $TOKEN",
            "Authorization: Bearer ${ACME_TOKEN}",
            "-H \"Authorization: Bearer <token>\"",
            "{\"authorization\", \"Bearer #{token}\"}",
            "headers: {'Authorization': f'Bearer {token}'}",
            "headers: { Authorization: `Bearer ${token}` }",
            "curl -u \"$USER:$PASS\" https://acme.test",
            "DATABASE_URL=postgres://$USER:$PASSWORD@localhost/acme",
            "postgres://USER:PASS@HOST/DATABASE",
            "ecto://USER:PASS@HOST/DATABASE",
            "postgresql://user:${PGPASSWORD}@db:5432/acme",
            "https://<user>:<password>@acme.test/",
            "git@github.com:acme/acme.git",
            "ssh://git@acme.test:22/acme.git",
            "https://acme.test/@jane/posts:12",
            "mailto:jane@acme.test",
            "postgres://localhost:5432/acme",
            "redis://cache:6379/0",
            "http://localhost:4000/users?page=2&sort=name",
            "https://acme.test/search?keyword=token&q=password",
            "--password-stdin",
            "docker login --username acme --password-stdin",
            "mysql -u root -p acme",
            "docker run -p 8080:80 acme/web",
            "ssh -p 2222 jane@acme.test",
            "mkdir -p lib/acme/web",
            "redis-cli -h localhost -a $REDIS_PASSWORD",
            "Usage: acme login [--token TOKEN] [--password PASSWORD]",
            "  --api-key <KEY>    API key to use [env: ACME_API_KEY=]",
            "  -p, --password string   Password (default \"\")",
            "mix hex.organization auth acme --key KEY",
        ],
    ),
    (
        "digests, ids and other random looks",
        &[
            "commit §~hex:40§",
            "index §~hex:7§..§~hex:7§ 100644",
            "Merge: §~hex:8§ §~hex:8§",
            "sha256:§~hex:64§",
            "sha256 = \"§~hex:64§\"",
            "checksum = \"§~hex:64§\"",
            "integrity sha512-§~b64:64§",
            "\"integrity\": \"sha512-§~b64:64§\",",
            "sha1-§~b64:20§",
            "SHA256:§~rand:43§ jane@laptop (ED25519)",
            "md5: §~hex:32§",
            "etag: \"§~hex:32§\"",
            "ETag: W/\"§~hex:40§\"",
            "request_id=F§~rand:19§",
            "x-request-id: §~uuid§",
            "id: \"§~uuid§\"",
            "user_id: \"§~uuid§\"",
            "trace_id=§~hex:32§ span_id=§~hex:16§",
            "traceparent: 00-§~hex:32§-§~hex:16§-01",
            "\"rev\": \"§~hex:40§\"",
            "FROM elixir@sha256:§~hex:64§",
            "Container §~hex:64§ started",
            "Successfully built §~hex:12§",
            "call_§~rand:24§",
            "chatcmpl-§~rand:29§",
            "fp_§~hex:10§",
            "resp_§~hex:48§",
            "\"id\":\"msg_01§~rand:22§\"",
            "C0§~=1{N:8}§ is the channel",
            "AC§~hex:32§",
            "arn:aws:iam::123456789012:role/acme-deploy-2026",
            "i-0§~hex:16§ running",
            "vpc-§~hex:17§",
            "pk_live_§~rand:24§",
            "pk_test_51§~rand:97§",
            "sb_publishable_§~rand:31§",
            "phc_§~rand:43§",
            "pk.§~rand:20§",
            "1234567890-§~=a{n:31}§.apps.googleusercontent.com",
            "age1§~=q{n:57}§",
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI§~rand:43§ jane@laptop",
            "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ§~rand:340§ deploy",
            "{:rand, :exsss, [§~n§|§~n§]}",
            "#Reference<0.1234567890.1234567890.123456>",
            "#PID<0.1234.0>",
            "  {:jason, \"1.4.4\", :hex, :jason, \"§~hex:64§\", [:mix], [], \"hexpm\", \"§~hex:64§\"},",
            "\"phoenix\": {:hex, :phoenix, \"1.7.14\", \"§~hex:64§\", [:mix], [], \"hexpm\", \"§~hex:64§\", []},",
            "docker.io/library/postgres@sha256:§~hex:64§",
            "app-§~hex:32§.css?vsn=d",
            "<script defer src=\"/assets/app-§~hex:32§.js\"></script>",
            "GIT_SHA=§~hex:40§",
            "BUILD_ID=20261101.4711",
            "0x§~hex:40§",
            "nonce: §~n§",
            "color: #a1b2c3",
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
            "Last-Modified: Sun, 01 Nov 2026 10:00:00 GMT",
            "fingerprint: ab:cd:ef:01:23:45:67:89:ab:cd:ef:01:23:45:67:89",
            "vsn: \"§~hex:16§\"",
            "module hash: §~=M{N:24}§",
            "cypress-v13-chromium-§~n§",
            "%{beam_md5: <<§~ints:hex:16§>>}",
            "{:ok, [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144]}",
            "[112, 101, 114, 102]",
            "<<137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82>>",
        ],
    ),
    (
        "public blocks",
        &[
            "-----BEGIN CERTIFICATE-----\n§~b64:48§\n§~b64:48§\n-----END CERTIFICATE-----",
            "-----BEGIN PUBLIC KEY-----\n§~b64:48§\n§~b64:42§\n-----END PUBLIC KEY-----",
            "-----BEGIN RSA PUBLIC KEY-----\n§~b64:48§\n-----END RSA PUBLIC KEY-----",
            "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n§~b64:48§\n-----END PGP PUBLIC KEY BLOCK-----",
            "-----BEGIN PGP SIGNATURE-----\n\n§~b64:48§\n=§~=x{a:3}§\n-----END PGP SIGNATURE-----",
            "-----BEGIN CERTIFICATE REQUEST-----\n§~b64:48§\n-----END CERTIFICATE REQUEST-----",
            "-----BEGIN SSH SIGNATURE-----\n§~b64:48§\n-----END SSH SIGNATURE-----",
            "---- BEGIN SSH2 PUBLIC KEY ----\n§~b64:48§\n---- END SSH2 PUBLIC KEY ----",
            "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t§~b64:300§",
            "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"§~rand:43§\",\"y\":\"§~rand:43§\",\"kid\":\"2026-11\"}",
            "[Peer]\nPublicKey = §~b64:32§\nAllowedIPs = 0.0.0.0/0",
        ],
    ),
    (
        "prose",
        &[
            "It is advised to pass to `to_argv/2` the same set of `options`",
            "you can pass `__ENV__/0` as the `opts` argument",
            "A developer may pass `:utf8` as an option",
            "Terminates the child identified by `pid`, or by `child_id`.",
            "-- Pass `val2` in the least-significant bits",
            "The password is required.",
            "Password must be at least 12 characters long",
            "password: is too short (minimum is 12 characters)",
            "Your password has been changed.",
            "Forgot your password? We will send you a link.",
            "The secret is to start early and to test often.",
            "Invalid or expired token.",
            "The bearer token is missing from the Authorization header",
            "authorization: required for all routes under /admin",
            "Bearer tokens are checked on each request.",
            "Basic authentication is disabled by default",
            "This function takes a token and returns the claims.",
            "Set the API key in config/runtime.exs.",
            "See the section \"Secrets\" in the deployment guide",
            "The token is valid for 3600 seconds.",
            "Unexpected token '}' at position 42",
            "SyntaxError: Unexpected token < in JSON at position 0",
            "** (SyntaxError) lib/acme.ex:3:5: unexpected token: end",
            "unexpected token: \"|>\" (column 14, code point U+007C)",
            "error: expected one of `,` or `}`, found token `fn`",
            "no credentials found, skipping",
            "Credentials: see the team's vault",
            "Access key rotation happens every 90 days",
            "secret: rotate it quarterly",
            "- Fix: password confirmation was not checked (#1234)",
            "- Deprecate `:secret_key` in favour of `:signing_key`",
            "* The private key is read from disk at start",
            "Passphrase for key 'id_ed25519': ",
            "Password for user postgres: ",
            "Enter password:",
            "[sudo] password for jane: ",
            "fatal: could not read Password for 'https://acme.test': terminal prompts disabled",
            "remote: HTTP Basic: Access denied",
            "error: password authentication failed for user \"postgres\"",
            "FATAL 28P01 (invalid_password) password authentication failed for user \"postgres\"",
            "Host key verification failed.",
            "token expired at 2026-11-01T10:00:00Z",
            "password (string, required): the account's password",
            "| password | string | yes | the account's password |",
            "| token    | VARCHAR(64) | NOT NULL |",
            "password:      required, at least one digit",
            "api key: optional",
            "cookie: not set",
            "I lost my password yesterday, can you reset it?",
            "Bearer authentication and JWT (RFC 7519) are both described below",
            "the key difference: tokens are opaque, sessions aren't",
            "Key: Value",
            "key features: fast, small, safe",
            "secret santa list: Anna, Ben, Carla",
        ],
    ),
    (
        "code that speaks of tokens",
        &[
            "defp token_from_header([\"Bearer \" <> token]), do: {:ok, token}",
            "|> put_req_header(\"authorization\", \"Bearer \" <> token)",
            "@token_regex ~r/^ghp_[A-Za-z0-9]{36}$/",
            "~r/(sk|rk)_(test|live)_[0-9a-zA-Z]{10,99}/",
            "String.starts_with?(key, \"sk-ant-\")",
            "prefix = \"ghp_\"",
            "if token.startswith('xoxb-'):",
            "\"AKIA\" <> rest",
            "'of', 'open', 'otherwise', 'output', 'page', 'pass', 'poke', 'print', 'raise',",
            "        'pass', 'raise', 'nonlocal', 'return', 'try', 'while',",
            "argv: ['./argv0', '-E', '-c', 'pass', 'arg1', '-v', 'arg3']",
            "dict.fromkeys(['username', 'password', 'repository'], '')",
            "\"key_file\", \"key_password\", \"server_hostname\",",
            "# METHOD can be \"trust\", \"md5\", \"password\", \"scram-sha-256\", \"peer\"",
            "[:username, :password, :database, :hostname]",
            "~w(username password token secret_key hostname)a",
            "@fields ~w(email password password_confirmation)",
            "cast(user, attrs, [:email, :password, :token])",
            "user_pass = '%s:%s' % (unquote(user), unquote(password))",
            "const PPP_AUTH_DATA: u32 = 128u32;",
            "log(Name, send, \"Password: ~s\", [Stars])",
            "old_passwd = asn1_NOVALUE",
            "config :phoenix, :filter_parameters, [\"password\", \"secret\", \"token\"]",
            "@derive {Inspect, except: [:password, :token]}",
            "plug :protect_from_forgery, with: :csrf_token",
            "csrf_token: Plug.CSRFProtection.get_csrf_token()",
            "<meta name=\"csrf-token\" content={get_csrf_token()} />",
            "<input type=\"password\" name=\"user[password]\" autocomplete=\"current-password\">",
            "<.input field={@form[:password]} type=\"password\" label=\"Password\" required />",
            "<label for=\"password\">Password</label>",
            "validate_length(changeset, :password, min: 12, max: 72)",
            "errors: [password: {\"should be at least %{count} character(s)\", [count: 12]}]",
            "#Ecto.Changeset<action: :insert, changes: %{password: \"**redacted**\"}, errors: [], valid?: true>",
            "assert {:error, :invalid_token} = Token.verify(conn)",
            "test \"rejects a wrong password\", %{conn: conn} do",
            "describe \"reset_password/2\" do",
            "def change_password(%User{} = user, attrs \\\\ %{}) do",
            "case Accounts.get_user_by_email_and_password(email, password) do",
            "Enum.map(tokens, &Token.to_string/1)",
            "tokens |> Enum.reject(&(&1.type == :eof))",
            "let tokens = lexer.tokenize(source)?;",
            "match self.next_token() { Token::Ident(name) => name, _ => return None }",
            "token = lexer.next_token",
            "impl Iterator for Tokens<'_> { type Item = Token; }",
            "if (token === 'end') { return null; }",
            "for key, value in items.items():",
            "map.get(key).unwrap_or(&default)",
            "Map.fetch!(map, key)",
            "{key, value} = hd(pairs)",
            "key = {module, function, arity}",
            "sort_by_key(|entry| entry.id)",
            "secret_key = derive_key(password, salt, iterations=600_000)",
            "salt = Bcrypt.gen_salt(12)",
            "private_key = :public_key.generate_key({:rsa, 2048, 65537})",
            "use Guardian.Token.Jwt.Verify",
            "alias Acme.Accounts.{User, UserToken}",
            "import {SecretManagerServiceClient} from '@google-cloud/secret-manager';",
            "from django.contrib.auth.password_validation import validate_password",
            "password_validation.MinimumLengthValidator",
            "PasswordResetTokenGenerator().make_token(user)",
            "const tokenExpiry = addHours(new Date(), 24);",
            "apiKeyHeader: 'X-Api-Key',",
            "headers['X-Api-Key'] = apiKey;",
            "auth_header: \"Authorization\"",
            "cookie_key: \"_acme_key\"",
            "key: \"_acme_web_key\",",
            "session_cookie_name = \"acme_session\"",
            "passport.authenticate('local')",
            "self.assertEqual(form.errors['password'], ['This field is required.'])",
            "expect(page).to have_field('Password')",
            "t(\"errors.messages.password_mismatch\")",
            "msgid \"password can't be blank\"",
            "msgstr \"Passwort darf nicht leer sein\"",
            "PASSWORD_HASHERS = ['django.contrib.auth.hashers.Argon2PasswordHasher']",
            "s.addComponentsToContainerNow2(window)",
            "s.replaceAllOccurrences2(of: text)",
            "hf_objectWithIdentifierAndContextForKey",
            "sk-SK locale loaded",
            "fc-list : family style",
            "re_match_all_the_names_in_file_now",
            "npm_config_registry_and_other_settings",
            "npm_lifecycle_event=postinstall_and_more",
            "api-reference-documentation-for-users",
            "key-value-store-with-expiration-times",
            "pat-matching-in-function-heads",
            "cio_runtime_builder_with_defaults",
            "dapi_documentation_generator_settings",
            "xoxb is the prefix of bot tokens",
        ],
    ),
    (
        "tool output",
        &[
            "==> acme\nCompiling 42 files (.ex)\nGenerated acme app",
            "Finished in 3.2 seconds (1.1s async, 2.1s sync)\n120 tests, 0 failures\n\nRandomized with seed 482910",
            "warning: variable \"token\" is unused (if the variable is not meant to be used, prefix it with an underscore)",
            "warning: unused variable `secret`",
            "  test checks the password (Acme.AccountsTest) (12.3ms) [L#42]",
            "   Compiling secrecy v0.10.3",
            "   Compiling tokio-util v0.7.16",
            "added 214 packages, and audited 215 packages in 4s",
            "npm warn deprecated request@2.88.2: request has been deprecated",
            "* [new branch]      fix/token-refresh-2 -> origin/fix/token-refresh-2",
            " create mode 100644 lib/acme/accounts/user_token.ex",
            "-rw------- 1 jane jane 3381 Nov  1 10:00 id_rsa_deploy_2026",
            "lib/acme/token.ex:12:  def verify(token) do",
            "< HTTP/2 401\n< www-authenticate: Bearer realm=\"acme\", error=\"invalid_token\"",
            "< set-cookie: theme=dark; Path=/; SameSite=Lax",
            "* SSL connection using TLSv1.3 / TLS_AES_256_GCM_SHA384 / X25519",
            "* Server certificate: CN=acme.test",
            "> GET /token HTTP/1.1",
            "§time§ [info] POST /users/log_in\n§time§ [info] Sent 302 in 212ms",
            "§time§ [debug] Processing with AcmeWeb.TokenController.create/2",
            "{\"status\":\"ok\",\"tokens\":{\"used\":12,\"left\":88}}",
            "total 24K, 12 secrets in vault \"acme\"",
            "Resolving Hex dependencies...\nUnchanged:\n  plug_crypto 2.1.0\n  bcrypt_elixir 3.2.0",
            "** (Mix) Could not start application acme: missing environment variable SECRET_KEY_BASE",
            "environment variable DATABASE_URL is missing.\nFor example: ecto://USER:PASS@HOST/DATABASE",
            "Interactive Elixir (1.14.0) - press Ctrl+C to exit (type h() ENTER for help)\niex(1)> ",
            "erl_crash_dump: crash dump is being written to: erl_crash.dump...done",
            "-setcookie COOKIE",
            "iex --sname acme --cookie $RELEASE_COOKIE",
            ":nocookie",
        ],
    ),
];

/// All tricky lines, filler put in, with the group each stands in.
pub fn tricky(seed: u64) -> Vec<(&'static str, String)> {
    TRICKY
        .iter()
        .flat_map(|(group, lines)| {
            let rng = &mut Rng::named(seed, group);
            lines
                .iter()
                .map(|line| (*group, super::sample::filler(line, rng)))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// One ordinary document and the kind of source that it stands for.
pub struct Document {
    pub source: &'static str,
    pub name: String,
    pub text: Vec<u8>,
}

/// The project's own sources, documents, lock files and manifests.
pub fn project() -> Vec<Document> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut documents = Vec::new();
    for (source, endings) in [
        ("project: Rust", &["rs"][..]),
        ("project: Elixir", &["ex", "exs"]),
        (
            "project: documents and manifests",
            &["md", "toml", "json", "yml", "sh"],
        ),
        ("project: lock files", &["lock"]),
    ] {
        for path in files(&root, endings, usize::MAX) {
            let inside = path.strip_prefix(&root).unwrap_or(&path);
            let place = format!("/{}", inside.display());
            // The corpus itself and test vectors hold invented secrets; build output is not the
            // project's.
            if [
                "/tests/",
                "/test/",
                "/target/",
                "/fuzz/",
                "/_build/",
                "/deps/",
                "/sanitizer",
            ]
            .iter()
            .any(|part| place.contains(part))
            {
                continue;
            }
            documents.extend(read(source, &path));
        }
    }
    documents.extend(transcripts());
    documents
}

/// Sources of other people's programs, where this machine has them; a note is printed where it does
/// not.
pub fn installed() -> Vec<Document> {
    let home = std::env::var("CARGO_HOME")
        .unwrap_or_else(|_| format!("{}/.cargo", std::env::var("HOME").unwrap_or_default()));
    let registry = PathBuf::from(home).join("registry/src");
    let mut documents = Vec::new();
    for (source, place, endings) in [
        ("installed: Rust crates", registry.clone(), &["rs"][..]),
        (
            "installed: crate documents",
            registry,
            &["md", "toml", "lock"],
        ),
        (
            "installed: Erlang/OTP",
            PathBuf::from("/usr/lib/erlang/lib"),
            &["erl", "hrl"],
        ),
        (
            "installed: Elixir",
            PathBuf::from("/usr/lib/elixir"),
            &["ex", "exs", "eex"],
        ),
        (
            "installed: Python",
            PathBuf::from("/usr/lib/python3"),
            &["py"],
        ),
    ] {
        let found = files(&place, endings, 400);
        if found.is_empty() {
            println!("note: {source}: none on this machine, skipped");
        }
        documents.extend(found.iter().filter_map(|path| read(source, path)));
    }
    documents
}

fn read(source: &'static str, path: &Path) -> Option<Document> {
    let text = fs::read(path).ok()?;
    (!text.is_empty() && text.len() < 1 << 20).then(|| Document {
        source,
        name: path.display().to_string(),
        text,
    })
}

/// Files below `root` with one of `endings`, in a stable order, spread evenly when there are more
/// than `most`.
fn files(root: &Path, endings: &[&str], most: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            if kind.is_dir() && !hidden && entry.file_name() != "target" {
                folders.push(path);
            } else if kind.is_file()
                && path
                    .extension()
                    .is_some_and(|e| endings.iter().any(|wanted| e == *wanted))
            {
                found.push(path);
            }
        }
    }
    found.sort();
    let step = found.len().div_ceil(most).max(1);
    found.into_iter().step_by(step).collect()
}

/// What everyday commands print, invented line by line: builds, tests, git, package managers,
/// servers.
fn transcripts() -> Vec<Document> {
    let rng = &mut Rng::named(1, "transcripts");
    let mut documents = Vec::new();
    for n in 0..24 {
        let mut line = |template: &str| super::sample::filler(template, rng) + "\n";
        let (source, mut text): (_, String) = match n % 6 {
            0 => ("transcript: mix test", (0..40).map(|i| line(&format!("  * test case {i} of the parser (Acme.ParserTest) (§n§ms) [L#§n§]"))).collect()),
            1 => ("transcript: git", (0..30).map(|_| line("commit §~hex:40§\nAuthor: Jane Doe <jane@acme.test>\nDate:   Sun Nov 1 10:00:00 2026 +0000\n\n    Check the token's expiry before its signature\n")).collect()),
            2 => ("transcript: lock files", (0..40).map(|i| line(&format!("  \"dep_{i}\": {{:hex, :dep_{i}, \"1.2.{i}\", \"§~hex:64§\", [:mix], [], \"hexpm\", \"§~hex:64§\"}},"))).collect()),
            3 => ("transcript: lock files", (0..40).map(|i| line(&format!("    \"node_modules/dep-{i}\": {{\n      \"version\": \"1.{i}.0\",\n      \"integrity\": \"sha512-§~b64:64§\"\n    }},"))).collect()),
            4 => ("transcript: server log", (0..60).map(|_| line("§time§ request_id=F§~rand:19§ [info] GET /users/§n§?page=2\n§time§ request_id=F§~rand:19§ [info] Sent 200 in §n§µs")).collect()),
            _ => ("transcript: cargo", (0..40).map(|i| line(&format!("   Compiling dep-{i} v0.{i}.§n§\ntest lexer::tests::token_{i} ... ok"))).collect()),
        };
        text.push_str("\ndone\n");
        documents.push(Document {
            source,
            name: format!("{source} {n}"),
            text: text.into_bytes(),
        });
    }
    documents
}
