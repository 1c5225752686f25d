//! Columns and cells: a name in a header or in a list of columns rules the values below or beside
//! it.
//!
//! A header is read once, with all its names; rows are followed as long as they have its form.

use super::cell::{self, Column};
use super::elements::MAX_COLUMNS;
use super::name::Key;
use super::scan::Scan;
use super::shape::*;
use super::statement;

/// The longest header, and the longest row that is read.
const MAX_LINE: usize = 4096;
/// How often the bytes of a header or a row are read.
const READS: usize = 4;
/// So many rows are followed; a longer table is cut by the printer or is not a table.
const MAX_ROWS: usize = 4096;

/// A telling name that may be a column's: reads the columns beside it, and the values that belong
/// to them.
pub(super) fn header(scan: &mut Scan, key: &Key, form: Form) {
    match form {
        Form::Listed(open) => {
            scan.spend(64);
            statement::columns(scan, open);
        }
        Form::Lines(mark) => lines(scan, key, mark),
    }
}

/// How the names of columns are set.
pub(super) enum Form {
    /// In brackets, from this one on.
    Listed(usize),
    /// In a line.
    Lines(Mark),
}

/// What stands between the cells of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Byte(u8),
    /// `│`
    Rule,
    /// Two blanks or more: cells begin where their names do.
    Blanks,
}

/// Looks beside the name only: most names are no column's. Headers before `read` are done with.
pub(super) fn form(scan: &mut Scan, key: &Key) -> Option<Form> {
    let text = scan.text;
    if key.start < scan.header_until {
        return None;
    }
    let end = key.start + key.name.len();
    // One blank and a word: a sentence.
    if let [b' ', b'!'..=b'{' | b'}' | b'~', ..] = text[end..] {
        return None;
    }
    let quoted = run_end_of(text, end, |b| {
        matches!(b, b'"' | b'\'' | b'`' | b'*' | b'\\')
    });
    let gap = run_end_of(text, quoted, |b| b == b' ');
    let left = before(text, key.start, |b| {
        matches!(b, b'"' | b'\'' | b'`' | b'*' | b'\\' | b' ')
    });
    let opening = left.checked_sub(1).and_then(|i| text.get(i)).copied();
    let next = text.get(gap).copied().unwrap_or(b'\n');
    if matches!(next, b',' | b')' | b']' | b'>')
        && matches!(opening, Some(b'(' | b'[' | b',' | b'<'))
        && let Some(open) = opening_bracket(scan, left)
    {
        return Some(Form::Listed(open));
    }
    let lead = opening.unwrap_or(b'\n');
    let edge = |b: u8, mark: u8| b == mark || matches!(b, b'\n' | b'\r');
    let between = |mark: u8| edge(next, mark) && edge(lead, mark) && (next == mark || lead == mark);
    if text[gap..].starts_with("│".as_bytes()) {
        return Some(Form::Lines(Mark::Rule));
    }
    for mark in [b'|', b'\t', b',', b';'] {
        if between(mark) {
            return Some(Form::Lines(Mark::Byte(mark)));
        }
    }
    let apart = gap >= quoted + 2 || matches!(next, b'\n' | b'\r');
    let blanks = key.start - left;
    let first = matches!(lead, b'\n') || left == 0;
    (apart && (first || blanks >= 2) && quoted == end).then_some(Form::Lines(Mark::Blanks))
}

/// How far before a name its list may open.
const MAX_LIST: usize = 1024;

/// The bracket that opens the list in which `at` stands, if names stand between. What was read for
/// the name before is not read again.
fn opening_bracket(scan: &mut Scan, at: usize) -> Option<usize> {
    let text = scan.text;
    let names = |b: u8| {
        is(b, WORD | DOT | COMMA)
            || matches!(b, b'"' | b'\'' | b'`' | b' ' | b'\n' | b'\\' | b'<' | b'>')
    };
    let far = at.saturating_sub(MAX_LIST);
    let read = scan
        .names_from
        .filter(|&(until, _)| (far..=at).contains(&until));
    let from = read.map_or(far, |(until, _)| until);
    let here = text[from..at].iter().rposition(|&b| !names(b));
    scan.spend(at - from);
    // One byte before what was read is as good as any place that is too far.
    let none = far.saturating_sub(1);
    let stop = match (here, read) {
        (Some(offset), _) => from + offset,
        (None, Some((_, stop))) => stop,
        (None, None) => none,
    };
    scan.names_from = Some((at, stop));
    (stop >= far && matches!(text[stop], b'(' | b'[')).then_some(stop)
}

