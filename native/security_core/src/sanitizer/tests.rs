//! The redactor as its users see it, and helpers for the other modules' tests.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use proptest::prelude::*;

fn redacted(text: &[u8]) -> Option<Vec<u8>> {
    Sanitizer::built_in()
        .redact(text, &KnownSecrets::empty())
        .map(|r| r.text)
}

fn show(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What stands between two `§` must go, and nothing else.
pub(super) fn redacts(marked: &str) {
    let text = marked.replace('§', "");
    let out =
        show(&redacted(text.as_bytes()).unwrap_or_else(|| panic!("nothing found in {text:?}")));
    let parts: Vec<&str> = marked.split('§').collect();
    let mut rest = out.as_str();
    for (i, part) in parts.iter().enumerate() {
        if i % 2 == 0 {
            rest = rest.strip_prefix(part).unwrap_or_else(|| {
                panic!("{text:?} became {out:?}: expected {part:?} at {rest:?}")
            });
        } else {
            let end = rest
                .find(']')
                .map(|end| end + 1)
                .filter(|_| rest.starts_with("[REDACTED"));
            let end = end
                .or(rest.starts_with("91, 82").then_some(38))
                .unwrap_or_else(|| panic!("{text:?} became {out:?}"));
            rest = &rest[end..];
        }
    }
    assert!(rest.is_empty(), "{text:?} became {out:?}");
}

/// None of `secrets` may be left.
pub(super) fn redacts_all(text: &str, secrets: &[&str]) {
    let out =
        show(&redacted(text.as_bytes()).unwrap_or_else(|| panic!("nothing found in {text:?}")));
    for secret in secrets {
        assert!(!out.contains(secret), "{secret} is left in {out}");
    }
}

/// Nothing may change.
pub(super) fn clean(text: &str) {
    if let Some(out) = redacted(text.as_bytes()) {
        panic!("{text:?} became {:?}", show(&out));
    }
}

/// A body of `length` letters and digits that is nobody's.
fn body(length: usize) -> String {
    let mut state = 0x9e37_79b9_7f4a_7c15u64 ^ length as u64;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"[(state % 62) as usize]
                as char
        })
        .collect()
}

#[test]
fn the_hosts_patterns_are_covered() {
    for text in [
        "password: §hunter2§",
        "api_key=§abc123def§",
        "token=§abc123xyz§",
        "Bearer §abc.def_123-4567§",
        "{\"secret\": \"§abc123def§\"}",
        "mysql://root:§toor§@db/x",
        "redis://u:§p4ss§@r:6379",
    ] {
        redacts(text);
    }
    for (prefix, length) in [
        ("sk-", 20),
        ("sk-", 48),
        ("ghp_", 36),
        ("gho_", 36),
        ("xoxb-", 24),
        ("sk-ant-", 20),
        ("AIza", 35),
    ] {
        redacts(&format!("before §{prefix}{}§ after", body(length)));
    }
    redacts(&format!("§AKIA{}§", "ABCDEFGH23456772"));
    redacts(&format!("aws_secret_access_key = §{}§", body(40)));
    redacts(&format!("AccountKey=§{}==§;x", body(86)));
}

#[test]
fn invisible_bytes_hide_nothing() {
    let token = format!("ghp_{}", body(36));
    let (a, b) = token.split_at(20);
    for split in [
        "\x1b[31m",
        "\u{200b}",
        "\u{feff}",
        "\x1b[0;1m",
        "\u{ad}",
        "\\e[31m",
        "\\u001b[0m",
    ] {
        redacts_all(&format!("x {a}{split}{b} y"), &[a, &b[2..]]);
    }
    redacts("password\x1b[0m:\u{a0}\"§hunter2§\"");
}

#[test]
fn codes_that_spell_a_token_go() {
    let token = format!("ghp_{}", body(36));
    let codes: Vec<String> = token.bytes().map(|b| b.to_string()).collect();
    redacts(&format!("%{{x: [§{}§]}}", codes.join(", ")));
    redacts(&format!("<<§{}§>>", codes.join(", ")));
    clean("[115, 107, 45, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]");
}

#[test]
fn dumps_are_read_as_bytes() {
    let text = format!("a line of text, then token ghp_{} and more\n", body(36));
    let mut dump = String::new();
    for (i, chunk) in text.as_bytes().chunks(16).enumerate() {
        let hex: String = chunk
            .chunks(2)
            .map(|pair| pair.iter().map(|b| format!("{b:02x}")).collect::<String>() + " ")
            .collect();
        let shown: String = chunk
            .iter()
            .map(|&b| {
                if b.is_ascii_graphic() || b == b' ' {
                    b as char
                } else {
                    '.'
                }
            })
            .collect();
        dump += &format!("{:08x}: {hex:<40} {shown}\n", i * 16);
    }
    let out = show(&redacted(dump.as_bytes()).unwrap());
    assert!(out.starts_with("00000000: 6120 6c69 6e65"), "{out}");
    assert!(
        !out.contains("6768 705f") && !out.contains(&body(36)[6..16]),
        "{out}"
    );
    clean("00000000: 6120 6c69 6e65 206f 6620 7465 7874 2c20  a line of text, \n");
}

