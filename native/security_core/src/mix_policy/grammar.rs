//! The options of a Mix task as data, and the one function that matches arguments against them.
//!
//! Arguments are read the way Elixir's `OptionParser` reads them (`--opt value`, `--opt=value`, `-o
//! value`, `--` ends the switches), but stricter: an option that the task does not list is refused,
//! so nothing reaches the task that was not understood here.

use std::borrow::Cow;

use super::{Denial, DenialKind, Reason, deny};
use crate::path_boundary::lexical;
use crate::refusal::Result;

type Text = Cow<'static, str>;

/// What a judgement of one text answers.
type Verdict = std::result::Result<(), DenialKind>;

/// What a task accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskGrammar {
    /// The task's name, as typed after `mix`.
    pub name: Text,
    /// Which arguments it takes.
    pub arguments: Arguments,
    /// Whether the task compiles or starts the project, so that aliases of `compile` and the like
    /// run with it.
    pub compiles: bool,
}

/// The arguments of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arguments {
    /// Only what is listed.
    Listed {
        /// The accepted options.
        switches: Vec<Switch>,
        /// Options that the task has and that are refused for a reason worth telling.
        refused: Vec<Refused>,
        /// The arguments that are not options.
        positional: Positional,
    },
    /// Any option, but every value in it must be a path inside the project or no path at all. For
    /// tasks that a user adds.
    AnyWithPathsChecked,
    /// The same, without the options that give code or another node. For the tasks of the wide
    /// list.
    Open,
}

/// An accepted option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// The name after `--`.
    pub name: Text,
    /// The letter after `-`, if it has one.
    pub short: Option<char>,
    /// Its value.
    pub value: Value,
}

/// An option that exists and is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The name after `--`.
    pub name: Text,
    /// The letter after `-`, if it has one.
    pub short: Option<char>,
    /// Why.
    pub reason: Reason,
}

/// The value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// No value: `--force`.
    Flag,
    /// No value, and `--no-NAME` works too.
    Toggle,
    /// An unsigned number within the bounds.
    Integer(u64, u64),
    /// One of these words.
    OneOf(Vec<Text>),
    /// Letters, digits, `_`, `-`, `.`: a name that can't be a path.
    Name,
    /// A Mix package name.
    Package,
    /// An Elixir module name.
    Module,
    /// An ExUnit filter, `name` or `name:value`.
    Tag,
    /// Any one-line text that is not used as a path.
    Text,
    /// A path inside the project.
    Path,
}

/// The arguments of a task that are not options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Positional {
    /// None.
    None,
    /// Test files and folders inside the project's test paths, with optional line numbers.
    TestPaths,
    /// Files and patterns inside the project.
    Patterns,
    /// Names of dependencies, at most so many.
    Packages(usize),
    /// A package, then a version.
    PackageVersion,
    /// A task or module to show help for.
    HelpTopic,
    /// Values of this kind, at most so many.
    Values(Value, usize),
    /// A file of the project that is run, then words that it gets.
    Script,
    /// First one of the words (a subcommand), if any; then paths with optional line numbers. Words
    /// of the second list are refused.
    Subcommand {
        /// Accepted first words.
        accepted: Vec<Text>,
        /// Refused first words, with the reason.
        refused: Vec<(Text, Reason)>,
    },
}

/// The most arguments a task is given; more is no call that a person or model makes.
pub const MAX_ARGUMENTS: usize = 256;
/// The longest single argument.
pub const MAX_ARGUMENT_BYTES: usize = lexical::MAX_PATH_BYTES;

/// Matches `args` against the task's grammar.
pub(super) fn check<S: AsRef<str>>(
    task: &TaskGrammar,
    args: &[S],
    test_paths: &[String],
) -> Result<()> {
    if args.len() > MAX_ARGUMENTS {
        return Err(deny(DenialKind::TooManyArguments, &task.name));
    }
    let scan = Scan { task, test_paths };
    let mut only_positional = false;
    let mut seen = 0;
    let mut index = 0;
    while let Some(arg) = args.get(index).map(AsRef::as_ref) {
        scan.safe_text(arg)
            .map_err(|kind| scan.deny(kind, arg, index))?;
        if only_positional {
            scan.positional(arg, index, &mut seen)?;
        } else if arg == "--" {
            // Where no positional argument exists nothing may follow, and `--` only hides mistakes.
            if !scan.takes_positional() {
                return Err(scan.deny(DenialKind::UnexpectedArgument, arg, index));
            }
            only_positional = true;
        } else if arg.starts_with('-') {
            index += scan.option(args, arg, index)?;
        } else {
            scan.positional(arg, index, &mut seen)?;
        }
        index += 1;
    }
    Ok(())
}

