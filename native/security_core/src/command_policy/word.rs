//! Shell quoting: which characters of a line are live, and what a word says once its quotes are gone.
//!
//! Everything that a shell would expand is refused, so what is left has one meaning: text, or a file name pattern.

use super::{Denial, DenialKind, Result};

/// How a character stands in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    /// Outside quotes: a shell may give it a meaning.
    Bare,
    /// Inside double quotes, where `$` and backquotes keep their meaning.
    Double,
    /// Inside single quotes, or after a backslash: itself.
    Literal,
}

/// A character with its place and quoting. Quote marks, and backslashes that quote, are not reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quoted {
    pub at: usize,
    pub c: char,
    pub quoting: Quoting,
}

/// Reads a line character by character. An open quote or a last backslash is an error.
pub(super) fn scan(text: &str, mut each: impl FnMut(Quoted) -> Result<()>) -> Result<()> {
    let mut open: Option<(char, usize)> = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let literal = |c| Quoted {
            at,
            c,
            quoting: Quoting::Literal,
        };
        match (c, open.map(|(quote, _)| quote)) {
            ('\'', None) | ('"', None) => open = Some((c, at)),
            ('\'', Some('\'')) | ('"', Some('"')) => open = None,
            (_, Some('\'')) => each(literal(c))?,
            ('\\', None) => match chars.next() {
                Some((_, '\n')) => {}
                Some((_, next)) => each(literal(next))?,
                None => return Err(Denial::syntax(DenialKind::UnterminatedQuote, at)),
            },
            ('\\', _) => match chars.peek().copied() {
                Some((_, '\n')) => {
                    chars.next();
                }
                Some((_, next @ ('$' | '`' | '"' | '\\'))) => {
                    chars.next();
                    each(literal(next))?;
                }
                _ => each(literal('\\'))?,
            },
            (_, Some(_)) => each(Quoted {
                at,
                c,
                quoting: Quoting::Double,
            })?,
            (_, None) => each(Quoted {
                at,
                c,
                quoting: Quoting::Bare,
            })?,
        }
    }
    match open {
        None => Ok(()),
        Some((_, at)) => Err(Denial::syntax(DenialKind::UnterminatedQuote, at)),
    }
}

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// Text to be taken as it is.
    Literal(String),
    /// A file name pattern. It is expanded inside the project when the command runs.
    Glob {
        /// The pattern; `\` stands before characters that were quoted.
        pattern: String,
        /// The text as typed, without quotes.
        text: String,
    },
}

impl Word {
    /// The text, whatever the word is.
    pub fn text(&self) -> &str {
        match self {
            Word::Literal(text) | Word::Glob { text, .. } => text,
        }
    }

    /// Whether it is a pattern.
    pub fn is_glob(&self) -> bool {
        matches!(self, Word::Glob { .. })
    }
}

/// Removes the quotes of one word.
pub(super) fn unquote(raw: &str) -> Result<Word> {
    let mut text = String::with_capacity(raw.len());
    let mut pattern = String::new();
    // The word with every character that is not live blotted out.
    let mut shape = String::with_capacity(raw.len());
    scan(raw, |Quoted { at, c, quoting }| {
        let bare = quoting == Quoting::Bare;
        if bare && c == '~' && at == 0 {
            return Err(Denial::syntax(DenialKind::Expansion, at).with_argument(raw));
        }
        if quoting != Quoting::Literal && expands(raw, at, quoting) {
            return Err(Denial::syntax(DenialKind::Expansion, at).with_argument(raw));
        }
        shape.push(if bare { c } else { 'x' });
        if !bare && matches!(c, '*' | '?' | '[' | ']' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
        text.push(c);
        Ok(())
    })?;
    if has_braces(&shape) {
        return Err(Denial::syntax(DenialKind::BraceExpansion, 0).with_argument(raw));
    }
    let has_set = shape
        .find('[')
        .is_some_and(|open| shape[open..].contains(']'));
    if has_set || shape.contains(['*', '?']) {
        return Ok(Word::Glob { pattern, text });
    }
    Ok(Word::Literal(text))
}

/// Whether a live `$` or backquote at this place begins something that a shell replaces. A `$` before a blank or the end is itself.
pub(super) fn expands(text: &str, at: usize, quoting: Quoting) -> bool {
    let mut rest = text[at..].chars();
    match rest.next() {
        Some('`') => true,
        Some('$') => match rest.next() {
            None => false,
            Some('\'' | '"') => quoting == Quoting::Bare,
            Some(next) => next.is_alphanumeric() || "_@*#?-$!({[".contains(next),
        },
        _ => false,
    }
}

/// `{a,b}` and `{1..3}` make several words; `{}` and `stash@{0}` are themselves.
fn has_braces(shape: &str) -> bool {
    shape.split('{').skip(1).any(|tail| {
        tail.split_once('}')
            .is_some_and(|(inner, _)| inner.contains(',') || inner.contains(".."))
    })
}
