//! Values that stand against each other: the two sides of a failed assertion, whose code names
//! them.

use super::cell;
use super::keys::KeyClass;
use super::literal::{Kind, marked, skip_blanks, skip_space};
use super::name::Key;
use super::scan::Scan;
use super::shape::*;

/// How far behind its code an assertion's sides are looked for.
const MAX_REACH: usize = 4096;

/// Does the name stand in an assertion's code?
pub(super) fn may_have_sides(text: &[u8], key: &Key) -> bool {
    let next = text.get(key.start + key.name.len());
    matches!(
        next,
        Some(b'(' | b'"' | b']' | b'?' | b'!' | b'\n' | b')' | b' ')
    ) && line_lead(text, key.start, 200)
        .trim_ascii_start()
        .starts_with(b"code:")
}

/// `code: assert Acme.password() == "…"`, then `left: "…"` and `right: "…"`. Says whether the name
/// stands in such code.
pub(super) fn sides(scan: &mut Scan, key: &Key, class: KeyClass) -> bool {
    let text = scan.text;
    let lead = line_lead(text, key.start, 200).trim_ascii_start();
    let Some(code) = lead.strip_prefix(b"code:").map(<[u8]>::trim_ascii_start) else {
        return false;
    };
    if !code.starts_with(b"assert") && !code.starts_with(b"refute") {
        return false;
    }
    let mut at = key.start + key.name.len();
    let limit = text.len().min(at + MAX_REACH);
    let line = memchr::memchr(b'\n', &text[at..limit]).map_or(limit, |offset| at + offset);
    scan.spend(line - at + code.len() + 64);
    match compared(&text[at..line]) {
        Some(operator) => quoted(scan, class, skip_space(text, at + operator, 80), line),
        // `assert "…" == user.password`
        None => match literal_before(code, key.start - code.len()) {
            Some((start, end)) => cell::judge(scan, class, start, end, true),
            None => return false,
        },
    }
    // Only two lines: what follows them is the next thing.
    at = line;
    for side in [&b"left:"[..], b"right:"] {
        let start = skip_space(text, at, 80);
        if !text[start..].starts_with(side) {
            break;
        }
        at = memchr::memchr(b'\n', &text[start..limit]).map_or(limit, |offset| start + offset);
        quoted(scan, class, skip_blanks(text, start + side.len(), 8), at);
    }
    true
}

/// Where behind the name a comparison's second side starts; the name is all of the first side.
fn compared(code: &[u8]) -> Option<usize> {
    let closing = |b: &&u8| matches!(b, b'(' | b')' | b']' | b'"' | b'\'' | b' ' | b'?' | b'!');
    let at = code.iter().take_while(closing).count();
    let operators: [&[u8]; 5] = [b"===", b"!==", b"==", b"!=", b"=~"];
    let operator = operators.iter().find(|o| code[at..].starts_with(o))?;
    Some(at + operator.len())
}

/// The literal that stands before `== ` at the end of `code`.
fn literal_before(code: &[u8], from: usize) -> Option<(usize, usize)> {
    let first = code
        .strip_suffix(b"== ")
        .or(code.strip_suffix(b"!= "))?
        .trim_ascii_end();
    let first = first.strip_suffix(b"\"")?;
    let open = memchr::memrchr(b'"', first)?;
    Some((from + open + 1, from + first.len()))
}

fn quoted(scan: &mut Scan, class: KeyClass, at: usize, limit: usize) {
    let literal =
        marked(scan.text, at).filter(|l| matches!(l.kind, Kind::Quoted(_)) && l.end <= limit);
    if let Some(literal) = literal {
        cell::judge(scan, class, literal.start, literal.end, true);
    }
}
