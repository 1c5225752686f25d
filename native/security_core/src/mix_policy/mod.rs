//! Which Mix tasks may run, and with which arguments.
//!
//! A pure decision over texts: the task's name must be well formed, not blocked and allowed; the environment must be `dev` or `test`; every
//! argument must match the task's grammar. What is not listed is refused. What a task does by itself is not judged here: compiling a project
//! runs the project's code.
//!
//! ```
//! use security_core::mix_policy::{DenialKind, MixPolicy};
//!
//! let policy = MixPolicy::default();
//! assert!(policy.check("test", &["test/a_test.exs:12", "--trace"], Some("test")).is_ok());
//!
//! let denial = policy.check("format", &["--dot-formatter", "/tmp/x.exs"], None).unwrap_err();
//! assert_eq!(denial.kind, DenialKind::OptionRefused);
//! assert_eq!(denial.argument.as_deref(), Some("--dot-formatter"));
//! ```

mod alias;
mod grammar;
mod tasks;

pub use crate::refusal::Reason;
pub use alias::{Alias, AliasStep, ApprovedStep, split_step};
pub use grammar::{
    Arguments, MAX_ARGUMENT_BYTES, MAX_ARGUMENTS, Positional, Refused, Switch, TaskGrammar, Value,
};
pub use tasks::{BLOCKED, ENVIRONMENTS, IMPLICIT};

use crate::path_boundary::lexical::PathFault;

/// Why a call is refused, with what a caller needs to say so and to say what would have been allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// What kind of refusal it is.
    pub kind: DenialKind,
    /// The task that was refused; for an alias, the step's task.
    pub task: String,
    /// The argument at fault, when it is one argument's fault.
    pub argument: Option<String>,
    /// Its place among the arguments, from 0.
    pub index: Option<usize>,
    /// Why the option is not accepted.
    pub reason: Reason,
    /// What is accepted instead: options of the task, task names, or environments.
    pub allowed: Vec<String>,
    /// Where the step stands, when the refusal is about a step of an alias.
    pub alias: Option<Box<AliasPlace>>,
}

/// A step of an alias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AliasPlace {
    /// The alias's name.
    pub name: String,
    /// The step's place in it, from 0.
    pub step: usize,
}

impl Denial {
    fn new(kind: DenialKind, task: &str) -> Self {
        Denial {
            kind,
            task: task.to_owned(),
            argument: None,
            index: None,
            reason: Reason::NotListed,
            allowed: Vec::new(),
            alias: None,
        }
    }

    fn at(mut self, argument: &str, index: usize) -> Self {
        self.argument = Some(argument.to_owned());
        self.index = Some(index);
        self
    }

    fn because(mut self, reason: Reason) -> Self {
        self.reason = reason;
        self
    }

    fn expecting(mut self, value: &Value) -> Self {
        self.allowed = vec![value.describe()];
        self
    }
}

impl std::fmt::Display for Denial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "mix {}: {}", self.task, self.kind.as_str())
    }
}

impl std::error::Error for Denial {}

/// The kinds of refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DenialKind {
    /// Not the shape of a task's name.
    InvalidTaskName,
    /// A task that is never run.
    TaskBlocked,
    /// A task that is not on the list.
    TaskNotAllowed,
    /// An environment other than `dev` and `test`.
    EnvBlocked,
    /// More arguments than [`MAX_ARGUMENTS`].
    TooManyArguments,
    /// An argument longer than [`MAX_ARGUMENT_BYTES`].
    TooLong,
    /// A control character in an argument.
    InvalidCharacters,
    /// `..`, plain or percent-encoded.
    PathTraversalBlocked,
    /// An absolute path, or one below a home directory.
    AbsolutePathBlocked,
    /// A path inside the project that tools must not touch (`.git`).
    ProtectedPath,
    /// An option the task's list does not have.
    UnknownOption,
    /// An option that exists and is refused; [`Denial::reason`] says why.
    OptionRefused,
    /// An option without its value.
    MissingValue,
    /// A value for an option that takes none.
    UnexpectedValue,
    /// A value of the wrong kind.
    InvalidValue,
    /// A plain argument where the task takes none, or one too many.
    UnexpectedArgument,
    /// A path that lies in none of the project's test paths.
    OutsideTestPaths,
    /// A file in a test path whose name is not `*_test.exs`.
    NotATestFile,
    /// A step of an alias that is a function.
    AliasFunctionStep,
    /// A step of an alias that can't be read.
    AliasInvalidStep,
    /// An alias that expands to more steps than a project has.
    AliasTooLong,
}

impl DenialKind {
    /// The name that crosses to other languages.
    pub fn as_str(self) -> &'static str {
        match self {
            DenialKind::InvalidTaskName => "invalid_task_name",
            DenialKind::TaskBlocked => "task_blocked",
            DenialKind::TaskNotAllowed => "task_not_allowed",
            DenialKind::EnvBlocked => "env_blocked",
            DenialKind::TooManyArguments => "too_many_arguments",
            DenialKind::TooLong => "too_long",
            DenialKind::InvalidCharacters => "invalid_characters",
            DenialKind::PathTraversalBlocked => "path_traversal_blocked",
            DenialKind::AbsolutePathBlocked => "absolute_path_blocked",
            DenialKind::ProtectedPath => "protected_path",
            DenialKind::UnknownOption => "unknown_option",
            DenialKind::OptionRefused => "option_refused",
            DenialKind::MissingValue => "missing_value",
            DenialKind::UnexpectedValue => "unexpected_value",
            DenialKind::InvalidValue => "invalid_value",
            DenialKind::UnexpectedArgument => "unexpected_argument",
            DenialKind::OutsideTestPaths => "outside_test_paths",
            DenialKind::NotATestFile => "not_a_test_file",
            DenialKind::AliasFunctionStep => "alias_function_step",
            DenialKind::AliasInvalidStep => "alias_invalid_step",
            DenialKind::AliasTooLong => "alias_too_long",
        }
    }
}

