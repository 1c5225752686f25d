//! Values that this node knows are removed wherever they stand, in every encoding in which tools
//! print them; weak ones are not taken, so that ordinary words stay.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use security_core::sanitizer::{KnownSecrets, Sanitizer};
use support::judge;
use support::rng::Rng;
use support::sample::{Kind, Sample};
use support::values::{base64, body, password};

/// Opaque values: nothing about them tells that they are secret.
fn values() -> Vec<String> {
    let rng = &mut Rng::named(5, "known");
    let mut values: Vec<String> = (0..20).map(|_| body(rng, "a", 24)).collect();
    values.extend((0..10).map(|_| body(rng, "h", 32)));
    values.extend((0..10).map(|_| body(rng, "a", 14) + &password(rng, "\"\\/+&= %?")));
    values
}

fn percent(text: &str, space: &str) -> String {
    text.chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' | '~' => c.to_string(),
            ' ' => space.to_string(),
            c => format!("%{:02X}", c as u32),
        })
        .collect()
}

/// `value` in each form, with the part of it that must be gone.
fn forms(value: &str) -> Vec<(&'static str, String, String)> {
    let json = serde_json::to_string(value).unwrap();
    let json = json[1..json.len() - 1].to_string();
    let hex: String = value.bytes().map(|b| format!("{b:02x}")).collect();
    let mut forms = vec![
        ("verbatim", value.to_string()),
        ("JSON-escaped", json),
        ("percent-encoded", percent(value, "%20")),
        ("form-encoded", percent(value, "+")),
        ("hex", hex.clone()),
        ("upper hex", hex.to_uppercase()),
    ];
    for (name, before) in [
        ("base64 at 0", ""),
        ("base64 at 1", "u"),
        ("base64 at 2", "u:"),
    ] {
        for (url_safe, pad) in [(false, true), (true, false)] {
            forms.push((
                name,
                base64(format!("{before}{value}").as_bytes(), url_safe, pad),
            ));
        }
    }
    forms
        .into_iter()
        .map(|(name, form)| {
            // The first characters of base64 depend on what stands before the value, the last on
            // what stands behind it.
            let gone = if name.starts_with("base64") {
                form[4..form.len() - 4].to_string()
            } else {
                form.clone()
            };
            (name, form, gone)
        })
        .collect()
}

fn redact(sanitizer: &Sanitizer, known: &KnownSecrets, text: &str) -> String {
    let out = sanitizer
        .redact(text.as_bytes(), known)
        .map_or(text.as_bytes().to_vec(), |redacted| redacted.text);
    String::from_utf8(out).unwrap()
}

#[test]
fn known_values_are_gone_in_every_form() {
    let sanitizer = judge::sanitizer();
    let values = values();
    let known = KnownSecrets::build(values.iter().map(|value| value.clone().into_bytes()));
    assert_eq!(known.len(), values.len());
    for value in &values {
        for (name, form, gone) in forms(value) {
            for text in [
                form.clone(),
                format!("it said {form} and left"),
                format!("x{form}y"),
                format!("[{form}] twice {form}"),
            ] {
                let sample = Sample {
                    kind: Kind::Bare,
                    group: "known",
                    template: name.to_string(),
                    text: text.clone(),
                    secrets: vec![gone.clone()],
                };
                let out = redact(&sanitizer, &known, &text);
                assert!(
                    sample.leak(out.as_bytes()).is_none(),
                    "{name}: {text:?} -> {out:?}"
                );
            }
        }
    }
}

#[test]
fn json_with_known_values_stays_json() {
    let sanitizer = judge::sanitizer();
    let values = values();
    let known = KnownSecrets::build(values.iter().map(|value| value.clone().into_bytes()));
    for value in &values {
        let text =
            serde_json::json!({"a": value, "b": [format!("x {value} y")], "c": 1}).to_string();
        let out = redact(&sanitizer, &known, &text);
        assert!(
            serde_json::from_str::<serde_json::Value>(&out).is_ok(),
            "{text} -> {out}"
        );
    }
}

#[test]
fn weak_values_are_not_taken_but_registered_ones_are() {
    let sanitizer = judge::sanitizer();
    let weak = [
        "postgres",
        "admin",
        "dev",
        "localhost",
        "secret",
        "changeme",
        "",
        "a",
    ];
    let known = KnownSecrets::build(weak.map(|value| value.as_bytes().to_vec()));
    assert!(known.is_empty(), "{} weak values taken", known.len());
    let text = "postgres started on localhost, admin logged in, changeme";
    assert_eq!(redact(&sanitizer, &known, text), text);

    let registered = KnownSecrets::build_with([], [b"zebra".to_vec(), b"abc".to_vec()]);
    let out = redact(&sanitizer, &registered, "a zebra and abc");
    assert!(!out.contains("zebra"), "{out}");
    assert!(
        out.contains("abc"),
        "three bytes are too few even when registered: {out}"
    );
}

#[test]
fn known_values_are_never_printed() {
    let known = KnownSecrets::build([b"Zk3vQ9xL2mT7wR4pNb6c".to_vec()]);
    let printed = format!("{known:?}");
    assert!(!printed.contains("Zk3v"), "{printed}");
}

#[test]
fn a_text_without_them_stays() {
    let sanitizer = judge::sanitizer();
    let known = KnownSecrets::build(values().into_iter().map(String::into_bytes));
    let text = support::speed::clean(200_000);
    assert!(sanitizer.redact(&text, &known).is_none());
}
