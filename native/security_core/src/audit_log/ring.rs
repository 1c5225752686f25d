//! The entries in memory: the newest ones, and the way through them.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use super::chain::Anchor;
use super::{CHUNK, Content, Digest, Entry, MAX_CAPACITY, MAX_NAME_BYTES, Order, Status};

#[derive(Debug)]
pub(super) struct Ring {
    pub(super) records: VecDeque<Record>,
    pub(super) capacity: usize,
    /// Id of the next record; those in the ring have the ids just below it.
    pub(super) next_id: u64,
    pub(super) anchor: Digest,
    pub(super) head: Digest,
    /// Ids of each session's records, ascending. A record is listed here exactly as long as it is
    /// in the ring with its content.
    pub(super) sessions: HashMap<Arc<[u8]>, VecDeque<u64>>,
    pub(super) with_content: usize,
    /// Calls that run, by the id of their start; also those whose start was overwritten.
    pub(super) open: HashMap<u64, Open>,
    /// Starts in the ring, with their content, of calls that have ended.
    pub(super) over: usize,
    /// How often the log was cleared: ids of different lives must not be taken for each other.
    pub(super) life: u64,
}

#[derive(Debug)]
pub(super) struct Record {
    pub(super) timestamp_us: u64,
    pub(super) content: Option<Content>,
    pub(super) content_digest: Digest,
    pub(super) digest: Digest,
}

impl Ring {
    pub(super) fn new(capacity: usize, life: u64, start: Digest) -> Self {
        Ring {
            records: VecDeque::with_capacity(capacity),
            capacity,
            next_id: 1,
            anchor: start,
            head: start,
            sessions: HashMap::new(),
            with_content: 0,
            open: HashMap::new(),
            over: 0,
            life,
        }
    }

    /// Makes room for one more record; returns what had to go.
    pub(super) fn make_room(&mut self) -> [Option<Record>; 2] {
        let mut gone = [None, None];
        // Two, so that a log that is being made smaller shrinks even if appends outrun the
        // shrinking.
        for place in &mut gone {
            if self.records.len() >= self.capacity {
                *place = self.overwrite_oldest();
            }
        }
        gone
    }

    pub(super) fn overwrite_oldest(&mut self) -> Option<Record> {
        let id = self.first_id();
        let record = self.records.pop_front()?;
        self.anchor = record.digest;
        if self.is_over(id, &record) {
            self.over -= 1;
        }
        if let Some(content) = &record.content {
            self.with_content -= 1;
            self.unlist(&content.session, id);
        }
        Some(record)
    }

    pub(super) fn unlist(&mut self, session: &[u8], oldest: u64) {
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

    pub(super) fn push(&mut self, record: Record) {
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

    /// Takes note of what an entry ends. False when that has ended.
    pub(super) fn note(&mut self, content: &Content) -> bool {
        let Some(started) = content.of else {
            return true;
        };
        if self.open.remove(&started).is_none() {
            return false;
        }
        if self.get(started).is_some_and(Record::starts) {
            self.over += 1;
        }
        true
    }

    /// A call begins with the entry that is pushed next.
    pub(super) fn begin(&mut self, id: u64, since_us: u64, content: &Content) {
        let content = content.clone();
        self.open.insert(id, Open { since_us, content });
    }

    /// Whether the record is the start of a call that has ended.
    pub(super) fn is_over(&self, id: u64, record: &Record) -> bool {
        record.starts() && !self.open.contains_key(&id)
    }

    pub(super) fn first_id(&self) -> u64 {
        self.next_id - self.records.len() as u64
    }

    pub(super) fn ids(&self) -> Range<u64> {
        self.first_id()..self.next_id
    }

    pub(super) fn get(&self, id: u64) -> Option<&Record> {
        let place = id.checked_sub(self.first_id())?;
        self.records.get(usize::try_from(place).ok()?)
    }

    pub(super) fn anchor(&self) -> Anchor {
        Anchor {
            id: self.first_id() - 1,
            digest: self.anchor,
        }
    }

    /// Takes up to [`CHUNK`] ids in `order` out of `left`.
    pub(super) fn pick(
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
    pub(super) fn clear_some(&mut self, session: &[u8], end: u64) -> Vec<Content> {
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
                let record = self.records.get_mut(place)?;
                if record.starts() && !self.open.contains_key(&id) {
                    self.over -= 1;
                }
                record.content.take()
            })
            .collect();
        self.with_content -= cleared.len();
        cleared
    }
}

/// A call that runs.
#[derive(Debug, Clone)]
pub(super) struct Open {
    pub(super) since_us: u64,
    /// Of its start.
    pub(super) content: Content,
}

impl Record {
    pub(super) fn starts(&self) -> bool {
        self.content
            .as_ref()
            .is_some_and(|content| content.status == Status::Started)
    }

    pub(super) fn entry(&self, id: u64) -> Entry {
        Entry {
            id,
            timestamp_us: self.timestamp_us,
            content: self.content.clone(),
            content_digest: self.content_digest,
            digest: self.digest,
        }
    }
}

/// A way through all entries, oldest first, that takes the lock for a chunk at a time. When the
/// ring overwrites entries that were not read yet, or is cleared, the walk starts again, in larger
/// chunks, so that it ends however fast others write.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) chunk: usize,
    pub(super) under: Option<Under>,
}

#[derive(Debug)]
pub(super) struct Under {
    pub(super) life: u64,
    pub(super) anchor: Anchor,
    pub(super) left: Range<u64>,
    pub(super) head: Digest,
}

pub(super) struct Part {
    /// The walk starts here, if not for the first time.
    pub(super) first: bool,
    pub(super) last: bool,
    pub(super) anchor: Anchor,
    pub(super) entries: Vec<Entry>,
    pub(super) head: Digest,
}

impl Walk {
    pub(super) fn new() -> Self {
        Walk {
            chunk: CHUNK,
            under: None,
        }
    }

    pub(super) fn next(&mut self, ring: &Mutex<Ring>) -> Part {
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

/// A name as the log keeps it.
pub(super) fn stored_name(name: &[u8]) -> Arc<[u8]> {
    stored(name, MAX_NAME_BYTES)
}

/// A text as the log keeps it, of at most `limit` bytes.
pub(super) fn stored(text: &[u8], limit: usize) -> Arc<[u8]> {
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
