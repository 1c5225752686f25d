//! The options and operands of a command as data; [`scan`](super::scan) matches words against them.
//!
//! Words are read as GNU programs read them: `--name value`, `--name=value`, `-n value`, `-nvalue`,
//! bundled flags `-abc`, `--` before operands. Long names must be whole: an abbreviation that the
//! program would complete to something else is unknown here.

use serde::{Deserialize, Serialize};

use super::programs::Hardening;
use super::{Network, Reason};

/// What a command does with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PathMode {
    /// Reads a file, or lists a folder.
    Read,
    /// Makes or changes it.
    Write,
    /// Removes it.
    Delete,
}

/// The kind of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Any text, never used as a path.
    Text,
    /// Letters, digits and `_ - . : , + = @`: no path, no blank.
    Name,
    /// A number, with a sign or a unit (`20`, `+5`, `10k`).
    Number,
    /// One of these words.
    OneOf(Vec<String>),
    /// A path inside the project.
    Path(PathMode),
    /// A path of git's: also a quoted pattern, or `:!path` to leave something out. Other magic
    /// reaches from the repository's top, which may lie above the project.
    Pathspec(PathMode),
    /// Like [`Kind::AnyWithPathsChecked`], without what a shell would read: the program hands it to
    /// one.
    PlainWithPathsChecked,
    /// A file that holds code to run: not standard input, which would be code given in the line.
    Script,
    /// A file that is named: not standard input, which would be code given in the line.
    NamedFile,
    /// A target of `make`. `NAME=value` could replace the shell that make uses.
    MakeTarget,
    /// A folder in which the rest of the command works (`git -C`, `make -C`).
    Directory,
    /// A git revision or a path.
    RevisionOrPath,
    /// A git revision, branch or tag.
    Revision,
    /// A remote of the repository. Not an address: `ext::...` would run a program, others reach
    /// other folders and machines.
    Remote,
    /// A git output format; placeholders that verify signatures run another program.
    GitFormat,
    /// `RANGE:PATH` of `git log -L`, or a range alone.
    LineRange,
    /// `+FORMAT` of `date`; without the `+` it would set the clock.
    DateFormat,
    /// Anything that is not a path outside the project, on either side of `=`, `:` and `,`.
    AnyWithPathsChecked,
    /// A program of `awk` that runs no commands and opens no files.
    Awk,
    /// A program of `sed` that runs no commands and opens no files.
    Sed,
    /// What `xargs -I` replaces.
    Placeholder,
    /// A file mode as `chmod` has it: `+x`, `u=rw`, `644`. Not one that makes a file run as its
    /// owner.
    Mode,
}

/// Whether an option takes a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arg {
    /// It takes none.
    None,
    /// `--name` or `--name=value`, `-n` or `-nvalue`.
    Optional(Kind),
    /// `--name value` or `--name=value`, `-n value` or `-nvalue`.
    Required(Kind),
    /// `--name value value`.
    Pair(Kind, Kind),
    /// A command up to `;` or `+`, as `find -exec` has it.
    Command,
}

#[derive(Debug, Clone)]
pub(super) struct CommandOption {
    pub name: String,
    pub arg: Arg,
}

/// How options look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// `-a`, `-abc`, `--name`.
    Gnu,
    /// `-name`, as `find` has them: words of an expression, each with its value behind it.
    Words,
    /// An expression of `test`.
    Test,
    /// No options: every word is an operand, whatever it begins with.
    Plain,
}

/// What the words behind a command's own operands are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wraps {
    /// More operands.
    Nothing,
    /// A command, which is judged like one of its own.
    Command,
    /// The same, and it gets further words that nobody has judged, from standard input.
    CommandWithMore,
}

