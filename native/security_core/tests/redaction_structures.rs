//! Structures in which programs print names and values: columns, nested values, text in strings,
//! what stands on the next line. What is between two `§` must go, and nothing else.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;
use security_core::sanitizer::{KnownSecrets, Sanitizer};

fn redacted(text: &str) -> String {
    let known = KnownSecrets::empty();
    match Sanitizer::built_in().redact(text.as_bytes(), &known) {
        Some(redacted) => String::from_utf8(redacted.text).unwrap(),
        None => text.to_string(),
    }
}

/// What stands between two `§` is replaced, the rest stays.
fn redacts(marked: &str) {
    let text = marked.replace('§', "");
    let out = redacted(&text);
    let mut rest = out.as_str();
    for (i, part) in marked.split('§').enumerate() {
        if i % 2 == 0 {
            rest = rest
                .strip_prefix(part)
                .unwrap_or_else(|| panic!("{text:?} became {out:?}"));
            continue;
        }
        let end = rest
            .find(']')
            .map(|end| end + 1)
            .unwrap_or_else(|| panic!("{text:?} became {out:?}"));
        let quoted = usize::from(rest.starts_with("\"[REDACTED]\""));
        assert!(
            rest[quoted..].starts_with("[REDACTED"),
            "{text:?} became {out:?}"
        );
        rest = &rest[end + quoted..];
    }
    assert!(rest.is_empty(), "{text:?} became {out:?}");
}

fn stays(text: &str) {
    assert_eq!(redacted(text), text);
}

#[test]
fn the_columns_of_statements_name_their_values() {
    redacts("INSERT INTO users (email, password) VALUES ('a@acme.test', '§winter62§');");
    redacts("INSERT INTO `users` (`id`, `password`) VALUES (1,'§winter62§'),(2,'§sommer_75§');");
    redacts("COPY users (id, password) FROM stdin;\n1\t§winter62§\n2\t§größe_75§\n\\.\n");
    redacts(
        "INSERT INTO \"users\" (\"email\",\"password\") VALUES ($1,$2) [\"a@acme.test\", \"§winter62§\"]",
    );
    redacts(
        "SELECT u0.\"id\" FROM \"users\" AS u0 WHERE (u0.\"reset_token\" = $1) [\"§a960745ea89716c09442af26797443§\"]",
    );
    redacts(
        "%Postgrex.Result{columns: [\"id\", \"password\"], rows: [[1, \"§winter62§\"], [2, \"§sommer75§\"]]}",
    );
    redacts("{:ok, %{rows: [[\"§winter62§\"]], columns: [\"password\"]}}");
    redacts("DETAIL:  Key (password)=(§winter62§) already exists.");
    stays("INSERT INTO users (email, name) VALUES ('a@acme.test', 'winter62');");
}

#[test]
fn headers_name_the_cells_below() {
    redacts(
        " id |  password  \n----+------------\n  1 | §winter62§\n  2 | §größe_t24§\n(2 rows)\n",
    );
    redacts(
        "+----+----------+\n| id | password |\n+----+----------+\n| 1  | §winter62§ |\n+----+----------+\n",
    );
    redacts("id,email,password\n1,ann@acme.test,§winter62§\n2,\"jörg\",\"§sommer75§\"\n");
    redacts("user\tpassword\thost\nann\t§winter62§\tdb\n");
    redacts("| User | Password |\n| --- | ---: |\n| ann | `§winter62§` |\n");
    redacts("User      Password     Host\nann       §winter62§     db\n");
    redacts("│ user │ password │\n│ ann  │ §winter62§ │\n");
    stays("NAME        SECRETS   AGE\ndefault     1         5d\n");
    stays("| Key | Meaning |\n| --- | --- |\n| token | what the server sends |\n");
}

