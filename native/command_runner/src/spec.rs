//! What to run and how, as the BEAM asked for it, checked in full before anything starts.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

use security_core::command_policy::{self as line, Command, Plan, Statement};
use serde::Deserialize;

use crate::capture::Budget;
use crate::confine::{Mode, Network, Policy};
use crate::fence::View;
use crate::fence::hold::Holder;
use crate::limits::Limits;
use crate::wire::Term;

/// Both sides change this number together when the spec changes.
const VERSION: i64 = 4;

/// Names the descriptor of the third stream to a command.
pub const CHANNEL_VARIABLE: &str = "JIDO_CHANNEL";

/// A whole request.
#[derive(Debug)]
pub struct Spec {
    /// Pipelines, in order.
    pub plan: Vec<Step>,
    /// The project, when the plan is a judged line, and the folder below it where the line starts.
    pub project: Option<(PathBuf, String)>,
    /// Where commands start.
    pub folder: PathBuf,
    /// The whole environment of the commands.
    pub environment: Vec<(OsString, OsString)>,
    /// How long the plan may take.
    pub timeout: Duration,
    /// How long processes may take to end by themselves once asked to.
    pub grace: Duration,
    /// What to keep of the standard output and the standard error.
    pub budgets: [Budget; 2],
    /// What to keep of a third stream, which the commands find by [`CHANNEL_VARIABLE`]; without it
    /// they have none.
    pub channel: Option<Budget>,
    /// Resource limits.
    pub limits: Limits,
    /// Confinement.
    pub policy: Policy,
}

/// A pipeline and when to run it.
#[derive(Debug)]
pub struct Step {
    /// How it follows the one before.
    pub connector: Connector,
    /// Whether its exit code is turned around.
    pub negated: bool,
    /// Whether the time it took is told.
    pub timed: bool,
    /// Its parts, joined by pipes.
    pub parts: Vec<Part>,
}

/// A part of a pipeline.
#[derive(Debug)]
pub enum Part {
    /// A command that needs nothing more.
    Ready(Stage),
    /// A command of a judged line: its words are expanded and its paths followed when it starts.
    Judged(Box<Command>),
    /// What the shell itself does.
    Statements {
        /// What, one after the other.
        statements: Vec<Statement>,
        /// Its redirections.
        redirections: Vec<line::Redirection>,
    },
    /// Pipelines in a shell of their own, or in this one.
    Group {
        /// The pipelines.
        steps: Vec<Step>,
        /// Whether folder and variables are its own.
        subshell: bool,
        /// Redirections of all that is in it.
        redirections: Vec<line::Redirection>,
    },
}

/// How a pipeline follows the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connector {
    /// Always.
    Then,
    /// When it succeeded.
    And,
    /// When it failed.
    Or,
}

/// One command.
#[derive(Debug)]
pub struct Stage {
    /// Program and arguments; never empty.
    pub arguments: Vec<OsString>,
    /// Variables of this command alone; none takes one away.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// Redirections, in order.
    pub redirections: Vec<Redirection>,
    /// Where it starts, if not where the plan does.
    pub folder: Option<PathBuf>,
    /// Whether it is git itself, as the approved line names it, perhaps behind `timeout`.
    pub git: bool,
}

/// Where one of the three standard descriptors goes.
#[derive(Clone, Debug)]
pub struct Redirection {
    /// 0, 1 or 2.
    pub descriptor: i32,
    /// Where to.
    pub target: Target,
}

/// Every command of git itself, in groups as well.
fn each_git(steps: &mut [Step], each: &mut impl FnMut(&mut Part)) {
    for part in steps.iter_mut().flat_map(|step| &mut step.parts) {
        let is_git = match &mut *part {
            Part::Ready(stage) => stage.git,
            Part::Judged(command) => command.runs_git(),
            Part::Statements { .. } => false,
            Part::Group { steps, .. } => {
                each_git(steps, each);
                false
            }
        };
        if is_git {
            each(part);
        }
    }
}

/// The end of a redirection.
#[derive(Clone, Debug)]
pub enum Target {
    /// A file, read.
    Read(PathBuf),
    /// A file, emptied and written.
    Write(PathBuf),
    /// A file, written at its end.
    Append(PathBuf),
    /// Where another of the three goes at that moment.
    Same(i32),
}

