//! A value without quotation marks.

use super::cell;
use super::judge::{
    DATA, Place, argument_is_secret, bare_is_secret, is_code, is_code_of_digits, is_identifier,
    is_keyword, is_number, is_path, is_placeholder, names_key, names_secret, quoted_is_secret,
};
use super::keys::KeyClass;
use super::literal::{Until, bare, bare_end, skip_blanks};
use super::marks::mark_at;
use super::name::{Key, NAME};
use super::place::{in_settings, place};
use super::prose;
use super::rules::Rule;
use super::scan::Scan;
use super::secret::{JUDGED, secret};
use super::separator::Separator;
use super::shape::*;
use super::token::{broken_off, continuation};

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
    if tight && separator == Separator::Equals && text[at] == b'{' {
        return braced(scan, key, class, at);
    }
    let place = place_of(text, key, separator, tight);
    // Java prints a header's values as a list.
    let listed = text[at] == b'['
        && tight
        && class >= KeyClass::Token
        && is_at(text, at + 1, ALNUM)
        && mark_at(text, at).is_none();
    let at = at + usize::from(listed);
    let until = until(text, key, separator, place);
    let end = word_end(text, at, separator, until, class);
    scan.spend(JUDGED * (end - at));
    let word = Word {
        class,
        separator,
        place: Place {
            ends: ends(text, end) || place.tight,
            ..place
        },
        at,
        end,
    };
    if word.is_secret(text, key) {
        let end = followed(text, at, end, until);
        let number = all(&text[at..end], D) && is_data_number(text, key, at, end);
        match number_rule(text, at).filter(|_| number) {
            Some(rule) => {
                scan.add(at, end, rule, 1);
                scan.value_until = scan.value_until.max(end);
            }
            // Deeper than two strings no number is replaced: the strings around it must stay whole.
            None if number && key.quote.is_some() => {}
            None => secret(scan, key, class, at, end),
        }
    }
}

/// ODBC quotes with braces; elsewhere a brace opens a template or code.
fn braced(scan: &mut Scan, key: &Key, class: KeyClass, at: usize) {
    let text = scan.text;
    let near = &text[at..text.len().min(at + 256)];
    let end = at + memchr::memchr2(b'}', b'\n', near).unwrap_or(0);
    let value = &text[at + 1..end.max(at + 1)];
    let quoted = |b: &u8| matches!(b, b'"' | b'\'' | b'{');
    scan.spend(4 * value.len());
    if text.get(end) == Some(&b'}')
        && !value.iter().any(quoted)
        && in_settings(text, key.start)
        && quoted_is_secret(class, key.name, value)
    {
        secret(scan, key, class, at + 1, end);
    }
}

fn place_of(text: &[u8], key: &Key, separator: Separator, tight: bool) -> Place {
    let mut place = place(text, key, tight);
    let bracketed = separator == Separator::Arrow
        && key.start > 0
        && text[key.start - 1] == b'['
        && key.quote.is_none();
    if separator == Separator::Colon {
        // Only an equals sign makes a line of a dotenv file.
        place.tight = false;
    }
    if matches!(separator, Separator::Pair | Separator::Answer) || bracketed {
        place.tight = true;
        place.data = true;
    }
    place
}

/// How the word ends: in a dotenv file only at a blank.
fn until(text: &[u8], key: &Key, separator: Separator, place: Place) -> Until {
    let flag = key.dashes > 0;
    match separator {
        Separator::Equals
            if place.tight && place.data && !flag && !in_settings(text, key.start) =>
        {
            Until::Blank
        }
        Separator::Colon if place.data && key.quote.is_none() => Until::Blank,
        Separator::Blank | Separator::Answer => Until::Blank,
        _ => Until::Punctuation,
    }
}

