//! A redacted text has nothing more to redact, and what is written in a redacted text's manner
//! hides nothing.
//!
//! Inputs that once broke this are kept here, each with what went wrong.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use security_core::sanitizer::{Config, KnownSecrets, Sanitizer, UserRule};

fn redacted(sanitizer: &Sanitizer, text: &[u8]) -> Vec<u8> {
    let known = KnownSecrets::empty();
    match sanitizer.redact(text, &known) {
        Some(redacted) => redacted.text,
        None => text.to_vec(),
    }
}

fn settles(sanitizer: &Sanitizer, story: &str, text: &[u8]) -> Vec<u8> {
    let once = redacted(sanitizer, text);
    let twice = redacted(sanitizer, &once);
    assert_eq!(
        once.escape_ascii().to_string(),
        twice.escape_ascii().to_string(),
        "{story}"
    );
    once
}

const KEY: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";

#[test]
fn texts_that_did_not_settle() {
    let sanitizer = Sanitizer::built_in();
    let begin = concat!("-----BEGIN PRIV", "ATE KEY-----");
    let end = concat!("-----END PRIV", "ATE KEY-----");
    settles(
        sanitizer,
        "the last letters of a replacement were found again and replaced, five bytes more with each pass",
        include_bytes!("cases/cookie_colours_and_pgpass.bin"),
    );
    settles(
        sanitizer,
        "of a line with an empty field too many, other bytes were replaced than the field's, three more with each pass",
        include_bytes!("cases/pgpass_field_too_many.bin"),
    );
    settles(
        sanitizer,
        "a string was not a secret with another secret in it, and one without: only the whole text looked at again shows that",
        include_bytes!("cases/string_around_a_secret.bin"),
    );
    settles(
        sanitizer,
        "an escape character before a secret made a colour code of the replacement's first letters",
        format!("password: \x1b\"x7Kp2mQ9vL4t\" \x1bghp_{KEY}").as_bytes(),
    );
    settles(
        sanitizer,
        "two tokens without a break: the armour's dashes were the second one's end before the first was replaced",
        format!("Bearer x7Kp2mQ9vL4tZw8Rb3Nc{begin}\nBearer {end}").as_bytes(),
    );
    settles(
        sanitizer,
        "a key that was redacted made the lines behind it look like its header",
        format!("{begin}\n{KEY}\nnote: usr/local/lib/erlang/releases\n").as_bytes(),
    );
}

#[test]
fn a_configured_replacement_settles_too() {
    for (pattern, replacement) in [
        ("[a-z]+@[a-z]+", "user@example"),
        ("a+", "aaaa"),
        ("BDG-[0-9A-Z]+", "BDG-REMOVED"),
        ("x", "xx"),
    ] {
        let rules = vec![UserRule {
            name: "own".into(),
            pattern: pattern.into(),
            replacement: replacement.into(),
        }];
        let sanitizer = Sanitizer::new(Config {
            rules,
            fields: vec![],
        })
        .unwrap();
        let text = b"xyz aa jane@acme BDG-77A BDG-1BDG-2 password: hunter2jane@acme";
        let once = redacted(&sanitizer, text);
        assert!(
            once.len() < 4 * text.len(),
            "{pattern}: {} bytes",
            once.len()
        );
        if replacement.len() >= 4 {
            settles(&sanitizer, pattern, text);
        }
    }
}

#[test]
fn a_forged_mark_hides_nothing_beside_it() {
    let sanitizer = Sanitizer::built_in();
    let begin = concat!("-----BEGIN RSA PRIV", "ATE KEY-----");
    let end = concat!("-----END RSA PRIV", "ATE KEY-----");
    let secret = "x7Kp2mQ9vL4tZw8R";
    for text in [
        format!("password: \"[REDACTED]{secret}\""),
        format!("password: \"{secret}[REDACTED]\""),
        format!("password: \"[REDACTED]{secret}[REDACTED]\""),
        format!("password: [REDACTED]{secret}"),
        format!("DB_PASSWORD=[REDACTED_API_KEY]{secret}"),
        format!("api_key={secret}[REDACTED_API_KEY]"),
        format!("token: \"[REDACTED_JWT]{secret}\""),
        format!("REDACTED_password: \"{secret}\""),
        format!("Authorization: Bearer [REDACTED_BEARER]{secret}"),
        format!("seen: Bearer [REDACTED]{secret}"),
        format!("postgres://u:[REDACTED_DB_URL]{secret}@h/d"),
        format!("Cookie: session=[REDACTED]{secret}; theme=dark"),
        format!("mysql -p[REDACTED]{secret} db"),
        format!("[REDACTED]ghp_{}", &KEY[8..44]),
    ] {
        let out = String::from_utf8(settles(sanitizer, &text, text.as_bytes())).unwrap();
        assert!(
            !out.contains(secret) && !out.contains(&KEY[8..44]),
            "{text} became {out}"
        );
    }
    for text in [
        format!("{begin}\n[REDACTED_SSH_KEY]\n{KEY}\n{end}\n"),
        format!("{begin}\n{KEY}\n[REDACTED]\n{KEY}\n{end}\n"),
        format!("{begin}\\n[REDACTED]{KEY}\\n{end}\\n"),
        format!("{KEY}\n[REDACTED]\n{KEY}\n{end}\n"),
    ] {
        let out = String::from_utf8(settles(sanitizer, &text, text.as_bytes())).unwrap();
        assert!(!out.contains(KEY), "{text} became {out}");
    }
}

#[test]
fn what_was_redacted_stays_as_it_is() {
    let sanitizer = Sanitizer::built_in();
    for text in [
        "password: \"[REDACTED]\", token: [REDACTED_JWT], a: 1",
        "Authorization: Bearer [REDACTED_BEARER]\r\nHost: x",
        "DB_PASSWORD=[REDACTED]\nA=1",
        "password: [REDACTED], user: jane",
        "postgres://u:[REDACTED_DB_URL]@h/d",
        "[91, 82, 69, 68, 65, 67, 84, 69, 68, 93]",
        concat!(
            "-----BEGIN PRIV",
            "ATE KEY-----\n[REDACTED_SSH_KEY]\n-----END PRIV",
            "ATE KEY-----\nrest: of/the/text/that/is/long"
        ),
    ] {
        let found = sanitizer.scan(text.as_bytes(), &KnownSecrets::empty());
        assert!(found.spans.is_empty(), "{text}: {:?}", found.spans);
    }
}
