//! What stands between a name and its value.

use super::key::{Key, NAME};
use super::literal::{Literal, Quote, skip_blanks, skip_space};
use super::shape::*;

/// What stands between a key and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    Colon,
    Arrow,
    Equals,
    /// `==` and the like: only a literal can be secret.
    Compare,
    /// A tuple or a call's arguments.
    Comma,
    /// `KEY || "default"`, `${KEY:-default}`.
    Default,
    /// A command's option, netrc, `ENV KEY value`.
    Blank,
    /// `<key>value</key>`.
    Markup,
    /// A table's cells.
    Cell,
    /// "the password is …".
    Prose,
    /// `{"name": KEY, "value": …}`.
    Pair,
}

/// What follows the key that ends at `end`: the separator, where the value may start, and whether no blank stands between.
pub(super) fn separator(text: &[u8], key: &Key, end: usize) -> Option<(Separator, usize, bool)> {
    let mut at = end;
    let mut closed = false;
    if let Some(quote) = key.quote {
        let (content, after, complete) = match Quote::open(text, at) {
            Some((mark, after)) if matches!(quote, Quote::Spelled { .. }) || mark == quote => {
                (at, after, true)
            }
            _ => {
                if let Quote::Spelled { close } = quote {
                    if text[at..].starts_with(close) {
                        (at, at + close.len(), true)
                    } else {
                        (at, at, false)
                    }
                } else {
                    (at, at, false)
                }
            }
        };
        if complete && content == at {
            at = after;
            closed = true;
        }
    }
    if text[at..].starts_with(b">>") {
        at += 2;
    }
    let bracketed = key.start > 0 && text[key.start - 1] == b'[';
    let indexed = (closed || bracketed || key.atom) && text.get(at) == Some(&b']');
    at += usize::from(indexed);
    if let Some(value) = answer(text, key, at) {
        return Some((Separator::Arrow, value, false));
    }
    let mut called = false;
    if text.get(at) == Some(&b')') {
        at += 1;
        called = true;
    }
    let gap = skip_blanks(text, at, 60);
    let tight = gap == at;
    let next = text.get(gap + 1).copied().unwrap_or(0);
    let b = *text.get(gap)?;
    if called && !matches!(b, b'|' | b'?' | b'o') {
        return None;
    }
    let found = match b {
        b'=' if next == b'>' => (Separator::Arrow, gap + 2),
        b'=' if next == b'=' => (
            Separator::Compare,
            gap + 2 + usize::from(text.get(gap + 2) == Some(&b'=')),
        ),
        b'=' if next == b'~' => return None,
        b'=' => (Separator::Equals, gap + 1),
        b':' if next == b'=' => (Separator::Equals, gap + 2),
        b':' if next == b':' => return None,
        b':' if next == b'-' => (Separator::Default, gap + 2),
        b':' if key.atom && tight && !closed => return None,
        b':' => (Separator::Colon, gap + 1),
        b'-' if next == b'>' => (Separator::Arrow, gap + 2),
        b'%' if tight && starts_ci(&text[gap..], b"%3d") => (Separator::Equals, gap + 3),
        b'|' if next == b'|' => (Separator::Default, gap + 2),
        b'|' => (Separator::Cell, gap + 1),
        b'?' if next == b'?' => (Separator::Default, gap + 2),
        b'o' if called && next == b'r' => (Separator::Default, gap + 2),
        b',' => {
            let erlang = key.start > 0
                && (text[key.start - 1] == b'{' || text[..key.start].ends_with(b"define("));
            let row = text[..key.start].trim_ascii_end().ends_with(b",");
            // `["pwd"], ["date"]`: two lists, not a key and its value.
            if indexed || !closed && !key.atom && !erlang && !row {
                return None;
            }
            match pair_value(text, gap + 1) {
                Some(value) => (Separator::Pair, value),
                None => (Separator::Comma, gap + 1),
            }
        }
        b'>' if closed => (Separator::Markup, gap + 1),
        b'(' if tight && is_setter(key.name) => (Separator::Comma, last_argument(text, gap + 1)),
        b'>' if key.start > 0 && matches!(text[key.start - 1], b'<' | b':') => {
            (Separator::Markup, gap + 1)
        }
        b'<' if next == b'/' => (Separator::Pair, pair_value(text, gap)?),
        b'\n' | b'\r' => (Separator::Pair, pair_value(text, gap)?),
        _ if !tight && key.dashes > 0 => (Separator::Blank, gap),
        _ if !tight && closed => (Separator::Pair, pair_value(text, gap)?),
        _ if !tight => (Separator::Prose, gap),
        b'\'' if &text[key.start..end] == b"PASSWORD" => (Separator::Blank, gap),
        _ => return None,
    };
    let wide = text.get(found.1).is_none_or(|b| b.is_ascii_whitespace());
    Some((found.0, found.1, tight && !wide))
}

/// `setApiToken("…")`, `set_cookie(node(), …)`.
pub(super) fn is_setter(name: &[u8]) -> bool {
    let last = name.rsplit(|&b| b == b'.').next().unwrap_or_default();
    starts_ci(last, b"set") || starts_ci(last, b"with")
}

