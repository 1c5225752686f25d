//! A ring of the last invocations, chained by hash so that a changed, removed, reordered or
//! inserted entry shows.
//!
//! # The chain
//!
//! Each entry has two digests, both HMAC-SHA-256 under a key derived from the log's:
//!
//! - its *content*: over session, tool, status, duration, argument hash and confinement;
//! - its *digest*: over the digest of the entry before, its content digest, its id and its time.
//!
//! The second one needs only the content's digest, so an entry whose content was cleared
//! ([`AuditLog::clear_session`]) still carries the chain, and an entry that was changed before it
//! was cleared still breaks it. The digest of the last entry that the ring overwrote is kept as the
//! *anchor*: the oldest entry that is left is chained to it. A log's first anchor is made from the
//! time it was started, so entries can't be moved from one life of the log to another.
//!
//! Nobody without the key can make a chain that verifies.
//!
//! # Threads
//!
//! One lock. An append holds it for one short HMAC and the update of the session's index; whatever
//! reads many entries takes them a few hundred at a time, and sees the log as it was when it
//! started, less what was overwritten meanwhile.

mod chain;
mod line;
mod ring;
mod trail;
mod verify;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use thiserror::Error;

use crate::clock::Clock;

use chain::{Chain, Check};
use ring::{Record, Ring, Walk, stored, stored_name};
use trail::Trail;

pub use chain::{Anchor, ArgsHasher, Broken, BrokenKind, Verified};
pub use trail::TrailError;
pub use verify::{Damage, Torn, VerifiedTrail, is_entry, verify_trail};

/// The largest capacity that a log may have; an entry costs about 250 bytes, and its confinement's
/// text where it has one.
pub const MAX_CAPACITY: usize = 1_000_000;

/// Names longer than this many bytes are stored cut, with a hash of the whole at their end.
pub const MAX_NAME_BYTES: usize = 256;

/// A text that says what confined a call is stored like a name, up to this many bytes.
pub const MAX_CONFINEMENT_BYTES: usize = 512;

/// Entries handled under one lock.
const CHUNK: usize = 256;

/// A SHA-256 sized digest.
pub type Digest = [u8; 32];

/// A keyed hash of a call's arguments.
pub type ArgsHash = [u8; 16];

/// How an invocation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// The handler answered.
    Ok,
    /// The handler answered with an error.
    Error,
    /// The call was not allowed to run.
    Blocked,
    /// The handler did not answer in time.
    Timeout,
    /// The handler raised, threw or exited.
    Crashed,
    /// The caller took the call back before there was an answer, or is gone.
    Cancelled,
    /// It runs. The entry of its end names this one; then only that is listed.
    Started,
    /// No call: a person raised the session's tier to the one that stands as the tool.
    Granted,
    /// No call: a person consented to the tool for the session, or to the call whose arguments
    /// stand there.
    Consented,
    /// No call: a person was asked about the call whose arguments stand there, and said no.
    Declined,
    /// The same, and nobody answered.
    Unanswered,
    /// No call: a consent was taken back.
    Revoked,
}

impl Status {
    /// All statuses.
    pub const ALL: [Status; 12] = [
        Status::Ok,
        Status::Error,
        Status::Blocked,
        Status::Timeout,
        Status::Crashed,
        Status::Cancelled,
        Status::Started,
        Status::Granted,
        Status::Consented,
        Status::Declined,
        Status::Unanswered,
        Status::Revoked,
    ];

    /// The status's name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Error => "error",
            Status::Blocked => "blocked",
            Status::Timeout => "timeout",
            Status::Crashed => "crashed",
            Status::Cancelled => "cancelled",
            Status::Started => "started",
            Status::Granted => "granted",
            Status::Consented => "consented",
            Status::Declined => "declined",
            Status::Unanswered => "unanswered",
            Status::Revoked => "revoked",
        }
    }

    /// The status of that exact name.
    pub fn parse(name: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// One invocation, to be recorded.
#[derive(Debug, Clone, Copy)]
pub struct Invocation<'a> {
    /// The session that called.
    pub session: &'a [u8],
    /// The tool's name.
    pub tool: &'a [u8],
    /// How it ended.
    pub status: Status,
    /// How long it took, in microseconds.
    pub duration_us: u64,
    /// What [`ArgsHasher`] made of its arguments.
    pub args_hash: Option<ArgsHash>,
    /// What the commands it ran were confined by, in words; `None` for a call that ran none.
    pub confinement: Option<&'a [u8]>,
    /// The entry of its start, which this is the end of.
    pub of: Option<u64>,
}

