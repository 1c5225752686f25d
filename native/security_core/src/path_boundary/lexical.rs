//! What the text of a path alone can tell: no disk is read here.
//!
//! A text that passes may still lead out of the project through a symbolic link, so these checks
//! stand beside [`Boundary`](super::Boundary), not in its place. They serve the policies, which
//! must stay pure and fast.

/// The longest path text taken, as on Linux (`PATH_MAX`).
pub const MAX_PATH_BYTES: usize = 4096;

/// Why a path is refused by its text alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PathFault {
    /// A NUL byte, a line break or another control character.
    Control,
    /// Longer than [`MAX_PATH_BYTES`].
    TooLong,
    /// It climbs above the project with `..`.
    Traversal,
    /// It starts at the root of the file system and is not below the project.
    Absolute,
    /// It is percent-encoded so that a later decoder would see `..` or a separator.
    Encoded,
    /// It starts with `~`, which some programs expand to a home directory.
    Home,
}

impl PathFault {
    /// The name that crosses to other languages.
    pub fn as_str(self) -> &'static str {
        match self {
            PathFault::Control => "invalid_characters",
            PathFault::TooLong => "too_long",
            PathFault::Traversal | PathFault::Encoded => "path_traversal_blocked",
            PathFault::Absolute | PathFault::Home => "absolute_path_blocked",
        }
    }
}

/// True when the text holds a control character. These are never part of a path or argument that a
/// person means.
pub fn has_control(text: &str) -> bool {
    text.bytes().any(|b| b < 0x20 || b == 0x7f)
}

/// True when the text holds a percent-encoded dot, slash or backslash.
pub fn has_encoded_separator(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'%', bytes).any(|at| is_encoded_separator(&bytes[at..]))
}

/// True when the bytes begin with a percent-encoded dot, slash or backslash.
pub fn is_encoded_separator(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [b'%', b'2', b'e' | b'E' | b'f' | b'F', ..] | [b'%', b'5', b'c' | b'C', ..]
    )
}

/// Checks a path that must be relative and must not use `..` at all.
pub fn check_relative(path: &str) -> Result<(), PathFault> {
    check_text(path)?;
    if path.starts_with(['/', '\\']) {
        return Err(PathFault::Absolute);
    }
    if path.starts_with('~') {
        return Err(PathFault::Home);
    }
    if path.split(['/', '\\']).any(|part| part == "..") {
        return Err(PathFault::Traversal);
    }
    Ok(())
}

/// Checks a path as a program would see it in directory `cwd` (relative to the project's root, `""`
/// for the root itself): `..` may be used as long as no prefix of the path stands above the root,
/// and an absolute path must be `root` or below it.
pub fn check_within(path: &str, cwd: &str, root: Option<&str>) -> Result<(), PathFault> {
    check_text(path)?;
    if path.starts_with('~') {
        return Err(PathFault::Home);
    }
    let (mut depth, rest) = if path.starts_with('/') {
        let below = root
            .and_then(|root| strip_root(path, root))
            .ok_or(PathFault::Absolute)?;
        (0usize, below)
    } else {
        (depth_of(cwd), path)
    };
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." => depth = depth.checked_sub(1).ok_or(PathFault::Traversal)?,
            _ => depth += 1,
        }
    }
    Ok(())
}

/// The rest of an absolute `path` below `root`, compared part by part so that `/project-evil` is
/// not below `/project`.
pub fn strip_root<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let root = root.trim_end_matches('/');
    let rest = path.strip_prefix(root)?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
}

fn check_text(path: &str) -> Result<(), PathFault> {
    if path.len() > MAX_PATH_BYTES {
        return Err(PathFault::TooLong);
    }
    if has_control(path) {
        return Err(PathFault::Control);
    }
    if has_encoded_separator(path) {
        return Err(PathFault::Encoded);
    }
    Ok(())
}

fn depth_of(cwd: &str) -> usize {
    cwd.split('/').fold(0usize, |depth, part| match part {
        "" | "." => depth,
        ".." => depth.saturating_sub(1),
        _ => depth + 1,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn relative_paths_stay_below_the_root() {
        for path in [
            "lib",
            "lib/a.ex",
            "./lib",
            "a..b",
            "lib/...",
            ".formatter.exs",
            "a b",
            "ünïcode",
        ] {
            assert_eq!(check_relative(path), Ok(()), "{path}");
        }
        assert_eq!(check_relative(".."), Err(PathFault::Traversal));
        assert_eq!(check_relative("lib/../x"), Err(PathFault::Traversal));
        assert_eq!(check_relative("lib\\..\\x"), Err(PathFault::Traversal));
        assert_eq!(check_relative("/etc"), Err(PathFault::Absolute));
        assert_eq!(check_relative("~/x"), Err(PathFault::Home));
        assert_eq!(check_relative("a\0b"), Err(PathFault::Control));
        assert_eq!(check_relative("..%2fx"), Err(PathFault::Encoded));
        assert_eq!(check_relative("%2E%2e/x"), Err(PathFault::Encoded));
        assert_eq!(check_relative(&"x".repeat(5000)), Err(PathFault::TooLong));
    }

    #[test]
    fn parent_steps_count_from_the_working_directory() {
        assert_eq!(check_within("../b", "apps/a", None), Ok(()));
        assert_eq!(check_within("../..", "apps/a", None), Ok(()));
        assert_eq!(
            check_within("../../..", "apps/a", None),
            Err(PathFault::Traversal)
        );
        assert_eq!(check_within("..", "", None), Err(PathFault::Traversal));
        assert_eq!(
            check_within("../x", "lib/..", None),
            Err(PathFault::Traversal),
            "the folder itself goes up"
        );
        assert_eq!(
            check_within("a/../../a", "", None),
            Err(PathFault::Traversal),
            "it leaves on the way"
        );
    }

    #[test]
    fn a_sibling_with_the_same_prefix_is_outside() {
        assert_eq!(check_within("/proj/lib", "", Some("/proj")), Ok(()));
        assert_eq!(check_within("/proj", "", Some("/proj/")), Ok(()));
        assert_eq!(
            check_within("/proj-evil", "", Some("/proj")),
            Err(PathFault::Absolute)
        );
        assert_eq!(
            check_within("/proj/../etc", "", Some("/proj")),
            Err(PathFault::Traversal)
        );
        assert_eq!(
            check_within("/proj/lib", "", None),
            Err(PathFault::Absolute)
        );
    }
}
