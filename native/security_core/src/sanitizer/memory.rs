//! What a session's outputs gave away, for its later ones: a value that stood under its name once
//! is a secret where it stands without one.

use super::shape::looks_random;
use super::{Findings, KnownSecrets};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// A bounded set of values. They can be searched for, never read back; the oldest go first.
pub struct Memory {
    capacity: usize,
    kept: Mutex<Kept>,
}

struct Kept {
    values: VecDeque<Vec<u8>>,
    known: Arc<KnownSecrets>,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory")
            .field("capacity", &self.capacity)
            .field("values", &self.kept.lock().values.len())
            .finish()
    }
}

/// Longer values are no passwords and no tokens.
const LENGTHS: std::ops::RangeInclusive<usize> = 8..=512;

/// Rules that find a value by its name or place. What is found by its form is found again anyway.
const BY_NAME: &[&str] = &[
    "bearer",
    "command_line",
    "cookie",
    "database_url",
    "field",
    "password",
    "secret",
    "sql_password",
    "url_credentials",
    "url_query",
];

impl Memory {
    /// Keeps at most `capacity` values.
    pub fn new(capacity: usize) -> Memory {
        Memory {
            capacity,
            kept: Mutex::new(Kept {
                values: VecDeque::new(),
                known: Arc::new(KnownSecrets::empty()),
            }),
        }
    }

    /// What is remembered, to be searched for.
    pub fn known(&self) -> Arc<KnownSecrets> {
        Arc::clone(&self.kept.lock().known)
    }

    /// Takes in what was found in `text` by its name, if it looks random. Says how many values are
    /// new.
    pub fn learn(&self, text: &[u8], findings: &Findings<'_>) -> usize {
        if findings.over_budget {
            return 0;
        }
        let values = findings
            .spans
            .iter()
            .filter(|span| BY_NAME.contains(&span.rule))
            .map(|span| text[span.start..span.end].trim_ascii())
            .filter(|value| LENGTHS.contains(&value.len()) && looks_random(value, false));
        let mut kept = self.kept.lock();
        let mut new = 0;
        for value in values {
            if self.capacity > 0 && !kept.values.iter().any(|known| known == value) {
                if kept.values.len() == self.capacity {
                    kept.values.pop_front();
                }
                kept.values.push_back(value.to_vec());
                new += 1;
            }
        }
        if new > 0 {
            kept.known = Arc::new(KnownSecrets::build(kept.values.iter().cloned()));
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sanitizer;
    use super::*;

    fn learned(memory: &Memory, text: &str) -> usize {
        let sanitizer = Sanitizer::built_in();
        let findings = sanitizer.scan(text.as_bytes(), &memory.known());
        memory.learn(text.as_bytes(), &findings)
    }

    #[test]
    fn what_stood_under_its_name_is_found_without_it() {
        let memory = Memory::new(8);
        assert_eq!(learned(&memory, "api_token: \"x7Kp2mQ9vL4tZw\""), 1);
        let later = b"got x7Kp2mQ9vL4tZw back";
        let redacted = Sanitizer::built_in().redact(later, &memory.known());
        assert_eq!(
            redacted.map(|r| r.text),
            Some(b"got [REDACTED] back".to_vec())
        );
        assert_eq!(learned(&memory, "api_token: \"x7Kp2mQ9vL4tZw\""), 0);
    }

    #[test]
    fn words_are_not_remembered_and_the_oldest_go() {
        let memory = Memory::new(2);
        assert_eq!(learned(&memory, "password: \"postgres\""), 0);
        for token in ["x7Kp2mQ9vL4tZw", "b3Nc8Rw5Yt1Hs6", "q9Zx4Vm7Kd2Lp8"] {
            assert_eq!(learned(&memory, &format!("api_token: \"{token}\"")), 1);
        }
        assert_eq!(memory.known().len(), 2);
        assert!(!format!("{memory:?}").contains("b3Nc8"));
    }
}
