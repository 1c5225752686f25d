//! The options and operands of a command as data, and the one function that matches words against them.
//!
//! Words are read as GNU programs read them: `--name value`, `--name=value`, `-n value`, `-nvalue`, bundled flags `-abc`, `--` before operands. Long names
//! must be whole: an abbreviation that the program would complete to something else is unknown here.

use super::programs::Hardening;
use super::word::Word;
use super::{Command, Denial, DenialKind, Network, PathArg, Place, Reason, Result};
use crate::path_boundary::lexical;

/// What a command does with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PathMode {
    /// Reads a file, or lists a folder.
    Read,
    /// Makes or changes it.
    Write,
    /// Removes it.
    Delete,
}

impl PathMode {
    /// The name that crosses to other languages.
    pub fn as_str(self) -> &'static str {
        match self {
            PathMode::Read => "read",
            PathMode::Write => "write",
            PathMode::Delete => "delete",
        }
    }
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
    /// A path of git's: also a quoted pattern, or `:!path` to leave something out. Other magic reaches from the repository's top, which may
    /// lie above the project.
    Pathspec(PathMode),
    /// Like [`Kind::AnyWithPathsChecked`], without what a shell would read: the program hands it to one.
    PlainWithPathsChecked,
    /// A file that holds code to run: not standard input, which would be code given in the line.
    Script,
    /// A target of `make`. `NAME=value` could replace the shell that make uses.
    MakeTarget,
    /// A folder in which the rest of the command works (`git -C`, `make -C`).
    Directory,
    /// A git revision or a path.
    RevisionOrPath,
    /// A git revision, branch or tag.
    Revision,
    /// A remote of the repository. Not an address: `ext::...` would run a program, others reach other folders and machines.
    Remote,
    /// A git output format; placeholders that verify signatures run another program.
    GitFormat,
    /// `RANGE:PATH` of `git log -L`, or a range alone.
    LineRange,
    /// `+FORMAT` of `date`; without the `+` it would set the clock.
    DateFormat,
    /// Anything that is no path outside the project, on either side of `=`, `:` and `,`.
    AnyWithPathsChecked,
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
}

#[derive(Debug, Clone)]
struct CommandOption {
    name: String,
    arg: Arg,
}

/// How options look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `-a`, `-abc`, `--name`.
    Gnu,
    /// `-name`, as `find` has them: words of an expression, each with its value behind it.
    Words,
    /// An expression of `test`.
    Test,
    /// No options: every word is an operand, whatever it begins with.
    Plain,
}

/// The grammar of a command.
#[derive(Debug, Clone)]
pub struct CommandGrammar {
    /// Its name, as typed.
    pub name: String,
    style: Style,
    options: Vec<CommandOption>,
    refused: Vec<(String, Reason)>,
    /// Operands with kinds of their own, in order.
    leading: Vec<Kind>,
    /// The operands after them.
    rest: Option<Kind>,
    /// The last operand, when it has a kind of its own and is not the only one.
    last: Option<Kind>,
    least: usize,
    /// Options that take the place of the first leading operand (`grep -e`).
    instead_of_first: Vec<String>,
    /// What may follow `--`, when that is not simply more operands.
    passed_on: Option<Kind>,
    /// `-20` for `-n 20`.
    digits: bool,
    subcommands: Vec<CommandGrammar>,
    refused_subcommands: Vec<(String, Reason)>,
    network: Network,
    hardening: Hardening,
    /// Options put behind the (sub)command's name, so that configuration can't say otherwise.
    forced: Vec<String>,
    open: bool,
    /// A command that reads standard input as code when it is given nothing.
    needs_words: bool,
    /// Everything behind the first operand belongs to that operand.
    script: bool,
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
        }
    }

    /// A command that takes any arguments, as long as no path among them leaves the project. For commands that a user adds.
    pub fn any_with_paths_checked(name: impl Into<String>) -> Self {
        let mut grammar = Self::new(name);
        grammar.open = true;
        grammar
    }

    /// Adds options without a value. Names are given blank-separated, one letter for `-n`, longer for `--name`.
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

    pub(super) fn with(self, extend: impl FnOnce(Self) -> Self) -> Self {
        extend(self)
    }

    fn spellings(&self) -> Vec<String> {
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

/// What matching a command answers.
pub(super) struct Matched {
    pub name: String,
    pub subcommand: Option<String>,
    pub command: Command,
}

/// Matches a command's words, the name first.
pub(super) fn check(grammar: &CommandGrammar, words: &[Word], place: Place<'_>) -> Result<Matched> {
    let mut scan = Scan {
        grammar,
        label: grammar.name.to_string(),
        words,
        at: 1,
        cwd: place.cwd.to_owned(),
        root: place.root,
        argv: vec![Word::Literal(grammar.name.to_string())],
        paths: Vec::new(),
        operands: 0,
        replaced_first: false,
        held_first: None,
        held: None,
        directories: 0,
        argv_at: 0,
        subcommand: None,
    };
    scan.run()?;
    Ok(Matched {
        name: grammar.name.clone(),
        subcommand: scan.subcommand,
        command: Command {
            network: scan.grammar.network,
            hardening: grammar.hardening,
            argv: scan.argv,
            redirections: Vec::new(),
            paths: scan.paths,
            mix: None,
        },
    })
}

struct Scan<'a> {
    grammar: &'a CommandGrammar,
    /// The command with its subcommand, for refusals.
    label: String,
    words: &'a [Word],
    at: usize,
    cwd: String,
    root: Option<&'a str>,
    argv: Vec<Word>,
    paths: Vec<PathArg>,
    operands: usize,
    replaced_first: bool,
    /// The first operand, where an option anywhere may decide what it is.
    held_first: Option<Held>,
    held: Option<Held>,
    /// How many of the paths are folders that the rest works in.
    directories: usize,
    /// The place in `argv` of the word that is being judged.
    argv_at: usize,
    subcommand: Option<String>,
}