#[test]
fn tight_settings_lose_their_values_anywhere() {
    redacts("failed with password=§hunter22§, retrying");
    redacts("password=§secret123§ and token=§abc456§");
    redacts("{password=§hunter22§}");
    redacts("PGPASSWORD=§größe§ psql");
    redacts("password=§12345678§");
    redacts("{\"output\":\"token=§abcdef123456§\\nok\",\"exit\":0}");
    redacts("DATADOG_KEY=§ad8aea58-6351-9b58-7eef-76d65c521e87§");
    for text in [
        "password=nil, token=none",
        "password=$PASSWORD token=${TOKEN}",
        "password=password",
        "connect(user=user, password=passwd)",
        "token=lexer.next_token()",
        "token=tokens[3]",
        "pass=120 fail=3",
    ] {
        stays(text);
    }
}

#[test]
fn values_below_and_beside_their_name() {
    redacts("%{secrets: [\"§a§\", \"§b§\"]}");
    redacts("{\"secrets\":{\"stripe\":\"§a960745ea89716c09442af26797443§\",\"host\":\"db\"}}");
    redacts("{\"api_key\": {\"value\": \"§x7Kp2mQ9vL4t§\", \"rotate\": \"monthly\"}}");
    redacts("database:\n  password:\n    §winter62§\n  pool: 5\n");
    redacts("tokens:\n  - §x7Kp2mQ9vL4t§\n  - §qW8rT5yU1iOp§\n");
    redacts("{\"password\":§494950924§,\"user\":\"ann\"}");
    redacts("#{password => §12345678901234567890§}");
    redacts("{\"api_key\": §829103847561029384§, \"user\": \"ann\"}");
    redacts("%{access_token: §8291038475610293§}");
    stays("{\"max_tokens\": 4096, \"token_count\": 829103847561029384}");
    stays("{\"token\": 1732333333333, \"tokens\": 829103}");
    stays("{\"password\":-10000000}");
    redacts("passwords => {\"§hunter22§\", \"§winter62§\"}");
    redacts("passwords: {\"§hunter22§\", \"§winter62§\"}, host: \"a\"");
    stays("credentials: {\"user\": \"bob\", \"host\": \"a\"}");
    redacts("{:db, :password} => \"§winter62§\"");
    redacts("127.0.0.1:6379> AUTH ann §winter62§\nOK");
    redacts("password: [-§winter62§-]{+§sommer75§+}\nuser: ann");
    redacts("password=§winter62§ was refused: no user with winter62x");
}

#[test]
fn what_was_found_once_is_found_everywhere() {
    redacts(
        "password: \"§winter_62§\"\n** (Error) can't log in with \"§winter_62§\", not winter_62b",
    );
    redacts(
        "code:  assert Acme.password() == \"§horse71!§\"\n     left:  \"§battery6751§\"\n     right: \"§horse71!§\"\n",
    );
    stays("password: \"\"\nuser: postgres");
}

#[test]
fn settings_of_a_registry_and_generated_passwords() {
    redacts(
        "{\"//registry.acme.test/:_authToken\":\"§0b7c5e3a-9f0e-4c1b-8d57-1f2a3b4c5d6e§\",\"a\":1}",
    );
    redacts(
        "{\"mode\":\"managed\",\"type\": \"random_password\",\"name\":\"db\",\"instances\":[{\"attributes\":\
         {\"id\":\"none\",\"length\":16,\"result\":\n \"§x7Kp2mQ9vL4tZw§\"}}]}",
    );
    stays(
        "{\"type\":\"random_password\",\"name\":\"db\"},{\"mode\":\"data\",\"result\":\"winter62\"}",
    );
    stays("{\"type\":\"random_pet\",\"attributes\":{\"result\":\"brave-winter62\"}}");
}

#[test]
fn a_text_that_ends_before_the_second_value() {
    for glue in [" to ", " or ", " and ", " -> "] {
        redacts(&format!("the password is §hunter22§{glue}"));
    }
}

#[test]
fn members_stay_apart() {
    let end = concat!("-----END PRIV", "ATE KEY-----");
    // Two members before the end of a key were taken for its body, and became one.
    redacts(&format!(
        "{{\"password\":\"§hunter22§\",\"token\":\"§x7Kp2mQ9vL4t§\",\"name\":\"{end}\"}}"
    ));
    // The next member's name was taken for the value.
    stays("{\"authorization\":\"115, password, value\",\"name\":\"x\"}");
    stays("{\"a\":\"115, passwordpassword115, value\", \"name\" : \"x\"}");
    // A string that ends in a separator was taken for a name, and what stands behind it for the value.
    stays("{\"credentials\":{\"user\":[\"a:\",1000000000000000]}}");
    stays("{\"credentials\":{\"user\":[\"a=\",\n 17]}}");
}

