//! HTTP headers: credentials after a scheme's name, and cookies.

use super::judge::{self, Place, bare_is_secret, is_placeholder, quoted_is_secret};
use super::keys::{KeyClass, classify};
use super::literal::{Kind, Quote, Until, bare, marked, skip_blanks};
use super::marks::{self, without};
use super::name::Key;
use super::rules::Rule;
use super::scan::Scan;
use super::separator::Separator;
use super::shape::*;
use crate::word_list::WordList;

pub(super) fn is_cookie(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"cookie")
        || name.eq_ignore_ascii_case(b"set-cookie")
        || name.eq_ignore_ascii_case(b"set_cookie")
}

/// Servers refuse headers that are longer.
const MAX_HEADER: usize = 8192;

/// The text of a header's value: a literal's content, or the rest of the line.
fn header_text(text: &[u8], at: usize) -> (usize, usize) {
    if let Some(literal) =
        marked(text, at).filter(|l| matches!(l.kind, Kind::Quoted(_) | Kind::Fenced))
    {
        return (literal.start, literal.end);
    }
    let limit = text.len().min(at + MAX_HEADER);
    let rest = &text[at..limit];
    // A written line break ends a header, too.
    let end = rest
        .iter()
        .position(|&b| matches!(b, b'\n' | b'\r' | b'"' | b'`' | b'\'' | b'\\'))
        .unwrap_or(rest.len());
    (at, at + end)
}

/// What a cookie says of itself beside its value (RFC 6265, and what browsers and servers added).
#[rustfmt::skip]
static ATTRIBUTES: WordList = WordList::new(&[
    "domain", "expires", "httponly", "max-age", "partitioned", "path", "priority", "samesite",
    "secure", "version",
]);

/// First words of an authorization header: those that are registered, and those of vendors.
#[rustfmt::skip]
static SCHEMES: WordList = WordList::new(&[
    "api-key", "apikey", "aws4-hmac-sha256", "basic", "bearer", "bot", "client-id",
    "deepl-auth-key", "digest", "genie", "genie-key", "geniekey", "githubtoken", "hawk", "jwt",
    "key", "klaviyo-api-key", "mac", "negotiate", "ntlm", "oauth", "pat", "private-token",
    "sharedaccesssignature", "sharedkey", "snowflake", "splunk", "ssws", "token", "zoho-oauthtoken",
]);

/// `Authorization: Bearer …`: what follows the scheme's name.
pub(super) fn authorization(
    scan: &mut Scan,
    key: &Key,
    separator: Separator,
    from: usize,
    tight: bool,
) {
    let text = scan.text;
    if matches!(
        separator,
        Separator::Prose | Separator::Cell | Separator::Blank
    ) && marked(text, from).is_none()
        && key.dashes == 0
    {
        return;
    }
    if matches!(text.get(from), Some(b'{' | b'[')) {
        return pair(scan, from + 1);
    }
    let (start, end) = header_text(text, from);
    scan.spend(2 * (end - start) + 64);
    if behind_scheme(scan, start, end) {
        return;
    }
    let value = &text[start..end];
    // Under a quoted name a value without marks is a number or a word of JSON.
    let quoted = start > from;
    if !quoted && key.quote.is_some() && is_at(text, from, D | DASH) {
        return;
    }
    let plain = value.trim_ascii();
    let hit = if plain.contains(&b' ') {
        false
    } else if quoted || marked(text, from).is_some() {
        quoted_is_secret(KeyClass::Token, key.name, plain)
    } else {
        let literal = bare(text, from, Until::Punctuation);
        let value = &text[from..literal.end];
        scan.spend(8 * value.len());
        let place = Place {
            tight,
            data: true,
            screaming: false,
            ends: true,
        };
        if bare_is_secret(KeyClass::Token, key.name, value, place)
            && !matches!(text.get(literal.end), Some(b'(' | b'['))
        {
            scan.add(from, literal.end, Rule::Secret, 1);
        }
        return;
    };
    if hit {
        scan.add(start, start + value.trim_ascii_end().len(), Rule::Secret, 1);
        scan.value_until = end;
    }
}

/// The credentials behind the name of a scheme. Says whether a scheme is named at all.
fn behind_scheme(scan: &mut Scan, start: usize, end: usize) -> bool {
    let text = scan.text;
    let value = &text[start..end];
    let word = run_end(value, 0, ALNUM | DASH);
    let scheme = &value[..word];
    let named = SCHEMES.has_in_any_case(scheme);
    let Some(&mark @ (b' ' | b'+' | b'%')) = value.get(word).filter(|_| named) else {
        return false;
    };
    // A space may stand as its two digits behind a percent sign.
    let mark = if mark == b'%' { 3 } else { 1 };
    let rest = skip_blanks(text, start + word + mark, 8);
    if rest >= end || parameters(scan, rest) {
        return true;
    }
    let stop = rest
        + text[rest..end]
            .iter()
            .position(|&b| b == b' ' || b == b',' || b == b')')
            .unwrap_or(end - rest);
    let credentials = &*without(&text[rest..stop]);
    let word = all(credentials, L | EQ) && surprise(credentials) < 20;
    if credentials.len() >= 4 && !word && !is_placeholder(credentials) && !code_like(credentials) {
        scan.add(rest, stop, Rule::Bearer, 1);
        scan.value_until = stop;
    }
    true
}

