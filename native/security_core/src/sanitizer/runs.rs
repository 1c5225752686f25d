//! Tokens without a telling prefix of their own: long runs of letters and digits, known by their
//! length, their neighbours and their randomness.

use super::families::{FAMILIES, is_uuid};
use super::rules::Rule;
use super::scan::{Scan, boundary};
use super::shape::*;
use super::token::continuation;
use crate::word_list::WordList;

/// A run of letters and digits of at least twenty starts at `start`.
pub(crate) fn run(scan: &mut Scan, start: usize) {
    let text = scan.text;
    let end = run_end(text, start, ALNUM);
    let start = start + escape_letter(text, start);
    scan.spend((end - start).min(256));
    let run = &text[start..end];
    if run.starts_with(b"AAAAAAAAAAAAAAAAAAAAA") {
        let family = FAMILIES
            .iter()
            .position(|f| f.prefix.starts_with("AAAAAAAA"));
        if let Some(family) = family {
            return super::token::family(scan, start, family as u16);
        }
    }
    let before = if start > 0 { text[start - 1] } else { b' ' };
    let found = match before {
        b'_' => return prefixed(scan, start, end),
        b'.' => behind_dot(text, start, end),
        b':' => asana(text, start, end),
        b'|' => behind_bar(text, start, end),
        _ => None,
    };
    if let Some((from, rule)) = found {
        scan.add(from, end, rule, 2);
    }
    by_letter(scan, start, end, before);
    by_length(scan, start, end);
}

/// `s.…` and the like of Vault, `pat….…` of Airtable: where the token begins.
fn behind_dot(text: &[u8], start: usize, end: usize) -> Option<(usize, Rule)> {
    let run = &text[start..end];
    let alone = |at: usize| at == 0 || !is(text[at - 1], US | DOT | DASH) && text[at - 1] != b')';
    if start >= 2
        && matches!(text[start - 2], b's' | b'b' | b'r')
        && boundary(text, start - 2)
        && alone(start - 2)
        && (24..=26).contains(&run.len())
        && three_kinds(run)
        && text.get(end) != Some(&b'(')
    {
        return Some((start - 2, Rule::SecretStore));
    }
    let airtable = run.len() == 64
        && all(run, HEX)
        && start >= 18
        && text[start - 18..].starts_with(b"pat")
        && all(&text[start - 15..start - 1], ALNUM);
    airtable.then(|| (start - 18, Rule::Productivity))
}

/// One digit, a slash, sixteen digits, a colon, thirty-two hexadecimal digits.
fn asana(text: &[u8], start: usize, end: usize) -> Option<(usize, Rule)> {
    let run = &text[start..end];
    let digits = digits_before(text, start - 1);
    let hit = run.len() == 32
        && all(run, HEX)
        && digits >= 13
        && start >= digits + 3
        && text[start - 2 - digits] == b'/'
        && is(text[start - 3 - digits], D);
    hit.then(|| (start - 3 - digits, Rule::Productivity))
}

/// An application's number, a bar, its token.
fn behind_bar(text: &[u8], start: usize, end: usize) -> Option<(usize, Rule)> {
    let run = &text[start..end];
    let digits = digits_before(text, start - 1);
    let hit = digits >= 13 && (27..=40).contains(&run.len()) && three_classes(run);
    hit.then(|| (start - 1 - digits, Rule::Social))
}

fn digits_before(text: &[u8], end: usize) -> usize {
    let lead = text[..end].iter().rev().take(20);
    lead.take_while(|&&b| is(b, D)).count()
}

