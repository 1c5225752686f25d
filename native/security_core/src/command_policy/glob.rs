//! File name patterns, expanded inside the project as a shell would: `*`, `?`, `[a-z]`, and `**`
//! for any depth.
//!
//! Differences from a shell, on purpose: folders are opened through the boundary, so no pattern
//! sees anything outside; `**` works without being switched on and does not follow links; a name
//! that begins with `-` gets `./` in front, so that it can't turn into an option.

use rustix::fs::{Dir, FileType};

use crate::path_boundary::Boundary;

/// The most names one pattern may become.
const MAX_MATCHES: usize = 4096;
/// The most folder entries one pattern may look at.
const MAX_ENTRIES: usize = 200_000;

/// A pattern became too many names, or looked at too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMany;

/// Expands `pattern` (`\` before quoted characters) from `base`, a folder relative to the root.
/// Sorted; empty when nothing matches.
pub(super) fn expand(
    boundary: &Boundary,
    base: &str,
    pattern: &str,
) -> Result<Vec<String>, TooMany> {
    let (lead, base, pattern) = match absolute(boundary, pattern) {
        Some((root, below)) => (root, "", below),
        None if pattern.starts_with('/') => return Ok(Vec::new()),
        None => (String::new(), base, pattern),
    };
    let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    let mut budget = MAX_ENTRIES;
    let mut found = Vec::new();
    // Paths so far, each with the part of the pattern that comes next.
    let mut todo = vec![(String::new(), 0)];
    while let Some((path, at)) = todo.pop() {
        let Some(&part) = parts.get(at) else {
            found.push(path);
            if found.len() > MAX_MATCHES {
                return Err(TooMany);
            }
            continue;
        };
        let is_last = at + 1 == parts.len();
        if let Some(name) = plain(part) {
            let next = push(&path, &name);
            if !is_last
                || boundary
                    .resolve(push(base, &next))
                    .is_ok_and(|resolved| resolved.exists)
            {
                todo.push((next, at + 1));
            }
            continue;
        }
        let any_depth = part == "**";
        if any_depth && !is_last {
            todo.push((path.clone(), at + 1));
        }
        for (name, kind) in entries(boundary, &push(base, &path), &mut budget)? {
            let next = push(&path, &name);
            if any_depth {
                if name.starts_with('.') {
                    continue;
                }
                if kind == FileType::Directory {
                    todo.push((next.clone(), at));
                }
                if is_last {
                    found.push(next);
                }
            } else if matches(part, &name) {
                todo.push((next, at + 1));
            }
        }
    }
    if found.len() > MAX_MATCHES {
        return Err(TooMany);
    }
    found.sort_unstable();
    found.dedup();
    for name in &mut found {
        if !lead.is_empty() {
            *name = format!("{lead}/{name}");
        } else if name.starts_with('-') {
            *name = format!("./{name}");
        }
    }
    Ok(found)
}

/// An absolute pattern below the root, as the root and the rest.
fn absolute<'a>(boundary: &Boundary, pattern: &'a str) -> Option<(String, &'a str)> {
    let root = boundary.root().to_str()?;
    let below = crate::path_boundary::lexical::strip_root(pattern, root)?;
    Some((root.to_owned(), below))
}

fn push(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}/{name}")
    }
}

/// The names in a folder. A folder that can't be opened has none, as in a shell.
fn entries(
    boundary: &Boundary,
    folder: &str,
    budget: &mut usize,
) -> Result<Vec<(String, FileType)>, TooMany> {
    let Ok(dir) = boundary.open_dir(folder).map(Dir::new) else {
        return Ok(Vec::new());
    };
    let Ok(dir) = dir else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for entry in dir.flatten() {
        *budget = budget.checked_sub(1).ok_or(TooMany)?;
        match entry.file_name().to_str() {
            Ok("." | "..") | Err(_) => {}
            Ok(name) => names.push((name.to_owned(), entry.file_type())),
        }
    }
    Ok(names)
}

