//! Reading a literal where a value is expected: quotes at any escape depth, sigils, binaries, bare
//! words, lists of codes.

use super::marks::mark_at;
use super::shape::*;
use memchr::{memchr2, memmem};

/// How far a literal is followed.
pub(crate) const MAX_LITERAL: usize = 16 * 1024;

/// How much of a bare word is read to judge it.
const MAX_WORD: usize = 256;

/// A kind of quotation mark, and how deep in other strings it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quote {
    /// A quotation mark after `slashes` backslashes: none at the top, one in a string, three in a
    /// string in a string.
    Plain { mark: u8, slashes: usize },
    /// A quotation mark in another alphabet: HTML, percent or JSON escapes, typographic marks.
    Spelled { close: &'static [u8] },
}

#[rustfmt::skip]
static SPELLED: &[(&[u8], &[u8])] = &[
    (b"&quot;", b"&quot;"), (b"&#34;", b"&#34;"), (b"&#39;", b"&#39;"), (b"&#x27;", b"&#x27;"), (b"&apos;", b"&apos;"),
    (b"\\u0022", b"\\u0022"), (b"\\u0027", b"\\u0027"), (b"%22", b"%22"), (b"%27", b"%27"),
    ("\u{201c}".as_bytes(), "\u{201d}".as_bytes()), ("\u{2018}".as_bytes(), "\u{2019}".as_bytes()),
];

impl Quote {
    /// The quotation mark at `at`, and where it ends.
    pub(crate) fn open(text: &[u8], at: usize) -> Option<(Quote, usize)> {
        let slashes = text
            .get(at..)?
            .iter()
            .take(64)
            .take_while(|&&b| b == b'\\')
            .count();
        match text.get(at + slashes) {
            Some(&mark @ (b'"' | b'\'' | b'`')) if (slashes + 1).is_power_of_two() => {
                Some((Quote::Plain { mark, slashes }, at + slashes + 1))
            }
            Some(b'&' | b'%' | b'u' | 0xe2) => {
                let (open, close) = SPELLED
                    .iter()
                    .find(|(open, _)| text[at..].starts_with(open))?;
                Some((Quote::Spelled { close }, at + open.len()))
            }
            _ => None,
        }
    }

    /// Where the quotation mark that ends right before `end` begins, with the mark.
    pub(crate) fn ending_at(text: &[u8], end: usize) -> Option<(Quote, usize)> {
        let mark = *text.get(end.checked_sub(1)?)?;
        if matches!(mark, b'"' | b'\'' | b'`') {
            let slashes = text[..end - 1]
                .iter()
                .rev()
                .take(64)
                .take_while(|&&b| b == b'\\')
                .count();
            // What is not a depth of its own is an escaped backslash before a mark; the deepest
            // fitting depth is meant.
            let slashes = (slashes + 2).next_power_of_two() / 2 - 1;
            return Some((Quote::Plain { mark, slashes }, end - 1 - slashes));
        }
        SPELLED
            .iter()
            .find(|(open, _)| text[..end].ends_with(open))
            .map(|(open, close)| (Quote::Spelled { close }, end - open.len()))
    }

    /// The end of the content that starts at `from`, the end of the closing mark, and whether that
    /// mark is really there.
    pub(crate) fn close(self, text: &[u8], from: usize) -> (usize, usize, bool) {
        let limit = text.len().min(from + MAX_LITERAL);
        match self {
            Quote::Plain { mark, slashes } => {
                let mut at = from;
                while let Some(offset) = memchr2(mark, b'\n', &text[at..limit]) {
                    let found = at + offset;
                    if text[found] == b'\n' {
                        return torn(text, from, found);
                    }
                    let run = text[from..found]
                        .iter()
                        .rev()
                        .take_while(|&&b| b == b'\\')
                        .count();
                    if run % (2 * (slashes + 1)) == slashes {
                        // In SQL and in Pascal a doubled mark stands for one of its kind.
                        if mark == b'\''
                            && slashes == 0
                            && found > from
                            && text.get(found + 1) == Some(&mark)
                        {
                            at = found + 2;
                            continue;
                        }
                        return (found - slashes, found + 1, true);
                    }
                    // The string around may end before this one does.
                    let outer = (0..6)
                        .map(|depth| (1 << depth) - 1)
                        .take_while(|&outer| outer < slashes)
                        .find(|outer| run % (2 * (outer + 1)) == *outer);
                    if let Some(outer) = outer {
                        return (found - outer, found - outer, false);
                    }
                    at = found + 1;
                }
                torn(text, from, limit)
            }
            Quote::Spelled { close } => {
                let line =
                    memchr2(b'\n', b'"', &text[from..limit]).map_or(limit, |offset| from + offset);
                match memmem::find(&text[from..line], close) {
                    Some(offset) => (from + offset, from + offset + close.len(), true),
                    None => (line, line, false),
                }
            }
        }
    }
}

