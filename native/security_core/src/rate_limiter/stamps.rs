//! The times of a key's admitted calls.

use smallvec::SmallVec;

/// Times that are kept beside the key itself: most keys never need more, and a check of theirs
/// touches no other memory.
const INLINE: usize = 7;

/// A queue of times in nanoseconds, oldest first, never empty, that grows only when told to.
#[derive(Debug)]
pub(super) struct Stamps {
    /// From `oldest` to the end, then from the start to `oldest`.
    ring: SmallVec<[u64; INLINE]>,
    oldest: u32,
}

impl Stamps {
    pub(super) fn one(stamp: u64) -> Self {
        let mut ring = SmallVec::new();
        ring.push(stamp);
        Stamps { ring, oldest: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.ring.len()
    }

    /// Whether a push needs [`Stamps::grow`] first.
    pub(super) fn is_full(&self) -> bool {
        self.ring.len() == self.ring.capacity()
    }

    /// Times that there is memory for outside the key itself.
    pub(super) fn allocated(&self) -> usize {
        if self.ring.spilled() {
            self.ring.capacity()
        } else {
            0
        }
    }

    /// The time at `place`, counted from the oldest.
    pub(super) fn get(&self, place: usize) -> Option<u64> {
        if place >= self.ring.len() {
            return None;
        }
        let place = place + self.oldest as usize;
        let wrapped = place.checked_sub(self.ring.len()).unwrap_or(place);
        self.ring.get(wrapped).copied()
    }

    pub(super) fn oldest(&self) -> u64 {
        self.get(0).unwrap_or(0)
    }

    pub(super) fn newest(&self) -> u64 {
        self.len()
            .checked_sub(1)
            .and_then(|last| self.get(last))
            .unwrap_or(0)
    }

    /// How many times satisfy `old`, which must hold for a time if it holds for a later one.
    pub(super) fn count_old(&self, old: impl Fn(u64) -> bool) -> usize {
        let (end, start) = self.ring.split_at(self.oldest as usize);
        let in_start = start.partition_point(|&stamp| old(stamp));
        if in_start < start.len() {
            return in_start;
        }
        in_start + end.partition_point(|&stamp| old(stamp))
    }

    /// Makes room for `more` times.
    pub(super) fn grow(&mut self, more: usize) {
        self.straighten();
        self.ring.reserve_exact(more);
    }

    /// Adds the newest time to a queue that is not full.
    pub(super) fn push(&mut self, stamp: u64) {
        self.straighten();
        self.ring.push(stamp);
    }

    /// Adds the newest time in place of the oldest, which is returned.
    pub(super) fn replace_oldest(&mut self, stamp: u64) -> u64 {
        let place = self.oldest as usize;
        let next = place + 1;
        self.oldest = if next == self.ring.len() {
            0
        } else {
            next as u32
        };
        self.ring
            .get_mut(place)
            .map_or(stamp, |oldest| std::mem::replace(oldest, stamp))
    }

    /// Drops the oldest `many` times.
    pub(super) fn drop_oldest(&mut self, many: usize) {
        self.straighten();
        self.ring.drain(..many.min(self.ring.len()));
    }

    fn straighten(&mut self) {
        if self.oldest != 0 {
            self.ring.rotate_left(self.oldest as usize);
            self.oldest = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_like_a_deque(steps in prop::collection::vec((0..4_u8, 1..9_usize), 0..80)) {
            let mut stamps = Stamps::one(0);
            let mut model = VecDeque::from([0]);
            for (now, (step, many)) in (1_u64..).zip(steps) {
                match step {
                    0 => {
                        stamps.replace_oldest(now);
                        model.pop_front();
                        model.push_back(now);
                    }
                    1 if many < model.len() => {
                        stamps.drop_oldest(many);
                        model.drain(..many);
                    }
                    _ => {
                        if stamps.is_full() {
                            stamps.grow(many);
                        }
                        stamps.push(now);
                        model.push_back(now);
                    }
                }
                let all: VecDeque<_> = (0..stamps.len()).filter_map(|n| stamps.get(n)).collect();
                prop_assert_eq!(&all, &model);
                prop_assert_eq!(stamps.get(stamps.len()), None);
                prop_assert_eq!(Some(&stamps.oldest()), model.front());
                prop_assert_eq!(Some(&stamps.newest()), model.back());
                let half = now / 2;
                let old = model.iter().filter(|&&stamp| stamp <= half).count();
                prop_assert_eq!(stamps.count_old(|stamp| stamp <= half), old);
                prop_assert!(stamps.allocated() == 0 || stamps.allocated() >= stamps.len());
            }
        }
    }
}
