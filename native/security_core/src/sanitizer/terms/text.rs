//! Texts that terms hold in pieces: names, charlists, lines, iodata.

use super::{Kind, REDACTED, Replaced, Terms};
use crate::sanitizer::Span;

/// Names longer than this are not names.
const MAX_NAME: usize = 256;

/// The text of a key that is not text itself, empty when it can't be a name, and what reading it
/// cost in bytes. `{:db, :password}` is a name too: `db_password`.
///
/// It must say the same once its parts are redacted. So a part in front counts only if it is made
/// of words, which neither `password=x` nor a random value is, nor the mark that takes their place;
/// and a mark at the end leaves nothing to be said.
pub(super) fn name<T: Terms>(terms: &T, key: &T::Term) -> (Vec<u8>, usize) {
    let Kind::Tuple = terms.kind(key) else {
        return plain_name(terms, key);
    };
    let elements = terms.elements(key);
    let mut cost = elements.len() * 8;
    let (mut front, mut last) = (Vec::new(), Vec::new());
    for part in &elements {
        let (name, more) = plain_name(terms, part);
        cost += more;
        if name.is_empty() || front.len() + name.len() >= MAX_NAME {
            continue;
        }
        if is_words(&last) {
            front.append(&mut last);
            front.push(b'_');
        }
        last = name;
    }
    if last.contains(&b'=') || last == REDACTED.as_bytes() {
        return (Vec::new(), cost);
    }
    front.append(&mut last);
    (front, cost)
}

/// Whether these bytes can only be words: nothing of them is redacted by what it looks like.
fn is_words(name: &[u8]) -> bool {
    let word = |b: &u8| b.is_ascii_alphanumeric() || b"_-. ?!".contains(b) || !b.is_ascii();
    let random = name.len() >= 16 && name.iter().any(u8::is_ascii_digit);
    !name.is_empty() && !random && name.iter().all(word)
}

fn plain_name<T: Terms>(terms: &T, key: &T::Term) -> (Vec<u8>, usize) {
    match terms.kind(key) {
        Kind::Atom(_) => (terms.atom_name(key).into_bytes(), 16),
        Kind::Text(text) if text.len() <= MAX_NAME => (text.to_vec(), text.len()),
        Kind::List => charlist_name(terms, key),
        _ => (Vec::new(), 0),
    }
}

fn charlist_name<T: Terms>(terms: &T, key: &T::Term) -> (Vec<u8>, usize) {
    let mut name = Vec::new();
    let mut rest = key.clone();
    while let Some((head, tail)) = terms.cell(&rest) {
        let cost = 4 * name.len();
        match byte(terms, &head) {
            Some(byte) if name.len() < MAX_NAME => name.push(byte),
            _ => return (Vec::new(), cost),
        }
        rest = tail;
    }
    let cost = 4 * name.len();
    if !is_list(terms, &rest) {
        name.clear();
    }
    (name, cost)
}

pub(super) fn is_list<T: Terms>(terms: &T, term: &T::Term) -> bool {
    matches!(terms.kind(term), Kind::List)
}

pub(super) fn is_empty_list<T: Terms>(terms: &T, term: &T::Term) -> bool {
    is_list(terms, term) && terms.cell(term).is_none()
}

pub(super) fn byte<T: Terms>(terms: &T, term: &T::Term) -> Option<u8> {
    match terms.kind(term) {
        Kind::Integer(Some(number)) => u8::try_from(number).ok(),
        _ => None,
    }
}

/// The text of a list of characters. Nothing but characters counts, control characters besides
/// white space excluded.
pub(super) fn charlist<T: Terms>(terms: &T, elements: &[T::Term]) -> Option<String> {
    let char = |element| {
        let Kind::Integer(Some(number)) = terms.kind(element) else {
            return None;
        };
        let char = char::from_u32(number)?;
        (!char.is_control() || matches!(char, '\n' | '\r' | '\t' | '\u{1b}')).then_some(char)
    };
    elements.iter().map(char).collect()
}

/// The texts of a list that holds nothing else.
pub(super) fn texts<'t, T: Terms>(terms: &'t T, elements: &'t [T::Term]) -> Option<Vec<&'t [u8]>> {
    let text = |element| match terms.kind(element) {
        Kind::Text(text) => Some(text),
        _ => None,
    };
    elements.iter().map(text).collect()
}

/// The bytes of iodata; `None` when there are more than `limit`.
pub(super) fn flatten<T: Terms>(terms: &T, term: &T::Term, limit: usize) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut stack = vec![term.clone()];
    while let Some(term) = stack.pop() {
        match terms.kind(&term) {
            Kind::Text(piece) => text.extend_from_slice(piece),
            Kind::Integer(_) => text.extend(byte(terms, &term)),
            _ => {
                if let Some((head, tail)) = terms.cell(&term) {
                    stack.push(tail);
                    stack.push(head);
                }
            }
        }
        if text.len() > limit {
            return None;
        }
    }
    Some(text)
}

/// Lines as one text, a line break after each.
pub(super) fn join(texts: &[&[u8]]) -> Vec<u8> {
    let mut joined = Vec::with_capacity(texts.iter().map(|text| text.len() + 1).sum());
    for text in texts {
        joined.extend_from_slice(text);
        joined.push(b'\n');
    }
    joined
}

/// The lines of a joined text without what `spans` cover. Each keeps its place; the replacement
/// stands where a span began.
pub(super) fn cut(texts: &[&[u8]], joined: &[u8], spans: &[Span<'_>]) -> Vec<Vec<u8>> {
    let mut lines = Vec::with_capacity(texts.len());
    let mut spans = spans.iter().peekable();
    let mut start = 0;
    for text in texts {
        let end = start + text.len();
        let mut line = Vec::with_capacity(text.len());
        let mut at = start;
        while let Some(span) = spans.peek() {
            if span.start >= end && !(span.start == end && text.is_empty()) {
                break;
            }
            let from = span.start.max(start);
            line.extend_from_slice(&joined[at.min(from)..from]);
            if span.start >= start {
                line.extend_from_slice(span.replacement.as_bytes());
            }
            at = span.end.min(end).max(at);
            if span.end > end {
                break;
            }
            spans.next();
        }
        if at < end {
            line.extend_from_slice(&joined[at..end]);
        }
        lines.push(line);
        start = end + 1;
        // A span that ended in the line break belongs to no later line.
        while spans.next_if(|span| span.end <= start).is_some() {}
    }
    lines
}

/// A parsed URL keeps its password in fields whose names don't say so: the map without them, and how
/// many there were.
pub(super) fn uri<T: Terms>(
    terms: &T,
    map: &T::Term,
    members: &[(T::Term, T::Term)],
) -> Option<(T::Term, usize)> {
    let mut replaced = Vec::new();
    for (key, value) in members {
        let (Kind::Atom(_), Kind::Text(text)) = (terms.kind(key), terms.kind(value)) else {
            continue;
        };
        let end = match terms.atom_name(key).as_str() {
            "userinfo" => Some(text.len()),
            "authority" => text.iter().rposition(|byte| *byte == b'@'),
            _ => continue,
        };
        let start = text.iter().position(|byte| *byte == b':');
        if let (Some(start), Some(end)) = (start, end)
            && start + 1 < end
        {
            let parts = [&text[..=start], REDACTED.as_bytes(), &text[end..]];
            replaced.push(Replaced {
                key: key.clone(),
                new_key: None,
                value: terms.text(&parts.concat()),
            });
        }
    }
    let passwords = replaced.len();
    (passwords > 0).then(|| (terms.replaced(map, replaced), passwords))
}
