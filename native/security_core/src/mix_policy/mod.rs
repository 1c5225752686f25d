//! Which Mix tasks may run, and with which arguments.
//!
//! A pure decision over texts: the task's name must be well formed, not blocked and allowed; the
//! environment must be `dev` or `test`; every argument must match the task's grammar. What is not
//! listed is refused. What a task does by itself is not judged here: compiling a project runs the
//! project's code.
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

pub use crate::refusal::{AliasPlace, Denial, DenialKind, List, Reason};
pub use alias::{Alias, AliasStep, ApprovedStep, split_step};
pub use grammar::{
    Arguments, MAX_ARGUMENT_BYTES, MAX_ARGUMENTS, Positional, Refused, Switch, TaskGrammar, Value,
};
pub use tasks::BLOCKED;

use std::borrow::Cow;

use crate::refusal::Result;

pub(crate) fn deny(kind: DenialKind, task: &str) -> Box<Denial> {
    Denial::new(kind).of_task(task)
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

    /// Sets the project's test paths, relative to its root. A `*` stands for one folder, for the
    /// apps of an umbrella.
    pub fn test_paths(mut self, paths: Vec<String>) -> Self {
        self.test_paths = paths;
        self
    }

    /// The names of the tasks that may be run.
    pub fn allowed_tasks(&self) -> impl Iterator<Item = &str> {
        self.tasks.iter().map(|task| task.name.as_ref())
    }

    /// Checks an environment's name; none means `dev`.
    pub fn check_env<'a>(&self, env: Option<&'a str>) -> Result<&'a str> {
        let env = env.unwrap_or("dev");
        if tasks::ENVIRONMENTS.contains(&env) {
            return Ok(env);
        }
        Err(Denial::new(DenialKind::EnvBlocked)
            .with_argument(env)
            .allowing(tasks::ENVIRONMENTS.iter().copied()))
    }

    /// Checks a whole call by the narrow list, which is that of the tool `mix_task`.
    pub fn check<S: AsRef<str>>(&self, task: &str, args: &[S], env: Option<&str>) -> Result<()> {
        self.check_in(List::Narrow, task, args, env)
    }

    /// Checks a whole call: task, environment, arguments, in this order.
    pub fn check_in<S: AsRef<str>>(
        &self,
        list: List,
        task: &str,
        args: &[S],
        env: Option<&str>,
    ) -> Result<()> {
        let grammar = self.find(list, task)?;
        self.check_env(env).map_err(|denial| denial.of_task(task))?;
        grammar::check(&grammar, args, &self.test_paths)
    }

    fn find(&self, list: List, task: &str) -> Result<Cow<'_, TaskGrammar>> {
        check_name(task)?;
        let listed = self.tasks.iter().find(|allowed| allowed.name == task);
        match (listed, list) {
            (Some(found), _) => Ok(Cow::Borrowed(found)),
            (None, List::Wide) => self.find_open(task),
            (None, List::Narrow) => {
                Err(deny(DenialKind::TaskNotAllowed, task).allowing(self.allowed_tasks()))
            }
        }
    }

    /// A task that only the wide list has: one with a grammar of its own, or any that is not
    /// refused by name.
    fn find_open(&self, task: &str) -> Result<Cow<'_, TaskGrammar>> {
        if let Some(reason) = tasks::refused(task) {
            return Err(deny(DenialKind::TaskBlocked, task).because(reason));
        }
        if let Some(found) = self.alias_tasks.iter().find(|step| step.name == task) {
            return Ok(Cow::Borrowed(found));
        }
        Ok(Cow::Owned(tasks::open(task)))
    }

    /// Like `find`, with the tasks that only an alias may run.
    fn find_step(&self, list: List, task: &str) -> Result<Cow<'_, TaskGrammar>> {
        check_name(task)?;
        match self.alias_tasks.iter().find(|step| step.name == task) {
            Some(found) => Ok(Cow::Borrowed(found)),
            None => self.find(list, task),
        }
    }
}

/// A letter, then letters, digits, `.`, `_`, `-`; and not blocked.
fn check_name(task: &str) -> Result<()> {
    let well_formed = task.len() <= 255
        && task.starts_with(|c: char| c.is_ascii_alphabetic())
        && task
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    if !well_formed {
        return Err(deny(DenialKind::InvalidTaskName, task));
    }
    if tasks::BLOCKED.contains(&task) {
        return Err(deny(DenialKind::TaskBlocked, task));
    }
    Ok(())
}
