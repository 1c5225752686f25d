//! Exact values: secrets that this node already knows, found verbatim and in the spellings in which
//! programs print them.
//!
//! A spelling's first bytes are searched for, all at once; from there the text is followed with the
//! value in hand, over line breaks, escapes and what stands between the bytes of a dump.

use super::beginnings::{Beginnings, WINDOW, alike};
use super::shape::{ALPHA, D, UNJUDGED, any, distinct, looks_random, run_end_capped};
use std::fmt;

/// A set of known secret values. It can be searched with, never read back.
#[derive(Clone)]
pub struct KnownSecrets {
    beginnings: Option<Beginnings>,
    /// Sorted as [`Pattern::order`] says.
    patterns: Vec<Pattern>,
    spellings: Vec<Spelling>,
    values: usize,
}

/// Bytes that are searched for, and what they stand for.
#[derive(Clone, Copy)]
struct Pattern {
    bytes: [u8; PIECE],
    length: u8,
    anchor: Anchor,
}

impl Pattern {
    fn new(bytes: &[u8], anchor: Anchor) -> Pattern {
        let mut pattern = Pattern {
            bytes: [0; PIECE],
            length: bytes.len() as u8,
            anchor,
        };
        pattern.bytes[..bytes.len()].copy_from_slice(bytes);
        pattern
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Those with one beginning stand together, and of these those of one length, so that no
    /// number of values that begin alike makes a search slow.
    fn order(&self) -> (&[u8], u8, &[u8]) {
        (&self.bytes[..WINDOW], self.length, self.bytes())
    }
}

/// What a pattern is to a spelling.
#[derive(Clone, Copy)]
enum Anchor {
    /// Its first bytes.
    First(u32),
    /// Its last bytes, for a text that was cut off in front.
    Last(u32),
}

/// A way to print a value.
#[derive(Clone)]
struct Spelling {
    bytes: Vec<u8>,
    alphabet: Alphabet,
    /// So random that a piece of it tells.
    random: bool,
}

/// What may stand between the bytes of a spelling, and in their place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alphabet {
    /// The value itself: any of its bytes may be escaped, and a line break may stand anywhere.
    Plain,
    /// Base64: wrapped lines.
    Wrapped,
    /// Pairs of hexadecimal digits, with signs between.
    Hex,
    /// Decimal codes with commas.
    Codes,
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

/// Values longer than this are searched for by their first bytes; a private key need not be
/// compared to its end to be known.
const MAX_PATTERN: usize = 4096;
/// So many bytes of a spelling are searched for.
const ANCHOR: usize = 8;
/// A piece of a random value is known from this length on.
const PIECE: usize = 12;
/// Following what begins like a value may read each byte of a text so often.
const READS_PER_BYTE: usize = 8;

impl KnownSecrets {
    /// Knows nothing, and costs nothing.
    pub fn empty() -> KnownSecrets {
        KnownSecrets {
            beginnings: None,
            patterns: Vec::new(),
            spellings: Vec::new(),
            values: 0,
        }
    }

    /// Of values that were collected by their names, takes those that can't be ordinary words: at
    /// least eight bytes and random-looking, or at least sixteen bytes. Weaker ones (`postgres` in
    /// a development configuration) must not vanish from every text.
    pub fn build<I: IntoIterator<Item = Vec<u8>>>(values: I) -> KnownSecrets {
        KnownSecrets::build_with(values, [])
    }

