//! Values one level below a telling name: `secrets: ["…", "…"]`, `api_key: {"value": "…"}`,
//! `credentials: %{user: "…", pw: "…"}`, a section of a settings file.

use super::cell;
use super::elements;
use super::judge::{is_keyword, is_placeholder, names_secret, quoted_is_secret};
use super::keys::KeyClass;
use super::literal::{Kind, Literal, Quote, Until, bare, marked, skip_blanks, skip_space};
use super::name::{Key, NAME};
use super::scan::Scan;
use super::secret::{JUDGED, secret};
use super::shape::*;
use crate::word_list::WordList;

/// So much of a container is read.
const MAX_REACH: usize = 4096;
/// So many of its members are judged.
const MAX_MEMBERS: usize = 64;

/// Members that hold the value itself.
#[rustfmt::skip]
static VALUES: WordList = WordList::new(&[
    "cleartext", "current", "data", "default", "latest", "new", "next", "old", "plain", "plaintext",
    "previous", "raw", "result", "s", "secret_string", "secretstring", "stringvalue", "val",
    "value",
]);

/// Members that say something about a secret or belong to it without being one.
#[rustfmt::skip]
static ABOUT: WordList = WordList::new(&[
    "account", "alg", "algorithm", "app", "created", "created_at", "database", "description",
    "email", "env", "expires", "expires_at", "format", "from", "host", "hostname", "id", "key",
    "kind", "label", "length", "login", "module", "name", "namespace", "owner", "path", "port",
    "provider", "region", "rotate", "scheme", "scope", "sensitive", "service", "source", "status",
    "title", "type", "updated_at", "url", "user", "username", "version",
]);

/// Names that hold several secrets, each under a name of its own.
fn is_collection(name: &[u8]) -> bool {
    name.last().is_some_and(|&b| b == b's' || b == b'S') && !name.ends_with(b"ss")
}

/// `["a", "b"]` under a telling name.
pub(super) fn elements(scan: &mut Scan, key: &Key, class: KeyClass, from: usize) {
    let text = scan.text;
    let mut at = from + 1;
    let limit = from + MAX_REACH;
    for _ in 0..MAX_MEMBERS {
        // `+` and `-`: a plan's or a diff's signs.
        at = skip_space(text, at, 120);
        at = skip_space(
            text,
            at + usize::from(matches!(text.get(at), Some(b'+' | b'-' | b'~'))),
            8,
        );
        let literal = marked(text, at).filter(|l| !matches!(l.kind, Kind::Codes));
        let literal = literal.unwrap_or_else(|| bare(text, at, Until::Punctuation));
        if literal.end > limit || literal.end == literal.start {
            return;
        }
        scan.spend(4 * (literal.end - literal.start) + 100);
        let value = &text[literal.start..literal.end];
        let goes = match literal.kind {
            Kind::Quoted(_) => is_element(key, class, value),
            // In JSON a word without marks is a number or another container.
            Kind::Bare => {
                key.quote.is_none()
                    && !matches!(value[0], b'[' | b'{')
                    && is_collection(key.name)
                    && cell::is_secret(class, value, false)
            }
            _ => false,
        };
        if goes {
            secret(scan, key, class, literal.start, literal.end);
        }
        at = skip_space(text, literal.after, 120);
        if text.get(at) != Some(&b',') {
            return;
        }
        at += 1;
    }
}

fn is_element(key: &Key, class: KeyClass, value: &[u8]) -> bool {
    // `pass: ["text/*"]`: types and patterns.
    if names_secret(value) || !any(value, D) && value.iter().any(|b| matches!(b, b'/' | b'*')) {
        return false;
    }
    let any_value = class >= KeyClass::Secret
        && is_collection(key.name)
        && !value.is_empty()
        && value.len() < 4
        && all(value, ALNUM)
        && !is_keyword(value);
    any_value || quoted_is_secret(class, key.name, value)
}

/// What a container is closed by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Close {
    Brace,
    /// A line that is indented no deeper than this.
    Dedent(usize),
    /// An empty line or the next `[section]`.
    Section,
}

