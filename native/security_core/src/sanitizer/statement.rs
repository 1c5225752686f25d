//! Statements and results that list columns: `INSERT INTO t (…) VALUES (…)`, a query's `$1` and the
//! list of its parameters, `COPY`, `columns: […], rows: [[…]]`.

use super::cell;
use super::elements::{classes, elements};
use super::keys::KeyClass;
use super::literal::{Kind, marked, skip_space};
use super::name::Key;
use super::scan::Scan;
use super::shape::*;
use crate::word_list::WordList;

/// How far the values may be from the names.
const MAX_REACH: usize = 2048;
/// Clients send larger loads in several statements.
const MAX_ROWS: usize = 1024;
/// How much of a resource's state is read.
const MAX_STATE: usize = 8192;

/// A list of names starts at `open`: finds the values that belong to them.
pub(super) fn columns(scan: &mut Scan, open: usize) {
    let text = scan.text;
    let mut names = Vec::new();
    let Some(after) = elements(text, open, &mut names) else {
        return scan.spend(256);
    };
    scan.spend(8 * (after - open));
    let classes = classes(scan, &names);
    if classes.iter().all(Option::is_none) {
        return;
    }
    scan.header_until = after;
    let lead = lead(text, open);
    if text[open] == b'(' {
        let table = &lead[..lead.len() - trailing_name(lead)];
        if ends_with_word(table, b"into") || ends_with_word(table, b"copy") {
            inserted(scan, after, &classes);
        }
    } else if tells(lead, &COLUMNS) {
        results(scan, open, after, &classes);
    }
}

fn lead(text: &[u8], at: usize) -> &[u8] {
    text[at.saturating_sub(120)..at].trim_ascii_end()
}

/// The length of a table's name at the end of `lead`, with quotation marks and a schema.
fn trailing_name(lead: &[u8]) -> usize {
    let name = |&&b: &&u8| {
        is(b, WORD | DOT | DASH) || matches!(b, b'"' | b'`' | b'\\' | b'[' | b']') || b >= 0x80
    };
    lead.iter().rev().take_while(name).count()
}

fn ends_with_word(lead: &[u8], word: &[u8]) -> bool {
    let lead = lead.trim_ascii_end();
    lead.len() >= word.len() && lead[lead.len() - word.len()..].eq_ignore_ascii_case(word)
}

/// What clients of databases call the names of a result's columns.
#[rustfmt::skip]
static COLUMNS: WordList = WordList::new(&[
    "column_names", "columns", "fields", "header", "headers", "keys",
]);

/// What clients of databases call the rows of a result.
#[rustfmt::skip]
static ROWS: WordList = WordList::new(&[
    "data", "results", "rows", "values",
]);

/// `columns: `, `"columns" => `, `:columns, `: the name of the list.
fn tells(lead: &[u8], names: &WordList) -> bool {
    let end = lead.iter().rposition(|&b| is(b, WORD)).map_or(0, |i| i + 1);
    let start = lead[..end]
        .iter()
        .rposition(|&b| !is(b, WORD))
        .map_or(0, |i| i + 1);
    end > 0 && lead.len() - end <= 6 && names.has_in_any_case(&lead[start..end])
}

/// What an `INSERT` or a `COPY` puts into the columns, from behind their list on.
fn inserted(scan: &mut Scan, after: usize, classes: &[Option<KeyClass>]) {
    let text = scan.text;
    let mut at = skip_space(text, after, 120);
    if starts_ci(&text[at..], b"from stdin") {
        return copied(scan, at, classes);
    }
    // `OVERRIDING SYSTEM VALUE`
    for _ in 0..4 {
        let word = run_end_capped(text, at, ALPHA, 24);
        let values = text[at..word].eq_ignore_ascii_case(b"values");
        at = skip_space(text, word, 120);
        if values {
            break;
        }
        if word == at {
            return;
        }
    }
    let mut row = Vec::new();
    for _ in 0..MAX_ROWS {
        if text.get(at) != Some(&b'(') || scan.exhausted() {
            return;
        }
        let Some(end) = elements(text, at, &mut row) else {
            return scan.spend(256);
        };
        scan.spend(4 * (end - at));
        if row.len() != classes.len() {
            return;
        }
        for (&(from, to), class) in row.iter().zip(classes) {
            let Some(class) = *class else { continue };
            match parameter(&text[from..to]) {
                Some(index) => parameters(scan, end, &[(index, class)]),
                None if text[from - 1].is_ascii_punctuation()
                    && text[from - 1] != b','
                    && text[from - 1] != b'(' =>
                {
                    cell::judge(scan, class, from, to, true);
                }
                None => cell::judge(scan, class, from, to, false),
            }
        }
        at = skip_space(text, end, 120);
        if text.get(at) != Some(&b',') {
            return;
        }
        at = skip_space(text, at + 1, 120);
    }
}

