//! From a parsed line to a plan: in the order of the line, with the folder and the variables that a
//! shell would have at each command.
//!
//! What a command's success decides is not known here, so the line is followed as if each `&&` went
//! on and each `||` did not. The runner compares: a command whose folder or variables are not those
//! it was judged with is not run.

use std::collections::BTreeMap;

use super::grammar::PathMode;
use super::syntax::{RawCommand, RawPipeline, RawRedirection, RawStage, RedirectionKind};
use super::value::{check_path, join};
use super::word::{Reader, Word};
use super::{
    CommandPolicy, Connector, Denial, DenialKind, List, Place, Reason, Redirection, Result, Stage,
    Statement, Step, Target, names,
};
use crate::path_boundary::lexical;

/// The folder and the variables at one place of the line.
#[derive(Clone)]
struct State {
    cwd: String,
    /// Values, and whether commands get them.
    variables: BTreeMap<String, (String, bool)>,
}

pub(super) struct Judge<'a> {
    policy: &'a CommandPolicy,
    place: Place<'a>,
    state: State,
}

impl<'a> Judge<'a> {
    pub(super) fn new(policy: &'a CommandPolicy, place: Place<'a>) -> Self {
        let state = State {
            cwd: place.cwd.to_owned(),
            variables: BTreeMap::new(),
        };
        Judge {
            policy,
            place,
            state,
        }
    }

    pub(super) fn steps(&mut self, list: Vec<RawPipeline>) -> Result<Vec<Step>> {
        list.into_iter()
            .map(|pipeline| self.step(pipeline))
            .collect()
    }

    fn step(&mut self, pipeline: RawPipeline) -> Result<Step> {
        let before = self.state.clone();
        let alone = pipeline.stages.len() == 1;
        let mut stages = Vec::with_capacity(pipeline.stages.len());
        for stage in pipeline.stages {
            stages.push(self.stage(stage)?);
            if !alone {
                // Each part of a pipeline is a shell of its own.
                self.state = before.clone();
            }
        }
        if pipeline.connector == Connector::Or {
            self.state = before;
        }
        Ok(Step {
            connector: pipeline.connector,
            negated: pipeline.negated,
            timed: pipeline.timed,
            stages,
        })
    }

    fn stage(&mut self, stage: RawStage) -> Result<Stage> {
        match stage {
            RawStage::Simple(raw) => self.simple(raw),
            RawStage::Group {
                list,
                subshell,
                redirections,
            } => {
                let redirections = self.redirections(&redirections, None)?;
                let before = self.state.clone();
                let steps = self.steps(list)?;
                if subshell {
                    self.state = before;
                }
                Ok(Stage::Group {
                    steps,
                    subshell,
                    redirections,
                })
            }
        }
    }

    fn simple(&mut self, raw: RawCommand) -> Result<Stage> {
        let wide = self.place.list == List::Wide;
        let mut used = Vec::new();
        let mut words = Vec::with_capacity(raw.words.len());
        for word in &raw.words {
            words.extend(self.read(&mut used, |reader| reader.words(word))?);
        }
        let redirections = self.redirections(&raw.redirections, Some(&mut used))?;
        let name = match words.first() {
            None => None,
            Some(Word::Literal(name)) => Some(name.clone()),
            Some(word) => {
                return Err(Denial::new(DenialKind::GlobNotAllowed)
                    .with_argument(word.text())
                    .at(0));
            }
        };
        let mut assignments = self.assignments(&raw, name.as_deref(), &mut used)?;
        let statements = match &name {
            None => Some(self.no_command(std::mem::take(&mut assignments), &redirections)?),
            Some(name) if wide => self.statements(name, &raw, &words, &mut used)?,
            Some(_) => None,
        };
        if let Some(statements) = statements {
            if !assignments.is_empty() {
                return Err(Denial::new(DenialKind::Assignment).with_argument(&assignments[0].0));
            }
            let assumed = used
                .into_iter()
                .map(|(name, value)| Statement::Assume { name, value });
            let statements = assumed.chain(statements).collect();
            return Ok(Stage::Statement {
                statements,
                redirections,
            });
        }
        let mix_env = assignments.iter().rev().find(|(name, _)| name == "MIX_ENV");
        let exported = self
            .state
            .variables
            .get("MIX_ENV")
            .filter(|(_, export)| *export);
        let mix_env = mix_env
            .map(|(_, value)| value)
            .or(exported.map(|(value, _)| value))
            .cloned();
        let place = Place {
            cwd: &self.state.cwd,
            ..self.place
        };
        let matched = self
            .policy
            .judge_words(&words, mix_env.as_deref(), place, 0)?;
        let mut command = matched.command;
        let own = std::mem::take(&mut command.env);
        let given = assignments
            .drain(..)
            .map(|(name, value)| (name, Some(value)));
        command.env = given.chain(own).collect();
        command.redirections = redirections;
        command.assumes = used;
        Ok(Stage::Program(Box::new(command)))
    }