/// Tokens that a first letter or two and the length give away.
fn by_letter(scan: &mut Scan, start: usize, end: usize, before: u8) {
    let text = scan.text;
    let run = &text[start..end];
    let after = text.get(end).copied().unwrap_or(b' ');
    match run[0] {
        b'S' if run.len() == 34
            && run[1] == b'K'
            && all(&run[2..], HEX_ANY)
            && before != b'+'
            && before != b'/' =>
        {
            scan.add(start, end, Rule::Twilio, 2)
        }
        b'c' if run.len() == 35 && run.starts_with(b"cio") && three_kinds(&run[3..]) => {
            scan.add(start, end, Rule::Registry, 2)
        }
        b'o' if run.len() == 46
            && run.starts_with(b"oy2")
            && all(run, L | D)
            && surprise(run) > 200 =>
        {
            scan.add(start, end, Rule::Registry, 2)
        }
        b'2' if run.len() == 27 && after == b'_' && three_kinds(run) => {
            let rest = run_end_capped(text, end + 1, ALNUM, 64);
            if rest - end > 20 {
                scan.add(start, rest, Rule::Network, 2);
            }
        }
        b'M' | b'N' | b'O' if after == b'.' && (23..=28).contains(&run.len()) => {
            discord(scan, start, end)
        }
        _ => {}
    }
}

/// Hexadecimal digits of a vendor's length with the vendor's end.
fn by_length(scan: &mut Scan, start: usize, end: usize) {
    let text = scan.text;
    let run = &text[start..end];
    if run.len() == 32 && all(run, HEX) && text.get(end) == Some(&b'-') {
        let tail = &text[end..text.len().min(end + 19)];
        let mailchimp = tail.starts_with(b"-us") && is_at(tail, 3, D) && !is_at(tail, 5, ALNUM);
        let mailgun = tail.len() >= 18
            && tail[9] == b'-'
            && all(&tail[1..9], HEX)
            && all(&tail[10..18], HEX)
            && !is_at(tail, 18, WORD | DASH);
        if mailchimp || mailgun {
            let length = if mailchimp { run_end(tail, 3, D) } else { 18 };
            scan.add(start, end + length, Rule::Mail, 2);
        }
    }
    if run.len() == 40 && run.ends_with(b"NRAL") && all(&run[..36], HEX_ANY) {
        scan.add(start, end, Rule::Observability, 2);
    }
}

/// The letter of a written line break or tab is no part of the word behind it.
fn escape_letter(text: &[u8], at: usize) -> usize {
    let escaped = at > 0
        && text[at - 1] == b'\\'
        && matches!(text.get(at), Some(b'n' | b't' | b'r' | b'b' | b'f'));
    usize::from(escaped)
}

fn three_classes(run: &[u8]) -> bool {
    any(run, D) && any(run, L) && any(run, U)
}

fn mixed_case(run: &[u8]) -> bool {
    any(run, L) && any(run, U) && surprise(run) > 0
}

/// Digits, small and capital letters, and no words.
fn three_kinds(run: &[u8]) -> bool {
    any(run, D) && any(run, L) && any(run, U) && surprise(run) > 100
}

/// Three parts: a user's number in base64, six characters, and the signature.
fn discord(scan: &mut Scan, start: usize, first: usize) {
    let text = scan.text;
    let second = run_end_capped(text, first + 1, URL64, 16);
    if !(6..=7).contains(&(second - first - 1)) || text.get(second) != Some(&b'.') {
        return;
    }
    let third = run_end_capped(text, second + 1, URL64, 128);
    if third - second >= 27 && three_kinds(&text[second + 1..third]) {
        scan.add(start, third, Rule::Discord, 2);
    }
}

/// Lower-case words joined by underscores, and then a run that alternates digits and letters: a
/// vendor's token of any kind.
fn prefixed(scan: &mut Scan, start: usize, end: usize) {
    let text = scan.text;
    let body = &text[start..end];
    let prefix = start
        - text[..start]
            .iter()
            .rev()
            .take(40)
            .take_while(|&&b| is(b, L | D | US))
            .count();
    let prefix = prefix + escape_letter(text, prefix);
    let words = &text[prefix..start - 1];
    let outside = if prefix > 0 { text[prefix - 1] } else { b' ' };
    if words.len() < 2
        || words.len() > 32
        || !is(words[0], L)
        || is(outside, ALNUM | DASH | B64 | DOT)
        || is_public(words)
    {
        return;
    }
    let digits = count(body, D);
    // A digest after a word (`sha256_…`, `build_…`) is a name, not a key, and hexadecimal alone
    // proves nothing.
    if digits < 2
        || digits + 4 > body.len()
        || all(body, HEX) && body.len().is_multiple_of(8) && !telling(words)
        || !any(body, ALPHA)
    {
        return;
    }
    let random = surprise(&body[..body.len().min(100)]);
    // Twelve tenths of a bit a byte is more than any name with numbers in it has.
    if random >= 12 * body.len().min(100) as i32 && distinct(body) >= 10 && !ascending(body) {
        let end = run_end_capped(text, end, WORD | DASH, 4096);
        scan.add(prefix, end, Rule::Generic, 1);
    }
}

