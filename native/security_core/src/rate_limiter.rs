//! An exact sliding-window rate limiter per (session, tool).
//!
//! A call made at time `t` under a [`Rate`] of `limit` calls per `window` is admitted if and only
//! if fewer than `limit` calls of its key were admitted in the half-open interval
//! `(t - window, t]`. That holds for any number of threads, and for a limit and a window that
//! differ from call to call.
//!
//! # How
//!
//! Each key has a queue of the times of its admitted calls, oldest first. The call that decides is
//! the `limit`-th newest: when it has left the window, there is room, and when it will leave is the
//! answer's retry time. So a check costs the same at every limit. The clock is read while the key's
//! lock is held, so the times in a queue never go backwards and a thread that is descheduled before
//! it gets the lock can't count with a stale time.
//!
//! Keys are spread over shards, each behind its own lock. A key is known by a keyed 128-bit hash of
//! its names, so a key's memory does not depend on the length of the names, and nobody outside can
//! aim for collisions.
//!
//! # Bounds
//!
//! The number of keys, of keys per session, and of remembered times overall are bounded by
//! [`Capacity`]. At a bound, expired keys are dropped first; when that does not help, the call is
//! denied.
//!
//! Calls are forgotten when they lie outside the longest window that any check has asked for so
//! far, and when a queue is as long as the largest limit that its key was checked with. The latter
//! can only matter to a later check with a larger limit, which is denied for as long as a forgotten
//! call may lie in its window. The former could only matter to a window longer than any before.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use parking_lot::Mutex;
use siphasher::sip128::{Hasher128, SipHasher13};
use smallvec::SmallVec;
use thiserror::Error;

use crate::clock::Clock;

mod stamps;

use stamps::Stamps;

/// The largest limit that a [`Rate`] may have; it bounds the memory of one key to 8 bytes times
/// this.
pub const MAX_LIMIT: u32 = 100_000;

/// The longest window that a [`Rate`] may have: 366 days.
pub const MAX_WINDOW_MS: u64 = 366 * 24 * 60 * 60 * 1_000;

/// Names are told apart by their length and this many first bytes, so that hashing a name takes
/// bounded time.
const HASHED_NAME_BYTES: usize = 64 * 1024;

/// So many that the table of one shard stays small enough to be grown in well under a millisecond,
/// with a million keys in all.
const SHARDS: usize = 1_024;

/// Buckets looked at under one lock while cleaning.
const BUCKETS_PER_LOCK: usize = 128;

/// What a call that met a bound does to make room.
const WORK_PER_RESCUE: usize = 1_024;

const NS_PER_MS: u64 = 1_000_000;

/// How often a tool may be called: `limit` calls in any window of `window_ms` milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    limit: u32,
    window_ms: u64,
}

impl Rate {
    /// A rate, if `limit` is at most [`MAX_LIMIT`] and `window_ms` is from 1 to [`MAX_WINDOW_MS`].
    /// A limit of 0 denies every call.
    pub fn new(limit: u64, window_ms: u64) -> Result<Rate, RateError> {
        match u32::try_from(limit) {
            Ok(limit) if limit <= MAX_LIMIT => {
                if (1..=MAX_WINDOW_MS).contains(&window_ms) {
                    Ok(Rate { limit, window_ms })
                } else {
                    Err(RateError::WindowOutOfRange { window_ms })
                }
            }
            _ => Err(RateError::LimitTooLarge { limit }),
        }
    }

    /// A rate known when this crate is compiled; `limit` and `window_ms` must satisfy
    /// [`Rate::new`].
    pub(crate) const fn constant(limit: u32, window_ms: u64) -> Rate {
        assert!(limit <= MAX_LIMIT && window_ms >= 1 && window_ms <= MAX_WINDOW_MS);
        Rate { limit, window_ms }
    }

    /// Calls admitted per window.
    pub fn limit(self) -> u32 {
        self.limit
    }

    /// Length of the window in milliseconds.
    pub fn window_ms(self) -> u64 {
        self.window_ms
    }

    fn window_ns(self) -> u64 {
        self.window_ms * NS_PER_MS
    }
}

/// Why a pair of numbers is not a [`Rate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RateError {
    /// The limit is above [`MAX_LIMIT`].
    #[error("rate limit {limit} is above the maximum of {MAX_LIMIT}")]
    LimitTooLarge {
        /// The limit asked for.
        limit: u64,
    },
    /// The window is 0 or above [`MAX_WINDOW_MS`].
    #[error("rate window of {window_ms} ms is outside 1 to {MAX_WINDOW_MS}")]
    WindowOutOfRange {
        /// The window asked for, in milliseconds.
        window_ms: u64,
    },
}