struct Scan<'a> {
    task: &'a TaskGrammar,
    test_paths: &'a [String],
}

impl Scan<'_> {
    /// What no argument of any task may hold. `..` goes everywhere, not only in paths: no option
    /// here needs it, and a rule without exceptions can't be talked around.
    fn safe_text(&self, arg: &str) -> Verdict {
        if arg.len() > MAX_ARGUMENT_BYTES {
            return Err(DenialKind::TooLong);
        }
        let bytes = arg.as_bytes();
        for (at, &b) in bytes.iter().enumerate() {
            match b {
                0..0x20 | 0x7f => return Err(DenialKind::InvalidCharacters),
                b'.' if bytes.get(at + 1) == Some(&b'.') => {
                    return Err(DenialKind::PathTraversalBlocked);
                }
                b'%' if lexical::is_encoded_separator(&bytes[at..]) => {
                    return Err(DenialKind::PathTraversalBlocked);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn takes_positional(&self) -> bool {
        !matches!(
            self.task.arguments,
            Arguments::Listed {
                positional: Positional::None,
                ..
            }
        )
    }

    /// Checks the option at `index`; answers how many further arguments it took.
    fn option<S: AsRef<str>>(&self, args: &[S], arg: &str, index: usize) -> Result<usize> {
        let (switches, refused) = match &self.task.arguments {
            Arguments::Open if gives_code(arg) => {
                return Err(self
                    .deny(DenialKind::OptionRefused, arg, index)
                    .because(Reason::EvaluatesCode));
            }
            Arguments::AnyWithPathsChecked | Arguments::Open => {
                return self
                    .unknown_option_paths(arg)
                    .map(|()| 0)
                    .map_err(|kind| self.deny(kind, arg, index));
            }
            Arguments::Listed {
                switches, refused, ..
            } => (switches, refused),
        };
        let (key, inline) = match arg.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (arg, None),
        };
        let typed = Key::of(key);
        if let Some(found) = refused.iter().find(|r| typed.names(&r.name, r.short)) {
            return Err(self
                .deny(DenialKind::OptionRefused, arg, index)
                .because(found.reason));
        }
        let negated = key.strip_prefix("--no-");
        let found = switches.iter().find(|s| {
            typed.names(&s.name, s.short)
                || negated.is_some_and(|name| name == s.name && s.value == Value::Toggle)
        });
        let Some(switch) = found else {
            let kind = if key == "-" {
                DenialKind::OptionRefused
            } else {
                DenialKind::UnknownOption
            };
            let reason = if key == "-" {
                Reason::WaitsForInput
            } else {
                Reason::NotListed
            };
            return Err(self.deny(kind, arg, index).because(reason));
        };
        if matches!(switch.value, Value::Flag | Value::Toggle) {
            return match inline {
                None => Ok(0),
                Some(_) => Err(self.deny(DenialKind::UnexpectedValue, arg, index)),
            };
        }
        let (value, taken) = match inline {
            Some(value) => (value, 0),
            None => match args.get(index + 1).map(AsRef::as_ref) {
                // OptionParser does not take a dash word as a value, it would report a missing one.
                Some(next) if !next.starts_with('-') => {
                    self.safe_text(next)
                        .map_err(|kind| self.deny(kind, next, index + 1))?;
                    (next, 1)
                }
                _ => return Err(self.deny(DenialKind::MissingValue, arg, index)),
            },
        };
        value_ok(&switch.value, value).map_err(|kind| {
            self.deny(kind, if taken == 0 { arg } else { value }, index + taken)
                .allowing([switch.value.describe()])
        })?;
        Ok(taken)
    }

    /// An option nobody described: its inline value is judged as a path, its bundled value
    /// (`-o/etc/x`) too.
    fn unknown_option_paths(&self, arg: &str) -> Verdict {
        let body = arg.trim_start_matches('-');
        if body.is_empty() && arg != "--" {
            return Err(DenialKind::OptionRefused);
        }
        for piece in body.split(['=', ',', ':', ';', '@']) {
            path_ok(piece)?;
        }
        // `-o/etc/x` and `-I~/x`: a separator that is not part of a word before it.
        if !arg.starts_with("--") && body.chars().nth(1).is_some_and(|c| c == '/' || c == '~') {
            return Err(DenialKind::AbsolutePathBlocked);
        }
        Ok(())
    }

    fn positional(&self, arg: &str, index: usize, seen: &mut usize) -> Result<()> {
        let nth = *seen;
        *seen += 1;
        self.positional_kind(arg, nth)
            .map_err(|(kind, reason)| self.deny(kind, arg, index).because(reason))
    }

    fn positional_kind(
        &self,
        arg: &str,
        nth: usize,
    ) -> std::result::Result<(), (DenialKind, Reason)> {
        let plain = |kind| (kind, Reason::NotListed);
        if arg.starts_with('-') || arg.is_empty() {
            return Err(plain(DenialKind::UnexpectedArgument));
        }
        let positional = match &self.task.arguments {
            Arguments::AnyWithPathsChecked | Arguments::Open => {
                return arg
                    .split(['=', ',', ':', ';', '@'])
                    .try_for_each(path_ok)
                    .map_err(plain);
            }
            Arguments::Listed { positional, .. } => positional,
        };
        let limited = |most: usize| {
            if nth < most {
                Ok(())
            } else {
                Err(plain(DenialKind::UnexpectedArgument))
            }
        };
        match positional {
            Positional::None => Err(plain(DenialKind::UnexpectedArgument)),
            Positional::TestPaths => test_path_ok(arg, self.test_paths).map_err(plain),
            Positional::Patterns => pattern_ok(arg).map_err(plain),
            Positional::Packages(most) => {
                limited(*most)?;
                value_ok(&Value::Package, arg).map_err(plain)
            }
            Positional::PackageVersion => {
                limited(2)?;
                value_ok(
                    if nth == 0 {
                        &Value::Package
                    } else {
                        &Value::Name
                    },
                    arg,
                )
                .map_err(plain)
            }
            Positional::HelpTopic => {
                limited(1)?;
                help_topic_ok(arg).map_err(plain)
            }
            Positional::Values(kind, most) => {
                limited(*most)?;
                value_ok(kind, arg).map_err(plain)
            }
            Positional::Script if nth > 0 => arg
                .split(['=', ',', ':', ';', '@'])
                .try_for_each(path_ok)
                .map_err(plain),
            Positional::Script => path_ok(arg).map_err(plain),
            Positional::Subcommand { accepted, refused } => {
                if nth == 0 {
                    if let Some((_, reason)) = refused.iter().find(|(word, _)| word == arg) {
                        return Err((DenialKind::OptionRefused, *reason));
                    }
                    if accepted.iter().any(|word| word == arg) {
                        return Ok(());
                    }
                }
                path_ok(without_lines(arg)).map_err(plain)
            }
        }
    }

    fn deny(&self, kind: DenialKind, argument: &str, index: usize) -> Box<Denial> {
        let mut denial = deny(kind, &self.task.name)
            .with_argument(argument)
            .at(index);
        if let Arguments::Listed { switches, .. } = &self.task.arguments {
            denial.allowed = switches.iter().map(spelling).collect();
        }
        denial
    }
}

/// Options by which tasks take code, or the name of another node, in the line itself.
fn gives_code(option: &str) -> bool {
    const LONG: &[&str] = &[
        "--eval",
        "--rpc-eval",
        "--erl",
        "--erl-config",
        "--cookie",
        "--sname",
        "--name",
        "--remsh",
        "--require",
        "--dot-iex",
        "--tracer",
    ];
    let name = option.split('=').next().unwrap_or(option);
    let short = !option.starts_with("--");
    LONG.contains(&name) || short && (option.starts_with("-e") || option.starts_with("-r"))
}

/// An option as typed, without its value.
#[derive(Clone, Copy)]
enum Key<'a> {
    Long(&'a str),
    Short(char),
    /// `-`, or several letters behind one dash.
    Other,
}

impl<'a> Key<'a> {
    fn of(text: &'a str) -> Self {
        if let Some(name) = text.strip_prefix("--") {
            return Key::Long(name);
        }
        let mut letters = text.chars().skip(1);
        match (letters.next(), letters.next()) {
            (Some(letter), None) => Key::Short(letter),
            _ => Key::Other,
        }
    }

    fn names(self, name: &str, short: Option<char>) -> bool {
        match self {
            Key::Long(long) => long == name,
            Key::Short(letter) => short == Some(letter),
            Key::Other => false,
        }
    }
}

fn spelling(switch: &Switch) -> String {
    match switch.value {
        Value::Flag => format!("--{}", switch.name),
        Value::Toggle => format!("--[no-]{}", switch.name),
        _ => format!("--{} {}", switch.name, switch.value.describe()),
    }
}

impl Value {
    /// The value in a usage line.
    pub fn describe(&self) -> String {
        match self {
            Value::Flag | Value::Toggle => String::new(),
            Value::Integer(low, u64::MAX) => format!("INTEGER (at least {low})"),
            Value::Integer(low, high) => format!("INTEGER ({low} to {high})"),
            Value::OneOf(words) => words.join("|"),
            Value::Name => "NAME".into(),
            Value::Package => "PACKAGE".into(),
            Value::Module => "MODULE".into(),
            Value::Tag => "TAG[:VALUE]".into(),
            Value::Text => "TEXT".into(),
            Value::Path => "PATH".into(),
        }
    }
}

fn value_ok(kind: &Value, value: &str) -> Verdict {
    let ok = match kind {
        Value::Flag | Value::Toggle => false,
        Value::Integer(low, high) => {
            value.len() <= 19
                && value.bytes().all(|b| b.is_ascii_digit())
                && value
                    .parse::<u64>()
                    .is_ok_and(|n| (*low..=*high).contains(&n))
        }
        Value::OneOf(words) => words.iter().any(|word| word == value),
        Value::Name => {
            value.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
                && value
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
        }
        Value::Package => {
            value.starts_with(|c: char| c.is_ascii_lowercase())
                && value
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        }
        Value::Module => value.split('.').all(|part| {
            part.starts_with(|c: char| c.is_ascii_uppercase())
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        }),
        Value::Tag => {
            let name = value.split(':').next().unwrap_or("");
            !name.is_empty()
                && name.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && name
                    .chars()
                    .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '?' | '!'))
        }
        Value::Text => !value.is_empty(),
        Value::Path => return path_ok(value),
    };
    if ok {
        Ok(())
    } else {
        Err(DenialKind::InvalidValue)
    }
}