/// An operand that is judged later, by its places among the words and in `argv`.
struct Held {
    word: usize,
    argv: usize,
}

impl<'a> Scan<'a> {
    fn run(&mut self) -> Result<()> {
        self.force();
        if self.grammar.style == Style::Test {
            return self.test_expression();
        }
        while let Some(word) = self.words.get(self.at) {
            let text = word.text();
            if self.grammar.open {
                self.open_word(word)?;
            } else if text == "--" && self.takes_dashes() {
                self.push(word.clone());
                self.at += 1;
                self.after_dashes()?;
                break;
            } else if self.is_option(text) {
                if word.is_glob() {
                    return Err(self.deny(DenialKind::GlobNotAllowed));
                }
                self.option(text)?;
            } else if self.grammar.subcommands.is_empty() {
                self.operand(word)?;
            } else {
                self.enter_subcommand(word)?;
            }
            self.at += 1;
        }
        let says_nothing = self.words.len() == 1
            && (self.grammar.needs_words || !self.grammar.subcommands.is_empty());
        if self.operands < self.least() || says_nothing {
            let mut denial = self.deny(DenialKind::MissingArgument);
            denial.argument = None;
            denial.index = None;
            denial.allowed = self
                .grammar
                .subcommands
                .iter()
                .map(|sub| sub.name.to_string())
                .collect();
            return Err(denial);
        }
        self.judge_held()
    }

    /// Judges the operands that were held back, now that every option is known.
    fn judge_held(&mut self) -> Result<()> {
        let grammar = self.grammar;
        if let Some(first) = self.held_first.take() {
            let leading = grammar.leading.first().filter(|_| !self.replaced_first);
            self.judge(first, leading.or(grammar.rest.as_ref()), leading.is_some())?;
        }
        if let Some(last) = self.held.take() {
            let own = grammar
                .last
                .as_ref()
                .filter(|_| self.operands > 1 && !self.replaced_first);
            self.judge(last, own.or(grammar.rest.as_ref()), own.is_some())?;
        }
        Ok(())
    }

    fn judge(&mut self, held: Held, kind: Option<&Kind>, alone: bool) -> Result<()> {
        let here = std::mem::replace(&mut self.at, held.word);
        let words = self.words;
        let (Some(kind), Some(word)) = (kind, words.get(held.word)) else {
            return Err(self.deny(DenialKind::UnexpectedArgument));
        };
        if alone && word.is_glob() {
            return Err(self.deny(DenialKind::GlobNotAllowed));
        }
        self.argv_at = held.argv;
        self.value(kind, word.text())?;
        self.at = here;
        Ok(())
    }

    fn takes_dashes(&self) -> bool {
        self.grammar.style == Style::Gnu
            && self.grammar.subcommands.is_empty()
            && !self.grammar.script
    }