/// The answer to one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The call may go on, and has been counted.
    Admitted,
    /// The call may not go on, and has not been counted.
    Denied {
        /// A call made this many milliseconds from now, with no admission in between, is admitted.
        /// At least 1.
        retry_after_ms: u64,
    },
}

/// Bounds on a limiter's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Keys overall; a key costs 200 to 400 bytes.
    pub keys: usize,
    /// Keys of one session in one of the 1,024 shards: one session that calls ever new names can't
    /// take the room of the others.
    pub session_keys_per_shard: usize,
    /// Remembered times overall, 8 bytes each, the first seven of a key not counted.
    pub stamps: usize,
}

impl Default for Capacity {
    /// A million keys, 16 keys per session and shard, eight million times.
    fn default() -> Self {
        Capacity {
            keys: 1_000_000,
            session_keys_per_shard: 16,
            stamps: 8_000_000,
        }
    }
}

/// What cleaning takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expired {
    /// Keys whose calls all lie outside the longest window that any check has asked for so far.
    /// Forgetting them changes no answer until a window is longer still.
    OutsideWindow,
    /// Calls made this many milliseconds ago or earlier, though a window may still count them, and
    /// keys that are left with none.
    OlderThan(u64),
}

/// Where the next cleaning step starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cursor {
    shard: u32,
    bucket: u32,
}

impl Cursor {
    /// The cursor as a number, for a caller that has to keep it elsewhere.
    pub fn to_u64(self) -> u64 {
        u64::from(self.shard) << 32 | u64::from(self.bucket)
    }

    /// The cursor that [`Cursor::to_u64`] gave; any other number is a valid cursor too.
    pub fn from_u64(number: u64) -> Cursor {
        Cursor {
            shard: (number >> 32) as u32,
            bucket: number as u32,
        }
    }
}

/// What one cleaning step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Keys taken away.
    pub removed: usize,
    /// Where to go on; `None` when the round is complete.
    pub next: Option<Cursor>,
}

/// The limiter. Shared between threads by reference.
#[derive(Debug)]
pub struct RateLimiter {
    clock: Arc<dyn Clock>,
    hasher: SipHasher13,
    capacity: Capacity,
    shards: Box<[Padded]>,
    usage: Usage,
    /// The longest window that any check has asked for. One for all keys, since a key that is
    /// dropped takes along what it knows.
    longest_window_ns: AtomicU64,
    rescue: AtomicU64,
}

/// One shard to a pair of cache lines, so that neighbours don't slow each other down.
#[repr(align(128))]
#[derive(Debug, Default)]
struct Padded(Mutex<Shard>);

#[derive(Debug, Default)]
struct Shard {
    keys: HashTable<Key>,
    /// Which keys of this shard belong to a session: a key is listed here exactly as long as it is
    /// in `keys`.
    sessions: HashTable<SessionKeys>,
}

#[derive(Debug)]
struct SessionKeys {
    session: u128,
    /// Sessions use few tools, which are spread over all shards.
    keys: SmallVec<[u128; 1]>,
}

/// Two cache lines, so that a check in a table too large for the caches waits for memory as rarely
/// as possible.
#[derive(Debug)]
#[repr(align(64))]
struct Key {
    id: u128,
    session: u128,
    stamps: Stamps,
    /// The newest time that `stamps` had to let go of.
    forgotten: Option<u64>,
    largest_limit: u32,
}

/// Totals over all shards; written only when a key or a queue is made, grown or dropped.
#[derive(Debug, Default)]
struct Usage {
    keys: AtomicUsize,
    stamps: AtomicUsize,
    turned_away: AtomicU64,
}

/// What work under a shard's lock needs to know of the limiter.
#[derive(Debug)]
struct Moment<'a> {
    now_ns: u64,
    longest_ns: u64,
    capacity: &'a Capacity,
    usage: &'a Usage,
}

/// Which bound of [`Capacity`] was met.
#[derive(Debug)]
enum Full {
    /// The session's own keys, of which none is expired.
    Session,
    /// Keys or times overall.
    Overall,
}

