//! Passwords among a command's arguments, in SQL statements and in files that have a line for each.

use super::judge::{is_placeholder, quoted_is_secret};
use super::keys::KeyClass;
use super::literal::{Kind, Until, bare, marked, skip_blanks};
use super::rules::Rule;
use super::scan::Scan;
use super::shape::*;
use aho_corasick::AhoCorasick;
use std::sync::OnceLock;

/// Commands whose short options take a password, and which of `u`, `p`, `a`, `P`, `w` do; `g` when `-p` is glued to its value.
#[rustfmt::skip]
static COMMANDS: &[(&str, &[u8])] = &[
    ("curl", b"u"), ("wget", b"u"), ("http ", b"u"), ("mysql", b"g"), ("mariadb", b"g"), ("sshpass", b"gp"), ("7z", b"g"), ("docker login", b"p"),
    ("podman login", b"p"), ("skopeo login", b"p"), ("mongo", b"p"), ("helm ", b"p"), ("cf login", b"p"), ("az login", b"p"), ("sqlcmd", b"pP"), ("redis-cli", b"a"),
    ("bcp ", b"P"), ("ldap", b"wP"),
];

/// The longest line of a pgpass file, from the port on.
const MAX_LINE: usize = 300;

/// How far back in its line a command is looked for.
const MAX_LEAD: usize = 200;

fn searcher() -> &'static AhoCorasick {
    static SEARCHER: OnceLock<AhoCorasick> = OnceLock::new();
    #[expect(
        clippy::expect_used,
        reason = "a handful of constant words always compiles"
    )]
    SEARCHER.get_or_init(|| AhoCorasick::new(COMMANDS.iter().map(|c| c.0)).expect("constant words"))
}

/// ` -p`, ` -u `, ` -a `: a short option, from the blank on.
pub(crate) fn option(scan: &mut Scan, at: usize) {
    let text = scan.text;
    if text[at..].starts_with(b"\"-u\"") {
        // An argument list: `["curl", "-u", "user:password"]`.
        let next = text[at + 4..]
            .iter()
            .take(4)
            .take_while(|&&b| matches!(b, b',' | b' '))
            .count();
        return user_and_password(scan, at + 4 + next);
    }
    if text[at..].starts_with(b"-use") {
        let lead = &text[at.saturating_sub(MAX_LEAD)..at];
        scan.spend(2 * lead.len());
        let separated = matches!(text.get(at + 5), Some(b' ' | b'='));
        if text[at..].starts_with(b"-user") && separated && searcher().find(lead).is_some() {
            user_and_password(scan, skip_blanks(text, at + 6, 8));
        }
        return;
    }
    let Some(&letter) = text.get(at + 2) else {
        return;
    };
    let value = skip_blanks(text, at + 3, 8);
    let glued = value == at + 3;
    if glued && letter != b'p' || matches!(text.get(value), None | Some(b'-' | b'\n')) {
        return;
    }
    let wanted = if glued { b'g' } else { letter };
    let lead = line_lead(text, at, MAX_LEAD);
    scan.spend(2 * lead.len());
    let takes = |hit: aho_corasick::Match| COMMANDS[hit.pattern().as_usize()].1.contains(&wanted);
    if !searcher().find_iter(lead).any(takes) {
        return;
    }
    if wanted == b'u' {
        return user_and_password(scan, value);
    }
    let (start, end) = argument(text, value);
    let value = &text[start..end];
    if value.len() >= 3
        && is_argument(value)
        && !(all(value, D) && value.len() < 6)
        && text.get(end) != Some(&b':')
    {
        scan.add(start, end, Rule::CommandLine, 1);
    }
}

/// `user:password` as one argument.
fn user_and_password(scan: &mut Scan, at: usize) {
    let (start, end) = argument(scan.text, at);
    let value = &scan.text[start..end];
    scan.spend(value.len());
    let Some(colon) = memchr::memchr(b':', value) else {
        return;
    };
    let (user, password) = (&value[..colon], &value[colon + 1..]);
    if password.is_empty() && looks_random(user, false) {
        scan.add(start, start + colon, Rule::CommandLine, 1);
    } else if is_argument(password) {
        scan.add(start + colon + 1, end, Rule::CommandLine, 1);
    }
}

