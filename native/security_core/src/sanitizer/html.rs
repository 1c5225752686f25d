//! Tables of HTML: the name in a heading rules the cells below it.

use super::cell;
use super::keys::KeyClass;
use super::name::Key;
use super::scan::Scan;
use super::shape::starts_ci;

/// How far a row's beginning, and the next row, may be.
const MAX_ROW: usize = 4096;
/// More rows are not shown in a page that a person reads.
const MAX_ROWS: usize = 1024;

/// Does a heading close at `at` that has no cell beside it? Then its cells are below.
pub(super) fn heads_column(text: &[u8], at: usize) -> bool {
    let rest = &text[at..text.len().min(at + 200)];
    if !starts_ci(rest, b"</th>") {
        return false;
    }
    let next = rest[5..].trim_ascii_start();
    starts_ci(next, b"<th") || starts_ci(next, b"</tr")
}

/// Judges the cells below the heading in which a name stands.
pub(super) fn column(scan: &mut Scan, key: &Key, class: KeyClass) {
    let text = scan.text;
    let lead = &text[key.start.saturating_sub(MAX_ROW)..key.start];
    let start = (0..lead.len())
        .rev()
        .find(|&i| starts_ci(&lead[i..], b"<tr"));
    scan.spend(2 * lead.len());
    let Some(start) = start else { return };
    let heading = |i: &usize| starts_ci(&lead[*i..], b"<th>") || starts_ci(&lead[*i..], b"<th ");
    let index = (start..lead.len()).filter(heading).count();
    let Some(mut at) = find(scan, key.start, b"</tr") else {
        return;
    };
    for _ in 0..MAX_ROWS {
        let Some(mut cell) = find(scan, at, b"<tr") else {
            return;
        };
        for _ in 0..index {
            match find(scan, cell + 1, b"<td") {
                Some(next) => cell = next,
                None => return,
            }
        }
        let Some(from) = find(scan, cell, b">").map(|close| close + 1) else {
            return;
        };
        let Some(to) = find(scan, from, b"<") else {
            return;
        };
        if scan.exhausted() {
            return;
        }
        let (from, to) = cell::trim(text, from, to);
        cell::judge(scan, class, from, to, true);
        at = to;
    }
}

/// Where `mark` stands next, if it is near.
fn find(scan: &mut Scan, from: usize, mark: &[u8]) -> Option<usize> {
    let text = scan.text;
    let rest = &text[from..text.len().min(from + MAX_ROW)];
    let found = memchr::memchr_iter(mark[0], rest).find(|&i| starts_ci(&rest[i..], mark));
    scan.spend(found.unwrap_or(rest.len()));
    found.map(|i| from + i)
}

#[cfg(test)]
mod tests {
    use crate::sanitizer::tests::{clean, redacts};

    #[test]
    fn cells_below_a_heading() {
        redacts(
            "<tr><th>user</th><th>password</th></tr>\n<tr><td>ann</td><td>§hunter22§</td></tr>",
        );
        redacts(
            "<TR><TH>id</TH>\n<TH>password</TH>\n</TR>\n<TR><TD>1</TD>\n<TD>§hunter22§</TD>\n</TR>\n\
             <TR><TD>2</TD>\n<TD>§winter23§</TD>\n</TR>",
        );
        redacts("<tr><th>Password</th><td>§hunter22§</td></tr>");
        clean(
            "<table><tr><th>name</th><th>key</th></tr><tr><td>a</td><td>primary</td></tr></table>",
        );
    }
}
