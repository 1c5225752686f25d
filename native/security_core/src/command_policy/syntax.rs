//! A command line as a list of pipelines of simple commands, read by a real shell parser.
//!
//! Three steps, each refusing what it does not take, so that the next one sees less:
//! 1. a look at every live character: nothing that a shell would expand, nest, or read from elsewhere;
//! 2. the parser's tokens: no control structure, so the parser, which recurses on nesting, has nothing to recurse on;
//! 3. the parser's tree: simple commands, redirections, `|`, `&&`, `||`, `;` and nothing else.
//!
//! The line is never handed to a shell: what was understood here is what runs. A mistake of the parser can change what a line means, but not
//! run what was not judged.

use std::panic::{AssertUnwindSafe, catch_unwind};

use brush_parser::ast;
use brush_parser::{ParserOptions, SourceInfo, Token, TokenizerOptions};

use super::word::{self, Quoted, Quoting, Word};
use super::{Connector, Denial, DenialKind, Result};

/// The longest line taken.
pub const MAX_LINE_BYTES: usize = 32 * 1024;
const MAX_TOKENS: usize = 2048;
const MAX_COMMANDS: usize = 64;

/// A pipeline with how it is joined to the one before.
#[derive(Debug)]
pub(super) struct RawPipeline {
    pub connector: Connector,
    pub negated: bool,
    pub commands: Vec<RawCommand>,
}

/// A simple command.
#[derive(Debug)]
pub(super) struct RawCommand {
    pub assignments: Vec<(String, Word)>,
    pub words: Vec<Word>,
    pub redirections: Vec<RawRedirection>,
}

/// A redirection, before its target is judged.
#[derive(Debug)]
pub(super) struct RawRedirection {
    pub fd: Option<u32>,
    pub kind: RedirectionKind,
    pub target: Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RedirectionKind {
    Read,
    Write,
    Append,
    /// `2>&1`
    Duplicate,
    /// `&>` and `&>>`
    Both {
        append: bool,
    },
}

/// Words that begin a control structure or a shell's own statement where a command is expected.
const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "in", "select", "function", "time", "coproc", "{", "}", "[[", "]]",
];

/// Parses a line. No input makes it panic, and its work is linear in the line's length.
pub(super) fn parse(line: &str) -> Result<Vec<RawPipeline>> {
    look_at_characters(line)?;
    let tokens = quietly(|| brush_parser::uncached_tokenize_str(line, &TOKENIZER).ok())?;
    look_at_tokens(&tokens)?;
    let options = ParserOptions {
        enable_extended_globbing: false,
        posix_mode: false,
        sh_mode: false,
        tilde_expansion: false,
    };
    let program =
        quietly(|| brush_parser::parse_tokens(&tokens, &options, &SourceInfo::default()).ok())?;
    pipelines(program)
}

const TOKENIZER: TokenizerOptions = TokenizerOptions {
    enable_extended_globbing: false,
    posix_mode: false,
    sh_mode: false,
};

/// A line that the parser rejects, or stumbles over, is refused.
fn quietly<T>(parse: impl FnOnce() -> Option<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(parse))
        .ok()
        .flatten()
        .ok_or_else(|| Denial::new(DenialKind::SyntaxError))
}

fn look_at_characters(line: &str) -> Result<()> {
    if line.len() > MAX_LINE_BYTES {
        return Err(Denial::new(DenialKind::TooLong));
    }
    if let Some(at) = line
        .bytes()
        .position(|b| (b < 0x20 && b != b'\n' && b != b'\t') || b == 0x7f)
    {
        return Err(Denial::syntax(DenialKind::InvalidCharacters, at));
    }
    word::scan(line, |Quoted { at, c, quoting }| {
        let refuse = |kind| Err(Denial::syntax(kind, at));
        if quoting == Quoting::Literal {
            return Ok(());
        }
        if c == '`' || line[at..].starts_with("$(") {
            return refuse(DenialKind::Substitution);
        }
        if word::expands(line, at, quoting) {
            return refuse(DenialKind::Expansion);
        }
        if quoting == Quoting::Double {
            return Ok(());
        }
        match c {
            '(' if line[..at].ends_with(['<', '>']) => refuse(DenialKind::Substitution),
            '(' | ')' => refuse(DenialKind::Subshell),
            '<' if line[at..].starts_with("<<") => refuse(DenialKind::HereDocument),
            '#' if line[..at].is_empty()
                || line[..at].ends_with([' ', '\t', '\n', ';', '&', '|']) =>
            {
                refuse(DenialKind::Comment)
            }
            _ => Ok(()),
        }
    })
}

fn look_at_tokens(tokens: &[Token]) -> Result<()> {
    if tokens.len() > MAX_TOKENS {
        return Err(Denial::new(DenialKind::TooLong));
    }
    let mut expect_command = true;
    let mut expect_target = false;
    for (index, token) in tokens.iter().enumerate() {
        let is_target = std::mem::take(&mut expect_target);
        if let Token::Word(word, _) = token {
            // The parser reads digits before `<` or `>` as a descriptor, and overflows on long ones.
            let before_redirection = matches!(tokens.get(index + 1), Some(Token::Operator(next, _)) if next.starts_with(['<', '>']));
            if before_redirection && word.len() > 3 && word.bytes().all(|b| b.is_ascii_digit()) {
                return Err(Denial::new(DenialKind::RedirectionRefused).with_argument(word));
            }
        }
        match token {
            // Any word may name a file.
            Token::Word(..) if is_target => {}
            Token::Word(word, _) if expect_command && RESERVED.contains(&word.as_str()) => {
                return Err(Denial::new(DenialKind::ControlStructure).with_argument(word));
            }
            // `! command` is a pipeline; the word after it is still a command.
            Token::Word(word, _) if expect_command && word == "!" => {}
            Token::Word(..) => expect_command = false,
            Token::Operator(operator, _) => match operator.as_str() {
                "|" | "|&" | "&&" | "||" | ";" | "\n" => expect_command = true,
                "<" | ">" | ">>" | ">&" | "&>" | "&>>" | ">|" => expect_target = true,
                "<>" | "<&" => {
                    return Err(Denial::new(DenialKind::RedirectionRefused).with_argument(operator));
                }
                "&" => return Err(Denial::new(DenialKind::Background)),
                other => return Err(Denial::new(DenialKind::SyntaxError).with_argument(other)),
            },
        }
    }
    Ok(())
}

