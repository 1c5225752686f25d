//! The elements of a list in brackets, and what the names among them say.

use super::cell::{self, Column};
use super::keys::KeyClass;
use super::literal::{Kind, marked, skip_space};
use super::scan::Scan;

/// More columns than that are read up to here.
pub(super) const MAX_COLUMNS: usize = 64;

/// The elements of a list of literals whose bracket stands at `open`, and where the list ends.
pub(super) fn elements(text: &[u8], open: usize, out: &mut Vec<(usize, usize)>) -> Option<usize> {
    out.clear();
    let close = match text[open] {
        b'(' => b')',
        b'{' => b'}',
        _ => b']',
    };
    let mut at = open + 1;
    while out.len() < MAX_COLUMNS {
        at = skip_space(text, at, 120);
        let (from, to, after) = element(text, at, close)?;
        out.push((from, to));
        at = skip_space(text, after, 120);
        match text.get(at)? {
            b',' => at += 1,
            b if *b == close => return Some(at + 1),
            _ => return None,
        }
    }
    None
}

/// A literal, or a word or call up to the next comma or the list's end.
fn element(text: &[u8], at: usize, close: u8) -> Option<(usize, usize, usize)> {
    if let Some(literal) = marked(text, at).filter(|l| matches!(l.kind, Kind::Quoted(_))) {
        return Some((literal.start, literal.end, literal.after));
    }
    let mut depth = 0usize;
    let rest = &text[at..text.len().min(at + 512)];
    let end = rest.iter().position(|&b| {
        if depth == 0 && (b == b',' || b == close) {
            return true;
        }
        match b {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        false
    })?;
    Some((at, at + rest[..end].trim_ascii_end().len(), at + end))
}

/// Which columns of a list of names are secret.
pub(super) fn classes(scan: &Scan, names: &[(usize, usize)]) -> Vec<Option<KeyClass>> {
    let class = |&(from, to): &(usize, usize)| match cell::column(scan, &scan.text[from..to]) {
        Column::Secret(class) => Some(class),
        _ => None,
    };
    names.iter().map(class).collect()
}
