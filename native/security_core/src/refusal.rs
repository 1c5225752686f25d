//! A refusal: one type for every policy, so that a kind and a reason have one name and one
//! sentence.
//!
//! It holds facts, no prose. Names cross to other languages by serde; the words are made there, in
//! one place.

use serde::Serialize;

use crate::path_boundary::lexical::PathFault;

/// Why a call or a line is refused, with what a caller needs to say so and to say what would have
/// been allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Denial {
    /// What kind of refusal it is.
    pub kind: DenialKind,
    /// The command at fault, with its subcommand or Mix task.
    pub command: Option<String>,
    /// The Mix task at fault; for an alias, the step's task.
    pub task: Option<String>,
    /// The word at fault.
    pub argument: Option<String>,
    /// The word's place: in a line among the command's words, from 0 for its name; in a Mix call
    /// among the task's arguments.
    pub index: Option<usize>,
    /// For the shell's own syntax, the byte of the line where it stands.
    pub offset: Option<usize>,
    /// Why something that exists is refused.
    pub reason: Reason,
    /// What is accepted instead.
    pub allowed: Vec<String>,
    /// Where the step stands, when the refusal is about a step of an alias.
    pub alias: Option<AliasPlace>,
    /// The list of commands that was in force, when a command line was judged.
    pub list: Option<List>,
}

/// A step of an alias.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AliasPlace {
    /// The alias's name.
    pub name: String,
    /// The step's place in it, from 0.
    pub step: usize,
}

/// Which commands and tasks a line may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum List {
    /// The closed list, for machines whose kernel does not keep commands in.
    #[default]
    Narrow,
    /// What an engineer types, for commands that run inside a whole fence.
    Wide,
}

pub(crate) type Result<T> = std::result::Result<T, Box<Denial>>;

impl Denial {
    pub(crate) fn new(kind: DenialKind) -> Box<Self> {
        Box::new(Denial {
            kind,
            command: None,
            task: None,
            argument: None,
            index: None,
            offset: None,
            reason: Reason::NotListed,
            allowed: Vec::new(),
            alias: None,
            list: None,
        })
    }

    pub(crate) fn syntax(kind: DenialKind, offset: usize) -> Box<Self> {
        let mut denial = Denial::new(kind);
        denial.offset = Some(offset);
        denial
    }

    pub(crate) fn of_command(mut self: Box<Self>, command: impl Into<String>) -> Box<Self> {
        self.command = Some(command.into());
        self
    }

    pub(crate) fn of_task(mut self: Box<Self>, task: &str) -> Box<Self> {
        self.task = Some(task.to_owned());
        self
    }

    pub(crate) fn with_argument(mut self: Box<Self>, argument: &str) -> Box<Self> {
        self.argument = Some(argument.to_owned());
        self
    }

    pub(crate) fn at(mut self: Box<Self>, index: usize) -> Box<Self> {
        self.index = Some(index);
        self
    }

    pub(crate) fn because(mut self: Box<Self>, reason: Reason) -> Box<Self> {
        self.reason = reason;
        self
    }

    pub(crate) fn allowing<S: Into<String>>(
        mut self: Box<Self>,
        allowed: impl IntoIterator<Item = S>,
    ) -> Box<Self> {
        self.allowed = allowed.into_iter().map(Into::into).collect();
        self
    }
}

impl std::fmt::Display for Denial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.command, &self.task) {
            (Some(command), _) => write!(f, "{command}: {:?}", self.kind),
            (None, Some(task)) => write!(f, "mix {task}: {:?}", self.kind),
            (None, None) => write!(f, "{:?}", self.kind),
        }
    }
}

impl std::error::Error for Denial {}