impl Stage {
    /// What it sees of the repository, where git itself may write.
    pub fn view(&self) -> View {
        if self.git {
            View::Repository
        } else {
            View::Plain
        }
    }
}

impl Redirection {
    /// The file that it opens, for a message.
    pub fn name(&self) -> String {
        match &self.target {
            Target::Read(path) | Target::Write(path) | Target::Append(path) => {
                path.display().to_string()
            }
            Target::Same(_) => "redirection".to_owned(),
        }
    }
}

type Fallible<T> = Result<T, String>;

impl Spec {
    /// Where redirections may read: what the command may read of its own, and write.
    pub fn readable(&self) -> Option<Vec<PathBuf>> {
        let read = self.policy.read.as_ref()?;
        let write = self.policy.write.iter().flatten();
        Some(
            read.iter()
                .chain(write)
                .chain([&self.folder])
                .cloned()
                .collect(),
        )
    }

    /// Adds variables of the stages that run git, before their own.
    pub fn add_to_git(&mut self, variables: &[(String, String)]) {
        each_git(&mut self.plan, &mut |part| match part {
            Part::Ready(stage) => {
                let added = variables
                    .iter()
                    .map(|(name, value)| (name.into(), Some(value.into())));
                stage.environment.splice(0..0, added);
            }
            Part::Judged(command) => {
                let added = variables
                    .iter()
                    .map(|(name, value)| (name.clone(), Some(value.clone())));
                command.env.splice(0..0, added);
            }
            _ => {}
        });
    }

    /// True when a stage runs git.
    pub fn runs_git(&mut self) -> bool {
        let mut found = false;
        each_git(&mut self.plan, &mut |_| found = true);
        found
    }

    /// Reads a spec; an error names the field.
    pub fn from_term(term: Term) -> Fallible<Self> {
        let mut fields = Fields::of(term)?;
        if fields.take("version", integer)? != VERSION {
            return Err(
                "version: the runner and the library come from different builds".to_owned(),
            );
        }
        let (plan, project) = fields.take("plan", plan)?;
        let spec = Self {
            plan,
            project,
            folder: fields.take("cd", path)?,
            environment: fields.take("env", environment)?,
            timeout: Duration::from_millis(fields.take("timeout", natural)?),
            grace: Duration::from_millis(fields.take("grace", natural)?),
            budgets: [
                fields.take("stdout", budget)?,
                fields.take("stderr", budget)?,
            ],
            channel: fields.take("channel", |term| optional(term, channel))?,
            limits: fields.take("limits", limits)?,
            policy: fields.take("confine", policy)?,
        };
        fields.finish()?;
        Ok(spec)
    }
}

/// The fields of a map, taken out one by one. One that is left over is an error: a newer library
/// may have asked for a restriction that this program doesn't know.
struct Fields(HashMap<String, Term>);

impl Fields {
    fn of(term: Term) -> Fallible<Self> {
        let Term::Map(pairs) = term else {
            return Err("expected a map".to_owned());
        };
        pairs
            .into_iter()
            .map(|(key, value)| Ok((word(key)?, value)))
            .collect::<Fallible<_>>()
            .map(Self)
    }

    fn take<T>(&mut self, name: &str, read: impl FnOnce(Term) -> Fallible<T>) -> Fallible<T> {
        let term = self
            .0
            .remove(name)
            .ok_or_else(|| format!("{name}: missing"))?;
        read(term).map_err(|error| format!("{name}: {error}"))
    }

    fn finish(self) -> Fallible<()> {
        match self.0.into_keys().next() {
            None => Ok(()),
            Some(name) => Err(format!("{name}: unknown field")),
        }
    }
}

fn integer(term: Term) -> Fallible<i64> {
    match term {
        Term::Int(value) => Ok(value),
        _ => Err("expected an integer".to_owned()),
    }
}

fn natural(term: Term) -> Fallible<u64> {
    u64::try_from(integer(term)?).map_err(|_| "expected a non-negative integer".to_owned())
}

