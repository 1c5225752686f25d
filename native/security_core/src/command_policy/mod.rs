//! Which command lines may run, and as what.
//!
//! A line is parsed by a real shell parser, every command in it is matched against its own grammar of options and paths, and the answer is a
//! [`Plan`] that runs without a shell: programs with their arguments, joined by `|`, `&&`, `||` and `;`. What the parser or a grammar does
//! not fully understand is refused, with the reason and what is allowed instead.
//!
//! Deciding is pure. [`bind`](Plan::bind) then checks every path on disk and expands file name patterns inside the project.
//!
//! ```
//! use security_core::command_policy::{CommandPolicy, Connector, DenialKind, PathMode, Place};
//!
//! let policy = CommandPolicy::new();
//! let plan = policy.check("cat lib/a.ex | wc -l && rm -f tmp/x", Place::default()).unwrap();
//! assert_eq!(plan.steps[1].connector, Connector::And);
//! let path = &plan.steps[1].commands[0].paths[0];
//! assert_eq!((path.path.as_str(), path.mode), ("tmp/x", PathMode::Delete));
//!
//! let denial = policy.check("find . -exec id {} +", Place::default()).unwrap_err();
//! assert_eq!((denial.kind, denial.argument.as_deref()), (DenialKind::OptionRefused, Some("-exec")));
//! ```
//!
//! What this can't promise: a program that is allowed to run the project's own code (`mix test`, `make`, `npm test`, a script) runs that code.
//! And between `bind` and the program's own `open` a path may change. Both are for the operating system's sandbox to hold.

mod bind;
mod commands;
mod git;
mod glob;
mod grammar;
mod programs;
mod syntax;
mod word;

use crate::mix_policy::{self, MixPolicy};
use crate::path_boundary::lexical::{self, PathFault};

pub use crate::refusal::Reason;
pub use bind::{BindError, BoundCommand, BoundPlan, BoundRedirection, BoundStep, BoundTarget};
pub use grammar::{Arg, CommandGrammar, Kind, PathMode};
pub use programs::{Hardening, git_hardening};
pub use syntax::MAX_LINE_BYTES;
pub use word::Word;

/// What a line runs, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The folder it runs in, relative to the project's root: the caller's, moved by `cd DIR &&` at the start of the line.
    pub cwd: String,
    /// The pipelines.
    pub steps: Vec<Step>,
}

/// A pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// When it runs, given how the last pipeline that ran ended.
    pub connector: Connector,
    /// Whether its exit code is turned around (`! command`).
    pub negated: bool,
    /// The commands; each one's output is the next one's input.
    pub commands: Vec<Command>,
}

/// How a pipeline is joined to what came before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connector {
    /// It runs in any case.
    Always,
    /// It runs when the last exit code is 0.
    And,
    /// It runs when the last exit code is not 0.
    Or,
}

/// A program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The arguments, the program's name first.
    pub argv: Vec<Word>,
    /// Redirections, in the order in which they apply.
    pub redirections: Vec<Redirection>,
    /// Every path among the arguments.
    pub paths: Vec<PathArg>,
    /// The network it needs.
    pub network: Network,
    /// What its environment must hold so that configuration files can't make it run other programs.
    pub hardening: Hardening,
    /// The call, when it is `mix`: the caller may want to look at the project's aliases.
    pub mix: Option<MixCall>,
}

/// A call of Mix that its policy has accepted, but for the project's aliases, which only the project can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixCall {
    /// The task; with [`Place::aliases`] perhaps an alias that no list has.
    pub task: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment, when the line says one (`MIX_ENV=test mix ...`).
    pub env: Option<String>,
}

/// A path among the arguments of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathArg {
    /// Its place in `argv`.
    pub index: usize,
    /// The path, relative to the project's root unless absolute. For a pattern, the pattern's text.
    pub path: String,
    /// The folder that it counts from, relative to the project's root.
    pub base: String,
    /// What the command does with it.
    pub mode: PathMode,
}

/// A redirection of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirection {
    /// 0, 1 or 2.
    pub fd: u8,
    /// Where it goes to or comes from.
    pub target: Target,
}

/// The target of a redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A file that is read.
    Read(String),
    /// A file that is made or emptied.
    Write(String),
    /// A file that is appended to.
    Append(String),
    /// Another descriptor of the command.
    Descriptor(u8),
    /// The null device.
    Null,
}

/// The network that a command needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Network {
    /// None.
    None,
    /// Any: databases, downloads.
    All,
}

