//! What programs print, by kind of program: layouts taken from real runs (psql, mysql, sqlite3,
//! redis-cli, curl, git, terraform, kubectl, OTP's reports, ExUnit), with fresh values. And what
//! the same programs print without a secret.
//!
//! The files hold one layout after another, `%%%` between them, under headings `### kind`;
//! placeholders are those of [`super::sample`]. A folder with more of them, unseen by who writes
//! rules, is read where `REDACTION_HELD_OUT` names one.

use std::path::PathBuf;

use super::rng::Rng;
use super::sample::{self, Kind, Sample};

const SECRETS: &str = include_str!("outputs/secrets.txt");
const INNOCENT: &str = include_str!("outputs/innocent.txt");

/// Samples of each layout: values differ in strength and script.
const ROUNDS: usize = 6;

/// The layouts of one file by kind.
fn layouts(file: &str) -> Vec<(String, String)> {
    let mut layouts = Vec::new();
    for part in file.split("### ").skip(1) {
        let (kind, body) = part.split_once('\n').unwrap_or((part, ""));
        for layout in body.split("\n%%%\n") {
            let layout = layout.strip_suffix('\n').unwrap_or(layout);
            layouts.push((kind.to_string(), layout.to_string()));
        }
    }
    layouts
}

fn held_out(name: &str) -> Option<String> {
    let folder = PathBuf::from(std::env::var_os("REDACTION_HELD_OUT")?);
    Some(std::fs::read_to_string(folder.join(name)).expect("a file of layouts"))
}

fn samples(file: &str, seed: u64) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (kind, layout) in layouts(file) {
        // Lives as long as the report that speaks of it: to the end of the program.
        let kind: &'static str = kind.leak();
        let rng = &mut Rng::named(seed, &layout);
        for _ in 0..ROUNDS {
            samples.push(Sample::fill(Kind::Output, kind, &layout, rng));
        }
    }
    samples
}

/// Output with secrets.
pub fn secrets(seed: u64) -> Vec<Sample> {
    samples(SECRETS, seed)
}

/// Output with secrets in layouts that are not part of the project, if there are any.
pub fn unseen_secrets(seed: u64) -> Option<Vec<Sample>> {
    held_out("secrets.txt").map(|file| samples(&file, seed))
}

fn innocents(file: &str, seed: u64) -> Vec<(String, String)> {
    let filled = layouts(file).into_iter().map(|(kind, layout)| {
        let rng = &mut Rng::named(seed, &layout);
        let text = sample::filler(&layout, rng);
        (kind, text)
    });
    filled.collect()
}

/// Output without secrets, by kind.
pub fn innocent(seed: u64) -> Vec<(String, String)> {
    innocents(INNOCENT, seed)
}

/// The same of the layouts that are not part of the project.
pub fn unseen_innocent(seed: u64) -> Option<Vec<(String, String)>> {
    held_out("innocent.txt").map(|file| innocents(&file, seed))
}
