//! A value without quotation marks.

use super::judge::{Place, bare_is_secret, is_placeholder, quoted_is_secret};
use super::key::{Key, NAME};
use super::keys::KeyClass;
use super::literal::{Until, bare, bare_end, skip_blanks};
use super::marks::mark_at;
use super::place::{in_settings, place};
use super::prose;
use super::scan::Scan;
use super::separator::Separator;
use super::shape::*;
use super::value::secret;

/// A value without quotation marks.
pub(super) fn bare_value(
    scan: &mut Scan,
    key: &Key,
    class: KeyClass,
    separator: Separator,
    at: usize,
    tight: bool,
) {
    let text = scan.text;
    if separator == Separator::Prose {
        return prose::value(scan, key, class, at);
    }
    let mut place = place(text, key, tight);
    let bracketed = separator == Separator::Arrow
        && key.start > 0
        && text[key.start - 1] == b'['
        && key.quote.is_none();
    if separator == Separator::Colon {
        // Only an equals sign makes a line of a dotenv file.
        place.tight = false;
    }
    if separator == Separator::Pair || bracketed {
        place = Place {
            tight: true,
            data: true,
            ..place
        };
    }
    // Java prints a header's values as a list.
    let listed = text[at] == b'['
        && tight
        && class >= KeyClass::Token
        && is_at(text, at + 1, ALNUM)
        && mark_at(text, at).is_none();
    let at = at + usize::from(listed);
    let flag = key.dashes > 0;
    let until = match separator {
        Separator::Equals if tight && place.data && !flag && !in_settings(text, key.start) => {
            Until::Blank
        }
        Separator::Colon if place.data && key.quote.is_none() => Until::Blank,
        Separator::Blank => Until::Blank,
        _ => Until::Punctuation,
    };
    // ODBC quotes with braces.
    if tight && text[at] == b'{' && separator == Separator::Equals {
        let end =
            at + memchr::memchr2(b'}', b'\n', &text[at..text.len().min(at + 256)]).unwrap_or(0);
        if text.get(end) == Some(&b'}')
            && text[at..].get(1) != Some(&b'{')
            && !text[at + 1..end]
                .iter()
                .any(|b| matches!(b, b'"' | b'\'' | b'{'))
            && quoted_is_secret(class, key.name, &text[at + 1..end])
            && in_settings(text, key.start)
        {
            secret(scan, key, class, at + 1, end);
        }
        return;
    }
    let mut literal = bare(text, at, until);
    scan.spend(4 * (literal.end - literal.start));
    // In a dotenv file a value may hold a semicolon; a token does not, nor does a password with another setting behind it.
    if until == Until::Blank {
        let value = &text[at..literal.end];
        if let Some(cut) = memchr::memchr3(b';', b'&', b',', value) {
            let next = run_end_capped(value, cut + 1, NAME | US, 40);
            if class < KeyClass::Secret || next > cut + 1 && value.get(next) == Some(&b'=') {
                literal.end = at + cut;
            }
        }
    }
    while until == Until::Blank && literal.end > at && text[literal.end - 1] == b',' {
        literal.end -= 1;
    }
    // A sentence ends with a mark that is no part of the value.
    if matches!(
        separator,
        Separator::Prose | Separator::Colon | Separator::Cell
    ) {
        while literal.end > at
            && matches!(text[literal.end - 1], b'.' | b',' | b')' | b';')
            && text
                .get(literal.end)
                .is_none_or(|b| b.is_ascii_whitespace())
        {
            literal.end -= 1;
        }
    }
    // The rest of a form's encoding: `password%3Dx%26user%3Dy`.
    if at >= 3
        && starts_ci(&text[at - 3..], b"%3d")
        && let Some(cut) = memchr::memmem::find(&text[at..literal.end], b"%26")
    {
        literal.end = at + cut;
    }
    place.ends = text
        .get(literal.end)
        .is_none_or(|&b| matches!(b, b'\n' | b'\r' | b'"' | b'\\' | b'\'' | b']'))
        || text[literal.end..].starts_with(b" \n")
        || place.tight;
    // An application's token in two parts: `123456789012345|…`.
    if text.get(literal.end) == Some(&b'|')
        && literal.end - at >= 13
        && all(&text[at..literal.end], D)
    {
        literal.end = run_end_capped(text, literal.end + 1, URL64, 64);
    }
    let value = &text[at..literal.end];
    let call = matches!(text.get(literal.end), Some(b'(' | b'[' | b'{'));
    let hit = match separator {
        Separator::Compare | Separator::Markup | Separator::Comma => {
            // `{password, hunter2}` may be a variable; an atom that looks random is a cookie.
            value.first() == Some(&b':')
                && bare_is_secret(
                    class,
                    key.name,
                    &value[1..],
                    Place {
                        tight: true,
                        data: true,
                        screaming: true,
                        ends: true,
                    },
                )
                && looks_random(&value[1..], false)
        }
        Separator::Cell => {
            let next = skip_blanks(text, literal.end, 80);
            !call
                && matches!(text.get(next), Some(b'|' | b'\n') | None)
                && bare_is_secret(
                    class,
                    key.name,
                    value,
                    Place {
                        tight: false,
                        data: true,
                        screaming: false,
                        ends: true,
                    },
                )
        }
        Separator::Blank => {
            !call && !value.starts_with(b"-") && argument_is_secret(class, key.name, value, flag)
        }
        _ if flag && tight => !call && argument_is_secret(class, key.name, value, true),
        _ if value.first() == Some(&b':') => {
            !call
                && looks_random(&value[1..], false)
                && bare_is_secret(class, key.name, &value[1..], place)
        }
        _ => !call && bare_is_secret(class, key.name, value, place),
    };
    if hit {
        let mut end = literal.end;
        if value.len() >= 200 {
            end = end.max(bare_end(text, at, until));
        }
        // A backslash at the line's end continues the value.
        for _ in 0..8 {
            if !text[end..].starts_with(b"\\\n") {
                break;
            }
            let next = skip_blanks(text, end + 2, 40);
            end = bare(text, next, until).end.max(next);
        }
        secret(scan, key, class, at, end);
    }
}

/// The argument of `--password`: a word of small letters only may be a usage text's.
pub(super) fn argument_is_secret(class: KeyClass, key: &[u8], value: &[u8], flag: bool) -> bool {
    // A word of its own on a command line says as much as a setting does.
    let place = Place {
        tight: true,
        data: true,
        screaming: true,
        ends: true,
    };
    if class == KeyClass::Weak {
        return flag
            && matches!(value.len(), 32 | 64)
            && all(value, HEX)
            && any(value, D)
            && any(value, L)
            || bare_is_secret(class, key, value, place);
    }
    let kept = value
        .iter()
        .rev()
        .take_while(|b| matches!(b, b']' | b')' | b'}' | b','))
        .count();
    let value = &value[..value.len() - kept];
    if all(value, U | US | DASH) && surprise(value) < 40 || value.len() < 3 {
        return false;
    }
    if class >= KeyClass::Secret && flag {
        return !is_placeholder(value)
            && !value.iter().any(|b| matches!(b, b'[' | b'<' | b'{' | b'('))
            && (any(value, D)
                || value.iter().any(|b| {
                    b.is_ascii_punctuation()
                        && !matches!(b, b'-' | b'_' | b'.' | b'/' | b',' | b'=')
                })
                || surprise(value) > 3 * value.len() as i32);
    }
    bare_is_secret(class, key, value, place)
}
