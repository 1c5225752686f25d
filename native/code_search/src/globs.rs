//! Which files a search takes by the glob that its caller gave.

use crate::error::Error;
use ignore::overrides::{Override, OverrideBuilder};
use std::path::Path;

/// Longer than any that a person writes; compiling costs a multiple of it.
const MAX_GLOB: usize = 500;

/// A glob as `.gitignore` spells them, matched against paths relative to the project's root: one
/// without a slash matches names at any depth, one that begins with `!` leaves its files out.
///
/// It only narrows what is searched. The walk's own overrides would also bring back hidden and
/// ignored files.
#[derive(Debug)]
pub(crate) struct Globs(Override);

impl Globs {
    pub(crate) fn compile(glob: &str) -> Result<Globs, Error> {
        let refused = |detail: String| Error::Glob { detail };
        let plain = glob.strip_prefix("./").unwrap_or(glob);
        if plain.is_empty() {
            return Err(refused("it is empty".to_string()));
        }
        if plain.len() > MAX_GLOB {
            return Err(refused(format!("it is longer than {MAX_GLOB} bytes")));
        }
        let mut builder = OverrideBuilder::new("");
        builder
            .add(plain)
            .map_err(|error| refused(error.to_string()))?;
        let globs = builder
            .build()
            .map_err(|error| refused(error.to_string()))?;
        Ok(Globs(globs))
    }

    /// Whether a file at `relative` is searched, or a directory entered.
    pub(crate) fn admit(&self, relative: &Path, is_directory: bool) -> bool {
        !self.0.matched(relative, is_directory).is_ignore()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn takes(glob: &str, path: &str) -> bool {
        Globs::compile(glob).unwrap().admit(Path::new(path), false)
    }

    #[test]
    fn a_glob_without_a_slash_matches_at_any_depth() {
        assert!(takes("*.ex", "a.ex") && takes("*.ex", "lib/deep/a.ex"));
        assert!(!takes("*.ex", "lib/a.exs"));
    }

    #[test]
    fn a_glob_with_a_slash_begins_at_the_root() {
        for glob in [
            "lib/**/*.ex",
            "./lib/**/*.ex",
            "/lib/**/*.ex",
            "lib/**/*.{ex,exs}",
        ] {
            assert!(
                takes(glob, "lib/a.ex") && takes(glob, "lib/b/a.ex"),
                "{glob}"
            );
            assert!(!takes(glob, "deps/lib/a.ex"), "{glob}");
        }
    }

    #[test]
    fn an_exclamation_mark_leaves_out() {
        assert!(!takes("!*_test.exs", "test/a_test.exs"));
        assert!(takes("!*_test.exs", "test/helper.exs"));
        let globs = Globs::compile("!deps").unwrap();
        assert!(!globs.admit(Path::new("deps"), true));
        assert!(globs.admit(Path::new("lib"), true));
    }

    #[test]
    fn directories_are_entered_for_the_files_in_them() {
        let globs = Globs::compile("*.ex").unwrap();
        assert!(globs.admit(Path::new("lib"), true));
    }

    #[test]
    fn what_is_no_glob_is_refused_with_the_reason() {
        for glob in ["", "./", "a[", "{a", &"x".repeat(501)] {
            let Err(Error::Glob { detail }) = Globs::compile(glob) else {
                panic!("{glob} was taken");
            };
            assert!(!detail.is_empty());
        }
    }
}