/// Where the last of at most two plain arguments starts.
fn last_argument(text: &[u8], at: usize) -> usize {
    let first = run_end_capped(text, at, WORD | DOT | COLON, 40);
    let first = if text[first..].starts_with(b"()") {
        first + 2
    } else {
        first
    };
    if first > at && text.get(first) == Some(&b',') {
        skip_blanks(text, first + 1, 8)
    } else {
        at
    }
}

/// `iex> System.get_env("KEY")`, and the value on the next line; `secret #=> "…"`, as a debugger prints it.
fn answer(text: &[u8], key: &Key, from: usize) -> Option<usize> {
    let closers = text[from..]
        .iter()
        .take(4)
        .take_while(|&&b| matches!(b, b'(' | b')' | b']' | b'}' | b'.'))
        .count();
    let at = skip_blanks(text, from + closers, 40);
    match text.get(at)? {
        b'#' => {
            let arrow = skip_blanks(text, at + 1, 4);
            text[arrow..].starts_with(b"=>").then_some(arrow + 2)
        }
        b'\n' if matches!(text.get(at + 1), Some(b'"' | b'~' | b'\'' | b'<' | b':')) => {
            let lead = line_lead(text, key.start, 160).trim_ascii_start();
            (lead.starts_with(b"iex") || memchr::memmem::find(lead, b"> ").is_some())
                .then_some(at + 1)
        }
        _ => None,
    }
}

/// Is a name with a comma and a literal behind it a pair, not two elements of a longer list?
pub(super) fn is_pair(text: &[u8], key: &Key, literal: &Literal) -> bool {
    let quote = key.quote.map_or(0, |quote| match quote {
        Quote::Plain { slashes, .. } => slashes + 1,
        Quote::Spelled { close } => close.len(),
    });
    let quote = quote + usize::from(key.start > 0 && text[key.start - 1] == b'$');
    let open = key
        .start
        .saturating_sub(quote.max(usize::from(key.atom)) + key.dashes);
    let mut before = text[..open]
        .iter()
        .rev()
        .take(60)
        .filter(|b| !b.is_ascii_whitespace() && **b != b'<');
    let first = before.next().copied().unwrap_or(b'\n');
    let mut next = skip_space(text, literal.after, 60);
    // `<<"…"/utf8>>`
    if text.get(next) == Some(&b'/') {
        next = run_end_capped(text, next + 1, ALNUM, 12);
    }
    let next = if text[next..].starts_with(b">>") {
        skip_space(text, next + 2, 60)
    } else {
        next
    };
    let last = text.get(next).copied().unwrap_or(b'\n');
    // In a longer row of words the next one is a value only if it is no word.
    let word = all(&text[literal.start..literal.end], L | US | DASH);
    match first {
        b'{' => last == b'}' || !word,
        b'[' => last == b']',
        b'(' => last == b')',
        b',' => last == b')' && !word,
        _ => false,
    }
}

/// The value's place in a pair of members `name` and `value`, from behind the name on.
fn pair_value(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    if text[at..].starts_with(b"</") {
        at = run_end_capped(text, at + 2, NAME | COLON, 40);
        if text.get(at) != Some(&b'>') {
            return None;
        }
        at += 1;
    }
    let limit = text.len().min(at + 160);
    while at < limit {
        match text[at] {
            b' ' | b'\t' | b'\n' | b'\r' | b',' | b'<' | b':' | b'"' | b'\'' | b'-' | b'%'
            | b'{' | b'}' | b'@' => at += 1,
            b'\\' => {
                at += if matches!(text.get(at + 1), Some(b'n' | b't' | b'r')) {
                    2
                } else {
                    1
                }
            }
            _ => break,
        }
    }
    let mut end = run_end_capped(text, at, ALPHA | US, 24);
    // Other attributes of the same element may stand between.
    for _ in 0..4 {
        let other = matches!(
            &text[at..end],
            b"name" | b"id" | b"class" | b"placeholder" | b"type" | b"autocomplete"
        );
        let Some((quote, start)) =
            Quote::open(text, end + 1).filter(|_| other && text.get(end) == Some(&b'='))
        else {
            break;
        };
        let (_, after, _) = quote.close(text, start);
        at = skip_blanks(text, after.min(start + 80), 8);
        end = run_end_capped(text, at, ALPHA | US, 24);
    }
    let word = &text[at..end];
    const NAMES: &[&[u8]] = &[
        b"value",
        b"val",
        b"content",
        b"secret_value",
        b"plaintext",
        b"default",
        b"string",
        b"defaultvalue",
        b"default_value",
        b"secretvalue",
        b"secretstring",
    ];
    if !NAMES.iter().any(|name| word.eq_ignore_ascii_case(name)) {
        return None;
    }
    let mut at = end;
    if let Some((_, after)) = Quote::open(text, at) {
        at = after;
    }
    at = skip_blanks(text, at, 20);
    match text.get(at)? {
        b'=' if text.get(at + 1) == Some(&b'>') => Some(at + 2),
        // `field :password, :string, …` is a type; only a property list has `<string>`.
        b':' | b'=' | b',' if !word.eq_ignore_ascii_case(b"string") => Some(at + 1),
        b'>' => Some(at + 1),
        _ => None,
    }
}
