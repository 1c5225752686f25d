//! Exact values: secrets that this node already knows, found verbatim and in the forms in which programs print them.

use super::shape::{ALPHA, D, any, distinct, looks_random};
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use std::fmt;

/// A set of known secret values. It can be searched with, never read back.
#[derive(Clone)]
pub struct KnownSecrets {
    searcher: Option<AhoCorasick>,
    values: usize,
}

impl fmt::Debug for KnownSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownSecrets")
            .field("values", &self.values)
            .finish_non_exhaustive()
    }
}

impl Default for KnownSecrets {
    fn default() -> Self {
        KnownSecrets::empty()
    }
}

/// Values longer than this are searched for by their first bytes; a private key need not be compared to its end to be known.
const MAX_PATTERN: usize = 4096;

impl KnownSecrets {
    /// Knows nothing, and costs nothing.
    pub fn empty() -> KnownSecrets {
        KnownSecrets {
            searcher: None,
            values: 0,
        }
    }

    /// Of values that were collected by their names, takes those that can't be ordinary words: at least eight bytes and
    /// random-looking, or at least sixteen bytes. Weaker ones (`postgres` in a development configuration) must not vanish
    /// from every text.
    pub fn build<I: IntoIterator<Item = Vec<u8>>>(values: I) -> KnownSecrets {
        KnownSecrets::build_with(values, [])
    }

    /// As [`KnownSecrets::build`], and takes `forced`, which the host registered on purpose, from four bytes on.
    pub fn build_with<I, F>(collected: I, forced: F) -> KnownSecrets
    where
        I: IntoIterator<Item = Vec<u8>>,
        F: IntoIterator<Item = Vec<u8>>,
    {
        let mut values: Vec<Vec<u8>> = collected
            .into_iter()
            .filter(|value| KnownSecrets::admits(value))
            .collect();
        values.extend(forced.into_iter().filter(|value| value.len() >= 4));
        values.sort_unstable();
        values.dedup();
        let mut forms = Vec::new();
        for value in &values {
            spell(value, &mut forms);
        }
        forms.sort_unstable();
        forms.dedup();
        if forms.is_empty() {
            return KnownSecrets::empty();
        }
        // Too large a set for the fast automaton still gets the compact one; only absurd sizes fail, and then nothing may pass
        // silently: the values that fit are kept.
        let build = |patterns: &[Vec<u8>]| {
            AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(patterns)
                .or_else(|_| {
                    AhoCorasick::builder()
                        .match_kind(MatchKind::LeftmostLongest)
                        .kind(Some(AhoCorasickKind::NoncontiguousNFA))
                        .build(patterns)
                })
        };
        let searcher = build(&forms).or_else(|_| build(&values)).ok();
        KnownSecrets {
            searcher,
            values: values.len(),
        }
    }

    /// Is a collected value strong enough to be searched for everywhere?
    pub fn admits(value: &[u8]) -> bool {
        let text = value.trim_ascii();
        if text.len() < 8 || distinct(text) < 5 {
            return false;
        }
        if text.len() >= 16 {
            return true;
        }
        looks_random(text, false)
            || any(text, D) && any(text, ALPHA) && super::shape::surprise(text) > 0
    }

    /// How many values are known (not how many forms of them).
    pub fn len(&self) -> usize {
        self.values
    }

    /// Knows nothing?
    pub fn is_empty(&self) -> bool {
        self.values == 0
    }

    /// Calls `found` with every occurrence, in ascending order.
    pub(crate) fn each(&self, text: &[u8], mut found: impl FnMut(usize, usize)) {
        let Some(searcher) = &self.searcher else {
            return;
        };
        for hit in searcher.find_iter(text) {
            found(hit.start(), hit.end());
        }
    }
}

/// The forms in which programs print a value.
fn spell(value: &[u8], forms: &mut Vec<Vec<u8>>) {
    let value = &value[..value.len().min(MAX_PATTERN)];
    forms.push(value.to_vec());
    // Quoted in JSON, Elixir and Erlang; with escaped slashes; twice.
    let json = escape_json(value, false);
    let twice = escape_json(&json, false);
    forms.extend([escape_json(value, true), twice, json]);
    for upper in [true, false] {
        forms.push(percent(value, upper, false));
        forms.push(percent(value, upper, true));
    }
    forms.push(hex(value, false));
    forms.push(hex(value, true));
    for url_safe in [false, true] {
        for offset in 0..3 {
            if let Some(form) = base64_inside(value, offset, url_safe) {
                forms.push(form);
            }
        }
    }
    // HTML, as error pages show it, and lists of character codes.
    if value
        .iter()
        .any(|b| matches!(b, b'&' | b'<' | b'>' | b'"' | b'\''))
    {
        forms.push(html(value));
    }
    for separator in [", ", ","] {
        let codes: Vec<String> = value.iter().map(u8::to_string).collect();
        forms.push(codes.join(separator).into_bytes());
    }
}

