//! A name that tells of a secret: where it starts and ends, what it says, and what follows it.

use super::keys::{KeyClass, MAX_NAME, classify};
use super::literal::Quote;
use super::marks::mark_at;
use super::prose;
use super::scan::Scan;
use super::separator::{Separator, separator};
use super::shape::*;
use super::value::judge_value;

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

/// A telling word occurs at `at`: reads the whole name, what follows it, and the value.
pub(crate) fn key(scan: &mut Scan, at: usize) {
    if at < scan.key_end {
        return;
    }
    let text = scan.text;
    let end = run_end_capped(text, at, NAME, MAX_NAME);
    let left = at
        - text[..at]
            .iter()
            .rev()
            .take(MAX_NAME)
            .take_while(|&&b| is(b, NAME))
            .count();
    scan.key_end = end;
    scan.spend(end - left);
    // The `n` of a written line break belongs to no name.
    let mut start = left + escape_letters(&text[left.saturating_sub(1)..end], left > 0);
    if start > at {
        start = left;
    }
    let dashes = text[start..end].iter().take_while(|&&b| b == b'-').count();
    start += text[start..end]
        .iter()
        .take_while(|&&b| matches!(b, b'-' | b'.' | b'_'))
        .count();
    let trail = text[start.min(end)..end]
        .iter()
        .rev()
        .take_while(|&&b| matches!(b, b'-' | b'.'))
        .count();
    let end = end - trail;
    if start >= end {
        return;
    }
    // `'$write_key'`: the dollar sign is no part of the name.
    let dollar = start > 1 && text[start - 1] == b'$' && matches!(text[start - 2], b'"' | b'\'');
    let quote = Quote::ending_at(text, start - usize::from(dollar) - dashes.min(start));
    let before = if start > 0 { text[start - 1] } else { b'\n' };
    let key = Key {
        name: &text[start..end],
        start,
        dashes,
        quote: quote.map(|(q, _)| q),
        atom: before == b':',
    };
    let Some((separator, value, tight)) = separator(text, &key, end) else {
        return;
    };
    if separator == Separator::Prose && prose::says_nothing(text, &key, value) {
        return;
    }
    // A quotation mark before a name that none closes began the string in which the key and its value stand.
    let closed = key.quote.is_some_and(|quote| match quote {
        Quote::Plain { .. } => Quote::open(text, end).is_some_and(|(mark, _)| mark == quote),
        Quote::Spelled { close } => text[end..].starts_with(close),
    });
    let key = Key {
        quote: key.quote.filter(|_| closed),
        ..key
    };
    // A mark's own letters are no name.
    if start > 0 && mark_at(text, start - 1).is_some() {
        return;
    }
    let mut class = scan.class_of(key.name);
    if class <= KeyClass::Weak {
        class = class.max(two_words(text, start, key.name));
    }
    if class == KeyClass::None {
        return;
    }
    // A URL's parameters are named tersely: `?key=…&sig=…`.
    if class == KeyClass::Weak && tight && matches!(before, b'?' | b'&') {
        class = KeyClass::Token;
    }
    scan.spend(64);
    judge_value(scan, &key, class, separator, value, tight);
}

/// How many letters and digits at the start of a name belong to an escape before it: `\n`, `\u0022`, `%22`.
fn escape_letters(text: &[u8], preceded: bool) -> usize {
    match text {
        [b'\\', b'u', hex @ ..] if preceded && hex.len() >= 4 && all(&hex[..4], HEX_ANY) => 5,
        [b'\\', b'x', hex @ ..] if preceded && hex.len() >= 2 && all(&hex[..2], HEX_ANY) => 3,
        [b'\\', b'n' | b't' | b'r', ..] if preceded => 1,
        [b'%', hex @ ..] if preceded && hex.len() >= 2 && all(&hex[..2], HEX_ANY) => 2,
        _ => 0,
    }
}

/// `API key`, `secret access key`: the word before a key in prose.
fn two_words(text: &[u8], start: usize, name: &[u8]) -> KeyClass {
    if start < 3 || text[start - 1] != b' ' || name.len() > 24 {
        return KeyClass::None;
    }
    let from = start
        - 1
        - text[..start - 1]
            .iter()
            .rev()
            .take(24)
            .take_while(|&&b| is(b, WORD))
            .count();
    let mut joined = [0u8; 64];
    let (first, length) = (&text[from..start - 1], start - 1 - from + 1 + name.len());
    if first.is_empty() || length > joined.len() {
        return KeyClass::None;
    }
    joined[..first.len()].copy_from_slice(first);
    joined[first.len()] = b'_';
    joined[first.len() + 1..length].copy_from_slice(name);
    classify(&joined[..length])
}