/// What an entry says about its invocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The session that called; see [`MAX_NAME_BYTES`].
    pub session: Arc<[u8]>,
    /// The tool's name; see [`MAX_NAME_BYTES`].
    pub tool: Arc<[u8]>,
    /// How it ended.
    pub status: Status,
    /// How long it took, in microseconds.
    pub duration_us: u64,
    /// Keyed hash of its arguments.
    pub args_hash: Option<ArgsHash>,
    /// What its commands were confined by; see [`MAX_CONFINEMENT_BYTES`].
    pub confinement: Option<Arc<[u8]>>,
    /// Id of the entry of its start, for the end of a call.
    pub of: Option<u64>,
}

/// One entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Counts from 1, without a gap.
    pub id: u64,
    /// When it was recorded, in microseconds since the Unix epoch.
    pub timestamp_us: u64,
    /// What happened; `None` once its session was cleared.
    pub content: Option<Content>,
    /// Digest of the content, kept when the content is cleared.
    pub content_digest: Digest,
    /// The entry's place in the chain.
    pub digest: Digest,
}

/// Which end of the log comes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// Highest id first.
    #[default]
    NewestFirst,
    /// Lowest id first.
    OldestFirst,
}

/// Which entries to read.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// Only this session's.
    pub session: Option<&'a [u8]>,
    /// In which order.
    pub order: Order,
    /// At most this many.
    pub limit: usize,
    /// Also entries whose content was cleared; they belong to no session any more.
    pub cleared: bool,
    /// Also the starts of calls that have ended since; their ends tell all that they do.
    pub started: bool,
}

impl Default for Query<'_> {
    /// The newest 1,000 entries of all sessions.
    fn default() -> Self {
        Query {
            session: None,
            order: Order::NewestFirst,
            limit: 1_000,
            cleared: false,
            started: false,
        }
    }
}

/// The capacity asked for is 0 or above [`MAX_CAPACITY`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("audit log capacity {capacity} is outside 1 to {MAX_CAPACITY}")]
pub struct InvalidCapacity {
    /// The capacity asked for.
    pub capacity: usize,
}

/// The log. Shared between threads by reference.
#[derive(Debug)]
pub struct AuditLog {
    clock: Arc<dyn Clock>,
    chain: Chain,
    ring: Mutex<Ring>,
    trail: Option<Mutex<Trail>>,
    trail_path: Option<PathBuf>,
}

/// An entry that was made.
#[derive(Debug)]
pub struct Recorded {
    /// Its id.
    pub id: u64,
    /// Whether it is in the file as well, where there is one.
    pub kept: Result<(), TrailError>,
}

impl AuditLog {
    /// An empty log that keeps the newest `capacity` entries.
    pub fn new(
        capacity: usize,
        key: &[u8; 32],
        clock: Arc<dyn Clock>,
    ) -> Result<Self, InvalidCapacity> {
        valid_capacity(capacity)?;
        let chain = Chain::new(key);
        let ring = Ring::new(capacity, 0, chain.start(clock.unix_us(), 0));
        Ok(AuditLog {
            clock,
            chain,
            ring: Mutex::new(ring),
            trail: None,
            trail_path: None,
        })
    }

    /// A log that is also written to a file, and goes on from the file's last entry. `each` asks
    /// for every entry to be on the disk before [`AuditLog::record`] returns; otherwise
    /// [`AuditLog::sync`] sees to it.
    pub fn with_trail(
        capacity: usize,
        key: &[u8; 32],
        clock: Arc<dyn Clock>,
        path: &Path,
        each: bool,
    ) -> Result<Self, TrailError> {
        let chain = Chain::new(key);
        let (trail, last) = Trail::open(path, &chain, each)?;
        let mut ring = Ring::new(capacity, 0, last.digest);
        ring.next_id = last.id + 1;
        Ok(AuditLog {
            clock,
            chain,
            ring: Mutex::new(ring),
            trail: Some(Mutex::new(trail)),
            trail_path: Some(path.to_owned()),
        })
    }

    /// Records an invocation and returns its id, without a word about its file. The end of a call
    /// that has ended has no id: 0.
    pub fn append(&self, invocation: &Invocation<'_>) -> u64 {
        self.record(invocation).map_or(0, |recorded| recorded.id)
    }

    /// Records an invocation. `None` for the end of a call that runs no longer: it has its entry.
    pub fn record(&self, invocation: &Invocation<'_>) -> Option<Recorded> {
        let content = Content {
            session: stored_name(invocation.session),
            tool: stored_name(invocation.tool),
            status: invocation.status,
            duration_us: invocation.duration_us,
            args_hash: invocation.args_hash,
            confinement: invocation
                .confinement
                .map(|text| stored(text, MAX_CONFINEMENT_BYTES)),
            of: invocation.of,
        };
        self.put(content)
    }