/// Something that a person typed, not a variable or a usage text's word.
fn is_argument(value: &[u8]) -> bool {
    !value.is_empty() && !is_placeholder(value) && !all(value, U) && !is_usage(value)
}

/// Words that usage texts put where the password goes.
fn is_usage(value: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[b"password", b"pass", b"passwd", b"pwd", b"secret", b"token"];
    WORDS.iter().any(|w| value.eq_ignore_ascii_case(w))
}

/// A command's argument: quoted, or to the next blank.
fn argument(text: &[u8], at: usize) -> (usize, usize) {
    match marked(text, at) {
        Some(literal) if matches!(literal.kind, Kind::Quoted(_)) => (literal.start, literal.end),
        _ => (at, bare(text, at, Until::Blank).end),
    }
}

/// `-passin pass:X`, `-passout pass:X`: openssl's way.
pub(crate) fn openssl_pass(scan: &mut Scan, at: usize) -> bool {
    let text = scan.text;
    if !text[at..].starts_with(b"pass:")
        || !(text[..at].ends_with(b"in ")
            || text[..at].ends_with(b"out ")
            || text[..at].ends_with(b" -pass ")
            || text[..at].ends_with(b"-k "))
    {
        return false;
    }
    let end = bare(text, at + 5, Until::Blank).end;
    if end > at + 7 && !is_placeholder(&text[at + 5..end]) {
        scan.add(at + 5, end, Rule::CommandLine, 1);
    }
    true
}

/// `IDENTIFIED BY '…'`, also `IDENTIFIED WITH plugin BY '…'`, from the `BY` on.
pub(crate) fn identified_by(scan: &mut Scan, at: usize) {
    let text = scan.text;
    let lead = &text[at.saturating_sub(60)..at];
    scan.spend(lead.len());
    if !contains_ci(lead, b"identified ") {
        return;
    }
    // "the library identified by 'name'" is prose.
    let statement = memchr::memmem::find(lead, b"IDENTIFIED").is_some();
    if let Some(literal) = marked(text, at + 3).filter(|l| matches!(l.kind, Kind::Quoted(_))) {
        let value = &text[literal.start..literal.end];
        if quoted_is_secret(KeyClass::Password, b"", value) && (statement || any(value, D)) {
            scan.add(literal.start, literal.end, Rule::Sql, 1);
        }
    }
}

/// `host:5432:database:user:password`: a line of a pgpass file, from the colon before the port on.
pub(crate) fn pgpass(scan: &mut Scan, at: usize) {
    let text = scan.text;
    let start = at
        - text[..at]
            .iter()
            .rev()
            .take(100)
            .take_while(|&&b| !b.is_ascii_whitespace() && b != b':' && b != b'"')
            .count();
    let rest = &text[at..text.len().min(at + MAX_LINE)];
    let end = rest
        .iter()
        .position(|b| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'\\' | b'<' | b'`'));
    scan.spend(end.unwrap_or(rest.len()) + at - start);
    // Of a line that goes on and on the end is not known, and a piece of a field is none.
    let Some(end) = end.or((at + rest.len() == text.len()).then_some(rest.len())) else {
        return;
    };
    let end = at + end;
    let mut parts = text[start..end].split(|&b| b == b':');
    let [host, port, database, user, password] =
        std::array::from_fn(|_| parts.next().unwrap_or_default());
    if parts.next().is_some() {
        return;
    }
    if start > 0 && text[start - 1] == b':' || &text[start..at] == b"arn" {
        return;
    }
    let name = |field: &[u8]| {
        !field.is_empty() && field.iter().all(|&b| is(b, WORD | DOT | DASH) || b == b'*')
    };
    if name(host)
        && (all(port, D) && !port.is_empty() || port == b"*")
        && name(database)
        && name(user)
        && password.len() >= 4
        && !is_placeholder(password)
        && (any(user, ALPHA) || user == b"*")
        && !(all(database, D) && all(user, D))
    {
        scan.add(end - password.len(), end, Rule::Password, 1);
    }
}