fn lines(scan: &mut Scan, key: &Key, mark: Mark) {
    let text = scan.text;
    let start = line_start(text, key.start);
    let Some(end) = line_end(text, key.start) else {
        return;
    };
    scan.spend(READS * (end - start));
    scan.header_until = end;
    let Some(sure) = certainty(&text[start..end], mark) else {
        return;
    };
    let mut columns = Vec::new();
    cells(text, start, end, mark, None, &mut columns);
    let names: Vec<Column> = columns
        .iter()
        .map(|&(from, to)| cell::column(scan, &text[from..to]))
        .collect();
    let plain = names.iter().all(|column| *column != Column::NoName);
    if !plain
        || !names
            .iter()
            .any(|column| matches!(column, Column::Secret(_)))
    {
        return;
    }
    let sure = sure && columns.len() > 1;
    let table = Table {
        sure,
        mark,
        columns: &columns,
        names: &names,
    };
    table.rows(scan, end);
}

/// Is this line a header for sure, or only if its rows look like values? `None` if it is code or
/// prose.
fn certainty(line: &[u8], mark: Mark) -> Option<bool> {
    let Mark::Byte(mark) = mark else {
        return Some(mark == Mark::Rule);
    };
    let content = line.trim_ascii();
    let framed = mark == b'|' && content.starts_with(b"|");
    let tight = !line.windows(2).any(|pair| pair == [mark, b' ']);
    let quoted = content.iter().any(|b| matches!(b, b'"' | b'\''));
    let indented = line.first().is_some_and(|b| *b == b' ') && !framed;
    match mark {
        // Lists of words in sources end so, or go on on the next line.
        b',' | b';' if indented || content.ends_with(&[mark]) => None,
        b',' | b';' if quoted && !tight => None,
        // The alternatives of a match, or of a type over several lines.
        b'|' if quoted || content.ends_with(b"|") && !framed => None,
        _ => Some(tight || framed || mark == b'\t'),
    }
}

struct Table<'c> {
    /// A plain word is a value, too.
    sure: bool,
    mark: Mark,
    columns: &'c [(usize, usize)],
    names: &'c [Column],
}

impl Table<'_> {
    /// The rows below a header that ends at `at`.
    fn rows(&self, scan: &mut Scan, mut at: usize) {
        let text = scan.text;
        let mut cells_of_row = Vec::new();
        let mut ruled = false;
        for _ in 0..MAX_ROWS {
            let start = next_line(text, at);
            let Some(end) = line_end(text, start).filter(|&end| end > start) else {
                return;
            };
            scan.spend(READS * (end - start) + 32);
            at = end;
            if is_rule(&text[start..end]) {
                ruled = true;
                continue;
            }
            cells(
                text,
                start,
                end,
                self.mark,
                Some(self.columns),
                &mut cells_of_row,
            );
            if cells_of_row.len() != self.columns.len() || scan.exhausted() {
                return;
            }
            for (&(from, to), name) in cells_of_row.iter().zip(self.names) {
                if let Column::Secret(class) = *name {
                    cell::judge(scan, class, from, to, self.sure || ruled);
                }
            }
        }
    }
}

/// A line between header and rows, or a table's edge: no letters and digits, at least three of what
/// lines are drawn with.
fn is_rule(line: &[u8]) -> bool {
    let drawn =
        |b: u8| matches!(b, b'-' | b'+' | b'|' | b'=' | b':' | b' ' | b'\t' | b'\r') || b >= 0x80;
    line.len() >= 2 && line.iter().all(|&b| drawn(b)) && !any(line, ALNUM)
}

/// The cells of a line without blanks and quotation marks round them. `columns` are the header's.
fn cells(
    text: &[u8],
    start: usize,
    end: usize,
    mark: Mark,
    columns: Option<&[(usize, usize)]>,
    out: &mut Vec<(usize, usize)>,
) {
    out.clear();
    match mark {
        Mark::Blanks => match columns {
            None => spaced_names(text, start, end, out),
            Some(columns) => spaced_values(text, start, end, columns, out),
        },
        Mark::Rule => {
            let bar = "│".as_bytes();
            split(
                text,
                start,
                end,
                |rest| rest.starts_with(bar).then_some(bar.len()),
                out,
            );
        }
        Mark::Byte(mark) => split(text, start, end, |rest| (rest[0] == mark).then_some(1), out),
    }
    // A table's frame makes an empty cell at either end.
    let framed = mark == Mark::Rule || mark == Mark::Byte(b'|');
    if framed
        && out.len() > 2
        && text[start..end]
            .trim_ascii_start()
            .first()
            .is_some_and(|&b| b == b'|' || b == 0xe2)
    {
        out.remove(0);
        if out.last().is_some_and(|&(from, to)| from == to) {
            out.pop();
        }
    }
}

