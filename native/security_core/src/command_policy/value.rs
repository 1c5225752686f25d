//! Whether one value is what an option or operand takes, and which paths it names.

use super::grammar::{Kind, PathMode};
use super::scan::Scan;
use super::script;
use super::word::Word;
use super::{DenialKind, PathArg, Reason, Result};
use crate::path_boundary::lexical;

impl Scan<'_> {
    /// Judges a value of the word at `argv_at`.
    pub(super) fn value(&mut self, kind: &Kind, value: &str) -> Result<()> {
        let ok = match kind {
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
            // Without a dot or a slash it may be a word of the runtime's own (`node inspect`,
            // `elixir +iex`).
            Kind::Script | Kind::NamedFile
                if value.starts_with(['-', '+'])
                    || *kind == Kind::Script && !value.contains(['.', '/']) =>
            {
                return Err(self
                    .deny(DenialKind::OptionRefused)
                    .because(Reason::EvaluatesCode));
            }
            Kind::Script | Kind::NamedFile => return self.path(value, PathMode::Read),
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
            Kind::Directory => return self.directory(value),
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
            Kind::Awk => return self.script(script::awk(value)),
            Kind::Sed => return self.script(script::sed(value)),
            Kind::Placeholder => {
                self.placeholder = Some(value.to_owned());
                ["{}", "%", "@", "_", "@@", "%%", "FILE"].contains(&value)
            }
            _ => is_plain(kind, value),
        };
        if ok {
            Ok(())
        } else {
            Err(self
                .deny(DenialKind::InvalidValue)
                .allowing([kind.describe()]))
        }
    }

    /// A folder that the rest of the command works in. Some programs change it only after reading
    /// every option, so none before it may hold a path.
    fn directory(&mut self, value: &str) -> Result<()> {
        if self.command.paths.len() > self.directories || self.operands > 0 {
            return Err(self.deny(DenialKind::UnexpectedArgument));
        }
        self.directories += 1;
        self.path(value, PathMode::Read)?;
        self.cwd = match self.root.and_then(|root| lexical::strip_root(value, root)) {
            Some(below) => below.to_owned(),
            None => join(&self.cwd, value),
        };
        Ok(())
    }

    /// The program's own check of what it evaluates.
    fn script(&self, verdict: std::result::Result<(), &'static str>) -> Result<()> {
        verdict.map_err(|what| self.deny_argument(DenialKind::ScriptRefused, what))
    }

    fn inside(&self, path: &str, mode: PathMode) -> std::result::Result<(), DenialKind> {
        check_path(path, &self.cwd, self.root, mode)
    }

    pub(super) fn path(&mut self, path: &str, mode: PathMode) -> Result<()> {
        // `-` is standard input or output, which the caller owns. The null device is nobody's file.
        if path == "-" && mode == PathMode::Read || path == "/dev/null" && mode != PathMode::Delete
        {
            return Ok(());
        }
        self.inside(path, mode)
            .map_err(|kind| self.deny_argument(kind, path))?;
        // Where it leads can't be followed before the exit code is known.
        if matches!(
            self.command.argv.get(self.argv_at),
            Some(Word::Status { .. })
        ) {
            return Err(self.deny(DenialKind::Expansion));
        }
        self.add_path(path, mode);
        Ok(())
    }

    fn add_path(&mut self, path: &str, mode: PathMode) {
        let index = self.argv_at;
        self.command.paths.push(PathArg {
            index,
            path: join(&self.cwd, path),
            base: self.cwd.clone(),
            mode,
        });
    }

    /// `HEAD~2`, `main..topic`, `HEAD:lib/a.ex`, `lib/a.ex`: git decides which it is, so it must be
    /// harmless as either.
    fn revision_or_path(&mut self, value: &str) -> Result<()> {
        if value.starts_with(':') {
            // Magic such as `:/` reaches from the repository's top, which may lie above the
            // project.
            return Err(self
                .deny(DenialKind::InvalidValue)
                .allowing([Kind::RevisionOrPath.describe()]));
        }
        let path = match value.split_once(':') {
            // The path in a revision counts from the repository's top, or with `./` and `../` from
            // here.
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
}

/// Kinds that name no path.
fn is_plain(kind: &Kind, value: &str) -> bool {
    match kind {
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
        Kind::GitFormat => {
            let verifies = |sign| value.contains(&format!("%{sign}G"));
            !["", "+", "-", " "].into_iter().any(verifies) && !value.contains("%(signature")
        }
        Kind::DateFormat => value.starts_with('+'),
        Kind::Mode => {
            let octal = value.len() == 3 || value.len() == 4 && value.starts_with('0');
            let is_octal = octal && value.bytes().all(|b| (b'0'..=b'7').contains(&b));
            let symbolic = value.starts_with(|c: char| "ugoa+-=".contains(c))
                && value.bytes().all(|b| b"ugoa+-=rwxX,".contains(&b));
            is_octal || symbolic
        }
        _ => false,
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
