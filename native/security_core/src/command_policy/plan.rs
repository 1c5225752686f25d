//! What a line comes to: the small language that the command runner carries out, as data.
//!
//! Everything in it was judged. What can change between the judgement and a command's start is
//! written down beside it, so that the runner can refuse to go on when it did: the folder, the
//! values of variables, and what paths and patterns lead to ([`Command::bind`]).

use serde::{Deserialize, Serialize};

use super::grammar::PathMode;
use super::programs::Hardening;
use super::word::Word;

/// What a line runs, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The folder it starts in, relative to the project's root.
    pub cwd: String,
    /// The pipelines.
    pub steps: Vec<Step>,
}

/// A pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// When it runs, given how the last pipeline that ran ended.
    pub connector: Connector,
    /// Whether its exit code is turned around (`! command`).
    pub negated: bool,
    /// Whether the time it took is told on standard error (`time command`).
    pub timed: bool,
    /// Its parts; each one's output is the next one's input.
    pub stages: Vec<Stage>,
}

/// How a pipeline is joined to what came before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Connector {
    /// It runs in any case.
    Always,
    /// It runs when the last exit code is 0.
    And,
    /// It runs when the last exit code is not 0.
    Or,
}

/// A part of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// A program.
    Program(Box<Command>),
    /// What the shell itself would do.
    Statement {
        /// What, one after the other.
        statements: Vec<Statement>,
        /// Its redirections: files are opened, and made, all the same.
        redirections: Vec<Redirection>,
    },
    /// `( ... )` and `{ ...; }`.
    Group {
        /// The pipelines in it.
        steps: Vec<Step>,
        /// `( ... )`: its folder, variables and `exit` are its own.
        subshell: bool,
        /// Redirections of all that is in it.
        redirections: Vec<Redirection>,
    },
}

/// What the shell itself would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Statement {
    /// Nothing, with success.
    Nothing,
    /// Goes on only while a variable has the value that the line was judged with.
    Assume {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// Changes the folder.
    Cd {
        /// The folder as typed, for messages.
        typed: String,
        /// The folder, relative to the project's root, without `.` and `..`.
        folder: String,
    },
    /// Sets a variable, or only marks it for the environment of the commands that follow.
    Set {
        /// Its name.
        name: String,
        /// Its value; none leaves it as it is.
        value: Option<String>,
        /// Whether commands get it.
        export: bool,
    },
    /// Forgets a variable.
    Unset {
        /// Its name.
        name: String,
    },
    /// Ends the line, or the group it stands in.
    Exit {
        /// The exit code; none is that of the last command.
        code: Option<u8>,
    },
}

/// A program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The arguments, the program's name first.
    pub argv: Vec<Word>,
    /// The place among them of the program that runs in the end: behind `timeout`, `nice` and
    /// `xargs`, which do nothing else.
    pub program: usize,
    /// Variables of this command alone; none takes one away.
    pub env: Vec<(String, Option<String>)>,
    /// Redirections, in the order in which they apply.
    pub redirections: Vec<Redirection>,
    /// Every path among the arguments.
    pub paths: Vec<PathArg>,
    /// The folder that it was judged for, relative to the project's root.
    pub cwd: String,
    /// The variables whose values are part of its words, with these values.
    pub assumes: Vec<(String, String)>,
    /// The network it needs.
    pub network: Network,
    /// What its environment must hold so that configuration files can't make it run other programs.
    pub hardening: Hardening,
    /// The call, when it is `mix`: the caller may want to look at the project's aliases.
    pub mix: Option<MixCall>,
}

/// A call of Mix that its policy has accepted, but for the project's aliases, which only the
/// project can tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixCall {
    /// The task; with [`Place::aliases`](super::Place::aliases) perhaps an alias that no list has.
    pub task: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment, when the line says one (`MIX_ENV=test mix ...`).
    pub env: Option<String>,
    /// The folder it runs in, relative to the project's root.
    pub cwd: String,
}

/// A path among the arguments of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathArg {
    /// Its place in `argv`.
    pub index: usize,
    /// The path, relative to the project's root unless absolute. For a pattern, the pattern's text.
    pub path: String,
    /// The folder that it counts from, relative to the project's root.
    pub base: String,
    /// What the command does with it.
    pub mode: PathMode,
}

/// A redirection of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redirection {
    /// 0, 1 or 2.
    pub fd: u8,
    /// Where it goes to or comes from.
    pub target: Target,
}

/// The target of a redirection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// A file that is read.
    Read(String),
    /// A file that is made or emptied.
    Write(String),
    /// A file that is appended to.
    Append(String),
    /// Another descriptor of the command.
    Descriptor(u8),
    /// The null device.
    Null,
    /// Text that is read: a here-document.
    Text(String),
}

/// The network that a command needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// None.
    None,
    /// Any: databases, downloads.
    All,
}

impl Command {
    /// A command that has no words yet.
    pub(super) fn new(place: super::Place<'_>) -> Self {
        Command {
            argv: Vec::new(),
            program: 0,
            env: Vec::new(),
            redirections: Vec::new(),
            paths: Vec::new(),
            cwd: place.cwd.to_owned(),
            assumes: Vec::new(),
            network: Network::None,
            hardening: Hardening::None,
            mix: None,
        }
    }
}

impl Command {
    /// The words of the program that runs in the end.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.argv.iter().skip(self.program).map(Word::text)
    }

    /// Whether that is git itself, which alone may write its folders.
    pub fn runs_git(&self) -> bool {
        self.words().next() == Some("git")
    }
}

impl Plan {
    /// Every program of the plan, in the order in which the line names them.
    pub fn programs(&self) -> Vec<&Command> {
        let mut found = Vec::new();
        collect(&self.steps, &mut found);
        found
    }
}

fn collect<'a>(steps: &'a [Step], found: &mut Vec<&'a Command>) {
    for stage in steps.iter().flat_map(|step| &step.stages) {
        match stage {
            Stage::Program(command) => found.push(command),
            Stage::Group { steps, .. } => collect(steps, found),
            Stage::Statement { .. } => {}
        }
    }
}
