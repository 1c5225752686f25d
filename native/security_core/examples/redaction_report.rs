//! One table of what the sanitizer finds, harms and costs:
//!
//! ```text
//! cargo run --release -p security_core --example redaction_report [-- --outputs] [--list-misses] [--show-output]
//! ```
//!
//! `--outputs` stops after the programs' outputs; `REDACTION_HELD_OUT=folder` adds layouts that are
//! not in the project. `--list-misses` prints the templates that were missed, without any secret;
//! `--show-output` adds what came out (values are invented, but look real).
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use regex::bytes::Regex;
use security_core::sanitizer::{KnownSecrets, Sanitizer};
use support::corpus::{SEED, corpus};
use support::innocent::{self, Document};
use support::judge::{Report, judge, redacted, sanitizer};
use support::rng::Rng;
use support::sample::{Kind, Sample};
use support::{families, hostile, json, outputs, speed};

fn main() {
    let wants = |flag: &str| std::env::args().any(|argument| argument == flag);
    let start = Instant::now();
    let sanitizer = sanitizer();
    println!("built in {:.1} ms\n", millis(start.elapsed()));
    let misses = wants("--list-misses") || wants("--show-output");
    let show = wants("--show-output");
    printed(&sanitizer, misses, show);
    json_documents(&sanitizer);
    if wants("--outputs") {
        return;
    }
    let report = judge(&sanitizer, &corpus(SEED));
    recall(&report);
    damage(&sanitizer);
    throughput(&sanitizer);
    hostile_inputs(&sanitizer);
    if misses {
        list_misses(&report, show);
    }
}

fn list_misses(report: &Report, show: bool) {
    println!("\nMissed templates");
    for miss in &report.misses {
        println!(
            "  {} × {:?}, {}: {}",
            miss.count,
            miss.kind,
            miss.group,
            miss.template.escape_debug()
        );
        if show {
            println!("      {}", miss.output.escape_debug());
        }
    }
}

/// What programs print: what was found in it, and what was harmed.
fn printed(sanitizer: &Sanitizer, misses: bool, show: bool) {
    let sets = [
        ("", Some(outputs::secrets(SEED))),
        ("unseen: ", outputs::unseen_secrets(SEED)),
    ];
    for (set, samples) in sets {
        let Some(samples) = samples else { continue };
        let report = judge(sanitizer, &samples);
        let total = report.total(Kind::Output);
        println!(
            "{:<48}{:>9}{:>10}{:>12}{:>13}{:>11}",
            format!("{set}outputs"),
            "samples",
            "hidden %",
            "collateral",
            "broken JSON",
            "unsettled"
        );
        let groups = report
            .groups
            .iter()
            .map(|((_, group), score)| (*group, score));
        for (name, score) in groups.chain([("all outputs", &total)]) {
            let here = |s: &&Sample| s.group == name || name == "all outputs";
            let restless = |s: &&Sample| unsettled(sanitizer, s.text.as_bytes());
            println!(
                "{:<48}{:>9}{:>10.1}{:>12.1}{:>13}{:>11}",
                format!("{set}{name}"),
                score.samples,
                score.recall(),
                score.collateral as f64 / score.samples.max(1) as f64,
                score.broken,
                samples.iter().filter(here).filter(restless).count()
            );
        }
        if misses {
            list_misses(&report, show);
        }
        println!();
    }
    let sets = [
        ("", Some(outputs::innocent(SEED))),
        ("unseen: ", outputs::unseen_innocent(SEED)),
    ];
    for (set, texts) in sets {
        let texts = texts.unwrap_or_default();
        harmed_outputs(sanitizer, set, &texts, misses);
    }
}

fn unsettled(sanitizer: &Sanitizer, text: &[u8]) -> bool {
    let once = redacted(sanitizer, text);
    redacted(sanitizer, &once) != once
}

