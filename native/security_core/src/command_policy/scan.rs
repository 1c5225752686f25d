//! The one function that matches a command's words against its grammar.

use super::grammar::{Arg, CommandGrammar, Kind, PathMode, Style, Wraps};
use super::word::Word;
use super::{Command, CommandPolicy, Denial, DenialKind, List, PathArg, Place, Result, launch};

/// What matching a command answers.
pub(super) struct Matched {
    pub subcommand: Option<String>,
    pub command: Command,
    /// What may stand before further operands that nobody has judged, so that none of them is an
    /// option.
    pub more: More,
}

/// Whether a command may get further operands that nobody has judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum More {
    /// As they are: it reads no options there.
    AsOperands,
    /// Behind `--`.
    BehindDashes,
    /// No: they could be options, or would be more than operands.
    No,
}

/// Matches a command's words, the name first. `depth` is how many commands it stands behind
/// (`timeout 9 nice ...`).
pub(super) fn check(
    policy: &CommandPolicy,
    grammar: &CommandGrammar,
    words: &[Word],
    place: Place<'_>,
    depth: usize,
) -> Result<Matched> {
    let dashed = dashed(grammar, words);
    let words = dashed.as_deref().unwrap_or(words);
    let mut scan = Scan {
        policy,
        place,
        depth,
        grammar,
        label: grammar.name.to_string(),
        words,
        at: 1,
        cwd: place.cwd.to_owned(),
        root: place.root,
        command: Command::new(place),
        operands: 0,
        replaced_first: false,
        held_first: None,
        held: None,
        directories: 0,
        argv_at: 0,
        subcommand: None,
        placeholder: None,
        dashes: false,
        inner: None,
    };
    scan.command.hardening = grammar.hardening;
    scan.command
        .argv
        .push(Word::Literal(grammar.name.to_string()));
    scan.run()?;
    scan.change_files()?;
    scan.copy_files()?;
    let more = scan.inner.unwrap_or_else(|| scan.more());
    scan.command.network = scan.command.network.max(scan.grammar.network);
    Ok(Matched {
        subcommand: scan.subcommand,
        more,
        command: scan.command,
    })
}

/// The words with `-` before the bundle that stands first, and the option with a value at its end,
/// where one is: `xfz a` is `-xzf a`. None where there is no such bundle.
fn dashed(grammar: &CommandGrammar, words: &[Word]) -> Option<Vec<Word>> {
    let Some(Word::Literal(bundle)) = words.get(1).filter(|_| grammar.bundle_first) else {
        return None;
    };
    if bundle.starts_with('-') {
        return None;
    }
    let takes_value = |letter: &char| {
        let mut options = grammar.options.iter();
        let name = letter.to_string();
        options.any(|option| option.name == name && matches!(option.arg, Arg::Required(_)))
    };
    let (last, first): (Vec<char>, Vec<char>) = bundle.chars().partition(takes_value);
    let bundle: String = ['-'].into_iter().chain(first).chain(last).collect();
    let mut dashed = words.to_vec();
    dashed[1] = Word::Literal(bundle);
    Some(dashed)
}

