//! Commands that give an account its password, which they name by their own name only:
//! `["add_user", "bob", "…"]`, `rabbitmqctl change_password bob …`.

use crate::word_list::WordList;

use super::cell;
use super::judge::{argument_is_secret, is_identifier};
use super::keys::KeyClass;
use super::literal::{Kind, Literal, Quote, Until, bare, marked, skip_blanks, skip_space};
use super::rules::Rule;
use super::scan::Scan;
use super::secret::JUDGED;
use super::shape::*;

/// The commands: a user's name comes next, the password last.
#[rustfmt::skip]
static COMMANDS: WordList = WordList::new(&[
    "add-user", "add_user", "authenticate_user", "change-password", "change_password",
    "reset-password", "reset_password", "set-password", "set_password",
]);

/// The bytes of a command's name.
const NAME: u16 = L | US | DASH;
const LONGEST: usize = 24;

/// Programs with such commands, and how many arguments stand before the password.
static PROGRAMS: &[(&[u8], usize)] = &[(b"rabbitmqctl", 1), (b"ejabberdctl", 2)];

/// How far back in its line a program is looked for.
const MAX_LEAD: usize = 120;

/// `add_user`, in whose middle `at` is.
pub(crate) fn user(scan: &mut Scan, at: usize) {
    if at >= scan.value_until {
        command(scan, at);
    }
}

/// A telling word at `at` that may belong to a command's name. Says whether its password was found.
pub(crate) fn password(scan: &mut Scan, at: usize) -> bool {
    let text = scan.text;
    let joined = at > 0 && matches!(text[at - 1], b'_' | b'-');
    (joined && text[at..].starts_with(b"password") || text[at..].starts_with(b"authenticate_"))
        && command(scan, at)
}

fn command(scan: &mut Scan, at: usize) -> bool {
    let text = scan.text;
    let lead = text[..at].iter().rev().take(LONGEST);
    let start = at - lead.take_while(|&&b| is(b, NAME)).count();
    let end = run_end_capped(text, at, NAME, LONGEST);
    scan.spend(end - start);
    if !COMMANDS.has(&text[start..end]) {
        return false;
    }
    let password = match (Quote::ending_at(text, start), Quote::open(text, end)) {
        (Some((open, _)), Some((close, after))) if open == close => listed_last(scan, after),
        _ => typed_last(scan, start, end),
    };
    let Some((from, to)) = password else {
        return false;
    };
    scan.add(from, to, Rule::CommandLine, 1);
    scan.value_until = scan.value_until.max(to);
    true
}

/// The last of two or three strings that end a list, if it is no name.
fn listed_last(scan: &mut Scan, from: usize) -> Option<(usize, usize)> {
    let text = scan.text;
    let mut at = from;
    let mut last = None;
    for count in 0..4 {
        at = skip_space(text, at, 60);
        if text.get(at) == Some(&b']') {
            return last
                .filter(|_| count >= 2)
                .map(|literal: Literal| (literal.start, literal.end))
                .filter(|&(start, end)| is_chosen(&text[start..end]));
        }
        if text.get(at) != Some(&b',') {
            return None;
        }
        let literal = marked(text, skip_space(text, at + 1, 60))
            .filter(|literal| matches!(literal.kind, Kind::Quoted(_)))?;
        scan.spend(JUDGED * (literal.end - literal.start));
        at = literal.after;
        last = Some(literal);
    }
    None
}

/// A password, not another command's name, an option, an address or a version.
fn is_chosen(value: &[u8]) -> bool {
    let named = is_identifier(value) && value.iter().any(|b| matches!(b, b'_' | b'.'));
    let address = memchr::memchr(b'@', value).is_some_and(|at| value[at..].contains(&b'.'));
    !named
        && !address
        && !value.starts_with(b"-")
        && cell::is_secret(KeyClass::Password, value, false)
}

/// The password on a line that somebody typed.
fn typed_last(scan: &mut Scan, start: usize, end: usize) -> Option<(usize, usize)> {
    let text = scan.text;
    let lead = line_lead(text, start, MAX_LEAD);
    scan.spend(2 * lead.len());
    let known = |(program, _): &&(&[u8], usize)| memchr::memmem::find(lead, program).is_some();
    let (_, before) = PROGRAMS.iter().find(known)?;
    let mut at = end;
    for _ in 0..*before {
        at = bare(text, skip_blanks(text, at, 8), Until::Blank).end;
    }
    let next = skip_blanks(text, at, 8);
    let (from, to) = match marked(text, next) {
        Some(literal) if matches!(literal.kind, Kind::Quoted(_)) => (literal.start, literal.end),
        _ => (next, bare(text, next, Until::Blank).end),
    };
    let value = &text[from..to];
    scan.spend(JUDGED * value.len());
    let typed = next > at && !value.starts_with(b"-");
    (typed && argument_is_secret(KeyClass::Password, b"", value, true)).then_some((from, to))
}

#[cfg(test)]
mod tests {
    use crate::sanitizer::tests::{clean, redacts};

    #[test]
    fn the_last_argument_of_a_list() {
        redacts("System.cmd(\"rabbitmqctl\", [\"add_user\", \"bob\", \"§hunter22pw§\"])");
        redacts("{\"args\":[\"-n\",\"rabbit@db\",\"change_password\",\"bob\",\"§hunter22pw§\"]}");
        redacts("\"[\\\"set-password\\\", \\\"bob\\\", \\\"§hunter22pw§\\\"]\"");
        redacts("[\"change_password\", \"bob\", \"localhost\", \"§größe!t24§\"]");
        for text in [
            "[\"add_user\", \"delete_user\", \"list_users\"]",
            "[\"add_user\", \"add_user_2\", \"add_user_3\"]",
            "[\"change_password\", \"reset_password\", \"log_in\"]",
            "[\"add_user\", \"bob\", \"bob2@acme.test\"]",
            "[\"set_password\", \"bob\", \"--stdin\"]",
            "[\"set_password\", \"bob\", \"$NEW_PASSWORD1\"]",
            "[\"add_user\", \"acme\", \"v1.2.3\"]",
            "add_user(\"bob\", \"bob22\")",
            "[\"add_user\", \"a1\", \"b2bb\", \"c3cc\", \"d4dd\"]",
        ] {
            clean(text);
        }
    }

    #[test]
    fn the_last_argument_of_a_line() {
        redacts("$ rabbitmqctl add_user bob §hunter22pw§\n");
        redacts("sudo rabbitmqctl -n rabbit@db change_password bob '§hunter22 pw§' && echo ok");
        redacts("ejabberdctl change_password bob localhost §hunter22pw§");
        for text in [
            "rabbitmqctl add_user USERNAME PASSWORD",
            "rabbitmqctl add_user <username> <password>",
            "Use rabbitmqctl add_user to create a user of version 4",
            "rabbitmqctl add_user bob",
            "rabbitmqctl authenticate_user bob $PASS1",
            "add_user bob hunter22pw",
        ] {
            clean(text);
        }
    }
}