impl RateLimiter {
    /// An empty limiter.
    pub fn new(capacity: Capacity, clock: Arc<dyn Clock>) -> Self {
        // RandomState is how the standard library offers random keys.
        let random = RandomState::new();
        RateLimiter {
            clock,
            hasher: SipHasher13::new_with_keys(random.hash_one(0_u8), random.hash_one(1_u8)),
            capacity,
            shards: (0..SHARDS).map(|_| Padded::default()).collect(),
            usage: Usage::default(),
            longest_window_ns: AtomicU64::new(0),
            rescue: AtomicU64::new(0),
        }
    }

    /// Decides on a call now, and counts it when it is admitted.
    pub fn check(&self, session: &[u8], tool: &[u8], rate: Rate) -> Verdict {
        self.check_and_tell_time(session, tool, rate).0
    }

    /// Like [`RateLimiter::check`], with the clock's reading that the answer is based on.
    pub(crate) fn check_and_tell_time(
        &self,
        session: &[u8],
        tool: &[u8],
        rate: Rate,
    ) -> (Verdict, u64) {
        let id = self.key_id(session, tool);
        let window_ns = rate.window_ns();
        // Read first: all threads share it, and hardly any call changes it.
        if self.longest_window_ns.load(Ordering::Relaxed) < window_ns {
            self.longest_window_ns
                .fetch_max(window_ns, Ordering::Relaxed);
        }
        let (mut answer, mut now) = self.try_check(id, session, rate);
        if let Err(Full::Overall) = answer {
            self.make_room();
            (answer, now) = self.try_check(id, session, rate);
        }
        let verdict = answer.unwrap_or_else(|_| {
            self.usage.turned_away.fetch_add(1, Ordering::Relaxed);
            Verdict::Denied {
                retry_after_ms: rate.window_ms,
            }
        });
        (verdict, now)
    }

    /// Calls of this key that were admitted in the last `window_ms` milliseconds, as far as they
    /// are remembered.
    pub fn count(&self, session: &[u8], tool: &[u8], window_ms: u64) -> usize {
        let id = self.key_id(session, tool);
        let shard = self.shard_of(id).lock();
        let now = self.clock.monotonic_ns();
        let window_ns = window_ms.saturating_mul(NS_PER_MS);
        shard.find(id).map_or(0, |key| {
            key.stamps.len() - key.stamps.count_old(|stamp| !within(stamp, now, window_ns))
        })
    }

    /// Forgets a session's calls. Costs one short lock per shard, whatever the number of other
    /// sessions.
    pub fn clear_session(&self, session: &[u8]) {
        let session = self.session_id(session);
        for shard in &self.shards {
            shard.0.lock().remove_session(session, &self.usage);
        }
    }

    /// Forgets everything.
    pub fn clear_all(&self) {
        for shard in &self.shards {
            let old = std::mem::take(&mut *shard.0.lock());
            for key in &old.keys {
                self.usage.release(key);
            }
        }
    }

    /// Takes away calls made `max_age_ms` milliseconds ago or earlier, and returns the number of
    /// keys that this removed. A `max_age_ms` below a window in use lets that window forget calls:
    /// the caller asked for it.
    ///
    /// No lock is held for long, but a million keys take tens of milliseconds in all.
    pub fn cleanup(&self, max_age_ms: u64) -> usize {
        let mut removed = 0;
        let mut cursor = Some(Cursor::default());
        while let Some(from) = cursor {
            let step = self.cleanup_step(from, usize::MAX, Expired::OlderThan(max_age_ms));
            removed += step.removed;
            cursor = step.next;
        }
        removed
    }

    /// Cleans on from `cursor` for about `work` places of the table; taking a key away counts as 16
    /// places. 4,096 of them stay well under a millisecond. Keys that come or go between the steps
    /// of a round may be seen twice or left to the next round.
    pub fn cleanup_step(&self, cursor: Cursor, work: usize, what: Expired) -> Step {
        let mut removed = 0;
        let mut left = work.max(1);
        let mut bucket = cursor.bucket as usize;
        let start = cursor.shard as usize;
        for (number, shard) in self.shards.iter().enumerate().skip(start) {
            loop {
                if left == 0 {
                    let next = Cursor {
                        shard: number as u32,
                        bucket: bucket as u32,
                    };
                    return Step {
                        removed,
                        next: Some(next),
                    };
                }
                let mut shard = shard.0.lock();
                let buckets = shard.keys.num_buckets();
                let end = buckets.min(bucket.saturating_add(BUCKETS_PER_LOCK.min(left)));
                let gone = shard.clean(bucket..end, what, &self.moment());
                removed += gone;
                // Even an empty shard costs a lock.
                let done = end.saturating_sub(bucket).max(8) + 16 * gone;
                left = left.saturating_sub(done);
                bucket = end;
                if end == buckets {
                    shard.give_memory_back();
                    break;
                }
            }
            bucket = 0;
        }
        Step {
            removed,
            next: None,
        }
    }

