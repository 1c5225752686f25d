//! A cell of a table: is its header a secret's name, and is what stands in it secret?

use super::judge::{is_code_of_digits, is_keyword, is_placeholder, names_secret, token_is_secret};
use super::keys::KeyClass;
use super::rules::Rule;
use super::scan::Scan;
use super::shape::*;
use crate::word_list::WordList;

/// What a header's cell says of the column below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// No name of a column: this is no header.
    NoName,
    Plain,
    Secret(KeyClass),
}

/// The longest name of a column.
const MAX_NAME: usize = 48;

pub(super) fn column(scan: &Scan, cell: &[u8]) -> Column {
    let name = cell.trim_ascii();
    let plain = |&b: &u8| {
        is(b, WORD | DOT | DASH) || matches!(b, b' ' | b'(' | b')' | b'#' | b'/') || b >= 0x80
    };
    if name.len() > MAX_NAME || !name.iter().all(plain) || is_number_like(name) {
        return Column::NoName;
    }
    // `u0.password`, `API key`.
    let last = name.rsplit(|&b| b == b'.').next().unwrap_or_default();
    let joined: Vec<u8> = last
        .iter()
        .map(|&b| if b == b' ' { b'_' } else { b })
        .collect();
    match scan.class_of(&joined) {
        KeyClass::Url | KeyClass::None | KeyClass::Weak => Column::Plain,
        class => Column::Secret(class),
    }
}

fn is_number_like(name: &[u8]) -> bool {
    any(name, D) && count(name, D) * 2 > name.len()
}

/// A cell's content, without blanks, quotation marks and code marks round it.
pub(super) fn trim(text: &[u8], mut from: usize, mut to: usize) -> (usize, usize) {
    let around = |b: u8| matches!(b, b' ' | b'\t' | b'\r' | b'*');
    while from < to && around(text[from]) {
        from += 1;
    }
    while from < to && around(text[to - 1]) {
        to -= 1;
    }
    let marks =
        to > from + 1 && text[from] == text[to - 1] && matches!(text[from], b'"' | b'\'' | b'`');
    if marks {
        (from + 1, to - 1)
    } else {
        (from, to)
    }
}

/// Reports the cell if it is secret. In a `sure` table a plain word is a password, too.
pub(super) fn judge(scan: &mut Scan, class: KeyClass, from: usize, to: usize, sure: bool) {
    let value = &scan.text[from..to];
    scan.spend(64 + 12 * value.len());
    if is_secret(class, value, sure) {
        let rule = if class == KeyClass::Password {
            Rule::Password
        } else {
            Rule::Secret
        };
        scan.add(from, to, rule, 1);
        scan.value_until = scan.value_until.max(to);
    }
}

/// Does what stands in a column of this class have to go?
pub(super) fn is_secret(class: KeyClass, value: &[u8], sure: bool) -> bool {
    let value = value.trim_ascii();
    if value.len() < 3 || is_placeholder(value) || is_keyword(value) || names_secret(value) {
        return false;
    }
    let mark = |&b: &u8| {
        b >= 0x80 || b.is_ascii_punctuation() && !matches!(b, b'.' | b'_' | b'-' | b'/' | b':')
    };
    let strong = any(value, D) || value.iter().any(mark);
    match class {
        KeyClass::Password | KeyClass::Field => {
            let words = value.contains(&b' ');
            !words && (strong && value.len() >= 4 || sure && value.len() >= 4 && !is_type(value))
                || words && any(value, D) && sure
        }
        KeyClass::Secret | KeyClass::Token | KeyClass::Auth => {
            let short = sure && value.len() >= 6 && any(value, D) && any(value, ALPHA);
            !value.contains(&b' ') && (token_is_secret(value) || short && !is_dated(value))
        }
        KeyClass::Code => is_code_of_digits(value),
        KeyClass::None | KeyClass::Weak | KeyClass::Url => false,
    }
}

/// `varchar(255)`, `character`: a column's type, in a table of columns.
fn is_type(value: &[u8]) -> bool {
    #[rustfmt::skip]
    static TYPES: WordList = WordList::new(&[
        "bytea", "char", "character", "citext", "public", "text", "varchar",
    ]);
    let word = &value[..run_end(value, 0, ALPHA)];
    TYPES.has_in_any_case(word)
}

/// Dates and times stand beside names in many tables.
fn is_dated(value: &[u8]) -> bool {
    count(value, D) >= 6
        && value
            .iter()
            .all(|&b| is(b, D | DASH | COLON | DOT) || matches!(b, b'T' | b'Z' | b'+' | b' '))
}
