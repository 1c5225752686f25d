//! A plan against the disk: every path is followed to where it leads, patterns become names.

use std::path::PathBuf;

use super::grammar::{PathMode, names_git};
use super::word::Word;
use super::{Command, Connector, Hardening, MixCall, Network, PathArg, Plan, Target, glob};
use crate::path_boundary::{Boundary, BoundaryError, Resolved};

/// A plan ready to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundPlan {
    /// The folder it runs in.
    pub cwd: PathBuf,
    /// The pipelines.
    pub steps: Vec<BoundStep>,
}

/// A pipeline ready to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundStep {
    /// When it runs, given how the last pipeline that ran ended.
    pub connector: Connector,
    /// Whether its exit code is turned around.
    pub negated: bool,
    /// The commands; each one's output is the next one's input.
    pub commands: Vec<BoundCommand>,
}

/// A program with its arguments, ready to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundCommand {
    /// The arguments, the program's name first.
    pub argv: Vec<String>,
    /// Redirections, in the order in which they apply.
    pub redirections: Vec<BoundRedirection>,
    /// The network it needs.
    pub network: Network,
    /// What its environment must hold.
    pub hardening: Hardening,
    /// The call, when it is `mix`.
    pub mix: Option<MixCall>,
}

/// A redirection whose file is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundRedirection {
    /// 0, 1 or 2.
    pub fd: u8,
    /// Where it goes to or comes from.
    pub target: BoundTarget,
}

/// The target of a redirection, with links followed. It holds at this moment: open it so that no link is followed any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoundTarget {
    /// A file that is read.
    Read(PathBuf),
    /// A file that is made or emptied.
    Write(PathBuf),
    /// A file that is appended to.
    Append(PathBuf),
    /// Another descriptor of the command.
    Descriptor(u8),
    /// The null device.
    Null,
}

/// Why a plan can't be bound.
#[derive(Debug)]
#[non_exhaustive]
pub enum BindError {
    /// A path that leaves the project, or can't be followed.
    Path {
        /// The command's name.
        command: String,
        /// The path.
        path: String,
        /// What the boundary said.
        source: Box<BoundaryError>,
    },
    /// A path that leads to something tools must not change.
    Protected {
        /// The command's name.
        command: String,
        /// The path.
        path: String,
    },
    /// The working directory is missing, or no folder.
    NoDirectory {
        /// The path.
        path: String,
    },
    /// A pattern that becomes more names than a program takes.
    TooManyMatches {
        /// The command's name.
        command: String,
        /// The pattern.
        pattern: String,
    },
}

impl BindError {
    /// The name that crosses to other languages.
    pub fn kind(&self) -> &'static str {
        match self {
            BindError::Path { source, .. } => source.kind(),
            BindError::Protected { .. } => "protected_path",
            BindError::NoDirectory { .. } => "not_a_directory",
            BindError::TooManyMatches { .. } => "too_many_matches",
        }
    }
}

impl std::fmt::Display for BindError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BindError::Path {
                command, source, ..
            } => write!(f, "{command}: {source}"),
            BindError::Protected { command, path } => {
                write!(f, "{command}: {path}: {}", self.kind())
            }
            BindError::NoDirectory { path } => write!(f, "{path}: {}", self.kind()),
            BindError::TooManyMatches { command, pattern } => {
                write!(f, "{command}: {pattern}: {}", self.kind())
            }
        }
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BindError::Path { source, .. } => Some(source.as_ref()),
            _ => None,
        }
    }
}

impl Plan {
    /// Checks every path of the plan on disk and expands its patterns.
    pub fn bind(self, boundary: &Boundary) -> Result<BoundPlan, BindError> {
        let cwd = follow(boundary, "cd", &self.cwd, PathMode::Read)?;
        if !cwd.is_dir {
            return Err(BindError::NoDirectory { path: self.cwd });
        }
        let steps = self.steps.into_iter().map(|step| {
            let commands = step
                .commands
                .into_iter()
                .map(|command| bind_command(boundary, command));
            Ok(BoundStep {
                connector: step.connector,
                negated: step.negated,
                commands: commands.collect::<Result<_, _>>()?,
            })
        });
        Ok(BoundPlan {
            steps: steps.collect::<Result<_, BindError>>()?,
            cwd: cwd.absolute,
        })
    }
}

fn bind_command(boundary: &Boundary, command: Command) -> Result<BoundCommand, BindError> {
    let name = command.argv.first().map_or("", Word::text).to_owned();
    let mut argv = Vec::with_capacity(command.argv.len());
    for (index, word) in command.argv.into_iter().enumerate() {
        let paths = command.paths.iter().filter(|path| path.index == index);
        match word {
            Word::Literal(text) => {
                for path in paths {
                    follow(boundary, &name, &path.path, path.mode)?;
                }
                argv.push(text);
            }
            Word::Glob { pattern, text } => {
                argv.extend(expand(boundary, &name, &pattern, text, paths)?)
            }
        }
    }
    let redirections = command.redirections.into_iter().map(|redirection| {
        let file = |path: &str, mode| {
            follow(boundary, &name, path, mode).map(|resolved| resolved.absolute)
        };
        let target = match &redirection.target {
            Target::Read(path) => BoundTarget::Read(file(path, PathMode::Read)?),
            Target::Write(path) => BoundTarget::Write(file(path, PathMode::Write)?),
            Target::Append(path) => BoundTarget::Append(file(path, PathMode::Write)?),
            Target::Descriptor(fd) => BoundTarget::Descriptor(*fd),
            Target::Null => BoundTarget::Null,
        };
        Ok(BoundRedirection {
            fd: redirection.fd,
            target,
        })
    });
    let redirections = redirections.collect::<Result<_, BindError>>()?;
    Ok(BoundCommand {
        argv,
        redirections,
        network: command.network,
        hardening: command.hardening,
        mix: command.mix,
    })
}

/// The names that a pattern becomes; itself when there are none, as in a shell.
fn expand<'a>(
    boundary: &Boundary,
    command: &str,
    pattern: &str,
    text: String,
    paths: impl Iterator<Item = &'a PathArg>,
) -> Result<Vec<String>, BindError> {
    let mut names = Vec::new();
    for path in paths {
        names = glob::expand(boundary, &path.base, pattern).map_err(|glob::TooMany| {
            BindError::TooManyMatches {
                command: command.to_owned(),
                pattern: text.clone(),
            }
        })?;
        for name in &names {
            follow(
                boundary,
                command,
                &super::grammar::join(&path.base, name),
                path.mode,
            )?;
        }
    }
    if names.is_empty() {
        names.push(text);
    }
    Ok(names)
}

fn follow(
    boundary: &Boundary,
    command: &str,
    path: &str,
    mode: PathMode,
) -> Result<Resolved, BindError> {
    let resolved = boundary.resolve(path).map_err(|source| BindError::Path {
        command: command.to_owned(),
        path: path.to_owned(),
        source,
    })?;
    let relative = resolved.relative.to_string_lossy();
    if mode != PathMode::Read && names_git(&relative)
        || mode == PathMode::Delete && relative.is_empty()
    {
        return Err(BindError::Protected {
            command: command.to_owned(),
            path: path.to_owned(),
        });
    }
    Ok(resolved)
}