    fn read<T>(
        &self,
        used: &mut Vec<(String, String)>,
        read: impl FnOnce(&mut Reader<'_>) -> Result<T>,
    ) -> Result<T> {
        let value = |name: &str| self.value(name);
        let mut reader = Reader {
            list: self.place.list,
            value: &value,
            used: Vec::new(),
        };
        let words = read(&mut reader)?;
        // The folder is compared as a whole.
        used.extend(reader.used.into_iter().filter(|(name, _)| name != "PWD"));
        Ok(words)
    }

    fn value(&self, name: &str) -> Option<String> {
        match self.state.variables.get(name) {
            Some((value, _)) => Some(value.clone()),
            None if name == "PWD" => {
                let root = self.place.root?;
                Some(join(root, &self.state.cwd).trim_end_matches('/').to_owned())
            }
            None => None,
        }
    }

    fn literal(&self, raw: &str, used: &mut Vec<(String, String)>) -> Result<String> {
        match self.read(used, |reader| reader.one(raw))? {
            Word::Literal(text) => Ok(text),
            // A pattern is not expanded where no list of words may stand.
            Word::Glob { text, .. } if self.place.list == List::Wide => Ok(text),
            word => Err(Denial::new(DenialKind::Assignment).with_argument(word.text())),
        }
    }

    /// `NAME=value` before a command. The narrow list takes Mix's environment alone, since the
    /// policy has a say in it.
    fn assignments(
        &self,
        raw: &RawCommand,
        name: Option<&str>,
        used: &mut Vec<(String, String)>,
    ) -> Result<Vec<(String, String)>> {
        let mut assignments = Vec::with_capacity(raw.assignments.len());
        for (variable, value) in &raw.assignments {
            if self.place.list == List::Narrow && !(variable == "MIX_ENV" && name == Some("mix")) {
                return Err(Denial::new(DenialKind::Assignment)
                    .with_argument(variable)
                    .allowing(["MIX_ENV=dev mix", "MIX_ENV=test mix"]));
            }
            // `NAME+=value` and `NAME[0]=value` mean something else.
            if !names::is_variable(variable) {
                return Err(Denial::new(DenialKind::Assignment).with_argument(variable));
            }
            let value = self.literal(value, used)?;
            self.policy.check_variable(variable, Some(&value))?;
            assignments.push((variable.clone(), value));
        }
        Ok(assignments)
    }

    /// A line without a command: variables, or redirections alone.
    fn no_command(
        &mut self,
        assignments: Vec<(String, String)>,
        redirections: &[Redirection],
    ) -> Result<Vec<Statement>> {
        if self.place.list == List::Narrow || assignments.is_empty() && redirections.is_empty() {
            return Err(Denial::new(DenialKind::EmptyCommand));
        }
        let mut statements = Vec::with_capacity(assignments.len());
        for (name, value) in assignments {
            self.set(&name, Some(value.clone()), false);
            statements.push(Statement::Set {
                name,
                value: Some(value),
                export: false,
            });
        }
        Ok(statements)
    }

    fn set(&mut self, name: &str, value: Option<String>, export: bool) {
        match (self.state.variables.get_mut(name), value) {
            (Some((old, exported)), value) => {
                *exported |= export;
                if let Some(value) = value {
                    *old = value;
                }
            }
            (None, Some(value)) => {
                self.state
                    .variables
                    .insert(name.to_owned(), (value, export));
            }
            (None, None) => {}
        }
    }

    /// What the shell itself would do; none for a program.
    fn statements(
        &mut self,
        name: &str,
        raw: &RawCommand,
        words: &[Word],
        used: &mut Vec<(String, String)>,
    ) -> Result<Option<Vec<Statement>>> {
        let refuse = |at: usize| {
            let argument = words.get(at).map_or("", Word::text);
            Err(Denial::new(DenialKind::UnexpectedArgument)
                .with_argument(argument)
                .at(at)
                .of_command(name))
        };
        let statements = match name {
            ":" => vec![Statement::Nothing],
            "cd" => vec![self.change_folder(words)?],
            "exit" => {
                let code = match words.get(1) {
                    None => None,
                    // `exit $?` is what it does anyway.
                    Some(Word::Status { pieces, .. })
                        if pieces.iter().all(String::is_empty) && pieces.len() == 2 =>
                    {
                        None
                    }
                    Some(Word::Literal(code)) => match code.parse() {
                        Ok(code) => Some(code),
                        Err(_) => return refuse(1),
                    },
                    Some(_) => return refuse(1),
                };
                if words.len() > 2 {
                    return refuse(2);
                }
                vec![Statement::Exit { code }]
            }
            "export" => self.export(raw, used)?,
            "unset" => {
                let mut statements = Vec::new();
                for (at, word) in words.iter().enumerate().skip(1) {
                    let name = word.text();
                    if !names::is_variable(name) {
                        return refuse(at);
                    }
                    self.policy.check_variable(name, None)?;
                    self.state.variables.remove(name);
                    statements.push(Statement::Unset {
                        name: name.to_owned(),
                    });
                }
                statements
            }
            _ => return Ok(None),
        };
        Ok(Some(statements))
    }

    /// The words are read anew: as in a shell, the value of an assignment is not split.
    fn export(
        &mut self,
        raw: &RawCommand,
        used: &mut Vec<(String, String)>,
    ) -> Result<Vec<Statement>> {
        let mut statements = Vec::new();
        for word in raw.words.iter().skip(1) {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(self.literal(value, used)?)),
                None => (word.as_str(), None),
            };
            if !names::is_variable(name) {
                return Err(Denial::new(DenialKind::UnexpectedArgument)
                    .with_argument(word)
                    .of_command("export"));
            }
            self.policy.check_variable(name, value.as_deref())?;
            self.set(name, value.clone(), true);
            statements.push(Statement::Set {
                name: name.to_owned(),
                value,
                export: true,
            });
        }
        if statements.is_empty() {
            return Err(Denial::new(DenialKind::MissingArgument).of_command("export"));
        }
        Ok(statements)
    }

    fn change_folder(&mut self, words: &[Word]) -> Result<Statement> {
        let [_, Word::Literal(folder)] = words else {
            return Err(Denial::new(DenialKind::BuiltinBlocked)
                .with_argument("cd")
                .because(Reason::LeavesProject));
        };
        if folder.starts_with('-') || folder.is_empty() {
            return Err(Denial::new(DenialKind::BuiltinBlocked)
                .with_argument("cd")
                .because(Reason::LeavesProject));
        }
        let entered = enter(folder, &self.state.cwd, self.place)?;
        self.state.cwd = simplify(&entered);
        Ok(Statement::Cd {
            typed: folder.clone(),
            folder: self.state.cwd.clone(),
        })
    }

    /// `used` collects the variables in them; without it, none may be.
    fn redirections(
        &self,
        raw: &[RawRedirection],
        mut used: Option<&mut Vec<(String, String)>>,
    ) -> Result<Vec<Redirection>> {
        let mut redirections = Vec::with_capacity(raw.len());
        for raw in raw {
            redirections.push(self.redirection(raw, used.as_deref_mut())?);
            if matches!(raw.kind, RedirectionKind::Both { .. }) {
                redirections.push(Redirection {
                    fd: 2,
                    target: Target::Descriptor(1),
                });
            }
        }
        Ok(redirections)
    }

    fn redirection(
        &self,
        raw: &RawRedirection,
        used: Option<&mut Vec<(String, String)>>,
    ) -> Result<Redirection> {
        use RedirectionKind as Kind;
        let refuse = |kind, target: &str| {
            Err(Denial::new(kind)
                .with_argument(target)
                .because(Reason::WritesFile))
        };
        let word = match (raw.kind, used) {
            (Kind::Document, _) => Word::Literal(raw.target.clone()),
            (_, Some(used)) => self.read(used, |reader| reader.one(&raw.target))?,
            (_, None) => {
                let value = |_: &str| None;
                Reader {
                    list: self.place.list,
                    value: &value,
                    used: Vec::new(),
                }
                .one(&raw.target)?
            }
        };
        let Word::Literal(target) = &word else {
            return refuse(DenialKind::GlobNotAllowed, word.text());
        };
        if raw.kind == Kind::Duplicate {
            return match (raw.fd.unwrap_or(1), target.as_str()) {
                (fd @ 1..=2, "1") => Ok(Redirection {
                    fd: fd as u8,
                    target: Target::Descriptor(1),
                }),
                (fd @ 1..=2, "2") => Ok(Redirection {
                    fd: fd as u8,
                    target: Target::Descriptor(2),
                }),
                _ => refuse(DenialKind::RedirectionRefused, target),
            };
        }
        let (fd, mode) = match (raw.kind, raw.fd) {
            (Kind::Document, None | Some(0)) => {
                return Ok(Redirection {
                    fd: 0,
                    target: Target::Text(target.clone()),
                });
            }
            (Kind::Text, None | Some(0)) => {
                return Ok(Redirection {
                    fd: 0,
                    target: Target::Text(format!("{target}\n")),
                });
            }
            (Kind::Read, None | Some(0)) => (0, PathMode::Read),
            (Kind::Write | Kind::Append, None | Some(1)) => (1, PathMode::Write),
            (Kind::Write | Kind::Append, Some(2)) => (2, PathMode::Write),
            (Kind::Both { .. }, None) => (1, PathMode::Write),
            _ => return refuse(DenialKind::RedirectionRefused, target),
        };
        if target == "/dev/null" {
            return Ok(Redirection {
                fd,
                target: Target::Null,
            });
        }
        let cwd = &self.state.cwd;
        check_path(target, cwd, self.place.root, mode)
            .map_err(|kind| Denial::new(kind).with_argument(target))?;
        let path = join(cwd, target);
        let target = match raw.kind {
            Kind::Read => Target::Read(path),
            Kind::Append | Kind::Both { append: true } => Target::Append(path),
            _ => Target::Write(path),
        };
        Ok(Redirection { fd, target })
    }
}