    /// As [`KnownSecrets::build`], and takes `forced`, which the host registered on purpose, from
    /// four bytes on. Blanks are no secret: with them every indentation would be one.
    pub fn build_with<I, F>(collected: I, forced: F) -> KnownSecrets
    where
        I: IntoIterator<Item = Vec<u8>>,
        F: IntoIterator<Item = Vec<u8>>,
    {
        let mut values: Vec<Vec<u8>> = collected
            .into_iter()
            .filter(|value| KnownSecrets::admits(value))
            .collect();
        values.extend(
            forced
                .into_iter()
                .filter(|value| KnownSecrets::may_register(value)),
        );
        values.sort_unstable();
        values.dedup();
        let mut known = KnownSecrets::empty();
        known.values = values.len();
        for value in &values {
            known.spell(&value[..value.len().min(MAX_PATTERN)]);
        }
        known
            .patterns
            .sort_unstable_by(|a, b| a.order().cmp(&b.order()));
        let patterns = known.patterns.iter().map(Pattern::bytes);
        known.beginnings = (patterns.len() > 0).then(|| Beginnings::of(patterns));
        known
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

    /// May the host register this value? Not blanks, not one letter over and over, not less than
    /// four bytes.
    pub fn may_register(value: &[u8]) -> bool {
        let text = value.trim_ascii();
        text.len() >= 4 && distinct(text) >= 2
    }

    /// How many values are known (not how many spellings of them).
    pub fn len(&self) -> usize {
        self.values
    }

    /// Knows nothing?
    pub fn is_empty(&self) -> bool {
        self.values == 0
    }

    /// Does any of the values stand there?
    pub(crate) fn occurs_in(&self, text: &[u8]) -> bool {
        let mut occurs = false;
        self.each(text, |_, _| occurs = true);
        occurs
    }

    /// Calls `found` with every occurrence.
    pub(crate) fn each(&self, text: &[u8], mut found: impl FnMut(usize, usize)) {
        let Some(beginnings) = &self.beginnings else {
            return;
        };
        let mut budget = READS_PER_BYTE * text.len() + 64 * 1024;
        let mut at = 0;
        'places: while let Some(start) = beginnings.next(text, at) {
            at = start + 1;
            let mut rest = alike(&self.patterns, &text[start..], Pattern::bytes);
            while let Some(first) = rest.first() {
                let longer = rest.partition_point(|pattern| pattern.length <= first.length);
                let end = start + usize::from(first.length);
                if let Some(here) = text.get(start..end) {
                    let same = &rest[..longer];
                    let same = &same[same.partition_point(|one| one.bytes() < here)..];
                    for pattern in same.iter().take_while(|one| one.bytes() == here) {
                        // Without a budget every word goes that begins like a value.
                        if budget == 0 {
                            at = run_end_capped(text, end, UNJUDGED, MAX_PATTERN);
                            found(start, at);
                            continue 'places;
                        }
                        let place =
                            self.occurrence(pattern.anchor, text, (start, end), &mut budget);
                        if let Some((start, end)) = place {
                            found(start, end);
                        }
                    }
                }
                rest = &rest[longer..];
            }
        }
    }

    /// Where the value stands of which a pattern was found.
    fn occurrence(
        &self,
        anchor: Anchor,
        text: &[u8],
        (start, end): (usize, usize),
        budget: &mut usize,
    ) -> Option<(usize, usize)> {
        match anchor {
            Anchor::First(index) => {
                let spelling = &self.spellings[index as usize];
                let (matched, end) = spelling.follow(text, start);
                *budget = budget.saturating_sub(end - start + 16);
                let piece = spelling.random && matched >= PIECE;
                (matched == spelling.bytes.len() || piece).then_some((start, end))
            }
            Anchor::Last(index) => {
                let bytes = &self.spellings[index as usize].bytes;
                let pairs = bytes.iter().rev().zip(text[..end].iter().rev());
                let length = pairs.take_while(|(a, b)| a == b).count();
                *budget = budget.saturating_sub(length + 16);
                Some((end - length, end))
            }
        }
    }

    /// Adds the spellings in which programs print a value, and the patterns by which they are
    /// found.
    fn spell(&mut self, value: &[u8]) {
        let random = self.spell_plain(value);
        self.spell_hex(value, random);
        for url_safe in [false, true] {
            for offset in 0..3 {
                if let Some(form) = base64_inside(value, offset, url_safe) {
                    let index = self.add(form.clone(), Alphabet::Wrapped, random);
                    self.anchor(Anchor::First(index), vec![form]);
                }
            }
        }
        let form = codes(value, ",");
        let begins = vec![form.clone(), codes(head(value), ", ")];
        let index = self.add(form, Alphabet::Codes, random);
        self.anchor(Anchor::First(index), begins);
    }

