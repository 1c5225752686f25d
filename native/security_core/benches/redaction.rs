//! What redaction costs: `cargo bench -p security_core --bench redaction`.
//!
//! A plain loop rather than a bench framework, as in the bench of decisions: each line is the best
//! of many runs, since what else the machine does can only add, and there is one dependency less to
//! build.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::time::{Duration, Instant};

use security_core::sanitizer::{KnownSecrets, Sanitizer};
use support::{hostile, judge, speed};

fn main() {
    let sanitizer = judge::sanitizer();
    line("built-in rules, built", None, || {
        black_box(judge::sanitizer());
    });
    for (name, text) in speed::texts() {
        redact(&sanitizer, name, &text);
    }
    for unit in HOSTILE {
        let text = hostile::repeat(unit.as_bytes(), 240_000);
        redact(&sanitizer, &format!("240 kB of {unit:?}"), &text);
    }
}

/// Anchors of which most engines get slow, one of each kind.
const HOSTILE: &[&str] = &[
    "eyJ",
    "ghp_",
    "key=",
    "postgres://a",
    "password: \"",
    "-----BEGIN RSA PRIVATE KEY-----\n",
    "\u{1b}[31m",
    "115, ",
    "Cookie: a=\\",
    "authorization: \\",
    "token=[",
    "password: ",
    "| password | token |\n",
    "{\"name\":\"DB_PASSWORD\",",
];

fn redact(sanitizer: &Sanitizer, name: &str, text: &[u8]) {
    let known = KnownSecrets::empty();
    line(name, Some(text.len()), || {
        black_box(sanitizer.redact(black_box(text), &known));
    });
}

fn line(name: &str, bytes: Option<usize>, mut run: impl FnMut()) {
    let start = Instant::now();
    let mut best = Duration::MAX;
    let mut runs = 0;
    while runs < 5 || (start.elapsed() < Duration::from_millis(300) && runs < 100_000) {
        let once = Instant::now();
        run();
        best = best.min(once.elapsed());
        runs += 1;
    }
    let rate = bytes.map(|bytes| format!("{:>10.0} MB/s", bytes as f64 / best.as_secs_f64() / 1e6));
    println!(
        "{name:<52}{:>12.1} µs{}",
        best.as_secs_f64() * 1e6,
        rate.unwrap_or_default()
    );
}
