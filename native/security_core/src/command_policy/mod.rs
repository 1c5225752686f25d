//! Which command lines may run, and as what.
//!
//! A line is parsed by a real shell parser, every command in it is matched against its own grammar
//! of options and paths, and the answer is a [`Plan`] that runs without a shell. What the parser or
//! a grammar does not fully understand is refused, with the reason and what is allowed instead.
//! There are two [`List`]s: a narrow one for machines whose kernel does not keep commands in, and a
//! wide one, what an engineer types, for commands inside a whole fence.
//!
//! Deciding is pure. [`bind`](Plan::bind) then checks every path on disk and expands file name
//! patterns inside the project, before the plan runs and again for each command when it starts.
//!
//! ```
//! use security_core::command_policy::{CommandPolicy, Connector, DenialKind, List, PathMode,
//! Place};
//!
//! let policy = CommandPolicy::new();
//! let plan = policy.check("cat lib/a.ex | wc -l && rm -f tmp/x", Place::default()).unwrap();
//! assert_eq!(plan.steps[1].connector, Connector::And);
//! let path = &plan.programs()[2].paths[0];
//! assert_eq!((path.path.as_str(), path.mode), ("tmp/x", PathMode::Delete));
//!
//! let line = "find . -name '*.ex' -exec wc -l {} +";
//! let denial = policy.check(line, Place::default()).unwrap_err();
//! assert_eq!((denial.kind, denial.argument.as_deref()), (DenialKind::OptionRefused,
//! Some("-exec")));
//! assert!(policy.check(line, Place { list: List::Wide, ..Place::default() }).is_ok());
//! ```
//!
//! What this can't promise: a program that is allowed to run the project's own code (`mix test`,
//! `make`, `npm test`, a script) runs that code. And between `bind` and the program's own `open` a
//! path may change. Both are for the operating system's sandbox to hold.

mod bind;
mod braces;
mod commands;
mod git;
mod git_wide;
mod glob;
mod grammar;
mod judge;
mod launch;
mod names;
mod plan;
mod prepare;
mod programs;
mod scan;
mod script;
mod show;
mod syntax;
mod value;
mod wide;
mod word;

use crate::mix_policy::MixPolicy;
use crate::refusal::Result;
use judge::Judge;
use syntax::RawStage;

pub use crate::refusal::{Denial, DenialKind, List, Reason};
pub use bind::{BindError, BoundCommand, BoundRedirection, BoundTarget, bind_redirections};
pub use grammar::{Arg, CommandGrammar, Kind, PathMode};
pub use names::{BUILTINS, JUDGED_LAUNCHERS, LAUNCHERS, SHELLS};
pub use plan::{
    Command, Connector, MixCall, Network, PathArg, Plan, Redirection, Stage, Statement, Step,
    Target,
};
pub use programs::{Hardening, git_hardening};
pub use syntax::MAX_LINE_BYTES;
pub use word::Word;

/// The policy: the lists of commands and what a user's configuration adds. Built once, then read
/// only.
#[derive(Debug, Clone)]
pub struct CommandPolicy {
    narrow: Vec<CommandGrammar>,
    wide: Vec<CommandGrammar>,
    mix: MixPolicy,
    git_network: bool,
    git_push: bool,
}

impl Default for CommandPolicy {
    fn default() -> Self {
        let mut narrow = commands::text_and_files();
        narrow.push(git::git());
        narrow.extend(programs::programs());
        CommandPolicy {
            wide: wide::widened(&narrow),
            narrow,
            mix: MixPolicy::default(),
            git_network: false,
            git_push: false,
        }
    }
}

/// The configuration key that lets `git fetch` and `git pull` through.
pub const GIT_NETWORK_KEY: &str = "git_network";
/// The configuration key that lets `git push` through.
pub const GIT_PUSH_KEY: &str = "git_push";

/// Where a line runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place<'a> {
    /// The project's root as an absolute path. Without it every absolute path is refused.
    pub root: Option<&'a str>,
    /// The working directory, relative to the root; empty for the root.
    pub cwd: &'a str,
    /// The caller judges every [`MixCall`] with the project's aliases: a task that is not on the
    /// list, and not blocked, is left to it.
    pub aliases: bool,
    /// Which commands may run.
    pub list: List,
}

impl CommandPolicy {
    /// The built-in policy.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes this policy for `mix`.
    pub fn with_mix(mut self, mix: MixPolicy) -> Self {
        self.mix = mix;
        self
    }

