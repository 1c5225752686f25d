//! A ring of the last invocations, chained by hash so that a changed, removed, reordered or inserted entry shows.
//!
//! # The chain
//!
//! Each entry has two digests, both HMAC-SHA-256 under a key derived from the log's:
//!
//! - its *content*: over session, tool, status, duration, argument hash and confinement;
//! - its *digest*: over the digest of the entry before, its content digest, its id and its time.
//!
//! The second one needs only the content's digest, so an entry whose content was cleared ([`AuditLog::clear_session`]) still
//! carries the chain, and an entry that was changed before it was cleared still breaks it. The digest of the last entry that the
//! ring overwrote is kept as the *anchor*: the oldest entry that is left is chained to it. A log's first anchor is made from the
//! time it was started, so entries can't be moved from one life of the log to another.
//!
//! Nobody without the key can make a chain that verifies. [`Export::verify`] checks a copy of the log elsewhere, with the key.
//!
//! # Threads
//!
//! One lock. An append holds it for one short HMAC and the update of the session's index; whatever reads many entries takes them
//! a few hundred at a time, and sees the log as it was when it started, less what was overwritten meanwhile.

use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::clock::Clock;

/// The largest capacity that a log may have; an entry costs about 250 bytes, and its confinement's text where it has one.
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
    /// The handler was killed, for its memory for instance.
    Killed,
    /// The caller took the call back before there was an answer.
    Cancelled,
}

impl Status {
    /// All statuses.
    pub const ALL: [Status; 7] = [
        Status::Ok,
        Status::Error,
        Status::Blocked,
        Status::Timeout,
        Status::Crashed,
        Status::Killed,
        Status::Cancelled,
    ];

    /// The status's name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Error => "error",
            Status::Blocked => "blocked",
            Status::Timeout => "timeout",
            Status::Crashed => "crashed",
            Status::Killed => "killed",
            Status::Cancelled => "cancelled",
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
}

impl Default for Query<'_> {
    /// The newest 1,000 entries of all sessions.
    fn default() -> Self {
        Query {
            session: None,
            order: Order::NewestFirst,
            limit: 1_000,
            cleared: false,
        }
    }
}

/// A chain that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Entries checked.
    pub entries: usize,
    /// How many of them have had their content cleared.
    pub cleared: usize,
    /// What the chain starts from.
    pub anchor: Anchor,
    /// The digest of the newest entry, or the anchor's when there is none.
    pub head: Digest,
}

/// What the oldest entry is chained to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// Id of the last entry that was overwritten; 0 when none was.
    pub id: u64,
    /// Its digest; when none was overwritten, the digest that the log started with.
    pub digest: Digest,
}

/// A chain that does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken {
    /// The first entry at which it shows, or the one that should follow the last one.
    pub id: u64,
    /// What is wrong there.
    pub kind: BrokenKind,
}

/// What is wrong with a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BrokenKind {
    /// The ids don't count on by one.
    Sequence,
    /// The content is not what was recorded.
    Content,
    /// The digest doesn't follow from the entry before, the content's digest, the id and the time.
    Chain,
    /// Entries are missing at the end.
    Head,
    /// An export's seal is not over this anchor, these entries and this head, or not under this key.
    Seal,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            BrokenKind::Sequence => "is out of sequence",
            BrokenKind::Content => "has changed content",
            BrokenKind::Chain => "does not follow from the entry before it",
            BrokenKind::Head => "is missing at the end",
            BrokenKind::Seal => "ends an export whose seal is wrong",
        };
        write!(f, "audit entry {} {what}", self.id)
    }
}

impl Error for Broken {}

/// The capacity asked for is 0 or above [`MAX_CAPACITY`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidCapacity {
    /// The capacity asked for.
    pub capacity: usize,
}

impl fmt::Display for InvalidCapacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "audit log capacity {} is outside 1 to {MAX_CAPACITY}",
            self.capacity
        )
    }
}

impl Error for InvalidCapacity {}

/// A copy of the log that can be checked elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// What the chain starts from.
    pub anchor: Anchor,
    /// All entries, oldest first.
    pub entries: Vec<Entry>,
    /// Digest of the newest entry, or the anchor's when there is none.
    pub head: Digest,
    /// HMAC over the anchor, every entry's id, digest and whether it was cleared, and the head: without it, entries could be cut
    /// from the end, or cleared, by somebody without the key.
    pub seal: Digest,
}

