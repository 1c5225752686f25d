//! When a search has to end before it is done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A flag that ends a search from another thread. Clones share the flag; once set it stays set.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the searches that run with this token.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether [`CancelToken::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The token and the deadline of one search.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    pub(crate) token: CancelToken,
    pub(crate) deadline: Instant,
}

impl Stop {
    pub(crate) fn reached(&self) -> bool {
        self.token.is_cancelled() || Instant::now() >= self.deadline
    }
}