fn pipelines(program: ast::Program) -> Result<Vec<RawPipeline>> {
    let mut list = Vec::new();
    let mut commands = 0;
    for ast::CompoundListItem(and_or, separator) in program
        .complete_commands
        .into_iter()
        .flat_map(|list| list.0)
    {
        if matches!(separator, ast::SeparatorOperator::Async) {
            return Err(Denial::new(DenialKind::Background));
        }
        let first = (Connector::Always, and_or.first);
        let rest = and_or.additional.into_iter().map(|item| match item {
            ast::AndOr::And(pipeline) => (Connector::And, pipeline),
            ast::AndOr::Or(pipeline) => (Connector::Or, pipeline),
        });
        for (connector, pipeline) in std::iter::once(first).chain(rest) {
            if pipeline.timed.is_some() {
                return Err(Denial::new(DenialKind::ControlStructure).with_argument("time"));
            }
            commands += pipeline.seq.len();
            if commands > MAX_COMMANDS {
                return Err(Denial::new(DenialKind::TooManyCommands));
            }
            let commands = pipeline
                .seq
                .into_iter()
                .map(command)
                .collect::<Result<Vec<_>>>()?;
            if commands.is_empty() {
                return Err(Denial::new(DenialKind::EmptyCommand));
            }
            list.push(RawPipeline {
                connector,
                negated: pipeline.bang,
                commands,
            });
        }
    }
    if list.is_empty() {
        return Err(Denial::new(DenialKind::EmptyCommand));
    }
    Ok(list)
}

fn command(command: ast::Command) -> Result<RawCommand> {
    let simple = match command {
        ast::Command::Simple(simple) => simple,
        ast::Command::Function(_) => {
            return Err(Denial::new(DenialKind::ControlStructure).with_argument("function"));
        }
        ast::Command::Compound(..) | ast::Command::ExtendedTest(..) => {
            return Err(Denial::new(DenialKind::ControlStructure));
        }
    };
    let mut raw = RawCommand {
        assignments: Vec::new(),
        words: Vec::new(),
        redirections: Vec::new(),
    };
    for item in simple.prefix.into_iter().flat_map(|prefix| prefix.0) {
        match item {
            ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                let (name, value) = word
                    .value
                    .split_once('=')
                    .ok_or_else(|| Denial::new(DenialKind::Assignment))?;
                raw.assignments
                    .push((name.to_owned(), word::unquote(value)?));
            }
            item => push(&mut raw, item)?,
        }
    }
    if let Some(name) = simple.word_or_name {
        raw.words.push(word::unquote(&name.value)?);
    }
    for item in simple.suffix.into_iter().flat_map(|suffix| suffix.0) {
        push(&mut raw, item)?;
    }
    Ok(raw)
}

fn push(raw: &mut RawCommand, item: ast::CommandPrefixOrSuffixItem) -> Result<()> {
    use ast::CommandPrefixOrSuffixItem as Item;
    match item {
        // After the command's name, `a=b` is a plain argument.
        Item::Word(word) | Item::AssignmentWord(_, word) => {
            raw.words.push(word::unquote(&word.value)?)
        }
        Item::IoRedirect(redirect) => raw.redirections.push(redirection(redirect)?),
        Item::ProcessSubstitution(..) => return Err(Denial::new(DenialKind::Substitution)),
    }
    Ok(())
}

fn redirection(redirect: ast::IoRedirect) -> Result<RawRedirection> {
    use ast::IoFileRedirectKind as Kind;
    use ast::IoFileRedirectTarget as Target;
    match redirect {
        ast::IoRedirect::OutputAndError(word, append) => Ok(RawRedirection {
            fd: None,
            kind: RedirectionKind::Both { append },
            target: word::unquote(&word.value)?,
        }),
        ast::IoRedirect::File(fd, kind, target) => {
            let fd = fd.map(|fd| u32::try_from(fd).unwrap_or(u32::MAX));
            let kind = match kind {
                Kind::Read => RedirectionKind::Read,
                Kind::Write | Kind::Clobber => RedirectionKind::Write,
                Kind::Append => RedirectionKind::Append,
                Kind::DuplicateOutput => RedirectionKind::Duplicate,
                Kind::ReadAndWrite | Kind::DuplicateInput => {
                    return Err(Denial::new(DenialKind::RedirectionRefused));
                }
            };
            let target = match target {
                Target::Filename(word) | Target::Duplicate(word) => word::unquote(&word.value)?,
                Target::Fd(fd) => Word::Literal(fd.to_string()),
                Target::ProcessSubstitution(..) => {
                    return Err(Denial::new(DenialKind::Substitution));
                }
            };
            Ok(RawRedirection { fd, kind, target })
        }
        ast::IoRedirect::HereDocument(..) | ast::IoRedirect::HereString(..) => {
            Err(Denial::new(DenialKind::HereDocument))
        }
    }
}
