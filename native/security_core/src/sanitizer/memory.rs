//! What a session's outputs gave away, for its later ones: a value that stood under its name once
//! is a secret where it stands without one.

use super::shape::looks_random;
use super::{Findings, KnownSecrets};
use crate::clock::Clock;
use crate::word_list::WordList;

use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

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
#[rustfmt::skip]
static BY_NAME: WordList = WordList::new(&[
    "bearer", "command_line", "cookie", "database_url", "field", "password", "secret",
    "sql_password", "url_credentials", "url_query",
]);

/// The values of `text` that its findings gave away by their names, and that can be looked for
/// anywhere since they look random.
pub(crate) fn told<'t>(text: &'t [u8], findings: &Findings<'_>) -> impl Iterator<Item = &'t [u8]> {
    let spans = match findings.over_budget {
        true => &[][..],
        false => &findings.spans,
    };
    let named = spans.iter().filter(|span| BY_NAME.contains(span.rule));
    named.filter_map(|span| worth(&text[span.start..span.end]))
}

/// A value without the blanks round it, if it is one to be remembered.
pub(crate) fn worth(value: &[u8]) -> Option<&[u8]> {
    let value = value.trim_ascii();
    (LENGTHS.contains(&value.len()) && looks_random(value, false)).then_some(value)
}

impl Memory {
    /// Keeps at most `capacity` values of 512 bytes and less.
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
        self.learn_all(told(text, findings))
    }

    /// Are there values among these that it does not hold?
    pub(crate) fn is_news(&self, values: &[Vec<u8>]) -> bool {
        let kept = self.kept.lock();
        self.capacity > 0 && values.iter().any(|value| !kept.values.contains(value))
    }

    pub(crate) fn learn_all<'v>(&self, values: impl IntoIterator<Item = &'v [u8]>) -> usize {
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

/// The memories of all sessions. Each is looked at in the calls of its own session only.
pub struct Memories {
    limits: MemoryLimits,
    clock: Arc<dyn Clock>,
    sessions: Mutex<HashMap<Box<[u8]>, Session>>,
}

/// How much is remembered.
#[derive(Debug, Clone, Copy)]
pub struct MemoryLimits {
    /// Sessions; the one that was not used for longest goes first.
    pub sessions: usize,
    /// Values of a session.
    pub values: usize,
    /// How long a session is remembered without a call.
    pub idle: Duration,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        MemoryLimits {
            sessions: 512,
            values: 64,
            idle: Duration::from_secs(3600),
        }
    }
}

struct Session {
    memory: Arc<Memory>,
    used_ns: u64,
}

impl fmt::Debug for Memories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memories")
            .field("limits", &self.limits)
            .field("sessions", &self.sessions.lock().len())
            .finish_non_exhaustive()
    }
}

/// Longer names of sessions have no memory: a caller's mistake must not fill this one.
const MAX_NAME: usize = 1024;

impl Memories {
    /// Remembers nothing yet.
    pub fn new(limits: MemoryLimits, clock: Arc<dyn Clock>) -> Memories {
        Memories {
            limits,
            clock,
            sessions: Mutex::new(HashMap::new()),
        }
    }

    /// What is remembered of a session, if anything is.
    pub fn of(&self, session: &[u8]) -> Option<Arc<Memory>> {
        let mut sessions = self.sessions.lock();
        let now = self.clock.monotonic_ns();
        let found = sessions.get_mut(session)?;
        if self.is_over(found, now) {
            sessions.remove(session);
            return None;
        }
        found.used_ns = now;
        Some(Arc::clone(&found.memory))
    }

    /// Calls `learn` with the session's memory, which begins here if there is none. One that is
    /// still empty afterwards is not kept.
    pub fn learning<R>(&self, session: &[u8], learn: impl FnOnce(&Memory) -> R) -> R {
        let memory = self.open(session);
        let result = learn(&memory);
        let mut sessions = self.sessions.lock();
        // The table's and this one: no other call is about to put something into it.
        if Arc::strong_count(&memory) == 2
            && memory.known().is_empty()
            && sessions
                .get(session)
                .is_some_and(|s| Arc::ptr_eq(&s.memory, &memory))
        {
            sessions.remove(session);
        }
        result
    }