    /// Keys that are remembered now.
    pub fn len(&self) -> usize {
        self.usage.keys.load(Ordering::Relaxed)
    }

    /// Whether no key is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls denied because a bound of [`Capacity`] was met, since the limiter was made.
    pub fn turned_away(&self) -> u64 {
        self.usage.turned_away.load(Ordering::Relaxed)
    }

    fn try_check(&self, id: u128, session: &[u8], rate: Rate) -> (Result<Verdict, Full>, u64) {
        let mut shard = self.shard_of(id).lock();
        let at = self.moment();
        let answer = match shard.find_mut(id) {
            _ if rate.limit == 0 => Ok(Verdict::Denied {
                retry_after_ms: rate.window_ms,
            }),
            Some(key) => key.check(rate, &at),
            None => {
                let key = Key::first_call(id, self.session_id(session), rate, at.now_ns);
                shard.insert(key, &at).map(|()| Verdict::Admitted)
            }
        };
        (answer, at.now_ns)
    }

    /// To be called with the lock held that the work is done under.
    fn moment(&self) -> Moment<'_> {
        Moment {
            now_ns: self.clock.monotonic_ns(),
            longest_ns: self.longest_window_ns.load(Ordering::Relaxed),
            capacity: &self.capacity,
            usage: &self.usage,
        }
    }

    /// Drops some expired keys; a later call in need goes on where this one stopped.
    fn make_room(&self) {
        let cursor = Cursor::from_u64(self.rescue.load(Ordering::Relaxed));
        let step = self.cleanup_step(cursor, WORK_PER_RESCUE, Expired::OutsideWindow);
        let next = step.next.unwrap_or_default();
        self.rescue.store(next.to_u64(), Ordering::Relaxed);
    }

    fn shard_of(&self, id: u128) -> &Mutex<Shard> {
        // The upper half; the table inside the shard uses the lower one.
        &self.shards[(id >> 64) as usize % SHARDS].0
    }

    fn key_id(&self, session: &[u8], tool: &[u8]) -> u128 {
        self.hash(&[session, tool])
    }

    fn session_id(&self, session: &[u8]) -> u128 {
        self.hash(&[session])
    }

    fn hash(&self, names: &[&[u8]]) -> u128 {
        use std::hash::Hasher;
        let mut hasher = self.hasher;
        for name in names {
            // The length first: ("ab", "c") is not ("a", "bc").
            hasher.write_u64(name.len() as u64);
            hasher.write(&name[..name.len().min(HASHED_NAME_BYTES)]);
        }
        hasher.finish128().as_u128()
    }
}

impl Shard {
    fn find(&self, id: u128) -> Option<&Key> {
        self.keys.find(id as u64, |key| key.id == id)
    }

    fn find_mut(&mut self, id: u128) -> Option<&mut Key> {
        self.keys.find_mut(id as u64, |key| key.id == id)
    }

    fn insert(&mut self, key: Key, at: &Moment<'_>) -> Result<(), Full> {
        if self.session_is_full(key.session, at.capacity) {
            self.clean_session(key.session, at);
            if self.session_is_full(key.session, at.capacity) {
                return Err(Full::Session);
            }
        }
        at.usage.reserve(&at.usage.keys, 1, at.capacity.keys)?;
        self.sessions
            .entry(
                key.session as u64,
                |listed| listed.session == key.session,
                |listed| listed.session as u64,
            )
            .or_insert_with(|| SessionKeys {
                session: key.session,
                keys: SmallVec::new(),
            })
            .into_mut()
            .keys
            .push(key.id);
        self.keys
            .insert_unique(key.id as u64, key, |key| key.id as u64);
        Ok(())
    }

    fn session_is_full(&self, session: u128, capacity: &Capacity) -> bool {
        self.sessions
            .find(session as u64, |listed| listed.session == session)
            .is_some_and(|listed| listed.keys.len() >= capacity.session_keys_per_shard)
    }

