//! Private keys: a line automaton that follows a key's body through gutters, escapes and
//! concatenation, and that also works when the head or the tail was cut off.

use super::headers::sextet;
use super::literal::{Kind, Quote, joined};
use super::marks;
use super::rules::Rule;
use super::scan::Scan;
use super::shape::*;

/// The longest armour that is followed. An RSA key of 16,384 bits has 13 kB, PGP's with their
/// subkeys have more.
const MAX_ARMOUR: usize = 64 * 1024;
/// The longest gutter before a line's body: a log's time, level and module, or grep's path and line.
const MAX_GUTTER: usize = 80;
/// How much of a line is read at once: whole keys stand on one line.
const MAX_LINE: usize = 8 * 1024;

/// Is the label between `BEGIN ` and `-----` that of a private key? Says where the label ends.
fn private_label(text: &[u8], at: usize) -> Option<usize> {
    let end = at
        + text
            .get(at..)?
            .iter()
            .take(60)
            .position(|&b| b == b'-' || b == b'\n' || b == b'"')?;
    let label = &text[at..end];
    memchr::memmem::find(label, b"PRIVATE KEY").map(|_| end)
}

/// How much of a key's record is read: RSA's with 8,192 bits has about 11,000 digits.
const MAX_RECORD: usize = 16 * 1024;
/// The shortest number in it that is part of the key. 64 bits have at most 20 digits, and no key is
/// so small; versions, exponents and tags of ASN.1 are shorter.
const MIN_NUMBER: usize = 20;

/// `{'RSAPrivateKey', …}`, `{:ECPrivateKey, 1, <<…>>, …}`: the numbers and bytes of a key as
/// Erlang's terms show it.
pub(crate) fn record(scan: &mut Scan, at: usize) {
    let text = scan.text;
    let name = &text[at.saturating_sub(9)..text.len().min(at + 5)];
    let Some(after) = [&b"PrivateKey,"[..], b"PrivateKey'"]
        .iter()
        .find_map(|end| {
            memchr::memmem::find(name, end).map(|found| at.saturating_sub(9) + found + end.len())
        })
    else {
        return;
    };
    let rest = &text[after..text.len().min(after + MAX_RECORD)];
    let end = memchr::memmem::find(rest, b"asn1_NOVALUE").unwrap_or(0);
    // Looking for its end reads many bytes at a time.
    scan.spend(2 * end + rest.len() / 16);
    let mut from = after;
    while from < after + end {
        let run = run_end_capped(text, from, D, MAX_RECORD);
        if run - from >= MIN_NUMBER {
            scan.add(from, run, Rule::Number, 3);
        }
        if text[from..].starts_with(b"<<")
            && let Some(codes) =
                super::literal::marked(text, from).filter(|l| l.kind == Kind::Codes)
            // `[<<48>>]` is a tag of ASN.1, no number of a key.
            && codes.end - codes.start >= MIN_NUMBER
        {
            scan.add(codes.start, codes.end, Rule::Integers, 3);
            from = codes.after;
            continue;
        }
        from = run.max(from + 1);
    }
}

/// `-BEG` of `-----BEGIN … PRIVATE KEY-----` stands at `at`.
pub(crate) fn begin(scan: &mut Scan, at: usize) {
    let text = scan.text;
    let Some(label) = text[at + 1..]
        .strip_prefix(b"BEGIN ")
        .map(|_| at + 7)
        .or_else(|| text[at + 1..].starts_with(b" BEGIN ").then_some(at + 8))
    else {
        return;
    };
    let Some(mut dash) = private_label(text, label) else {
        return;
    };
    while text.get(dash).is_some_and(|&b| b == b'-' || b == b' ') {
        dash += 1;
    }
    scan.pem_open = true;
    let end = armour_end(scan, dash);
    if let Some((from, to)) = trim(text, dash, end) {
        scan.add(from, to, Rule::PrivateKey, 3);
        scan.value_until = scan.value_until.max(to);
        scan.token_until = scan.token_until.max(to);
        scan.pem_until = scan.pem_until.max(to);
    }
}