/// The grammar of a command.
#[derive(Debug, Clone)]
pub struct CommandGrammar {
    /// Its name, as typed.
    pub name: String,
    pub(super) style: Style,
    pub(super) options: Vec<CommandOption>,
    pub(super) refused: Vec<(String, Reason)>,
    /// Operands with kinds of their own, in order.
    pub(super) leading: Vec<Kind>,
    /// The operands after them.
    pub(super) rest: Option<Kind>,
    /// The last operand, when it has a kind of its own and is not the only one.
    pub(super) last: Option<Kind>,
    pub(super) least: usize,
    /// Options that take the place of the first leading operand (`grep -e`).
    pub(super) instead_of_first: Vec<String>,
    /// What may follow `--`, when that is not simply more operands.
    pub(super) passed_on: Option<Kind>,
    /// `-20` for `-n 20`.
    pub(super) digits: bool,
    pub(super) subcommands: Vec<CommandGrammar>,
    pub(super) refused_subcommands: Vec<(String, Reason)>,
    pub(super) network: Network,
    pub(super) hardening: Hardening,
    /// Options put behind the (sub)command's name, so that configuration can't say otherwise.
    pub(super) forced: Vec<String>,
    pub(super) open: bool,
    /// A command that reads standard input as code when it is given nothing.
    pub(super) needs_words: bool,
    /// Everything behind the first operand belongs to that operand.
    pub(super) script: bool,
    pub(super) wraps: Wraps,
    /// Options with which files that are otherwise read are changed (`sed -i`).
    pub(super) changes_with: Vec<String>,
    /// Options end where the first operand stands.
    pub(super) stops: bool,
    /// Its first word is a bundle of options, with or without `-` (`tar xzf`).
    pub(super) bundle_first: bool,
}

impl CommandGrammar {
    /// A command that takes nothing yet.
    pub fn new(name: impl Into<String>) -> Self {
        CommandGrammar {
            name: name.into(),
            style: Style::Gnu,
            options: Vec::new(),
            refused: Vec::new(),
            leading: Vec::new(),
            rest: None,
            last: None,
            least: 0,
            instead_of_first: Vec::new(),
            passed_on: None,
            digits: false,
            subcommands: Vec::new(),
            refused_subcommands: Vec::new(),
            network: Network::None,
            hardening: Hardening::None,
            forced: Vec::new(),
            open: false,
            needs_words: false,
            script: false,
            wraps: Wraps::Nothing,
            changes_with: Vec::new(),
            stops: false,
            bundle_first: false,
        }
    }

    /// A command that takes any arguments, as long as no path among them leaves the project. For
    /// commands that a user adds.
    pub fn any_with_paths_checked(name: impl Into<String>) -> Self {
        let mut grammar = Self::new(name);
        grammar.open = true;
        grammar
    }

    /// Adds options without a value. Names are given blank-separated, one letter for `-n`, longer
    /// for `--name`.
    pub fn flags(self, names: &str) -> Self {
        self.options(names, Arg::None)
    }

    /// Adds options with a value.
    pub fn takes(self, names: &str, kind: Kind) -> Self {
        self.options(names, Arg::Required(kind))
    }

    /// Adds options that may have a value.
    pub fn may_take(self, names: &str, kind: Kind) -> Self {
        self.options(names, Arg::Optional(kind))
    }

    fn options(mut self, names: &str, arg: Arg) -> Self {
        let options = names.split_whitespace().map(|name| CommandOption {
            name: name.into(),
            arg: arg.clone(),
        });
        self.options.extend(options);
        self
    }

    /// Refuses options that the program has, with the reason.
    pub fn refuses(mut self, names: &str, reason: Reason) -> Self {
        self.refused
            .extend(names.split_whitespace().map(|name| (name.into(), reason)));
        self
    }

    /// Adds operands with kinds of their own, before the others.
    pub fn first(mut self, kinds: impl IntoIterator<Item = Kind>) -> Self {
        self.leading.extend(kinds);
        self
    }

    /// Accepts any number of further operands.
    pub fn rest(mut self, kind: Kind) -> Self {
        self.rest = Some(kind);
        self
    }

    /// Gives the last of several operands a kind of its own.
    pub fn last(mut self, kind: Kind) -> Self {
        self.last = Some(kind);
        self
    }

    /// Requires so many operands.
    pub fn at_least(mut self, count: usize) -> Self {
        self.least = count;
        self
    }

    pub(super) fn first_unless(mut self, names: &str) -> Self {
        self.instead_of_first = names.split_whitespace().map(String::from).collect();
        self
    }

    pub(super) fn passes_on(mut self, kind: Kind) -> Self {
        self.passed_on = Some(kind);
        self
    }

    pub(super) fn digits(mut self) -> Self {
        self.digits = true;
        self
    }

    pub(super) fn words(mut self) -> Self {
        self.style = Style::Words;
        self
    }

    pub(super) fn plain(mut self) -> Self {
        self.style = Style::Plain;
        self
    }

    pub(super) fn test_expression(mut self) -> Self {
        self.style = Style::Test;
        self
    }