/// Why a line is refused, with what a caller needs to say so and to say what would have been allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// What kind of refusal it is.
    pub kind: DenialKind,
    /// The command at fault, with its subcommand.
    pub command: Option<String>,
    /// The word at fault.
    pub argument: Option<String>,
    /// The word's place among the command's words, from 0 for the command's name.
    pub index: Option<usize>,
    /// For the shell's own syntax, the byte of the line where it stands.
    pub offset: Option<usize>,
    /// Why an option or command that exists is refused.
    pub reason: Reason,
    /// What is accepted instead.
    pub allowed: Vec<String>,
    /// The Mix policy's refusal, when `mix` was at fault.
    pub mix: Option<Box<mix_policy::Denial>>,
}

impl Denial {
    fn new(kind: DenialKind) -> Box<Self> {
        Box::new(Denial {
            kind,
            command: None,
            argument: None,
            index: None,
            offset: None,
            reason: Reason::NotListed,
            allowed: Vec::new(),
            mix: None,
        })
    }

    fn syntax(kind: DenialKind, offset: usize) -> Box<Self> {
        let mut denial = Denial::new(kind);
        denial.offset = Some(offset);
        denial
    }

    fn with_argument(mut self: Box<Self>, argument: &str) -> Box<Self> {
        self.argument = Some(argument.to_owned());
        self
    }

    fn at(mut self: Box<Self>, index: usize) -> Box<Self> {
        self.index = Some(index);
        self
    }

    fn because(mut self: Box<Self>, reason: Reason) -> Box<Self> {
        self.reason = reason;
        self
    }

    fn allowing<S: Into<String>>(
        mut self: Box<Self>,
        allowed: impl IntoIterator<Item = S>,
    ) -> Box<Self> {
        self.allowed = allowed.into_iter().map(Into::into).collect();
        self
    }
}

impl std::fmt::Display for Denial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.command {
            Some(command) => write!(f, "{command}: {}", self.kind.as_str()),
            None => f.write_str(self.kind.as_str()),
        }
    }
}

impl std::error::Error for Denial {}

type Result<T> = std::result::Result<T, Box<Denial>>;

/// The kinds of refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DenialKind {
    /// No command at all, or only redirections.
    EmptyCommand,
    /// A line longer than [`MAX_LINE_BYTES`], or of too many words.
    TooLong,
    /// More commands in one line than anyone types.
    TooManyCommands,
    /// A control character other than tab and line break.
    InvalidCharacters,
    /// A quote that is not closed, or a backslash at the end.
    UnterminatedQuote,
    /// `$(...)`, backquotes, `<(...)`.
    Substitution,
    /// `$NAME`, `$'...'`, `~`.
    Expansion,
    /// `{a,b}`.
    BraceExpansion,
    /// `( ... )`.
    Subshell,
    /// `<<` and `<<<`.
    HereDocument,
    /// `# ...`.
    Comment,
    /// `&` at the end of a command.
    Background,
    /// `NAME=value` before a command.
    Assignment,
    /// `if`, `for`, `{`, `function` and the like.
    ControlStructure,
    /// Something else that the parser does not take.
    SyntaxError,
    /// A redirection other than of the descriptors 0, 1, 2 to a file, to each other, or to the null device.
    RedirectionRefused,
    /// A file name pattern where the command takes no list of files.
    GlobNotAllowed,
    /// A shell.
    ShellBlocked,
    /// A program that runs other programs.
    LauncherBlocked,
    /// A statement of a shell, such as `export`.
    BuiltinBlocked,
    /// A command that is not on the list.
    CommandNotAllowed,
    /// A subcommand that is not on the command's list.
    SubcommandNotAllowed,
    /// A command that talks to other machines and is off by default; [`Denial::allowed`] names the configuration key.
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
    /// The Mix policy refuses the call; [`Denial::mix`] says why.
    MixRefused,
}

