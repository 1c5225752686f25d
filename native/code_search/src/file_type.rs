//! File types by name, as ripgrep has them, or by extension.

use crate::error::Error;
use ignore::types::{Types, TypesBuilder};

const MAX_NEAR: usize = 6;

/// The files of the type that `name` names. A name that is not a type but is an extension of one
/// (`ex`, `.exs`) selects the files with that extension.
pub(crate) fn select(name: &str) -> Result<Types, Error> {
    let name = name
        .trim()
        .trim_start_matches("*.")
        .trim_start_matches('.')
        .to_lowercase();
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let definitions = builder.definitions();
    if name != "all"
        && !definitions
            .iter()
            .any(|definition| definition.name() == name)
    {
        let glob = format!("*.{name}");
        let is_extension = definitions
            .iter()
            .any(|definition| definition.globs().contains(&glob));
        if !is_extension || builder.add(&name, &glob).is_err() {
            return Err(Error::UnknownFileType {
                near: near(&name, definitions.iter().map(|d| d.name())),
            });
        }
    }
    builder
        .select(&name)
        .build()
        .map_err(|_| Error::UnknownFileType { near: Vec::new() })
}

fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    if name.is_empty() {
        return Vec::new();
    }
    let allowed = if name.chars().count() <= 3 { 1 } else { 2 };
    let mut scored: Vec<(usize, &str)> = known
        .filter_map(|candidate| {
            let related = name.len().min(candidate.len()) >= 2
                && (candidate.starts_with(name) || name.starts_with(candidate));
            let distance = distance(name, candidate);
            (related || distance <= allowed).then_some((distance, candidate))
        })
        .collect();
    scored.sort_unstable();
    scored
        .into_iter()
        .take(MAX_NEAR)
        .map(|(_, candidate)| candidate.to_string())
        .collect()
}

/// Edits between two names. Names longer than any type's are not measured: the cost is their
/// product.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=a.len()).collect();
    for (i, cb) in b.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, ca) in a.iter().enumerate() {
            let substituted = diagonal + usize::from(*ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[a.len()]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn takes(types: &Types, file: &str) -> bool {
        types.matched(file, false).is_whitelist()
    }

    #[test]
    fn type_names_select_their_globs() {
        let elixir = select("elixir").unwrap();
        assert!(takes(&elixir, "a.ex") && takes(&elixir, "a.exs") && takes(&elixir, "a.heex"));
        assert!(!takes(&elixir, "a.rs"));
    }

    #[test]
    fn an_extension_selects_itself_only() {
        for name in ["ex", ".ex", "*.ex", "EX"] {
            let ex = select(name).unwrap();
            assert!(takes(&ex, "a.ex"), "{name}");
            assert!(!takes(&ex, "a.exs"), "{name}");
        }
    }

    #[test]
    fn unknown_types_list_similar_ones() {
        let near = |name: &str| match select(name).unwrap_err() {
            Error::UnknownFileType { near } => near,
            other => panic!("{other:?}"),
        };
        assert_eq!(near("elixr")[0], "elixir");
        assert_eq!(near("pythn")[0], "python");
        assert!(near("zzzzzzzz").is_empty());
        assert!(near("").is_empty());
        assert!(near(&"x".repeat(100_000)).is_empty());
        assert!(near("a b").is_empty() || select("a b").is_err());
    }
}