    pub(super) fn subcommand(mut self, grammar: CommandGrammar) -> Self {
        self.subcommands.push(grammar);
        self
    }

    pub(super) fn refuses_subcommands(mut self, names: &str, reason: Reason) -> Self {
        self.refused_subcommands
            .extend(names.split_whitespace().map(|name| (name.into(), reason)));
        self
    }

    /// Says that the command needs the network.
    pub fn networked(mut self) -> Self {
        self.network = Network::All;
        self
    }

    pub(super) fn hardened(mut self, hardening: Hardening) -> Self {
        self.hardening = hardening;
        self
    }

    pub(super) fn forces(mut self, options: &str) -> Self {
        self.forced
            .extend(options.split_whitespace().map(String::from));
        self
    }

    pub(super) fn needs_words(mut self) -> Self {
        self.needs_words = true;
        self
    }

    pub(super) fn script(mut self) -> Self {
        self.script = true;
        self.needs_words = true;
        self.first([Kind::Script]).rest(Kind::AnyWithPathsChecked)
    }

    /// The words behind its own operands are a command.
    pub(super) fn wraps(mut self, wraps: Wraps) -> Self {
        self.wraps = wraps;
        self.stops()
    }

    pub(super) fn stops(mut self) -> Self {
        self.stops = true;
        self
    }

    pub(super) fn bundle_first(mut self) -> Self {
        self.bundle_first = true;
        self
    }

    /// Adds options with two values.
    pub(super) fn takes_pair(self, names: &str, kinds: (Kind, Kind)) -> Self {
        self.options(names, Arg::Pair(kinds.0, kinds.1))
    }

    /// Adds options that are followed by a command up to `;` or `+`.
    pub(super) fn takes_command(self, names: &str) -> Self {
        self.options(names, Arg::Command)
    }

    pub(super) fn changes_with(mut self, names: &str) -> Self {
        self.changes_with = names.split_whitespace().map(String::from).collect();
        self
    }

    /// Takes back that options are refused, for a list on which they are taken.
    pub(super) fn no_longer_refuses(mut self, names: &str) -> Self {
        let names: Vec<&str> = names.split_whitespace().collect();
        self.refused
            .retain(|(name, _)| !names.contains(&name.as_str()));
        self
    }

    /// Takes back that subcommands are refused.
    pub(super) fn no_longer_refuses_subcommands(mut self, names: &str) -> Self {
        let names: Vec<&str> = names.split_whitespace().collect();
        self.refused_subcommands
            .retain(|(name, _)| !names.contains(&name.as_str()));
        self
    }

    pub(super) fn with(self, extend: impl FnOnce(Self) -> Self) -> Self {
        extend(self)
    }

    pub(super) fn spellings(&self) -> Vec<String> {
        let dash = |name: &str| match (self.style, name.chars().count()) {
            (Style::Gnu, 1) => format!("-{name}"),
            (Style::Gnu, _) => format!("--{name}"),
            _ => format!("-{name}"),
        };
        self.options
            .iter()
            .map(|option| dash(&option.name))
            .collect()
    }
}

/// One of these words.
pub(super) fn one_of(words: &str) -> Kind {
    Kind::OneOf(words.split_whitespace().map(String::from).collect())
}

impl Kind {
    /// The value in a usage line.
    pub fn describe(&self) -> String {
        match self {
            Kind::Text | Kind::AnyWithPathsChecked => "TEXT".into(),
            Kind::PlainWithPathsChecked => "TEXT without shell characters".into(),
            Kind::Name => "NAME".into(),
            Kind::Number => "NUMBER".into(),
            Kind::OneOf(words) => words.join("|"),
            Kind::Path(_) | Kind::Pathspec(_) => "PATH".into(),
            Kind::Script | Kind::NamedFile => "FILE".into(),
            Kind::Remote => "REMOTE".into(),
            Kind::MakeTarget => "TARGET".into(),
            Kind::Directory => "DIRECTORY".into(),
            Kind::RevisionOrPath => "REVISION or PATH".into(),
            Kind::Revision => "REVISION".into(),
            Kind::GitFormat => "FORMAT without %G and %(signature)".into(),
            Kind::DateFormat => "+FORMAT".into(),
            Kind::LineRange => "RANGE:PATH".into(),
            Kind::Awk | Kind::Sed => "PROGRAM".into(),
            Kind::Placeholder => "{}".into(),
            Kind::Mode => "MODE without s".into(),
        }
    }
}
