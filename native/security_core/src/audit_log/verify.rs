//! The check of a trail's file, line by line.

use std::fmt;
use std::io::{self, BufRead, Read};

use super::chain::{BrokenKind, Chain, Check};
use super::line::{self, MAX_LINE};
use super::{Digest, Entry};

/// A file, or the beginning of one, that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedTrail {
    /// Entries checked.
    pub entries: u64,
    /// The digest of the last one, or what a first one would be chained to.
    pub head: Digest,
}

/// What stands after the last whole line: what a process that was killed while it wrote leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Torn {
    /// Its length.
    pub bytes: u64,
}

/// A file that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The first line at which it shows, from 1.
    pub line: u64,
    /// The id of the entry that should stand there.
    pub id: u64,
    /// The id that stands there; `None` where the line is not an entry.
    pub found: Option<u64>,
    /// What is wrong, where it is not the order; `None` for a line that is not an entry.
    pub kind: Option<BrokenKind>,
    /// Up to where all is well.
    pub good: VerifiedTrail,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id;
        write!(f, "line {}: ", self.line)?;
        match (self.kind, self.found) {
            (Some(BrokenKind::Sequence), Some(found)) if found > id && found - id == 1 => {
                write!(f, "entry {id} is missing: it was removed or moved")
            }
            (Some(BrokenKind::Sequence), Some(found)) if found > id => {
                let last = found - 1;
                write!(
                    f,
                    "entries {id} to {last} are missing: they were removed or moved"
                )
            }
            (Some(BrokenKind::Sequence), Some(found)) => {
                write!(
                    f,
                    "entry {found} stands where entry {id} should: it was moved or doubled"
                )
            }
            (Some(_), _) => write!(f, "entry {id} was changed, or written with another key"),
            (None, _) => write!(f, "entry {id} was changed: the line is not an entry"),
        }
    }
}

/// What a whole file says, with the line that a writer's end tore; or where it was tampered with.
pub type Verdict = Result<(VerifiedTrail, Option<Torn>), Box<Damage>>;

/// Checks a file from its first entry to its last, with the key that it was written with. The inner
/// error is the system's.
pub fn verify_trail(mut file: impl BufRead, key: &[u8; 32]) -> io::Result<Verdict> {
    let chain = Chain::new(key);
    let mut check = Check::start(chain.first());
    let mut text = Vec::new();
    let mut number = 0;
    loop {
        text.clear();
        let mut part = (&mut file).take(MAX_LINE as u64);
        part.read_until(b'\n', &mut text)?;
        let good = VerifiedTrail {
            entries: number,
            head: check.previous,
        };
        if text.last() != Some(&b'\n') && text.len() < MAX_LINE {
            let torn = (!text.is_empty()).then_some(Torn {
                bytes: text.len() as u64,
            });
            return Ok(Ok((good, torn)));
        }
        number += 1;
        if let Err((found, kind)) = entry(&mut check, &chain, &text) {
            let (line, id) = (number, number);
            return Ok(Err(Box::new(Damage {
                line,
                id,
                found,
                kind,
                good,
            })));
        }
    }
}

/// Whether a line, with its line break or without, is an entry as it is written: what reads a file
/// without its key takes no other one.
pub fn is_entry(line: &[u8]) -> bool {
    line.len() <= MAX_LINE && line::decode(line).is_some()
}

fn entry(
    check: &mut Check,
    chain: &Chain,
    text: &[u8],
) -> Result<(), (Option<u64>, Option<BrokenKind>)> {
    let read = line::decode(text).ok_or((None, None))?;
    let entry = Entry {
        id: read.id,
        timestamp_us: read.timestamp_us,
        content_digest: chain.content(&read.content),
        content: Some(read.content),
        digest: read.digest,
    };
    check
        .entry(chain, &entry)
        .map_err(|broken| (Some(read.id), Some(broken.kind)))
}
