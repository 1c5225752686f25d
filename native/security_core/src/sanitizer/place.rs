//! Where a name stands in its line: among data or in code.

use super::judge::Place;
use super::key::Key;
use super::shape::*;

/// Where a key stands in its line.
pub(super) fn place(text: &[u8], key: &Key, tight: bool) -> Place {
    let mut lead = line_lead(text, key.start, 60);
    // Sixty bytes are searched faster than a searcher is built.
    if let Some(at) = lead.windows(2).rposition(|pair| pair == b"\\n") {
        lead = &lead[at + 2..];
    }
    let lead = lead.trim_ascii();
    let lead = lead.strip_suffix(b"$env:").unwrap_or(lead);
    // Gutters: line numbers, diff signs, list dashes, comment signs, `path:12:`.
    let gutter = lead.iter().all(|&b| {
        matches!(
            b,
            b'+' | b'-' | b'>' | b'#' | b'|' | b'*' | b':' | b' ' | b'\t' | b'0'
                ..=b'9' | b'"' | b'\'' | b'$' | b';'
        )
    }) || lead.last().is_some_and(|&b| matches!(b, b':' | b'-'))
        && lead.len() > 4
        && lead[..lead.len() - 1]
            .last()
            .is_some_and(u8::is_ascii_digit);
    let word = lead
        .rsplit(|b| b.is_ascii_whitespace())
        .next()
        .unwrap_or_default();
    let exported = matches!(
        word,
        b"export"
            | b"-x"
            | b"set"
            | b"SET"
            | b"setenv"
            | b"ENV"
            | b"ARG"
            | b"env"
            | b"-e"
            | b"--env"
            | b"--build-arg"
            | b"$"
            | b"%"
            | b"&&"
            | b";"
            | b"run"
            | b"--set"
            | b"Environment="
            | b"\"Environment="
            | b"environment:"
            | b"-D"
            | b"--build-arg="
    );
    // Another setting of the same form right before: `A=1 B=2 cmd`, `host=x password=y`.
    let chained = tight && word.contains(&b'=') && !word.ends_with(b",") && !word.ends_with(b"=");
    let name = key.name;
    let screaming = !name.iter().any(u8::is_ascii_lowercase) && any(name, U);
    let data = gutter
        || exported
        || chained
        || in_settings(text, key.start)
        || screaming
            && tight
            && (lead.is_empty()
                || key.start > 0
                    && matches!(text[key.start - 1], b'"' | b'\'' | b' ' | b'[' | b','));
    Place {
        tight,
        data,
        screaming,
        ends: true,
    }
}

/// Among `key=value` settings joined by semicolons or ampersands: a connection string or a URL's parameters.
pub(super) fn in_settings(text: &[u8], start: usize) -> bool {
    start > 0 && matches!(text[start - 1], b';' | b'&' | b'?')
        || start > 1 && text[start - 1] == b' ' && text[start - 2] == b';'
}
