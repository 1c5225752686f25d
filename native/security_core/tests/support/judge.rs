//! Runs the sanitizer over the corpus and keeps score.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use security_core::sanitizer::{Config, KnownSecrets, Sanitizer};

use super::sample::{Kind, Sample};

pub fn sanitizer() -> Sanitizer {
    Sanitizer::new(Config::default()).expect("the built-in rules are valid")
}

/// The text as the caller gets it: redacted, or its own where nothing was found.
pub fn redacted(sanitizer: &Sanitizer, text: &[u8]) -> Vec<u8> {
    match sanitizer.redact(text, &KnownSecrets::empty()) {
        Some(redacted) => redacted.text,
        None => text.to_vec(),
    }
}

#[derive(Default)]
pub struct Score {
    pub samples: usize,
    pub hidden: usize,
    /// Bytes that went although they are no part of a secret.
    pub collateral: usize,
    /// JSON texts that are none any more.
    pub broken: usize,
}

impl Score {
    pub fn recall(&self) -> f64 {
        100.0 * self.hidden as f64 / self.samples.max(1) as f64
    }

    pub fn add(&mut self, other: &Score) {
        self.samples += other.samples;
        self.hidden += other.hidden;
        self.collateral += other.collateral;
        self.broken += other.broken;
    }
}

/// A template of which at least one sample leaked.
pub struct Miss {
    pub kind: Kind,
    pub group: &'static str,
    pub template: String,
    pub count: usize,
    /// What came out of one of them. Values are invented, yet they look real: print this on purpose
    /// only.
    pub output: String,
}

pub struct Report {
    pub groups: BTreeMap<(Kind, &'static str), Score>,
    pub misses: Vec<Miss>,
}

impl Report {
    pub fn total(&self, kind: Kind) -> Score {
        let mut total = Score::default();
        for ((_, _), score) in self.groups.iter().filter(|((k, _), _)| *k == kind) {
            total.add(score);
        }
        total
    }

    /// The first missed templates of a kind, without any secret.
    pub fn misses_of(&self, kind: Kind) -> String {
        let lines = self.misses.iter().filter(|m| m.kind == kind).take(60);
        lines
            .map(|m| {
                format!(
                    "\n  {} × {}: {}",
                    m.count,
                    m.group,
                    m.template.escape_debug()
                )
            })
            .collect()
    }
}

pub fn judge(sanitizer: &Sanitizer, samples: &[Sample]) -> Report {
    let mut report = Report {
        groups: BTreeMap::new(),
        misses: Vec::new(),
    };
    for sample in samples {
        let text = sample.text.as_bytes();
        let known = KnownSecrets::empty();
        // A panic counts as a miss, so that one of them does not hide all other figures.
        let (removed, output) = catch_unwind(AssertUnwindSafe(|| {
            let findings = sanitizer.scan(text, &known);
            let removed: usize = findings
                .spans
                .iter()
                .map(|span| span.end - span.start)
                .sum();
            (removed, redacted(sanitizer, text))
        }))
        .unwrap_or_else(|_| (0, text.to_vec()));
        let score = report
            .groups
            .entry((sample.kind, sample.group))
            .or_default();
        score.samples += 1;
        let secret: usize = sample.secrets.iter().map(String::len).sum();
        score.collateral += removed.saturating_sub(secret);
        if is_json(text) && !is_json(&output) {
            score.broken += 1;
        }
        if sample.leak(&output).is_none() {
            score.hidden += 1;
            continue;
        }
        match report
            .misses
            .iter_mut()
            .find(|m| m.group == sample.group && m.template == sample.template)
        {
            Some(miss) => miss.count += 1,
            None => report.misses.push(Miss {
                kind: sample.kind,
                group: sample.group,
                template: sample.template.clone(),
                count: 1,
                output: String::from_utf8_lossy(&output).into_owned(),
            }),
        }
    }
    report
}

fn is_json(text: &[u8]) -> bool {
    matches!(
        serde_json::from_slice::<serde_json::Value>(text),
        Ok(serde_json::Value::Object(_) | serde_json::Value::Array(_))
    )
}
