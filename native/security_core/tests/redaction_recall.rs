//! How much the sanitizer finds and how little it harms, on generated material whose every value is
//! invented.
//!
//! `cargo run --release --example redaction_report` shows the same figures as a table, with the
//! templates that were missed.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use security_core::sanitizer::KnownSecrets;
use support::corpus::{SEED, corpus};
use support::judge::{judge, redacted, sanitizer};
use support::sample::{Kind, Sample};
use support::{families, innocent, judge::Report, outputs};

fn report() -> Report {
    judge(&sanitizer(), &corpus(SEED))
}

fn assert_recall(report: &Report, kind: Kind, least: f64) {
    let recall = report.total(kind).recall();
    assert!(
        recall >= least,
        "{kind:?}: {recall:.2} % hidden, {least} % asked; missed:{}",
        report.misses_of(kind)
    );
}

#[test]
fn the_corpus_is_as_wide_as_it_claims() {
    assert!(
        families::FAMILIES.len() >= 130,
        "{} families",
        families::FAMILIES.len()
    );
    assert!(
        innocent::tricky(SEED).len() >= 282,
        "{} tricky lines",
        innocent::tricky(SEED).len()
    );
    for sample in corpus(SEED).into_iter().chain(outputs::secrets(SEED)) {
        assert!(!sample.secrets.is_empty(), "{}: no secret", sample.template);
        assert!(
            sample.leak(sample.text.as_bytes()).is_some(),
            "{}: the untouched text must leak: {}",
            sample.template,
            sample.text
        );
    }
}

#[test]
fn the_judge_is_not_fooled() {
    let whole = |text: &str| Sample {
        kind: Kind::Bare,
        group: "judge",
        template: String::new(),
        text: text.to_string(),
        secrets: vec!["Zk3vQ9xL2mT7".to_string()],
    };
    let sample = whole("pw=Zk3vQ9xL2mT7");
    for hidden in [
        "pw=[REDACTED]",
        "pw=Zk3[REDACTED]",
        "[90, 107, 51, 0, 0]",
        "5a6b33",
    ] {
        assert!(sample.leak(hidden.as_bytes()).is_none(), "{hidden}");
    }
    for shown in [
        "pw=Zk3vQ9xL2mT7",
        "pw=[REDACTED]xL2mT7",
        "Zk3v\u{1b}[31mQ9xL",
        "Zk\u{200b}3vQ9",
        "[90, 107, 51, 118, 81, 57]",
        "5a6b 3376 5139",
    ] {
        assert!(sample.leak(shown.as_bytes()).is_some(), "{shown:?}");
    }
}

#[test]
fn secrets_are_hidden() {
    let report = report();
    assert_recall(&report, Kind::Family, 99.0);
    assert_recall(&report, Kind::Beam, 97.0);
    assert_recall(&report, Kind::Bare, 95.0);
    assert_recall(&report, Kind::KeyName, 90.0);
    assert_recall(&report, Kind::Damage, 95.0);
    for ((kind, group), score) in &report.groups {
        // A good average must not hide a family or a context that is not covered at all.
        let least = if *kind == Kind::Family { 90.0 } else { 80.0 };
        assert!(
            score.recall() >= least,
            "{group}: {:.1} % hidden; missed:{}",
            score.recall(),
            report.misses_of(*kind)
        );
    }
}

#[test]
fn json_stays_json() {
    let report = report();
    for ((_, group), score) in &report.groups {
        assert_eq!(
            score.broken, 0,
            "{group}: {} JSON texts of {} were broken",
            score.broken, score.samples
        );
    }
}

#[test]
fn redacting_twice_changes_nothing_more() {
    let sanitizer = sanitizer();
    for sample in corpus(SEED).into_iter().chain(outputs::secrets(SEED)) {
        let once = redacted(&sanitizer, sample.text.as_bytes());
        let twice = redacted(&sanitizer, &once);
        assert_eq!(
            String::from_utf8_lossy(&once),
            String::from_utf8_lossy(&twice),
            "template: {}",
            sample.template
        );
    }
}

#[test]
fn spans_are_ascending_and_inside_the_text() {
    let sanitizer = sanitizer();
    for sample in corpus(SEED).into_iter().chain(outputs::secrets(SEED)) {
        let text = sample.text.as_bytes();
        let mut last = 0;
        for span in &sanitizer.scan(text, &KnownSecrets::empty()).spans {
            assert!(
                last <= span.start && span.start < span.end && span.end <= text.len(),
                "template: {}",
                sample.template
            );
            last = span.end;
        }
    }
}

#[test]
fn tricky_lines_stay() {
    let sanitizer = sanitizer();
    let harmed: Vec<String> = innocent::tricky(SEED)
        .iter()
        .filter_map(|(group, line)| {
            let redacted = sanitizer.redact(line.as_bytes(), &KnownSecrets::empty())?;
            Some(format!(
                "\n  {group}: {line:?}\n    -> {:?}",
                String::from_utf8_lossy(&redacted.text)
            ))
        })
        .collect();
    assert!(
        harmed.is_empty(),
        "{} lines harmed:{}",
        harmed.len(),
        harmed.concat()
    );
}

#[test]
fn ordinary_documents_stay() {
    let sanitizer = sanitizer();
    let documents = innocent::project();
    assert!(documents.len() >= 30, "{} documents", documents.len());
    let harmed: Vec<String> = documents
        .iter()
        .filter_map(|document| {
            let findings = sanitizer.scan(&document.text, &KnownSecrets::empty());
            let first = findings.spans.first()?;
            let line = document.text[..first.start]
                .iter()
                .filter(|b| **b == b'\n')
                .count()
                + 1;
            Some(format!(
                "\n  {}:{line} ({} spans)",
                document.name,
                findings.spans.len()
            ))
        })
        .collect();
    let share = 100.0 * harmed.len() as f64 / documents.len() as f64;
    assert!(
        share <= 2.0,
        "{share:.1} % of {} documents harmed:{}",
        documents.len(),
        harmed.concat()
    );
}
