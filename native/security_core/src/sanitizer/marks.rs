//! The texts that the redactor writes itself. They hold no secret, so a finding that is made of
//! them is none; and they prove nothing about what stands beside them, since anybody can write
//! `[REDACTED]`.
//!
//! That is what makes redaction come to rest: a finding that reaches into a mark takes it whole, so
//! that each further pass leaves fewer bytes that are no mark.

use super::found::Found;
use super::rules::RULES;
use aho_corasick::{AhoCorasick, MatchKind};
use std::borrow::Cow;
use std::sync::OnceLock;

/// Replacements shorter than this are common text; a secret could be made of them.
const MIN_MARK: usize = 4;

/// Finds marks in a text.
pub(crate) struct Marks {
    searcher: Option<AhoCorasick>,
    /// Every mark begins with one of these two bytes.
    begins: Option<[u8; 2]>,
}

/// What is left of a finding once marks are taken into account.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Nothing but marks.
    Empty,
    /// From here to there, every mark in it whole.
    Whole(usize, usize),
}

impl Marks {
    /// The marks of the built-in rules, and `others`.
    pub(crate) fn new<'r>(others: impl Iterator<Item = &'r str>) -> Marks {
        let marks: Vec<&str> = RULES
            .iter()
            .map(|rule| rule.replacement)
            .chain(others)
            // A string's mark is the one between its quotation marks.
            .filter(|text| text.len() >= MIN_MARK && !text.ends_with('"'))
            .collect();
        let mut begins: Vec<u8> = marks.iter().map(|mark| mark.as_bytes()[0]).collect();
        begins.sort_unstable();
        begins.dedup();
        let begins = <[u8; 2]>::try_from(begins).ok();
        // Without a searcher no mark is known: more goes than must, and nothing stays that should
        // go.
        Marks {
            searcher: AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(marks)
                .ok(),
            begins,
        }
    }

    fn built_in() -> &'static Marks {
        static BUILT_IN: OnceLock<Marks> = OnceLock::new();
        BUILT_IN.get_or_init(|| Marks::new(std::iter::empty()))
    }

    fn each(&self, text: &[u8]) -> impl Iterator<Item = (usize, usize)> {
        self.searcher
            .iter()
            .flat_map(move |searcher| searcher.find_iter(text))
            .map(|hit| (hit.start(), hit.end()))
    }

    /// The marks in and beside the findings, which are in ascending order. Where these stand close
    /// together the text is searched once.
    pub(crate) fn near(&self, text: &[u8], found: &[Found]) -> Near {
        let mut marks = Vec::new();
        let mut found = found.iter().peekable();
        while let Some(first) = found.next() {
            // A mark is at most 64 bytes long; one that begins before this does not reach into the
            // finding.
            let from = first.start.saturating_sub(64);
            let mut to = first.end + 64;
            while let Some(next) = found.next_if(|next| next.start <= to + 64) {
                to = to.max(next.end + 64);
            }
            let stretch = &text[from..text.len().min(to)];
            let may = self
                .begins
                .is_none_or(|[one, two]| memchr::memchr2(one, two, stretch).is_some());
            if may {
                let here = self.each(stretch);
                marks.extend(here.map(|(start, end)| (from + start, from + end)));
            }
        }
        Near(marks)
    }
}

/// Marks of a text, in ascending order.
pub(crate) struct Near(Vec<(usize, usize)>);

impl Near {
    /// Widens the finding over the marks that it reaches into.
    pub(crate) fn reach(&self, start: usize, end: usize) -> Reach {
        let next = self.0.partition_point(|&(_, after)| after <= start);
        let (mut first, mut last, mut marked) = (start, end, 0);
        for &(mark, after) in self.0[next..].iter().take_while(|(mark, _)| *mark < end) {
            first = first.min(mark);
            last = last.max(after);
            marked += after - mark;
        }
        if marked == last - first {
            Reach::Empty
        } else {
            Reach::Whole(first, last)
        }
    }
}

/// The length of the mark at `at`, if a rule's replacement stands there.
pub(crate) fn mark_at(text: &[u8], at: usize) -> Option<usize> {
    if !text.get(at..)?.starts_with(b"[REDACTED") {
        return None;
    }
    let end = text.len().min(at + 64);
    Marks::built_in()
        .each(&text[at..end])
        .next()
        .and_then(|(start, length)| (start == 0).then_some(length))
}

/// A value without the marks in it: what remains is judged on its own.
pub(crate) fn without(value: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'[', value).is_none() {
        return Cow::Borrowed(value);
    }
    let (mut rest, mut copied) = (Vec::new(), 0);
    for (start, end) in Marks::built_in().each(value) {
        rest.extend_from_slice(&value[copied..start]);
        copied = end;
    }
    rest.extend_from_slice(&value[copied..]);
    Cow::Owned(rest)
}

/// The first and the last byte of `line` that belong to marks.
pub(crate) fn extent(line: &[u8]) -> Option<(usize, usize)> {
    memchr::memchr(b'[', line)?;
    let mut marks = Marks::built_in().each(line);
    let first = marks.next()?;
    Some((first.0, marks.last().unwrap_or(first).1))
}

/// Where the marks that begin at `at` end.
pub(crate) fn skip(text: &[u8], at: usize) -> usize {
    let mut at = at;
    while let Some(length) = mark_at(text, at) {
        at += length;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_takes_marks_whole_or_is_none() {
        let text = b"ab [REDACTED][REDACTED_JWT] cd";
        for (start, end, reach) in [
            (3, 27, Reach::Empty),
            (5, 8, Reach::Empty),
            (5, 30, Reach::Whole(3, 30)),
            (0, 4, Reach::Whole(0, 13)),
            (0, 3, Reach::Whole(0, 3)),
        ] {
            let (rule, rank) = (0, 1);
            let found = Found {
                start,
                end,
                rule,
                rank,
            };
            let near = Marks::built_in().near(text, &[found]);
            assert_eq!(near.reach(start, end), reach);
        }
    }

    #[test]
    fn only_what_a_rule_writes_is_a_mark() {
        assert_eq!(mark_at(b"x [REDACTED_JWT] y", 2), Some(14));
        assert_eq!(mark_at(b"[REDACTED_HUNTER]", 0), None);
        assert_eq!(&*without(b"a[REDACTED]b"), b"ab");
        assert_eq!(&*without(b"[REDACTED_HUNTER]"), b"[REDACTED_HUNTER]");
    }
}