/// The length of a line break written with backslashes, one or more, at the start of `text`.
fn written_break(text: &[u8]) -> Option<usize> {
    let slashes = text.iter().take(16).take_while(|&&b| b == b'\\').count();
    (slashes > 0 && matches!(text.get(slashes), Some(b'n' | b'r'))).then_some(slashes + 1)
}

/// How often the bytes of a line are read to judge it.
const READS: usize = 5;

/// Cuts blanks and written line breaks off both ends, so that the lines around stay what they were.
fn trim(text: &[u8], mut start: usize, mut end: usize) -> Option<(usize, usize)> {
    loop {
        let rest = &text[start..end];
        if rest.first()?.is_ascii_whitespace() {
            start += 1;
        } else if let Some(length) = written_break(rest) {
            start += length;
        } else {
            break;
        }
    }
    loop {
        let rest = &text[start..end];
        if rest.last()?.is_ascii_whitespace() {
            end -= 1;
        } else if rest.ends_with(b"\\n") || rest.ends_with(b"\\r") {
            end -= 2;
            // A backslash that is itself escaped goes with its pair.
            while end > start && text[end - 1] == b'\\' {
                end -= 1;
            }
        } else {
            break;
        }
    }
    (end - start >= 8
        && any(&text[start..end], ALNUM)
        && distinct(&text[start..end]) >= 8
        && longest_run(&text[start..end.min(start + 4096)]).1 >= 16)
        .then_some((start, end))
}

/// The end of a key's body that starts at `from`: right before the END line, or where the body
/// stops looking like one.
fn armour_end(scan: &mut Scan, from: usize) -> usize {
    let text = scan.text;
    let limit = text.len().min(from + MAX_ARMOUR);
    let mut at = from;
    let mut body_end = from;
    let mut strange = 0;
    let mut quote = from;
    loop {
        // One line, or one piece between written line breaks or quotation marks: a line of many
        // short literals is not read to its end for each of them.
        if at >= limit {
            return body_end;
        }
        let far = limit.min(at + MAX_LINE);
        if quote <= at {
            quote = next_quote(scan, at, limit);
        }
        let mut stop = line_end(text, at, far.min(quote));
        // A header's text may be quoted: `Comment: "rsa-key"`.
        let comment = stop == quote
            && body_end == from
            && text[..at].ends_with(b"\n")
            && memchr::memchr(b':', &text[at..stop]).is_some_and(|colon| {
                (3..40).contains(&colon) && all(&text[at..at + colon], ALPHA | DASH)
            });
        if comment {
            stop = line_end(text, at, far);
        }
        scan.spend(READS * (stop - at) + 24);
        let line = &text[at..stop];
        if let Some(end) = end_line(line) {
            return body_before(line, end, body_end > from).map_or(body_end, |(last, body)| {
                at + if body_end == from { last } else { body }
            });
        }
        // A quotation mark ends the string around, unless another literal goes on.
        if stop == quote && quote < limit && !comment {
            let mark = quote;
            body_end = quoted_end(text, at, mark, body_end);
            // The literal's first mark: a body that begins with concatenation, or the string's own
            // end.
            match next_literal(text, mark).filter(|&next| next < limit && next > mark) {
                Some(next) => {
                    at = next;
                    continue;
                }
                None => return body_end,
            }
        }
        let (start, end) = longest_run(line);
        let blank = line.iter().all(|b| !b.is_ascii_alphanumeric());
        let header = memchr::memchr(b':', line).is_some_and(|colon| colon < 40)
            && end - start < 60
            && body_end == from;
        if let Some((_, mark)) = marks::extent(line) {
            // A line that was redacted is one of the body's, and what follows it is still the body.
            body_end = at + mark.max(if end - start >= 16 { end } else { 0 });
            strange = 0;
        } else if start <= MAX_GUTTER && end - start >= 16 && trailer_is_short(line, end)
            || (end - start >= 4 && plain_tail(line, start, end))
        {
            body_end = at + end;
            strange = 0;
        } else if blank || header {
            if header {
                body_end = body_end.max(from);
            }
        } else {
            strange += 1;
            if strange > 1 {
                return body_end;
            }
        }
        if stop >= limit || begins(text, stop) {
            // Cut off: everything that looked like a body is one.
            return body_end;
        }
        at = skip_break(text, stop);
    }
}

