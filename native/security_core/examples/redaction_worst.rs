//! Searches for the input on which redaction is slowest:
//!
//! ```text
//! cargo run --release -p security_core --example redaction_worst [-- SECONDS]
//! ```
//!
//! Every piece that a rule hangs on, every family's prefix, and every opening that a detector reads
//! on from is repeated. The openings and the slowest of the others are repeated in turns with and
//! behind one another. Then the slowest of all are varied for the given time (60 seconds). The table
//! has their cost at 64 and at 256 kB, beside that of clean text in the same run.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use security_core::sanitizer::{KnownSecrets, Sanitizer, pieces};
use support::rng::Rng;
use support::{hostile, judge, speed};

/// Most inputs are quick: a short one tells so, and the slow ones are measured again.
const SHORT: usize = 8 * 1024;
/// So many of the slowest are kept, and so many printed.
const KEPT: usize = 100;
const PRINTED: usize = 30;
/// So many of the slowest pieces are paired.
const PAIRED: usize = 100;

/// What this thread has had of a processor: others that wait for one don't count.
fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|n| n.parse().ok());
    let mut search = Search {
        sanitizer: judge::sanitizer(),
        slowest: Vec::new(),
        tried: 0,
    };
    let units = units();
    println!("{} pieces and openings", units.len());
    for a in &units {
        search.attempt(Input::repeated(&[a]));
    }
    let slow = search.slowest.iter().take(PAIRED);
    let mut paired: Vec<Vec<u8>> = slow.map(|(_, input)| input.unit.clone()).collect();
    paired.extend(
        hostile::openings()
            .iter()
            .map(|opening| opening.as_bytes().to_vec()),
    );
    paired.sort();
    paired.dedup();
    for a in &paired {
        for b in &paired {
            search.attempt(Input::repeated(&[a, b]));
            search.attempt(Input::behind(a, b));
        }
    }
    let until = Instant::now() + Duration::from_secs(seconds.unwrap_or(60));
    search.vary(&units, until);
    search.print();
}

/// What inputs are made of.
fn units() -> Vec<Vec<u8>> {
    let mut units = pieces();
    units.extend(hostile::units().into_iter().map(String::into_bytes));
    units.sort();
    units.dedup();
    units
}

/// A beginning, and what is repeated behind it.
#[derive(Clone, PartialEq)]
struct Input {
    opening: Vec<u8>,
    unit: Vec<u8>,
}

impl Input {
    fn repeated(units: &[&[u8]]) -> Input {
        Input {
            opening: Vec::new(),
            unit: units.concat(),
        }
    }

    fn behind(opening: &[u8], unit: &[u8]) -> Input {
        Input {
            opening: opening.to_vec(),
            unit: unit.to_vec(),
        }
    }

    fn text(&self, size: usize) -> Vec<u8> {
        let mut text = self.opening.clone();
        text.extend(hostile::repeat(
            &self.unit,
            size.saturating_sub(text.len()).max(self.unit.len()),
        ));
        text
    }
}

impl std::fmt::Display for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.opening.is_empty() {
            write!(f, "{} then ", self.opening.escape_ascii())?;
        }
        write!(f, "{}", self.unit.escape_ascii())
    }
}

struct Search {
    sanitizer: Sanitizer,
    /// In descending order of the cost of a byte, in nanoseconds.
    slowest: Vec<(f64, Input)>,
    tried: usize,
}

impl Search {
    fn attempt(&mut self, input: Input) -> bool {
        self.tried += 1;
        let text = input.text(SHORT);
        let limit = match self.slowest.len() {
            KEPT.. => self.slowest[KEPT - 1].0,
            _ => 0.0,
        };
        if self.cost(&text, 1) <= limit {
            return false;
        }
        // What else the machine does only adds.
        let cost = self.cost(&text, 3);
        if cost <= limit || self.slowest.iter().any(|(_, known)| *known == input) {
            return false;
        }
        let at = self.slowest.partition_point(|(known, _)| *known > cost);
        self.slowest.insert(at, (cost, input));
        self.slowest.truncate(KEPT);
        true
    }

    /// The best of some runs, in nanoseconds a byte, which is microseconds a kB.
    fn cost(&self, text: &[u8], runs: usize) -> f64 {
        let known = KnownSecrets::empty();
        let once = |_| {
            let start = processor_time();
            black_box(self.sanitizer.redact(black_box(text), &known));
            processor_time() - start
        };
        let best = (0..runs).map(once).min().unwrap_or_default();
        best.as_nanos() as f64 / text.len() as f64
    }

    fn vary(&mut self, units: &[Vec<u8>], until: Instant) {
        let rng = &mut Rng::new(41);
        while Instant::now() < until {
            let near = rng.below(self.slowest.len().min(60));
            let mut input = self.slowest[near].1.clone();
            let other = &units[rng.below(units.len())];
            match rng.below(6) {
                0 => input.unit.extend_from_slice(other),
                1 => input
                    .unit
                    .splice(0..0, other.iter().copied())
                    .for_each(drop),
                2 => input.opening.extend_from_slice(other),
                3 => {
                    let at = rng.below(input.unit.len());
                    input
                        .unit
                        .splice(at..at, other.iter().copied())
                        .for_each(drop);
                }
                4 if input.unit.len() > 1 => drop(input.unit.remove(rng.below(input.unit.len()))),
                _ => {
                    let length = 1 << rng.below(7);
                    let more = hostile::repeat(other, length.max(other.len()));
                    input.unit.extend(more);
                }
            }
            if input.unit.len() <= 2048 {
                self.attempt(input);
            }
        }
    }

    fn print(&self) {
        let clean = speed::clean(256 * 1024);
        println!("{} inputs; µs a kB at 64 kB, at 256 kB\n", self.tried);
        println!(
            "{:>8.1}{:>8.1}  clean text",
            self.cost(&clean[..65536], 20),
            self.cost(&clean, 20)
        );
        let cost = |input: &Input, size: usize| self.cost(&input.text(size), 3);
        let mut rows: Vec<(f64, f64, &Input)> = (self.slowest.iter())
            .map(|(_, input)| (cost(input, 64 * 1024), cost(input, 256 * 1024), input))
            .collect();
        rows.sort_by(|a, b| b.1.max(b.0).total_cmp(&a.1.max(a.0)));
        for (small, large, input) in rows.iter().take(PRINTED) {
            println!("{small:>8.1}{large:>8.1}  {input}");
        }
    }
}