/// `COPY t (…) FROM stdin;`: rows with tabs up to `\.`.
fn copied(scan: &mut Scan, at: usize, classes: &[Option<KeyClass>]) {
    let text = scan.text;
    let mut start = match memchr::memchr(b'\n', &text[at..text.len().min(at + 200)]) {
        Some(offset) => at + offset + 1,
        None => return,
    };
    for _ in 0..MAX_ROWS {
        let rest = &text[start.min(text.len())..text.len().min(start + 4096)];
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        scan.spend(end);
        if line.starts_with(b"\\.")
            || line.split(|&b| b == b'\t').count() != classes.len()
            || scan.exhausted()
        {
            return;
        }
        let mut from = start;
        for (cell, class) in line.split(|&b| b == b'\t').zip(classes) {
            if let Some(class) = *class {
                let (from, to) = cell::trim(text, from, from + cell.len());
                cell::judge(scan, class, from, to, true);
            }
            from += cell.len() + 1;
        }
        start += end + 1;
    }
}

/// `$2`: the second parameter; `?` is not numbered.
fn parameter(value: &[u8]) -> Option<usize> {
    let digits = value.strip_prefix(b"$")?;
    if digits.is_empty() || digits.len() > 2 || !all(digits, D) {
        return None;
    }
    let number = digits
        .iter()
        .fold(0, |n, &b| n * 10 + usize::from(b - b'0'));
    number.checked_sub(1)
}

/// `parameters: $1 = 'a', $2 = 'b'`, as PostgreSQL logs them.
fn logged(scan: &mut Scan, from: usize, index: usize, class: KeyClass) -> bool {
    let text = scan.text;
    let rest = &text[from..text.len().min(from + MAX_REACH)];
    scan.spend(2 * rest.len());
    let Some(list) = memchr::memmem::find(rest, b"arameters: $1 = ") else {
        return false;
    };
    let name = format!("${} = '", index + 1);
    if let Some(found) = memchr::memmem::find(&rest[list..], name.as_bytes()) {
        let start = list + found + name.len();
        if let Some(length) = memchr::memchr2(b'\'', b'\n', &rest[start..]) {
            cell::judge(scan, class, from + start, from + start + length, true);
        }
    }
    true
}

/// The list of a query's parameters behind `from`: those at the places of `wanted` are judged.
fn parameters(scan: &mut Scan, from: usize, wanted: &[(usize, KeyClass)]) {
    let text = scan.text;
    if let [(index, class)] = *wanted
        && logged(scan, from, index, class)
    {
        return;
    }
    let limit = text.len().min(from + MAX_REACH);
    let mut at = from;
    let mut values = Vec::new();
    for _ in 0..8 {
        let Some(offset) = text[at..limit].iter().position(|&b| b == b'[') else {
            return;
        };
        let open = at + offset;
        scan.spend(offset);
        let list = open > 0 && matches!(text[open - 1], b' ' | b'\n' | b'(');
        if list && elements(text, open, &mut values).is_some() {
            for &(index, class) in wanted {
                if let Some(&(from, to)) = values.get(index) {
                    cell::judge(scan, class, from, to, true);
                }
            }
            return;
        }
        at = open + 1;
    }
}

/// `u0."reset_token" = $1` … `["…"]`: a name compared with a parameter. Says whether it was one.
pub(super) fn compared(scan: &mut Scan, class: KeyClass, at: usize) -> bool {
    let text = scan.text;
    let rest = &text[at..text.len().min(at + 8)];
    if let [b'?', b' ' | b')' | b',' | b'\n' | b';', ..] = rest {
        // Parameters without numbers are counted.
        let index = memchr::memchr_iter(b'?', line_lead(text, at, 1024)).count();
        scan.spend(1024);
        parameters(scan, at + 1, &[(index, class)]);
        return true;
    }
    if rest.first() != Some(&b'$') {
        return false;
    }
    let end = 1 + rest[1..].iter().take_while(|&&b| is(b, D)).count();
    let Some(index) = parameter(&rest[..end]) else {
        return false;
    };
    parameters(scan, at + end, &[(index, class)]);
    true
}