/// Where the next quotation mark stands, or the limit. What was read for the armour before is not
/// read again.
fn next_quote(scan: &mut Scan, at: usize, limit: usize) -> usize {
    let (from, none_before) = scan.quote_from;
    let read = if (from..none_before).contains(&at) {
        none_before
    } else {
        at
    };
    let near = scan.text.get(read..limit).unwrap_or_default();
    let next = memchr::memchr3(b'"', b'\'', b'`', near).map_or(limit, |offset| read + offset);
    scan.quote_from = (at, next.max(read));
    next
}

/// Where in a line the END of an armour stands, if no string ends before it.
fn end_line(line: &[u8]) -> Option<usize> {
    let dashes = memchr::memmem::find(line, b"-END");
    let end = dashes.or_else(|| memchr::memmem::find(line, b"- END "))?;
    let quoted = |b: &u8| matches!(b, b'"' | b'\'' | b'`');
    (!line[..end].iter().any(quoted)).then_some(end)
}

/// What belongs to the body in the line of the END that stands at `end`: up to its last byte, and up
/// to the end of its longest run. What stands between there and the dashes is the line's gutter.
fn body_before(line: &[u8], end: usize, begun: bool) -> Option<(usize, usize)> {
    let dashes = line[..end].iter().rev().take(5);
    let lead = &line[..end - dashes.take_while(|&&b| b == b'-').count()];
    let body = longest_run(lead);
    // On a single line the pieces of the body stand side by side.
    let last = lead.iter().rposition(|&b| is(b, STD64));
    let last = last.map_or(0, |last| last + 1);
    let short = begun && body.0 == 0 && body.1 == last && last > 0;
    (body.1 - body.0 >= 16 || short).then_some((last, body.1))
}

/// Where the body ends in a line from `at` on that a quotation mark ends.
fn quoted_end(text: &[u8], at: usize, mark: usize, body_end: usize) -> usize {
    let line = &text[at..mark];
    let (start, end) = longest_run(line);
    let quote = Quote::ending_at(text, mark + 1).map_or(mark, |(_, start)| start);
    let body_end = match end - start >= 4 {
        true => (at + end).min(quote.max(at)),
        false => body_end,
    };
    marks::extent(line).map_or(body_end, |(_, end)| body_end.max(at + end))
}

/// The content of the literal that goes on behind the one that ends with the mark at `mark`.
fn next_literal(text: &[u8], mark: usize) -> Option<usize> {
    let (quote, _) = Quote::ending_at(text, mark + 1)?;
    match joined(text, Kind::Quoted(quote), mark + 1) {
        Some((_, start)) => Some(start),
        None => list_item(text, quote, mark + 1),
    }
}

/// The next element of a list of lines: `"MII…",⏎ "abc…"`.
fn list_item(text: &[u8], quote: Quote, after: usize) -> Option<usize> {
    if text.get(after) != Some(&b',') {
        return None;
    }
    let at = super::literal::skip_space(text, after + 1, 80);
    let (next, start) = Quote::open(text, at)?;
    let run = run_end_capped(text, start, STD64, 80);
    (next == quote && (run - start >= 16 || text[start..].starts_with(b"-----END")))
        .then_some(start)
}

/// The last line of a body is short: nothing but it and a gutter may stand there.
fn plain_tail(line: &[u8], start: usize, end: usize) -> bool {
    start <= MAX_GUTTER
        && line[end..].iter().all(|b| !b.is_ascii_alphanumeric())
        && line[..start]
            .iter()
            .all(|&b| is(b, D) || !b.is_ascii_alphanumeric())
        && (line.len() < 66 || end - start > 30)
}