fn harmed_outputs(sanitizer: &Sanitizer, set: &str, texts: &[(String, String)], list: bool) {
    let mut kinds: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut harmed = Vec::new();
    for (kind, text) in texts {
        let count = kinds.entry(kind).or_default();
        count.0 += 1;
        let left = redacted(sanitizer, text.as_bytes());
        if left != text.as_bytes() {
            count.1 += 1;
            harmed.push((kind, text, String::from_utf8_lossy(&left).into_owned()));
        }
    }
    if !texts.is_empty() {
        println!(
            "{:<48}{:>9}{:>10}",
            format!("{set}innocent outputs"),
            "texts",
            "harmed"
        );
        for (kind, (texts, harmed)) in kinds.iter().filter(|(_, (_, harmed))| *harmed > 0) {
            println!("{:<48}{texts:>9}{harmed:>10}", format!("{set}{kind}"));
        }
        println!(
            "{:<48}{:>9}{:>10}\n",
            format!("{set}all"),
            texts.len(),
            harmed.len()
        );
    }
    for (kind, text, left) in harmed.iter().filter(|_| list) {
        println!("  harmed, {kind}: {}", text.escape_debug());
        println!("      {}", left.escape_debug());
    }
}

/// Whether documents stay documents, with all their members.
fn json_documents(sanitizer: &Sanitizer) {
    const DOCUMENTS: usize = 3000;
    let rng = &mut Rng::named(SEED, "documents");
    let mut broken = Vec::new();
    for _ in 0..DOCUMENTS {
        let document = json::document(rng);
        let left = redacted(sanitizer, document.as_bytes());
        broken.extend(json::harm(&document, &left).map(|harm| (harm, document)));
    }
    println!(
        "JSON documents: {DOCUMENTS}, {} broken or without a member",
        broken.len()
    );
    for (harm, document) in broken.iter().take(5) {
        println!("  {harm}: {}", document.escape_debug());
    }
    println!();
}

fn recall(report: &Report) {
    println!(
        "{:<48}{:>9}{:>10}{:>12}{:>13}",
        "recall", "samples", "hidden %", "collateral", "broken JSON"
    );
    for (kind, title) in [
        (Kind::Family, "token families"),
        (Kind::Beam, "BEAM layouts"),
        (Kind::Bare, "recognisable bare"),
        (Kind::KeyName, "needing a key name"),
        (Kind::Damage, "damaged layout"),
    ] {
        let total = report.total(kind);
        let line = |name: &str, score: &support::judge::Score| {
            println!(
                "{name:<48}{:>9}{:>10.1}{:>12.1}{:>13}",
                score.samples,
                score.recall(),
                score.collateral as f64 / score.samples.max(1) as f64,
                score.broken
            );
        };
        line(title, &total);
        let mut whole = 0;
        for ((_, group), score) in report.groups.iter().filter(|((k, _), _)| *k == kind) {
            // A hundred and sixty families at 100 % would bury the others.
            if kind == Kind::Family && score.hidden == score.samples {
                whole += 1;
            } else {
                line(&format!("  {group}"), score);
            }
        }
        if kind == Kind::Family {
            println!(
                "  {whole} of {} families at 100 %",
                families::FAMILIES.len()
            );
        }
    }
    println!(
        "(collateral: bytes redacted beyond the secret, a sample; public prefixes of tokens are among them)\n"
    );
}

fn damage(sanitizer: &Sanitizer) {
    println!("{:<48}{:>9}{:>10}{:>12}", "damage", "texts", "harmed", "%");
    let mut harmed: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut count = |source: String, text: &[u8]| {
        let entry = harmed.entry(source).or_default();
        entry.0 += 1;
        entry.1 += usize::from(
            !sanitizer
                .scan(text, &KnownSecrets::empty())
                .spans
                .is_empty(),
        );
    };
    for (group, line) in innocent::tricky(SEED) {
        count(format!("tricky: {group}"), line.as_bytes());
    }
    for Document { source, text, .. } in
        innocent::project().into_iter().chain(innocent::installed())
    {
        count(source.to_string(), &text);
    }
    for (source, (texts, harmed)) in &harmed {
        println!(
            "{source:<48}{texts:>9}{harmed:>10}{:>12.2}",
            100.0 * *harmed as f64 / *texts as f64
        );
    }
    println!();
}