impl Export {
    /// Checks the copy with the key that the log was made with.
    pub fn verify(&self, key: &[u8; 32]) -> Result<Verified, Broken> {
        let chain = Chain::new(key);
        let mut check = Check::start(self.anchor);
        for entry in &self.entries {
            check.entry(&chain, entry)?;
        }
        let verified = check.finish(&self.head)?;
        if chain.seal(self) != self.seal {
            return Err(Broken {
                id: self.entries.last().map_or(self.anchor.id, |entry| entry.id),
                kind: BrokenKind::Seal,
            });
        }
        Ok(verified)
    }
}

/// Hashes arguments so that small ones can't be found by trying: HMAC-SHA-256 under a key, cut to 16 bytes.
#[derive(Debug, Clone)]
pub struct ArgsHasher(Keyed);

impl ArgsHasher {
    /// A hasher with this key.
    pub fn new(key: &[u8; 32]) -> Self {
        ArgsHasher(Keyed::new(key))
    }

    /// The hash of arguments in their canonical form: equal arguments must have equal bytes.
    pub fn hash(&self, canonical: &[u8]) -> ArgsHash {
        let full = self.0.mac(&[canonical]);
        let mut hash = ArgsHash::default();
        hash.copy_from_slice(&full[..16]);
        hash
    }
}

/// The log. Shared between threads by reference.
#[derive(Debug)]
pub struct AuditLog {
    clock: Arc<dyn Clock>,
    chain: Chain,
    ring: Mutex<Ring>,
}

#[derive(Debug)]
struct Ring {
    records: VecDeque<Record>,
    capacity: usize,
    /// Id of the next record; those in the ring have the ids just below it.
    next_id: u64,
    anchor: Digest,
    head: Digest,
    /// Ids of each session's records, ascending. A record is listed here exactly as long as it is in the ring with its content.
    sessions: HashMap<Arc<[u8]>, VecDeque<u64>>,
    with_content: usize,
    /// How often the log was cleared: ids of different lives must not be taken for each other.
    life: u64,
}