    fn open(&self, session: &[u8]) -> Arc<Memory> {
        if let Some(memory) = self.of(session) {
            return memory;
        }
        let memory = Arc::new(Memory::new(self.limits.values));
        if session.len() > MAX_NAME || self.limits.sessions == 0 {
            return memory;
        }
        let mut sessions = self.sessions.lock();
        if sessions.len() >= self.limits.sessions {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.used_ns);
            if let Some(name) = oldest.map(|(name, _)| name.clone()) {
                sessions.remove(&name);
            }
        }
        let used_ns = self.clock.monotonic_ns();
        // Another call of the session may have opened it in between.
        let session = sessions
            .entry(session.into())
            .or_insert(Session { memory, used_ns });
        Arc::clone(&session.memory)
    }

    /// The session has ended.
    pub fn forget(&self, session: &[u8]) {
        self.sessions.lock().remove(session);
    }

    /// Gives back the memory of sessions that were idle for too long.
    pub fn expire(&self) {
        let now = self.clock.monotonic_ns();
        self.sessions
            .lock()
            .retain(|_, session| !self.is_over(session, now));
    }

    fn is_over(&self, session: &Session, now: u64) -> bool {
        let idle = Duration::from_nanos(now.saturating_sub(session.used_ns));
        idle >= self.limits.idle
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sanitizer;
    use super::*;
    use crate::clock::ManualClock;

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
    fn what_was_found_by_its_name_is_found_in_other_letters() {
        let memory = Memory::new(8);
        assert_eq!(learned(&memory, "api_token: \"x7Kp2mQ9vL4tZw\""), 1);
        let redacted = |text: &str| Sanitizer::built_in().redact(text.as_bytes(), &memory.known());
        for text in [
            "Data: eDdLcDJtUTl2TDR0Wnc=",
            "user:token is dXNlcjp4N0twMm1ROXZMNHRadw==",
            "00000000  78 37 4b 70 32 6d 51 39  76 4c 34 74 5a 77",
            "78374B70326D5139764C34745A77",
            "[120, 55, 75, 112, 50, 109, 81, 57, 118, 76, 52, 116, 90, 119]",
            "%78%37%4B%70%32%6D%51%39%76%4C%34%74%5A%77",
        ] {
            assert!(redacted(text).is_some(), "{text}");
        }
        for text in [
            "Data: eDdLcDJtUTl1",
            "user:page is dXNlcjpwYWdl",
            "78 37 4b 70 and 78374b70ffee",
            "[120, 55, 76, 112, 50, 109]",
        ] {
            assert!(redacted(text).is_none(), "{text}");
        }
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

    #[test]
    fn sessions_are_apart_bounded_and_forgotten() {
        let clock = Arc::new(ManualClock::new(Duration::from_secs(1)));
        let limits = MemoryLimits {
            sessions: 2,
            values: 8,
            idle: Duration::from_secs(60),
        };
        let memories = Memories::new(limits, Arc::clone(&clock) as Arc<dyn Clock>);
        let tell = |session: &[u8]| {
            clock.advance(Duration::from_secs(1));
            memories.learning(session, |m| learned(m, "api_token: \"x7Kp2mQ9vL4tZw\""))
        };
        assert_eq!(
            memories.learning(b"quiet", |memory| learned(memory, "nothing")),
            0
        );
        assert!(memories.of(b"quiet").is_none());
        assert_eq!(tell(b"a"), 1);
        assert!(memories.of(b"a").is_some() && memories.of(b"b").is_none());
        // The third session takes the place of the one that was not used for longest.
        tell(b"b");
        tell(b"a");
        tell(b"c");
        assert!(memories.of(b"a").is_some() && memories.of(b"b").is_none());
        memories.forget(b"a");
        assert!(memories.of(b"a").is_none() && memories.of(b"c").is_some());
        clock.advance(limits.idle);
        assert!(memories.of(b"c").is_none());
        tell(b"c");
        clock.advance(limits.idle);
        memories.expire();
        assert_eq!(memories.sessions.lock().len(), 0);
    }
}
