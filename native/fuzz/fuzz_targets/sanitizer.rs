//! Redaction of arbitrary bytes.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use security_core::sanitizer::{Config, KnownSecrets, Sanitizer};

static SANITIZER: OnceLock<(Sanitizer, KnownSecrets)> = OnceLock::new();

fn built() -> &'static (Sanitizer, KnownSecrets) {
    SANITIZER.get_or_init(|| {
        let sanitizer = Sanitizer::new(Config::default()).expect("the built-in rules are valid");
        let known = KnownSecrets::build([
            b"Zk3vQ9xL2mT7wR4p".to_vec(),
            b"a\"quoted\" & spaced value".to_vec(),
        ]);
        (sanitizer, known)
    })
}

fuzz_target!(|text: &[u8]| {
    let (sanitizer, known) = built();
    let findings = sanitizer.scan(text, known);
    let mut last = 0;
    for span in &findings.spans {
        assert!(last <= span.start && span.start < span.end && span.end <= text.len());
        last = span.end;
    }
    // What any text may spend besides is more than a short one's own share.
    assert!(
        findings.work <= 64 * text.len() + 256 * 1024,
        "{} steps for {} bytes",
        findings.work,
        text.len()
    );
    match sanitizer.redact(text, known) {
        None => assert!(findings.spans.is_empty()),
        Some(once) => {
            let again = sanitizer.redact(&once.text, known);
            assert!(
                once.over_budget || again.is_none(),
                "a second redaction changes something"
            );
        }
    }
    // The structured way in: a key and its value.
    let (key, value) = text.split_at(text.len().min(16));
    let class = sanitizer.key_class(key);
    let _ = sanitizer.value_is_secret(class, value);
});
