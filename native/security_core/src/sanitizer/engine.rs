//! The walk over a text: the prefilter's hits are handed to the detectors, window by window.
//!
//! Linear time is kept three ways: a hit inside a stretch that an earlier one has dealt with is
//! skipped, every look-ahead has a cap, and what is read is counted against a budget for each
//! window. A window that spends its budget is redacted word by word, and the answer says so.

use super::anchors::{Anchor, Speller, Whole, detect, table};
use super::found::Found;
use super::prefilter::{BATCH, Batch, LONG_RUN, Prefilter, long_runs};
use super::rules::Rule;
use super::scan::{Scan, WINDOW};
use super::shape::{ALNUM, D, DASH, DOT, UNJUDGED, is, run_end};
use super::{runs, view};
use std::collections::HashSet;

const _: () = assert!(BATCH >= 64);

/// Of a stretch that can't be judged words from this length on go.
pub(crate) const LONG_WORD: usize = 8;
/// Where there is none of them, words from this length on.
pub(crate) const WORD: usize = 3;

/// Something invisible stands here: the text must be read as a reader sees it.
pub(crate) struct Unseen {
    pub(crate) at: usize,
}

/// How a text is walked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Walk {
    /// As it stands; stops where something invisible is in it.
    Plain,
    /// A view, in which nothing is invisible any more.
    Seen,
    /// The bytes that a stretch of another text spells.
    Nested,
}

/// The prefilter and what its hits mean.
pub(crate) struct Engine {
    filter: Prefilter,
    anchors: Vec<Anchor>,
    /// Normalised names that the configuration adds.
    pub(crate) fields: HashSet<Vec<u8>>,
}

impl Engine {
    pub(crate) fn new(fields: HashSet<Vec<u8>>, field_names: &[String]) -> Engine {
        let (pieces, anchors) = table(field_names);
        Engine {
            filter: Prefilter::new(pieces),
            anchors,
            fields,
        }
    }

    /// A short text that no rule hangs on: to see that costs less than to begin a walk.
    pub(crate) fn is_plain(&self, text: &[u8]) -> bool {
        text.len() < LONG_RUN && !self.filter.may_hit(text)
    }

    /// Every word of `shortest` bytes and more, for a text that can't be judged.
    pub(crate) fn words(&self, text: &[u8], shortest: usize) -> Vec<Found> {
        let mut scan = Scan::new(text, &self.fields);
        redact_words(&mut scan, 0, text.len(), shortest);
        scan.found
    }

    /// Walks over the scan's text from `from` on. The scan is the caller's, for moving one costs as
    /// much as walking over a short text.
    ///
    /// `near` are places in ascending order: where there are some, only their windows and the
    /// neighbours are walked.
    pub(crate) fn walk(
        &self,
        scan: &mut Scan,
        from: usize,
        walk: Walk,
        near: &[usize],
    ) -> Result<(), Unseen> {
        let text = scan.text;
        let mut batch = Batch::new();
        let mut at = from;
        let mut runs_from = from;
        while at < text.len() {
            let end = text.len().min((at / WINDOW + 1) * WINDOW);
            let next = near.partition_point(|&place| place + WINDOW < at);
            let far = near.get(next).is_none_or(|&place| place > end + WINDOW);
            if far && !near.is_empty() {
                at = end;
                runs_from = runs_from.max(at);
                continue;
            }
            scan.enter_window(end - at);
            // A piece is up to four bytes long, and may reach over the window's end.
            let readable = &text[..text.len().min(end + 3)];
            while at < end {
                self.filter.fill(readable, at, &mut batch);
                self.hits(scan, &batch, end, walk)?;
                // Of a stretch that was given up nothing is left to be found.
                at = batch.next.max(scan.given_up).min(end);
            }
            // The window is read again while it is near the processor. A run is read once by the
            // filter and once here, and a few bytes beside it: no budget is needed.
            let stop = run_end(text, end, ALNUM);
            if runs_from < stop {
                long_runs(&text[runs_from..stop], &mut |start| {
                    runs::run(scan, runs_from + start);
                });
                runs_from = stop;
            }
        }
        Ok(())
    }

