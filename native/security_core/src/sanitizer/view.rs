//! The text as a reader sees it: without colour codes, zero-width characters and byte order marks,
//! with plain spaces. Made only when such bytes occur; findings are mapped back to the text that
//! holds them.

/// The readable text, and for stretches of it where they come from.
pub(crate) struct View {
    pub(crate) text: Vec<u8>,
    /// Where in the view and where in the original each stretch of copied bytes starts.
    stretches: Vec<(usize, usize)>,
}

impl View {
    pub(crate) fn of(original: &[u8]) -> View {
        let mut view = View {
            text: Vec::with_capacity(original.len()),
            stretches: vec![(0, 0)],
        };
        let mut copied = 0;
        let mut at = 0;
        while let Some(offset) = next_mark(&original[at..]) {
            let mark = at + offset;
            match invisible(&original[mark..]) {
                Some((length, space)) => {
                    view.text.extend_from_slice(&original[copied..mark]);
                    if space {
                        view.stretches.push((view.text.len(), mark));
                        view.text.push(b' ');
                    }
                    at = mark + length;
                    copied = at;
                    view.stretches.push((view.text.len(), at));
                }
                None => at = mark + 1,
            }
        }
        view.text.extend_from_slice(&original[copied..]);
        view
    }

    /// The range of the original that a range of the view stands for.
    pub(crate) fn origin(&self, start: usize, end: usize) -> (usize, usize) {
        (
            self.position(start),
            self.position(end.saturating_sub(1)) + 1,
        )
    }

    /// Where in the view a place of the original stands, or what comes behind it.
    pub(crate) fn shown(&self, at: usize) -> usize {
        let next = self
            .stretches
            .partition_point(|&(_, original)| original <= at);
        let (view, original) = self.stretches[next.saturating_sub(1)];
        let end = self
            .stretches
            .get(next)
            .map_or(self.text.len(), |&(view, _)| view);
        (view + (at - original)).min(end)
    }

    fn position(&self, at: usize) -> usize {
        let stretch = self
            .stretches
            .partition_point(|&(view, _)| view <= at)
            .saturating_sub(1);
        let (view, original) = self.stretches[stretch];
        original + (at - view)
    }
}

/// The next byte that may begin something invisible: the escape character, a written escape, or a
/// byte of a character above ASCII.
fn next_mark(text: &[u8]) -> Option<usize> {
    // Every byte is looked at with its neighbour. A block at a time: without an early end the
    // comparisons run side by side.
    let mark = |b: u8, next: u8| {
        (b == 0x1b)
            | (b == b'\\')
                & ((next == b'e')
                    | (next == b'u')
                    | (next == b'x')
                    | (next == b'0')
                    | (next == b'\\'))
            | (b == 0xc2) & ((next == 0xa0) | (next == 0xad))
            | (b == 0xe2) & ((next == 0x80) | (next == 0x81))
            | (b == 0xef) & (next == 0xbb)
    };
    let blocks = text.len().saturating_sub(1) / BLOCK;
    for block in 0..blocks {
        let at = block * BLOCK;
        let (these, next) = (&text[at..at + BLOCK], &text[at + 1..at + 1 + BLOCK]);
        let any = these
            .iter()
            .zip(next)
            .fold(false, |any, (&b, &n)| any | mark(b, n));
        if any {
            return these
                .iter()
                .zip(next)
                .position(|(&b, &n)| mark(b, n))
                .map(|i| at + i);
        }
    }
    let rest = &text[blocks * BLOCK..];
    let marked = |i: &usize| mark(rest[*i], rest.get(i + 1).copied().unwrap_or(0));
    (0..rest.len()).find(marked).map(|i| blocks * BLOCK + i)
}

const BLOCK: usize = 32;

/// The length of the invisible thing at the start of `text`, and whether a space stands for it.
pub(crate) fn invisible(text: &[u8]) -> Option<(usize, bool)> {
    match text {
        [0x1b, rest @ ..] => Some((1 + escape(rest)?, false)),
        // A string in a string has more than one backslash before the letter; all of them belong to
        // the escape.
        [b'\\', ..] => {
            let slashes = text.iter().take(16).take_while(|&&b| b == b'\\').count();
            let (letters, rest) = match &text[slashes..] {
                [b'e', rest @ ..] => (1, rest),
                [b'u', b'0', b'0', b'1', b'b' | b'B', rest @ ..] => (5, rest),
                [b'x', b'1', b'b' | b'B', rest @ ..] | [b'0', b'3', b'3', rest @ ..] => (3, rest),
                _ => return None,
            };
            if rest.first() != Some(&b'[') {
                return None;
            }
            Some((slashes + letters + colour(rest)?, false))
        }
        [0xc2, 0xa0, ..] => Some((2, true)),
        [0xc2, 0xad, ..] => Some((2, false)),
        // Zero-width space, joiners, direction marks, word joiner and its neighbours; the narrow
        // space counts as one.
        [0xe2, 0x80, 0x8b..=0x8f | 0xaa..=0xae, ..] | [0xe2, 0x81, 0xa0..=0xaf, ..] => {
            Some((3, false))
        }
        [0xe2, 0x80, 0xaf, ..] => Some((3, true)),
        [0xef, 0xbb, 0xbf, ..] => Some((3, false)),
        _ => None,
    }
}

/// The rest of a terminal's control sequence after its escape character.
fn escape(rest: &[u8]) -> Option<usize> {
    match rest.first()? {
        b'[' => {
            let body = rest
                .iter()
                .skip(1)
                .take(64)
                .position(|b| (0x40..=0x7e).contains(b))?;
            Some(body + 2)
        }
        // A title or a hyperlink: its text is read, since it is kept.
        b']' => {
            let number = rest.iter().skip(1).take(4);
            Some(
                1 + number
                    .take_while(|b| b.is_ascii_digit() || **b == b';')
                    .count(),
            )
        }
        // The string terminator.
        b'\\' => Some(1),
        b'(' | b')' => Some(2.min(rest.len())),
        b'=' | b'>' | b'c' | b'7' | b'8' | b'M' => Some(1),
        _ => None,
    }
}

/// A written colour code: `[`, digits and semicolons, a letter.
fn colour(rest: &[u8]) -> Option<usize> {
    let body = rest
        .iter()
        .skip(1)
        .take(24)
        .take_while(|&&b| b.is_ascii_digit() || b == b';')
        .count();
    matches!(rest.get(1 + body)?, b'm' | b'K' | b'J' | b'H').then_some(body + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_invisible_goes_and_ranges_come_back() {
        let original = "\u{feff}a\x1b[31mb\u{200b}c\u{a0}d\\u001b[0me".as_bytes();
        let view = View::of(original);
        assert_eq!(view.text, b"abc de");
        let (start, end) = view.origin(1, 3);
        assert_eq!(&original[start..end], "b\u{200b}c".as_bytes());
        let places = [0, 3, 4, 8, 9, 10, 12, 13, original.len() - 1];
        assert_eq!(places.map(|at| view.shown(at)), [0, 0, 1, 1, 1, 2, 2, 2, 5]);
        let (start, end) = view.origin(5, 6);
        assert_eq!((&original[start..end], end), (&b"e"[..], original.len()));
    }

    #[test]
    fn other_text_is_copied() {
        assert_eq!(View::of(b"a\\\\u001b[0m\\\"").text, b"a\\\"");
        let original = "naïve “quotes” → \\e no [31m".as_bytes();
        assert_eq!(View::of(original).text, original);
    }
}