fn path_ok(path: &str) -> Verdict {
    lexical::check_relative(path)?;
    // Git runs what its own folder holds (hooks, filters), so a task must not be pointed at it.
    if path
        .split('/')
        .any(|part| part.eq_ignore_ascii_case(".git"))
    {
        return Err(DenialKind::ProtectedPath);
    }
    Ok(())
}

/// A path or an Elixir wildcard. Alternatives could build, out of harmless pieces, a path that
/// leaves the project: `{/etc,lib}`, `.{.,a}`, `{,a}/etc`. So none may hold a separator, be empty,
/// or be all dots.
fn pattern_ok(pattern: &str) -> Verdict {
    path_ok(pattern)?;
    let refused = Err(DenialKind::InvalidValue);
    if pattern.contains('\\') {
        return refused;
    }
    let mut rest = pattern;
    while let Some(tail) = rest.find(['{', '}', '[', ']']).map(|at| &rest[at..]) {
        let close = if tail.starts_with('{') {
            '}'
        } else if tail.starts_with('[') {
            ']'
        } else {
            return refused;
        };
        let Some((inner, after)) = tail[1..].split_once(close) else {
            return refused;
        };
        if inner.contains(['{', '[', '/', '~'])
            || inner
                .split(',')
                .any(|choice| choice.chars().all(|c| c == '.'))
        {
            return refused;
        }
        rest = after;
    }
    Ok(())
}