impl DenialKind {
    /// The name that crosses to other languages.
    pub fn as_str(self) -> &'static str {
        match self {
            DenialKind::EmptyCommand => "empty_command",
            DenialKind::TooLong => "too_long",
            DenialKind::TooManyCommands => "too_many_commands",
            DenialKind::InvalidCharacters => "invalid_characters",
            DenialKind::UnterminatedQuote => "unterminated_quote",
            DenialKind::Substitution => "substitution",
            DenialKind::Expansion => "expansion",
            DenialKind::BraceExpansion => "brace_expansion",
            DenialKind::Subshell => "subshell",
            DenialKind::HereDocument => "here_document",
            DenialKind::Comment => "comment",
            DenialKind::Background => "background",
            DenialKind::Assignment => "assignment",
            DenialKind::ControlStructure => "control_structure",
            DenialKind::SyntaxError => "syntax_error",
            DenialKind::RedirectionRefused => "redirection_refused",
            DenialKind::GlobNotAllowed => "glob_not_allowed",
            DenialKind::ShellBlocked => "shell_interpreter_blocked",
            DenialKind::LauncherBlocked => "launcher_blocked",
            DenialKind::BuiltinBlocked => "builtin_blocked",
            DenialKind::CommandNotAllowed => "command_not_allowed",
            DenialKind::SubcommandNotAllowed => "subcommand_not_allowed",
            DenialKind::NetworkBlocked => "network_blocked",
            DenialKind::UnknownOption => "unknown_option",
            DenialKind::OptionRefused => "option_refused",
            DenialKind::MissingValue => "missing_value",
            DenialKind::UnexpectedValue => "unexpected_value",
            DenialKind::InvalidValue => "invalid_value",
            DenialKind::UnexpectedArgument => "unexpected_argument",
            DenialKind::MissingArgument => "missing_argument",
            DenialKind::PathTraversalBlocked => "path_traversal_blocked",
            DenialKind::AbsolutePathBlocked => "absolute_path_blocked",
            DenialKind::ProtectedPath => "protected_path",
            DenialKind::MixRefused => "mix_refused",
        }
    }
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

/// Programs that run command lines.
pub const SHELLS: &[&str] = &[
    "sh", "bash", "zsh", "fish", "dash", "ksh", "csh", "tcsh", "ash", "mksh", "rbash", "busybox",
    "pwsh", "nu", "xonsh", "elvish",
];

/// Programs that run other programs, or become someone else first.
pub const LAUNCHERS: &[&str] = &[
    "env",
    "xargs",
    "sudo",
    "doas",
    "su",
    "runuser",
    "nohup",
    "setsid",
    "nice",
    "ionice",
    "chrt",
    "taskset",
    "timeout",
    "stdbuf",
    "unbuffer",
    "script",
    "watch",
    "parallel",
    "time",
    "strace",
    "ltrace",
    "gdb",
    "chroot",
    "unshare",
    "nsenter",
    "flock",
    "ssh",
    "at",
    "batch",
    "crontab",
    "systemd-run",
    "docker",
    "podman",
    "awk",
    "gawk",
    "mawk",
    "sed",
    "ed",
    "ex",
    "vi",
    "vim",
    "nvim",
    "emacs",
    "perl",
    "ruby",
    "php",
    "lua",
    "tclsh",
    "expect",
    "m4",
    "socat",
    "nc",
    "ncat",
];

/// Statements of a shell that are no programs.
pub const BUILTINS: &[&str] = &[
    "eval", "exec", "source", ".", "cd", "pushd", "popd", "export", "unset", "set", "shopt",
    "alias", "unalias", "trap", "read", "declare", "typeset", "local", "readonly", "builtin",
    "command", "enable", "hash", "type", "ulimit", "umask", "wait", "jobs", "fg", "bg", "kill",
    "exit", "return", "shift", "let", "mapfile", "history", "fc", "bind", "complete", ":",
];

/// The policy: the closed list of commands and what a user's configuration adds. Built once, then read only.
#[derive(Debug, Clone)]
pub struct CommandPolicy {
    commands: Vec<CommandGrammar>,
    mix: MixPolicy,
    git_network: bool,
    git_push: bool,
}

impl Default for CommandPolicy {
    fn default() -> Self {
        let mut commands = commands::text_and_files();
        commands.push(git::git());
        commands.extend(programs::programs());
        CommandPolicy {
            commands,
            mix: MixPolicy::default(),
            git_network: false,
            git_push: false,
        }
    }
}

/// The configuration key that lets `git fetch` and `git pull` through.
pub const GIT_NETWORK_KEY: &str = "git_network";
/// The configuration key that lets `git push` through.
pub const GIT_PUSH_KEY: &str = "git_push";

/// Where a line runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place<'a> {
    /// The project's root as an absolute path. Without it every absolute path is refused.
    pub root: Option<&'a str>,
    /// The working directory, relative to the root; empty for the root.
    pub cwd: &'a str,
    /// The caller judges every [`MixCall`] with the project's aliases: a task that is not on the list, and not blocked, is left to it.
    pub aliases: bool,
}

