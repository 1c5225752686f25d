//! What a search found and what it left out.

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The listing, without a line end at its end. Empty when nothing was found.
    pub text: String,
    /// Results in the text: matches in content mode, files in the other modes.
    pub shown: u64,
    /// Results in all that was searched, in the same unit.
    pub total: u64,
    /// Files with at least one match.
    pub files_matched: u64,
    /// Files that were read.
    pub files_searched: u64,
    /// Lines of the text that were cut because they were too long.
    pub lines_cut: u64,
    /// Why the text does not show every result, when it doesn't.
    pub cut: Option<Cut>,
    /// Time ran out: the totals count only what had been searched by then, and a later run may
    /// differ.
    pub timed_out: bool,
    /// What was not, or not wholly, searched.
    pub skipped: Skipped,
}

/// What keeps the text from showing every result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The caller's limit on results.
    HeadLimit,
    /// The budget of characters.
    Budget,
}

/// Counts of what was not, or not wholly, searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Files left at their first NUL byte.
    pub binary: u64,
    /// Files with a line (or, in multi-line mode, a size) beyond the memory given to one file.
    pub too_large: u64,
    /// Files and directories that the system did not let us read.
    pub unreadable: u64,
    /// Directories whose ignore rules are no regular file or are absurdly large.
    pub unsafe_rules: u64,
}
