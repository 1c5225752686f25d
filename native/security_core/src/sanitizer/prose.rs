//! Values that a sentence names: "the password is …", and the settings that look like one: `ENV KEY value`, netrc.

use super::bare::argument_is_secret;
use super::judge::{self, Place, bare_is_secret, is_placeholder};
use super::key::Key;
use super::keys::KeyClass;
use super::literal::{Kind, Until, bare, marked};
use super::scan::Scan;
use super::shape::*;
use super::value::secret;

/// Prose without a digit, a quotation mark or an escape up to its line's end names no value, and most prose is like that.
pub(super) fn says_nothing(text: &[u8], key: &Key, from: usize) -> bool {
    // `ENV NAME value`, `requirepass value` and netrc's `password value` are no prose, see `blank_lead` and `netrc`.
    if !any(key.name, L) || matches!(key.name, b"requirepass" | b"masterauth" | b"password") {
        return false;
    }
    let rest = &text[from..text.len().min(from + 320)];
    let end = rest
        .iter()
        .position(|&b| {
            is(b, D) || matches!(b, b'\n' | b'"' | b'\'' | b'`' | b'\\' | b'&' | b'%') || b >= 0x80
        })
        .unwrap_or(rest.len());
    matches!(rest.get(end), Some(b'\n') | None)
}

/// "password is hunter2": the next word, if it has a digit.
pub(super) fn value(scan: &mut Scan, key: &Key, class: KeyClass, from: usize) {
    let text = scan.text;
    if class < KeyClass::Token {
        return;
    }
    // As a verb: "pass `x` to …".
    let verb = key.name.eq_ignore_ascii_case(b"pass");
    let limit = text.len().min(from + 60);
    let line = &text[from..limit];
    let line = &line[..line
        .iter()
        .position(|&b| matches!(b, b'\n' | b'\r' | b'"'))
        .unwrap_or(line.len())];
    let mut at = from;
    let mut said = false;
    for (i, word) in line.split(|&b| b == b' ').enumerate() {
        let next = at + word.len() + 1;
        if i > 4 {
            return;
        }
        match word {
            b"is" | b"was" | b"are" | b"=" | b"is:" | b":" | b"->" | b"was:" | b"to" | b"as" => {
                said = true
            }
            [first, .., b':'] if i > 0 && is(*first, ALPHA) => said = true,
            b"for" | b"of" | b"the" | b"your" | b"now" | b"currently" | b"set" | b"set:"
            | b"changed" | b"just" | b"" => {}
            _ if said || i == 0 => {
                let start = at;
                let (start, value) = match marked(text, start) {
                    Some(literal) if matches!(literal.kind, Kind::Quoted(_)) => {
                        (literal.start, &text[literal.start..literal.end])
                    }
                    _ => {
                        let end = bare(text, start, Until::Blank).end;
                        let value = &text[start..end];
                        let kept = value
                            .iter()
                            .rev()
                            .take_while(|&&b| {
                                matches!(b, b'.' | b',' | b';' | b')' | b':' | b'*' | b'`')
                            })
                            .count();
                        (start, &value[..value.len() - kept])
                    }
                };
                let place = Place {
                    tight: false,
                    data: false,
                    screaming: false,
                    ends: true,
                };
                if text[at] == b'`' || value.first() == Some(&b':') || verb {
                    return;
                }
                let telling = said
                    || matches!(blank_lead(text, key), Lead::Command)
                    || key.name == b"password" && netrc(text, key.start);
                let random = any(value, D) && any(value, ALPHA) && !judge::is_identifier(value);
                let strong = class == KeyClass::Password
                    && any(value, D)
                    && any(value, ALPHA)
                    && value.len() >= 5
                    && !value.contains(&b'(');
                if telling
                    && (random || strong)
                    && (bare_is_secret(class, key.name, value, place)
                        || strong && !is_placeholder(value))
                    || telling
                        && matches!(blank_lead(text, key), Lead::Command)
                        && argument_is_secret(class, key.name, value, true)
                    || telling
                        && netrc(text, key.start)
                        && value.len() > 2
                        && !is_placeholder(value)
                    || !telling
                        && !verb
                        && looks_random(value, true)
                        && any(value, D)
                        && value.len() >= 16
                        && !value.contains(&b'/')
                        && !value.contains(&b'.')
                        && any(value, U)
                {
                    let end = start + value.len();
                    secret(scan, key, class, start, end);
                }
                return;
            }
            // "password for bob is …"
            _ if i < 3 && all(word, WORD | DOT | DASH) => {}
            _ => return,
        }
        at = next;
    }
}

enum Lead {
    Command,
    Other,
}

/// `ENV KEY value`, `setenv KEY value`, `requirepass value`: settings with a blank between.
fn blank_lead(text: &[u8], key: &Key) -> Lead {
    let lead = line_lead(text, key.start, 60).trim_ascii();
    let word = lead
        .rsplit(|b| b.is_ascii_whitespace())
        .next()
        .unwrap_or_default();
    let setting = matches!(key.name, b"requirepass" | b"masterauth");
    if matches!(word, b"ENV" | b"ARG" | b"setenv" | b"set" | b"put" | b"add")
        && !key.name.iter().any(u8::is_ascii_lowercase)
        || setting && lead.is_empty()
    {
        Lead::Command
    } else {
        Lead::Other
    }
}

/// A netrc line: `machine … login … password …`.
fn netrc(text: &[u8], start: usize) -> bool {
    let lead = &text[start.saturating_sub(160)..start];
    memchr::memmem::find(lead, b"login ").is_some()
        && (memchr::memmem::find(lead, b"machine ").is_some()
            || memchr::memmem::find(lead, b"default ").is_some())
}
