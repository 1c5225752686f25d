//! The whole corpus of secrets: every family, context, BEAM layout and damage, several times over.

use super::rng::Rng;
use super::sample::{Kind, Sample};
use super::{beam, contexts, families, pem};

/// One seed for tests and reports, so that both speak of the same samples.
pub const SEED: u64 = 20_261_101;

/// Samples of each template.
const ROUNDS: usize = 8;

pub fn corpus(seed: u64) -> Vec<Sample> {
    let mut samples = Vec::new();
    for family in families::FAMILIES {
        let rng = &mut Rng::named(seed, family.name);
        // A family with few contexts of its own gets as many samples as one with many carriers.
        let rounds = if matches!(family.place, families::Place::Context(_)) {
            ROUNDS
        } else {
            2
        };
        for _ in 0..rounds {
            for template in family.templates(rng) {
                samples.push(Sample::fill(Kind::Family, family.name, &template, rng));
            }
        }
    }
    let mut fill = |kind, group: &'static str, templates: &[&str]| {
        let rng = &mut Rng::named(seed, group);
        for template in templates {
            for _ in 0..ROUNDS {
                samples.push(Sample::fill(kind, group, template, rng));
            }
        }
    };
    for (group, templates) in beam::LAYOUTS {
        fill(Kind::Beam, group, templates);
    }
    for (kind, group, templates) in contexts::CONTEXTS {
        fill(*kind, group, templates);
    }
    for (group, templates) in contexts::DAMAGED {
        fill(Kind::Damage, group, templates);
    }
    for layout in pem::LAYOUTS {
        let rng = &mut Rng::named(seed, layout);
        for _ in 0..ROUNDS {
            samples.push(pem::sample(layout, rng));
        }
    }
    samples.extend(wrapped(seed));
    samples.extend(dumped(seed));
    samples
}

/// Lines broken at the terminal's edge, in the middle of a token with a known prefix.
fn wrapped(seed: u64) -> Vec<Sample> {
    let rng = &mut Rng::named(seed, "wrapped");
    let mut samples = Vec::new();
    for width in [80, 100, 120, 132] {
        for _ in 0..ROUNDS * 4 {
            let mut sample = Sample::fill(Kind::Damage, "wrapped at the edge", "§any§", rng);
            let secret = sample.secrets[0].clone();
            let before = sample.text.len() - secret.len();
            // The break comes where at least 12 characters of the body stand on the first line.
            let lead = width - before - 12 - rng.below(secret.len().min(width - before) - 12);
            let words = "the quick build printed a long line about nothing at all and then went on with it, as builds do when nobody asks, until here: ";
            let mut line: String = words.chars().cycle().take(lead.saturating_sub(1)).collect();
            line.push(' ');
            let text = format!("{line}{} after\n", sample.text);
            let lines: Vec<String> = text
                .trim_end()
                .as_bytes()
                .chunks(width)
                .map(|l| String::from_utf8_lossy(l).into_owned())
                .collect();
            let start = line.len() + before;
            let end = start + secret.len();
            sample.secrets = (0..lines.len())
                .filter_map(|i| {
                    let (from, to) = (start.max(i * width), end.min((i + 1) * width));
                    (to >= from + 4).then(|| text[from..to].to_string())
                })
                .collect();
            sample.text = lines.join("\n") + "\n";
            sample.template = format!("at column {width}");
            samples.push(sample);
        }
    }
    samples
}

/// A dump as `xxd` prints it: offset, hex groups, text column.
fn dumped(seed: u64) -> Vec<Sample> {
    let rng = &mut Rng::named(seed, "dumped");
    (0..ROUNDS * 2)
        .map(|_| {
            let mut sample = Sample::fill(Kind::Damage, "hex dump", "key §any§ end", rng);
            sample.text = sample
                .text
                .as_bytes()
                .chunks(16)
                .enumerate()
                .map(|(i, row)| {
                    let hex: String = row
                        .chunks(2)
                        .map(|pair| {
                            pair.iter().map(|b| format!("{b:02x}")).collect::<String>() + " "
                        })
                        .collect();
                    format!(
                        "{:08x}: {hex:<40} {}\n",
                        i * 16,
                        String::from_utf8_lossy(row)
                    )
                })
                .collect();
            sample.template = "xxd".to_string();
            sample
        })
        .collect()
}