fn telling(words: &[u8]) -> bool {
    [
        &b"key"[..],
        b"token",
        b"secret",
        b"live",
        b"test",
        b"api",
        b"pat",
        b"sk",
    ]
    .iter()
    .any(|w| words.split(|&b| b == b'_').any(|part| part == *w))
}

/// Identifiers and public keys that vendors print for everyone.
fn is_public(words: &[u8]) -> bool {
    /// Prefixes of publishable keys, and of the ids that services give to their objects.
    #[rustfmt::skip]
    static PUBLIC: WordList = WordList::new(&[
        "acct", "anon", "asst", "ba", "batch", "build", "call", "card", "ch", "chatcmpl", "commit",
        "container", "cs_live", "cs_test", "cus", "dpl", "evt", "fc", "file", "fp", "ft", "gen",
        "hash", "id", "ii", "il", "img", "in", "layer", "md5", "msg", "org", "phc", "pi", "pk_live",
        "pk_test", "pm", "po", "price", "prj", "prod", "proj", "pub", "public", "publishable", "re",
        "req", "request_id", "resp", "rs", "run", "rzp_live", "rzp_test", "sb_publishable",
        "session_id", "seti", "sha1", "sha256", "sha512", "si", "span", "src", "srvtoolu", "step",
        "sub", "team", "test", "thread", "tok", "toolu", "trace", "txn", "user", "vs", "ws",
    ]);
    PUBLIC.has(words)
}

/// `abcdefghij…0123`: an alphabet, not a random string.
fn ascending(body: &[u8]) -> bool {
    body.windows(2)
        .filter(|pair| pair[1] == pair[0].wrapping_add(1))
        .count()
        * 2
        > body.len()
}

/// `eyJ…`: three parts, or five, or two and a dot.
pub(crate) fn jwt(scan: &mut Scan, at: usize) {
    let text = scan.text;
    if at < scan.jwt_until {
        return;
    }
    let first = run_end(text, at, URL64 | EQ);
    scan.spend(first - at);
    scan.jwt_until = first;
    let torn = continuation(text, first, JWT, true).is_some();
    if first - at < 10 || text.get(first) != Some(&b'.') {
        // One long part, or a token that was broken in its first part: the header must really be
        // one.
        if (first - at >= 60 || torn && first - at >= 10) && header(&text[at..first]) {
            broken_jwt(scan, at, first);
        }
        return;
    }
    let mut end = first;
    let mut parts = 1;
    let mut long = first - at;
    while parts < 5 && text.get(end) == Some(&b'.') {
        let next = run_end(text, end + 1, URL64 | EQ);
        if next == end + 1 && parts < 2 {
            break;
        }
        scan.spend(next - end);
        long += next - end;
        parts += 1;
        end = next;
    }
    scan.jwt_until = end;
    let torn = continuation(text, end, JWT, true).is_some();
    if parts < 2 || long < 30 && !torn {
        return;
    }
    // A second part that begins as the first does is a claim set; otherwise the header must say
    // what it is.
    if text[first + 1..end].starts_with(b"eyJ") || header(&text[at..first]) {
        broken_jwt(scan, at, end);
    }
}

/// The bytes of a token with dots between its parts.
const JWT: u16 = URL64 | EQ | DOT;

