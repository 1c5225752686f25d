//! Time, as something a test can hold in its hand.
//!
//! Everything in this crate that depends on time takes an `Arc<dyn Clock>`: [`SystemClock`] in
//! production, [`ManualClock`] in tests, which then never sleep.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A source of time. Both readings must be cheap: they are taken while a lock is held.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Nanoseconds since a fixed, arbitrary moment; never goes backwards.
    fn monotonic_ns(&self) -> u64;

    /// Wall-clock time in microseconds since the Unix epoch; may jump when the system's time is
    /// set.
    fn unix_us(&self) -> u64;
}

/// The machine's clocks; the monotonic one counts from the moment this value was made.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// A clock whose monotonic reading starts at zero now.
    pub fn new() -> Self {
        SystemClock {
            start: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock::new()
    }
}

impl Clock for SystemClock {
    fn monotonic_ns(&self) -> u64 {
        saturating_u64(self.start.elapsed().as_nanos())
    }

    fn unix_us(&self) -> u64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| saturating_u64(since.as_micros()))
    }
}

/// A clock that moves only when told to. Both readings move together.
#[derive(Debug, Default)]
pub struct ManualClock {
    ns: AtomicU64,
}

impl ManualClock {
    /// A clock that stands at `start`, for both readings.
    pub fn new(start: Duration) -> Self {
        ManualClock {
            ns: AtomicU64::new(saturating_u64(start.as_nanos())),
        }
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.ns
            .fetch_add(saturating_u64(by.as_nanos()), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn monotonic_ns(&self) -> u64 {
        self.ns.load(Ordering::SeqCst)
    }

    fn unix_us(&self) -> u64 {
        self.ns.load(Ordering::SeqCst) / 1_000
    }
}

fn saturating_u64(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}