/// The name of an atom, or the text of a binary.
fn word(term: Term) -> Fallible<String> {
    match term {
        Term::Atom(name) => Ok(name),
        Term::Bytes(bytes) => String::from_utf8(bytes).map_err(|_| "expected UTF-8".to_owned()),
        _ => Err("expected a name".to_owned()),
    }
}

fn text(term: Term) -> Fallible<OsString> {
    match term {
        // The system cuts strings at a NUL: what was checked would not be what is run.
        Term::Bytes(bytes) if bytes.contains(&0) => Err("holds a NUL byte".to_owned()),
        Term::Bytes(bytes) => Ok(OsString::from_vec(bytes)),
        _ => Err("expected a binary".to_owned()),
    }
}

fn path(term: Term) -> Fallible<PathBuf> {
    let path = PathBuf::from(text(term)?);
    if path.is_absolute() {
        Ok(path)
    } else {
        Err("expected an absolute path".to_owned())
    }
}

fn list<T>(term: Term, read: impl Fn(Term) -> Fallible<T>) -> Fallible<Vec<T>> {
    match term {
        Term::List(items) => items.into_iter().map(read).collect(),
        _ => Err("expected a list".to_owned()),
    }
}

fn non_empty<T>(items: Vec<T>) -> Fallible<Vec<T>> {
    if items.is_empty() {
        Err("is empty".to_owned())
    } else {
        Ok(items)
    }
}

fn tuple<const N: usize>(term: Term) -> Fallible<[Term; N]> {
    match term {
        Term::Tuple(items) => items
            .try_into()
            .map_err(|_| format!("expected a tuple of {N}")),
        _ => Err(format!("expected a tuple of {N}")),
    }
}

fn optional<T>(term: Term, read: impl FnOnce(Term) -> Fallible<T>) -> Fallible<Option<T>> {
    if term == Term::nil() {
        Ok(None)
    } else {
        read(term).map(Some)
    }
}

fn environment(term: Term) -> Fallible<Vec<(OsString, OsString)>> {
    list(term, |pair| {
        let [name, value] = tuple(pair)?;
        let name = text(name)?;
        if name.is_empty() || name.as_encoded_bytes().contains(&b'=') {
            return Err("a variable's name is empty or holds =".to_owned());
        }
        Ok((name, text(value)?))
    })
}

type Project = Option<(PathBuf, String)>;

/// A list of pipelines, or a judged line as the policy wrote it.
fn plan(term: Term) -> Fallible<(Vec<Step>, Project)> {
    let Term::Bytes(bytes) = term else {
        return Ok((non_empty(list(term, step)?)?, None));
    };
    let line: Line = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    if !line.root.is_absolute() {
        return Err("expected an absolute path".to_owned());
    }
    let steps = line.plan.steps.into_iter().map(Step::from).collect();
    Ok((non_empty(steps)?, Some((line.root, line.plan.cwd))))
}

/// A judged line.
#[derive(Deserialize)]
struct Line {
    root: PathBuf,
    plan: Plan,
}

impl From<line::Step> for Step {
    fn from(step: line::Step) -> Self {
        Step {
            connector: match step.connector {
                line::Connector::Always => Connector::Then,
                line::Connector::And => Connector::And,
                line::Connector::Or => Connector::Or,
            },
            negated: step.negated,
            timed: step.timed,
            parts: step.stages.into_iter().map(Part::from).collect(),
        }
    }
}

impl From<line::Stage> for Part {
    fn from(stage: line::Stage) -> Self {
        match stage {
            line::Stage::Program(command) => Part::Judged(command),
            line::Stage::Statement {
                statements,
                redirections,
            } => Part::Statements {
                statements,
                redirections,
            },
            line::Stage::Group {
                steps,
                subshell,
                redirections,
            } => Part::Group {
                steps: steps.into_iter().map(Step::from).collect(),
                subshell,
                redirections,
            },
        }
    }
}

fn step(term: Term) -> Fallible<Step> {
    let [connector, stages] = tuple(term)?;
    let connector = match word(connector)?.as_str() {
        "then" => Connector::Then,
        "and" => Connector::And,
        "or" => Connector::Or,
        other => return Err(format!("unknown connector {other}")),
    };
    let stages = non_empty(list(stages, stage)?)?;
    Ok(Step {
        connector,
        negated: false,
        timed: false,
        parts: stages.into_iter().map(Part::Ready).collect(),
    })
}

