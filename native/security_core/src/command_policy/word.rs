//! Shell quoting: which characters of a line are live, and what a word says once its quotes are
//! gone.
//!
//! What a shell would expand is either expanded here, from what the line itself says, or refused.
//! So what is left has one meaning: text, a file name pattern, or text with the last exit code in
//! it.

use serde::{Deserialize, Serialize};

use super::braces;
use super::{Denial, DenialKind, List, Result};

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

/// A character with its place and quoting. Quote marks, and backslashes that quote, are not
/// reported.
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
        let mut report = |at, c, quoting| each(Quoted { at, c, quoting });
        match (c, open.map(|(quote, _)| quote)) {
            ('\'', None) | ('"', None) => open = Some((c, at)),
            ('\'', Some('\'')) | ('"', Some('"')) => open = None,
            (_, Some('\'')) => report(at, c, Quoting::Literal)?,
            ('\\', None) => match chars.next() {
                Some((_, '\n')) => {}
                Some((_, next)) => report(at, next, Quoting::Literal)?,
                None => return Err(Denial::syntax(DenialKind::UnterminatedQuote, at)),
            },
            ('\\', _) => match chars.peek().copied() {
                Some((_, '\n')) => {
                    chars.next();
                }
                Some((_, next @ ('$' | '`' | '"' | '\\'))) => {
                    chars.next();
                    report(at, next, Quoting::Literal)?;
                }
                _ => report(at, '\\', Quoting::Literal)?,
            },
            (_, Some(_)) => report(at, c, Quoting::Double)?,
            (_, None) => report(at, c, Quoting::Bare)?,
        }
    }
    match open {
        None => Ok(()),
        Some((_, at)) => Err(Denial::syntax(DenialKind::UnterminatedQuote, at)),
    }
}

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Text around the exit code of the last command (`$?`), which is put between the pieces when
    /// the command runs.
    Status {
        /// The text before, between and after.
        pieces: Vec<String>,
        /// The text with 0 for the exit code, as it was judged.
        text: String,
    },
}

impl Word {
    /// The text, whatever the word is.
    pub fn text(&self) -> &str {
        match self {
            Word::Literal(text) | Word::Glob { text, .. } | Word::Status { text, .. } => text,
        }
    }

    /// Whether it is a pattern.
    pub fn is_glob(&self) -> bool {
        matches!(self, Word::Glob { .. })
    }
}

/// What words are read with.
pub(super) struct Reader<'a> {
    pub list: List,
    /// The value of a variable, if the line tells it.
    pub value: &'a dyn Fn(&str) -> Option<String>,
    /// The variables whose values went into words, with these values.
    pub used: Vec<(String, String)>,
}

