//! Why something that exists is refused: one list for every policy, so that a reason has one name and one sentence.

/// Why an option, a subcommand or a command is refused although it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// It is on no list.
    NotListed,
    /// It runs another program.
    RunsProgram,
    /// It evaluates code, a file or a module of the caller's choice.
    EvaluatesCode,
    /// It works outside the project, or is told by a file where to work.
    LeavesProject,
    /// It follows links, which may lead out of the project.
    FollowsLinks,
    /// It waits for a person, or for standard input, which is closed.
    WaitsForInput,
    /// It runs until it is killed.
    NeverEnds,
    /// It writes to a file that nobody named for writing, so that no path was checked.
    WritesFile,
    /// It removes things by a search instead of by name.
    DeletesBySearch,
    /// It changes settings of the machine or the repository.
    ChangesSettings,
    /// It changes what the project depends on, unasked or all at once.
    ChangesDependencies,
    /// It would make a run look better than it was.
    HidesFailure,
    /// The tool has a parameter for it.
    UseParameter,
}

impl Reason {
    /// The name that crosses to other languages.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::NotListed => "not_listed",
            Reason::RunsProgram => "runs_program",
            Reason::EvaluatesCode => "evaluates_code",
            Reason::LeavesProject => "leaves_project",
            Reason::FollowsLinks => "follows_links",
            Reason::WaitsForInput => "waits_for_input",
            Reason::NeverEnds => "never_ends",
            Reason::WritesFile => "writes_file",
            Reason::DeletesBySearch => "deletes_by_search",
            Reason::ChangesSettings => "changes_settings",
            Reason::ChangesDependencies => "changes_dependencies",
            Reason::HidesFailure => "hides_failure",
            Reason::UseParameter => "use_parameter",
        }
    }
}