    fn force(&mut self) {
        let forced = self
            .grammar
            .forced
            .iter()
            .map(|option| Word::Literal(option.to_string()));
        self.argv.extend(forced);
    }

    fn least(&self) -> usize {
        self.grammar
            .least
            .saturating_sub(usize::from(self.replaced_first))
    }

    fn is_option(&self, text: &str) -> bool {
        let free = self.grammar.style == Style::Plain || self.grammar.script && self.operands > 0;
        !free && text.len() > 1 && text.starts_with('-')
    }

    fn enter_subcommand(&mut self, word: &Word) -> Result<()> {
        let name = word.text();
        if word.is_glob() {
            return Err(self.deny(DenialKind::GlobNotAllowed));
        }
        if let Some((_, reason)) = self
            .grammar
            .refused_subcommands
            .iter()
            .find(|(refused, _)| refused == name)
        {
            return Err(self.deny(DenialKind::SubcommandNotAllowed).because(*reason));
        }
        let found = self.grammar.subcommands.iter().find(|sub| sub.name == name);
        let Some(sub) = found else {
            let names = self
                .grammar
                .subcommands
                .iter()
                .map(|sub| sub.name.to_string());
            return Err(self.deny(DenialKind::SubcommandNotAllowed).allowing(names));
        };
        self.label = format!("{} {}", self.label, sub.name);
        if self.subcommand.is_none() {
            self.subcommand = Some(sub.name.clone());
        }
        self.push(word.clone());
        self.grammar = sub;
        self.force();
        Ok(())
    }

    /// Takes the option at `self.at`, and its value if that is the next word.
    fn option(&mut self, text: &'a str) -> Result<()> {
        let grammar = self.grammar;
        if grammar.style == Style::Words {
            let arg = self.lookup(&text[1..])?;
            self.push(Word::Literal(text.to_owned()));
            return if let Arg::Required(kind) = arg {
                self.next_value(kind)
            } else {
                Ok(())
            };
        }
        if let Some(long) = text.strip_prefix("--") {
            let (name, inline) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            // A one-letter name is a short option's; `--n` is an abbreviation of something else.
            if name.chars().count() < 2 {
                return Err(self
                    .deny(DenialKind::UnknownOption)
                    .allowing(grammar.spellings()));
            }
            let arg = self.lookup(name)?;
            self.push(Word::Literal(text.to_owned()));
            return match (arg, inline) {
                (Arg::None, None) | (Arg::Optional(_), None) => Ok(()),
                (Arg::None, Some(_)) => Err(self.deny(DenialKind::UnexpectedValue)),
                (Arg::Optional(kind) | Arg::Required(kind), Some(value)) => self.value(kind, value),
                (Arg::Required(kind), None) => self.next_value(kind),
            };
        }
        let bundle = &text[1..];
        if grammar.digits && bundle.bytes().all(|b| b.is_ascii_digit()) {
            self.push(Word::Literal(text.to_owned()));
            return Ok(());
        }
        self.push(Word::Literal(text.to_owned()));
        for (at, letter) in bundle.char_indices() {
            let behind = &bundle[at + letter.len_utf8()..];
            let mut name = [0; 4];
            match self.lookup(letter.encode_utf8(&mut name))? {
                Arg::None => {}
                Arg::Optional(_) if behind.is_empty() => return Ok(()),
                Arg::Optional(kind) => return self.value(kind, behind),
                Arg::Required(kind) if behind.is_empty() => return self.next_value(kind),
                Arg::Required(kind) => return self.value(kind, behind),
            }
        }
        Ok(())
    }