/// Digest and signature schemes carry parameters: the proof among them goes, the rest stays. Says
/// whether there are any.
fn parameters(scan: &mut Scan, from: usize) -> bool {
    let text = scan.text;
    let name = run_end_capped(text, from, WORD | DASH, 32);
    if name == from
        || text.get(name) != Some(&b'=')
        || matches!(text.get(name + 1), None | Some(b'=' | b' '))
    {
        return false;
    }
    let limit = text.len().min(from + 1024);
    let line = &text[from..limit];
    let line = &line[..memchr::memchr2(b'\n', b'\r', line).unwrap_or(line.len())];
    let quoted = matches!(text.get(name + 1), Some(b'"' | b'\\'));
    if !quoted && memchr::memchr(b',', line).is_none() {
        return false;
    }
    scan.spend(8 * line.len());
    const PROOFS: &[&str] = &[
        "response=",
        "ignature=",
        "mac=",
        "oauth_token=",
        "oauth_signature=",
        "cnonce=",
        "Credential=",
    ];
    for proof in PROOFS {
        let Some(found) = memchr::memmem::find(line, proof.as_bytes()) else {
            continue;
        };
        let at = from + found + proof.len();
        let start = Quote::open(text, at).map_or(at, |(_, start)| start);
        let end = run_end_capped(text, start, STD64 | URL64 | PCT | COLON, 512);
        if end - start >= 8 && !is_placeholder(&text[start..end]) {
            scan.add(start, end, Rule::Bearer, 1);
        }
    }
    true
}

/// `auth: {:basic, "user:password"}`, `{:bearer, "…"}`, `{"user", "password"}`: how HTTP clients'
/// options have it.
fn pair(scan: &mut Scan, from: usize) {
    let text = scan.text;
    let mut at = skip_blanks(text, from, 8);
    let basic = text[at..].starts_with(b":basic") || text[at..].starts_with(b"basic");
    if matches!(text.get(at), Some(b':' | b'a'..=b'z')) {
        at = run_end_capped(text, at + 1, WORD, 24);
    } else if let Some(literal) = marked(text, at) {
        at = literal.after;
    }
    at = skip_blanks(text, at, 4);
    if text.get(at) != Some(&b',') {
        return;
    }
    let quoted = |at: usize| {
        marked(text, skip_blanks(text, at, 8)).filter(|l| matches!(l.kind, Kind::Quoted(_)))
    };
    let Some(mut literal) = quoted(at + 1) else {
        return;
    };
    // `{:basic, "user", "password"}`
    if let Some(second) = quoted(skip_blanks(text, literal.after, 4) + 1)
        .filter(|_| text[literal.after..].trim_ascii_start().starts_with(b","))
    {
        literal = second;
    } else if basic {
        let Some(colon) = memchr::memchr(b':', &text[literal.start..literal.end]) else {
            return;
        };
        literal.start += colon + 1;
    }
    if literal.end - literal.start >= 3 && !is_placeholder(&text[literal.start..literal.end]) {
        scan.add(literal.start, literal.end, Rule::Bearer, 1);
        scan.value_until = scan.value_until.max(literal.end);
    }
}

fn code_like(value: &[u8]) -> bool {
    value
        .iter()
        .any(|b| matches!(b, b'(' | b'{' | b'}' | b'$' | b'#' | b'<' | b'>' | b'['))
        || judge::is_identifier(value) && !any(value, D)
}

/// `Cookie: a=…; b=…` and `Set-Cookie: a=…; Path=/`: the values, not the names and attributes.
pub(super) fn cookies(scan: &mut Scan, key: &Key, from: usize) {
    let text = scan.text;
    let (start, end) = header_text(text, from);
    scan.spend(4 * (end - start));
    let mut at = start;
    for part in text[start..end].split(|&b| b == b';').take(100) {
        let here = at;
        at += part.len() + 1;
        scan.spend(100);
        let Some(equals) = memchr::memchr(b'=', part) else {
            let bare = part.trim_ascii();
            let number = judge::is_number(bare.strip_suffix(b",").unwrap_or(bare));
            if key.name.len() == 6
                && part.len() == end - start
                && !number
                && quoted_is_secret(KeyClass::Token, key.name, part)
                && !part
                    .trim_ascii()
                    .iter()
                    .any(|b| matches!(b, b' ' | b'{' | b'}' | b'(' | b')'))
            {
                let lead = part.len() - part.trim_ascii_start().len();
                scan.add(
                    here + lead,
                    here + part.trim_ascii_end().len(),
                    Rule::Cookie,
                    1,
                );
            }
            continue;
        };
        let name = part[..equals].trim_ascii();
        if name.is_empty()
            || !all(name, WORD | DASH | DOT) && !name.iter().all(|b| b.is_ascii_graphic())
            || ATTRIBUTES.has_in_any_case(name)
        {
            continue;
        }
        let value = part[equals + 1..].trim_ascii();
        let told = classify(name) >= KeyClass::Token
            || contains_ci(name, b"sess")
            || contains_ci(name, b"sid")
            || contains_ci(name, b"auth")
            || contains_ci(name, b"remember")
            || name.ends_with(b"_key");
        let random = value.len() >= 16
            && any(value, D)
            && surprise(&value[..value.len().min(200)]) > 40
            && !value.iter().any(|&b| matches!(b, b'(' | b'{' | b' '));
        if (told && value.len() >= 6 || random)
            && !is_placeholder(value)
            && !value
                .iter()
                .any(|b| matches!(b, b'(' | b'{' | b'<' | b' ' | b'}' | b')'))
        {
            let offset = here
                + equals
                + 1
                + (part[equals + 1..].len() - part[equals + 1..].trim_ascii_start().len());
            scan.add(offset, offset + value.len(), Rule::Cookie, 1);
            scan.value_until = offset + value.len();
        }
    }
}

