//! Tokens with a prefix of their vendor: the body behind the prefix, followed over what breaks it.

use super::families::FAMILIES;
use super::literal::{Kind, Quote, joined};
use super::scan::{Scan, boundary};
use super::shape::*;

pub(crate) fn family(scan: &mut Scan, start: usize, index: u16) {
    let text = scan.text;
    let family = &FAMILIES[usize::from(index)];
    let slot = usize::from(index) % scan.rejected.len();
    if scan.rejected[slot].0 == index && start < scan.rejected[slot].1 {
        return;
    }
    let prefix = family.prefix.as_bytes();
    if start < scan.token_until || !text[start..].starts_with(prefix) || !boundary(text, start) {
        return;
    }
    let from = start + prefix.len();
    // A first look reads little; only a token is followed to its end. The body's pieces are put
    // together to be judged.
    let mut body = std::mem::take(&mut scan.scratch);
    let near = body_end(text, from, family, &mut body);
    scan.spend(2 * (near - from));
    let known = trimmed(&body);
    let digest = || prefix == b"u+" && run_end_capped(text, start, STD64, 64) - start > 24;
    let token = known.len() >= family.min
        && !is_x(known)
        && !digest()
        && !starts_ci(known, b"your")
        && !starts_ci(known, b"example")
        && (family.check)(known)
        && !inside_base64(text, start, near)
        && !inside_run(text, start, prefix);
    let length = known.len();
    scan.scratch = body;
    if !token {
        // In a long run that was read once, the same prefix begins no token either.
        if length >= 64 {
            scan.rejected[slot] = (index, near);
        }
        return;
    }
    let end = if near - from >= NEAR {
        run_end(text, near, family.body)
    } else {
        near
    };
    scan.spend((end - near) / 4);
    let end = from + trimmed(&text[from..end]).len();
    scan.add(start, end, family.rule, 2);
    scan.token_until = end;
}

/// Is `start` in the middle of a long base64 text, in its line or as one of its lines? Nothing
/// starts there.
fn inside_base64(text: &[u8], start: usize, end: usize) -> bool {
    let before = base64_run(text[..start].iter().rev());
    if before >= 40 {
        return surprise(&text[start - before..start]) > 4 * before as i32;
    }
    let after = base64_run(text[end..].iter());
    let (line, stop) = (start - before, end + after);
    let alone = |at: usize| matches!(text.get(at), None | Some(b'\n' | b'\r' | b'\\'));
    if !(60..=80).contains(&(stop - line)) || !all(&text[line..stop], STD64) || !alone(stop) {
        return false;
    }
    // A line of the same length right before it.
    let broken = text[..line]
        .iter()
        .rev()
        .take(4)
        .take_while(|&&b| matches!(b, b'\n' | b'\r' | b'\\' | b'n' | b'r'))
        .count();
    broken > 0 && base64_run(text[..line - broken].iter().rev()) >= 60.min(stop - line)
}

fn base64_run<'t>(bytes: impl Iterator<Item = &'t u8>) -> usize {
    bytes.take(80).take_while(|&&b| is(b, STD64)).count()
}

/// Does a short prefix stand behind a dash or an underscore of some other random run, or of a
/// longer name?
fn inside_run(text: &[u8], start: usize, prefix: &[u8]) -> bool {
    if prefix.len() > 5 || start == 0 || !is(text[start - 1], US | DASH) {
        return false;
    }
    if prefix == b"live_" || prefix == b"test_" {
        return true;
    }
    let before = text[..start]
        .iter()
        .rev()
        .take(60)
        .take_while(|&&b| is(b, URL64))
        .count();
    let run = &text[start - before..start];
    any(run, D) && surprise(run) > 0
}

/// `xxxxxxxx`, as documentation has it.
fn is_x(body: &[u8]) -> bool {
    body.iter()
        .all(|b| matches!(b, b'x' | b'X' | b'.' | b'_' | b'-' | b'*'))
}

/// Dots and dashes at the end belong to the sentence.
fn trimmed(body: &[u8]) -> &[u8] {
    let kept = body
        .iter()
        .rev()
        .take_while(|&&b| matches!(b, b'.' | b'-' | b',' | b':'))
        .count();
    &body[..body.len() - kept]
}