#[test]
fn wrapped_and_concatenated_tokens_go_whole() {
    let token = format!("ghp_{}", body(36));
    let (a, b) = token.split_at(20);
    redacts_all(&format!("\"{a}\" <> \"{b}\""), &[a, b]);
    redacts_all(&format!("{}{a}\n{b}\n", "-".repeat(60)), &[a, b]);
    redacts_all(&format!("login --token {a}\\\n    {b}\n"), &[a, b]);
    let jwt = format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjMifQ.{}", body(43));
    for cut in [14, 24, 50] {
        let (a, b) = jwt.split_at(cut);
        redacts_all(&format!("{} {a}\n{b} after", "-".repeat(60)), &[b]);
        redacts_all(&format!("x = '{a}' . '{b}';"), &[b]);
        redacts_all(&format!("x = \"{a}\"\n    + \"{b}\""), &[b]);
    }
}

#[test]
fn public_look_alikes_stay() {
    for text in [
        "0b7c5e3a-9f0e-4c1b-8d57-1f2a3b4c5d6e",
        "commit 4f2d0c1b9a8e7f6d5c4b3a29180f7e6d5c4b3a29",
        "bypass: true",
        "max_token: 5",
        "max_tokens: 4096",
        "checksum = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"",
        "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
        "call_abcdefghijkl1234567890AB",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPq3mC2y0vV1vJ5oQm7oC7YQ4kW4hQyXxB0m5mF2h9aB user@host",
        "git@github.com:a/b.git",
        "https://example.com/@user",
        "http://localhost:4000/@name",
        "postgres://user:password@localhost/db",
        "postgres://USER:PASS@HOST/db",
        "risk-assessment-for-the-whole-department",
    ] {
        clean(text);
    }
}

#[test]
fn a_configuration_is_checked_and_used() {
    let rule = |name: &str, pattern: &str, replacement: &str| UserRule {
        name: name.into(),
        pattern: pattern.into(),
        replacement: replacement.into(),
    };
    let with = |rule| {
        Sanitizer::new(Config {
            rules: vec![rule],
            fields: vec![],
        })
    };
    let sanitizer = with(rule("badge", r"BDG-(?<secret>\d{6})", "[BADGE]")).unwrap();
    let out = sanitizer
        .redact(b"see BDG-123456.", &KnownSecrets::empty())
        .unwrap();
    assert_eq!(out.text, b"see BDG-[BADGE].");
    assert!(matches!(
        with(rule("Bad Name", "a", "b")),
        Err(ConfigError::RuleName { .. })
    ));
    assert!(matches!(
        with(rule("jwt", "a", "b")),
        Err(ConfigError::RuleName { .. })
    ));
    assert!(matches!(
        with(rule("a", "(", "b")),
        Err(ConfigError::Pattern { .. })
    ));
    assert!(matches!(
        with(rule("a", "b*", "b")),
        Err(ConfigError::Pattern { .. })
    ));
    assert!(matches!(
        with(rule("a", "b", "\"")),
        Err(ConfigError::Replacement { .. })
    ));
    assert!(
        Sanitizer::new(Config {
            rules: vec![],
            fields: vec!["x y".into()]
        })
        .is_err()
    );

    let sanitizer = Sanitizer::new(Config {
        rules: vec![],
        fields: vec!["badge_no".into()],
    })
    .unwrap();
    assert_eq!(sanitizer.key_class(b"badgeNo"), KeyClass::Field);
    assert!(
        sanitizer
            .redact(b"badge_no: \"abc\"", &KnownSecrets::empty())
            .is_some()
    );
}

#[test]
fn structured_data_is_asked_key_by_key() {
    let sanitizer = Sanitizer::built_in();
    for field in fields::names() {
        assert_eq!(
            sanitizer.key_class(field.as_bytes()),
            KeyClass::Field,
            "{field}"
        );
    }
    assert!(sanitizer.value_is_secret(KeyClass::Field, b"abc"));
    assert!(!sanitizer.value_is_secret(KeyClass::Field, b"[REDACTED]"));
    assert_eq!(sanitizer.key_class(b"stripe_api_key"), KeyClass::Token);
    assert_eq!(sanitizer.key_class(b"max_tokens"), KeyClass::None);
}

#[test]
fn known_values_go_wherever_they_stand() {
    let known = KnownSecrets::build([b"x7Kp2mQ9vL4tZ".to_vec()]);
    let out = Sanitizer::built_in()
        .redact(b"state: {\"x7Kp2mQ9vL4tZ\", 1}", &known)
        .unwrap();
    assert_eq!(out.text, b"state: {\"[REDACTED]\", 1}");
}

