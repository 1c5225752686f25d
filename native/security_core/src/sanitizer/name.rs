//! A name in a text: where it starts and ends, and what stands round it.

use super::keys::MAX_NAME;
use super::literal::Quote;
use super::scan::Scan;
use super::shape::*;

/// The bytes of a name.
pub(super) const NAME: u16 = ALNUM | US | DASH | DOT;

/// A key in the text.
pub(super) struct Key<'t> {
    pub(super) name: &'t [u8],
    pub(super) start: usize,
    /// Leading dashes of a command's option.
    pub(super) dashes: usize,
    pub(super) quote: Option<Quote>,
    pub(super) atom: bool,
}

/// The name in which `at` stands, and where it ends.
pub(super) fn read<'t>(scan: &mut Scan<'t>, at: usize) -> Option<(Key<'t>, usize)> {
    let text = scan.text;
    let end = run_end_capped(text, at, NAME, MAX_NAME);
    let lead = text[..at].iter().rev().take(MAX_NAME);
    let left = at - lead.take_while(|&&b| is(b, NAME)).count();
    scan.key_end = end;
    scan.spend(end - left);
    // The `n` of a written line break belongs to no name.
    let mut start = left + escape_letters(&text[left.saturating_sub(1)..end], left > 0);
    if start > at {
        start = left;
    }
    let dashes = text[start..end].iter().take_while(|&&b| b == b'-').count();
    // `[-name=…-]` is a word diff, not an option.
    let dashes = if start > 0 && text[start - 1] == b'[' {
        0
    } else {
        dashes
    };
    let joints = |b: &&u8| matches!(b, b'-' | b'.' | b'_');
    let joined = text[start..end].iter().take_while(joints).count();
    start += joined;
    let trail = text[start.min(end)..end].iter().rev();
    let end = end - trail.take_while(|&&b| matches!(b, b'-' | b'.')).count();
    if start >= end {
        return None;
    }
    // `'$write_key'`: the dollar sign is no part of the name.
    let dollar = start > 1 && text[start - 1] == b'$' && matches!(text[start - 2], b'"' | b'\'');
    let before = start - usize::from(dollar) - joined;
    let quote = Quote::ending_at(text, before - scope(&text[..before]));
    let key = Key {
        name: &text[start..end],
        start,
        dashes,
        quote: quote.map(|(q, _)| q),
        // `12:password: …` is a line's number, not an atom.
        atom: start > 0 && text[start - 1] == b':' && (start == 1 || !is(text[start - 2], ALNUM)),
    };
    Some((key, end))
}

/// The length of the address before a setting of one registry: `"//registry.example/:_authToken"`.
fn scope(lead: &[u8]) -> usize {
    let Some(address) = lead.strip_suffix(b"/:") else {
        return 0;
    };
    let part = |&&b: &&u8| is(b, WORD | DOT | DASH | COLON) || matches!(b, b'/' | b'@');
    let length = address.iter().rev().take(128).take_while(part).count();
    if address[address.len() - length..].starts_with(b"//") {
        length + 2
    } else {
        0
    }
}

/// How many letters and digits at the start of a name belong to an escape before it: `\n`,
/// `\u0022`, `%22`.
fn escape_letters(text: &[u8], preceded: bool) -> usize {
    match text {
        [b'\\', b'u', hex @ ..] if preceded && hex.len() >= 4 && all(&hex[..4], HEX_ANY) => 5,
        [b'\\', b'x', hex @ ..] if preceded && hex.len() >= 2 && all(&hex[..2], HEX_ANY) => 3,
        [b'\\', b'n' | b't' | b'r', ..] if preceded => 1,
        [b'%', hex @ ..] if preceded && hex.len() >= 2 && all(&hex[..2], HEX_ANY) => 2,
        _ => 0,
    }
}