fn escape_json(value: &[u8], slashes: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len() + 8);
    for &b in value {
        match b {
            b'"' | b'\\' => out.extend([b'\\', b]),
            b'/' if slashes => out.extend(b"\\/"),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            0..0x20 => out.extend(format!("\\u{b:04x}").bytes()),
            _ => out.push(b),
        }
    }
    out
}

fn percent(value: &[u8], upper: bool, plus: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len() * 2);
    for &b in value {
        match b {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(b),
            b' ' if plus => out.push(b'+'),
            _ if upper => out.extend(format!("%{b:02X}").bytes()),
            _ => out.extend(format!("%{b:02x}").bytes()),
        }
    }
    out
}

fn hex(value: &[u8], upper: bool) -> Vec<u8> {
    value
        .iter()
        .flat_map(|b| {
            if upper {
                format!("{b:02X}")
            } else {
                format!("{b:02x}")
            }
            .into_bytes()
        })
        .collect()
}

fn html(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for &b in value {
        match b {
            b'&' => out.extend(b"&amp;"),
            b'<' => out.extend(b"&lt;"),
            b'>' => out.extend(b"&gt;"),
            b'"' => out.extend(b"&quot;"),
            b'\'' => out.extend(b"&#39;"),
            _ => out.push(b),
        }
    }
    out
}

/// The characters that every base64 text has in common that holds `value` after `offset` other bytes: those that depend on
/// the value alone.
fn base64_inside(value: &[u8], offset: usize, url_safe: bool) -> Option<Vec<u8>> {
    const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let alphabet = if url_safe { URL } else { STANDARD };
    let bits = 8 * value.len();
    // The first character that begins inside the value, in bits from the value's start.
    let mut from = [0, 4, 2][offset];
    let mut out = Vec::with_capacity(bits / 6);
    while from + 6 <= bits {
        let pair = u16::from(value[from / 8]) << 8
            | u16::from(value.get(from / 8 + 1).copied().unwrap_or(0));
        out.push(alphabet[usize::from(pair >> (10 - from % 8) & 63)]);
        from += 6;
    }
    (out.len() >= 5).then_some(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn finds(known: &KnownSecrets, text: &[u8]) -> bool {
        let mut found = false;
        known.each(text, |_, _| found = true);
        found
    }

    /// Plain base64, written here once more so that the search is not tested against itself.
    fn base64(bytes: &[u8]) -> Vec<u8> {
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        bytes
            .chunks(3)
            .flat_map(|chunk| {
                let n = chunk.iter().fold(0u32, |n, &b| n << 8 | u32::from(b))
                    << (8 * (3 - chunk.len()));
                (0..4)
                    .map(move |i| {
                        if i <= chunk.len() {
                            alphabet[(n >> (18 - 6 * i) & 63) as usize]
                        } else {
                            b'='
                        }
                    })
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    #[test]
    fn every_form_is_found() {
        let secret = b"p/q\"r s+t=9zK4".to_vec();
        let known = KnownSecrets::build_with([], [secret.clone()]);
        assert_eq!(known.len(), 1);
        for text in [
            "x p/q\"r s+t=9zK4 y",
            "x p/q\\\"r s+t=9zK4 y",
            "p%2Fq%22r%20s%2Bt%3D9zK4",
            "p%2fq%22r+s%2bt%3d9zK4",
            "702f7122722073",
        ] {
            let hit = finds(&known, text.as_bytes());
            assert_eq!(hit, !text.starts_with("702f71227220"), "{text}");
        }
        for lead in 0..5 {
            let mut plain = vec![b'u'; lead];
            plain.extend_from_slice(&secret);
            plain.extend_from_slice(b":tail");
            assert!(finds(&known, &base64(&plain)), "after {lead} bytes");
        }
        assert!(finds(&known, &hex(&secret, false)));
    }

    #[test]
    fn weak_values_are_not_taken() {
        let known = KnownSecrets::build(
            [
                "postgres",
                "password",
                "dev",
                "localhost",
                "aaaaaaaaaaaaaaaaaaaa",
            ]
            .map(|v| v.as_bytes().to_vec()),
        );
        assert!(known.is_empty());
        let known = KnownSecrets::build(
            ["x7Kp2mQ9", "a long sentence that is secret"].map(|v| v.as_bytes().to_vec()),
        );
        assert_eq!(known.len(), 2);
    }

    #[test]
    fn debug_shows_no_value() {
        let known = KnownSecrets::build_with([], [b"hunter2hunter2".to_vec()]);
        assert!(!format!("{known:?}").contains("hunter2"));
    }
}
