//! Commands that run other commands: what stands behind them is judged like a command of its own.

use super::grammar::{CommandGrammar, Kind, PathMode, Wraps};
use super::scan::{Matched, More, Scan};
use super::word::Word;
use super::{Command, Denial, DenialKind, Place, Reason, Result};
use Kind::{Name, Number, Text};

/// How many commands may stand behind each other.
pub(super) const MAX_DEPTH: usize = 4;

/// What `find -exec` replaces.
const FOUND: &str = "{}";

/// Stands for the words that `xargs` adds.
const MORE: &str = "more";

pub(super) fn launchers() -> Vec<CommandGrammar> {
    let command = |name: &'static str| CommandGrammar::new(name);
    vec![
        command("timeout")
            .flags("v verbose foreground preserve-status")
            .takes("k kill-after s signal", Name)
            .first([Name])
            .wraps(Wraps::Command),
        command("nice")
            .takes("n adjustment", Number)
            .digits()
            .wraps(Wraps::Command),
        command("xargs")
            .flags("0 r t x null no-run-if-empty verbose exit")
            .takes("n L P s max-args max-lines max-procs max-chars", Number)
            .takes("d E delimiter", Text)
            .takes("a arg-file", Kind::Path(PathMode::Read))
            .takes("I", Kind::Placeholder)
            .refuses("p interactive o open-tty", Reason::WaitsForInput)
            .refuses("i replace e eof l process-slot-var", Reason::NotListed)
            .wraps(Wraps::CommandWithMore),
    ]
}

/// Judges the command that begins at the scan's place, up to the end.
pub(super) fn wrapped(scan: &mut Scan<'_>) -> Result<()> {
    let mut words = scan.words[scan.at..].to_vec();
    let placeholder = scan.placeholder.take();
    let appends = scan.grammar.wraps == Wraps::CommandWithMore && placeholder.is_none();
    if appends {
        // It stands for the words to come, which are operands.
        words.push(Word::Literal(MORE.to_owned()));
    }
    let mut matched = inner(scan, &words)?;
    if appends {
        append(scan, &mut matched)?;
    }
    if let Some(placeholder) = &placeholder {
        stays_a_path(scan, &matched.command, placeholder)?;
        behind_dashes(scan, &mut matched, placeholder)?;
    }
    scan.inner = Some(matched.more);
    scan.subcommand = matched.subcommand.take();
    scan.command.program = scan.command.argv.len() + matched.command.program;
    take(scan, matched.command);
    scan.at = scan.words.len();
    Ok(())
}

/// Judges the command between `-exec` and `;` or `+`.
pub(super) fn exec(scan: &mut Scan<'_>) -> Result<()> {
    let from = scan.at + 1;
    let behind = scan.words.get(from..).unwrap_or_default();
    let end = behind
        .iter()
        .enumerate()
        .position(|(at, word)| match word.text() {
            ";" => true,
            "+" => at > 0 && behind[at - 1].text() == FOUND,
            _ => false,
        });
    let Some(end) = end else {
        return Err(scan
            .deny(DenialKind::MissingValue)
            .allowing(["COMMAND {} +", "COMMAND {} \\;"]));
    };
    let (words, closing) = (&behind[..end], behind[end].clone());
    if words.is_empty() {
        return Err(scan
            .deny(DenialKind::MissingValue)
            .allowing(["COMMAND {} +", "COMMAND {} \\;"]));
    }
    scan.at = from;
    let matched = inner(scan, words)?;
    stays_a_path(scan, &matched.command, FOUND)?;
    take(scan, matched.command);
    scan.push(closing);
    scan.at = from + end;
    Ok(())
}

fn inner(scan: &Scan<'_>, words: &[Word]) -> Result<Matched> {
    if scan.depth >= MAX_DEPTH {
        return Err(scan.deny(DenialKind::TooManyCommands));
    }
    let place = Place {
        cwd: scan.place.cwd,
        ..scan.place
    };
    scan.policy.judge_words(words, None, place, scan.depth + 1)
}