/// A plain redactor as one would write it first: one regex after another over the whole text.
fn plain() -> Vec<Regex> {
    [
        r#"(?i)(password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)["']?\s*(=>|[:=])\s*["']?[^\s"',}]+"#,
        r"\bsk-[A-Za-z0-9_-]{20,}",
        r"\bgh[pousr]_[A-Za-z0-9]{36,}",
        r"\bgithub_pat_[A-Za-z0-9_]{22,}",
        r"\bglpat-[A-Za-z0-9_-]{20,}",
        r"\b(AKIA|ASIA)[A-Z2-7]{16}\b",
        r"\bxox[abcdeprs]-[A-Za-z0-9-]{10,}",
        r"\b[sr]k_(live|test)_[A-Za-z0-9]{16,}",
        r"\bAIza[A-Za-z0-9_-]{35}",
        r"\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+",
        r"\bnpm_[A-Za-z0-9]{36}",
        r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",
        r"(?i)bearer\s+[A-Za-z0-9._~+/-]+=*",
        r"[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s@]+@",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    ]
    .iter()
    .map(|pattern| Regex::new(pattern).expect("the baseline's patterns are valid"))
    .collect()
}

fn throughput(sanitizer: &Sanitizer) {
    let plain = plain();
    println!(
        "{:<48}{:>12}{:>15}{:>9}",
        "throughput", "MB/s", "regexes, MB/s", "ratio"
    );
    for (name, text) in speed::texts() {
        let known = KnownSecrets::empty();
        let ours = best(|| {
            black_box(sanitizer.redact(black_box(&text), &known));
        });
        let theirs = best(|| {
            for regex in &plain {
                black_box(regex.find_iter(black_box(&text)).count());
            }
        });
        let rate = |time: Duration| text.len() as f64 / time.as_secs_f64() / 1e6;
        println!(
            "{name:<48}{:>12.0}{:>15.1}{:>9.1}",
            rate(ours),
            rate(theirs),
            rate(ours) / rate(theirs)
        );
        if text.len() < 1000 {
            println!("{:<48}{:>12.0} ns", "  a call", ours.as_nanos() as f64);
        }
    }
    println!();
}

fn hostile_inputs(sanitizer: &Sanitizer) {
    let mut times: Vec<(f64, f64, f64, String)> = hostile::inputs(240_000)
        .into_iter()
        .map(|(name, text)| {
            let time = best(|| {
                black_box(sanitizer.redact(black_box(&text), &KnownSecrets::empty()));
            });
            let twice = hostile::double(&text);
            let more = best(|| {
                black_box(sanitizer.redact(black_box(&twice), &KnownSecrets::empty()));
            });
            let growth = more.as_secs_f64() / time.as_secs_f64();
            let each = time.as_secs_f64() * 1e9 / text.len() as f64;
            (millis(time), growth, each, name)
        })
        .collect();
    times.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!(
        "240 kB of repeated anchors: {} inputs, the slowest",
        times.len()
    );
    for (time, growth, each, name) in times.iter().take(12) {
        println!("  {time:>8.2} ms  {each:>6.1} µs/kB  × {growth:.1} at twice the length  {name}");
    }
    let worst = times
        .iter()
        .map(|(_, growth, ..)| *growth)
        .fold(0.0, f64::max);
    println!("  largest growth at twice the length: × {worst:.1}");
}

/// The fastest of some runs: what the machine's other work adds is not the code's.
fn best(mut run: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    let start = Instant::now();
    let mut runs = 0;
    while runs < 7 || (start.elapsed() < Duration::from_millis(150) && runs < 10_000) {
        let once = Instant::now();
        run();
        best = best.min(once.elapsed());
        runs += 1;
    }
    best
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