fn stage(term: Term) -> Fallible<Stage> {
    let mut fields = Fields::of(term)?;
    let own = fields.take("env", environment)?;
    let arguments = fields.take("argv", |term| non_empty(list(term, text)?))?;
    let stage = Stage {
        git: arguments[0] == "git",
        arguments,
        environment: own
            .into_iter()
            .map(|(name, value)| (name, Some(value)))
            .collect(),
        redirections: fields.take("redirect", |term| list(term, redirection))?,
        folder: None,
    };
    fields.finish()?;
    Ok(stage)
}

fn redirection(term: Term) -> Fallible<Redirection> {
    let [from, kind, target] = tuple(term)?;
    let target = match word(kind)?.as_str() {
        "read" => Target::Read(path(target)?),
        "write" => Target::Write(path(target)?),
        "append" => Target::Append(path(target)?),
        "same" => Target::Same(descriptor(target)?),
        other => return Err(format!("unknown redirection {other}")),
    };
    Ok(Redirection {
        descriptor: descriptor(from)?,
        target,
    })
}

fn descriptor(term: Term) -> Fallible<i32> {
    match integer(term)? {
        number @ 0..=2 => Ok(i32::try_from(number).unwrap_or_default()),
        _ => Err("expected descriptor 0, 1 or 2".to_owned()),
    }
}

fn budget(term: Term) -> Fallible<Budget> {
    /// Both streams together then stay within one frame.
    const LARGEST: u64 = 4 * 1024 * 1024;
    budget_below(term, LARGEST)
}

/// What is told over the third stream is wanted whole, so it may be longer.
fn channel(term: Term) -> Fallible<Budget> {
    const LARGEST: u64 = 64 * 1024 * 1024;
    budget_below(term, LARGEST)
}

fn budget_below(term: Term, largest: u64) -> Fallible<Budget> {
    let [head, tail] = tuple(term)?;
    let bytes = |term| match natural(term)? {
        bytes if bytes < largest => Ok(usize::try_from(bytes).unwrap_or_default()),
        _ => Err(format!("is {largest} bytes or more")),
    };
    Ok(Budget {
        head: bytes(head)?,
        tail: bytes(tail)?,
    })
}

fn limits(term: Term) -> Fallible<Limits> {
    let mut fields = Fields::of(term)?;
    let mut take = |name| fields.take(name, |term| optional(term, natural));
    let limits = Limits {
        cpu_seconds: take("cpu_seconds")?,
        memory_bytes: take("memory_bytes")?,
        open_files: take("open_files")?,
        file_bytes: take("file_bytes")?,
        processes: take("processes")?,
    };
    fields.finish()?;
    Ok(limits)
}

fn policy(term: Term) -> Fallible<Policy> {
    let mut fields = Fields::of(term)?;
    let paths = |term| optional(term, |term| list(term, path));
    let policy = Policy {
        read: fields.take("read", paths)?,
        write: fields.take("write", paths)?,
        network: fields.take("network", network)?,
        sockets: fields.take("sockets", |term| list(term, path))?,
        temporary: fields.take("temporary", |term| optional(term, path))?,
        holder: fields.take("holder", |term| optional(term, holder))?,
        temporary_bytes: fields.take("temporary_bytes", natural)?,
        mode: fields.take("mode", mode)?,
    };
    fields.finish()?;
    Ok(policy)
}

fn holder(term: Term) -> Fallible<Holder> {
    match term {
        Term::Tuple(numbers) => match numbers.as_slice() {
            [Term::Int(process), Term::Int(user), Term::Int(mounts)] => Ok(Holder {
                process: i32::try_from(*process).map_err(|_| "expected a process".to_owned())?,
                user: u64::try_from(*user).unwrap_or(0),
                mounts: u64::try_from(*mounts).unwrap_or(0),
            }),
            _ => Err("expected three numbers".to_owned()),
        },
        _ => Err("expected a tuple".to_owned()),
    }
}