/// Adds the words of the inner command to those of the outer one.
fn take(scan: &mut Scan<'_>, inner: Command) {
    let offset = scan.command.argv.len();
    let outer = &mut scan.command;
    outer.argv.extend(inner.argv);
    outer.paths.extend(inner.paths.into_iter().map(|mut path| {
        path.index += offset;
        path
    }));
    outer.env.extend(inner.env);
    outer.network = outer.network.max(inner.network);
    outer.hardening = outer.hardening.max(inner.hardening);
    outer.mix = outer.mix.take().or(inner.mix);
}

/// Takes away the word that stood for those to come, and keeps them from being read as options.
fn append(scan: &Scan<'_>, matched: &mut Matched) -> Result<()> {
    let command = &mut matched.command;
    command.argv.pop();
    command.paths.retain(|path| path.index < command.argv.len());
    if let Some(call) = &mut command.mix {
        call.args.pop();
    }
    match matched.more {
        More::AsOperands => {}
        More::BehindDashes => command.argv.push(Word::Literal("--".to_owned())),
        More::No => {
            return Err(scan
                .deny(DenialKind::OptionRefused)
                .because(Reason::NeedsDashes));
        }
    }
    Ok(())
}

/// What replaces the placeholder may be any text, so it may only stand where a path may, or where
/// text is only said.
fn stays_a_path(scan: &Scan<'_>, command: &Command, placeholder: &str) -> Result<()> {
    let says = command
        .argv
        .first()
        .is_some_and(|name| name.text() == "echo");
    let holds = |(_, word): &(usize, &Word)| word.text().contains(placeholder);
    let wrong = command
        .argv
        .iter()
        .enumerate()
        .filter(holds)
        .find(|(at, _)| {
            let is_path = command.paths.iter().any(|path| path.index == *at);
            *at == 0 || !(says || is_path)
        });
    match wrong {
        None => Ok(()),
        Some((_, word)) => Err(scan
            .deny_argument(DenialKind::InvalidValue, word.text())
            .allowing(["PATH"])),
    }
}

/// A word that begins with the placeholder could become an option, unless `--` stands before it.
fn behind_dashes(scan: &Scan<'_>, matched: &mut Matched, placeholder: &str) -> Result<()> {
    let argv = &matched.command.argv;
    let begins = |word: &Word| word.text().starts_with(placeholder);
    let Some(at) = argv.iter().position(begins) else {
        return Ok(());
    };
    let safe =
        matched.more == More::AsOperands || argv[..at].iter().any(|word| word.text() == "--");
    let name = argv.first().map_or("", Word::text);
    if safe || name == "echo" {
        return Ok(());
    }
    // Behind an option it may be the option's value; there only the line itself can say.
    if argv[at - 1].text().starts_with('-') || matched.subcommand.is_some() {
        return Err(scan
            .deny(DenialKind::OptionRefused)
            .because(Reason::NeedsDashes));
    }
    matched
        .command
        .argv
        .insert(at, Word::Literal("--".to_owned()));
    for path in matched
        .command
        .paths
        .iter_mut()
        .filter(|path| path.index >= at)
    {
        path.index += 1;
    }
    Ok(())
}

/// Variables with their values; none takes one away.
type Variables = Vec<(String, Option<String>)>;

/// `env NAME=value command`: the variables, and the words of the command. None when it only shows
/// the environment.
pub(super) fn env(words: &[Word]) -> Result<(Variables, &[Word])> {
    let mut variables = Vec::new();
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let refuse = |kind| {
            Err(Denial::new(kind)
                .with_argument(word.text())
                .at(at)
                .of_command("env"))
        };
        let text = word.text();
        if text == "-u" || text == "--unset" {
            let Some(Word::Literal(name)) = words.get(at + 1) else {
                return refuse(DenialKind::MissingValue);
            };
            variables.push((name.clone(), None));
            at += 2;
        } else if let Some(name) = text.strip_prefix("--unset=") {
            variables.push((name.to_owned(), None));
            at += 1;
        } else if text.starts_with('-') {
            return refuse(DenialKind::UnknownOption);
        } else if let (Some((name, value)), Word::Literal(_)) = (text.split_once('='), word) {
            variables.push((name.to_owned(), Some(value.to_owned())));
            at += 1;
        } else {
            break;
        }
    }
    Ok((variables, &words[at.min(words.len())..]))
}
