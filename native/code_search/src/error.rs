//! Why a search could not be done, as data: the text for a reader is made by the caller.

use std::fmt;

/// Why a search could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The pattern is not one that the regex engine takes.
    Pattern {
        /// What is wrong, as a class.
        fault: PatternFault,
        /// What is wrong, in the engine's words.
        detail: String,
        /// The character (counted from 1) at which it is wrong, where the engine knows.
        position: Option<usize>,
    },
    /// No such file type; similar names, best first.
    UnknownFileType {
        /// Names that look like the one given.
        near: Vec<String>,
    },
    /// The project's root is missing or is not a directory.
    Root,
    /// The path does not exist inside the project.
    NotFound,
    /// The path leads out of the project.
    Outside,
    /// The path is neither a directory nor a regular file.
    NotSearchable,
    /// The system does not let us read the path.
    Unreadable,
    /// An ignore file of the directory is no regular file or is absurdly large.
    UnsafeRules,
    /// The token was set before the search ended.
    Cancelled,
    /// Time ran out before anything was found.
    TimedOut {
        /// Files that had been searched by then.
        files_searched: u64,
    },
    /// As many searches as allowed were running all the time, or the system has no thread to give.
    Busy,
    /// A bug here: a thread of the search panicked.
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

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Pattern {
                detail,
                position: Some(at),
                ..
            } => write!(f, "invalid regex at character {at}: {detail}"),
            Error::Pattern {
                detail,
                position: None,
                ..
            } => write!(f, "invalid regex: {detail}"),
            Error::UnknownFileType { near } if near.is_empty() => f.write_str("unknown file type"),
            Error::UnknownFileType { near } => {
                write!(f, "unknown file type, similar: {}", near.join(", "))
            }
            Error::Root => f.write_str("the project's root is not a directory"),
            Error::NotFound => f.write_str("no such path in the project"),
            Error::Outside => f.write_str("the path leads out of the project"),
            Error::NotSearchable => {
                f.write_str("the path is neither a directory nor a regular file")
            }
            Error::Unreadable => f.write_str("the path cannot be read"),
            Error::UnsafeRules => {
                f.write_str("an ignore file of the directory is not a small regular file")
            }
            Error::Cancelled => f.write_str("cancelled"),
            Error::TimedOut { files_searched } => {
                write!(f, "timed out after {files_searched} files, nothing found")
            }
            Error::Busy => f.write_str("too many searches are running"),
            Error::Internal => f.write_str("internal error"),
        }
    }
}

impl std::error::Error for Error {}