fn trailer_is_short(line: &[u8], end: usize) -> bool {
    line.len() - end <= 24
}

/// The longest run of base64 in a line.
fn longest_run(line: &[u8]) -> (usize, usize) {
    let (mut best, mut start) = ((0, 0), None);
    for (i, &b) in line.iter().chain(b" ").enumerate() {
        // Lines that were joined with blanks are one body.
        let joint = b == b' '
            && start.is_some_and(|from| i - from >= 16)
            && run_end_capped(line, i + 1, STD64, 16) == i + 17;
        if is(b, STD64) || joint {
            start.get_or_insert(i);
        } else if let Some(from) = start.take()
            && i - from > best.1 - best.0
        {
            best = (from, i);
        }
    }
    best
}

/// Does another private key begin behind the dash at `at`?
fn begins(text: &[u8], at: usize) -> bool {
    text[at..].starts_with(b"-BEGIN ") && private_label(text, at + 7).is_some()
}

/// The end of the line at `at`: a real line break, one written with backslashes, or the dash before
/// the next key's BEGIN, so that heads without number on one line are each read once.
fn line_end(text: &[u8], at: usize, limit: usize) -> usize {
    let mut from = at;
    while let Some(offset) = memchr::memchr3(b'\n', b'\\', b'-', &text[from..limit]) {
        let found = from + offset;
        if text[found] == b'\n' {
            return found;
        }
        if text[found] == b'-' {
            if begins(text, found) {
                return found;
            }
            from = found + 1;
            continue;
        }
        let slashes = text[found..limit]
            .iter()
            .take_while(|&&b| b == b'\\')
            .count();
        match text.get(found + slashes) {
            Some(b'n' | b'r') => return found,
            // A backslash that continues the line in a shell or a C string.
            Some(b'\n' | b'\r') => return found,
            // The end of the string around.
            Some(b'"' | b'\'') | None => from = found + slashes,
            // An escaped slash, as some JSON writers have it: part of the body.
            _ => from = found + slashes,
        }
    }
    limit
}

fn skip_break(text: &[u8], at: usize) -> usize {
    let mut at = at;
    let slashes = text[at..].iter().take_while(|&&b| b == b'\\').count();
    at += slashes;
    if slashes > 0 && matches!(text.get(at), Some(b'n' | b'r')) {
        return at + 1;
    }
    if text.get(at) == Some(&b'\r') {
        at += 1;
    }
    (at + 1).min(text.len())
}