/// The end of the word at `at`, without what belongs to the sentence or to the next setting.
fn word_end(text: &[u8], at: usize, separator: Separator, until: Until, class: KeyClass) -> usize {
    let mut end = bare(text, at, until).end;
    // In a dotenv file a value may hold a semicolon; a token does not, nor does a password with
    // another setting behind it.
    if until == Until::Blank {
        let value = &text[at..end];
        if let Some(cut) = memchr::memchr3(b';', b'&', b',', value) {
            let next = run_end_capped(value, cut + 1, NAME | US, 40);
            let setting = next > cut + 1 && matches!(value.get(next), Some(b'=' | b':'));
            if class < KeyClass::Secret || setting {
                end = at + cut;
            }
        }
        while end > at && text[end - 1] == b',' {
            end -= 1;
        }
    }
    // A sentence ends with a mark that is no part of the value.
    let sentence = |b: u8| matches!(b, b'.' | b',' | b')' | b';');
    if matches!(separator, Separator::Colon | Separator::Cell) {
        let blank = |at: usize| text.get(at).is_none_or(|b| b.is_ascii_whitespace());
        while end > at && sentence(text[end - 1]) && blank(end) {
            end -= 1;
        }
    }
    // Signs of a word diff, and of a sentence in brackets.
    for close in [&b"-]"[..], b"+}"] {
        if let Some(cut) = memchr::memmem::find(&text[at..text.len().min(end + 1)], close) {
            end = at + cut;
        }
    }
    // The rest of a form's encoding: `password%3Dx%26user%3Dy`.
    if at >= 3
        && starts_ci(&text[at - 3..], b"%3d")
        && let Some(cut) = memchr::memmem::find(&text[at..end], b"%26")
    {
        end = at + cut;
    }
    // An application's token in two parts: `123456789012345|…`.
    if text.get(end) == Some(&b'|') && end - at >= 13 && all(&text[at..end], D) {
        end = run_end_capped(text, end + 1, URL64, 64);
    }
    end
}

/// Does nothing but the line's or the string's end follow, or a comment?
fn ends(text: &[u8], end: usize) -> bool {
    let next = skip_blanks(text, end, 40);
    let last = text.get(next).copied().unwrap_or(b'\n');
    matches!(last, b'\n' | b'\r')
        || next == end && matches!(last, b'"' | b'\\' | b'\'' | b']')
        || next > end && (last == b'#' || text[next..].starts_with(b"--"))
}

/// The end of a long word, and of the lines on which a backslash continues it.
fn followed(text: &[u8], at: usize, end: usize, until: Until) -> usize {
    let mut end = end;
    if end - at >= 200 {
        end = end.max(bare_end(text, at, until));
    }
    // A terminal's edge breaks a long word.
    if end - at >= 12
        && let Some(next) =
            continuation(text, end, STD64 | URL64, false).filter(|_| text[end] == b'\n')
    {
        return run_end_capped(text, next, STD64 | URL64, 400);
    }
    if let Some(end) = broken_off(text, at, end) {
        return end;
    }
    for _ in 0..8 {
        if !text[end..].starts_with(b"\\\n") {
            break;
        }
        let next = skip_blanks(text, end + 2, 40);
        end = bare(text, next, until).end.max(next);
    }
    end
}

/// The rule that writes a string in a number's place, with quotation marks as those of the name
/// before it.
pub(super) fn number_rule(text: &[u8], at: usize) -> Option<Rule> {
    let lead = text[..at].trim_ascii_end();
    let name = lead
        .strip_suffix(b":")
        .or(lead.strip_suffix(b"=>"))
        .or(lead.strip_suffix(b","))?;
    let name = name.trim_ascii_end();
    let Some(quoted) = name.strip_suffix(b"\"") else {
        return is_at(name, name.len().wrapping_sub(1), WORD).then_some(Rule::Number);
    };
    let slashes = quoted
        .iter()
        .rev()
        .take(4)
        .take_while(|&&b| b == b'\\')
        .count();
    match slashes {
        0 => Some(Rule::Number),
        1 => Some(Rule::EscapedNumber),
        _ => None,
    }
}

/// Is this a number of JSON or of a term?
fn is_data_number(text: &[u8], key: &Key, at: usize, end: usize) -> bool {
    let next = text.get(skip_blanks(text, end, 8)).copied();
    let closed = matches!(next, Some(b',' | b'}' | b']'));
    let lead = text[..at].trim_ascii_end();
    let separated = lead.ends_with(b":") || lead.ends_with(b"=>");
    is_erlang_pair(text, key, end)
        || separated && (key.quote.is_some() || closed && line_has_brace(text, key.start))
}

/// `{password,12345678}`
fn is_erlang_pair(text: &[u8], key: &Key, end: usize) -> bool {
    key.start > 0 && text[key.start - 1] == b'{' && text.get(end) == Some(&b'}')
}

fn line_has_brace(text: &[u8], start: usize) -> bool {
    line_lead(text, start, 200)
        .iter()
        .any(|&b| matches!(b, b'{' | b'['))
}

/// A word where a value is expected.
struct Word {
    class: KeyClass,
    separator: Separator,
    place: Place,
    at: usize,
    end: usize,
}

