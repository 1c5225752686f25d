//! Whether a path leaves the project `/proj`, for the tests of command lines.

/// A second, naive reading of the rule.
pub fn leaves(path: &str) -> bool {
    let relative = match path.strip_prefix("/proj") {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
        _ if path.starts_with('/') => return true,
        _ => path,
    };
    let mut depth = 0i64;
    relative.split('/').any(|part| {
        depth += match part {
            "" | "." => 0,
            ".." => -1,
            _ => 1,
        };
        depth < 0
    })
}
