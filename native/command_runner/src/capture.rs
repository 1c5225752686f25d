//! What one output stream of a command left behind: its head, its tail, and how much lay between.
//!
//! Memory is the two budgets, whatever the command writes. The text kept is always valid UTF-8: a
//! character is never cut, and a byte that belongs to no character is shown as `\xNN`. Positions
//! and sizes count the bytes of that text; for output that is valid UTF-8 they are the bytes the
//! command wrote.

use std::collections::VecDeque;

use crate::wire::Term;

/// How many bytes of a stream are kept from its start and from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bytes kept from the start.
    pub head: usize,
    /// Bytes kept from the end.
    pub tail: usize,
}

/// One stream.
pub struct Capture {
    budget: Budget,
    head: Vec<u8>,
    /// Once a byte went past the head, none may enter it again, or the order would break.
    head_full: bool,
    tail: VecDeque<u8>,
    /// Bytes of text seen.
    total: u64,
    /// Bytes as the command wrote them.
    written: u64,
    lines: u64,
    /// The start of a character whose rest has not arrived: at most three bytes.
    partial: Vec<u8>,
}

/// An answer to a read from a position.
#[derive(Debug, PartialEq, Eq)]
pub struct Slice {
    /// The text.
    pub text: Vec<u8>,
    /// Where the next read goes on.
    pub next: u64,
    /// Bytes between the position asked for and the text, which are no longer kept.
    pub dropped: u64,
}

impl Capture {
    /// An empty stream.
    pub fn new(budget: Budget) -> Self {
        Self {
            budget,
            head: Vec::new(),
            head_full: false,
            tail: VecDeque::new(),
            total: 0,
            written: 0,
            lines: 0,
            partial: Vec::new(),
        }
    }

    /// Takes bytes as the command wrote them.
    pub fn push(&mut self, bytes: &[u8]) {
        self.written += bytes.len() as u64;
        if self.partial.is_empty() {
            self.render(bytes);
        } else {
            let mut joined = std::mem::take(&mut self.partial);
            joined.extend_from_slice(bytes);
            self.render(&joined);
        }
    }

    /// The stream is over: what is left of a character that never came whole is shown as bytes.
    pub fn finish(&mut self) {
        let partial = std::mem::take(&mut self.partial);
        self.escape(&partial);
    }

    fn render(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match std::str::from_utf8(bytes) {
                Ok(_) => {
                    self.keep(bytes);
                    return;
                }
                Err(error) => {
                    let (valid, rest) = bytes.split_at(error.valid_up_to());
                    self.keep(valid);
                    let Some(length) = error.error_len() else {
                        self.partial = rest.to_vec();
                        return;
                    };
                    self.escape(&rest[..length]);
                    bytes = &rest[length..];
                }
            }
        }
    }

    fn escape(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.keep(format!("\\x{byte:02X}").as_bytes());
        }
    }

    fn keep(&mut self, text: &[u8]) {
        self.total += text.len() as u64;
        self.lines += newlines(text);
        let mut rest = text;
        if !self.head_full {
            let space = self.budget.head - self.head.len();
            let cut = if text.len() <= space {
                text.len()
            } else {
                boundary_before(text, space)
            };
            self.head_full = cut < text.len();
            self.head.extend_from_slice(&text[..cut]);
            rest = &text[cut..];
        }
        let rest = &rest[rest.len().saturating_sub(self.budget.tail)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.budget.tail);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    /// The tail without the remains of a character that was cut at its front.
    fn whole_tail(&mut self) -> &[u8] {
        let tail = &*self.tail.make_contiguous();
        &tail[boundary_after(tail, 0)..]
    }

    /// Reads up to `limit` bytes from a position on; text that is no longer kept is skipped and
    /// counted.
    pub fn read(&mut self, position: u64, limit: usize) -> Slice {
        let position = position.min(self.total);
        let total = self.total;
        let in_head = usize::try_from(position)
            .ok()
            .filter(|place| *place < self.head.len());
        let (place, source) = match in_head {
            Some(place) => (place, self.head.as_slice()),
            None => {
                let tail = self.whole_tail();
                let first = total - tail.len() as u64;
                (
                    usize::try_from(position.saturating_sub(first)).unwrap_or(0),
                    tail,
                )
            }
        };
        let first = if in_head.is_some() {
            0
        } else {
            total - source.len() as u64
        };
        let start = boundary_after(source, place);
        let end = boundary_before(source, start.saturating_add(limit).min(source.len())).max(start);
        Slice {
            text: source[start..end].to_vec(),
            next: first + end as u64,
            dropped: (first + start as u64).saturating_sub(position),
        }
    }

    /// The stream as the final report tells it.
    pub fn report(&mut self) -> Term {
        let (total, lines, written) = (self.total, self.lines, self.written);
        let tail = self.whole_tail().to_vec();
        let head = self.head.clone();
        let kept = head.len() as u64 + tail.len() as u64;
        let cut_lines = lines - newlines(&head) - newlines(&tail);
        Term::map([
            ("head", Term::Bytes(head)),
            ("tail", Term::Bytes(tail)),
            ("size", Term::count(total)),
            ("bytes", Term::count(written)),
            ("lines", Term::count(lines)),
            ("cut_bytes", Term::count(total - kept)),
            ("cut_lines", Term::count(cut_lines)),
        ])
    }
}