/// The folder that `cd` leads to.
pub(super) fn enter(dir: &str, cwd: &str, place: Place<'_>) -> Result<String> {
    check_path(dir, cwd, place.root, PathMode::Read)
        .map_err(|kind| Denial::new(kind).with_argument(dir).at(1).of_command("cd"))?;
    Ok(match place.root.filter(|_| dir.starts_with('/')) {
        Some(root) => lexical::strip_root(dir, root).unwrap_or("").to_owned(),
        None => join(cwd, dir),
    })
}

/// A shell's `cd` takes `..` by the text, whatever links there are.
fn simplify(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

impl CommandPolicy {
    /// Judges a variable that a line sets, or takes away.
    fn check_variable(&self, name: &str, value: Option<&str>) -> Result<()> {
        if names::is_refused_variable(name) {
            return Err(Denial::new(DenialKind::VariableBlocked).with_argument(name));
        }
        match value {
            Some(value) if name == "MIX_ENV" => self.mix.check_env(Some(value)).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// Judges a command's words and those of the commands behind it.
    pub(super) fn judge_words(
        &self,
        words: &[Word],
        mix_env: Option<&str>,
        place: Place<'_>,
        depth: usize,
    ) -> Result<super::scan::Matched> {
        let Some(Word::Literal(name)) = words.first() else {
            let name = words.first().map_or("", Word::text);
            return Err(Denial::new(DenialKind::GlobNotAllowed)
                .with_argument(name)
                .at(0));
        };
        let wide = place.list == List::Wide;
        if wide && name == "env" && words.len() > 1 {
            return self.judge_env(words, mix_env, place, depth);
        }
        // `command -v NAME` is how a shell says `which NAME`.
        if wide && name == "command" && words.get(1).map(Word::text) == Some("-v") {
            let mut which = vec![Word::Literal("which".to_owned())];
            which.extend_from_slice(&words[2..]);
            return self.judge_words(&which, mix_env, place, depth);
        }
        let grammar = self.find(name, place.list)?;
        if grammar.name == "mix" {
            return super::programs::mix(&self.mix, words, mix_env, place);
        }
        let matched = super::scan::check(self, grammar, words, place, depth)?;
        self.check_network(&grammar.name, &matched)?;
        Ok(matched)
    }

    /// `env NAME=value command` is the command with its variables. Where no command follows, it
    /// prints them.
    fn judge_env(
        &self,
        words: &[Word],
        mix_env: Option<&str>,
        place: Place<'_>,
        depth: usize,
    ) -> Result<super::scan::Matched> {
        let (variables, behind) = super::launch::env(words)?;
        for (name, value) in &variables {
            if !names::is_variable(name) {
                return Err(Denial::new(DenialKind::Assignment)
                    .with_argument(name)
                    .of_command("env"));
            }
            self.check_variable(name, value.as_deref())?;
        }
        let own = variables.iter().rev().find(|(name, _)| name == "MIX_ENV");
        let mix_env = own.map_or(mix_env, |(_, value)| value.as_deref());
        if depth >= super::launch::MAX_DEPTH {
            return Err(Denial::new(DenialKind::TooManyCommands).of_command("env"));
        }
        let mut matched = if behind.is_empty() {
            self.judge_words(&words[..1], mix_env, place, depth + 1)?
        } else {
            self.judge_words(behind, mix_env, place, depth + 1)?
        };
        let inner: Vec<_> = std::mem::take(&mut matched.command.env);
        matched.command.env = variables.into_iter().chain(inner).collect();
        Ok(matched)
    }
}

/// Reads the places of a line at which the narrow list allows `cd`.
pub(super) fn leading_folder(command: &RawCommand) -> Option<String> {
    if command.words.first().map(String::as_str) != Some("cd")
        || !command.redirections.is_empty()
        || !command.assignments.is_empty()
        || command.words.len() != 2
    {
        return None;
    }
    let value = |_: &str| None;
    let mut reader = Reader {
        list: List::Narrow,
        value: &value,
        used: Vec::new(),
    };
    match reader.one(&command.words[1]) {
        Ok(Word::Literal(folder)) if !folder.starts_with('-') => Some(folder),
        _ => None,
    }
}