#[test]
fn innocent_neighbours_stay() {
    for text in [
        "[\"password\", \"password_confirmation\"]",
        "plug Plug.Parsers, parsers: [:json], pass: [\"text/*\"]",
        "fun elixir_erl_pass:f/3",
        "secret: {Acme, :fetch, [:key]}",
        "Use `xoxb-your-token` here.",
        "Cache key: mix-otp-25-4b8a8289cdc0977f27c0b548e50923d5ec48504d22f0054f6fa1c2790595ea38",
        "{\"admin_password\": -1.5e+30, \"cookie\": 8379669721}",
        "{\"password\":\n  \"next\": 1}",
    ] {
        stays(text);
    }
}

/// Documents whose names tell, with values of every kind.
fn document() -> impl Strategy<Value = serde_json::Value> {
    let name = prop::sample::select(vec![
        "password",
        "api_key",
        "secrets",
        "tokens",
        "columns",
        "rows",
        "value",
        "user",
        "cookie",
        "authorization",
        "log",
        "credentials",
        "pw",
        "key",
        "name",
    ]);
    let text = prop::sample::select(vec![
        "winter62",
        "password=winter62",
        "{\"password\":1234567}",
        "x7Kp2mQ9vL4tZw",
        "",
        "a\\\"b",
        "größe",
        "Bearer x7Kp2mQ9vL4tZw",
        "line\npassword: winter62\n",
        "email,password\nann,winter62\n",
        "ghp_",
        "password",
        "nil",
        "\u{1b}[31mred",
        "C:\\new\\table",
    ]);
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        (1_000_000u64..999_999_999).prop_map(Into::into),
        text.prop_map(Into::into),
        "[ -~]{0,24}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::vec((name.clone(), inner), 1..4).prop_map(|members| {
                let members = members
                    .into_iter()
                    .map(|(name, value)| (name.to_string(), value));
                serde_json::Value::Object(members.collect())
            }),
        ]
    })
}

/// Members and elements stay where they are; a value may become a string.
fn same_members(before: &serde_json::Value, after: &serde_json::Value) -> bool {
    use serde_json::Value::{Array, Object, String};
    match (before, after) {
        (Object(a), Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(name, value)| {
                    b.get(name).is_some_and(|other| same_members(value, other))
                })
        }
        (Array(a), Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_members(a, b))
        }
        (_, String(_)) => true,
        (a, b) => a == b,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn json_stays_json_and_settles(document in document(), pretty in any::<bool>(), nested in any::<bool>()) {
        let document = if nested { serde_json::json!({"log": document.to_string()}) } else { document };
        let text = if pretty { serde_json::to_string_pretty(&document).unwrap() } else { document.to_string() };
        let once = redacted(&text);
        let after: serde_json::Value = serde_json::from_str(&once).unwrap_or_else(|error| panic!("{error}: {text} became {once}"));
        prop_assert!(same_members(&document, &after), "{} became {}", text, once);
        prop_assert_eq!(redacted(&once), once);
    }

    #[test]
    fn tables_settle_and_keep_their_rows(
        header in prop::collection::vec(prop::sample::select(vec!["id", "password", "api_token", "email", "note"]), 1..5),
        rows in prop::collection::vec(prop::collection::vec("[ -~]{0,12}", 1..5), 0..6),
        mark in prop::sample::select(vec![" | ", ",", "\t", "   "]),
    ) {
        let mut text = header.join(mark);
        for row in &rows {
            text.push('\n');
            text.push_str(&row.join(mark));
        }
        let once = redacted(&text);
        prop_assert_eq!(once.lines().count(), text.lines().count());
        prop_assert_eq!(redacted(&once), once);
    }
}