/// `Bearer …` anywhere, also in prose and logs.
pub(crate) fn bearer(scan: &mut Scan, at: usize) {
    let text = scan.text;
    if at > 0 && is(text[at - 1], ALNUM) && !(at > 1 && text[at - 2] == b'\\') {
        return;
    }
    if !text
        .get(at..at + 6)
        .is_some_and(|w| w.eq_ignore_ascii_case(b"bearer"))
    {
        return;
    }
    let mut start = at + 6;
    let gap = match text.get(start) {
        Some(b' ' | b'\t') => skip_blanks(text, start, 8) - start,
        Some(b'+' | b':' | b'=') => 1 + skip_blanks(text, start + 1, 4) - start - 1,
        Some(b'%') if text[start..].starts_with(b"%20") => 3,
        Some(b'.') if text[start..].starts_with(b".authorization.") => b".authorization.".len(),
        _ => return,
    };
    start += gap;
    if let Some((quote, after)) = Quote::open(text, start) {
        // The token is a string of its own, or the next element: `["Bearer ", token]`,
        // `"Bearer " <> "…"`.
        let joint = text[after..]
            .iter()
            .take(12)
            .take_while(|&&b| matches!(b, b' ' | b',' | b'|' | b'<' | b'>' | b'+' | b'['))
            .count();
        start = match Quote::open(text, after + joint) {
            Some((next, content)) if joint > 0 && next == quote => content,
            _ => after,
        };
    }
    let start = marks::skip(text, start);
    let end = run_end_capped(
        text,
        start,
        URL64 | DOT | TILDE | B64 | EQ | COLON | PCT,
        16 * 1024,
    );
    let end = end
        - text[start.min(end)..end]
            .iter()
            .rev()
            .take_while(|&&b| matches!(b, b'.' | b':'))
            .count();
    scan.spend(40 + 4 * (end - start).min(512));
    let value = &text[start..end];
    let digits = any(value, D) && any(value, ALPHA);
    let random = value.len() >= 8 && digits
        || value.len() >= 20 && (surprise(&value[..value.len().min(100)]) > 0)
        || value.len() >= 6 && digits && all(value, ALNUM);
    if memchr::memmem::find(value, b"://").is_some() {
        return;
    }
    if random && !is_placeholder(value) && !judge::is_identifier(value)
        || value.len() >= 20 && all(value, ALNUM) && any(value, D)
    {
        scan.add(start, end, Rule::Bearer, 1);
    }
}

/// `Basic …`: base64 that holds a colon.
pub(crate) fn basic(scan: &mut Scan, at: usize) {
    let text = scan.text;
    let Some(from) = at.checked_sub(1) else {
        return;
    };
    if !text
        .get(from..from + 6)
        .is_some_and(|w| w.eq_ignore_ascii_case(b"basic "))
        || from > 0 && is(text[from - 1], ALNUM)
    {
        return;
    }
    let start = from + 6;
    let end = run_end_capped(text, start, STD64, 1024);
    scan.spend(end - start);
    if end - start >= 8 && base64_has_colon(&text[start..end]) {
        scan.add(start, end, Rule::Bearer, 1);
    }
}

/// Decodes a base64 run far enough to see whether it is printable and holds a colon.
fn base64_has_colon(run: &[u8]) -> bool {
    let mut colon = false;
    for chunk in run.chunks_exact(4) {
        let mut bits = 0u32;
        let mut bytes = 3;
        for &b in chunk {
            bits <<= 6;
            bits |= match sextet(b) {
                Some(value) => value,
                None if b == b'=' => {
                    bytes -= 1;
                    0
                }
                None => return false,
            };
        }
        for i in 0..bytes {
            let byte = (bits >> (16 - 8 * i)) as u8;
            if byte < b' ' {
                return false;
            }
            colon |= byte == b':';
        }
    }
    colon
}

/// The six bits of a base64 character of either alphabet.
pub(crate) fn sextet(byte: u8) -> Option<u32> {
    Some(u32::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    }))
}