/// The part without its backslashes, when it is no pattern.
fn plain(part: &str) -> Option<String> {
    let mut text = String::with_capacity(part.len());
    let mut chars = part.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => text.extend(chars.next()),
            '*' | '?' | '[' => return None,
            c => text.push(c),
        }
    }
    Some(text)
}

/// Matches one name against one part. The work is bounded by their lengths' product: on a mismatch
/// only the last `*` is tried again.
pub(super) fn matches(part: &str, name: &str) -> bool {
    if name.starts_with('.') && !part.starts_with('.') && !part.starts_with("\\.") {
        return false;
    }
    let part: Vec<char> = part.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        if part.get(p) == Some(&'*') {
            retry = Some((p + 1, n));
            p += 1;
            continue;
        }
        match one(&part[p..], name[n]) {
            Some(width) => {
                p += width;
                n += 1;
            }
            None => match retry {
                Some((after, from)) => {
                    retry = Some((after, from + 1));
                    p = after;
                    n = from + 1;
                }
                None => return false,
            },
        }
    }
    part[p..].iter().all(|&c| c == '*')
}

/// Matches one character; answers how much of the pattern it took.
fn one(part: &[char], c: char) -> Option<usize> {
    match part.first()? {
        '?' => Some(1),
        '\\' => (part.get(1) == Some(&c)).then_some(2),
        '[' => match set(part) {
            Some((members, width)) => members(c).then_some(width),
            None => (c == '[').then_some(1),
        },
        &other => (other == c).then_some(1),
    }
}

type Members<'a> = Box<dyn Fn(char) -> bool + 'a>;

/// A set such as `[a-z_]` or `[!0-9]`, and its width. None when it is not closed, and then `[` is
/// itself.
fn set(part: &[char]) -> Option<(Members<'_>, usize)> {
    let negated = matches!(part.get(1), Some('!' | '^'));
    let start = 1 + usize::from(negated);
    // A `]` right at the start is a member, and so is one behind a backslash.
    let mut end = start;
    loop {
        match part.get(end)? {
            ']' if end > start => break,
            '\\' => end += 2,
            _ => end += 1,
        }
    }
    let body = &part[start..end];
    let members = move |c: char| {
        let mut at = 0;
        let mut hit = false;
        while let Some(&low) = body.get(at) {
            let escaped = low == '\\' && at + 1 < body.len();
            let low = if escaped { body[at + 1] } else { low };
            let next = at + 1 + usize::from(escaped);
            if !escaped && body.get(next) == Some(&'-') && next + 1 < body.len() {
                hit |= (low..=body[next + 1]).contains(&c);
                at = next + 2;
            } else {
                hit |= low == c;
                at = next;
            }
        }
        hit != negated
    };
    Some((Box::new(members), end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_match_as_in_a_shell() {
        for (part, name) in [
            ("*", "a"),
            ("*.ex", "a.ex"),
            ("a*b*c", "aXbYbZc"),
            ("?.ex", "a.ex"),
            ("[a-c]x", "bx"),
            ("[!a-c]x", "dx"),
            ("[^a]", "b"),
            ("[]a]", "]"),
            ("[a-]", "-"),
            ("\\*", "*"),
            ("[\\]]x", "]x"),
            ("[ab", "[ab"),
            (".*", ".git"),
            ("\\.x*", ".xy"),
            ("*ü*", "aüb"),
        ] {
            assert!(matches(part, name), "{part} {name}");
        }
        for (part, name) in [
            ("*", ".a"),
            ("?a", ".a"),
            ("[.]a", ".a"),
            ("*.ex", "a.exs"),
            ("\\*", "a"),
            ("[a-c]", "d"),
            ("a", "A"),
            ("", "a"),
            ("?", ""),
        ] {
            assert!(!matches(part, name), "{part} {name}");
        }
    }

    #[test]
    fn many_stars_take_no_time() {
        let part = "*a".repeat(200);
        let name = "a".repeat(199) + "b";
        assert!(!matches(&part, &name));
    }
}