    fn clean_session(&mut self, session: u128, at: &Moment<'_>) {
        let Ok(mut listed) = self
            .sessions
            .find_entry(session as u64, |listed| listed.session == session)
        else {
            return;
        };
        let keys = &mut self.keys;
        listed.get_mut().keys.retain(|&mut id| {
            let Ok(found) = keys.find_entry(id as u64, |key| key.id == id) else {
                return false;
            };
            let expired = found.get().is_expired(at);
            if expired {
                at.usage.release(&found.remove().0);
            }
            !expired
        });
        if listed.get().keys.is_empty() {
            listed.remove();
        }
    }

    fn remove_session(&mut self, session: u128, usage: &Usage) {
        let Ok(found) = self
            .sessions
            .find_entry(session as u64, |listed| listed.session == session)
        else {
            return;
        };
        for id in found.remove().0.keys {
            if let Ok(found) = self.keys.find_entry(id as u64, |key| key.id == id) {
                usage.release(&found.remove().0);
            }
        }
    }

    fn clean(&mut self, buckets: std::ops::Range<usize>, what: Expired, at: &Moment<'_>) -> usize {
        let mut removed = 0;
        for bucket in buckets {
            let Some(key) = self.keys.get_bucket_mut(bucket) else {
                continue;
            };
            let gone = match what {
                Expired::OutsideWindow => key.is_expired(at),
                Expired::OlderThan(ms) => key.forget_older_than(ms.saturating_mul(NS_PER_MS), at),
            };
            if gone && let Ok(found) = self.keys.get_bucket_entry(bucket) {
                let (key, _) = found.remove();
                self.unlist(&key);
                at.usage.release(&key);
                removed += 1;
            }
        }
        removed
    }

    fn unlist(&mut self, key: &Key) {
        let Entry::Occupied(mut found) = self.sessions.entry(
            key.session as u64,
            |listed| listed.session == key.session,
            |listed| listed.session as u64,
        ) else {
            return;
        };
        let ids = &mut found.get_mut().keys;
        if let Some(place) = ids.iter().position(|&id| id == key.id) {
            ids.swap_remove(place);
        }
        if ids.is_empty() {
            found.remove();
        }
    }

    /// Shrinks tables that a burst of keys left mostly empty.
    fn give_memory_back(&mut self) {
        let keys = self.keys.len();
        if self.keys.capacity() > 64 && self.keys.capacity() / 8 > keys {
            self.keys.shrink_to(keys * 2, |key| key.id as u64);
        }
        let sessions = self.sessions.len();
        if self.sessions.capacity() > 64 && self.sessions.capacity() / 8 > sessions {
            self.sessions
                .shrink_to(sessions * 2, |listed| listed.session as u64);
        }
    }
}

impl Key {
    fn first_call(id: u128, session: u128, rate: Rate, now: u64) -> Key {
        Key {
            id,
            session,
            stamps: Stamps::one(now),
            forgotten: None,
            largest_limit: rate.limit,
        }
    }

    fn check(&mut self, rate: Rate, at: &Moment<'_>) -> Result<Verdict, Full> {
        let window_ns = rate.window_ns();
        self.largest_limit = self.largest_limit.max(rate.limit);
        // A clock that goes backwards must not make calls look older than they are.
        let now = at.now_ns.max(self.stamps.newest());
        if let Some(blocking) = self.blocking(rate.limit)
            && within(blocking, now, window_ns)
        {
            let wait_ns = window_ns - (now - blocking);
            return Ok(Verdict::Denied {
                retry_after_ms: wait_ns.div_ceil(NS_PER_MS),
            });
        }
        self.push(now, at)?;
        Ok(Verdict::Admitted)
    }

    /// The call that must have left the window before another one fits: the `limit`-th newest. When
    /// fewer are remembered, it is the newest one of those forgotten, since nobody knows how many
    /// of them the window would count.
    fn blocking(&self, limit: u32) -> Option<u64> {
        match self.stamps.len().checked_sub(limit as usize) {
            Some(place) => self.stamps.get(place),
            None => self.forgotten,
        }
    }

    fn push(&mut self, now: u64, at: &Moment<'_>) -> Result<(), Full> {
        let at_most = self.largest_limit as usize;
        let room = at_most.saturating_sub(self.stamps.len());
        let oldest_expired = || !within(self.stamps.oldest(), now, at.longest_ns);
        if room == 0 || self.stamps.is_full() && oldest_expired() {
            self.forgotten = Some(self.stamps.replace_oldest(now));
            return Ok(());
        }
        if self.stamps.is_full() {
            let more = self.stamps.len().min(room);
            at.usage.grow(&mut self.stamps, more, at.capacity)?;
        }
        self.stamps.push(now);
        Ok(())
    }