#[test]
fn repeated_anchors_are_walked_in_linear_work() {
    let sanitizer = Sanitizer::built_in();
    for anchor in [
        "eyJ",
        "eyJ-",
        "eyJ.",
        "ghp_",
        "key=",
        "key: ",
        "postgres://a",
        "://a:",
        "://@",
        "-----BEGIN ",
        "-----BEGIN RSA PRIVATE KEY-----\n",
        "\"",
        "\\",
        "\\\"",
        "{\"name\":",
        "\"password\":",
        "password=",
        "password = \"",
        "Bearer ",
        "Authorization: ",
        "LS0t",
        "[10,",
        "<<10",
        "\"kty\"",
        "{",
        "AAAA",
        "a@",
        ":5432:",
        " -p ",
        "Cookie: a=b;",
        "T3BlbkFJ",
        "0Q~",
        "\x1b[",
        "\u{200b}",
        "ab_",
        "sk-",
        "'",
        "a",
        "\n",
        "-END",
        "-----END RSA PRIVATE KEY-----\n",
        "MIIE",
        "password is ",
        "secret_",
        "\\u001b[",
        "${KEY:-",
        "pass,",
        "\"password\", ",
        "Pwd={",
        "Set-Cookie: ",
    ] {
        let text = anchor.repeat(120_000 / anchor.len());
        let findings = sanitizer.scan(text.as_bytes(), &KnownSecrets::empty());
        assert!(
            findings.work <= 64 * text.len(),
            "{anchor:?}: {} bytes read again",
            findings.work
        );
    }
}

/// Text of the pieces that rules hang on.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("password"),
        Just("token"),
        Just("key"),
        Just(": "),
        Just("="),
        Just("\""),
        Just("\\\""),
        Just("'"),
        Just("\n"),
        Just(" "),
        Just("\\n"),
        Just("ghp_"),
        Just("sk-"),
        Just("eyJ"),
        Just("."),
        Just("://"),
        Just("@"),
        Just("user:"),
        Just("-----BEGIN PRIVATE KEY-----"),
        Just("-----END PRIVATE KEY-----"),
        Just("x7Kp2mQ9vL4tZw8Rb3Nc"),
        Just("hunter2"),
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just(","),
        Just(" => "),
        Just("Bearer "),
        Just("<<"),
        Just(">>"),
        Just("115, "),
        Just("\u{200b}"),
        Just("\x1b[1m"),
        Just("Cookie: "),
        Just("a=b;"),
        Just("$"),
        Just("<>"),
        Just("value"),
        Just("name"),
        Just(" -p"),
        Just("mysql"),
        Just("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"),
        Just("é"),
        Just("\\"),
        Just("is "),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn spans_are_ascending_and_in_bounds(text in prop_oneof![soup(), proptest::collection::vec(any::<u8>(), 0..400)]) {
        let findings = Sanitizer::built_in().scan(&text, &KnownSecrets::empty());
        let mut last = 0;
        for span in &findings.spans {
            prop_assert!(last <= span.start && span.start < span.end && span.end <= text.len());
            last = span.end;
        }
    }

    #[test]
    fn redacting_again_changes_nothing(text in soup()) {
        if let Some(once) = redacted(&text) {
            let twice = redacted(&once);
            prop_assert!(twice.is_none(), "{:?} -> {:?} -> {:?}", show(&text), show(&once), twice.as_deref().map(show));
        }
    }

    #[test]
    fn json_stays_json(keys in proptest::collection::vec(prop_oneof![Just("password"), Just("token"), Just("name"), Just("output"), Just("authorization"), Just("d")], 1..5), texts in proptest::collection::vec(soup(), 1..5)) {
        let members: serde_json::Map<String, serde_json::Value> = keys.iter().zip(&texts).map(|(k, t)| (k.to_string(), String::from_utf8_lossy(t).into_owned().into())).collect();
        let value = serde_json::Value::Object(members);
        for json in [serde_json::to_string(&value).unwrap(), serde_json::to_string(&serde_json::to_string(&value).unwrap()).unwrap(), serde_json::to_string_pretty(&serde_json::json!([value, 1, null])).unwrap()] {
            if let Some(out) = redacted(json.as_bytes()) {
                prop_assert!(serde_json::from_slice::<serde_json::Value>(&out).is_ok(), "{json} became {}", show(&out));
            }
        }
    }

    #[test]
    fn lines_around_hide_nothing(before in "[a-z ]{0,60}", after in "[a-z ]{0,60}", length in 30usize..60) {
        let token = format!("ghp_{}", body(length));
        redacts_all(&format!("{before}\n{token}\n{after}"), &[&token]);
        redacts_all(&format!("{before}\npassword: \"{token}x\"\n{after}"), &[&token]);
    }
}