/// `-END` of `-----END … PRIVATE KEY-----` stands at `at`, and no BEGIN was seen: the head was cut
/// off.
pub(crate) fn end(scan: &mut Scan, at: usize) {
    let text = scan.text;
    let Some(label) = text[at + 1..].strip_prefix(b"END ").map(|_| at + 5) else {
        return;
    };
    if private_label(text, label).is_none() {
        return;
    }
    if std::mem::take(&mut scan.pem_open) {
        return;
    }
    // Walk back over lines that look like a body.
    let dashes = text[..at]
        .iter()
        .rev()
        .take(6)
        .take_while(|&&b| b == b'-')
        .count();
    let mut line_end = at - dashes;
    let floor = at
        .saturating_sub(MAX_ARMOUR)
        .max(scan.pem_until)
        .min(line_end);
    let mut start = None;
    let mut stop = None;
    loop {
        let line_start = previous_break(text, floor, line_end);
        let line = &text[line_start..line_end];
        scan.spend(READS * line.len() + 64);
        let (from, to) = longest_run(line);
        // What two quotation marks part from the END is in a string of its own: another member.
        let own = own_string(line);
        let closed = to < own;
        let mark = marks::extent(&line[own..]).map(|(first, last)| (own + first, own + last));
        let (from, to) = match mark {
            Some((first, last)) if to - from >= 16 && !closed => (from.min(first), to.max(last)),
            Some(marks) => marks,
            None => (from, to),
        };
        let gutter = line_end == at - dashes && memchr::memchr(b':', line).is_some();
        let body = mark.is_some()
            || !closed && to - from >= 16 && line.len() - to <= 24
            || to - from >= 2
                && !gutter
                && !closed
                && line[to..].iter().all(|b| !b.is_ascii_alphanumeric())
                && start.is_none()
                && line.len() < 66
                && (line[..from]
                    .iter()
                    .all(|&b| is(b, D) || !b.is_ascii_alphanumeric()));
        let quotes = line[..from]
            .iter()
            .any(|&b| matches!(b, b'"' | b'\'' | b'`'));
        if body {
            start = Some(line_start + from);
            stop.get_or_insert(line_start + to);
        } else if start.is_some()
            || line.iter().any(|b| b.is_ascii_alphanumeric()) && line_end != at - dashes
        {
            break;
        }
        if quotes || line_start <= floor {
            break;
        }
        line_end = break_before(text, floor, line_start);
        debug_assert!(line_end < line_start);
    }
    if let (Some(start), Some(stop)) = (start, stop)
        && stop - start >= 4
    {
        scan.add(start, stop, Rule::PrivateKey, 3);
    }
}

/// From where on a line has but one quotation mark.
fn own_string(line: &[u8]) -> usize {
    let quote = |b: &u8| matches!(b, b'"' | b'\'' | b'`');
    let last = line.iter().rposition(quote).unwrap_or(0);
    let before = line[..last].iter().rposition(quote);
    before.map_or(0, |before| before + 1)
}

/// Where the line that ends at `end` begins.
fn previous_break(text: &[u8], floor: usize, end: usize) -> usize {
    let mut at = end;
    while at > floor {
        let b = text[at - 1];
        if b == b'\n' || b == b'n' && at - 1 > floor && text[at - 2] == b'\\' {
            return at;
        }
        at -= 1;
    }
    floor
}

/// The end of the line before the one that begins at `start`.
fn break_before(text: &[u8], floor: usize, start: usize) -> usize {
    let mut at = start.saturating_sub(1).max(floor);
    if text.get(at) == Some(&b'n') {
        while at > floor && text[at - 1] == b'\\' {
            at -= 1;
        }
    } else if at > floor && text[at - 1] == b'\r' {
        at -= 1;
    }
    at
}

/// `LS0t`: base64 of dashes; secret if `BEGIN … PRIVATE KEY` comes out of it.
pub(crate) fn wrapped(scan: &mut Scan, at: usize) {
    let text = scan.text;
    if at < scan.token_until {
        return;
    }
    let head = run_end_capped(text, at, STD64 | URL64, 120);
    let mut decoded = [0u8; 96];
    let mut length = 0;
    for chunk in text[at..head].chunks_exact(4) {
        let Some(bits) = chunk
            .iter()
            .try_fold(0u32, |bits, &b| sextet(b).map(|s| bits << 6 | s))
        else {
            break;
        };
        if length + 3 > decoded.len() {
            break;
        }
        decoded[length..length + 3].copy_from_slice(&bits.to_be_bytes()[1..]);
        length += 3;
    }
    scan.spend(head - at);
    if memchr::memmem::find(&decoded[..length], b"PRIVATE KEY").is_none() {
        scan.token_until = scan.token_until.max(head.min(at + 8));
        return;
    }
    // Lines of a wrapped base64 text belong together.
    let mut end = run_end(text, at, STD64 | URL64);
    loop {
        let mut next = end;
        while text
            .get(next)
            .is_some_and(|&b| matches!(b, b'\n' | b'\r' | b' ' | b'\t' | b'\\'))
            && next - end < 40
        {
            next += if text[next] == b'\\' && matches!(text.get(next + 1), Some(b'n' | b'r')) {
                2
            } else {
                1
            };
        }
        let run = run_end(text, next, STD64 | URL64);
        if next == end || run - next < 20 || !any(&text[next..run], D) {
            break;
        }
        end = run;
    }
    scan.spend(end - at);
    scan.add(at, end, Rule::PrivateKey, 3);
    scan.token_until = end;
}