/// The content of a string that does not end on its line: up to the first quotation mark of any
/// kind, which may belong to the string around.
fn torn(text: &[u8], from: usize, line_end: usize) -> (usize, usize, bool) {
    let line = &text[from..line_end];
    let mut end = line
        .iter()
        .position(|&b| matches!(b, b'"' | b'\'' | b'`'))
        .unwrap_or(line.len());
    while end > 0 && matches!(line[end - 1], b'\\' | b'\r') {
        end -= 1;
    }
    (from + end, from + end, false)
}

/// A value as it stands in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Literal {
    pub(crate) kind: Kind,
    /// The bytes to replace.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Where the text goes on behind the literal.
    pub(crate) after: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Between quotation marks.
    Quoted(Quote),
    /// Between other marks: a sigil, a heredoc, a raw string.
    Fenced,
    /// A list of character codes, without its brackets.
    Codes,
    /// A word without marks.
    Bare,
}

/// Skips blanks, at most `cap` of them.
pub(crate) fn skip_blanks(text: &[u8], from: usize, cap: usize) -> usize {
    let rest = &text[from.min(text.len())..text.len().min(from + cap)];
    from + rest
        .iter()
        .take_while(|&&b| b == b' ' || b == b'\t')
        .count()
}

/// Skips blanks and line ends, real ones and those written as `\n` in a string.
pub(crate) fn skip_space(text: &[u8], from: usize, cap: usize) -> usize {
    let limit = text.len().min(from + cap);
    let mut at = from;
    while at < limit {
        match text[at] {
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            b'\\' if matches!(text.get(at + 1), Some(b'n' | b't' | b'r')) => at += 2,
            _ => break,
        }
    }
    at
}

/// The literal with marks around it that starts at `at`, if one does.
pub(crate) fn marked(text: &[u8], at: usize) -> Option<Literal> {
    let mut at = at;
    let mut binary = false;
    if text.get(at..)?.starts_with(b"<<") {
        let inner = skip_blanks(text, at + 2, 8);
        if is_at(text, inner, D) {
            return codes(text, inner, b">>");
        }
        binary = true;
        at = inner;
    }
    match text.get(at)? {
        b'[' => {
            let inner = skip_space(text, at + 1, 64);
            return if is_at(text, inner, D) {
                codes(text, inner, b"]")
            } else {
                None
            };
        }
        b'~' => return sigil(text, at),
        _ => {}
    }
    let letters = prefix_end(text, at);
    if letters > at && text[letters - 1] == b'r' && text.get(letters) == Some(&b'#') {
        let hashes = text[letters..]
            .iter()
            .take(8)
            .take_while(|&&b| b == b'#')
            .count();
        if text.get(letters + hashes) == Some(&b'"') {
            let start = letters + hashes + 1;
            return Some(fenced(
                text,
                start,
                &[b"\"", &b"########"[..hashes]].concat(),
            ));
        }
    }
    let opened = Quote::open(text, at).or_else(|| Quote::open(text, letters));
    let (quote, start) = opened?;
    if let Quote::Plain { mark, slashes: 0 } = quote
        && mark != b'`'
        && text[start..].starts_with(&[mark, mark])
    {
        return Some(fenced(text, start + 2, &[mark; 3]));
    }
    let (end, mut after, _) = quote.close(text, start);
    if binary && text[after..].starts_with(b">>") {
        after += 2;
    }
    Some(Literal {
        kind: Kind::Quoted(quote),
        start,
        end,
        after,
    })
}

