//! The first look at a line, character by character, before any parser sees it.
//!
//! Three things happen here, so that nothing behind has to know of them:
//! 1. what a shell would compute, nest deeply or read from elsewhere is refused;
//! 2. the texts of here-documents are taken out, each leaving a redirection from a name that no
//!    line can hold;
//! 3. comments and continued lines go.

use super::syntax::MAX_LINE_BYTES;
use super::word;
use super::word::Quoting;
use super::{Denial, DenialKind, List, Result};

/// What stands before the number of a here-document in the prepared text. Lines that hold control
/// characters are refused.
pub(super) const HERE: char = '\u{1}';
const MAX_DEPTH: usize = 8;

/// A line ready for the parser.
pub(super) struct Prepared {
    pub text: String,
    /// The here-documents, by number.
    pub documents: Vec<String>,
}

/// A here-document whose text begins behind the end of the line.
struct Awaited {
    end: String,
    /// `<<-`: tabs at the start of its lines go.
    indented: bool,
    quoted: bool,
}

struct Preparer<'a> {
    line: &'a str,
    list: List,
    at: usize,
    text: String,
    documents: Vec<String>,
    awaited: Vec<Awaited>,
    depth: usize,
    quote: Option<(char, usize)>,
}

pub(super) fn prepare(line: &str, list: List) -> Result<Prepared> {
    if line.len() > MAX_LINE_BYTES {
        return Err(Denial::new(DenialKind::TooLong));
    }
    let is_control = |b: u8| (b < 0x20 && b != b'\n' && b != b'\t') || b == 0x7f;
    if let Some(at) = line.bytes().position(is_control) {
        return Err(Denial::syntax(DenialKind::InvalidCharacters, at));
    }
    let mut preparer = Preparer {
        line,
        list,
        at: 0,
        text: String::with_capacity(line.len()),
        documents: Vec::new(),
        awaited: Vec::new(),
        depth: 0,
        quote: None,
    };
    while let Some(c) = line[preparer.at..].chars().next() {
        preparer.take(c)?;
    }
    if let Some((_, at)) = preparer.quote {
        return Err(Denial::syntax(DenialKind::UnterminatedQuote, at));
    }
    if !preparer.awaited.is_empty() {
        return Err(Denial::new(DenialKind::HereDocumentUnquoted));
    }
    Ok(Prepared {
        text: preparer.text,
        documents: preparer.documents,
    })
}