/// A map, a struct, a tuple or a block at `at`: the values in it. Says whether there is one.
pub(super) fn members(scan: &mut Scan, key: &Key, class: KeyClass, at: usize) -> bool {
    let text = scan.text;
    let name = match text.get(at) {
        Some(b'%' | b'#') => run_end_capped(text, at + 1, NAME, 64),
        _ => at,
    };
    if text.get(name) != Some(&b'{')
        || text[at..].starts_with(b"#{")
            && text.get(at + 2).is_some_and(|b| is(*b, ALPHA))
            && !text[at..text.len().min(at + 80)]
                .windows(2)
                .any(|w| w == b"=>")
    {
        return false;
    }
    if name == at && is_tuple(text, at) {
        elements(scan, key, class, at);
    } else {
        walk(scan, key, class, name + 1, Close::Brace);
    }
    true
}

/// `credentials => {"bob", "…"}`: of two strings in a tuple the second is the password. Says whether
/// it is.
pub(super) fn login(scan: &mut Scan, key: &Key, at: usize) -> bool {
    let text = scan.text;
    if !contains_ci(key.name, b"cred") || !is_tuple(text, at) {
        return false;
    }
    let mut pair = Vec::new();
    let after = elements::elements(text, at, &mut pair);
    scan.spend(after.map_or(64, |after| 4 * (after - at)));
    let (Some(_), &[_, (start, end)]) = (after, &pair[..]) else {
        return false;
    };
    let quoted = matches!(text[start - 1], b'"' | b'\'');
    let goes = quoted && cell::is_secret(KeyClass::Password, &text[start..end], false);
    if goes {
        secret(scan, key, KeyClass::Password, start, end);
    }
    goes
}

/// `{"bob", "…"}`: a string behind the brace, and no separator of a member behind the string.
fn is_tuple(text: &[u8], at: usize) -> bool {
    let first = skip_space(text, at + 1, 8);
    marked(text, first).is_some_and(|literal| {
        matches!(literal.kind, Kind::Quoted(_))
            && text.get(skip_space(text, literal.after, 8)) == Some(&b',')
    })
}

/// The indented lines below a name in YAML, or those below a `[section]`.
pub(super) fn block(scan: &mut Scan, key: &Key, class: KeyClass, line_end: usize) {
    let text = scan.text;
    let lead = line_lead(text, key.start, 160);
    let section = lead.trim_ascii_start().starts_with(b"[");
    let close = if section {
        Close::Section
    } else if lead
        .iter()
        .all(|&b| matches!(b, b' ' | b'-' | b'"' | b'\'' | b'+'))
    {
        Close::Dedent(lead.len())
    } else {
        return;
    };
    walk(scan, key, class, line_end, close);
}

fn walk(scan: &mut Scan, key: &Key, class: KeyClass, from: usize, close: Close) {
    let text = scan.text;
    let limit = text.len().min(from + MAX_REACH);
    let mut at = from;
    let mut depth = 0usize;
    for _ in 0..2 * MAX_MEMBERS {
        let Some(next) = next_member(text, at, limit, close, &mut depth) else {
            return;
        };
        scan.spend(2 * (next - at) + 16);
        if scan.exhausted() {
            return;
        }
        let Some((name, literal)) = member(text, next, limit, close) else {
            // A word of code in braces: what closes them may stand right behind it.
            at = match close {
                Close::Brace => run_end_capped(text, next, NAME, 64).max(next + 1),
                _ => item(scan, key, class, next).max(next + 1),
            };
            continue;
        };
        let (start, end) = (literal.start, literal.end);
        scan.spend(128 + JUDGED / 2 * (end - start));
        if is_member(
            key,
            class,
            &text[name.0..name.1],
            &text[start..end],
            literal.kind,
        ) {
            secret(scan, key, class, start, end);
        }
        at = literal.after.max(next + 1);
    }
}