    /// The value itself and its escaped forms: in JSON, Elixir and Erlang, with escaped slashes,
    /// twice; in URLs; in HTML; for a shell and for SQL. Says whether a piece of it tells.
    fn spell_plain(&mut self, value: &[u8]) -> bool {
        let random = value.len() > PIECE && looks_random(value, false);
        let index = self.add(value.to_vec(), Alphabet::Plain, random);
        let head = head(value);
        let json = escape_json(head, false);
        let mut begins = vec![
            head.to_vec(),
            escape_json(head, true),
            escape_json(&json, false),
            json,
            html(head),
            unicode(head),
            quoted(head, b"'\\''"),
            quoted(head, b"''"),
            backslashed(head),
        ];
        for upper in [true, false] {
            begins.extend([
                percent(head, upper, false),
                percent(head, upper, true),
                percent_all(head, upper),
            ]);
        }
        self.anchor(Anchor::First(index), begins);
        if random {
            let last = &value[value.len() - PIECE..];
            if looks_random(last, false) {
                self.patterns.push(Pattern::new(last, Anchor::Last(index)));
            }
        }
        let marked = |b: &u8| matches!(b, b'&' | b'<' | b'>' | b'"' | b'\'');
        if value.iter().any(marked) {
            let form = html(value);
            let index = self.add(form.clone(), Alphabet::Plain, false);
            self.anchor(Anchor::First(index), vec![form]);
        }
        random
    }

    fn spell_hex(&mut self, value: &[u8], random: bool) {
        let index = self.add(hex(value, false), Alphabet::Hex, random);
        for upper in [false, true] {
            let form = hex(head(value), upper);
            let apart = |digits: usize, mark: &str| {
                let groups: Vec<_> = form.chunks(digits).map(String::from_utf8_lossy).collect();
                groups.join(mark).into_bytes()
            };
            let begins = vec![
                form.clone(),
                apart(2, " "),
                apart(2, ":"),
                apart(2, "\\x"),
                apart(2, ", 0x"),
                apart(4, " "),
            ];
            self.anchor(Anchor::First(index), begins);
        }
    }

    fn add(&mut self, bytes: Vec<u8>, alphabet: Alphabet, random: bool) -> u32 {
        self.spellings.push(Spelling {
            bytes,
            alphabet,
            random,
        });
        self.spellings.len() as u32 - 1
    }

    fn anchor(&mut self, anchor: Anchor, begins: Vec<Vec<u8>>) {
        let mut begins: Vec<Vec<u8>> = begins
            .into_iter()
            .map(|mut begin| {
                begin.truncate(ANCHOR);
                begin
            })
            .collect();
        begins.sort_unstable();
        begins.dedup();
        for begin in begins {
            self.patterns.push(Pattern::new(&begin, anchor));
        }
    }
}

impl Spelling {
    /// Follows the text from `start`: how many bytes of the spelling stand there, and where the
    /// last of them ends.
    fn follow(&self, text: &[u8], start: usize) -> (usize, usize) {
        let (mut matched, mut at, mut end) = (0, start, start);
        while let Some(&wanted) = self.bytes.get(matched) {
            let Some(&b) = text.get(at) else { break };
            let gap = if b == wanted { 0 } else { self.gap(text, at) };
            if gap > 0 {
                at += gap;
                continue;
            }
            let Some(length) = self.shown(text, at, wanted) else {
                break;
            };
            at += length;
            end = at;
            matched += 1;
        }
        (matched, end)
    }

