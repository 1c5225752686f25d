//! A command line as a tree of pipelines, read by a real shell parser.
//!
//! Three steps, each refusing what it does not take, so that the next one sees less:
//! 1. a look at every character ([`prepare`](super::prepare));
//! 2. the parser's tokens: no control structure, and groups not deeper than a few, so that the
//!    parser, which recurses on nesting, can't run away;
//! 3. the parser's tree: simple commands, groups, redirections, `|`, `&&`, `||`, `;` and nothing
//!    else.
//!
//! The line is never handed to a shell: what was understood here is what runs. A mistake of the
//! parser can change what a line means, but not run what was not judged. Words keep their quotes
//! here: what they mean depends on variables, which only the judge knows.

use std::panic::{AssertUnwindSafe, catch_unwind};

use brush_parser::ast;
use brush_parser::{ParserOptions, SourceInfo, Token, TokenizerOptions};

use super::prepare::{HERE, prepare};
use super::{Connector, Denial, DenialKind, List, Result};

/// The longest line taken.
pub const MAX_LINE_BYTES: usize = 32 * 1024;
const MAX_TOKENS: usize = 2048;
const MAX_COMMANDS: usize = 64;
const MAX_BRACES: usize = 8;

/// A pipeline with how it is joined to the one before.
#[derive(Debug)]
pub(super) struct RawPipeline {
    pub connector: Connector,
    pub negated: bool,
    pub timed: bool,
    pub stages: Vec<RawStage>,
}

/// A part of a pipeline.
#[derive(Debug)]
pub(super) enum RawStage {
    Simple(RawCommand),
    Group {
        list: Vec<RawPipeline>,
        subshell: bool,
        redirections: Vec<RawRedirection>,
    },
}

/// A simple command.
#[derive(Debug, Default)]
pub(super) struct RawCommand {
    pub assignments: Vec<(String, String)>,
    pub words: Vec<String>,
    pub redirections: Vec<RawRedirection>,
}

/// A redirection, before its target is judged.
#[derive(Debug)]
pub(super) struct RawRedirection {
    pub fd: Option<u32>,
    pub kind: RedirectionKind,
    pub target: String,
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
    /// `<<`: the target is the text.
    Document,
    /// `<<<`
    Text,
}

/// Words that begin or continue a control structure where a command is expected.
const CONTROL: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "in", "select", "function", "coproc", "[[", "]]",
];

/// Words that are a shell's own where a command is expected, and that the wide list takes.
const GROUPING: &[&str] = &["{", "}", "time", "!"];

