//! What was replaced, in a sentence: so that nobody takes redacted text for the text itself.

use super::{Findings, Span};
use std::fmt;

/// How many values of each kind were replaced in a text, and whether those that stand against each
/// other are equal.
///
/// Written out it is the note that an answer carries: `Redacted: 2 values (token); they differ.`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Kinds in plain words (`"password"`, `"token"`), each with its count, in order of their first
    /// appearance.
    pub kinds: Vec<(&'static str, usize)>,
    /// Where exactly two sides of a comparison were replaced: what holds for their values.
    pub sides: Option<Sides>,
}

/// Two replaced values that stand against each other: a failed assertion's sides, a diff's old and
/// new line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sides {
    /// Both were the same.
    Equal,
    /// They were not the same.
    Differ,
}

impl Summary {
    /// What `findings` say of `text`, the text as it was.
    pub fn of(text: &[u8], findings: &Findings<'_>) -> Summary {
        let mut summary = Summary::default();
        for span in &findings.spans {
            summary.count(kind(span.rule), 1);
        }
        summary.sides = sides(text, &findings.spans);
        summary
    }

    /// How many values were replaced.
    pub fn total(&self) -> usize {
        self.kinds.iter().map(|(_, count)| count).sum()
    }

    /// Takes another text's summary in. Sides count only while a single text has them.
    pub fn add(&mut self, other: &Summary) {
        let alone = self.total() == 0;
        for &(kind, count) in &other.kinds {
            self.count(kind, count);
        }
        self.sides = match (self.sides, other.sides) {
            (None, sides) if alone => sides,
            (sides, None) => sides,
            (Some(one), Some(two)) if one == two => Some(one),
            _ => None,
        };
    }

    fn count(&mut self, kind: &'static str, more: usize) {
        match self.kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += more,
            None => self.kinds.push((kind, more)),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total();
        let values = if total == 1 { "value" } else { "values" };
        write!(f, "Redacted: {total} {values}")?;
        for (i, (kind, count)) in self.kinds.iter().enumerate() {
            f.write_str(if i == 0 { " (" } else { ", " })?;
            match self.kinds.len() {
                1 => write!(f, "{kind}")?,
                _ => write!(f, "{count} {kind}")?,
            }
        }
        f.write_str(if self.kinds.is_empty() { "" } else { ")" })?;
        match self.sides {
            Some(Sides::Equal) => f.write_str("; they are equal.")?,
            Some(Sides::Differ) => f.write_str("; they differ.")?,
            None => f.write_str(".")?,
        }
        Ok(())
    }
}

/// A rule's kind, in a word or two that a reader knows.
fn kind(rule: &str) -> &'static str {
    match rule {
        "password" | "database_url" | "url_credentials" | "command_line" | "sql_password" => {
            "password"
        }
        "password_hash" => "password hash",
        "cookie" => "cookie",
        "private_key" => "private key",
        "webhook_url" => "webhook",
        "known_secret" => "known secret",
        "over_budget" => "long word",
        "number" | "escaped_number" => "password",
        "field" | "integer_list" | "django_secret" => "secret",
        rule if rule.ends_with("_key") => "API key",
        _ => "token",
    }
}

/// What begins the lines of two sides.
const MARKS: &[(&[u8], &[u8])] = &[(b"left:", b"right:"), (b"-", b"+")];

fn sides(text: &[u8], spans: &[Span<'_>]) -> Option<Sides> {
    for (one, two) in MARKS {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for span in spans {
            let line = super::shape::line_lead(text, span.start, 400).trim_ascii_start();
            if line.starts_with(one) {
                first.push(&text[span.start..span.end]);
            } else if line.starts_with(two) {
                second.push(&text[span.start..span.end]);
            }
        }
        if !first.is_empty() && first.len() == second.len() {
            let equal = first == second;
            return Some(if equal { Sides::Equal } else { Sides::Differ });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::{KnownSecrets, Sanitizer};
    use super::*;

    fn note(text: &str) -> String {
        let findings = Sanitizer::built_in().scan(text.as_bytes(), &KnownSecrets::empty());
        Summary::of(text.as_bytes(), &findings).to_string()
    }

    #[test]
    fn a_note_says_how_many_and_of_what_kind() {
        assert_eq!(
            note("password: \"hunter2\""),
            "Redacted: 1 value (password)."
        );
        assert_eq!(
            note("api_token: \"x7Kp2mQ9vL4t\"\npassword: \"hunter2\"\ntoken: \"qW8rT5yU1iOp\"\n"),
            "Redacted: 3 values (2 token, 1 password)."
        );
    }

    #[test]
    fn sides_are_equal_or_differ() {
        let code = "     code:  assert Acme.password() == \"x\"\n";
        let same = format!("{code}     left:  \"horse71!\"\n     right: \"horse71!\"\n");
        let other = format!("{code}     left:  \"horse71!\"\n     right: \"battery6751\"\n");
        assert_eq!(
            note(&same),
            "Redacted: 2 values (password); they are equal."
        );
        assert_eq!(note(&other), "Redacted: 2 values (password); they differ.");
    }
}