impl Preparer<'_> {
    fn rest(&self) -> &str {
        &self.line[self.at..]
    }

    fn refuse<T>(&self, kind: DenialKind) -> Result<T> {
        Err(Denial::syntax(kind, self.at))
    }

    fn copy(&mut self, bytes: usize) {
        self.text.push_str(&self.line[self.at..self.at + bytes]);
        self.at += bytes;
    }

    fn take(&mut self, c: char) -> Result<()> {
        let width = c.len_utf8();
        match (c, self.quote.map(|(quote, _)| quote)) {
            ('\'', Some('\'')) | ('"', Some('"')) => self.quote = None,
            (_, Some('\'')) => {}
            ('\\', _) => return self.backslash(),
            ('$' | '`', quote) => self.dollar(quote)?,
            (_, Some(_)) => {}
            ('\'' | '"', None) => self.quote = Some((c, self.at)),
            _ => return self.bare(c),
        }
        self.copy(width);
        Ok(())
    }

    /// A backslash outside single quotes: with a line break behind it, both go.
    fn backslash(&mut self) -> Result<()> {
        match self.rest()[1..].chars().next() {
            Some('\n') => self.at += 2,
            Some(next) => self.copy(1 + next.len_utf8()),
            None => return self.refuse(DenialKind::UnterminatedQuote),
        }
        Ok(())
    }

    fn dollar(&self, quote: Option<char>) -> Result<()> {
        let rest = self.rest();
        // A line break that a backslash takes away would bring `$` and `(` together.
        if rest.starts_with(['`']) || rest.starts_with("$(") || rest.starts_with("$\\\n") {
            return self.refuse(DenialKind::Substitution);
        }
        let quoting = if quote.is_some() {
            Quoting::Double
        } else {
            Quoting::Bare
        };
        if self.list == List::Narrow && word::expands(self.line, self.at, quoting) {
            return self.refuse(DenialKind::Expansion);
        }
        // `${NAME}` and nothing more, so that a brace never hides what stands behind it.
        if let Some(inner) = rest.strip_prefix("${") {
            let name = inner.split('}').next().unwrap_or("");
            let plain = name == "?" || super::names::is_variable(name);
            if !plain || name.len() == inner.len() {
                return self.refuse(DenialKind::Expansion);
            }
        }
        Ok(())
    }

    fn bare(&mut self, c: char) -> Result<()> {
        let before = self.text.chars().next_back();
        let begins_word = before.is_none_or(|b| " \t\n;&|()<>".contains(b));
        match c {
            '(' if before.is_some_and(|b| "<>".contains(b)) => {
                return self.refuse(DenialKind::Substitution);
            }
            '(' | ')' if self.list == List::Narrow => return self.refuse(DenialKind::Subshell),
            '(' => {
                self.depth += 1;
                // `name()`, `((1 + 1))`, `a=(b)` and `@(a|b)` are other things than a group.
                if !begins_word || before == Some('(') || self.depth > MAX_DEPTH {
                    return self.refuse(DenialKind::ControlStructure);
                }
            }
            ')' => self.depth = self.depth.saturating_sub(1),
            '<' if self.rest().starts_with("<<") => return self.here(),
            '#' if begins_word => return self.comment(),
            '\n' if !self.awaited.is_empty() => return self.bodies(),
            _ => {}
        }
        self.copy(c.len_utf8());
        Ok(())
    }

    fn comment(&mut self) -> Result<()> {
        if self.list == List::Narrow {
            return self.refuse(DenialKind::Comment);
        }
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        Ok(())
    }

    fn here(&mut self) -> Result<()> {
        if self.list == List::Narrow {
            return self.refuse(DenialKind::HereDocument);
        }
        if self.rest().starts_with("<<<") {
            self.copy(3);
            return Ok(());
        }
        let indented = self.rest().starts_with("<<-");
        self.at += if indented { 3 } else { 2 };
        let blanks = self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        self.at += blanks;
        let (raw, width) = self.delimiter();
        let mut end = String::new();
        word::scan(&raw, |quoted| {
            end.push(quoted.c);
            Ok(())
        })?;
        let quoted = raw.contains(['\'', '"', '\\']);
        if raw.is_empty() || end.contains(['\n', '$', '`']) {
            return self.refuse(DenialKind::HereDocumentUnquoted);
        }
        self.at += width;
        let number = self.documents.len() + self.awaited.len();
        self.text.push_str(&format!("< {HERE}{number}"));
        self.awaited.push(Awaited {
            end,
            indented,
            quoted,
        });
        Ok(())
    }

    /// The word behind `<<`, as typed.
    fn delimiter(&self) -> (String, usize) {
        let mut open = None;
        let mut escaped = false;
        let rest = self.rest();
        let width = rest.find(|c: char| {
            if escaped {
                escaped = false;
                return false;
            }
            match (c, open) {
                ('\\', None) => escaped = true,
                ('\'' | '"', None) => open = Some(c),
                (c, Some(quote)) if c == quote => open = None,
                (c, None) => return " \t\n;&|<>()".contains(c),
                _ => {}
            }
            false
        });
        let width = width.unwrap_or(rest.len());
        (rest[..width].to_owned(), width)
    }

    /// Takes the texts that were awaited; the line break before them stays.
    fn bodies(&mut self) -> Result<()> {
        self.copy(1);
        for awaited in std::mem::take(&mut self.awaited) {
            let mut document = String::new();
            loop {
                let rest = self.rest();
                if rest.is_empty() {
                    return self.refuse(DenialKind::HereDocumentUnquoted);
                }
                let line = rest.split('\n').next().unwrap_or(rest);
                let width = (line.len() + 1).min(rest.len());
                let line = if awaited.indented {
                    line.trim_start_matches('\t')
                } else {
                    line
                };
                let is_end = line == awaited.end;
                if !is_end && !awaited.quoted && is_live(line) {
                    return self.refuse(DenialKind::HereDocumentUnquoted);
                }
                if !is_end {
                    document.push_str(line);
                    document.push('\n');
                }
                self.at += width;
                if is_end {
                    break;
                }
            }
            self.documents.push(document);
        }
        Ok(())
    }
}

/// Whether a line of a here-document holds something that a shell would replace.
fn is_live(line: &str) -> bool {
    let expands = |(at, _)| word::expands(line, at, Quoting::Double);
    line.contains('`')
        || line.match_indices('$').any(expands)
        || ["\\$", "\\\\", "\\`"]
            .iter()
            .any(|live| line.contains(live))
        || line.ends_with('\\')
}
