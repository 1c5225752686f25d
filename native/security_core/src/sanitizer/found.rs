//! What a detector found.

/// A finding before it is merged and mapped: `rank` says whose replacement wins where two overlap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) rule: u16,
    pub(crate) rank: u8,
}
