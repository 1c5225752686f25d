//! A plan in the words of a shell: what a person is shown before it runs.

use super::value::join;
use super::word::Word;
use super::{Command, Connector, Plan, Redirection, Stage, Statement, Step, Target};

impl Plan {
    /// The line as it was understood. A shell would read it the same way.
    pub fn shown(&self) -> String {
        Shown {
            folder: self.cwd.clone(),
        }
        .steps(&self.steps)
    }
}

struct Shown {
    /// Where the line is by now; paths of redirections count from it.
    folder: String,
}

impl Shown {
    fn steps(&mut self, steps: &[Step]) -> String {
        let mut text = String::new();
        for (at, step) in steps.iter().enumerate() {
            if at > 0 {
                text.push_str(match step.connector {
                    Connector::Always => "; ",
                    Connector::And => " && ",
                    Connector::Or => " || ",
                });
            }
            text.push_str(&self.step(step));
        }
        text
    }

    fn step(&mut self, step: &Step) -> String {
        let before = self.folder.clone();
        let stages: Vec<String> = step.stages.iter().map(|stage| self.stage(stage)).collect();
        if stages.len() > 1 {
            self.folder = before;
        }
        let timed = if step.timed { "time " } else { "" };
        let negated = if step.negated { "! " } else { "" };
        format!("{timed}{negated}{}", stages.join(" | "))
    }

    fn stage(&mut self, stage: &Stage) -> String {
        match stage {
            Stage::Program(command) => self.program(command),
            Stage::Statement {
                statements,
                redirections,
            } => {
                let after = self.redirections(redirections);
                let said: Vec<String> = statements
                    .iter()
                    .filter_map(|statement| self.statement(statement))
                    .collect();
                let said = match said.as_slice() {
                    [one] => one.clone(),
                    [] => ":".to_owned(),
                    several => format!("{{ {}; }}", several.join("; ")),
                };
                said + &after
            }
            Stage::Group {
                steps,
                subshell,
                redirections,
            } => {
                let after = self.redirections(redirections);
                let before = self.folder.clone();
                let inner = self.steps(steps);
                if *subshell {
                    self.folder = before;
                    format!("({inner}){after}")
                } else {
                    format!("{{ {inner}; }}{after}")
                }
            }
        }
    }

    fn program(&self, command: &Command) -> String {
        // What is said twice holds as it is said last.
        let said = command.env.iter().enumerate().filter(|(at, (name, _))| {
            let later = command.env.iter().skip(at + 1);
            !later.into_iter().any(|(other, _)| other == name)
        });
        let (mut unset, mut set) = (String::new(), String::new());
        for (_, (name, value)) in said {
            match value {
                None => unset.push_str(&format!("-u {name} ")),
                Some(value) => set.push_str(&format!("{name}={} ", quoted(value))),
            }
        }
        let env = if unset.is_empty() { "" } else { "env " };
        let words: Vec<String> = command.argv.iter().map(word).collect();
        let after = self.redirections(&command.redirections);
        format!("{env}{unset}{set}{}{after}", words.join(" "))
    }

    fn statement(&mut self, statement: &Statement) -> Option<String> {
        Some(match statement {
            Statement::Nothing => ":".to_owned(),
            Statement::Assume { .. } => return None,
            Statement::Cd { typed, folder } => {
                self.folder.clone_from(folder);
                format!("cd {}", quoted(typed))
            }
            Statement::Set {
                name,
                value,
                export,
            } => {
                let export = if *export { "export " } else { "" };
                let value = value.as_ref().map(|value| format!("={}", quoted(value)));
                format!("{export}{name}{}", value.unwrap_or_default())
            }
            Statement::Unset { name } => format!("unset {name}"),
            Statement::Exit { code } => match code {
                Some(code) => format!("exit {code}"),
                None => "exit".to_owned(),
            },
        })
    }

    fn redirections(&self, redirections: &[Redirection]) -> String {
        redirections
            .iter()
            .map(|redirection| format!(" {}", self.redirection(redirection)))
            .collect()
    }

    fn redirection(&self, redirection: &Redirection) -> String {
        let fd = match (redirection.fd, &redirection.target) {
            (0, _) | (1, _) if !matches!(redirection.target, Target::Descriptor(_)) => {
                String::new()
            }
            (fd, _) => fd.to_string(),
        };
        let into = if redirection.fd == 0 { "<" } else { ">" };
        match &redirection.target {
            Target::Read(path) => format!("{fd}<{}", self.path(path)),
            Target::Write(path) => format!("{fd}>{}", self.path(path)),
            Target::Append(path) => format!("{fd}>>{}", self.path(path)),
            Target::Descriptor(other) => format!("{fd}>&{other}"),
            Target::Null => format!("{fd}{into}/dev/null"),
            Target::Text(text) => {
                format!("<<<{}", quoted(text.strip_suffix('\n').unwrap_or(text)))
            }
        }
    }

    /// As it was typed, from the folder that the line is in.
    fn path(&self, path: &str) -> String {
        let below = path.strip_prefix(&join(&self.folder, ""));
        quoted(below.filter(|below| !below.is_empty()).unwrap_or(path))
    }
}

fn word(word: &Word) -> String {
    match word {
        Word::Literal(text) => quoted(text),
        Word::Glob { pattern, .. } => {
            let mut shown = String::with_capacity(pattern.len());
            let mut chars = pattern.chars();
            while let Some(c) = chars.next() {
                match c {
                    '\\' => shown.extend([
                        "\\".to_owned(),
                        chars.next().map(String::from).unwrap_or_default(),
                    ]),
                    '*' | '?' | '[' | ']' | '!' | '^' => shown.push(c),
                    c => shown.push_str(&quoted(&c.to_string())),
                }
            }
            shown
        }
        Word::Status { pieces, .. } => {
            let quote = |piece: &String| match piece.as_str() {
                "" => String::new(),
                piece => quoted(piece),
            };
            pieces.iter().map(quote).collect::<Vec<_>>().join("$?")
        }
    }
}

/// In single quotes where a shell would read it otherwise.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_/.:=@+,%-".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