    /// Records the end of a call that nobody waits for any more: its caller is gone. `None` when it
    /// has ended already.
    pub fn abandon(&self, started: u64) -> Option<Recorded> {
        let open = self.ring.lock().open.get(&started).cloned()?;
        self.put(Content {
            status: Status::Cancelled,
            duration_us: self.clock.unix_us().saturating_sub(open.since_us),
            of: Some(started),
            ..open.content
        })
    }

    fn put(&self, content: Content) -> Option<Recorded> {
        let content_digest = self.chain.content(&content);
        // Held until the line is written, so that lines come in the order of ids. Without a file
        // nobody waits here.
        let trail = self.trail.as_ref().map(Mutex::lock);
        let mut ring = self.ring.lock();
        if !ring.note(&content) {
            return None;
        }
        // Freed only after the lock is.
        let overwritten = ring.make_room();
        let id = ring.next_id;
        let timestamp_us = self.clock.unix_us();
        let digest = self
            .chain
            .link(&ring.head, &content_digest, id, timestamp_us);
        if content.status == Status::Started {
            ring.begin(id, timestamp_us, &content);
        }
        let line = trail
            .as_ref()
            .map(|_| line::encode(id, timestamp_us, &content, &digest));
        ring.push(Record {
            timestamp_us,
            content: Some(content),
            content_digest,
            digest,
        });
        drop(ring);
        drop(overwritten);
        let kept = match (trail, line) {
            (Some(mut trail), Some(line)) => trail.write(&line),
            _ => Ok(()),
        };
        Some(Recorded { id, kept })
    }

    /// Whether entries are also written to a file.
    pub fn has_trail(&self) -> bool {
        self.trail.is_some()
    }

    /// The file, where there is one.
    pub fn trail_path(&self) -> Option<&Path> {
        self.trail_path.as_deref()
    }

    /// Makes sure that what was written to the file is on the disk.
    pub fn sync(&self) -> Result<(), TrailError> {
        match &self.trail {
            Some(trail) => trail.lock().sync(),
            None => Ok(()),
        }
    }

    /// Reads entries.
    pub fn query(&self, query: &Query<'_>) -> Vec<Entry> {
        let session = query.session.map(stored_name);
        let mut entries = Vec::new();
        let mut ids = Vec::with_capacity(CHUNK);
        let mut left: Option<(u64, Range<u64>)> = None;
        while entries.len() < query.limit {
            ids.clear();
            let ring = self.ring.lock();
            let (life, range) = left.get_or_insert_with(|| (ring.life, ring.ids()));
            if *life != ring.life {
                break;
            }
            ring.pick(session.as_deref(), range, query.order, &mut ids);
            if ids.is_empty() {
                break;
            }
            for &id in &ids {
                if entries.len() == query.limit {
                    break;
                }
                if let Some(record) = ring.get(id)
                    && (record.content.is_some() || query.cleared)
                    && (query.started || !ring.is_over(id, record))
                {
                    entries.push(record.entry(id));
                }
            }
        }
        entries
    }

    /// Checks the chain from the anchor to the newest entry. Takes about 0.4 µs an entry, most of
    /// it without the lock.
    pub fn verify(&self) -> Result<Verified, Broken> {
        let mut walk = Walk::new();
        let mut check = None;
        loop {
            let part = walk.next(&self.ring);
            if part.first {
                check = None;
            }
            let check = check.get_or_insert_with(|| Check::start(part.anchor));
            for entry in &part.entries {
                check.entry(&self.chain, entry)?;
            }
            if part.last {
                return check.finish(&part.head);
            }
        }
    }

    /// Clears the content of a session's entries; their digests stay, so the chain still holds.
    pub fn clear_session(&self, session: &[u8]) {
        let session = stored_name(session);
        let mut span: Option<(u64, u64)> = None;
        loop {
            let mut ring = self.ring.lock();
            let (life, end) = *span.get_or_insert((ring.life, ring.next_id));
            if life != ring.life {
                return;
            }
            let cleared = ring.clear_some(&session, end);
            drop(ring);
            if cleared.is_empty() {
                return;
            }
        }
    }

    /// Forgets everything: the next id is 1, and a new chain starts.
    pub fn clear_all(&self) {
        let mut ring = self.ring.lock();
        let life = ring.life + 1;
        // A file goes on where it is: what it holds is cleared by nobody.
        let start = match self.trail {
            Some(_) => ring.head,
            None => self.chain.start(self.clock.unix_us(), life),
        };
        let mut fresh = Ring::new(ring.capacity, life, start);
        if self.trail.is_some() {
            fresh.next_id = ring.next_id;
        }
        fresh.open = std::mem::take(&mut ring.open);
        let old = std::mem::replace(&mut *ring, fresh);
        drop(ring);
        drop(old);
    }