    fn hits(&self, scan: &mut Scan, batch: &Batch, end: usize, walk: Walk) -> Result<(), Unseen> {
        for hit in batch.hits() {
            let at = hit.at as usize;
            if at >= end {
                break;
            }
            if at < scan.given_up {
                continue;
            }
            if scan.exhausted() {
                redact_words(scan, at, end, LONG_WORD);
                scan.given_up = end;
                continue;
            }
            scan.spend(0);
            match self.anchors[usize::from(hit.id)] {
                Anchor::Invisible if walk != Walk::Plain => {}
                Anchor::Invisible => {
                    if let Some(at) = invisible(scan.text, at) {
                        return Err(Unseen { at });
                    }
                }
                Anchor::Spelled(..) if walk == Walk::Nested => {}
                Anchor::Spelled(speller, whole) => self.spelled(scan, at, speller, whole),
                anchor => detect(scan, anchor, at),
            }
        }
        Ok(())
    }

    /// What a stretch spells in other letters is read as a text of its own; the lines that show
    /// some of a secret go.
    fn spelled(&self, scan: &mut Scan, at: usize, speller: Speller, whole: Whole) {
        let mut bytes = std::mem::take(&mut scan.scratch);
        let lines = speller(scan, at, &mut bytes);
        if !lines.is_empty() && bytes.len() >= 12 {
            let mut inner = Scan::new(&bytes, &self.fields);
            if self.walk(&mut inner, 0, Walk::Nested, &[]).is_ok() {
                for found in &inner.found {
                    let first = lines.partition_point(|line| line.shown <= found.start);
                    let after = lines.partition_point(|line| line.shown < found.end);
                    for line in lines.iter().take(after + 1).skip(first) {
                        if whole == Whole::Yes {
                            scan.add(line.start, line.end, Rule::Integers, 3);
                            scan.value_until = scan.value_until.max(line.end);
                            scan.token_until = scan.token_until.max(line.end);
                        } else {
                            scan.add_numbered(line.start, line.end, found.rule, found.rank);
                        }
                    }
                }
            }
            let work = inner.total_work;
            scan.spend(work);
        }
        scan.scratch = bytes;
    }
}

/// Where the invisible thing begins whose piece stands at `at`; the piece may stand inside the
/// written form: `\u001b`.
fn invisible(text: &[u8], at: usize) -> Option<usize> {
    let start = if text[at..].starts_with(b"001") {
        at.saturating_sub(2)
    } else {
        at
    };
    view::invisible(&text[start..]).map(|_| start)
}

/// The fallback of a window that spent its budget: every word of eight bytes and more goes,
/// whatever it is. Escapes, numbers and the words of JSON stay, so that what was JSON remains JSON.
fn redact_words(scan: &mut Scan, from: usize, to: usize, shortest: usize) {
    scan.over_budget = true;
    let text = scan.text;
    let rule = Rule::OverBudget as u16;
    let mut at = from;
    while at < to {
        if !is(text[at], UNJUDGED) {
            // An escape's letters stay with their backslash.
            at += match text[at] {
                b'\\' if text.get(at + 1) == Some(&b'u') => 6,
                b'\\' => 2,
                _ => 1,
            };
            continue;
        }
        let end = run_end(text, at, UNJUDGED);
        let word = &text[at..end];
        let number = |b: &u8| is(*b, D | DOT | DASH) || matches!(b, b'+' | b'e' | b'E' | b':');
        if word.len() >= shortest && !word.iter().all(number) {
            // Words with but a blank between are one stretch: hostile text has many.
            match scan.found.last_mut() {
                Some(last) if last.end + 1 == at && text[last.end] == b' ' && last.rule == rule => {
                    last.end = end;
                }
                _ => scan.add(at, end, Rule::OverBudget, 0),
            }
        }
        at = end;
    }
}