impl CommandPolicy {
    /// The built-in policy.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes this policy for `mix`.
    pub fn with_mix(mut self, mix: MixPolicy) -> Self {
        self.mix = mix;
        self
    }

    /// Allows `git fetch` and `git pull`.
    pub fn allow_git_network(mut self, allow: bool) -> Self {
        self.git_network = allow;
        self
    }

    /// Allows `git push`.
    pub fn allow_git_push(mut self, allow: bool) -> Self {
        self.git_push = allow;
        self
    }

    /// Allows a further command. Shells, launchers and a shell's own statements stay refused, and a built-in command keeps its grammar.
    pub fn allow_command(mut self, command: CommandGrammar) -> Self {
        self.commands.push(command);
        self
    }

    /// The names of the commands that may be run.
    pub fn allowed_commands(&self) -> impl Iterator<Item = &str> {
        self.commands.iter().map(|command| command.name.as_str())
    }

    /// Checks a command's name alone.
    pub fn check_command(&self, name: &str) -> Result<()> {
        self.find(name).map(|_| ())
    }

    /// Decides a line.
    pub fn check(&self, line: &str, place: Place<'_>) -> Result<Plan> {
        let mut pipelines = syntax::parse(line)?.into_iter().peekable();
        let mut cwd = self.enter(place.cwd, "", place)?;
        // `cd DIR && ...` at the start only says where the rest runs, so it needs no shell.
        while let Some(pipeline) = pipelines.peek() {
            let first = pipeline.commands.first().filter(|command| {
                command
                    .words
                    .first()
                    .is_some_and(|word| word.text() == "cd")
            });
            let Some(command) = first else { break };
            let alone = pipeline.commands.len() == 1
                && !pipeline.negated
                && pipeline.connector != Connector::Or;
            if !alone || !command.redirections.is_empty() || !command.assignments.is_empty() {
                break;
            }
            let [_, Word::Literal(dir)] = command.words.as_slice() else {
                break;
            };
            if dir.starts_with('-') {
                break;
            }
            cwd = self.enter(dir, &cwd, place)?;
            pipelines.next();
            if pipelines
                .peek()
                .is_some_and(|next| next.connector == Connector::Or)
            {
                return Err(Denial::new(DenialKind::BuiltinBlocked)
                    .with_argument("cd")
                    .because(Reason::UseParameter));
            }
        }
        let place = Place { cwd: &cwd, ..place };
        let mut steps = pipelines
            .map(|pipeline| {
                let commands = pipeline
                    .commands
                    .into_iter()
                    .map(|command| self.command(command, place));
                Ok(Step {
                    connector: pipeline.connector,
                    negated: pipeline.negated,
                    commands: commands.collect::<Result<_>>()?,
                })
            })
            .collect::<Result<Vec<Step>>>()?;
        match steps.first_mut() {
            Some(first) => first.connector = Connector::Always,
            None => return Err(Denial::new(DenialKind::EmptyCommand)),
        }
        Ok(Plan { cwd, steps })
    }

    fn enter(&self, dir: &str, cwd: &str, place: Place<'_>) -> Result<String> {
        grammar::check_path(dir, cwd, place.root, PathMode::Read).map_err(|kind| {
            let mut denial = Denial::new(kind).with_argument(dir).at(1);
            denial.command = Some("cd".into());
            denial
        })?;
        Ok(match place.root.filter(|_| dir.starts_with('/')) {
            Some(root) => lexical::strip_root(dir, root).unwrap_or("").to_owned(),
            None => grammar::join(cwd, dir),
        })
    }

    fn find(&self, name: &str) -> Result<&CommandGrammar> {
        let refuse =
            |kind, reason| Err(Denial::new(kind).with_argument(name).at(0).because(reason));
        let base = name.rsplit('/').next().unwrap_or(name);
        if SHELLS.contains(&base) {
            return refuse(DenialKind::ShellBlocked, Reason::RunsProgram);
        }
        if LAUNCHERS.contains(&base) {
            return refuse(DenialKind::LauncherBlocked, Reason::RunsProgram);
        }
        if BUILTINS.contains(&name) {
            let reason = if name == "cd" {
                Reason::UseParameter
            } else {
                Reason::EvaluatesCode
            };
            return refuse(DenialKind::BuiltinBlocked, reason);
        }
        self.commands
            .iter()
            .find(|command| command.name == name)
            .ok_or_else(|| {
                Denial::new(DenialKind::CommandNotAllowed)
                    .with_argument(name)
                    .at(0)
                    .allowing(self.allowed_commands())
            })
    }