/// `MI…`, `MC…`, `MH…`, `b3Bl…`: the base64 of a private key's first bytes, without an armour
/// around.
pub(crate) fn der(scan: &mut Scan, at: usize) {
    let text = scan.text;
    if at < scan.token_until || at > 0 && is(text[at - 1], ALNUM | B64 | US | DASH) {
        return;
    }
    let head = run_end_capped(text, at, STD64 | URL64, 64);
    if head - at < 40 {
        return;
    }
    let mut bytes = [0u8; 24];
    for (i, chunk) in text[at..at + 32].chunks_exact(4).enumerate() {
        let Some(bits) = chunk
            .iter()
            .try_fold(0u32, |bits, &b| sextet(b).map(|s| bits << 6 | s))
        else {
            return;
        };
        bytes[3 * i..3 * i + 3].copy_from_slice(&bits.to_be_bytes()[1..]);
    }
    let openssh = bytes.starts_with(b"openssh-key-v1");
    let private = bytes[0] == 0x30 && {
        let body = match bytes[1] {
            0x82 => &bytes[4..],
            0x81 => &bytes[3..],
            length if length < 0x80 => &bytes[2..],
            _ => return,
        };
        // Version 0 and an algorithm (PKCS 8) or a modulus (PKCS 1), version 1 and an octet string
        // (SEC 1).
        body.starts_with(&[2, 1, 0, 0x30])
            || body.starts_with(&[2, 1, 0, 2])
            || body.starts_with(&[2, 1, 1, 4])
            || body.starts_with(&[2, 1, 1, 0x30])
    };
    if !openssh && !private {
        return;
    }
    let end = armour_end(scan, at).max(run_end(text, at, STD64 | URL64));
    scan.add(at, end, Rule::PrivateKey, 2);
    scan.token_until = end;
    scan.value_until = scan.value_until.max(end);
    scan.pem_until = scan.pem_until.max(end);
}

/// `Private-Lines: 14` of a PuTTY key, and the lines after it.
pub(crate) fn putty(scan: &mut Scan, at: usize) {
    let text = scan.text;
    let Some(from) = at.checked_sub(8) else {
        return;
    };
    if !text[from..].starts_with(b"Private-Lines: ") && !text[from..].starts_with(b"Private-Lines:")
    {
        return;
    }
    let line = line_end(text, from, text.len());
    let body = skip_break(text, line).min(text.len());
    let end = armour_end(scan, body);
    if let Some((start, end)) = trim(text, body, end) {
        scan.add(start, end, Rule::PrivateKey, 3);
        scan.token_until = scan.token_until.max(end);
    }
}

/// `"kty"`: a JSON Web Key; its private members `d`, `p`, `q`, `dp`, `dq`, `qi` and a symmetric
/// `k`.
pub(crate) fn jwk(scan: &mut Scan, at: usize) {
    let text = scan.text;
    if !text[at..].starts_with(b"kty") || at < scan.jwk_until {
        return;
    }
    let from = text[..at]
        .iter()
        .rev()
        .take(4096)
        .position(|&b| b == b'{')
        .map_or(at.saturating_sub(4096), |n| at - n);
    let to = at
        + text[at..]
            .iter()
            .take(8192)
            .position(|&b| b == b'}')
            .unwrap_or(text.len().min(at + 8192) - at);
    scan.spend(to - from);
    scan.jwk_until = to;
    let mut i = from;
    while let Some(offset) = memchr::memchr2(b'"', b'\'', &text[i..to]) {
        let mark = i + offset;
        let name_end = run_end_capped(text, mark + 1, L, 4);
        let name = &text[mark + 1..name_end];
        i = (mark + 1).min(to);
        if !matches!(name, b"d" | b"p" | b"q" | b"dp" | b"dq" | b"qi" | b"k") {
            continue;
        }
        let Some((_, after)) = Quote::open(text, name_end) else {
            continue;
        };
        let at = super::literal::skip_blanks(text, after, 20);
        let at = match text.get(at) {
            Some(b':') => at + 1,
            Some(b'=') if text.get(at + 1) == Some(&b'>') => at + 2,
            _ => continue,
        };
        let at = super::literal::skip_space(text, at, 20);
        let Some((_, start)) = Quote::open(text, at) else {
            continue;
        };
        let end = run_end_capped(text, start, URL64 | EQ, 4096);
        if end - start >= 16 && end <= to {
            scan.add(start, end, Rule::PrivateKey, 2);
        }
        i = end.clamp(i, to);
    }
}