    fn lookup(&mut self, name: &str) -> Result<&'a Arg> {
        let grammar = self.grammar;
        if let Some((_, reason)) = grammar.refused.iter().find(|(refused, _)| refused == name) {
            return Err(self.deny(DenialKind::OptionRefused).because(*reason));
        }
        let Some(option) = grammar.options.iter().find(|option| option.name == name) else {
            return Err(self
                .deny(DenialKind::UnknownOption)
                .allowing(grammar.spellings()));
        };
        if grammar.instead_of_first.contains(&option.name) {
            self.replaced_first = true;
        }
        Ok(&option.arg)
    }

    fn next_value(&mut self, kind: &Kind) -> Result<()> {
        let Some(word) = self.words.get(self.at + 1) else {
            return Err(self.deny(DenialKind::MissingValue));
        };
        self.at += 1;
        if word.is_glob() {
            return Err(self.deny(DenialKind::GlobNotAllowed));
        }
        self.push(word.clone());
        self.value(kind, word.text())
    }

    fn after_dashes(&mut self) -> Result<()> {
        let words = self.words;
        while let Some(word) = words.get(self.at) {
            match &self.grammar.passed_on {
                Some(kind) => {
                    if word.is_glob() {
                        return Err(self.deny(DenialKind::GlobNotAllowed));
                    }
                    self.push(word.clone());
                    self.value(kind, word.text())?;
                }
                None => self.operand(word)?,
            }
            self.at += 1;
        }
        Ok(())
    }

    fn operand(&mut self, word: &Word) -> Result<()> {
        let grammar = self.grammar;
        let nth = self.operands;
        self.operands += 1;
        if grammar.style == Style::Words && ["!", "(", ")", ","].contains(&word.text()) {
            self.push(word.clone());
            return Ok(());
        }
        let Some(kind) = grammar.leading.get(nth).or(grammar.rest.as_ref()) else {
            return Err(self.deny(DenialKind::UnexpectedArgument));
        };
        self.push(word.clone());
        let next = Held {
            word: self.at,
            argv: self.argv_at,
        };
        if nth == 0 && !grammar.leading.is_empty() && !grammar.instead_of_first.is_empty() {
            self.held_first = Some(next);
            return Ok(());
        }
        // A pattern may become many words, so it may only stand where many words of one kind may.
        let many =
            matches!(kind, Kind::Path(_) | Kind::Pathspec(_)) && nth >= grammar.leading.len();
        if word.is_glob() && !many {
            return Err(self.deny(DenialKind::GlobNotAllowed));
        }
        if grammar.last.is_none() {
            return self.value(kind, word.text());
        }
        // Options may follow the last operand, so which one that is shows only at the end.
        match self.held.replace(next) {
            Some(before) => self.judge(before, grammar.rest.as_ref(), false),
            None => Ok(()),
        }
    }

    fn push(&mut self, word: Word) {
        self.argv_at = self.argv.len();
        self.argv.push(word);
    }

    /// A word of a command that takes anything.
    fn open_word(&mut self, word: &Word) -> Result<()> {
        if word.is_glob() {
            return Err(self.deny(DenialKind::GlobNotAllowed));
        }
        self.push(word.clone());
        self.value(&Kind::AnyWithPathsChecked, word.text())
    }

    /// Judges a value of the word at `argv_at`.
    fn value(&mut self, kind: &Kind, value: &str) -> Result<()> {
        let ok = match kind {
            Kind::Text => !value.contains('\0'),
            Kind::Name => {
                !value.is_empty()
                    && !value.starts_with('-')
                    && value
                        .chars()
                        .all(|c| c.is_alphanumeric() || "_-.:,+=@".contains(c))
                    && !has_parent(value)
            }
            Kind::Number => is_number(value),
            Kind::Remote => {
                value.starts_with(|c: char| c.is_ascii_alphanumeric())
                    && value
                        .bytes()
                        .all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
                    && !has_parent(value)
            }
            Kind::OneOf(words) => words.iter().any(|word| word == value),
            Kind::GitFormat => !value.contains("%G") && !value.contains("%(signature"),
            Kind::DateFormat => value.starts_with('+'),
            Kind::Path(mode) => return self.path(value, *mode),
            Kind::Pathspec(mode) => {
                let path = [":!", ":^", ":(exclude)"]
                    .iter()
                    .find_map(|magic| value.strip_prefix(magic))
                    .unwrap_or(value);
                if !path.starts_with(':') {
                    return self.path(path, *mode);
                }
                false
            }
            // Without a dot or a slash it may be a word of the runtime's own (`node inspect`, `elixir +iex`).
            Kind::Script if value.starts_with(['-', '+']) || !value.contains(['.', '/']) => {
                return Err(self
                    .deny(DenialKind::OptionRefused)
                    .because(Reason::EvaluatesCode));
            }
            Kind::Script => return self.path(value, PathMode::Read),
            Kind::PlainWithPathsChecked => {
                if value
                    .chars()
                    .all(|c| c.is_alphanumeric() || "_-./:=,@%+ ".contains(c))
                {
                    return self.any_text(value);
                }
                false
            }
            Kind::MakeTarget => {
                let plain = value
                    .chars()
                    .all(|c| c.is_alphanumeric() || "_-./%:+@".contains(c));
                plain && self.inside(value, PathMode::Read).is_ok()
            }
            Kind::Directory => {
                // Some programs change the folder only after reading every option, so none before it may hold a path.
                if self.paths.len() > self.directories || self.operands > 0 {
                    return Err(self.deny(DenialKind::UnexpectedArgument));
                }
                self.directories += 1;
                self.path(value, PathMode::Read)?;
                self.cwd = match self.root.and_then(|root| lexical::strip_root(value, root)) {
                    Some(below) => below.to_owned(),
                    None => join(&self.cwd, value),
                };
                true
            }
            Kind::Revision if value == "-" => true,
            Kind::Revision => {
                !value.starts_with('-')
                    && value.bytes().all(|b| b > 0x20 && b != 0x7f)
                    && !value.starts_with(['/', ':'])
                    && self.inside(value, PathMode::Read).is_ok()
            }
            Kind::RevisionOrPath => return self.revision_or_path(value),
            Kind::LineRange => match value.rsplit_once(':') {
                Some((_, path)) if !path.is_empty() => return self.path(path, PathMode::Read),
                _ => true,
            },
            Kind::AnyWithPathsChecked => return self.any_text(value),
        };
        if ok {
            Ok(())
        } else {
            Err(self
                .deny(DenialKind::InvalidValue)
                .allowing([kind.describe()]))
        }
    }

    fn inside(&self, path: &str, mode: PathMode) -> std::result::Result<(), DenialKind> {
        check_path(path, &self.cwd, self.root, mode)
    }

    fn path(&mut self, path: &str, mode: PathMode) -> Result<()> {
        // `-` is standard input or output, which the caller owns. The null device is nobody's file.
        if path == "-" && mode == PathMode::Read || path == "/dev/null" && mode != PathMode::Delete
        {
            return Ok(());
        }
        self.inside(path, mode)
            .map_err(|kind| self.deny_argument(kind, path))?;
        self.add_path(path, mode);
        Ok(())
    }

    fn add_path(&mut self, path: &str, mode: PathMode) {
        let index = self.argv_at;
        self.paths.push(PathArg {
            index,
            path: join(&self.cwd, path),
            base: self.cwd.clone(),
            mode,
        });
    }

    /// `HEAD~2`, `main..topic`, `HEAD:lib/a.ex`, `lib/a.ex`: git decides which it is, so it must be harmless as either.
    fn revision_or_path(&mut self, value: &str) -> Result<()> {
        if value.starts_with(':') {
            // Magic such as `:/` reaches from the repository's top, which may lie above the project.
            return Err(self
                .deny(DenialKind::InvalidValue)
                .allowing([Kind::RevisionOrPath.describe()]));
        }
        let path = match value.split_once(':') {
            // The path in a revision counts from the repository's top, or with `./` and `../` from here.
            Some((revision, path)) => {
                self.inside(revision, PathMode::Read)
                    .map_err(|kind| self.deny(kind))?;
                return self
                    .inside(path, PathMode::Read)
                    .map_err(|kind| self.deny(kind));
            }
            None => value,
        };
        self.path(path, PathMode::Read)
    }

    fn any_text(&mut self, value: &str) -> Result<()> {
        let body = value.trim_start_matches('-');
        // `-o/etc/x`: a short option with its value behind it.
        let behind = (!value.starts_with("--") && value.starts_with('-'))
            .then(|| body.chars().skip(1).collect::<String>());
        let pieces = body
            .split(['=', ':', ',', ';', '@'])
            .map(str::to_owned)
            .chain(behind);
        for piece in pieces.collect::<Vec<_>>() {
            if piece.is_empty() || piece == "/dev/null" {
                continue;
            }
            self.inside(&piece, PathMode::Read)
                .map_err(|kind| self.deny(kind))?;
            if names_git(&piece) {
                return Err(self.deny(DenialKind::ProtectedPath));
            }
        }
        for candidate in [Some(value), value.split_once('=').map(|(_, right)| right)]
            .into_iter()
            .flatten()
        {
            if !candidate.starts_with('-') && !candidate.is_empty() && candidate.len() < 256 {
                self.add_path(candidate, PathMode::Read);
            }
        }
        Ok(())
    }

    /// `test` and `[`: file operators take a path, the others texts and numbers.
    fn test_expression(&mut self) -> Result<()> {
        const FILE: &str = "-b -c -d -e -f -g -h -k -p -r -s -u -w -x -L -N -S";
        const OTHER: &str = "-z -n -t -eq -ne -lt -le -gt -ge -a -o ! = == != < > ( )";
        let has = |list: &str, word: &str| list.split(' ').any(|known| known == word);
        let bracket = self.grammar.name == "[";
        let words = self.words;
        if bracket && words.last().map(Word::text) != Some("]") {
            return Err(self.deny(DenialKind::MissingArgument).allowing(["]"]));
        }
        let end = words.len() - usize::from(bracket);
        while self.at < end {
            let Some(word) = words.get(self.at) else {
                break;
            };
            if word.is_glob() {
                return Err(self.deny(DenialKind::GlobNotAllowed));
            }
            let text = word.text();
            self.push(word.clone());
            if has(FILE, text) && self.at + 1 < end {
                self.next_value(&Kind::Path(PathMode::Read))?;
            } else if text.starts_with('-')
                && text.len() == 2
                && !text.as_bytes()[1].is_ascii_digit()
                && !has(OTHER, text)
                && !has(FILE, text)
            {
                return Err(self
                    .deny(DenialKind::UnknownOption)
                    .allowing(FILE.split(' ').chain(OTHER.split(' '))));
            } else if ["-nt", "-ot", "-ef"].contains(&text) {
                // Their left side has gone by as a text.
                return Err(self.deny(DenialKind::OptionRefused));
            }
            self.at += 1;
        }
        if bracket {
            self.push(Word::Literal("]".into()));
        }
        Ok(())
    }

    fn deny(&self, kind: DenialKind) -> Box<Denial> {
        let text = self.words.get(self.at).map_or("", Word::text);
        self.deny_argument(kind, text)
    }

    fn deny_argument(&self, kind: DenialKind, argument: &str) -> Box<Denial> {
        let mut denial = Denial::new(kind).with_argument(argument).at(self.at);
        denial.command = Some(self.label.clone());
        denial
    }
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
            Kind::Script => "FILE".into(),
            Kind::Remote => "REMOTE".into(),
            Kind::MakeTarget => "TARGET".into(),
            Kind::Directory => "DIRECTORY".into(),
            Kind::RevisionOrPath => "REVISION or PATH".into(),
            Kind::Revision => "REVISION".into(),
            Kind::GitFormat => "FORMAT without %G and %(signature)".into(),
            Kind::DateFormat => "+FORMAT".into(),
            Kind::LineRange => "RANGE:PATH".into(),
        }
    }
}