/// Where the next name may start.
fn next_member(
    text: &[u8],
    from: usize,
    limit: usize,
    close: Close,
    depth: &mut usize,
) -> Option<usize> {
    let mut at = from;
    while at < limit {
        match text[at] {
            b'}' if close == Close::Brace => *depth = depth.checked_sub(1)?,
            b'{' if close == Close::Brace => *depth += 1,
            b'\n' => match close {
                Close::Brace => {}
                Close::Dedent(indent) => {
                    let content = skip_blanks(text, at + 1, 80);
                    if content - at - 1 <= indent {
                        return None;
                    }
                    at = content;
                    continue;
                }
                Close::Section => {
                    if matches!(text.get(at + 1), None | Some(b'[' | b'\n' | b'\r')) {
                        return None;
                    }
                }
            },
            // Erlang's character, a bracket or a quotation mark among them.
            b'$' if close == Close::Brace => at += 1,
            b if is(b, WORD) || b >= 0x80 => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

/// A name and its value, from the name on.
fn member(text: &[u8], at: usize, limit: usize, close: Close) -> Option<((usize, usize), Literal)> {
    let end = run_end_capped(&text[..limit], at, NAME, 64);
    let mut next = end;
    let closed = Quote::open(text, next);
    if let Some((_, after)) = closed {
        next = after;
    }
    next = skip_blanks(text, next, 40);
    let colon = *text.get(next)? == b':';
    next += match text.get(next..next + 2)? {
        b"=>" | b":=" => 2,
        [b'=' | b':', _] => 1,
        _ => return None,
    };
    let value = skip_blanks(text, next, 40);
    if let Some(literal) = marked(text, value) {
        // `["a:",1]`: a string that ends in a separator is closed there, and no value begins.
        if closed.is_none()
            && matches!(
                text.get(literal.start),
                None | Some(b',' | b']' | b'}' | b'\n' | b'\r')
            )
        {
            return None;
        }
        return matches!(literal.kind, Kind::Quoted(_)).then_some(((at, end), literal));
    }
    // Between braces a word without marks is code: to read it for every name would be slow.
    if close == Close::Brace || !(colon || value > next || next < limit) {
        return None;
    }
    let literal = bare(text, value, Until::Blank);
    (literal.end > value).then_some(((at, end), literal))
}

/// `- value` in a list below its name: judges it, and says where it ends.
fn item(scan: &mut Scan, key: &Key, class: KeyClass, at: usize) -> usize {
    let text = scan.text;
    let end = bare(text, at, Until::Blank).end;
    let listed = line_lead(text, at, 80).trim_ascii() == b"-";
    let alone = matches!(text.get(end), None | Some(b'\n' | b'\r'));
    scan.spend(64 + 4 * (end - at));
    let alone = listed && alone && is_collection(key.name);
    if alone && cell::is_secret(class, &text[at..end], false) {
        secret(scan, key, class, at, end);
    }
    end
}

fn is_member(key: &Key, class: KeyClass, name: &[u8], value: &[u8], kind: Kind) -> bool {
    let mut lower = [0u8; 32];
    let Some(lower) = lower.get_mut(..name.len()) else {
        return false;
    };
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    let lower = &*lower;
    if is_placeholder(value) || is_keyword(value) {
        return false;
    }
    if VALUES.has(lower) {
        return quoted_is_secret(class, key.name, value) || cell::is_secret(class, value, false);
    }
    if !is_collection(key.name) || ABOUT.has(lower) {
        return false;
    }
    let quoted = kind != Kind::Bare;
    if lower == b"pw" || class >= KeyClass::Secret && quoted {
        return quoted_is_secret(KeyClass::Secret, name, value)
            || lower == b"pw" && !value.is_empty();
    }
    cell::is_secret(class, value, false)
}

#[cfg(test)]
mod tests {
    use crate::sanitizer::tests::{clean, redacts};
    use crate::sanitizer::{KnownSecrets, Sanitizer};

    /// Braces that stay open to the container's reach cost as much as all of it, for each of
    /// thousands of names.
    #[test]
    fn code_full_of_telling_names_is_read_to_its_end() {
        let lines = "read(T, Line) ->\n  Token = {identifier, {Line, Column, nil}, $}},\n  \
                     {Rest, More} = next(T, Line, Column + 1, Scope),\n  {More, [Token | Rest]};\n";
        let text = lines.repeat(2_000);
        let findings = Sanitizer::built_in().scan(text.as_bytes(), &KnownSecrets::empty());
        assert!(!findings.over_budget && findings.spans.is_empty());
    }

    #[test]
    fn the_second_of_a_pair_is_the_password() {
        redacts("#{credentials => {\"bob\", \"§hunter22pw§\"}}");
        redacts("#{credentials => {<<\"bob\">>,<<\"§hunter22pw§\">>},port => 1}");
        redacts("{credentials,{\"bob\",\"§hunter22pw§\"}}");
        redacts("[db_credentials: {\"bob\", \"§größe_t24§\"}, pool: 2]");
        for text in [
            "credentials: {\"file\", \"credentials.json\"}",
            "credentials: {\"username\", \"password\"}",
            "credentials: {\"bob\", \"is unknown to all 3 servers\"}",
            "credentials: {\"bob\", password}",
            "credentials: {\"bob\", \"[FILTERED]\"}",
            "{credentials, {\"eu-west-1\", \"default\"}}",
            "colours: {\"red\", \"ff0000aa\"}",
        ] {
            clean(text);
        }
    }
}
