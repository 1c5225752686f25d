//! Passwords among a command's arguments, in SQL statements and in files that have a line for each.

use super::judge::{is_placeholder, quoted_is_secret};
use super::keys::KeyClass;
use super::literal::{Kind, Until, bare, marked, skip_blanks};
use super::rules::Rule;
use super::scan::Scan;
use super::secret::JUDGED;
use super::shape::*;
use crate::word_list::WordList;
use aho_corasick::AhoCorasick;
use once_cell::sync::OnceCell;

/// Commands whose short options take a password, and which of `u`, `p`, `a`, `P`, `w` do; `g` when
/// `-p` is glued to its value.
#[rustfmt::skip]
static COMMANDS: &[(&str, &[u8])] = &[
    ("curl", b"u"), ("wget", b"u"), ("http ", b"u"), ("mysql", b"g"), ("mariadb", b"g"), ("sshpass", b"gp"), ("7z", b"g"), ("docker login", b"p"),
    ("podman login", b"p"), ("skopeo login", b"p"), ("mongo", b"p"), ("helm ", b"p"), ("cf login", b"p"), ("az login", b"p"), ("sqlcmd", b"pP"), ("redis-cli", b"a"),
    ("bcp ", b"P"), ("ldap", b"wP"), ("http", b"a"), ("https", b"a"), ("ssh-keygen", b"N"), ("zip ", b"P"), ("openssl enc", b"k"),
];

/// The longest line of a pgpass file, from the port on.
const MAX_LINE: usize = 300;

/// How far back in its line a command is looked for.
const MAX_LEAD: usize = 200;

/// Finds the commands' names. Without it, any command counts as one that takes a secret.
fn searcher() -> Option<&'static AhoCorasick> {
    static SEARCHER: OnceCell<AhoCorasick> = OnceCell::new();
    SEARCHER
        .get_or_try_init(|| AhoCorasick::new(COMMANDS.iter().map(|c| c.0)))
        .ok()
}

/// Whether one of the commands stands in the text, and is of this kind.
fn named(lead: &[u8], kind: impl FnMut(aho_corasick::Match) -> bool) -> bool {
    searcher().is_none_or(|searcher| searcher.find_iter(lead).any(kind))
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
        if text[at..].starts_with(b"-user") && separated && named(lead, |_| true) {
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
    if !named(lead, takes) {
        return;
    }
    let pair = wanted == b'a' && memchr::memmem::find(lead, b"redis").is_none();
    if wanted == b'u' || pair {
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
    #[rustfmt::skip]
    static WORDS: WordList = WordList::new(&[
        "pass", "passwd", "password", "pwd", "secret", "token",
    ]);
    WORDS.has_in_any_case(value)
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
    if text[at..].starts_with(b"passwd") && passwd(scan, at) {
        return true;
    }
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

/// `echo "user:password" | chpasswd`, `htpasswd -b file user password`.
fn passwd(scan: &mut Scan, at: usize) -> bool {
    let text = scan.text;
    let start = at.saturating_sub(2);
    if text[start..].starts_with(b"chpasswd") {
        let lead = line_lead(text, start, MAX_LEAD).trim_ascii_end();
        let Some(echo) = lead.strip_suffix(b"|").map(<[u8]>::trim_ascii_end) else {
            return false;
        };
        let from = start - line_lead(text, start, MAX_LEAD).len();
        let quoted = echo
            .iter()
            .rev()
            .take_while(|b| matches!(b, b'"' | b'\''))
            .count();
        if let Some(colon) = memchr::memrchr(b':', &echo[..echo.len() - quoted]) {
            let value = &echo[colon + 1..echo.len() - quoted];
            if is_argument(value) && !value.contains(&b' ') {
                scan.add(
                    from + colon + 1,
                    from + echo.len() - quoted,
                    Rule::CommandLine,
                    1,
                );
            }
        }
        return true;
    }
    let Some(options) = text[start..]
        .strip_prefix(b"htpasswd -")
        .filter(|o| !o.is_empty())
    else {
        return false;
    };
    let mut at = text.len() - options.len() + run_end_capped(options, 0, ALPHA, 8);
    if !options[..run_end_capped(options, 0, ALPHA, 8)].contains(&b'b') {
        return false;
    }
    // The file, the user's name, the password.
    for _ in 0..2 {
        at = bare(text, skip_blanks(text, at, 8), Until::Blank).end;
    }
    let (start, end) = argument(text, skip_blanks(text, at, 8));
    scan.spend(end.saturating_sub(start) + 64);
    if is_argument(&text[start..end]) {
        scan.add(start, end, Rule::CommandLine, 1);
    }
    true
}

/// A line of a cookie file: host, flag, path, flag, time, name and value with tabs between. One
/// flag stands at `at`.
pub(crate) fn cookie_file(scan: &mut Scan, at: usize) {
    let text = scan.text;
    let start = at - line_lead(text, at, 400).len();
    let rest = &text[start..text.len().min(start + 4096)];
    let line = &rest[..memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len())];
    scan.spend(line.len());
    let mut fields = line.split(|&b| b == b'\t');
    let [_, sub, _, secure, time, _, value] =
        std::array::from_fn(|_| fields.next().unwrap_or_default());
    let flag = |field: &[u8]| field == b"TRUE" || field == b"FALSE";
    if flag(sub)
        && flag(secure)
        && all(time, D)
        && !time.is_empty()
        && fields.next().is_none()
        && value.len() >= 6
    {
        let from = start + line.len() - value.len();
        if any(value, D) && !is_placeholder(value) {
            scan.add(from, start + line.len(), Rule::Cookie, 1);
        }
    }
}

/// `AUTH password`, `AUTH user password`: how a Redis client says who it is.
pub(crate) fn auth(scan: &mut Scan, at: usize) {
    let text = scan.text;
    let lead = line_lead(text, at, 80).trim_ascii_end();
    let typed = lead.is_empty()
        || lead.ends_with(b">")
        || lead.ends_with(b"redis-cli")
        || lead.ends_with(b"redis>");
    if !typed || text.get(at + 4) != Some(&b' ') {
        return;
    }
    let line = &text[at + 5..text.len().min(at + 5 + MAX_LINE)];
    let end = line.iter().position(|&b| matches!(b, b'\n' | b'\r'));
    scan.spend(2 * end.unwrap_or(line.len()));
    // Of a line that goes on and on a piece would go at each look.
    let Some(end) = end.or((at + 5 + line.len() == text.len()).then_some(line.len())) else {
        return;
    };
    let line = &line[..end];
    let mut words = line.split(|&b| b == b' ').filter(|word| !word.is_empty());
    let last = match (words.next(), words.next(), words.next()) {
        (Some(_), Some(password), None) => password,
        (Some(password), None, None) => password,
        _ => return,
    };
    let start = at + 5 + (last.as_ptr() as usize - line.as_ptr() as usize);
    let (start, end) = argument(text, start);
    if is_argument(&text[start..end]) && end - start >= 3 {
        scan.add(start, end, Rule::CommandLine, 1);
        scan.value_until = scan.value_until.max(end);
    }
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
        scan.spend(64 + JUDGED * value.len());
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