fn newlines(text: &[u8]) -> u64 {
    text.iter().filter(|byte| **byte == b'\n').count() as u64
}

fn is_boundary(text: &[u8], place: usize) -> bool {
    text.get(place).is_none_or(|byte| byte & 0xC0 != 0x80)
}

/// The last character boundary at or before `place`.
fn boundary_before(text: &[u8], place: usize) -> usize {
    (0..=place)
        .rev()
        .find(|place| is_boundary(text, *place))
        .unwrap_or(0)
}

/// The first character boundary at or after `place`.
fn boundary_after(text: &[u8], place: usize) -> usize {
    (place..text.len())
        .find(|place| is_boundary(text, *place))
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn capture(head: usize, tail: usize, chunks: &[&[u8]]) -> Capture {
        let mut capture = Capture::new(Budget { head, tail });
        for chunk in chunks {
            capture.push(chunk);
        }
        capture.finish();
        capture
    }

    fn shown(mut capture: Capture) -> (String, String, u64) {
        let tail = String::from_utf8(capture.whole_tail().to_vec()).unwrap();
        let cut = capture.total - (capture.head.len() + tail.len()) as u64;
        (String::from_utf8(capture.head).unwrap(), tail, cut)
    }

    #[test]
    fn a_short_stream_is_kept_whole() {
        assert_eq!(
            shown(capture(10, 10, &[b"hello"])),
            ("hello".into(), "".into(), 0)
        );
    }

    #[test]
    fn between_head_and_tail_the_middle_is_counted() {
        let capture = capture(4, 3, &[b"abcdef\n", b"ghi\njkl"]);
        assert_eq!(shown(capture), ("abcd".into(), "jkl".into(), 7));
    }

    #[test]
    fn a_stream_that_just_fits_both_budgets_loses_nothing() {
        assert_eq!(
            shown(capture(3, 3, &[b"abc", b"def"])),
            ("abc".into(), "def".into(), 0)
        );
    }

    #[test]
    fn characters_are_not_cut_at_either_end() {
        // Four bytes of head hold one euro sign (three bytes), four bytes of tail another.
        assert_eq!(
            shown(capture(4, 4, &["€€€€".as_bytes()])),
            ("€".into(), "€".into(), 6)
        );
    }

    #[test]
    fn characters_split_over_any_reads_come_whole() {
        let text = "aé€😀z";
        for size in 1..=text.len() {
            let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            assert_eq!(shown(capture(100, 0, &chunks)).0, text);
        }
    }

    #[test]
    fn bytes_that_are_no_character_are_shown_as_bytes() {
        assert_eq!(
            shown(capture(100, 0, &[b"a\xffb\xe2\x82", b"c\xf0\x9f"])).0,
            "a\\xFFb\\xE2\\x82c\\xF0\\x9F"
        );
    }

    #[test]
    fn memory_is_the_budget_however_long_the_stream() {
        let mut capture = Capture::new(Budget {
            head: 100,
            tail: 200,
        });
        let chunk = vec![b'x'; 64 * 1024];
        for _ in 0..1000 {
            capture.push(&chunk);
        }
        assert_eq!(capture.total, 64 * 1024 * 1000);
        assert!(capture.head.capacity() <= 200 && capture.tail.capacity() <= 512);
    }

    #[test]
    fn reading_by_position_brings_each_byte_once_and_counts_the_lost() {
        let mut capture = Capture::new(Budget { head: 0, tail: 6 });
        capture.push(b"abc");
        let slice = capture.read(0, 100);
        assert_eq!(
            (slice.text.as_slice(), slice.next, slice.dropped),
            (b"abc".as_slice(), 3, 0)
        );
        capture.push(b"defghijkl");
        let slice = capture.read(slice.next, 2);
        assert_eq!(
            (slice.text.as_slice(), slice.next, slice.dropped),
            (b"gh".as_slice(), 8, 3)
        );
        let slice = capture.read(slice.next, 100);
        assert_eq!(
            (slice.text.as_slice(), slice.next, slice.dropped),
            (b"ijkl".as_slice(), 12, 0)
        );
        assert_eq!(
            capture.read(99, 100),
            Slice {
                text: vec![],
                next: 12,
                dropped: 0
            }
        );
    }

    #[test]
    fn reading_goes_from_head_over_the_gap_to_the_tail() {
        let mut capture = capture(3, 3, &[b"abcdefghi"]);
        let head = capture.read(1, 100);
        assert_eq!((head.text.as_slice(), head.next), (b"bc".as_slice(), 3));
        let tail = capture.read(head.next, 100);
        assert_eq!(
            (tail.text.as_slice(), tail.next, tail.dropped),
            (b"ghi".as_slice(), 9, 3)
        );
    }

    #[test]
    fn reads_begin_and_end_at_characters() {
        let mut capture = capture(100, 0, &["€x".as_bytes()]);
        assert_eq!(capture.read(0, 3).text, "€".as_bytes());
        assert_eq!(
            capture.read(1, 100),
            Slice {
                text: b"x".to_vec(),
                next: 4,
                dropped: 2
            }
        );
        assert_eq!(capture.read(0, 2).text, b"");
    }
}
