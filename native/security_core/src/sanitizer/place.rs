//! Where a name stands in its line: among data or in code.

use super::judge::Place;
use super::name::Key;
use super::shape::*;
use crate::word_list::WordList;

/// Words before a setting: what exports it, or takes it as an argument.
#[rustfmt::skip]
static EXPORTS: WordList = WordList::new(&[
    "\"Environment=", "$", "%", "&&", "--build-arg", "--build-arg=", "--env", "--set", "-D", "-e",
    "-x", ";", "ARG", "ENV", "Environment=", "SET", "env", "environment:", "export", "local",
    "readonly", "run", "set", "setenv", "typeset",
]);

/// Where a key stands in its line.
pub(super) fn place(text: &[u8], key: &Key, tight: bool) -> Place {
    let mut lead = line_lead(text, key.start, 60);
    // Sixty bytes are searched faster than a searcher is built.
    if let Some(at) = lead.windows(2).rposition(|pair| pair == b"\\n") {
        lead = &lead[at + 2..];
    }
    let lead = lead.trim_ascii();
    let lead = lead.strip_suffix(b"$env:").unwrap_or(lead);
    let blank = |b: &u8| b.is_ascii_whitespace();
    let word = lead.rsplit(blank).next().unwrap_or_default();
    // Another setting of the same form right before: `A=1 B=2 cmd`, `host=x password=y`.
    let chained = tight && word.contains(&b'=') && !word.ends_with(b",") && !word.ends_with(b"=");
    let screaming = !key.name.iter().any(u8::is_ascii_lowercase) && any(key.name, U);
    let data = is_gutter(lead)
        || EXPORTS.has(word)
        || chained
        || in_settings(text, key.start)
        || screaming && tight && (lead.is_empty() || begins_word(text, key.start));
    Place {
        tight,
        data,
        screaming,
        ends: true,
    }
}

/// Line numbers, diff signs, list dashes, comment signs, `path:12:`: nothing that belongs to the
/// line itself.
fn is_gutter(lead: &[u8]) -> bool {
    let sign = |&b: &u8| {
        matches!(
            b,
            b'+' | b'-' | b'>' | b'#' | b'|' | b'*' | b':' | b' ' | b'\t' | b'0'
                ..=b'9' | b'"' | b'\'' | b'$' | b';' | b'!'
        )
    };
    if lead.iter().all(sign) || matches!(lead, b"//" | b"/*" | b"<!--" | b"%%" | b"// TODO" | b"[-")
    {
        return true;
    }
    // `lib/a.ex:12:`, `lib/a.ex-12-`, `(Ann 2026-11-22 12)`, `c.yml:`, a comment behind code.
    matches!(lead, [.., b'0'..=b'9', b':' | b'-' | b')'])
        || lead.ends_with(b" #")
        || lead.ends_with(b" //")
        || lead.ends_with(b":") && !lead.contains(&b' ') && lead.contains(&b'.')
        || lead.ends_with(b"]{+")
        || lead.ends_with(b"[-")
}

fn begins_word(text: &[u8], start: usize) -> bool {
    start > 0 && matches!(text[start - 1], b'"' | b'\'' | b' ' | b'[' | b',')
}

/// Among `key=value` settings joined by semicolons or ampersands: a connection string or a URL's
/// parameters.
pub(super) fn in_settings(text: &[u8], start: usize) -> bool {
    start > 0 && matches!(text[start - 1], b';' | b'&' | b'?')
        || start > 1 && text[start - 1] == b' ' && text[start - 2] == b';'
}
