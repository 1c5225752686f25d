//! Field names that stand for a secret by themselves, in structured data.

use std::sync::OnceLock;

/// Shared with Elixir, where they are read as well: see there what the words behind a name mean.
const LIST: &str = include_str!("fields.txt");

/// The names, in snake case.
pub(crate) fn names() -> &'static [&'static str] {
    static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let lines = LIST.lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(|line| line.split(' ').next()).collect()
    })
}