#[cfg(test)]
mod tests {
    use crate::sanitizer::tests::{clean, redacts, redacts_all};

    /// Lines of a body that is nobody's key.
    fn body(lines: usize) -> Vec<String> {
        (0..lines)
            .map(|line| {
                (0..64)
                    .map(|i| {
                        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
                            [(line * 31 + i * 17 + i * i) % 64] as char
                    })
                    .collect()
            })
            .collect()
    }

    const HEAD: &str = concat!("-----BEGIN RSA PRIV", "ATE KEY-----");
    const TAIL: &str = concat!("-----END RSA PRIV", "ATE KEY-----");

    #[test]
    fn the_whole_body_goes_and_the_armour_stays() {
        let lines = body(5);
        redacts(&format!("x\n{HEAD}\n§{}§\n{TAIL}\ny", lines.join("\n")));
        redacts(&format!(
            "x\r\n{HEAD}\r\n§{}§\r\n{TAIL}\r\ny",
            lines.join("\r\n")
        ));
        redacts(&format!(
            "{{\"key\":\"{HEAD}\\n§{}§\\n{TAIL}\\n\"}}",
            lines.join("\\n")
        ));
        redacts(&format!(
            "\"{HEAD}\\\\n§{}§\\\\n{TAIL}\\\\n\"",
            lines.join("\\\\n")
        ));
        redacts(&format!("{HEAD} §{}§ {TAIL}", lines.concat()));
    }

    #[test]
    fn torn_and_decorated_keys() {
        let lines = body(6);
        let secrets: Vec<&str> = lines.iter().map(String::as_str).collect();
        redacts_all(&format!("{HEAD}\n{}", lines.join("\n")), &secrets);
        redacts_all(&format!("{}\n{TAIL}\nrest", lines.join("\n")), &secrets);
        let gutter = |prefix: &str| {
            lines
                .iter()
                .enumerate()
                .map(|(i, l)| format!("{}{l}", prefix.replace('#', &(i + 2).to_string())))
                .collect::<Vec<_>>()
                .join("\n")
        };
        for prefix in ["  #\t", "+", "-", "conf/key.pem:#:", "# | ", "> ", "    "] {
            let first = prefix.replace('#', "1");
            redacts_all(
                &format!(
                    "{first}{HEAD}\n{}\n{}{TAIL}\nrest",
                    gutter(prefix),
                    prefix.replace('#', "9")
                ),
                &secrets,
            );
        }
        let pieces = lines
            .iter()
            .map(|l| format!("  \"{l}\\n\" <>"))
            .collect::<Vec<_>>()
            .join("\n");
        redacts_all(
            &format!("\"{HEAD}\\n\" <>\n{pieces}\n  \"{TAIL}\\n\""),
            &secrets,
        );
    }

    #[test]
    fn public_material_stays() {
        let lines = body(4).join("\n");
        for kind in [
            "CERTIFICATE",
            "PUBLIC KEY",
            "PGP SIGNATURE",
            "CERTIFICATE REQUEST",
        ] {
            clean(&format!(
                "-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----\n"
            ));
        }
    }
}
