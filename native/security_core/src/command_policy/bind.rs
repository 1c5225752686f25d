//! A plan against the disk: every path is followed to where it leads, patterns become names.

use std::path::PathBuf;

use thiserror::Error;

use super::grammar::PathMode;
use super::value::{join, names_git};
use super::word::Word;
use super::{Command, Plan, Redirection, Stage, Step, Target, glob};
use crate::path_boundary::{Boundary, BoundaryError, Resolved};

/// A program with its arguments, ready to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundCommand {
    /// The arguments, the program's name first.
    pub argv: Vec<String>,
    /// Redirections, in the order in which they apply.
    pub redirections: Vec<BoundRedirection>,
}

/// A redirection whose file is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundRedirection {
    /// 0, 1 or 2.
    pub fd: u8,
    /// Where it goes to or comes from.
    pub target: BoundTarget,
}

/// The target of a redirection, with links followed. It holds at this moment: open it so that no
/// link is followed any more.
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
    /// Text that is read.
    Text(String),
}

/// Why a plan can't be bound.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BindError {
    /// A path that leaves the project, or can't be followed.
    #[error("{command}: {source}")]
    Path {
        /// The command's name.
        command: String,
        /// The path.
        path: String,
        /// What the boundary said.
        source: Box<BoundaryError>,
    },
    /// A path that leads to something tools must not change.
    #[error("{command}: {path}: must not be changed by a tool")]
    Protected {
        /// The command's name.
        command: String,
        /// The path.
        path: String,
    },
    /// The working directory is missing, or no folder.
    #[error("{path}: not a folder")]
    NoDirectory {
        /// The path.
        path: String,
    },
    /// A pattern that becomes more names than a program takes.
    #[error("{command}: {pattern}: too many files")]
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

impl Plan {
    /// Checks every path of the plan on disk and expands its patterns, as far as they can be told
    /// before it runs.
    pub fn bind(&self, boundary: &Boundary) -> Result<Vec<BoundCommand>, BindError> {
        let cwd = follow(boundary, "cd", &self.cwd, PathMode::Read)?;
        if !cwd.is_dir {
            return Err(BindError::NoDirectory {
                path: self.cwd.clone(),
            });
        }
        let mut bound = Vec::new();
        bind_steps(&self.steps, boundary, &mut bound)?;
        Ok(bound)
    }
}

fn bind_steps(
    steps: &[Step],
    boundary: &Boundary,
    bound: &mut Vec<BoundCommand>,
) -> Result<(), BindError> {
    for stage in steps.iter().flat_map(|step| &step.stages) {
        match stage {
            Stage::Program(command) => bound.push(command.bind(boundary, 0)?),
            Stage::Statement { redirections, .. } => {
                bind_redirections(redirections, boundary, "redirection")?;
            }
            Stage::Group {
                steps,
                redirections,
                ..
            } => {
                bind_redirections(redirections, boundary, "redirection")?;
                bind_steps(steps, boundary, bound)?;
            }
        }
    }
    Ok(())
}

impl Command {
    /// Follows its paths to where they lead now, and puts names in the place of patterns and `last`
    /// in the place of `$?`.
    pub fn bind(&self, boundary: &Boundary, last: i32) -> Result<BoundCommand, BindError> {
        let name = self.argv.first().map_or("", Word::text);
        let mut argv = Vec::with_capacity(self.argv.len());
        for (index, word) in self.argv.iter().enumerate() {
            let paths = || self.paths.iter().filter(|path| path.index == index);
            match word {
                Word::Glob { pattern, text } => {
                    let names = self.expand(boundary, name, pattern, text)?;
                    for (path, found) in
                        paths().flat_map(|path| names.iter().map(move |f| (path, f)))
                    {
                        follow(boundary, name, &join(&path.base, found), path.mode)?;
                    }
                    argv.extend(if names.is_empty() {
                        vec![text.clone()]
                    } else {
                        names
                    });
                }
                Word::Literal(text) => {
                    for path in paths() {
                        follow(boundary, name, &path.path, path.mode)?;
                    }
                    argv.push(text.clone());
                }
                Word::Status { pieces, .. } => argv.push(pieces.join(&last.to_string())),
            }
        }
        let redirections = bind_redirections(&self.redirections, boundary, name)?;
        Ok(BoundCommand { argv, redirections })
    }

    /// The names that a pattern becomes; none stands for itself, as in a shell.
    fn expand(
        &self,
        boundary: &Boundary,
        command: &str,
        pattern: &str,
        text: &str,
    ) -> Result<Vec<String>, BindError> {
        glob::expand(boundary, &self.cwd, pattern).map_err(|glob::TooMany| {
            BindError::TooManyMatches {
                command: command.to_owned(),
                pattern: text.to_owned(),
            }
        })
    }
}

/// Follows the files of redirections to where they lead now.
pub fn bind_redirections(
    redirections: &[Redirection],
    boundary: &Boundary,
    command: &str,
) -> Result<Vec<BoundRedirection>, BindError> {
    let bound = redirections.iter().map(|redirection| {
        let file = |path: &str, mode| {
            follow(boundary, command, path, mode).map(|resolved| resolved.absolute)
        };
        let target = match &redirection.target {
            Target::Read(path) => BoundTarget::Read(file(path, PathMode::Read)?),
            Target::Write(path) => BoundTarget::Write(file(path, PathMode::Write)?),
            Target::Append(path) => BoundTarget::Append(file(path, PathMode::Write)?),
            Target::Descriptor(fd) => BoundTarget::Descriptor(*fd),
            Target::Null => BoundTarget::Null,
            Target::Text(text) => BoundTarget::Text(text.clone()),
        };
        Ok(BoundRedirection {
            fd: redirection.fd,
            target,
        })
    });
    bound.collect()
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
