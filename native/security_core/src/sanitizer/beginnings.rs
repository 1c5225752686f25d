//! Where in a text one of many values may begin, all of them looked for at once.

/// So many bytes are looked at together; no value may be shorter.
pub(super) const WINDOW: usize = 4;
/// So many of a value's first bytes are looked for, or as many as the shortest value has.
const SPAN: usize = 16;
/// The table stays near the processor, however many values there are.
const MAX_SLOTS: usize = 1 << 16;

/// The search of Wu and Manber for the beginnings of values: the last bytes of a span say how far
/// away the nearest beginning may be. Faster than an automaton of some hundred values, since most
/// bytes are never looked at.
#[derive(Clone)]
pub(super) struct Beginnings {
    span: usize,
    /// How far to go on from a span with these last bytes, by their hash; none for one that may be
    /// a beginning.
    skips: Box<[u8]>,
}

impl Beginnings {
    pub(super) fn of<'v>(values: impl ExactSizeIterator<Item = &'v [u8]> + Clone) -> Beginnings {
        let shortest = values.clone().map(<[u8]>::len).min();
        let span = shortest.unwrap_or(SPAN).min(SPAN);
        let last = span - WINDOW;
        // Sparse, so that few windows are taken for another.
        let slots = 16 * values.len() * span;
        let slots = slots.next_power_of_two().clamp(1024, MAX_SLOTS);
        let skips = vec![last as u8 + 1; slots].into();
        let mut beginnings = Beginnings { span, skips };
        for value in values {
            for (at, window) in value[..span].windows(WINDOW).enumerate() {
                let slot = beginnings.slot(window);
                let skip = &mut beginnings.skips[slot];
                *skip = (*skip).min((last - at) as u8);
            }
        }
        beginnings
    }

    fn slot(&self, bytes: &[u8]) -> usize {
        let window = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let hash = window.wrapping_mul(0x9e37_79b1) >> 8;
        hash as usize & (self.skips.len() - 1)
    }

    /// The next place from `from` on where a value may begin; there are [`WINDOW`] bytes of it.
    pub(super) fn next(&self, text: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        while let Some(span) = text.get(at..at + self.span) {
            match self.skips[self.slot(&span[self.span - WINDOW..])] {
                0 => return Some(at),
                skip => at += usize::from(skip),
            }
        }
        None
    }
}

/// Those of some sorted things that begin with the same [`WINDOW`] bytes as `text`.
pub(super) fn alike<'s, T>(sorted: &'s [T], text: &[u8], bytes: impl Fn(&T) -> &[u8]) -> &'s [T] {
    let window = &text[..WINDOW];
    let rest = &sorted[sorted.partition_point(|one| bytes(one)[..WINDOW] < *window)..];
    &rest[..rest.partition_point(|one| bytes(one)[..WINDOW] == *window)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_beginning_is_passed_over(
            values in vec(vec(b'a'..=b'c', 4..24), 1..20),
            text in vec(b'a'..=b'c', 0..300),
            planted in any::<prop::sample::Index>(),
        ) {
            let text = [&text[..], &values[planted.index(values.len())]].concat();
            let beginnings = Beginnings::of(values.iter().map(Vec::as_slice));
            let mut at = 0;
            let mut told = Vec::new();
            while let Some(start) = beginnings.next(&text, at) {
                told.push(start);
                at = start + 1;
            }
            let mut sorted = values.clone();
            sorted.sort_unstable();
            for start in 0..text.len() {
                let begins = |value: &&Vec<u8>| text[start..].starts_with(value);
                let expected: Vec<_> = sorted.iter().filter(begins).collect();
                prop_assert!(expected.is_empty() || told.contains(&start), "{start} of {text:?}");
                if told.contains(&start) {
                    let same = alike(&sorted, &text[start..], |value| value);
                    prop_assert_eq!(same.iter().filter(begins).collect::<Vec<_>>(), expected);
                }
            }
        }
    }
}
