//! The command policy against its vectors, generated lines, and real folders.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use security_core::command_policy::{CommandPolicy, Place, Word};
use serde::Deserialize;

#[derive(Deserialize)]
struct Vector {
    #[serde(default)]
    line: String,
    /// A long line: the prefix, then the unit so many times.
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    times: usize,
    cwd: String,
    allow: bool,
    kind: Option<String>,
    mix: Option<String>,
    argv: Option<Vec<Vec<String>>>,
}

impl Vector {
    fn line(&self) -> String {
        format!(
            "{}{}{}",
            self.line,
            self.prefix,
            self.unit.repeat(self.times)
        )
    }
}

fn vectors() -> Vec<Vector> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../test/fixtures/policy/command_policy.json"
    );
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn every_vector_is_decided_as_written() {
    let policy = CommandPolicy::new();
    let mut wrong = Vec::new();
    for vector in vectors() {
        let line = vector.line();
        let place = Place {
            root: Some("/proj"),
            cwd: &vector.cwd,
        };
        let got = policy.check(&line, place);
        let shown: String = line.chars().take(80).collect();
        match got {
            Ok(plan) => {
                let argv: Vec<Vec<String>> = plan
                    .steps
                    .iter()
                    .flat_map(|step| &step.commands)
                    .map(|command| {
                        command
                            .argv
                            .iter()
                            .map(|word| Word::text(word).to_owned())
                            .collect()
                    })
                    .collect();
                if !vector.allow || vector.argv.is_some_and(|want| want != argv) {
                    wrong.push(format!(
                        "{shown:?}: expected {:?}, got {argv:?}",
                        vector.kind
                    ));
                }
            }
            Err(denial) => {
                let kind = denial.kind.as_str();
                let mix = denial.mix.as_ref().map(|mix| mix.kind.as_str().to_owned());
                if vector.allow
                    || vector.kind.as_deref() != Some(kind)
                    || vector.mix.is_some() && vector.mix != mix
                {
                    wrong.push(format!(
                        "{shown:?}: expected {:?} {:?}, got {kind} {mix:?} at {:?}",
                        vector.kind,
                        vector.mix,
                        denial
                            .argument
                            .map(|a| a.chars().take(40).collect::<String>())
                    ));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