impl From<PathFault> for DenialKind {
    fn from(fault: PathFault) -> Self {
        match fault {
            PathFault::Control => DenialKind::InvalidCharacters,
            PathFault::TooLong => DenialKind::TooLong,
            PathFault::Traversal | PathFault::Encoded => DenialKind::PathTraversalBlocked,
            PathFault::Absolute | PathFault::Home => DenialKind::AbsolutePathBlocked,
        }
    }
}

/// The policy: the built-in tasks and what a user's configuration adds. Built once, then read only.
#[derive(Debug, Clone)]
pub struct MixPolicy {
    tasks: Vec<TaskGrammar>,
    alias_tasks: Vec<TaskGrammar>,
    trusted_aliases: Vec<String>,
    test_paths: Vec<String>,
}

impl Default for MixPolicy {
    fn default() -> Self {
        MixPolicy {
            tasks: tasks::allowed(),
            alias_tasks: tasks::alias_only(),
            trusted_aliases: Vec::new(),
            test_paths: vec!["test".into(), "apps/*/test".into()],
        }
    }
}

impl MixPolicy {
    /// The built-in policy.
    pub fn new() -> Self {
        Self::default()
    }

    /// Allows a further task. A built-in task keeps its grammar, and a blocked one stays blocked.
    pub fn allow_task(mut self, task: TaskGrammar) -> Self {
        self.tasks.push(task);
        self
    }

    /// Allows a further task as a step of an alias only. A blocked one stays blocked.
    pub fn allow_alias_task(mut self, task: TaskGrammar) -> Self {
        self.alias_tasks.push(task);
        self
    }

    /// Lets the named alias run functions.
    pub fn trust_alias(mut self, alias: impl Into<String>) -> Self {
        self.trusted_aliases.push(alias.into());
        self
    }

    /// Sets the project's test paths, relative to its root. A `*` stands for one folder, for the apps of an umbrella.
    pub fn test_paths(mut self, paths: Vec<String>) -> Self {
        self.test_paths = paths;
        self
    }

    /// The names of the tasks that may be run.
    pub fn allowed_tasks(&self) -> impl Iterator<Item = &str> {
        self.tasks.iter().map(|task| task.name.as_ref())
    }

    /// Checks a task's name.
    pub fn check_task(&self, task: &str) -> Result<(), Denial> {
        self.find(task).map(|_| ())
    }

    /// Checks an environment's name; none means `dev`.
    pub fn check_env<'a>(&self, env: Option<&'a str>) -> Result<&'a str, Denial> {
        let env = env.unwrap_or("dev");
        if tasks::ENVIRONMENTS.contains(&env) {
            return Ok(env);
        }
        let mut denial = Denial::new(DenialKind::EnvBlocked, "");
        denial.argument = Some(env.to_owned());
        denial.allowed = tasks::ENVIRONMENTS
            .iter()
            .map(|&env| env.to_owned())
            .collect();
        Err(denial)
    }

    /// Checks a whole call: task, environment, arguments, in this order.
    pub fn check<S: AsRef<str>>(
        &self,
        task: &str,
        args: &[S],
        env: Option<&str>,
    ) -> Result<(), Denial> {
        let grammar = self.find(task)?;
        self.check_env(env).map_err(|denial| Denial {
            task: task.to_owned(),
            ..denial
        })?;
        grammar::check(grammar, args, &self.test_paths)
    }

    fn find(&self, task: &str) -> Result<&TaskGrammar, Denial> {
        check_name(task)?;
        self.tasks
            .iter()
            .find(|allowed| allowed.name == task)
            .ok_or_else(|| {
                let mut denial = Denial::new(DenialKind::TaskNotAllowed, task);
                denial.allowed = self.allowed_tasks().map(str::to_owned).collect();
                denial
            })
    }

    /// Like `find`, with the tasks that only an alias may run.
    fn find_step(&self, task: &str) -> Result<&TaskGrammar, Denial> {
        check_name(task)?;
        match self.alias_tasks.iter().find(|step| step.name == task) {
            Some(found) => Ok(found),
            None => self.find(task),
        }
    }
}

/// A letter, then letters, digits, `.`, `_`, `-`; and not blocked.
fn check_name(task: &str) -> Result<(), Denial> {
    let well_formed = task.len() <= 255
        && task.starts_with(|c: char| c.is_ascii_alphabetic())
        && task
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    if !well_formed {
        return Err(Denial::new(DenialKind::InvalidTaskName, task));
    }
    if tasks::BLOCKED.contains(&task) {
        return Err(Denial::new(DenialKind::TaskBlocked, task));
    }
    Ok(())
}