    fn is_expired(&self, at: &Moment<'_>) -> bool {
        !within(self.stamps.newest(), at.now_ns, at.longest_ns)
    }

    /// Returns whether nothing would be left, in which case the key is to be dropped.
    fn forget_older_than(&mut self, age_ns: u64, at: &Moment<'_>) -> bool {
        let old = self
            .stamps
            .count_old(|stamp| !within(stamp, at.now_ns, age_ns));
        let nothing_left = old == self.stamps.len();
        if old > 0 && !nothing_left {
            self.stamps.drop_oldest(old);
        }
        nothing_left
    }
}

impl Usage {
    fn grow(&self, stamps: &mut Stamps, more: usize, capacity: &Capacity) -> Result<(), Full> {
        let before = stamps.allocated();
        let wanted = stamps.len() + more - before;
        self.reserve(&self.stamps, wanted, capacity.stamps)?;
        stamps.grow(more);
        // The allocator may have given more than was asked for.
        let surplus = (stamps.allocated() - before).saturating_sub(wanted);
        self.stamps.fetch_add(surplus, Ordering::Relaxed);
        Ok(())
    }

    fn release(&self, key: &Key) {
        self.keys.fetch_sub(1, Ordering::Relaxed);
        self.stamps
            .fetch_sub(key.stamps.allocated(), Ordering::Relaxed);
    }

    fn reserve(&self, counter: &AtomicUsize, more: usize, at_most: usize) -> Result<(), Full> {
        // Threads may overshoot together for a moment, and are then refused together: never above
        // the bound.
        if counter.fetch_add(more, Ordering::Relaxed) + more <= at_most {
            return Ok(());
        }
        counter.fetch_sub(more, Ordering::Relaxed);
        Err(Full::Overall)
    }
}

/// Whether a window that ends now, its end included and its start not, holds `stamp`.
fn within(stamp: u64, now: u64, window_ns: u64) -> bool {
    now.saturating_sub(stamp) < window_ns
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::clock::ManualClock;

    impl RateLimiter {
        /// What the parts of the limiter say about each other must agree; what does not would stay
        /// in memory forever.
        fn assert_consistent(&self) {
            let (mut keys, mut allocated) = (0, 0);
            for shard in &self.shards {
                let shard = shard.0.lock();
                let mut held: Vec<_> = shard.keys.iter().map(|key| (key.session, key.id)).collect();
                let mut listed: Vec<_> = shard
                    .sessions
                    .iter()
                    .flat_map(|listed| listed.keys.iter().map(|&id| (listed.session, id)))
                    .collect();
                held.sort_unstable();
                listed.sort_unstable();
                assert_eq!(held, listed);
                assert!(shard.sessions.iter().all(|listed| !listed.keys.is_empty()));
                keys += shard.keys.len();
                allocated += shard
                    .keys
                    .iter()
                    .map(|key| key.stamps.allocated())
                    .sum::<usize>();
            }
            assert_eq!(self.usage.keys.load(Ordering::Relaxed), keys);
            assert_eq!(self.usage.stamps.load(Ordering::Relaxed), allocated);
            assert!(keys <= self.capacity.keys && allocated <= self.capacity.stamps);
        }
    }

    proptest! {
        #[test]
        fn nothing_is_left_behind(steps in prop::collection::vec((0..20_u8, 0..4_u8, 0..6_u8), 1..300)) {
            let clock = Arc::new(ManualClock::default());
            let capacity = Capacity {
                keys: 12,
                session_keys_per_shard: 1,
                stamps: 100,
            };
            let limiter = RateLimiter::new(capacity, clock.clone());
            for (step, session, tool) in steps {
                match step {
                    0 => limiter.clear_session(&[session]),
                    1 => drop(limiter.cleanup(tool.into())),
                    2 => limiter.make_room(),
                    3 => clock.advance(Duration::from_millis(tool.into())),
                    4 if session == 0 && tool == 0 => limiter.clear_all(),
                    _ => {
                        let rate = Rate::constant(30, 4 + u64::from(tool));
                        for _ in 0..step {
                            limiter.check(&[session], &[tool], rate);
                        }
                    }
                }
            }
            limiter.assert_consistent();
        }
    }
}