impl Word {
    fn is_secret(&self, text: &[u8], key: &Key) -> bool {
        let value = &text[self.at..self.end];
        let goes_on = matches!(text.get(self.end), Some(b'(' | b'[' | b'{'))
            && mark_at(text, self.end).is_none();
        if goes_on {
            return false;
        }
        let (class, name, flag) = (self.class, key.name, key.dashes > 0);
        match self.separator {
            // `{password, hunter2}` may be a variable; an atom that looks random is a cookie.
            Separator::Comma if all(value, D) => {
                is_erlang_pair(text, key, self.end) && number_is_secret(text, key, class, self)
            }
            Separator::Compare | Separator::Markup | Separator::Comma => {
                value.first() == Some(&b':')
                    && bare_is_secret(class, name, &value[1..], DATA)
                    && looks_random(&value[1..], false)
            }
            Separator::Cell => {
                let next = skip_blanks(text, self.end, 80);
                let cell = Place {
                    tight: false,
                    screaming: false,
                    ..DATA
                };
                matches!(text.get(next), Some(b'|' | b'\n' | 0xe2) | None)
                    && (bare_is_secret(class, name, value, cell)
                        || is_drawn(text, key) && cell::is_secret(class, value, false))
            }
            Separator::Blank => {
                !value.starts_with(b"-") && argument_is_secret(class, name, value, flag)
            }
            _ if flag && self.place.tight => argument_is_secret(class, name, value, true),
            _ if value.first() == Some(&b':') => {
                looks_random(&value[1..], false)
                    && bare_is_secret(class, name, &value[1..], self.place)
            }
            Separator::Equals if self.place.tight => {
                bare_is_secret(class, name, value, self.place)
                    || tight_is_secret(text, key, class, value, self)
            }
            Separator::Colon if is_header(text, key) && cell::is_secret(class, value, true) => {
                self.place.ends
            }
            _ => {
                bare_is_secret(class, name, value, self.place)
                    || number_is_secret(text, key, class, self)
            }
        }
    }
}

/// `x-auth-token: …`, alone on its line.
fn is_header(text: &[u8], key: &Key) -> bool {
    key.name.contains(&b'-')
        && line_lead(text, key.start, 8)
            .iter()
            .all(|b| matches!(b, b'<' | b'>' | b' ' | b'*'))
}

/// A row of a table: its line begins with a bar, or with the name itself.
fn is_drawn(text: &[u8], key: &Key) -> bool {
    let lead = line_lead(text, key.start, 80).trim_ascii_start();
    lead.is_empty() || lead.starts_with(b"|") || lead.starts_with("│".as_bytes())
}

/// `name=value` without blanks: the value goes whatever its strength, unless it refers to one or
/// goes on as code.
fn tight_is_secret(text: &[u8], key: &Key, class: KeyClass, value: &[u8], word: &Word) -> bool {
    if class == KeyClass::Code {
        return is_code_of_digits(value);
    }
    let shortest = if class >= KeyClass::Secret { 3 } else { 4 };
    if class < KeyClass::Token
        || class == KeyClass::Auth
        || value.len() < shortest
        || is_placeholder(value)
        || is_keyword(value)
        || names_key(key.name, value)
        || names_secret(value)
        || is_path(value)
        || is_code(value)
    {
        return false;
    }
    if is_number(value) {
        // `pass=120 fail=3`, `token=50256`
        let enough = if key.name.eq_ignore_ascii_case(b"pass") || class < KeyClass::Secret {
            6
        } else {
            4
        };
        return value.len() >= enough && all(value, D);
    }
    if !is_identifier(value) {
        return any(value, D)
            || class >= KeyClass::Secret
            || value.iter().any(|&b| b >= 0x80)
            || looks_random(value, false);
    }
    // A word: a variable where a call's arguments stand, a value elsewhere.
    let argument = matches!(text.get(word.end), Some(b',' | b')' | b'.'))
        && line_lead(text, key.start, 120).contains(&b'(');
    let digits = count(value, D);
    if value.contains(&b'.') && digits < 2 {
        return false;
    }
    if digits > 0 {
        return !argument || digits >= 2;
    }
    !argument && class >= KeyClass::Password && !value.contains(&b'_') && all(value, L | U)
}

/// `"password": 494950924`, `PASSWORD: 68670594`: so many digits are no length and no count,
/// and no password that people have is longer than forty. Of tokens and keys few are numbers, and
/// no count, port or time in milliseconds has sixteen digits.
fn number_is_secret(text: &[u8], key: &Key, class: KeyClass, word: &Word) -> bool {
    let value = &text[word.at..word.end];
    let shortest = match class {
        KeyClass::Code => 4,
        KeyClass::Password | KeyClass::Field => 6,
        KeyClass::Token | KeyClass::Secret => 16,
        _ => return false,
    };
    let data = word.place.data && word.place.ends || is_data_number(text, key, word.at, word.end);
    let said = value.len() >= 8 && !key.name.eq_ignore_ascii_case(b"pass");
    (shortest..=40).contains(&value.len()) && all(value, D) && (data || said)
}