/// A path judged by its text alone.
pub(super) fn check_path(
    path: &str,
    cwd: &str,
    root: Option<&str>,
    mode: PathMode,
) -> std::result::Result<(), DenialKind> {
    lexical::check_within(path, cwd, root)?;
    if mode == PathMode::Read {
        return Ok(());
    }
    let below = root.and_then(|root| lexical::strip_root(path, root));
    let whole = below.map_or_else(|| join(cwd, path), str::to_owned);
    if names_git(&whole) || mode == PathMode::Delete && is_root(&whole) {
        return Err(DenialKind::ProtectedPath);
    }
    Ok(())
}

/// Git runs what its own folder holds (hooks, filters, aliases), so nothing may be written there.
pub(super) fn names_git(path: &str) -> bool {
    path.split('/')
        .any(|part| part.eq_ignore_ascii_case(".git"))
}

/// Whether a path below the root leads back to the root itself.
fn is_root(path: &str) -> bool {
    let mut depth = 0usize;
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => depth = depth.saturating_sub(1),
            _ => depth += 1,
        }
    }
    depth == 0
}

/// The path from the project's root, not yet simplified: what `..` means is for the disk to say.
pub(super) fn join(cwd: &str, path: &str) -> String {
    if path.starts_with('/') || cwd.is_empty() {
        path.to_owned()
    } else {
        format!("{cwd}/{path}")
    }
}

fn has_parent(text: &str) -> bool {
    text.split(['/', ':', '=', ',']).any(|part| part == "..")
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let unit = digits.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    digits.starts_with(|c: char| c.is_ascii_digit())
        && unit.len() <= 3
        && unit.bytes().all(|b| b.is_ascii_alphabetic() || b == b'%')
}