    /// The length of `wanted` as it stands at `at`, whether plain or escaped.
    fn shown(&self, text: &[u8], at: usize, wanted: u8) -> Option<usize> {
        // A quotation mark for a shell or for SQL, inside a string of its kind.
        if wanted == b'\'' && self.alphabet == Alphabet::Plain {
            for (spelled, length) in [(&b"'\\''"[..], 4), (b"''", 2)] {
                if text[at..].starts_with(spelled) {
                    return Some(length);
                }
            }
        }
        if text[at] == wanted
            || self.alphabet == Alphabet::Hex && text[at].eq_ignore_ascii_case(&wanted)
        {
            return Some(1);
        }
        if self.alphabet != Alphabet::Plain {
            return None;
        }
        let rest = &text[at..text.len().min(at + 16)];
        let coded = |digits: Option<&[u8]>| {
            let digits = std::str::from_utf8(digits?).ok()?;
            u8::from_str_radix(digits, 16)
                .ok()
                .filter(|&code| code == wanted)
        };
        match rest {
            [b'%', ..] => coded(rest.get(1..3)).map(|_| 3),
            [b'+', ..] if wanted == b' ' => Some(1),
            [b'\\', ..] => {
                let slashes = rest.iter().take(8).take_while(|&&b| b == b'\\').count();
                let rest = &rest[slashes..];
                match rest.first()? {
                    b'u' if rest.get(1..3) == Some(b"00") => {
                        coded(rest.get(3..5)).map(|_| slashes + 5)
                    }
                    b'x' => coded(rest.get(1..3)).map(|_| slashes + 3),
                    b'n' if wanted == b'\n' => Some(slashes + 1),
                    b't' if wanted == b'\t' => Some(slashes + 1),
                    b'r' if wanted == b'\r' => Some(slashes + 1),
                    b if *b == wanted => Some(slashes + 1),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The length of what stands between two bytes of the spelling at `at`.
    fn gap(&self, text: &[u8], at: usize) -> usize {
        let rest = &text[at..text.len().min(at + 64)];
        let blank = |b: &&u8| b.is_ascii_whitespace();
        match self.alphabet {
            Alphabet::Hex => match rest {
                [b'0', b'x', ..] | [b'\\', b'x', ..] => 2,
                _ => rest
                    .iter()
                    .take_while(|b| blank(b) || matches!(b, b':' | b',' | b'-'))
                    .count(),
            },
            Alphabet::Codes => rest.iter().take_while(blank).count(),
            // A line's end with what indents the next one, written or real, and a backslash in
            // front of it.
            Alphabet::Plain | Alphabet::Wrapped => {
                let lead = rest
                    .iter()
                    .take_while(|b| matches!(b, b'"' | b'\\' | b' ' | b'<' | b'>' | b'+' | b'\r'))
                    .count();
                match &rest[lead..] {
                    [b'\n', next @ ..] => {
                        let indent = next
                            .iter()
                            .take_while(|b| blank(b) || matches!(b, b'"' | b'|' | b'>'))
                            .count();
                        lead + 1 + indent
                    }
                    [b'n', next @ ..] if lead > 0 && rest[lead - 1] == b'\\' => {
                        lead + 1 + next.iter().take_while(|&&b| b == b' ').count()
                    }
                    _ => 0,
                }
            }
        }
    }
}

/// As much of a value as its spellings' beginnings are made of: none is shorter than what it spells.
fn head(value: &[u8]) -> &[u8] {
    &value[..value.len().min(ANCHOR)]
}

/// Decimal codes, with this between.
fn codes(value: &[u8], mark: &str) -> Vec<u8> {
    let codes: Vec<String> = value.iter().map(u8::to_string).collect();
    codes.join(mark).into_bytes()
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

fn percent_all(value: &[u8], upper: bool) -> Vec<u8> {
    let code = |b: &u8| {
        if upper {
            format!("%{b:02X}")
        } else {
            format!("%{b:02x}")
        }
    };
    value.iter().flat_map(|b| code(b).into_bytes()).collect()
}

fn unicode(value: &[u8]) -> Vec<u8> {
    value
        .iter()
        .flat_map(|b| format!("\\u{b:04x}").into_bytes())
        .collect()
}

/// Every quotation mark as a shell or SQL has it inside a string of its kind.
fn quoted(value: &[u8], mark: &[u8]) -> Vec<u8> {
    let spelled = |&b: &u8| if b == b'\'' { mark.to_vec() } else { vec![b] };
    value.iter().flat_map(spelled).collect()
}

/// As a shell's `printf %q` prints it.
fn backslashed(value: &[u8]) -> Vec<u8> {
    let plain = |b: u8| {
        b.is_ascii_alphanumeric()
            || b >= 0x80
            || matches!(
                b,
                b'_' | b'-' | b'.' | b'/' | b'+' | b'=' | b'%' | b':' | b'@'
            )
    };
    value
        .iter()
        .flat_map(|&b| if plain(b) { vec![b] } else { vec![b'\\', b] })
        .collect()
}

/// The characters that every base64 text has in common that holds `value` after `offset` other
/// bytes: those that depend on the value alone.
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
    fn damaged_spellings_are_found() {
        let secret = b"zK4p/q\"r's+t=9xW2mQ".to_vec();
        let known = KnownSecrets::build_with([], [secret.clone()]);
        for text in [
            "zK4p/q\"r's+\n    t=9xW2mQ",
            "zK4p/q\\\"r's+t=9xW2mQ",
            "zK4p/q\"r'\\''s+t=9xW2mQ",
            "zK4p/q\"r''s+t=9xW2mQ",
            "\\u007a\\u004b\\u0034\\u0070/q\"r's+t=9xW2mQ",
            "%7A%4B%34%70%2F%71%22%72%27%73%2B%74%3D%39%78%57%32%6D%51",
            "7a 4b 34 70 2f 71 22 72 27 73 2b 74 3d 39 78 57 32 6d 51",
            "7a4b 3470 2f71 2272 2773\n  2b74 3d39 7857 326d 51",
            "122, 75, 52, 112, 47,\n  113, 34, 114, 39, 115, 43, 116, 61, 57, 120, 87, 50, 109, 81",
            "zK4p/q\"r's+t=",
            "q\"r's+t=9xW2mQ",
        ] {
            assert!(finds(&known, text.as_bytes()), "{text}");
        }
        for text in ["zK4p/q\"r", "9xW2mQ", "7a 4b 34 70 2f"] {
            assert!(!finds(&known, text.as_bytes()), "{text}");
        }
        let wrapped: Vec<u8> = base64(&secret)
            .chunks(10)
            .flat_map(|line| [line, b"\n  "].concat())
            .collect();
        assert!(finds(&known, &wrapped));
    }

    #[test]
    fn values_that_begin_alike_go_whole_however_many_there_are() {
        let values: Vec<String> = (0..200)
            .map(|i| format!("acme_live_{i:03}x7Kp2mQ9vL4"))
            .collect();
        let known = KnownSecrets::build(values.iter().map(|value| value.clone().into_bytes()));
        let text = values.join("\n").repeat(4);
        let mut hidden = vec![false; text.len()];
        known.each(text.as_bytes(), |start, end| hidden[start..end].fill(true));
        let shown = text
            .bytes()
            .zip(hidden)
            .filter(|(b, hidden)| !hidden && *b != b'\n');
        assert_eq!(shown.count(), 0);
    }

    #[test]
    fn blanks_are_no_secret() {
        let known = KnownSecrets::build_with(
            [],
            [b"        ".to_vec(), b"aaaa".to_vec(), b"abc".to_vec()],
        );
        assert!(known.is_empty());
        assert!(KnownSecrets::may_register(b"zebra"));
    }

    #[test]
    fn debug_shows_no_value() {
        let known = KnownSecrets::build_with([], [b"hunter2hunter2".to_vec()]);
        assert!(!format!("{known:?}").contains("hunter2"));
    }
}
