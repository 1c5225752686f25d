//! Inputs made to be slow: the work done stays in proportion to the length. Counted in steps, since
//! a clock on a busy machine proves nothing.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use security_core::sanitizer::KnownSecrets;
use support::hostile;
use support::judge::sanitizer;
use support::rng::Rng;

#[test]
fn work_grows_with_the_length_and_no_faster() {
    let sanitizer = sanitizer();
    for (name, text) in hostile::inputs(70_000) {
        let twice = hostile::double(&text);
        let known = KnownSecrets::empty();
        let (once, doubled) = (
            sanitizer.scan(&text, &known).work,
            sanitizer.scan(&twice, &known).work,
        );
        assert!(
            doubled <= once * 5 / 2 + 4096,
            "{name}: {once} steps at {} bytes, {doubled} at twice",
            text.len()
        );
        assert!(
            doubled <= 64 * twice.len() + 4096,
            "{name}: {doubled} steps for {} bytes",
            twice.len()
        );
    }
}

#[test]
fn what_exceeds_the_budget_is_redacted_and_says_so() {
    let sanitizer = sanitizer();
    for (name, text) in hostile::inputs(70_000) {
        let findings = sanitizer.scan(&text, &KnownSecrets::empty());
        assert!(
            !findings.over_budget || !findings.spans.is_empty(),
            "{name}: over budget and let through"
        );
    }
}

#[test]
fn any_bytes_are_survived() {
    let sanitizer = sanitizer();
    let pieces: Vec<Vec<u8>> = hostile::inputs(64)
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    let rng = &mut Rng::new(3);
    for _ in 0..4000 {
        let mut text = Vec::new();
        for _ in 0..rng.range(1, 12) {
            let piece = &pieces[rng.below(pieces.len())];
            text.extend_from_slice(&piece[..rng.below(piece.len() + 1)]);
            if rng.chance(3) {
                text.extend((0..rng.below(6)).map(|_| rng.next() as u8));
            }
        }
        let known = KnownSecrets::empty();
        let mut last = 0;
        for span in &sanitizer.scan(&text, &known).spans {
            assert!(
                last <= span.start && span.start < span.end && span.end <= text.len(),
                "{:?}",
                text.escape_ascii().to_string()
            );
            last = span.end;
        }
        if let Some(once) = sanitizer.redact(&text, &known) {
            let again = sanitizer.redact(&once.text, &known);
            assert!(
                once.over_budget || again.is_none(),
                "redacted again: {}",
                once.text.escape_ascii()
            );
        }
    }
}
