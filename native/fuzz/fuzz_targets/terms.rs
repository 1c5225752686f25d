//! Redaction of arbitrary terms: the bytes say what term is built.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use security_core::sanitizer::terms::{Beyond, Budget, Knowledge, Names, Outcome};
use security_core::sanitizer::{KnownSecrets, Sanitizer};

#[path = "../../security_core/tests/support/tree.rs"]
#[allow(dead_code)]
mod tree;

use tree::{Tree, Trees, atom, bytes, chars, improper, list, map, tuple};

const WORDS: &[&str] = &[
    "password",
    "token",
    "name",
    "value",
    "columns",
    "rows",
    "system",
    "__struct__",
    "user",
    "credentials",
    "--secret",
    "winter5508",
    "password=winter5508",
    "nil",
    "Zk3vQ9xL2mT7wR4p",
];

/// Reads a term from bytes; what they say beyond the end is the empty list.
fn read(input: &mut &[u8], depth: usize) -> Tree {
    let Some((&kind, rest)) = input.split_first() else {
        return Tree::Nil;
    };
    *input = rest;
    let word = WORDS[usize::from(kind / 16) % WORDS.len()];
    let many = if depth == 0 {
        0
    } else {
        usize::from(kind / 16) % 5
    };
    match kind % 16 {
        0 | 1 => bytes(word.as_bytes()),
        2 | 3 => atom(word),
        4 => chars(word),
        5 => Tree::Integer(kind.into()),
        6 => Tree::Pid,
        7 => Tree::Float(0.5),
        8 => {
            let (raw, rest) = input.split_at(input.len().min(usize::from(kind / 4)));
            *input = rest;
            bytes(raw)
        }
        9 | 10 => list(elements(input, depth, many)),
        11 => {
            let tail = read(input, 0);
            improper(elements(input, depth, many), tail)
        }
        12 | 13 => tuple(elements(input, depth, many)),
        _ => {
            let mut members: Vec<(Tree, Tree)> = Vec::new();
            for key in elements(input, depth, many) {
                let value = read(input, depth - 1);
                if members.iter().all(|(other, _)| *other != key) {
                    members.push((key, value));
                }
            }
            map(members)
        }
    }
}

fn elements(input: &mut &[u8], depth: usize, many: usize) -> Vec<Tree> {
    (0..many)
        .map(|_| read(input, depth.saturating_sub(1)))
        .collect()
}

fuzz_target!(|input: &[u8]| {
    static KNOWN: OnceLock<KnownSecrets> = OnceLock::new();
    let known = KNOWN.get_or_init(|| KnownSecrets::build([b"Zk3vQ9xL2mT7wR4p".to_vec()]));
    let (trees, names) = (Trees::default(), Names::new());
    let term = read(&mut &input[..], 12);
    let walk = |term: &Tree, nodes| {
        let limit = (
            Budget {
                nodes,
                bytes: 64 * nodes,
            },
            Beyond::Withhold,
        );
        let knowledge = Knowledge {
            secrets: known,
            names: &names,
            memory: None,
        };
        Sanitizer::built_in().redact_term(&trees, term, knowledge, limit)
    };
    if let Outcome::Redacted(once, _) = walk(&term, 1 << 20) {
        assert_eq!(walk(&once, 1 << 20), Outcome::Clean, "{term:?}\n{once:?}");
    }
    walk(&term, 20);
});