/// Reports a token, and follows it over line ends and into the next literals.
fn broken_jwt(scan: &mut Scan, at: usize, end: usize) {
    let text = scan.text;
    let mut end = end;
    for _ in 0..16 {
        // Of a whole token nothing is missing; what follows must be glued to it.
        let short = text[at..end].iter().filter(|&&b| b == b'.').count() < 2;
        let Some(next) = continuation(text, end, JWT, short) else {
            break;
        };
        let run = run_end_capped(text, next, JWT, 8192);
        if run <= next {
            break;
        }
        end = run;
    }
    scan.spend(end - at);
    scan.add(at, end, Rule::Jwt, 2);
    scan.jwt_until = scan.jwt_until.max(end);
    scan.token_until = scan.token_until.max(end);
}

/// Does the first part decode to something with `"alg"`, `"typ"`, `"enc"` or `"kid"` in it?
fn header(part: &[u8]) -> bool {
    let mut decoded = [0u8; 192];
    let mut length = 0;
    for chunk in part.chunks_exact(4).take(64) {
        let Some(bits) = chunk.iter().try_fold(0u32, |bits, &b| {
            super::headers::sextet(b).map(|s| bits << 6 | s)
        }) else {
            break;
        };
        decoded[length..length + 3].copy_from_slice(&bits.to_be_bytes()[1..]);
        length += 3;
    }
    let text = &decoded[..length];
    [
        &b"\"alg\""[..],
        b"\"typ\"",
        b"\"enc\"",
        b"\"kid\"",
        b"\"iss\"",
        b"\"sub\"",
        b"\"exp\"",
        b"\"k\"",
        b"\"miro",
    ]
    .iter()
    .any(|name| memchr::memmem::find(text, name).is_some())
}

/// `:AA` after a bot's number: a Telegram token.
pub(crate) fn telegram(scan: &mut Scan, at: usize) {
    let text = scan.text;
    let digits = text[..at]
        .iter()
        .rev()
        .take(14)
        .take_while(|&&b| is(b, D))
        .count();
    let end = run_end_capped(text, at + 1, URL64, 64);
    scan.spend(end - at);
    if (7..=12).contains(&digits)
        && (34..=40).contains(&(end - at - 1))
        && mixed_case(&text[at + 1..end])
    {
        scan.add(at - digits, end, Rule::Telegram, 2);
    }
}

/// A digit, `Q~`: an Entra client secret, three characters before and thirty-one after.
pub(crate) fn entra(scan: &mut Scan, at: usize) {
    let text = scan.text;
    const BODY: u16 = URL64 | DOT | TILDE;
    let Some(start) = at.checked_sub(3) else {
        return;
    };
    let end = run_end_capped(text, at, BODY, 64);
    scan.spend(end - start);
    if all(&text[start..at], BODY)
        && boundary(text, start)
        && (30..=42).contains(&(end - at))
        && three_classes(&text[at..end])
    {
        scan.add(start, end, Rule::Azure, 2);
    }
}

/// A token known by a piece inside it: extends to both sides.
pub(crate) fn marked(scan: &mut Scan, at: usize, marked: &super::families::Marked) {
    let text = scan.text;
    if !text[at..].starts_with(marked.marker.as_bytes()) {
        return;
    }
    let start = at
        - text[..at]
            .iter()
            .rev()
            .take(300)
            .take_while(|&&b| is(b, marked.body))
            .count();
    let end = run_end_capped(text, at + marked.marker.len(), marked.body, 600);
    scan.spend(end - start);
    let token = &text[start..end];
    if at - start >= marked.before
        && end - at - marked.marker.len() >= marked.after
        && token.len() <= 400
        && surprise(&token[..token.len().min(100)]) > 200
        && !is_uuid(token)
    {
        // A key stands for itself: as long as keys of its kind are, not a stretch of some larger
        // base64 text.
        if marked.marker.len() > 4 || token.len() <= 100 {
            scan.add(start, end, marked.rule, 2);
        }
    }
}
