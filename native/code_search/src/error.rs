//! Why a search could not be done, as data: the text for a reader is made by the caller.

use thiserror::Error as ThisError;

/// Why a search could not be done.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The pattern is not one that the regex engine takes.
    #[error("invalid regex{}: {detail}", at(*position))]
    Pattern {
        /// What is wrong, as a class.
        fault: PatternFault,
        /// What is wrong, in the engine's words.
        detail: String,
        /// The character (counted from 1) at which it is wrong, where the engine knows.
        position: Option<usize>,
    },
    /// The glob can't be read as one.
    #[error("invalid glob: {detail}")]
    Glob {
        /// What is wrong, in the engine's words.
        detail: String,
    },
    /// No such file type; similar names, best first.
    #[error("unknown file type{}", similar(near))]
    UnknownFileType {
        /// Names that look like the one given.
        near: Vec<String>,
    },
    /// The project's root is missing or is not a directory.
    #[error("the project's root is not a directory")]
    Root,
    /// The path does not exist inside the project.
    #[error("no such path in the project")]
    NotFound,
    /// The path leads out of the project.
    #[error("the path leads out of the project")]
    Outside,
    /// The path is neither a directory nor a regular file.
    #[error("the path is neither a directory nor a regular file")]
    NotSearchable,
    /// The system does not let us read the path.
    #[error("the path cannot be read")]
    Unreadable,
    /// An ignore file of the directory is not a regular file or is absurdly large.
    #[error("an ignore file of the directory is not a small regular file")]
    UnsafeRules,
    /// The token was set before the search ended.
    #[error("cancelled")]
    Cancelled,
    /// Time ran out before anything was found.
    #[error("timed out after {files_searched} files, nothing found")]
    TimedOut {
        /// Files that had been searched by then.
        files_searched: u64,
    },
    /// As many searches as allowed were running all the time, or the system has no thread to give.
    #[error("too many searches are running")]
    Busy,
    /// A bug here: a thread of the search panicked.
    #[error("internal error")]
    Internal,
}

/// The class of a pattern's fault, for choosing a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternFault {
    /// Nothing to look for.
    Empty,
    /// Longer than a pattern may be.
    TooLong,
    /// `(?=`, `(?!`, `(?<=` or `(?<!`.
    LookAround,
    /// `\1` and the like.
    Backreference,
    /// `{` or `}` that is meant as itself.
    Brace,
    /// A group or class that is not closed or not opened.
    Unbalanced,
    /// `*`, `+` or `?` with nothing to repeat.
    NothingToRepeat,
    /// A line end in a pattern that is matched line by line.
    LineEnd,
    /// Compiles to a machine larger than allowed.
    TooBig,
    /// Anything else.
    Syntax,
}

fn at(position: Option<usize>) -> String {
    position.map_or_else(String::new, |at| format!(" at character {at}"))
}

fn similar(near: &[String]) -> String {
    if near.is_empty() {
        return String::new();
    }
    format!(", similar: {}", near.join(", "))
}