fn mode(term: Term) -> Fallible<Mode> {
    match word(term)?.as_str() {
        "best_effort" => Ok(Mode::BestEffort),
        "required" => Ok(Mode::Required),
        "without_namespaces" => Ok(Mode::WithoutNamespaces),
        "off" => Ok(Mode::Off),
        other => Err(format!("unknown mode {other}")),
    }
}

fn network(term: Term) -> Fallible<Network> {
    match term {
        Term::List(_) => list(term, |port| {
            u16::try_from(integer(port)?).map_err(|_| "expected a port number".to_owned())
        })
        .map(Network::Ports),
        name => match word(name)?.as_str() {
            "none" => Ok(Network::None),
            "all" => Ok(Network::All),
            other => Err(format!("unknown mode {other}")),
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn term() -> Vec<(Term, Term)> {
        let none = Term::nil;
        let Term::Map(pairs) = Term::map([
            ("version", Term::Int(VERSION)),
            (
                "plan",
                Term::List(vec![Term::Tuple(vec![
                    Term::Atom("then".into()),
                    Term::List(vec![Term::map([
                        ("argv", Term::List(vec![Term::text("true")])),
                        ("env", Term::List(vec![])),
                        ("redirect", Term::List(vec![])),
                    ])]),
                ])]),
            ),
            ("cd", Term::text("/")),
            (
                "env",
                Term::List(vec![Term::Tuple(vec![Term::text("A"), Term::text("b")])]),
            ),
            ("timeout", Term::Int(1000)),
            ("grace", Term::Int(100)),
            ("stdout", Term::Tuple(vec![Term::Int(10), Term::Int(10)])),
            ("stderr", Term::Tuple(vec![Term::Int(10), Term::Int(10)])),
            ("channel", none()),
            (
                "limits",
                Term::map([
                    ("cpu_seconds", none()),
                    ("memory_bytes", none()),
                    ("open_files", Term::Int(64)),
                    ("file_bytes", none()),
                    ("processes", none()),
                ]),
            ),
            (
                "confine",
                Term::map([
                    ("read", none()),
                    ("write", Term::List(vec![Term::text("/p")])),
                    ("network", Term::List(vec![Term::Int(443)])),
                    ("sockets", Term::List(vec![])),
                    ("temporary", none()),
                    ("holder", none()),
                    ("temporary_bytes", Term::Int(1 << 20)),
                    ("mode", Term::text("required")),
                ]),
            ),
        ]) else {
            panic!()
        };
        pairs
    }

    fn with(name: &str, value: Term) -> Result<Spec, String> {
        let mut pairs = term();
        pairs.retain(|(key, _)| *key != Term::text(name));
        pairs.push((Term::text(name), value));
        Spec::from_term(Term::Map(pairs))
    }

    #[test]
    fn reads_a_whole_spec() {
        let spec = Spec::from_term(Term::Map(term())).unwrap();
        let Part::Ready(stage) = &spec.plan[0].parts[0] else {
            panic!()
        };
        assert_eq!(stage.arguments, ["true"]);
        assert_eq!(spec.policy.network, Network::Ports(vec![443]));
        assert_eq!(spec.limits.open_files, Some(64));
    }

    #[test]
    fn refuses_what_it_does_not_know_and_names_it() {
        assert_eq!(
            with("sandbox", Term::nil()).unwrap_err(),
            "sandbox: unknown field"
        );
        assert!(
            with("version", Term::Int(1))
                .unwrap_err()
                .starts_with("version")
        );
        assert_eq!(
            with("cd", Term::text("relative")).unwrap_err(),
            "cd: expected an absolute path"
        );
        assert_eq!(
            with("cd", Term::text("/a\0b")).unwrap_err(),
            "cd: holds a NUL byte"
        );
        assert_eq!(
            with("plan", Term::List(vec![])).unwrap_err(),
            "plan: is empty"
        );
        assert!(
            with(
                "stdout",
                Term::Tuple(vec![Term::Int(1 << 40), Term::Int(0)])
            )
            .is_err()
        );
        let mut pairs = term();
        pairs.retain(|(key, _)| *key != Term::text("confine"));
        assert_eq!(
            Spec::from_term(Term::Map(pairs)).unwrap_err(),
            "confine: missing"
        );
    }
}