    fn command(&self, raw: syntax::RawCommand, place: Place<'_>) -> Result<Command> {
        let Some(name) = raw.words.first() else {
            let kind = if raw.assignments.is_empty() {
                DenialKind::EmptyCommand
            } else {
                DenialKind::Assignment
            };
            return Err(Denial::new(kind));
        };
        if name.is_glob() {
            return Err(Denial::new(DenialKind::GlobNotAllowed)
                .with_argument(name.text())
                .at(0));
        }
        let grammar = self.find(name.text())?;
        let env = self.environment(&raw, name.text())?;
        let mut redirections = Vec::new();
        for raw in &raw.redirections {
            redirections.push(redirection(raw, place)?);
            if matches!(raw.kind, syntax::RedirectionKind::Both { .. }) {
                redirections.push(Redirection {
                    fd: 2,
                    target: Target::Descriptor(1),
                });
            }
        }
        let mut command = if grammar.name == "mix" {
            programs::mix(&self.mix, raw.words, env, place)?
        } else {
            let matched = grammar::check(grammar, &raw.words, place)?;
            self.check_network(&matched)?;
            matched.command
        };
        command.redirections = redirections;
        Ok(command)
    }

    /// The only assignment taken is Mix's environment, since the policy has a say in it.
    fn environment(&self, raw: &syntax::RawCommand, name: &str) -> Result<Option<String>> {
        let mut env = None;
        for (variable, value) in &raw.assignments {
            let value = match value {
                Word::Literal(value) if variable == "MIX_ENV" && name == "mix" => value,
                _ => {
                    return Err(Denial::new(DenialKind::Assignment)
                        .with_argument(variable)
                        .allowing(["MIX_ENV=dev mix", "MIX_ENV=test mix"]));
                }
            };
            env = Some(value.clone());
        }
        Ok(env)
    }

    fn check_network(&self, matched: &grammar::Matched) -> Result<()> {
        let (allowed, key) = match matched.subcommand.as_deref() {
            Some("fetch" | "pull") if matched.name == "git" => (self.git_network, GIT_NETWORK_KEY),
            Some("push") if matched.name == "git" => (self.git_push, GIT_PUSH_KEY),
            _ => return Ok(()),
        };
        if allowed {
            return Ok(());
        }
        let mut denial = Denial::new(DenialKind::NetworkBlocked).allowing([key]);
        denial.command = Some(format!(
            "git {}",
            matched.subcommand.as_deref().unwrap_or_default()
        ));
        Err(denial)
    }
}

fn redirection(raw: &syntax::RawRedirection, place: Place<'_>) -> Result<Redirection> {
    use syntax::RedirectionKind as Kind;
    let refuse = |kind| {
        Err(Denial::new(kind)
            .with_argument(raw.target.text())
            .because(Reason::WritesFile))
    };
    let Word::Literal(target) = &raw.target else {
        return refuse(DenialKind::GlobNotAllowed);
    };
    if raw.kind == Kind::Duplicate {
        return match (raw.fd.unwrap_or(1), target.as_str()) {
            (fd @ 1..=2, "1") => Ok(Redirection {
                fd: fd as u8,
                target: Target::Descriptor(1),
            }),
            (fd @ 1..=2, "2") => Ok(Redirection {
                fd: fd as u8,
                target: Target::Descriptor(2),
            }),
            _ => refuse(DenialKind::RedirectionRefused),
        };
    }
    let (fd, mode) = match (raw.kind, raw.fd) {
        (Kind::Read, None | Some(0)) => (0, PathMode::Read),
        (Kind::Write | Kind::Append, None | Some(1)) => (1, PathMode::Write),
        (Kind::Write | Kind::Append, Some(2)) => (2, PathMode::Write),
        (Kind::Both { .. }, None) => (1, PathMode::Write),
        _ => return refuse(DenialKind::RedirectionRefused),
    };
    if target == "/dev/null" {
        return Ok(Redirection {
            fd,
            target: Target::Null,
        });
    }
    grammar::check_path(target, place.cwd, place.root, mode)
        .map_err(|kind| Denial::new(kind).with_argument(target))?;
    let path = grammar::join(place.cwd, target);
    let target = match raw.kind {
        Kind::Read => Target::Read(path),
        Kind::Append | Kind::Both { append: true } => Target::Append(path),
        _ => Target::Write(path),
    };
    Ok(Redirection { fd, target })
}