/// Parses a line. No input makes it panic, and its work is linear in the line's length.
pub(super) fn parse(line: &str, list: List) -> Result<Vec<RawPipeline>> {
    let prepared = prepare(line, list)?;
    let tokens = quietly(|| brush_parser::uncached_tokenize_str(&prepared.text, &TOKENIZER).ok())?;
    look_at_tokens(&tokens, list)?;
    let options = ParserOptions {
        enable_extended_globbing: false,
        posix_mode: false,
        sh_mode: false,
        tilde_expansion: false,
    };
    let program =
        quietly(|| brush_parser::parse_tokens(&tokens, &options, &SourceInfo::default()).ok())?;
    let mut reader = Reader {
        documents: &prepared.documents,
        commands: 0,
    };
    let mut pipelines = Vec::new();
    for complete in program.complete_commands {
        pipelines.extend(reader.list(complete)?);
    }
    if pipelines.is_empty() {
        return Err(Denial::new(DenialKind::EmptyCommand));
    }
    Ok(pipelines)
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

fn look_at_tokens(tokens: &[Token], list: List) -> Result<()> {
    if tokens.len() > MAX_TOKENS {
        return Err(Denial::new(DenialKind::TooLong));
    }
    let mut expect_command = true;
    let mut expect_target = false;
    let mut braces = 0;
    for (index, token) in tokens.iter().enumerate() {
        let is_target = std::mem::take(&mut expect_target);
        match token {
            Token::Word(word, _) => {
                look_at_digits(word, tokens.get(index + 1))?;
                // Any word may name a file.
                if !is_target && expect_command {
                    expect_command = look_at_first_word(word, list, &mut braces)?;
                }
            }
            Token::Operator(operator, _) => match operator.as_str() {
                "|" | "|&" | "&&" | "||" | ";" | "\n" | "(" => expect_command = true,
                ")" => {}
                "<" | ">" | ">>" | ">&" | "&>" | "&>>" | ">|" | "<<<" => expect_target = true,
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

/// The parser reads digits before `<` or `>` as a descriptor, and overflows on long ones.
fn look_at_digits(word: &str, next: Option<&Token>) -> Result<()> {
    let is_number = word.len() > 3 && word.bytes().all(|b| b.is_ascii_digit());
    match next {
        Some(Token::Operator(next, _)) if is_number && next.starts_with(['<', '>']) => {
            Err(Denial::new(DenialKind::RedirectionRefused).with_argument(word))
        }
        _ => Ok(()),
    }
}

/// A word where a command is expected; answers whether one is expected still.
fn look_at_first_word(word: &str, list: List, braces: &mut usize) -> Result<bool> {
    let refuse = |kind| Err(Denial::new(kind).with_argument(word));
    if CONTROL.contains(&word) {
        return refuse(DenialKind::ControlStructure);
    }
    if !GROUPING.contains(&word) {
        return Ok(false);
    }
    match (list, word) {
        (List::Narrow, "!") => refuse(DenialKind::Negation),
        (List::Narrow, _) => refuse(DenialKind::ControlStructure),
        (List::Wide, "{") => {
            *braces += 1;
            if *braces > MAX_BRACES {
                refuse(DenialKind::TooLong)
            } else {
                Ok(true)
            }
        }
        (List::Wide, "}") => Ok(false),
        (List::Wide, _) => Ok(true),
    }
}

struct Reader<'a> {
    documents: &'a [String],
    commands: usize,
}

impl Reader<'_> {
    fn list(&mut self, list: ast::CompoundList) -> Result<Vec<RawPipeline>> {
        let mut pipelines = Vec::new();
        for ast::CompoundListItem(and_or, separator) in list.0 {
            if matches!(separator, ast::SeparatorOperator::Async) {
                return Err(Denial::new(DenialKind::Background));
            }
            pipelines.push(self.pipeline(Connector::Always, and_or.first)?);
            for item in and_or.additional {
                let (connector, pipeline) = match item {
                    ast::AndOr::And(pipeline) => (Connector::And, pipeline),
                    ast::AndOr::Or(pipeline) => (Connector::Or, pipeline),
                };
                pipelines.push(self.pipeline(connector, pipeline)?);
            }
        }
        Ok(pipelines)
    }

    fn pipeline(&mut self, connector: Connector, pipeline: ast::Pipeline) -> Result<RawPipeline> {
        self.commands += pipeline.seq.len();
        if self.commands > MAX_COMMANDS {
            return Err(Denial::new(DenialKind::TooManyCommands));
        }
        let stages = pipeline
            .seq
            .into_iter()
            .map(|command| self.stage(command))
            .collect::<Result<Vec<_>>>()?;
        if stages.is_empty() {
            return Err(Denial::new(DenialKind::EmptyCommand));
        }
        Ok(RawPipeline {
            connector,
            negated: pipeline.bang,
            timed: pipeline.timed.is_some(),
            stages,
        })
    }

    fn stage(&mut self, command: ast::Command) -> Result<RawStage> {
        let refuse = |what| Err(Denial::new(DenialKind::ControlStructure).with_argument(what));
        let (compound, redirections) = match command {
            ast::Command::Simple(simple) => return self.command(simple).map(RawStage::Simple),
            ast::Command::Function(_) => return refuse("function"),
            ast::Command::ExtendedTest(..) => return refuse("[["),
            ast::Command::Compound(compound, redirections) => (compound, redirections),
        };
        let (list, subshell) = match compound {
            ast::CompoundCommand::Subshell(group) => (group.list, true),
            ast::CompoundCommand::BraceGroup(group) => (group.list, false),
            ast::CompoundCommand::Arithmetic(_) => return refuse("(("),
            _ => return refuse("loop"),
        };
        let redirections = redirections.into_iter().flat_map(|list| list.0);
        Ok(RawStage::Group {
            redirections: redirections
                .map(|r| self.redirection(r))
                .collect::<Result<_>>()?,
            list: self.list(list)?,
            subshell,
        })
    }

    fn command(&self, simple: ast::SimpleCommand) -> Result<RawCommand> {
        let mut raw = RawCommand::default();
        for item in simple.prefix.into_iter().flat_map(|prefix| prefix.0) {
            match item {
                ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                    let (name, value) = word
                        .value
                        .split_once('=')
                        .ok_or_else(|| Denial::new(DenialKind::Assignment))?;
                    raw.assignments.push((name.to_owned(), value.to_owned()));
                }
                item => self.push(&mut raw, item)?,
            }
        }
        raw.words.extend(simple.word_or_name.map(|name| name.value));
        for item in simple.suffix.into_iter().flat_map(|suffix| suffix.0) {
            self.push(&mut raw, item)?;
        }
        Ok(raw)
    }

    fn push(&self, raw: &mut RawCommand, item: ast::CommandPrefixOrSuffixItem) -> Result<()> {
        use ast::CommandPrefixOrSuffixItem as Item;
        match item {
            // After the command's name, `a=b` is a plain argument.
            Item::Word(word) | Item::AssignmentWord(_, word) => raw.words.push(word.value),
            Item::IoRedirect(redirect) => raw.redirections.push(self.redirection(redirect)?),
            Item::ProcessSubstitution(..) => {
                return Err(Denial::new(DenialKind::Substitution));
            }
        }
        Ok(())
    }

    fn redirection(&self, redirect: ast::IoRedirect) -> Result<RawRedirection> {
        use ast::{IoFileRedirectKind as Kind, IoFileRedirectTarget as Target};
        let number = |fd: Option<i32>| fd.map(|fd| u32::try_from(fd).unwrap_or(u32::MAX));
        let (fd, kind, target) = match redirect {
            ast::IoRedirect::OutputAndError(word, append) => {
                (None, RedirectionKind::Both { append }, word.value)
            }
            ast::IoRedirect::File(fd, kind, target) => {
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
                    Target::Filename(word) | Target::Duplicate(word) => word.value,
                    Target::Fd(fd) => fd.to_string(),
                    Target::ProcessSubstitution(..) => {
                        return Err(Denial::new(DenialKind::Substitution));
                    }
                };
                (number(fd), kind, target)
            }
            ast::IoRedirect::HereString(fd, word) => {
                (number(fd), RedirectionKind::Text, word.value)
            }
            // Here-documents were taken out before.
            ast::IoRedirect::HereDocument(..) => return Err(Denial::new(DenialKind::SyntaxError)),
        };
        match target.strip_prefix(HERE) {
            None => Ok(RawRedirection { fd, kind, target }),
            Some(number) => {
                let document = number
                    .parse()
                    .ok()
                    .and_then(|n: usize| self.documents.get(n));
                let target = document.ok_or_else(|| Denial::new(DenialKind::SyntaxError))?;
                Ok(RawRedirection {
                    fd,
                    kind: RedirectionKind::Document,
                    target: target.clone(),
                })
            }
        }
    }
}