/// `rows: [[…], […]]`, behind the names or before them.
fn results(scan: &mut Scan, open: usize, after: usize, classes: &[Option<KeyClass>]) {
    let text = scan.text;
    let found = |from: usize, to: usize| {
        text[from..to]
            .windows(2)
            .enumerate()
            .filter(|(_, pair)| *pair == b"[[")
            .map(|(i, _)| from + i)
            .find(|&at| tells(lead(text, at), &ROWS))
    };
    scan.spend(MAX_REACH);
    let behind = found(after, text.len().min(after + MAX_REACH));
    let Some(start) = behind.or_else(|| found(open.saturating_sub(MAX_REACH), open)) else {
        return;
    };
    let mut at = start + 1;
    let mut row = Vec::new();
    for _ in 0..MAX_ROWS {
        if text.get(at) != Some(&b'[') || scan.exhausted() {
            return;
        }
        let Some(end) = elements(text, at, &mut row) else {
            return;
        };
        scan.spend(end - at);
        for (&(from, to), class) in row.iter().zip(classes) {
            if let Some(class) = *class {
                cell::judge(scan, class, from, to, true);
            }
        }
        at = skip_space(text, end, 120);
        if text.get(at) != Some(&b',') {
            return;
        }
        at = skip_space(text, at + 1, 120);
    }
}

/// `"type": "random_password"` in a state of Terraform: what was generated is an attribute named
/// `result`, before the next resource. Says whether the name is such a type.
pub(super) fn generated(scan: &mut Scan, key: &Key, class: KeyClass) -> bool {
    let text = scan.text;
    let lead = line_lead(text, key.start, 32).trim_ascii_end();
    if key.name != b"random_password"
        || !lead.ends_with(b"\"")
        || !lead.trim_ascii_start().contains(&b':')
    {
        return false;
    }
    let rest = &text[key.start..text.len().min(key.start + MAX_STATE)];
    let resource = memchr::memmem::find(rest, b"\"mode\"").unwrap_or(rest.len());
    scan.spend(2 * resource);
    let rest = &rest[..resource];
    for found in memchr::memmem::find_iter(rest, b"\"result\"") {
        let colon = skip_space(text, key.start + found + b"\"result\"".len(), 8);
        let value = skip_space(text, colon + 1, 8);
        let literal = marked(text, value).filter(|l| matches!(l.kind, Kind::Quoted(_)));
        if text.get(colon) == Some(&b':')
            && let Some(literal) = literal
        {
            cell::judge(scan, class, literal.start, literal.end, true);
        }
    }
    true
}

/// May [`told`] have something to say of this name?
pub(super) fn may_tell(text: &[u8], key: &Key) -> bool {
    let end = key.start + key.name.len();
    let quoted = run_end_of(text, end, |b| matches!(b, b'"' | b'\\'));
    text[quoted..].starts_with(b")=(")
        || text[..key.start].ends_with(b"' as ")
        || text[..key.start].ends_with(b"' AS ")
}

/// `Key (password)=(…) already exists`, as PostgreSQL tells of a conflict; `'…' AS password`.
pub(super) fn told(scan: &mut Scan, key: &Key, class: KeyClass) -> bool {
    let text = scan.text;
    let end = key.start + key.name.len();
    let quoted = run_end_of(text, end, |b| matches!(b, b'"' | b'\\'));
    if text[quoted..].starts_with(b")=(") {
        let from = quoted + 3;
        let rest = &text[from..text.len().min(from + 512)];
        if let Some(length) = rest
            .windows(2)
            .position(|pair| pair == b") " || pair == b")\n")
        {
            cell::judge(scan, class, from, from + length, true);
        }
        return true;
    }
    let lead = &text[key.start.saturating_sub(300)..key.start];
    let Some(value) = [&b"' as "[..], b"' AS "]
        .iter()
        .find_map(|glue| lead.strip_suffix(*glue))
    else {
        return false;
    };
    if let Some(open) = memchr::memrchr(b'\'', value) {
        let from = key.start - lead.len() + open + 1;
        cell::judge(scan, class, from, key.start - 5, true);
    }
    true
}
