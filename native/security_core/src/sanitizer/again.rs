//! Once found, found everywhere: a value that its name gave away goes wherever else it stands.

use super::bare::number_rule;
use super::beginnings::{Beginnings, alike};
use super::found::Found;
use super::rules::Rule;
use super::shape::*;

/// More values than that are not followed: their own places are redacted anyway.
const MAX_VALUES: usize = 512;
/// Shorter ones are common in any text, longer ones stand once.
const LENGTHS: std::ops::RangeInclusive<usize> = 6..=512;

/// A value found by its name is found by nothing else; what was found by its form is found
/// everywhere.
fn by_name(found: &Found) -> bool {
    found.rank == 1 && found.rule != Rule::Integers as u16
}

/// The findings for all places of the values that `found` has by their names. The places that are
/// found already are among them.
pub(crate) fn everywhere(text: &[u8], found: &[Found]) -> Vec<Found> {
    let mut values: Vec<(&[u8], u16)> = found
        .iter()
        .filter(|found| by_name(found))
        .map(|found| (text[found.start..found.end].trim_ascii(), found.rule))
        .filter(|(value, _)| is_telling(value))
        .collect();
    values.sort_unstable();
    values.dedup_by_key(|(value, _)| *value);
    values.truncate(MAX_VALUES);
    if values.is_empty() {
        return Vec::new();
    }
    let beginnings = Beginnings::of(values.iter().map(|(value, _)| *value));
    let mut everywhere = Vec::new();
    let mut at = 0;
    while let Some(start) = beginnings.next(text, at) {
        let fits = |(value, _): &&(&[u8], u16)| text[start..].starts_with(value);
        // The values are sorted: of those that begin alike the longest comes last.
        let alike = alike(&values, &text[start..], |(value, _)| value);
        let hit = alike.iter().rfind(fits);
        at = start + 1;
        if let Some(&(value, rule)) = hit
            && stands_alone(text, start, start + value.len())
            && let Some(rule) = rule_at(text, start, start + value.len(), rule)
        {
            at = start + value.len();
            everywhere.push(Found {
                start,
                end: at,
                rule,
                rank: 0,
            });
        }
    }
    everywhere
}

/// May this value be looked for everywhere? Not words that stand in any text: it has a digit or a
/// sign, or looks random.
pub(crate) fn is_telling(value: &[u8]) -> bool {
    if !LENGTHS.contains(&value.len()) || distinct(value) < 4 || value.contains(&b'\n') {
        return false;
    }
    let sign = |&b: &u8| {
        b.is_ascii_punctuation() && !matches!(b, b'.' | b'-' | b'_' | b':' | b'/' | b'[' | b']')
    };
    any(value, D) && (any(value, ALPHA) || value.len() >= 8)
        || value.iter().any(sign)
        || looks_random(value, false)
        || value.iter().any(|&b| b >= 0x80)
}

/// A number among data is replaced as one, or not at all: what is data must stay it.
fn rule_at(text: &[u8], start: usize, end: usize, rule: u16) -> Option<u16> {
    let before = text[..start].trim_ascii_end().last();
    let after = text[end..].trim_ascii_start().first();
    let number = all(&text[start..end], D)
        && matches!(before, Some(b':' | b',' | b'[' | b'>'))
        && matches!(after, Some(b',' | b'}' | b']'));
    if !number {
        return Some(rule);
    }
    number_rule(text, start).map(|rule| rule as u16)
}

/// Not a piece of a longer word.
fn stands_alone(text: &[u8], start: usize, end: usize) -> bool {
    let word = |b: u8| is(b, WORD) || b >= 0x80;
    let before = start.checked_sub(1).map_or(b' ', |i| text[i]);
    let after = text.get(end).copied().unwrap_or(b' ');
    // After an escape's letter a word may start.
    let escaped = start >= 2 && text[start - 2] == b'\\';
    (!word(before) || escaped || !word(text[start])) && (!word(after) || !word(text[end - 1]))
}