#[derive(Debug)]
struct Record {
    timestamp_us: u64,
    content: Option<Content>,
    content_digest: Digest,
    digest: Digest,
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
        })
    }

    /// Records an invocation and returns its id.
    pub fn append(&self, invocation: &Invocation<'_>) -> u64 {
        let content = Content {
            session: stored_name(invocation.session),
            tool: stored_name(invocation.tool),
            status: invocation.status,
            duration_us: invocation.duration_us,
            args_hash: invocation.args_hash,
            confinement: invocation
                .confinement
                .map(|text| stored(text, MAX_CONFINEMENT_BYTES)),
        };
        let content_digest = self.chain.content(&content);
        let mut ring = self.ring.lock();
        // Freed only after the lock is.
        let overwritten = ring.make_room();
        let id = ring.next_id;
        let timestamp_us = self.clock.unix_us();
        let digest = self
            .chain
            .link(&ring.head, &content_digest, id, timestamp_us);
        ring.push(Record {
            timestamp_us,
            content: Some(content),
            content_digest,
            digest,
        });
        drop(ring);
        drop(overwritten);
        id
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
                {
                    entries.push(record.entry(id));
                }
            }
        }
        entries
    }

    /// Checks the chain from the anchor to the newest entry. Takes about 0.4 µs an entry, most of it without the lock.
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

    /// Copies the log so that it can be checked elsewhere.
    pub fn export(&self) -> Export {
        let mut walk = Walk::new();
        let mut entries = Vec::new();
        loop {
            let part = walk.next(&self.ring);
            if part.first {
                entries.clear();
            }
            entries.extend(part.entries);
            if part.last {
                let mut export = Export {
                    anchor: part.anchor,
                    entries,
                    head: part.head,
                    seal: Digest::default(),
                };
                export.seal = self.chain.seal(&export);
                return export;
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
        let start = self.chain.start(self.clock.unix_us(), life);
        let fresh = Ring::new(ring.capacity, life, start);
        let old = std::mem::replace(&mut *ring, fresh);
        drop(ring);
        drop(old);
    }

    /// Changes how many entries are kept. A smaller log loses its oldest entries, all of them by the time this returns.
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

    /// Entries in the log, without those whose content was cleared.
    pub fn count(&self) -> usize {
        self.ring.lock().with_content
    }
}

impl Ring {
    fn new(capacity: usize, life: u64, start: Digest) -> Self {
        Ring {
            records: VecDeque::with_capacity(capacity),
            capacity,
            next_id: 1,
            anchor: start,
            head: start,
            sessions: HashMap::new(),
            with_content: 0,
            life,
        }
    }

    /// Makes room for one more record; returns what had to go.
    fn make_room(&mut self) -> [Option<Record>; 2] {
        let mut gone = [None, None];
        // Two, so that a log that is being made smaller shrinks even if appends outrun the shrinking.
        for place in &mut gone {
            if self.records.len() >= self.capacity {
                *place = self.overwrite_oldest();
            }
        }
        gone
    }

    fn overwrite_oldest(&mut self) -> Option<Record> {
        let id = self.first_id();
        let record = self.records.pop_front()?;
        self.anchor = record.digest;
        if let Some(content) = &record.content {
            self.with_content -= 1;
            self.unlist(&content.session, id);
        }
        Some(record)
    }

    fn unlist(&mut self, session: &[u8], oldest: u64) {
        let Some(ids) = self.sessions.get_mut(session) else {
            return;
        };
        if ids.front() == Some(&oldest) {
            ids.pop_front();
        }
        if ids.is_empty() {
            self.sessions.remove(session);
        }
    }

    fn push(&mut self, record: Record) {
        if let Some(content) = &record.content {
            self.with_content += 1;
            match self.sessions.get_mut(&content.session) {
                Some(ids) => ids.push_back(self.next_id),
                None => {
                    let ids = VecDeque::from([self.next_id]);
                    self.sessions.insert(Arc::clone(&content.session), ids);
                }
            }
        }
        self.head = record.digest;
        self.next_id += 1;
        self.records.push_back(record);
    }

    fn first_id(&self) -> u64 {
        self.next_id - self.records.len() as u64
    }

    fn ids(&self) -> Range<u64> {
        self.first_id()..self.next_id
    }

    fn get(&self, id: u64) -> Option<&Record> {
        let place = id.checked_sub(self.first_id())?;
        self.records.get(usize::try_from(place).ok()?)
    }

    fn anchor(&self) -> Anchor {
        Anchor {
            id: self.first_id() - 1,
            digest: self.anchor,
        }
    }

    /// Takes up to [`CHUNK`] ids in `order` out of `left`.
    fn pick(
        &self,
        session: Option<&[u8]>,
        left: &mut Range<u64>,
        order: Order,
        ids: &mut Vec<u64>,
    ) {
        left.start = left.start.max(self.first_id());
        match session {
            None => match order {
                Order::OldestFirst => ids.extend(left.clone().take(CHUNK)),
                Order::NewestFirst => ids.extend(left.clone().rev().take(CHUNK)),
            },
            Some(session) => {
                let Some(listed) = self.sessions.get(session) else {
                    return;
                };
                let start = listed.partition_point(|&id| id < left.start);
                let end = listed.partition_point(|&id| id < left.end).max(start);
                let listed = listed.range(start..end).copied();
                match order {
                    Order::OldestFirst => ids.extend(listed.take(CHUNK)),
                    Order::NewestFirst => ids.extend(listed.rev().take(CHUNK)),
                }
            }
        }
        if let Some(&last) = ids.last() {
            match order {
                Order::OldestFirst => left.start = last + 1,
                Order::NewestFirst => left.end = last,
            }
        }
    }

    /// Clears up to [`CHUNK`] records of a session with ids below `end`; returns what they said.
    fn clear_some(&mut self, session: &[u8], end: u64) -> Vec<Content> {
        let Some(ids) = self.sessions.get_mut(session) else {
            return Vec::new();
        };
        let many = ids.partition_point(|&id| id < end).min(CHUNK);
        let ids: Vec<u64> = ids.drain(..many).collect();
        if self.sessions.get(session).is_some_and(VecDeque::is_empty) {
            self.sessions.remove(session);
        }
        let first_id = self.first_id();
        let cleared: Vec<Content> = ids
            .into_iter()
            .filter_map(|id| {
                let place = usize::try_from(id.checked_sub(first_id)?).ok()?;
                self.records.get_mut(place)?.content.take()
            })
            .collect();
        self.with_content -= cleared.len();
        cleared
    }
}

impl Record {
    fn entry(&self, id: u64) -> Entry {
        Entry {
            id,
            timestamp_us: self.timestamp_us,
            content: self.content.clone(),
            content_digest: self.content_digest,
            digest: self.digest,
        }
    }
}

/// A way through all entries, oldest first, that takes the lock for a chunk at a time. When the ring overwrites entries that were
/// not read yet, or is cleared, the walk starts again, in larger chunks, so that it ends however fast others write.
#[derive(Debug)]
struct Walk {
    chunk: usize,
    under: Option<Under>,
}

#[derive(Debug)]
struct Under {
    life: u64,
    anchor: Anchor,
    left: Range<u64>,
    head: Digest,
}

struct Part {
    /// The walk starts here, if not for the first time.
    first: bool,
    last: bool,
    anchor: Anchor,
    entries: Vec<Entry>,
    head: Digest,
}

impl Walk {
    fn new() -> Self {
        Walk {
            chunk: CHUNK,
            under: None,
        }
    }

    fn next(&mut self, ring: &Mutex<Ring>) -> Part {
        let mut entries = Vec::with_capacity(self.chunk.min(MAX_CAPACITY));
        let ring = ring.lock();
        let old = self.under.take();
        let restarts = old.is_some();
        let goes_on =
            old.filter(|under| under.life == ring.life && under.left.start >= ring.first_id());
        let first = goes_on.is_none();
        if first && restarts {
            self.chunk = self.chunk.saturating_mul(4);
        }
        let under = self.under.insert(goes_on.unwrap_or_else(|| Under {
            life: ring.life,
            anchor: ring.anchor(),
            left: ring.ids(),
            head: ring.head,
        }));
        for id in under.left.by_ref().take(self.chunk) {
            entries.extend(ring.get(id).map(|record| record.entry(id)));
        }
        Part {
            first,
            last: under.left.is_empty(),
            anchor: under.anchor,
            entries,
            head: under.head,
        }
    }
}

/// A chain being checked, entry by entry.
#[derive(Debug)]
struct Check {
    anchor: Anchor,
    next_id: u64,
    previous: Digest,
    entries: usize,
    cleared: usize,
}

impl Check {
    fn start(anchor: Anchor) -> Self {
        Check {
            anchor,
            next_id: anchor.id.saturating_add(1),
            previous: anchor.digest,
            entries: 0,
            cleared: 0,
        }
    }

    fn entry(&mut self, chain: &Chain, entry: &Entry) -> Result<(), Broken> {
        let broken = |kind| Err(Broken { id: entry.id, kind });
        if entry.id != self.next_id {
            return broken(BrokenKind::Sequence);
        }
        match &entry.content {
            Some(content) if chain.content(content) != entry.content_digest => {
                return broken(BrokenKind::Content);
            }
            Some(_) => {}
            None => self.cleared += 1,
        }
        let digest = chain.link(
            &self.previous,
            &entry.content_digest,
            entry.id,
            entry.timestamp_us,
        );
        if digest != entry.digest {
            return broken(BrokenKind::Chain);
        }
        self.previous = digest;
        self.next_id = self.next_id.saturating_add(1);
        self.entries += 1;
        Ok(())
    }

    fn finish(&self, head: &Digest) -> Result<Verified, Broken> {
        if self.previous != *head {
            return Err(Broken {
                id: self.next_id,
                kind: BrokenKind::Head,
            });
        }
        Ok(Verified {
            entries: self.entries,
            cleared: self.cleared,
            anchor: self.anchor,
            head: self.previous,
        })
    }
}

/// The keyed digests of a chain. Each kind starts with its own byte, and every part of variable length with its length, so that no
/// two different things are ever hashed as the same bytes.
#[derive(Debug)]
struct Chain(Keyed);

impl Chain {
    fn new(key: &[u8; 32]) -> Self {
        // A key of its own, so that the log's key can serve the argument hashes as well.
        Chain(Keyed::new(&Keyed::new(key).mac(&[b"audit chain"])))
    }

    fn start(&self, unix_us: u64, life: u64) -> Digest {
        self.0
            .mac(&[b"s", &unix_us.to_le_bytes(), &life.to_le_bytes()])
    }

    fn content(&self, content: &Content) -> Digest {
        let args_hash = content.args_hash.as_ref();
        let confinement = content.confinement.as_deref();
        self.0.mac(&[
            b"c",
            &[
                content.status as u8,
                u8::from(args_hash.is_some()),
                u8::from(confinement.is_some()),
            ],
            args_hash.unwrap_or(&ArgsHash::default()),
            &content.duration_us.to_le_bytes(),
            &(content.session.len() as u64).to_le_bytes(),
            &content.session,
            &(content.tool.len() as u64).to_le_bytes(),
            &content.tool,
            // The last part needs no length.
            confinement.unwrap_or_default(),
        ])
    }

    fn link(&self, previous: &Digest, content: &Digest, id: u64, timestamp_us: u64) -> Digest {
        self.0.mac(&[
            b"l",
            previous,
            content,
            &id.to_le_bytes(),
            &timestamp_us.to_le_bytes(),
        ])
    }

    fn seal(&self, export: &Export) -> Digest {
        let mut mac = self.0.0.clone();
        mac.update(b"e");
        mac.update(&export.anchor.id.to_le_bytes());
        mac.update(&export.anchor.digest);
        mac.update(&(export.entries.len() as u64).to_le_bytes());
        for entry in &export.entries {
            mac.update(&entry.id.to_le_bytes());
            mac.update(&[u8::from(entry.content.is_some())]);
            mac.update(&entry.digest);
        }
        mac.update(&export.head);
        mac.finalize().into_bytes().into()
    }
}

/// HMAC-SHA-256 with its key already absorbed.
#[derive(Clone)]
struct Keyed(Hmac<Sha256>);

impl Keyed {
    fn new(key: &[u8; 32]) -> Self {
        // HMAC pads a short key with zeros to the length of a block; doing it here leaves nothing that could fail.
        let mut block = [0; 64];
        block[..key.len()].copy_from_slice(key);
        Keyed(<Hmac<Sha256> as KeyInit>::new(&block.into()))
    }

    fn mac(&self, parts: &[&[u8]]) -> Digest {
        let mut mac = self.0.clone();
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

impl fmt::Debug for Keyed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keyed(..)")
    }
}

fn valid_capacity(capacity: usize) -> Result<(), InvalidCapacity> {
    if (1..=MAX_CAPACITY).contains(&capacity) {
        Ok(())
    } else {
        Err(InvalidCapacity { capacity })
    }
}

/// A name as the log keeps it.
fn stored_name(name: &[u8]) -> Arc<[u8]> {
    stored(name, MAX_NAME_BYTES)
}

/// A text as the log keeps it, of at most `limit` bytes.
fn stored(text: &[u8], limit: usize) -> Arc<[u8]> {
    const HASH_HEX: usize = 16;
    const HASHED_BYTES: usize = 64 * 1024;
    if text.len() <= limit {
        return text.into();
    }
    let hash = Sha256::new()
        .chain_update((text.len() as u64).to_le_bytes())
        .chain_update(&text[..text.len().min(HASHED_BYTES)])
        .finalize();
    let mut end = limit - HASH_HEX - 1;
    // A whole UTF-8 character, if it is UTF-8: no more than three bytes can continue one.
    for _ in 0..3 {
        if text[end] & 0xC0 == 0x80 {
            end -= 1;
        }
    }
    let mut stored = text[..end].to_vec();
    stored.push(b'~');
    for byte in &hash[..HASH_HEX / 2] {
        for nibble in [byte >> 4, byte & 15] {
            stored.push(b"0123456789abcdef"[nibble as usize]);
        }
    }
    stored.into()
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
            });
        }
        assert!(log.verify().is_ok());
        change(&mut log.ring.lock());
        let broken = log.verify().unwrap_err();
        // A copy of a broken log does not look whole.
        assert!(log.export().verify(&[1; 32]).is_err());
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