/// How much of a token is read before it is known to be one.
const NEAR: usize = 400;

/// The end of a token's body, followed over a line's end where a terminal wrapped it or a backslash
/// continues the line, and from one literal into the next. `body` gets the body without what stands
/// between its pieces.
fn body_end(
    text: &[u8],
    from: usize,
    family: &super::families::Family,
    body: &mut Vec<u8>,
) -> usize {
    let mask = family.body;
    let mut end = run_end_capped(text, from, mask, NEAR);
    body.clear();
    body.extend_from_slice(&text[from..end]);
    for _ in 0..8 {
        let short = body.len() < family.min;
        let next = if body.is_empty() && !matches!(text.get(end), Some(b'"' | b'\'')) {
            None
        } else {
            continuation(text, end, mask, short)
        };
        let Some(next) = next else { break };
        let run = run_end_capped(text, next, mask, NEAR);
        if run <= next || run - from > 4096 {
            break;
        }
        body.extend_from_slice(&text[next..run]);
        end = run;
    }
    end
}

/// Where a token goes on whose run ends at `end`: behind the end of a full line, behind a backslash
/// that continues the line, or in the next literal.
pub(crate) fn continuation(text: &[u8], end: usize, mask: u16, short: bool) -> Option<usize> {
    match text.get(end)? {
        b'\\' if text.get(end + 1) == Some(&b'\n') => {
            Some(super::literal::skip_blanks(text, end + 2, 40))
        }
        b'"' | b'\'' | b'\\' => literal_goes_on(text, end, short),
        b'\n' | b'\r' => wrapped_goes_on(text, end, mask, short),
        _ => None,
    }
}

/// `"abc" <> "def"`: where the second literal's content starts. Neighbours without an operator go
/// together only when the first one alone is too short.
fn literal_goes_on(text: &[u8], end: usize, short: bool) -> Option<usize> {
    let (quote, after) = Quote::open(text, end)?;
    if let Some((_, start)) = joined(text, Kind::Quoted(quote), after) {
        return Some(start);
    }
    let next = super::literal::skip_blanks(text, after, 8);
    let (again, start) = Quote::open(text, next).filter(|_| short && next > after)?;
    (again == quote).then_some(start)
}

/// Where a random value ends that was broken off at its line's end: the rest stands alone on the
/// next line.
pub(crate) fn broken_off(text: &[u8], start: usize, end: usize) -> Option<usize> {
    let mixed = |piece: &[u8]| piece.len() >= 6 && any(piece, D) && any(piece, ALPHA);
    let next = match text.get(end..)? {
        [b'\n', ..] => end + 1,
        [b'\r', b'\n', ..] => end + 2,
        _ => return None,
    };
    let run = run_end_capped(text, next, STD64 | URL64, 400);
    let (first, rest) = (&text[start..end], &text[next..run]);
    let alone = matches!(text.get(run), None | Some(b'\n' | b'\r' | b'"' | b'\''));
    let random = |piece: &[u8]| surprise(piece) > 2 * piece.len() as i32;
    let fits = alone && mixed(first) && mixed(rest) && all(first, STD64 | URL64);
    (fits && random(first) && random(rest)).then_some(run)
}

/// A full line that ends in a token, and a next line that begins with more of it.
fn wrapped_goes_on(text: &[u8], end: usize, mask: u16, short: bool) -> Option<usize> {
    let line = line_lead(text, end, 400).len();
    let next = end + if text[end] == b'\r' { 2 } else { 1 };
    let run = run_end_capped(text, next, mask, 400);
    let piece = text.get(next..run)?;
    if !(60..=240).contains(&line) || piece.is_empty() {
        return None;
    }
    // A log's next line may begin with a date or a word; what goes on with a token is neither.
    let mixed = any(piece, D) && any(piece, ALPHA) && surprise(piece) > 0;
    let random = mixed || surprise(piece) > 4 * piece.len() as i32;
    (short || random).then_some(next)
}