/// The end of the letters before a literal's quotation mark: b"…", r"…", f"…", @"…", E'…' and the
/// like.
fn prefix_end(text: &[u8], at: usize) -> usize {
    const LETTERS: &[u8] = b"bBrRfFuULcNE@$";
    let letters = text[at..].iter().take(2);
    at + letters.take_while(|b| LETTERS.contains(b)).count()
}

fn sigil(text: &[u8], at: usize) -> Option<Literal> {
    if !matches!(text.get(at + 1)?, b's' | b'S' | b'c' | b'C' | b'b' | b'B') {
        return None;
    }
    let open = text.get(at + 2..)?;
    if open.starts_with(b"\"\"\"") {
        return Some(fenced(text, at + 5, b"\"\"\""));
    }
    if let Some((quote, start)) = Quote::open(text, at + 2) {
        // `"Password: ~s"` is a format string; the mark after it closes it.
        let line = line_lead(text, at, 200)
            .iter()
            .filter(|&&b| b == b'"')
            .count();
        if matches!(
            quote,
            Quote::Plain {
                mark: b'"',
                slashes: 0
            }
        ) && line % 2 == 1
        {
            return None;
        }
        let (end, after, _) = quote.close(text, start);
        return Some(Literal {
            kind: Kind::Quoted(quote),
            start,
            end,
            after,
        });
    }
    let close: &[u8] = match open.first()? {
        b'(' => b")",
        b'[' => b"]",
        b'{' => b"}",
        b'<' => b">",
        b'|' => b"|",
        b'/' => b"/",
        _ => return None,
    };
    Some(fenced(text, at + 3, close))
}

fn fenced(text: &[u8], start: usize, close: &[u8]) -> Literal {
    let limit = text.len().min(start + MAX_LITERAL);
    let start = start.min(limit);
    let (end, after) = match memmem::find(&text[start..limit], close) {
        Some(offset) => (start + offset, start + offset + close.len()),
        None => (limit, limit),
    };
    // A heredoc's content starts and ends with its line breaks and the indentation, which stay.
    let lead = text[start..end]
        .iter()
        .take_while(|b| b.is_ascii_whitespace())
        .count();
    let start = start + lead;
    let trail = text[start..end]
        .iter()
        .rev()
        .take_while(|b| b.is_ascii_whitespace())
        .count();
    Literal {
        kind: Kind::Fenced,
        start,
        end: end - trail,
        after,
    }
}

/// A list of character codes from its first digit on.
fn codes(text: &[u8], start: usize, close: &[u8]) -> Option<Literal> {
    let limit = text.len().min(start + MAX_LITERAL);
    let end = start
        + text[start..limit]
            .iter()
            .position(|&b| {
                !(is(b, D | COMMA | DOT) || b.is_ascii_whitespace() || b == b'\\' || b == b'n')
            })
            .unwrap_or(limit - start);
    // A list may be cut by the printer: `[115, 107, ...]`.
    let trail = text[start..end]
        .iter()
        .rev()
        .take_while(|&&b| !is(b, D))
        .count();
    let inner = end - trail;
    let after = if text[end..].starts_with(close) {
        end + close.len()
    } else {
        end
    };
    (inner > start).then_some(Literal {
        kind: Kind::Codes,
        start,
        end: inner,
        after,
    })
}

/// The codes of a list, as far as a printer shows it, which cuts one with dots; `None` for an element
/// that is no number.
fn numbers(list: &[u8]) -> impl Iterator<Item = Option<u32>> {
    let shown = list.split(|&b| b == b'.').next().unwrap_or_default();
    let elements = shown.split(|&b| b == b',');
    elements.filter(|element| any(element, D)).map(number)
}

/// Blanks and line breaks, real ones and written ones, may stand anywhere: a terminal's edge breaks
/// numbers, too.
fn number(element: &[u8]) -> Option<u32> {
    let mut number = 0u32;
    let mut escaped = false;
    for &b in element {
        match b {
            b'0'..=b'9' => {
                number = number
                    .saturating_mul(10)
                    .saturating_add(u32::from(b - b'0'))
            }
            b'\\' => escaped = true,
            b'n' if escaped => escaped = false,
            _ if b.is_ascii_whitespace() => {}
            _ => return None,
        }
    }
    Some(number)
}