fn without_lines(arg: &str) -> &str {
    let mut path = arg;
    while let Some((head, tail)) = path.rsplit_once(':') {
        if tail.is_empty() || !tail.bytes().all(|b| b.is_ascii_digit()) {
            break;
        }
        path = head;
    }
    path
}

/// ExUnit runs whatever file it is given, so a file must look like a test (`*_test.exs`) and lie in
/// a test path. A last part without a dot, or with a slash after it, is a folder.
fn test_path_ok(arg: &str, test_paths: &[String]) -> Verdict {
    let path = without_lines(arg);
    path_ok(path)?;
    if path.contains(['*', '?', '[', ']', '{', '}', ':', '\\']) {
        return Err(DenialKind::InvalidValue);
    }
    if !test_paths.iter().any(|root| lies_in(path, root)) {
        return Err(DenialKind::OutsideTestPaths);
    }
    let last = path.rsplit('/').next().unwrap_or("");
    if last.contains('.') && last != "." && !last.ends_with("_test.exs") {
        return Err(DenialKind::NotATestFile);
    }
    if path.len() < arg.len() && !last.ends_with("_test.exs") {
        return Err(DenialKind::InvalidValue);
    }
    Ok(())
}

/// Compares part by part; `*` in a test path stands for one part (the apps of an umbrella).
fn lies_in(path: &str, root: &str) -> bool {
    let mut parts = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".");
    root.split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .all(|want| parts.next().is_some_and(|part| want == "*" || part == want))
}

/// `test`, `MyApp.Repo`, `Enum.map/2`, `app:mix`.
fn help_topic_ok(topic: &str) -> Verdict {
    let ok = topic.starts_with(|c: char| c.is_ascii_alphabetic() || c == ':')
        && topic.bytes().all(|b| {
            b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'?' | b'!' | b':' | b'/')
        });
    if ok {
        Ok(())
    } else {
        Err(DenialKind::InvalidValue)
    }
}