    /// Changes how many entries are kept. A smaller log loses its oldest entries, all of them by
    /// the time this returns.
    pub fn set_capacity(&self, capacity: usize) -> Result<(), InvalidCapacity> {
        valid_capacity(capacity)?;
        let mut ring = self.ring.lock();
        if ring.capacity == capacity {
            return Ok(());
        }
        ring.capacity = capacity;
        let missing = capacity.saturating_sub(ring.records.len());
        ring.records.reserve_exact(missing);
        drop(ring);
        loop {
            let mut ring = self.ring.lock();
            let excess = ring.records.len().saturating_sub(ring.capacity).min(CHUNK);
            if excess == 0 {
                return Ok(());
            }
            let overwritten: Vec<_> = (0..excess).map(|_| ring.overwrite_oldest()).collect();
            drop(ring);
            drop(overwritten);
        }
    }

    /// How many entries are kept at most.
    pub fn capacity(&self) -> usize {
        self.ring.lock().capacity
    }

    /// Entries in the log, without those whose content was cleared, and without the starts of calls
    /// that have ended.
    pub fn count(&self) -> usize {
        let ring = self.ring.lock();
        ring.with_content.saturating_sub(ring.over)
    }
}

fn valid_capacity(capacity: usize) -> Result<(), InvalidCapacity> {
    if (1..=MAX_CAPACITY).contains(&capacity) {
        Ok(())
    } else {
        Err(InvalidCapacity { capacity })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use std::time::Duration;

    use super::*;
    use crate::clock::ManualClock;

    /// A log of 600 entries, enough for several chunks, with its ring changed behind its back.
    fn broken_by(change: fn(&mut Ring)) -> (u64, BrokenKind) {
        let clock = Arc::new(ManualClock::new(Duration::from_secs(1)));
        let log = AuditLog::new(600, &[1; 32], clock).unwrap();
        for n in 0..700_u64 {
            log.append(&Invocation {
                session: b"s",
                tool: b"t",
                status: Status::Ok,
                duration_us: n,
                args_hash: None,
                confinement: None,
                of: None,
            });
        }
        assert!(log.verify().is_ok());
        change(&mut log.ring.lock());
        let broken = log.verify().unwrap_err();
        (broken.id, broken.kind)
    }

    #[test]
    fn a_change_in_memory_shows() {
        assert_eq!(
            broken_by(|ring| ring.records[450].content.as_mut().unwrap().status = Status::Error),
            (551, BrokenKind::Content)
        );
        assert_eq!(
            broken_by(|ring| ring.records[450].timestamp_us -= 1),
            (551, BrokenKind::Chain)
        );
        assert_eq!(
            broken_by(|ring| drop(ring.records.remove(300))),
            (102, BrokenKind::Chain)
        );
        assert_eq!(
            broken_by(|ring| ring.records.swap(10, 11)),
            (111, BrokenKind::Chain)
        );
        assert_eq!(
            broken_by(|ring| {
                ring.records.pop_back();
                ring.next_id -= 1;
            }),
            (700, BrokenKind::Head)
        );
    }

    #[test]
    fn clearing_does_not_hide_a_change() {
        let change_then_clear = |ring: &mut Ring| {
            ring.records[450].content_digest[0] ^= 1;
            ring.records[450].content = None;
        };
        assert_eq!(broken_by(change_then_clear), (551, BrokenKind::Chain));
    }

    #[test]
    fn the_index_of_sessions_lists_what_is_in_the_ring_and_nothing_else() {
        let clock = Arc::new(ManualClock::new(Duration::from_secs(1)));
        let log = AuditLog::new(50, &[1; 32], clock).unwrap();
        for n in 0..1_000_u32 {
            log.append(&Invocation {
                session: &(n % 7 + n / 100).to_be_bytes(),
                tool: b"t",
                status: Status::Ok,
                duration_us: 0,
                args_hash: None,
                confinement: None,
                of: None,
            });
            match n % 83 {
                11 => log.clear_session(&(n % 7).to_be_bytes()),
                22 => log.set_capacity(20).unwrap(),
                33 => log.set_capacity(60).unwrap(),
                _ => {}
            }
            let ring = log.ring.lock();
            let mut listed: Vec<_> = ring
                .sessions
                .iter()
                .flat_map(|(session, ids)| ids.iter().map(|&id| (id, Arc::clone(session))))
                .collect();
            listed.sort_unstable();
            let held: Vec<_> = ring
                .ids()
                .filter_map(|id| Some((id, ring.get(id)?.content.as_ref()?.session.clone())))
                .collect();
            assert_eq!(listed, held);
            assert_eq!(ring.with_content, held.len());
            assert!(ring.sessions.values().all(|ids| !ids.is_empty()));
        }
    }
}