/// The characters that a list of codes spells, if every code is one; `None` for any other list of
/// numbers.
pub(crate) fn decode_codes(list: &[u8], out: &mut Vec<u8>) -> Option<()> {
    out.clear();
    for code in numbers(list) {
        match code? {
            code @ (9 | 10 | 13 | 32..=126) => out.push(code as u8),
            _ => return None,
        }
    }
    Some(())
}

/// How many codes a list has, if none is above `limit`.
pub(crate) fn count_codes(list: &[u8], limit: u32) -> Option<usize> {
    numbers(list).try_fold(0, |count, code| (code? <= limit).then_some(count + 1))
}

/// How a bare value ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// At blanks and quotation marks only, as in a dotenv file.
    Blank,
    /// Also at commas, semicolons, brackets, ampersands.
    Punctuation,
    /// At the end of the line or at a semicolon.
    Semicolon,
}

/// The bare word at `start`. Backslash pairs stay whole, so that a string around it stays a string.
///
/// Only [`MAX_WORD`] bytes are read: enough to judge by. A word that goes is followed to its end by
/// [`bare_end`].
pub(crate) fn bare(text: &[u8], start: usize, until: Until) -> Literal {
    bare_within(text, start, until, MAX_WORD)
}

/// The end of the whole bare word at `start`.
pub(crate) fn bare_end(text: &[u8], start: usize, until: Until) -> usize {
    bare_within(text, start, until, usize::MAX - start).end
}

