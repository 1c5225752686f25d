//! A name that tells of a secret: what it says where it stands, and what follows it.

use super::assertion;
use super::columns;
use super::keys::{KeyClass, classify};
use super::literal::Quote;
use super::marks::mark_at;
use super::name::{self, Key};
use super::prose;
use super::scan::Scan;
use super::separator::{Separator, separator};
use super::shape::*;
use super::statement;
use super::value::judge_value;
use crate::word_list::WordList;

/// A telling word occurs at `at`: reads the whole name, what follows it, and the value.
pub(crate) fn key(scan: &mut Scan, at: usize) {
    if at < scan.key_end {
        return;
    }
    let Some((key, end)) = name::read(scan, at) else {
        return;
    };
    let text = scan.text;
    let form = columns::form(scan, &key);
    let separated = separator(text, &key, end);
    scan.spend(32);
    let before = prose::stands_before(text, &key);
    if form.is_none() && !before && says_nothing(text, &key, separated) {
        return;
    }
    // A mark's own letters are no name.
    if key.start > 0 && mark_at(text, key.start - 1).is_some() {
        return;
    }
    scan.spend(LOOK);
    let class = class(scan, &key, separated);
    if class == KeyClass::None {
        return;
    }
    if before {
        prose::before(scan, &key, class);
    }
    if class >= KeyClass::Token
        && let Some(form) = form
    {
        columns::header(scan, &key, form);
    }
    judge(scan, key, end, class, separated);
}

/// As [`key`], for a name that was read already and is known to tell.
pub(super) fn told(scan: &mut Scan, key: Key, end: usize, class: KeyClass) {
    let text = scan.text;
    scan.spend(LOOK);
    if let Some(form) = columns::form(scan, &key) {
        columns::header(scan, &key, form);
    }
    let separated = separator(text, &key, end);
    judge(scan, key, end, class, separated);
}

/// What a name's place and what follows it say of a value.
fn judge(
    scan: &mut Scan,
    key: Key,
    end: usize,
    class: KeyClass,
    separated: Option<(Separator, usize, bool)>,
) {
    let text = scan.text;
    if class >= KeyClass::Token
        && (statement::told(scan, &key, class)
            || assertion::sides(scan, &key, class)
            || statement::generated(scan, &key, class))
    {
        return;
    }
    let Some((separator, value, tight)) = separated else {
        return;
    };
    // A quotation mark before a name that none closes began the string in which the key and its
    // value stand.
    let closed = key.quote.is_some_and(|quote| match quote {
        Quote::Plain { .. } => Quote::open(text, end).is_some_and(|(mark, _)| mark == quote),
        Quote::Spelled { close } => text[end..].starts_with(close),
    });
    let key = Key {
        quote: key.quote.filter(|_| closed),
        ..key
    };
    judge_value(scan, &key, class, separator, value, tight);
}

/// What the separator, the classes and the look at a value cost at least, in bytes read.
const LOOK: usize = 240;

fn says_nothing(text: &[u8], key: &Key, separated: Option<(Separator, usize, bool)>) -> bool {
    match separated {
        None => !statement::may_tell(text, key) && !assertion::may_have_sides(text, key),
        Some((Separator::Prose, value, _)) => prose::says_nothing(text, key, value),
        Some(_) => false,
    }
}

/// What the name says, with the word before it and the place in which it stands.
fn class(scan: &Scan, key: &Key, separated: Option<(Separator, usize, bool)>) -> KeyClass {
    let text = scan.text;
    let class = scan.class_of(key.name);
    if class > KeyClass::Weak {
        return class;
    }
    let class = match two_words(text, key.start, key.name) {
        // `Cache key`: the word before says that it is none.
        Some(KeyClass::None) => return KeyClass::None,
        Some(more) => class.max(more),
        None => class,
    };
    // A URL's parameters are named tersely: `?key=…&sig=…`.
    let tight = separated.is_some_and(|(_, _, tight)| tight);
    let before = key.start.checked_sub(1).map_or(b'\n', |i| text[i]);
    if class == KeyClass::Weak && tight && matches!(before, b'?' | b'&') {
        return KeyClass::Token;
    }
    class
}

/// `API key`, `secret access key`: what the word before a key in prose makes of it, if it makes
/// anything.
fn two_words(text: &[u8], start: usize, name: &[u8]) -> Option<KeyClass> {
    if start < 3 || text[start - 1] != b' ' || name.len() > 24 {
        return None;
    }
    let lead = text[..start - 1].iter().rev().take(24);
    let from = start - 1 - lead.take_while(|&&b| is(b, WORD)).count();
    let mut joined = [0u8; 64];
    let (first, length) = (&text[from..start - 1], start - 1 - from + 1 + name.len());
    if first.is_empty() || length > joined.len() {
        return None;
    }
    joined[..first.len()].copy_from_slice(first);
    joined[first.len()] = b'_';
    joined[first.len() + 1..length].copy_from_slice(name);
    let both = classify(&joined[..length]);
    (both != KeyClass::None || is_plain_key(first)).then_some(both)
}

/// `Cache key`, `primary key`.
fn is_plain_key(word: &[u8]) -> bool {
    #[rustfmt::skip]
    static WORDS: WordList = WordList::new(&[
        "cache", "foreign", "partition", "primary", "public", "sort",
    ]);
    WORDS.has_in_any_case(word)
}