pub(super) struct Scan<'a> {
    pub policy: &'a CommandPolicy,
    pub place: Place<'a>,
    pub depth: usize,
    pub grammar: &'a CommandGrammar,
    /// The command with its subcommand, for refusals.
    pub label: String,
    pub words: &'a [Word],
    pub at: usize,
    pub cwd: String,
    pub root: Option<&'a str>,
    /// What the words come to so far.
    pub command: Command,
    pub operands: usize,
    pub replaced_first: bool,
    /// The first operand, where an option anywhere may decide what it is.
    held_first: Option<Held>,
    held: Option<Held>,
    /// How many of the paths are folders that the rest works in.
    pub directories: usize,
    /// The place in `argv` of the word that is being judged.
    pub argv_at: usize,
    pub subcommand: Option<String>,
    pub placeholder: Option<String>,
    /// Whether `--` was there.
    dashes: bool,
    /// What the command behind this one takes.
    pub inner: Option<More>,
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
            } else if self.begins_command() {
                launch::wrapped(self)?;
                break;
            } else if text == "--" && self.takes_dashes() {
                self.push(word.clone());
                self.dashes = true;
                self.at += 1;
                self.after_dashes()?;
                break;
            } else if self.is_option(text) {
                if !matches!(word, Word::Literal(_)) {
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
        let lacks_command = self.grammar.wraps == Wraps::Command && self.inner.is_none();
        if self.operands < self.least() || says_nothing || lacks_command {
            let names = self.grammar.subcommands.iter();
            let mut denial = self
                .deny(DenialKind::MissingArgument)
                .allowing(names.map(|sub| sub.name.to_string()));
            denial.argument = None;
            denial.index = None;
            return Err(denial);
        }
        self.judge_held()
    }

    /// Whether the word at `self.at` is the name of a command behind this one.
    fn begins_command(&self) -> bool {
        let own = self.grammar.leading.len();
        let text = self.words.get(self.at).map_or("", Word::text);
        self.grammar.wraps != Wraps::Nothing && self.operands >= own && !text.starts_with('-')
    }

    /// Files that an option makes this command change are judged as changed.
    fn change_files(&mut self) -> Result<()> {
        let changes = self.command.argv.iter().any(|word| {
            let text = word.text();
            self.grammar
                .changes_with
                .iter()
                .any(|name| match name.chars().count() {
                    1 => {
                        text.starts_with('-')
                            && !text.starts_with("--")
                            && text.contains(name.as_str())
                    }
                    _ => text
                        .strip_prefix("--")
                        .is_some_and(|long| long.starts_with(name.as_str())),
                })
        });
        if changes {
            for at in 0..self.command.paths.len() {
                let path = &mut self.command.paths[at];
                path.mode = PathMode::Write;
                let (typed, base) = (path.path.clone(), path.base.clone());
                // The path was joined to its folder when it was taken.
                let below = typed
                    .strip_prefix(&base)
                    .map_or(typed.as_str(), |rest| rest.trim_start_matches('/'));
                super::value::check_path(below, &base, self.root, PathMode::Write)
                    .map_err(|kind| self.deny_argument(kind, below))?;
            }
        }
        Ok(())
    }

    /// A copy of git's own folder would be one that nobody protects.
    fn copy_files(&self) -> Result<()> {
        let copies = ["cp", "ln", "install"].contains(&self.grammar.name.as_str());
        let git = |path: &&PathArg| super::value::names_git(&path.path);
        match self.command.paths.iter().find(git) {
            Some(path) if copies => Err(self.deny_argument(DenialKind::ProtectedPath, &path.path)),
            _ => Ok(()),
        }
    }

    fn more(&self) -> More {
        let grammar = self.grammar;
        let leading =
            grammar.leading.len() - usize::from(self.replaced_first && !grammar.leading.is_empty());
        let pathspec = matches!(grammar.rest, Some(Kind::Pathspec(_)));
        let paths = matches!(grammar.rest, Some(Kind::Path(_) | Kind::Text));
        // The last operand stands for those to come: it must not be one with a meaning of its own.
        let beyond = self.operands > leading && grammar.last.is_none();
        match grammar.style {
            Style::Plain if beyond => More::AsOperands,
            Style::Gnu if grammar.script && self.operands > 1 => More::AsOperands,
            Style::Gnu if !beyond || grammar.script => More::No,
            Style::Gnu if self.dashes => More::AsOperands,
            Style::Gnu if grammar.stops && paths => More::AsOperands,
            Style::Gnu if self.subcommand.is_none() && paths || pathspec => More::BehindDashes,
            _ => More::No,
        }
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
        self.command.argv.extend(forced);
    }

    fn least(&self) -> usize {
        self.grammar
            .least
            .saturating_sub(usize::from(self.replaced_first))
    }

    fn is_option(&self, text: &str) -> bool {
        let free = self.grammar.style == Style::Plain
            || (self.grammar.script || self.grammar.stops) && self.operands > 0;
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
            return match arg {
                Arg::Required(kind) => self.next_value(kind),
                Arg::Command => launch::exec(self),
                _ => Ok(()),
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
                (Arg::None | Arg::Pair(..) | Arg::Command, Some(_)) => {
                    Err(self.deny(DenialKind::UnexpectedValue))
                }
                (Arg::Command, None) => Err(self.deny(DenialKind::OptionRefused)),
                (Arg::Pair(first, second), None) => {
                    self.next_value(first)?;
                    self.next_value(second)
                }
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
                Arg::Pair(..) | Arg::Command => return Err(self.deny(DenialKind::OptionRefused)),
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
        let names = matches!(kind, Kind::Path(_) | Kind::Pathspec(_))
            || self.place.list == List::Wide && *kind == Kind::Text;
        let many = names && nth >= grammar.leading.len();
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

    pub(super) fn push(&mut self, word: Word) {
        self.argv_at = self.command.argv.len();
        self.command.argv.push(word);
    }

    /// A word of a command that takes anything.
    fn open_word(&mut self, word: &Word) -> Result<()> {
        if word.is_glob() {
            return Err(self.deny(DenialKind::GlobNotAllowed));
        }
        self.push(word.clone());
        self.value(&Kind::AnyWithPathsChecked, word.text())
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

    pub(super) fn deny(&self, kind: DenialKind) -> Box<Denial> {
        let text = self.words.get(self.at).map_or("", Word::text);
        self.deny_argument(kind, text)
    }

    pub(super) fn deny_argument(&self, kind: DenialKind, argument: &str) -> Box<Denial> {
        let mut denial = Denial::new(kind).with_argument(argument).at(self.at);
        denial.command = Some(self.label.clone());
        denial.list = Some(self.place.list);
        denial
    }
}