    /// Allows `git fetch` and `git pull`.
    pub fn allow_git_network(mut self, allow: bool) -> Self {
        self.git_network = allow;
        self
    }

    /// Allows `git push`.
    pub fn allow_git_push(mut self, allow: bool) -> Self {
        self.git_push = allow;
        self
    }

    /// Allows a further command. Shells, launchers and a shell's own statements stay refused, and a
    /// built-in command keeps its grammar.
    pub fn allow_command(mut self, command: CommandGrammar) -> Self {
        self.narrow.push(command.clone());
        self.wide.push(command);
        self
    }

    /// The names of the commands that may be run.
    pub fn allowed_commands(&self, list: List) -> impl Iterator<Item = &str> {
        self.commands(list)
            .iter()
            .map(|command| command.name.as_str())
    }

    fn commands(&self, list: List) -> &[CommandGrammar] {
        match list {
            List::Narrow => &self.narrow,
            List::Wide => &self.wide,
        }
    }

    /// Decides a line.
    pub fn check(&self, line: &str, place: Place<'_>) -> Result<Plan> {
        let in_force = |mut denial: Box<Denial>| {
            denial.list = Some(place.list);
            denial
        };
        self.decide(line, place).map_err(in_force)
    }

    fn decide(&self, line: &str, place: Place<'_>) -> Result<Plan> {
        let mut pipelines = syntax::parse(line, place.list)?;
        let mut cwd = judge::enter(place.cwd, "", place)?;
        if place.list == List::Narrow {
            cwd = enter_first(&mut pipelines, cwd, place)?;
        }
        let mut steps = Judge::new(self, Place { cwd: &cwd, ..place }).steps(pipelines)?;
        match steps.first_mut() {
            Some(first) => first.connector = Connector::Always,
            None => return Err(Denial::new(DenialKind::EmptyCommand)),
        }
        Ok(Plan { cwd, steps })
    }

    fn find(&self, name: &str, list: List) -> Result<&CommandGrammar> {
        let refuse =
            |kind, reason| Err(Denial::new(kind).with_argument(name).at(0).because(reason));
        let base = name.rsplit('/').next().unwrap_or(name);
        if SHELLS.contains(base) {
            return refuse(DenialKind::ShellInterpreterBlocked, Reason::RunsProgram);
        }
        let judged = list == List::Wide && JUDGED_LAUNCHERS.contains(name);
        if LAUNCHERS.contains(base) && !judged {
            return refuse(DenialKind::LauncherBlocked, Reason::RunsProgram);
        }
        if BUILTINS.contains(name) {
            let reason = match name {
                "cd" => Reason::UseParameter,
                _ => Reason::EvaluatesCode,
            };
            return refuse(DenialKind::BuiltinBlocked, reason);
        }
        let found = self
            .commands(list)
            .iter()
            .find(|command| command.name == name);
        found.ok_or_else(|| {
            Denial::new(DenialKind::CommandNotAllowed)
                .with_argument(name)
                .at(0)
                .allowing(self.allowed_commands(list))
        })
    }

    fn check_network(&self, name: &str, matched: &scan::Matched) -> Result<()> {
        let (allowed, key) = match matched.subcommand.as_deref() {
            Some("fetch" | "pull") if name == "git" => (self.git_network, GIT_NETWORK_KEY),
            Some("push") if name == "git" => (self.git_push, GIT_PUSH_KEY),
            _ => return Ok(()),
        };
        if allowed {
            return Ok(());
        }
        let subcommand = matched.subcommand.as_deref().unwrap_or_default();
        Err(Denial::new(DenialKind::NetworkBlocked)
            .of_command(format!("git {subcommand}"))
            .allowing([key]))
    }
}

/// `cd DIR && ...` at the start only says where the rest runs, so it needs no shell.
fn enter_first(
    pipelines: &mut Vec<syntax::RawPipeline>,
    mut cwd: String,
    place: Place<'_>,
) -> Result<String> {
    while let Some(pipeline) = pipelines.first() {
        let [RawStage::Simple(command)] = pipeline.stages.as_slice() else {
            break;
        };
        let Some(folder) = judge::leading_folder(command) else {
            break;
        };
        if pipeline.connector == Connector::Or {
            break;
        }
        cwd = judge::enter(&folder, &cwd, place)?;
        pipelines.remove(0);
        if pipelines
            .first()
            .is_some_and(|next| next.connector == Connector::Or)
        {
            return Err(Denial::new(DenialKind::BuiltinBlocked)
                .with_argument("cd")
                .because(Reason::UseParameter));
        }
    }
    Ok(cwd)
}