/// The kinds of refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DenialKind {
    /// No command at all, or only redirections.
    EmptyCommand,
    /// A line, argument or path that is too long, or a line of too many words.
    TooLong,
    /// More commands in one line than anyone types.
    TooManyCommands,
    /// More arguments than a task takes.
    TooManyArguments,
    /// A control character other than tab and line break.
    InvalidCharacters,
    /// A quote that is not closed, or a backslash at the end.
    UnterminatedQuote,
    /// `$(...)`, backquotes, `<(...)`.
    Substitution,
    /// `$NAME`, `$'...'`, `~`, as far as they are not expanded.
    Expansion,
    /// A variable whose value is not known from the line.
    UnknownVariable,
    /// A variable outside quotes whose value would become several words.
    UnquotedVariable,
    /// `{a,b}`.
    BraceExpansion,
    /// `( ... )`.
    Subshell,
    /// `<<` and `<<<`.
    HereDocument,
    /// A here-document without its last line, or one with something to expand.
    HereDocumentUnquoted,
    /// `# ...`.
    Comment,
    /// `! command`.
    Negation,
    /// `&` at the end of a command.
    Background,
    /// `NAME=value` before a command.
    Assignment,
    /// A variable that makes programs load or run other code.
    VariableBlocked,
    /// `if`, `for`, `function` and the like.
    ControlStructure,
    /// Something else that the parser does not take.
    SyntaxError,
    /// A redirection other than of the descriptors 0, 1, 2 to a file, to each other, or to the null
    /// device.
    RedirectionRefused,
    /// A file name pattern where the command takes no list of files.
    GlobNotAllowed,
    /// A shell.
    ShellInterpreterBlocked,
    /// A program that runs other programs.
    LauncherBlocked,
    /// A statement of a shell, such as `eval`.
    BuiltinBlocked,
    /// A command that is not on the list.
    CommandNotAllowed,
    /// A subcommand that is not on the command's list.
    SubcommandNotAllowed,
    /// A command that talks to other machines and is off by default; [`Denial::allowed`] names the
    /// configuration key.
    NetworkBlocked,
    /// An option that the command's list does not have.
    UnknownOption,
    /// An option that exists and is refused; [`Denial::reason`] says why.
    OptionRefused,
    /// An option without its value.
    MissingValue,
    /// A value for an option that takes none.
    UnexpectedValue,
    /// A value of the wrong kind.
    InvalidValue,
    /// A program for `awk` or `sed` that runs commands or writes files, or can't be understood.
    ScriptRefused,
    /// One argument too many.
    UnexpectedArgument,
    /// One argument too few.
    MissingArgument,
    /// A path that climbs out of the project, plain or percent-encoded.
    PathTraversalBlocked,
    /// An absolute path outside the project, or one below a home directory.
    AbsolutePathBlocked,
    /// Changing a path that tools must not change: the project's root itself, or git's own folder.
    ProtectedPath,
    /// Not the shape of a task's name.
    InvalidTaskName,
    /// A task that is never run.
    TaskBlocked,
    /// A task that is not on the list.
    TaskNotAllowed,
    /// An environment other than `dev` and `test`.
    EnvBlocked,
    /// A path that lies in none of the project's test paths.
    OutsideTestPaths,
    /// A file in a test path whose name is not `*_test.exs`.
    NotATestFile,
    /// A step of an alias that is a function.
    AliasFunctionStep,
    /// A step of an alias that can't be read.
    AliasInvalidStep,
    /// An alias that expands to more steps than a project has.
    AliasTooLong,
}

impl From<PathFault> for DenialKind {
    fn from(fault: PathFault) -> Self {
        match fault {
            PathFault::Control => DenialKind::InvalidCharacters,
            PathFault::TooLong => DenialKind::TooLong,
            PathFault::Traversal | PathFault::Encoded => DenialKind::PathTraversalBlocked,
            PathFault::Absolute | PathFault::Home => DenialKind::AbsolutePathBlocked,
        }
    }
}

/// Why an option, a subcommand or a command is refused although it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
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
    /// Names that were read may look like options; `--` must stand before them.
    NeedsDashes,
}