fn split(
    text: &[u8],
    start: usize,
    end: usize,
    mark: impl Fn(&[u8]) -> Option<usize>,
    out: &mut Vec<(usize, usize)>,
) {
    let (mut from, mut at) = (start, start);
    let mut quoted = false;
    while at < end && out.len() < MAX_COLUMNS {
        // Inside quotation marks that begin a cell a mark is text.
        if text[at] == b'"' && (quoted || at == from) {
            quoted = !quoted;
        }
        match mark(&text[at..end]).filter(|_| !quoted) {
            Some(length) => {
                out.push(cell::trim(text, from, at));
                at += length;
                from = at;
            }
            None => at += 1,
        }
    }
    out.push(cell::trim(text, from, end));
}

/// Names with two blanks and more between them.
fn spaced_names(text: &[u8], start: usize, end: usize, out: &mut Vec<(usize, usize)>) {
    let mut at = run_end_of(&text[..end], start, |b| b == b' ');
    while at < end && out.len() < MAX_COLUMNS {
        let gap = text[at..end]
            .windows(2)
            .position(|pair| pair == b"  ")
            .map_or(end, |n| at + n);
        out.push((at, gap - usize::from(gap == end && text[gap - 1] == b'\r')));
        at = run_end_of(&text[..end], gap, |b| b == b' ');
    }
}

/// What stands below the names, counted in characters. A row in which a value reaches from one
/// column into the next is none.
fn spaced_values(
    text: &[u8],
    start: usize,
    end: usize,
    columns: &[(usize, usize)],
    out: &mut Vec<(usize, usize)>,
) {
    if columns.len() == 1 {
        return out.push(cell::trim(text, start, end));
    }
    let line = line_start(text, columns[0].0);
    let character = |from: usize, count: usize| {
        let mut left = count;
        (from..end)
            .find(|&i| {
                let begins = text[i] & 0xc0 != 0x80;
                if begins && left == 0 {
                    return true;
                }
                left -= usize::from(begins);
                false
            })
            .unwrap_or(end)
    };
    let count =
        |from: usize, to: usize| text[from..to].iter().filter(|&&b| b & 0xc0 != 0x80).count();
    let mut offset = 0;
    let mut from = start;
    for (i, &(name, _)) in columns.iter().enumerate() {
        let here = count(line, name);
        from = character(from, here - offset);
        offset = here;
        if from >= end {
            out.push((end, end));
            continue;
        }
        if from > start && text[from - 1] != b' ' {
            return words(text, start, end, out);
        }
        let to = match columns.get(i + 1) {
            Some(&(next, _)) => character(from, count(line, next) - here),
            None => end,
        };
        out.push(cell::trim(text, from, to));
    }
}

/// The words of a row whose cells are wider than their columns.
fn words(text: &[u8], start: usize, end: usize, out: &mut Vec<(usize, usize)>) {
    out.clear();
    let mut at = run_end_of(&text[..end], start, |b| b == b' ');
    while at < end && out.len() < MAX_COLUMNS {
        let to = memchr::memchr(b' ', &text[at..end]).map_or(end, |n| at + n);
        out.push((at, to));
        at = run_end_of(&text[..end], to, |b| b == b' ');
    }
}

/// Where the line of `at` starts, no farther back than a header is long.
fn line_start(text: &[u8], at: usize) -> usize {
    at - line_lead(text, at, MAX_LINE).len()
}

/// Where the line of `at` ends, if that is near.
fn line_end(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..text.len().min(at + MAX_LINE))?;
    match memchr::memchr(b'\n', rest) {
        Some(offset) => Some(at + offset),
        None => (at + rest.len() == text.len()).then_some(text.len()),
    }
}

fn next_line(text: &[u8], end: usize) -> usize {
    (end + 1).min(text.len())
}

fn before(text: &[u8], to: usize, inside: impl Fn(u8) -> bool) -> usize {
    let from = to.saturating_sub(64);
    to - text[from..to]
        .iter()
        .rev()
        .take_while(|&&b| inside(b))
        .count()
}
