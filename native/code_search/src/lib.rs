//! Regex search over a project's files, in process, on ripgrep's own crates.
//!
//! [`Search::run`] walks a tree in parallel, honours ignore rules, and returns a [`Report`]: a text
//! listing that fits a budget of characters, with the totals of what was found and what was left
//! out. The same tree gives the same report on every run: results are the first ones in path order,
//! however the threads happened to be scheduled.
//!
//! What is searched follows ripgrep's defaults:
//!
//! - hidden files are skipped; `.gitignore` (inside a git repository), `.git/info/exclude`,
//!   `.ignore` and `.rgignore` hold, including those of the directories above. The excludes file of
//!   the machine's git configuration is *not* read: a user's personal settings must not change what
//!   is found in a project;
//! - symbolic links are not followed;
//! - a file with a NUL byte is binary and is searched only up to the block of 64 KB that holds the
//!   first one. Lines found before it are shown; a count of them is not;
//! - UTF-16 files with a byte order mark are transcoded.
//!
//! What differs, because the caller shares its memory and its time with others: a file is skipped,
//! and counted as skipped, when one line of it (or, in multi-line mode, the whole of it) exceeds
//! [`FILE_MEMORY`]; and every file is opened relative to the project's root by a path without
//! links, so that a directory swapped for a link during the search leads nowhere.
//!
//! ```no_run
//! use code_search::{CancelToken, Options, Search};
//! use std::time::Duration;
//!
//! let search = Search {
//!     root: "/projects/shop".into(),
//!     path: "lib".into(),
//!     pattern: r"def \w+_total".into(),
//!     options: Options::default(),
//! };
//! let report = search.run(&CancelToken::new(), Duration::from_secs(30))?;
//! println!("{}", report.text);
//! # Ok::<(), code_search::Error>(())
//! ```

mod error;
mod excerpt;
mod file_type;
mod gather;
mod globs;
mod listing;
mod pattern;
mod place;
mod reader;
mod report;
mod rules;
mod run;
mod stop;

pub use error::{Error, PatternFault};
pub use report::{Cut, Report, Skipped};
pub use run::{FILE_MEMORY, MAX_RUNNING, Search};
pub use stop::CancelToken;

/// What a search reports for each file that matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputMode {
    /// The matching lines with their numbers, grouped under their file.
    #[default]
    Content,
    /// The file's path only.
    FilesWithMatches,
    /// The path and how many lines match (in multi-line mode: how many matches there are).
    Count,
}

/// How a search is done and how much of it is shown.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is reported per file.
    pub output_mode: OutputMode,
    /// Lines shown before each match; content mode only.
    pub context_before: usize,
    /// Lines shown after each match; content mode only.
    pub context_after: usize,
    /// A type name as ripgrep knows it (`elixir`, `rust`, ...), or a file name extension (`ex`).
    pub file_type: Option<String>,
    /// A glob in the syntax of `.gitignore`, from the project's root. It narrows the search, and
    /// does not apply to a path that is a file.
    pub glob: Option<String>,
    /// Letters match whatever their case.
    pub case_insensitive: bool,
    /// Matches may span lines, and `.` matches a line's end too.
    pub multiline: bool,
    /// Most results shown: matches in content mode, files in the other modes.
    pub head_limit: Option<usize>,
    /// Most characters in the report's text.
    pub budget: usize,
    /// Bytes of one line that are shown; a longer line is cut around its first match.
    pub line_limit: usize,
    /// Threads that search; `None` takes the machine's parallelism, at most 8.
    pub threads: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            output_mode: OutputMode::Content,
            context_before: 0,
            context_after: 0,
            file_type: None,
            glob: None,
            case_insensitive: false,
            multiline: false,
            head_limit: None,
            budget: 30_000,
            line_limit: 500,
            threads: None,
        }
    }
}