impl Reader<'_> {
    /// The words that one word of the line becomes.
    pub(super) fn words(&mut self, raw: &str) -> Result<Vec<Word>> {
        let alternatives = match self.list {
            List::Wide => braces::expand(raw)
                .ok_or_else(|| Denial::new(DenialKind::BraceExpansion).with_argument(raw))?,
            List::Narrow => vec![raw.to_owned()],
        };
        let mut words = Vec::with_capacity(alternatives.len());
        for alternative in alternatives {
            words.extend(self.word(&alternative, false)?);
        }
        Ok(words)
    }

    /// A word that stays one word: the value of an assignment, the target of a redirection.
    pub(super) fn one(&mut self, raw: &str) -> Result<Word> {
        Ok(self
            .word(raw, true)?
            .unwrap_or(Word::Literal(String::new())))
    }

    /// Removes the quotes of a word and puts in the values of its variables. None is a word of
    /// which nothing is left.
    fn word(&mut self, raw: &str, whole: bool) -> Result<Option<Word>> {
        let mut chars = Vec::with_capacity(raw.len());
        scan(raw, |quoted| {
            chars.push(quoted);
            Ok(())
        })?;
        let mut out = Pieces::default();
        let mut at = 0;
        while let Some(&quoted) = chars.get(at) {
            at += 1;
            let refuse = |kind| Err(Denial::syntax(kind, quoted.at).with_argument(raw));
            match quoted {
                Quoted {
                    c: '~',
                    quoting: Quoting::Bare,
                    at: place,
                } if place == 0
                    || self.list == List::Wide && raw[..place].ends_with(['=', ':']) =>
                {
                    return refuse(DenialKind::Expansion);
                }
                Quoted {
                    c: '`' | '$',
                    quoting,
                    at: place,
                } if quoting != Quoting::Literal && expands(raw, place, quoting) => {
                    if self.list == List::Narrow {
                        return refuse(DenialKind::Expansion);
                    }
                    at = self.variable(raw, &chars, at - 1, whole, &mut out)?;
                }
                Quoted { c, quoting, .. } => out.push(c, quoting),
            }
        }
        if self.list == List::Narrow && has_braces(&out.shape) {
            return Err(Denial::syntax(DenialKind::BraceExpansion, 0).with_argument(raw));
        }
        let vanishes =
            !whole && out.is_empty() && !raw.contains(['\'', '"', '\\']) && !raw.is_empty();
        if vanishes {
            Ok(None)
        } else {
            out.finish(raw).map(Some)
        }
    }

    /// Puts in what stands for the `$` at this place, and answers the place behind it.
    fn variable(
        &mut self,
        raw: &str,
        chars: &[Quoted],
        at: usize,
        whole: bool,
        out: &mut Pieces,
    ) -> Result<usize> {
        let quoting = chars[at].quoting;
        let refuse = |kind| Err(Denial::syntax(kind, chars[at].at).with_argument(raw));
        // The characters behind it that no quote mark separates from it.
        let behind = || {
            let together = chars[at..].windows(2).take_while(|pair| {
                pair[1].quoting == quoting && pair[1].at == pair[0].at + pair[0].c.len_utf8()
            });
            together.map(|pair| pair[1].c)
        };
        let braced = behind().next() == Some('{');
        let is_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        let name: String = behind()
            .skip(usize::from(braced))
            .take_while(is_name)
            .collect();
        let mut next = at + 1 + usize::from(braced) + name.len();
        let end = behind().nth(name.len() + usize::from(braced));
        if name.is_empty() && end == Some('?') && (!braced || behind().nth(2) == Some('}')) {
            out.status();
            return Ok(next + 1 + usize::from(braced));
        }
        if name.is_empty() || !super::names::is_variable(&name) || braced && end != Some('}') {
            return refuse(DenialKind::Expansion);
        }
        next += usize::from(braced);
        let Some(value) = (self.value)(&name) else {
            return refuse(DenialKind::UnknownVariable);
        };
        if quoting == Quoting::Bare
            && !whole
            && value.contains([' ', '\t', '\n', '*', '?', '[', '\\'])
        {
            return refuse(DenialKind::UnquotedVariable);
        }
        for c in value.chars() {
            out.push(c, Quoting::Literal);
        }
        self.used.push((name, value));
        Ok(next)
    }
}

/// A word as it grows.
#[derive(Default)]
struct Pieces {
    /// Text between exit codes; the last one grows.
    done: Vec<String>,
    text: String,
    pattern: String,
    /// The word with every character that is not live blotted out.
    shape: String,
}

impl Pieces {
    fn push(&mut self, c: char, quoting: Quoting) {
        let bare = quoting == Quoting::Bare;
        self.shape.push(if bare { c } else { 'x' });
        if !bare && matches!(c, '*' | '?' | '[' | ']' | '\\') {
            self.pattern.push('\\');
        }
        self.pattern.push(c);
        self.text.push(c);
    }

    fn status(&mut self) {
        self.done.push(std::mem::take(&mut self.text));
        self.shape.push('x');
    }

    fn is_empty(&self) -> bool {
        self.done.is_empty() && self.text.is_empty()
    }

    fn finish(self, raw: &str) -> Result<Word> {
        let has_set = self
            .shape
            .find('[')
            .is_some_and(|open| self.shape[open..].contains(']'));
        let is_glob = has_set || self.shape.contains(['*', '?']);
        if self.done.is_empty() {
            return Ok(if is_glob {
                Word::Glob {
                    pattern: self.pattern,
                    text: self.text,
                }
            } else {
                Word::Literal(self.text)
            });
        }
        if is_glob {
            return Err(Denial::new(DenialKind::GlobNotAllowed).with_argument(raw));
        }
        let mut pieces = self.done;
        pieces.push(self.text);
        let text = pieces.join("0");
        Ok(Word::Status { pieces, text })
    }
}

/// Whether a live `$` or backquote at this place begins something that a shell replaces. A `$`
/// before a blank or the end is itself.
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