fn bare_within(text: &[u8], start: usize, until: Until, cap: usize) -> Literal {
    let limit = text.len().min(start + cap);
    let mut at = start;
    while at < limit {
        let b = text[at];
        let stop = match b {
            b' ' | b'\t' => until != Until::Semicolon,
            b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'<' | b'>' => true,
            // What is glued to a mark is one word with it.
            b'[' => {
                at += mark_at(text, at).map_or(0, |length| length - 1);
                false
            }
            b',' | b')' | b']' | b'}' | b'&' | b'|' => until == Until::Punctuation,
            b';' => until != Until::Blank,
            b'\\' => match text.get(at + 1) {
                // An escaped backslash or slash belongs to the value, other escapes end it.
                Some(b'\\' | b'/')
                    if text
                        .get(at + 2)
                        .is_some_and(|&b| !matches!(b, b'"' | b'\'' | b'\\')) =>
                {
                    at += 1;
                    false
                }
                Some(
                    b'n' | b't' | b'r' | b'b' | b'f' | b'u' | b'e' | b'"' | b'\'' | b'\\' | b'0'
                    | b'/',
                )
                | None => true,
                Some(b) => b.is_ascii_whitespace(),
            },
            _ => b < b' ' || b == 0x7f,
        };
        if stop {
            break;
        }
        at += 1;
    }
    let mut end = at.min(limit);
    if until == Until::Semicolon {
        end -= text[start..end]
            .iter()
            .rev()
            .take_while(|b| b.is_ascii_whitespace())
            .count();
    }
    // Never in the middle of a character.
    while end < text.len() && end > start && text[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    Literal {
        kind: Kind::Bare,
        start,
        end,
        after: end,
    }
}

/// The end of a literal that goes on in the next one: `"abc" <> "def"`, `"abc" + "def"`, or
/// neighbours on two lines.
pub(crate) fn concatenated(text: &[u8], first: Literal) -> Literal {
    let mut whole = first;
    while let Some(next) = joined(text, whole.kind, whole.after) {
        let (quote, start) = next;
        let (end, after, closed) = quote.close(text, start);
        if !closed {
            break;
        }
        whole.end = end;
        whole.after = after;
        if whole.end - whole.start > MAX_LITERAL {
            break;
        }
    }
    whole
}

/// Where the next piece of a concatenated literal starts, if the one of `kind` that ended at
/// `after` goes on.
pub(crate) fn joined(text: &[u8], kind: Kind, after: usize) -> Option<(Quote, usize)> {
    let Kind::Quoted(quote @ Quote::Plain { .. }) = kind else {
        return None;
    };
    let mut at = skip_space(text, after, 120);
    let mut operator = true;
    match text.get(at)? {
        b'<' if text.get(at + 1) == Some(&b'>') => at += 2,
        b'+' if text.get(at + 1) == Some(&b'+') => at += 2,
        b'.' if text.get(at + 1) == Some(&b'.') => at += 2,
        b'+' | b'.' | b'&' => at += 1,
        b'\\' if text.get(at + 1) == Some(&b'\n') => at += 2,
        _ => operator = false,
    }
    let breaks = text[after..at].contains(&b'\n');
    if !operator && !breaks {
        return None;
    }
    at = skip_space(text, at, 120);
    match Quote::open(text, at)? {
        (next, start) if next == quote => Some((next, start)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn content(text: &str) -> &str {
        let literal = marked(text.as_bytes(), 0).unwrap();
        &text[literal.start..literal.end]
    }

    #[test]
    fn strings_end_at_the_mark_of_their_own_depth() {
        assert_eq!(content(r#""a\"b" x"#), r#"a\"b"#);
        assert_eq!(content(r#""a\\" x""#), r#"a\\"#);
        assert_eq!(content(r#"\"a\\\"b\", \"c\""#), r#"a\\\"b"#);
        assert_eq!(content(r#"\\\"abc\\\" \""#), "abc");
        assert_eq!(content(r#"\"torn", "next""#), "torn");
        assert_eq!(content(r#"\"torn\\", "next""#), r"torn\\");
        assert_eq!(content("'it''s' x"), "it''s");
        assert_eq!(content("\"torn\nnext\""), "torn");
    }

    #[test]
    fn other_fences() {
        assert_eq!(content("~s(abc) x"), "abc");
        assert_eq!(content("~c\"abc\" x"), "abc");
        assert_eq!(content("\"\"\"\n  abc\n  \"\"\""), "abc");
        assert_eq!(content("<<\"abc\">>"), "abc");
        assert_eq!(content("r#\"a\"b\"# x"), "a\"b");
        assert_eq!(content("&quot;abc&quot; x"), "abc");
        assert_eq!(content("[115, 107, ...]"), "115, 107");
        assert_eq!(content("<<115, 107>>"), "115, 107");
    }

    #[test]
    fn bare_words_keep_escapes_whole() {
        let word = |text: &str, until| text[..bare(text.as_bytes(), 0, until).end].to_owned();
        assert_eq!(word("ab,c d", Until::Punctuation), "ab");
        assert_eq!(word("ab,c d", Until::Blank), "ab,c");
        assert_eq!(word(r"ab\nc", Until::Blank), "ab");
        assert_eq!(word(r"ab\\c d", Until::Blank), r"ab\\c");
        assert_eq!(word(r#"ab\""#, Until::Blank), "ab");
        assert_eq!(word(r#"ab\\""#, Until::Blank), "ab");
    }

    #[test]
    fn lists_of_codes() {
        let spelled = |list: &str| {
            let mut text = Vec::new();
            decode_codes(list.as_bytes(), &mut text).map(|()| String::from_utf8(text).unwrap())
        };
        assert_eq!(spelled("104, 105").as_deref(), Some("hi"));
        assert_eq!(spelled("104,\\n  10\n5, ...").as_deref(), Some("hi"));
        assert_eq!(spelled("104, 1050"), None);
        let count = |list: &str, limit| count_codes(list.as_bytes(), limit);
        assert_eq!(count("104, 105", 255), Some(2));
        assert_eq!(count("200, 3, ...", 255), Some(2));
        assert_eq!(count("200,\\n 3,\n 17", 255), Some(3));
        assert_eq!(count("200, 300", 255), None);
        assert_eq!(count("99999999999", u32::MAX - 1), None);
    }

    #[test]
    fn concatenation_is_one_literal() {
        let text = br#""abc" <> "def", "x""#;
        let literal = concatenated(text, marked(text, 0).unwrap());
        assert_eq!(&text[literal.start..literal.end], br#"abc" <> "def"#);
    }
}
