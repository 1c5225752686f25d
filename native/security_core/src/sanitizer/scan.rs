//! The state of one walk over a text: what was found, how far rules have read, and what may still
//! be spent.

use super::found::Found;
use super::keys::{KeyClass, classify};
use super::rules::Rule;
use super::shape::*;
use std::collections::HashSet;

/// The state of one walk.
pub(crate) struct Scan<'t> {
    pub(crate) text: &'t [u8],
    pub(crate) found: Vec<Found>,
    fields: &'t HashSet<Vec<u8>>,
    /// The end of the name that was looked at last; hits inside it are the same name.
    pub(crate) key_end: usize,
    /// Keys before this stand inside a value that goes anyway.
    pub(crate) value_until: usize,
    /// Token prefixes before this stand inside a token that was dealt with.
    pub(crate) token_until: usize,
    /// Families whose last candidate failed, and how far its run was read.
    pub(crate) rejected: [(u16, usize); 8],
    pub(crate) jwt_until: usize,
    pub(crate) pem_until: usize,
    /// A private key's BEGIN was seen, its END not yet.
    pub(crate) pem_open: bool,
    pub(crate) jwk_until: usize,
    pub(crate) dump_until: usize,
    pub(crate) encoded_until: usize,
    pub(crate) url_end: usize,
    /// Headers of tables before this were read.
    pub(crate) header_until: usize,
    /// From where on there is no quotation mark, and up to where.
    pub(crate) quote_from: (usize, usize),
    /// How far a list of names was looked for backwards, and what stands before the names there.
    pub(crate) names_from: Option<(usize, usize)>,
    /// Reused for decoded lists of codes.
    pub(crate) scratch: Vec<u8>,
    /// What this window may still spend.
    budget: usize,
    /// What was spent over all windows.
    pub(crate) total_work: usize,
    pub(crate) over_budget: bool,
    /// Up to here every long word went, for want of budget.
    pub(crate) given_up: usize,
}

/// Hits are handed over, and budgets given, for windows of this size.
pub(crate) const WINDOW: usize = 64 * 1024;

/// How many bytes may be read for each byte of a window.
const READS_PER_BYTE: usize = 10;
/// What a text of any length may spend besides: of a short one, everything in it may be a name.
const SMALL: usize = 64 * 1024;
/// A value begins no farther behind its name.
const FAR: usize = 512;

/// What all looks at a text of this length may spend together: a look that spent most of its
/// windows' budgets is the last.
pub(crate) fn allowed(length: usize) -> usize {
    2 * (READS_PER_BYTE * length + SMALL)
}

impl<'t> Scan<'t> {
    pub(crate) fn new(text: &'t [u8], fields: &'t HashSet<Vec<u8>>) -> Scan<'t> {
        Scan {
            text,
            found: Vec::new(),
            fields,
            key_end: 0,
            value_until: 0,
            token_until: 0,
            rejected: [(u16::MAX, 0); 8],
            jwt_until: 0,
            pem_until: 0,
            pem_open: false,
            jwk_until: 0,
            dump_until: 0,
            encoded_until: 0,
            url_end: 0,
            header_until: 0,
            quote_from: (0, 0),
            names_from: None,
            scratch: Vec::new(),
            budget: SMALL,
            total_work: 0,
            over_budget: false,
            given_up: 0,
        }
    }

    /// Begins a window of `length` bytes. What the windows before did not spend is there for this
    /// one: a source may speak of tokens in one place and of nothing in the next, and the whole
    /// still costs no more than its length allows.
    pub(crate) fn enter_window(&mut self, length: usize) {
        self.budget += READS_PER_BYTE * length;
    }

    /// Counts bytes that were read beyond the prefilter's own pass, and something for every look.
    pub(crate) fn spend(&mut self, bytes: usize) {
        self.budget = self.budget.saturating_sub(bytes + 8);
        self.total_work += bytes + 8;
    }

    /// Has this window spent what it may?
    pub(crate) fn exhausted(&self) -> bool {
        self.budget == 0
    }

    /// This walk, given up at `at` where something invisible stands, taken up in the text as a
    /// reader sees it: up to `at` it is the same. Says from where on the text must be walked again.
    pub(crate) fn resumed<'v>(self, view: &'v [u8], at: usize) -> (Scan<'v>, usize)
    where
        't: 'v,
    {
        let near = at.saturating_sub(WINDOW) / WINDOW * WINDOW;
        // What reaches so far that its beginning would not be seen again.
        let far = |found: &Found| found.end >= at && found.start < near + FAR;
        let from = if self.pem_open || self.found.iter().any(far) {
            0
        } else {
            near
        };
        let mut found = self.found;
        found.retain(|found| found.end < at);
        let scan = Scan {
            found,
            over_budget: self.over_budget,
            total_work: self.total_work,
            ..Scan::new(view, self.fields)
        };
        (scan, from)
    }

    pub(crate) fn add(&mut self, start: usize, end: usize, rule: Rule, rank: u8) {
        self.add_numbered(start, end, rule as u16, rank);
    }

    pub(crate) fn add_numbered(&mut self, start: usize, end: usize, rule: u16, rank: u8) {
        let start = start + escape_rest(self.text, start);
        if start < end && end <= self.text.len() {
            self.found.push(Found {
                start,
                end,
                rule,
                rank,
            });
        }
    }

    /// What a name says, the configured names included.
    pub(crate) fn class_of(&self, name: &[u8]) -> KeyClass {
        if !self.fields.is_empty() && self.fields.contains(&normal(name)) {
            KeyClass::Field
        } else {
            classify(name)
        }
    }
}

/// How many bytes at `start` belong to an escape that begins before it: a finding never cuts one,
/// so that strings stay valid.
pub(crate) fn escape_rest(text: &[u8], start: usize) -> usize {
    if start == 0 || text[start - 1] != b'\\' {
        return 0;
    }
    match text.get(start) {
        Some(b'n' | b't' | b'r' | b'b' | b'f') => 1,
        Some(b'u') if text.len() >= start + 5 && all(&text[start + 1..start + 5], HEX_ANY) => 5,
        _ => 0,
    }
}

/// A field name without case and separators.
pub(crate) fn normal(name: &[u8]) -> Vec<u8> {
    name.iter()
        .filter(|b| b.is_ascii_alphanumeric())
        .map(u8::to_ascii_lowercase)
        .collect()
}

/// May a token start at `at`? Not inside a word; after an escape (`\n`, `%20`, a colour code) it
/// may.
pub(crate) fn boundary(text: &[u8], at: usize) -> bool {
    let Some(&before) = at.checked_sub(1).and_then(|i| text.get(i)) else {
        return true;
    };
    if !is(before, ALNUM) {
        return true;
    }
    let two = at >= 2
        && text[at - 2] == b'\\'
        && matches!(before, b'n' | b't' | b'r' | b'b' | b'f' | b'e' | b's');
    let percent =
        at >= 3 && text[at - 3] == b'%' && is(text[at - 2], HEX_ANY) && is(before, HEX_ANY);
    let unicode =
        at >= 6 && text[at - 6] == b'\\' && text[at - 5] == b'u' && all(&text[at - 4..at], HEX_ANY);
    let hexadecimal =
        at >= 4 && text[at - 4] == b'\\' && text[at - 3] == b'x' && all(&text[at - 2..at], HEX_ANY);
    two || percent || unicode || hexadecimal
}
