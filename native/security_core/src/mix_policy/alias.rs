//! A project's Mix aliases, expanded step by step the way Mix runs them, each step judged like a
//! call of its own.
//!
//! How Mix runs an alias, which decides what is checked here:
//! 1. The alias's own arguments are appended to its last step, or to the first step that has the
//!    alias's own name, which then uses them up.
//! 2. A step that names the alias itself runs the task of that name. So does a step that names any
//!    alias which was entered before.
//! 3. An alias named like a task that Mix runs on its own (`compile`, `loadpaths`, ...) runs with
//!    every task that compiles.

use super::grammar;
use super::tasks::IMPLICIT;
use super::{AliasPlace, Denial, DenialKind, List, MixPolicy, deny};
use crate::refusal::Result;

/// The most steps an alias may expand to.
const MAX_STEPS: usize = 256;

/// An alias of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    /// Its name.
    pub name: String,
    /// Its steps, in order.
    pub steps: Vec<AliasStep>,
}

/// A step of an alias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AliasStep {
    /// A task with its arguments, as one text.
    Task(String),
    /// A function, which can't be judged.
    Function,
}

/// What an approved call runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovedStep {
    /// The task, or the empty string for a function of a trusted alias.
    pub task: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The alias that the step comes from; none when the call is no alias.
    pub alias: Option<String>,
}

/// A step that waits to be judged.
struct Pending<'a> {
    task: String,
    args: Vec<String>,
    from: Option<(&'a str, usize)>,
    means: Means,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Means {
    /// An alias, if there is one of that name, else a task.
    Name,
    /// The task, whatever aliases there are.
    Task,
    /// A function of a trusted alias.
    Function,
}

impl MixPolicy {
    /// Checks a call in a project with aliases and answers what it runs, in order. Aliases that Mix
    /// runs on its own stand behind the first task that compiles.
    ///
    /// An alias whose name is not on the list of tasks is allowed when all of its steps are; one
    /// with a blocked name is not.
    pub fn check_expanded<S: AsRef<str>>(
        &self,
        list: List,
        task: &str,
        args: &[S],
        env: Option<&str>,
        aliases: &[Alias],
    ) -> Result<Vec<ApprovedStep>> {
        self.check_env(env).map_err(|denial| denial.of_task(task))?;
        let find = |name: &str| aliases.iter().find(|alias| alias.name == name);
        let mut entered: Vec<&str> = Vec::new();
        let mut approved = Vec::new();
        let mut implicit_done = false;
        // The next step is on top.
        let mut pending = vec![Pending {
            task: task.to_owned(),
            args: args.iter().map(|arg| arg.as_ref().to_owned()).collect(),
            from: None,
            means: Means::Name,
        }];

        while let Some(step) = pending.pop() {
            if approved.len() + pending.len() > MAX_STEPS {
                return Err(located(deny(DenialKind::AliasTooLong, task), step.from));
            }
            if step.means == Means::Function {
                approved.push(ApprovedStep {
                    task: String::new(),
                    args: Vec::new(),
                    alias: step.from.map(|(name, _)| name.to_owned()),
                });
                continue;
            }
            let alias = find(&step.task).filter(|alias| {
                step.means == Means::Name && !entered.contains(&alias.name.as_str())
            });
            if let Some(alias) = alias {
                super::check_name(&step.task).map_err(|denial| located(denial, step.from))?;
                entered.push(&alias.name);
                let mut expanded = self.expand(alias, step.args)?;
                expanded.reverse();
                pending.append(&mut expanded);
                continue;
            }
            let grammar = match step.from {
                None => self.find(list, &step.task),
                Some(_) => self.find_step(list, &step.task),
            }
            .map_err(|denial| located(denial, step.from))?;
            grammar::check(&grammar, &step.args, &self.test_paths)
                .map_err(|denial| located(denial, step.from))?;
            let compiles = grammar.compiles;
            approved.push(ApprovedStep {
                task: step.task,
                args: step.args,
                alias: step.from.map(|(name, _)| name.to_owned()),
            });
            if compiles && !implicit_done {
                implicit_done = true;
                for name in IMPLICIT {
                    if let Some(alias) =
                        find(name).filter(|alias| !entered.contains(&alias.name.as_str()))
                    {
                        entered.push(&alias.name);
                        pending.extend(self.expand(alias, Vec::new())?);
                    }
                }
            }
        }
        Ok(approved)
    }

    fn expand<'a>(&self, alias: &'a Alias, args: Vec<String>) -> Result<Vec<Pending<'a>>> {
        let mut args = args;
        let mut steps = Vec::with_capacity(alias.steps.len());
        for (at, step) in alias.steps.iter().enumerate() {
            let from = Some((alias.name.as_str(), at));
            let refuse = |kind, argument: &str| {
                let mut denial = deny(kind, &alias.name);
                denial.argument = (!argument.is_empty()).then(|| argument.to_owned());
                Err(located(denial, from))
            };
            let text = match step {
                AliasStep::Task(text) => text,
                AliasStep::Function if self.trusted_aliases.contains(&alias.name) => {
                    steps.push(Pending {
                        task: String::new(),
                        args: Vec::new(),
                        from,
                        means: Means::Function,
                    });
                    continue;
                }
                AliasStep::Function => return refuse(DenialKind::AliasFunctionStep, ""),
            };
            let Some(mut words) = split_step(text).filter(|words| !words.is_empty()) else {
                return refuse(DenialKind::AliasInvalidStep, text);
            };
            let task = words.remove(0);
            let means = if task == alias.name {
                Means::Task
            } else {
                Means::Name
            };
            if means == Means::Task {
                words.append(&mut args);
            } else if at + 1 == alias.steps.len() {
                words.extend(args.iter().cloned());
            }
            steps.push(Pending {
                task,
                args: words,
                from,
                means,
            });
        }
        Ok(steps)
    }
}

fn located(mut denial: Box<Denial>, from: Option<(&str, usize)>) -> Box<Denial> {
    denial.alias = from.map(|(name, step)| AliasPlace {
        name: name.to_owned(),
        step,
    });
    denial
}

/// Splits a step's text into words as Elixir's `OptionParser.split/1` does. None when a quote is
/// not closed.
pub fn split_step(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut chars = text.trim_start_matches(' ').chars().peekable();
    while let Some(c) = chars.next() {
        match (c, quote) {
            // A backslash matters before a space or quote outside quotes, and before the same quote
            // inside.
            ('\\', None) if matches!(chars.peek(), Some(' ' | '"' | '\'')) => {
                word.extend(chars.next())
            }
            ('\\', Some(open)) if chars.peek() == Some(&open) => {
                word.push(open);
                chars.next();
            }
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (' ', None) => {
                words.push(std::mem::take(&mut word));
                while chars.next_if_eq(&' ').is_some() {}
            }
            (c, _) => word.push(c),
        }
    }
    if quote.is_some() {
        return None;
    }
    if !word.is_empty() {
        words.push(word);
    }
    Some(words)
}
